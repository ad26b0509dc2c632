#include "pairs/families.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

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

Scoring scoring_of(int kind, double number, const Numbers& x_log_x, const Numbers& regret) {
    need(kind >= 0 && kind <= static_cast<int>(posteriori::FamilyScore::fnml), "no such score");
    const auto how = static_cast<posteriori::FamilyScore>(kind);
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

// What `kernels.families.walk` gives.
struct Walk {
    std::vector<Columns> start;
    posteriori::ClimbTask task{};
    nb::object tell;

    explicit Walk(const nb::tuple& told) {
        need(told.size() == 12, "a walk has 12 parts");
        start = nb::cast<std::vector<Columns>>(told[0]);
        const std::size_t d = start.size();
        task.d = static_cast<int>(d);
        for (const auto& [rule, to] : {std::pair{1, &task.required}, std::pair{2, &task.forbidden}}) {
            const auto pairs = nb::cast<Pairs>(told[rule], false);
            need(pairs.shape(0) == d && pairs.shape(1) == d, "rules are of every pair");
            to->assign(pairs.data(), pairs.data() + d * d);
        }
        task.most = nb::cast<int>(told[3]), task.least = nb::cast<double>(told[4]), task.symmetric = nb::cast<bool>(told[5]);
        task.tabu = nb::cast<int>(told[6]), task.restarts = nb::cast<int>(told[7]), task.orders = nb::cast<int>(told[8]);
        task.seed = nb::cast<std::uint64_t>(told[9]), task.moves = nb::cast<std::uint64_t>(told[10]), tell = nb::borrow(told[11]);
        need(task.most >= 0 && task.least >= 0, "most and least are 0 or more");
        for (const int steps : {task.tabu, task.restarts, task.orders})
            need(steps >= 0 && steps <= 500'000, "tabu, restarts and orders are 0 to 500,000");
        for (std::size_t v = 0; v < d; ++v) {
            check_columns(d, static_cast<int>(v), start[v], {});
            need(std::is_sorted(start[v].begin(), start[v].end(), std::less_equal<>()), "parents are in order, each once");
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

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "value_bitmaps",
        [](const InC<C, 2>& codes, const Sizes& states, OutC<std::uint64_t, 2> out, int threads) {
            const auto data = family_data<C>(codes, states, states, {}, {});
            need(out.shape(0) == posteriori::bitmap_count(states) && out.shape(1) == posteriori::bitmap_words(data.n),
                 "the bitmaps are not those of the columns");
            nb::gil_scoped_release release;
            posteriori::value_bitmaps(data.codes, data.n, states, out.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("states"), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "toggle_scores",
        [](const InC<C, 2>& codes, const Sizes& sizes, const Sizes& states, const Numbers& weights, const Bits& bits, int child,
           const Columns& parents, const Columns& candidates, int kind, double number, const Numbers& x_log_x,
           const Numbers& regret, OutC<double, 1> out, int threads) {
            const auto data = family_data<C>(codes, sizes, states, weights, bits);
            check_columns(sizes.size(), child, parents, candidates);
            need(out.shape(0) == candidates.size() + 1, "one score a candidate is needed, and one before them");
            const auto how = scoring_of(kind, number, x_log_x, regret);
            nb::gil_scoped_release release;
            posteriori::toggle_scores(data, child, parents, candidates, how, out.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("states"), nb::arg("weights").noconvert().none(),
        nb::arg("bits").noconvert().none(), nb::arg("child"), nb::arg("parents"), nb::arg("candidates"), nb::arg("kind"),
        nb::arg("number"), nb::arg("x_log_x").noconvert().none(), nb::arg("regret").noconvert().none(),
        nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "g_tests",
        [](const InC<C, 2>& codes, const Sizes& sizes, const Numbers& weights, const Bits& bits, int x, const Columns& given,
           const Columns& candidates, const Numbers& x_log_x, OutC<double, 2> out, int threads) {
            const auto data = family_data<C>(codes, sizes, sizes, weights, bits);
            check_columns(sizes.size(), x, given, candidates);
            need(out.shape(0) == candidates.size() && out.shape(1) == 2, "two numbers a candidate are needed");
            for (const int c : candidates) need(std::find(given.begin(), given.end(), c) == given.end(), "a candidate is given");
            const auto logs = scoring_of(0, 0.0, x_log_x, {});
            nb::gil_scoped_release release;
            posteriori::g_tests(data, x, given, candidates, logs, out.data(), threads);
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("weights").noconvert().none(), nb::arg("bits").noconvert().none(),
        nb::arg("x"), nb::arg("given"), nb::arg("candidates"), nb::arg("x_log_x").noconvert().none(),
        nb::arg("out").noconvert(), nb::arg("threads"));
    m.def(
        "climb",
        [](const InC<C, 2>& codes, const Sizes& sizes, const Sizes& states, const Numbers& weights, const Bits& bits, int kind,
           double number, const Numbers& x_log_x, const std::vector<InC<double, 1>>& regrets, const nb::tuple& told, int threads) {
            auto data = family_data<C>(codes, sizes, states, weights, bits);
            posteriori::look_at_columns(data, 1);
            Walk walk(told);
            need(walk.start.size() == sizes.size() && (regrets.empty() || regrets.size() == sizes.size()), "one entry a column is needed");
            std::vector<Scoring> how;
            for (std::size_t v = 0; v < sizes.size(); ++v)
                how.push_back(scoring_of(kind, number, x_log_x, regrets.empty() ? Numbers{} : Numbers{regrets[v]}));
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
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("states"), nb::arg("weights").noconvert().none(),
        nb::arg("bits").noconvert().none(), nb::arg("kind"), nb::arg("number"), nb::arg("x_log_x").noconvert().none(),
        nb::arg("regrets"), nb::arg("walk"), nb::arg("threads"));
}

}  // namespace

void bind_families(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    bind_codes<std::uint32_t>(m);
    m.def(
        "climb_asking",
        [](const nb::object& ask, const nb::tuple& told) {
            Walk walk(told);
            walk.task.ask = asking(ask);
            return climbed(walk);
        },
        nb::arg("ask"), nb::arg("walk"));
    m.def(
        "best_network",
        [](const InC<std::uint16_t, 2>& codes, const Sizes& sizes, const InC<std::uint32_t, 1>& weights,
           const InC<double, 2>& cells, const Columns& below, double ess, double price, int most, double equal,
           const Sizes& required, const Sizes& forbidden, OutC<std::uint32_t, 1> parents, OutC<double, 1> score, double seconds, int threads) {
            const std::size_t n = codes.shape(1), d = codes.shape(0), T = cells.shape(0);
            need(d > 0 && d <= 30 && sizes.size() == d, "from 1 to 30 columns are needed, and a size each");
            need(n > 0 && n < (std::size_t{1} << 31) && weights.shape(0) == n, "rows and weights differ, or there are none");
            need(T > 0 && cells.shape(1) > 0, "there is no table of cells");
            need(below.size() == d && required.size() == d && forbidden.size() == d, "one number a column is needed");
            need(parents.shape(0) == d && score.shape(0) == 1, "a set of parents for each column is given back, and a score");
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
            nb::gil_scoped_release release;
            try {
                score.data()[0] = posteriori::best_network(task, found, threads, poll);
            } catch (const Late&) {
                return false;
            }
            std::copy(found.begin(), found.end(), parents.data());
            return true;
        },
        nb::arg("codes").noconvert(), nb::arg("sizes"), nb::arg("weights").noconvert(), nb::arg("cells").noconvert(),
        nb::arg("below"), nb::arg("ess"), nb::arg("price"), nb::arg("most"), nb::arg("equal"), nb::arg("required"),
        nb::arg("forbidden"), nb::arg("parents").noconvert(), nb::arg("score").noconvert(), nb::arg("seconds"),
        nb::arg("threads"));
}
