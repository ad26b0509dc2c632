#include "pairs/families.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "bind.hpp"
#include "pairs/climb.hpp"
#include "pairs/subsets.hpp"
#include "watch.hpp"

namespace {

using posteriori::FamilyData;
using posteriori::Scoring;
using Sizes = std::vector<std::uint32_t>;
using Columns = std::vector<int>;
using Numbers = std::optional<InC<double, 1>>;
using Bits = std::optional<InC<std::uint64_t, 2>>;

template <typename C>
FamilyData<C> family_data(const InC<C, 2>& codes, const Sizes& sizes, const Sizes& states, const Numbers& weights, const Bits& bits) {
    const std::size_t n = codes.shape(1);
    need(sizes.size() == codes.shape(0) && states.size() == sizes.size(), "one size a column is needed");
    for (std::size_t j = 0; j < sizes.size(); ++j)
        need(sizes[j] <= states[j] && states[j] <= (std::uint32_t{1} << 24), "a column has fewer states than values, or more than 2²⁴");
    need(n < (std::size_t{1} << 31), "more than 2³¹ rows");
    need(!weights || weights->shape(0) == n, "weights and rows have different lengths");
    need(!bits || (bits->shape(0) == posteriori::bitmap_count(states) && bits->shape(1) == posteriori::bitmap_words(n)),
         "the bitmaps are not those of the columns");
    return {codes.data(), n, sizes, states, weights ? weights->data() : nullptr, bits ? bits->data() : nullptr};
}

void check_columns(std::size_t d, int child, const Columns& parents, const Columns& candidates) {
    const auto column = [&](int j) { return j >= 0 && static_cast<std::size_t>(j) < d; };
    need(column(child) && std::find(parents.begin(), parents.end(), child) == parents.end(), "no such child");
    need(std::find(candidates.begin(), candidates.end(), child) == candidates.end(), "a child is no candidate");
    need(std::all_of(parents.begin(), parents.end(), column), "no such parent");
    need(std::all_of(candidates.begin(), candidates.end(), column), "no such candidate");
}

Scoring scoring_of(const std::string& kind, double number, const Numbers& x_log_x, const Numbers& regret) {
    constexpr const char* kinds[] = {"penalised", "bdeu", "k2", "fnml"};
    const auto* at = std::find(std::begin(kinds), std::end(kinds), kind);
    need(at != std::end(kinds), "no such score");
    const auto how = static_cast<posteriori::FamilyScore>(at - std::begin(kinds));
    need(!x_log_x || x_log_x->shape(0) > 0, "N ln N has no number");
    need(how != posteriori::FamilyScore::fnml || (x_log_x && regret && regret->shape(0) == x_log_x->shape(0)),
         "the regret is for as many counts as N ln N");
    return {how, number, x_log_x ? x_log_x->data() : nullptr, regret ? regret->data() : nullptr,
            x_log_x ? static_cast<double>(x_log_x->shape(0) - 1) : 0.0};
}

// Whether a search is to go on: `tell`, if there is one, is asked; else Ctrl-C ends it.
bool goes_on(const nb::object& tell, const posteriori::Step* step) {
    nb::gil_scoped_acquire hold;
    if (tell.is_none()) {
        if (PyErr_CheckSignals() == 0) return true;
        if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw nb::python_error();
        PyErr_Clear();
        return false;
    }
    if (!step) return nb::cast<bool>(tell());
    return nb::cast<bool>(tell(static_cast<int>(step->move), step->parent, step->child, step->gain, step->score));
}

using Pairs = InC<bool, 2>;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 27;  // that a search reads between two looks at the clock

// How a network is climbed, whatever the scores, by the rules that the stub of `climb` states.
struct Walk {
    std::vector<Columns> start;
    posteriori::ClimbTask task{};
    nb::object tell = nb::none();

    Walk(std::vector<Columns> from, const nb::kwargs& rules) : start(std::move(from)) {
        const std::size_t d = start.size();
        task.d = static_cast<int>(d), task.moves = std::uint64_t{1} << 62;
        const auto pairs_of = [d](nb::handle given) {
            const auto pairs = nb::cast<Pairs>(given);
            need(pairs.shape(0) == d && pairs.shape(1) == d, "rules are of every pair");
            return std::vector<std::uint8_t>(pairs.data(), pairs.data() + d * d);
        };
        int needed = 0;
        for (const auto [name, rule] : rules) {
            const auto is = [name = std::string(nb::cast<const char*>(name)), &needed](const char* one, bool must = false) {
                return name == one && (needed += must, true);
            };
            if (is("required", true)) task.required = pairs_of(rule);
            else if (is("forbidden", true)) task.forbidden = pairs_of(rule);
            else if (is("most", true)) task.most = nb::cast<int>(rule);
            else if (is("least", true)) task.least = nb::cast<double>(rule);
            else if (is("symmetric", true)) task.symmetric = nb::cast<bool>(rule);
            else if (is("tabu")) task.tabu = nb::cast<int>(rule);
            else if (is("restarts")) task.restarts = nb::cast<int>(rule);
            else if (is("orders")) task.orders = nb::cast<int>(rule);
            else if (is("seed")) task.seed = nb::cast<std::uint64_t>(rule);
            else if (is("moves")) task.moves = nb::cast<std::uint64_t>(rule);
            else if (is("tell")) tell = nb::borrow(rule);
            else throw nb::type_error("a climb has no such rule");
        }
        if (needed != 5) throw nb::type_error("a climb needs required, forbidden, most, least and symmetric");
        need(task.most >= 0 && task.least >= 0, "most and least are 0 or more");
        for (const int steps : {task.tabu, task.restarts, task.orders})
            need(steps >= 0 && steps <= 500'000, "tabu, restarts and orders are 0 to 500,000");
        for (std::size_t v = 0; v < d; ++v) {
            std::sort(start[v].begin(), start[v].end());
            check_columns(d, static_cast<int>(v), start[v], {});
            need(std::adjacent_find(start[v].begin(), start[v].end()) == start[v].end(), "parents are named each once");
        }
        need(posteriori::Network(start).order().size() == d, "the start has a cycle");
    }
};

nb::tuple climbed(Walk& walk) {
    posteriori::Climbed found;
    try {
        nb::gil_scoped_release release;
        const posteriori::Unasked ends_itself;
        posteriori::Often often;
        walk.task.tell = [&](const posteriori::Step* step) { return (walk.tell.is_none() && !often()) || goes_on(walk.tell, step); };
        found = posteriori::climb(walk.task, walk.start);
    } catch (const posteriori::Ended&) {  // before the start had a score: there is nothing to give back
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
    nb::list steps;
    for (const auto& s : found.steps) steps.append(nb::make_tuple(static_cast<int>(s.move), s.parent, s.child, s.gain, s.score));
    return nb::make_tuple(found.parents, found.families, steps, found.finished);
}

// Scores that Python knows; Ctrl-C there ends the search as it does elsewhere.
posteriori::Ask asking(const nb::object& ask) {
    return [&ask](int child, const Columns& parents, const Columns& candidates, bool, double* out) {
        nb::gil_scoped_acquire hold;
        try {
            const auto scores = nb::cast<std::vector<double>>(ask(child, parents, candidates));
            need(scores.size() == candidates.size() + 1, "one score a candidate is needed, and one before them");
            std::copy(scores.begin(), scores.end(), out);
        } catch (const nb::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            throw posteriori::Ended{};
        }
    };
}

// Four states are counted by bits in the time that codes take for one.
std::size_t work_of(std::size_t rows, std::size_t candidates, const Bits& bits) { return rows * candidates / (bits ? 4 : 1); }

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "value_bitmaps",
        [](const InC<C, 2>& codes, const Sizes& states, nb::handle n_jobs) {
            const auto data = family_data<C>(codes, states, states, {}, {});
            const auto out = zeros<std::uint64_t>({posteriori::bitmap_count(states), posteriori::bitmap_words(data.n)});
            const int threads = team(n_jobs, codes.size());
            without_gil([&] { posteriori::value_bitmaps(data.codes, data.n, states, out.data, threads); });
            return out.array;
        },
        as_is("codes"), nb::arg("states"), jobs());
    m.def(
        "toggle_scores",
        [](const InC<C, 2>& codes, const Sizes& sizes, int child, const Columns& parents, const Columns& candidates,
           const std::string& kind, double number, const Numbers& weights, const std::optional<Sizes>& states, const Numbers& x_log_x,
           const Numbers& regret, const Bits& bits, nb::handle n_jobs) {
            const auto data = family_data<C>(codes, sizes, states.value_or(sizes), weights, bits);
            check_columns(sizes.size(), child, parents, candidates);
            const auto how = scoring_of(kind, number, x_log_x, regret);
            const auto out = empty<double>({candidates.size() + 1});
            const int threads = team(n_jobs, work_of(data.n, candidates.size() + 1, bits));
            without_gil([&] { posteriori::toggle_scores(data, child, parents, candidates, how, out.data, threads); });
            return out.array;
        },
        as_is("codes"), nb::arg("sizes"), nb::arg("child"), nb::arg("parents"), nb::arg("candidates"), nb::arg("kind"),
        nb::arg("number"), maybe("weights"), nb::kw_only(), nb::arg("states") = nb::none(), maybe("x_log_x"), maybe("regret"),
        maybe("bits"), jobs());
    m.def(
        "g_tests",
        [](const InC<C, 2>& codes, const Sizes& sizes, int x, const Columns& given, const Columns& candidates,
           const Numbers& weights, const Numbers& x_log_x, const Bits& bits, nb::handle n_jobs) {
            const auto data = family_data<C>(codes, sizes, sizes, weights, bits);
            check_columns(sizes.size(), x, given, candidates);
            for (const int c : candidates) need(std::find(given.begin(), given.end(), c) == given.end(), "a candidate is given");
            const auto logs = scoring_of("penalised", 0.0, x_log_x, {});
            const auto out = empty<double>({candidates.size(), 2});
            const int threads = team(n_jobs, work_of(data.n, candidates.size(), bits));
            without_gil([&] { posteriori::g_tests(data, x, given, candidates, logs, out.data, threads); });
            return out.array;
        },
        as_is("codes"), nb::arg("sizes"), nb::arg("x"), nb::arg("given"), nb::arg("candidates"), maybe("weights"), nb::kw_only(),
        maybe("x_log_x"), maybe("bits"), jobs());
    m.def(
        "climb",
        [](const InC<C, 2>& codes, const Sizes& sizes, std::vector<Columns> start, const std::string& kind, double number,
           const Numbers& weights, const std::optional<Sizes>& states, const Numbers& x_log_x,
           const std::vector<InC<double, 1>>& regrets, const Bits& bits, nb::handle n_jobs, const nb::kwargs& rules) {
            auto data = family_data<C>(codes, sizes, states.value_or(sizes), weights, bits);
            posteriori::look_at_columns(data, 1);
            Walk walk(std::move(start), rules);
            need(walk.start.size() == sizes.size() && (regrets.empty() || regrets.size() == sizes.size()), "one entry a column is needed");
            std::vector<Scoring> how;
            for (std::size_t v = 0; v < sizes.size(); ++v)
                how.push_back(scoring_of(kind, number, x_log_x, regrets.empty() ? Numbers{} : Numbers{regrets[v]}));
            const int threads = team(n_jobs, std::size_t{1} << 40);
            walk.task.ask = [&](int child, const Columns& parents, const Columns& candidates, bool own, double* out) {
                const std::size_t work = data.n * (candidates.size() + 1) / (data.bits ? 4 : 1), grain = 200'000;
                const int useful = work < 2 * grain ? 1 : static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), work / grain));
                const std::size_t most = 1 + kRowsAtOnce / (data.n + 1);
                for (std::size_t begin = 0; begin == 0 || begin < candidates.size(); begin += most) {
                    if (begin && !walk.task.tell(nullptr)) throw posteriori::Ended{};
                    const Columns some(candidates.begin() + static_cast<std::ptrdiff_t>(begin),
                                       candidates.begin() + static_cast<std::ptrdiff_t>(std::min(begin + most, candidates.size())));
                    posteriori::toggle_scores(data, child, parents, some, how[static_cast<std::size_t>(child)], out + begin, useful, own && !begin);
                }
            };
            return climbed(walk);
        },
        as_is("codes"), nb::arg("sizes"), nb::arg("start"), nb::arg("kind"), nb::arg("number"), maybe("weights"), nb::kw_only(),
        nb::arg("states") = nb::none(), maybe("x_log_x"), nb::arg("regrets") = nb::tuple(), maybe("bits"), jobs(), nb::arg("rules"));
}

}  // namespace

void bind_families(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    bind_codes<std::uint32_t>(m);
    m.def(
        "climb_asking",
        [](const nb::object& ask, std::vector<Columns> start, const nb::kwargs& rules) {
            Walk walk(std::move(start), rules);
            walk.task.ask = asking(ask);
            return climbed(walk);
        },
        nb::arg("ask"), nb::arg("start"), nb::arg("rules"));
    m.def(
        "best_network",
        [](const InC<std::uint16_t, 2>& codes, const Sizes& sizes, const InC<std::uint32_t, 1>& weights,
           const InC<double, 2>& cells, const Columns& below, double ess, double price, int most, double equal,
           const Sizes& required, const Sizes& forbidden, double seconds, nb::handle n_jobs) -> nb::object {
            const std::size_t n = codes.shape(1), d = codes.shape(0), T = cells.shape(0);
            need(d > 0 && d <= 30 && sizes.size() == d, "from 1 to 30 columns are needed, and a size each");
            need(n > 0 && n < (std::size_t{1} << 31) && weights.shape(0) == n, "rows and weights differ, or there are none");
            need(T > 0 && cells.shape(1) > 0, "there is no table of cells");
            need(below.size() == d && required.size() == d && forbidden.size() == d, "one number a column is needed");
            need(most >= 0 && equal >= 0, "most and equal are 0 or more");
            std::uint64_t rows = 0;
            for (std::size_t i = 0; i < n; ++i) rows += weights.data()[i];
            need(rows > 0 && rows < cells.shape(1), "a count would lead out of its table");
            for (std::size_t j = 0; j < d; ++j) {
                need(sizes[j] > 0 && sizes[j] <= (std::uint32_t{1} << 16), "a column has no such number of values");
                need(below[j] >= 0 && static_cast<std::size_t>(below[j]) < T, "no such table of cells");
                need(required[j] >> d == 0 && !(required[j] >> j & 1), "no such required parents");
                for (std::size_t i = 0; i < n; ++i) need(codes.data()[j * n + i] < sizes[j], "a code is outside its column");
            }
            posteriori::Exact task{codes.data(), weights.data(), n,    sizes, {},    static_cast<std::size_t>(rows),
                                   below,        ess,            price, most, equal, required, forbidden};
            for (std::size_t t = 0; t < T; ++t) task.cells.push_back(cells.data() + t * cells.shape(1));
            std::vector<posteriori::Set> found;
            struct Late {};
            const auto begin = std::chrono::steady_clock::now();
            const auto poll = [&] {
                look_at_signals();
                if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) throw Late{};
            };
            const int threads = team(n_jobs, n << d);
            try {
                const double score = without_gil([&] { return posteriori::best_network(task, found, threads, poll); });
                return nb::make_tuple(found, score);
            } catch (const Late&) {
                return nb::none();
            }
        },
        as_is("codes"), nb::arg("sizes"), as_is("weights"), as_is("cells"), nb::arg("below"), nb::arg("ess"), nb::arg("price"),
        nb::arg("most"), nb::arg("equal"), nb::arg("required"), nb::arg("forbidden"),
        nb::arg("seconds") = std::numeric_limits<double>::infinity(), jobs());
}
