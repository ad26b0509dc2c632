#include "threads.hpp"
#include "trees.hpp"
#include "trees/members.hpp"
#include "watch.hpp"

namespace {

using namespace coded;
using posteriori::Counted;
using posteriori::Member;
using posteriori::Members;

std::vector<std::int64_t> first_cells(const Ints& sizes) {
    std::vector<std::int64_t> first{0};
    for (const auto size : sizes) first.push_back(first.back() + size);
    return first;
}

// `Members` of `kernels.trees`: every value, parent and table where it should be.
struct HeldMembers {
    InC<std::uint16_t, 2> values;
    InC<std::int32_t, 2> sizes;
    InC<std::int32_t, 3> parents;
    InC<std::int64_t, 2> starts;
    InC<float, 1> tables;
    InC<float, 2> prior;

    explicit HeldMembers(nb::handle members) {
        read(members, "values", values), read(members, "sizes", sizes), read(members, "parents", parents);
        read(members, "starts", starts), read(members, "tables", tables), read(members, "prior", prior);
    }

    Members members(const std::vector<std::int64_t>& first) const {
        const std::size_t M = values.shape(0), d = first.size() - 1, K = prior.shape(1);
        need(values.shape(1) == static_cast<std::size_t>(first[d]) && sizes.shape(0) == M && sizes.shape(1) == d && parents.shape(0) == M &&
                 parents.shape(1) == d && parents.shape(2) == 2 && starts.shape(0) == M && starts.shape(1) == d + 1 && prior.shape(0) == M && K > 0,
             "a member has all its parts");
        std::int64_t end = 0;
        for (std::size_t t = 0; t < M; ++t) {
            const std::int32_t *V = sizes.data() + t * d, *above = parents.data() + t * 2 * d;
            const std::int64_t* from = starts.data() + t * (d + 1);
            need(from[0] == end, "tables lie end to end");
            for (std::size_t j = 0; j < d; ++j) {
                need(V[j] > 0 && V[j] <= 65536, "a column has 1 to 65536 values");
                for (std::int64_t c = first[j]; c < first[j + 1]; ++c)
                    need(values.data()[t * first[d] + c] < V[j] || values.data()[t * first[d] + c] == posteriori::NONE, "no such value");
                double room = static_cast<double>(V[j]) * K, rung = room;
                for (int l = 0; l < 2 && above[2 * j + l] >= 0; ++l) {
                    need(static_cast<std::size_t>(above[2 * j + l]) < d, "no such parent");
                    room += rung *= V[above[2 * j + l]];
                }
                need(static_cast<double>(from[j + 1] - from[j]) == room, "a column has the tables of its parents");
            }
            end = from[d];
        }
        need(end == static_cast<std::int64_t>(tables.shape(0)), "tables lie end to end");
        return {M, values.data(), sizes.data(), parents.data(), starts.data(), tables.data(), prior.data(), static_cast<int>(K)};
    }
};

// `MemberCounts` of `kernels.trees`, and how the tables will lie.
struct HeldCounts {
    InC<std::int32_t, 2> sizes;
    InC<std::uint16_t, 1> cuts;
    InC<std::int32_t, 3> parents;
    InC<std::uint8_t, 1> cells;
    InC<std::int64_t, 1> cut_ends, cell_ends;
    InC<float, 2> prior;
    Ints codes;
    Counted counted;
    std::vector<std::int64_t> starts;

    explicit HeldCounts(nb::handle members) {
        InC<std::int64_t, 1> of;
        read(members, "codes", of), read(members, "sizes", sizes), read(members, "cuts", cuts), read(members, "parents", parents);
        read(members, "cells", cells), read(members, "cut_ends", cut_ends), read(members, "cell_ends", cell_ends), read(members, "prior", prior);
        const auto whole = nb::cast<std::uint64_t>(members.attr("drawn"));
        for (std::size_t j = 0; j < of.shape(0); ++j) codes.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(of(j), 65537)));
        const std::size_t M = sizes.shape(0), d = codes.size();
        const auto K = static_cast<int>(prior.shape(1));
        for (const auto size : codes) need(size > 0 && size <= 65536, "a column has 1 to 65536 values");
        need(K > 0 && whole < (std::uint64_t{1} << 53), "counts are of some classes and fewer than 2⁵³ rows");
        need(sizes.shape(1) == d && parents.shape(0) == M && parents.shape(1) == d && parents.shape(2) == 2 && cut_ends.shape(0) == M + 1 &&
                 cell_ends.shape(0) == M + 1 && prior.shape(0) == M,
             "a member has all its parts");
        need(cut_ends.data()[M] == static_cast<std::int64_t>(cuts.shape(0)) && cell_ends.data()[M] == static_cast<std::int64_t>(cells.shape(0)),
             "members lie end to end");
        counted = {M, K, codes, sizes.data(), parents.data(), cuts.data(), cells.data(), cut_ends.data(), cell_ends.data(), whole};
        starts.resize(M * (d + 1));
        const char* why = posteriori::lay_out(counted, starts.data());
        need(!why, why);
    }

    std::size_t room() const { return starts.empty() ? 0 : static_cast<std::size_t>(starts.back()); }
};

template <typename C> void bind_codes(nb::module_& m) {
    m.def(
        "grow_members",
        [](nb::handle coded, const std::vector<bool>& given, const Classes& y, int K, const Numbers& weights, const InC<std::uint64_t, 1>& seeds,
           std::size_t most, nb::handle n_jobs, const nb::object& tell) {
            const Coded<C> table(coded);
            const auto rows = table.rows(true);
            const auto& sizes = table.sizes;
            const Flags blank(given.begin(), given.end());
            need_classes(y, rows.n, K);
            need(blank.size() == sizes.size(), "a word on missing cells a column is needed");
            const auto running = running_sums(weights, rows.n);
            const auto first = first_cells(sizes);
            const std::size_t d = sizes.size(), M = seeds.shape(0);
            std::vector<double> weight(first[d], 0.0);
            for (std::size_t j = 0; j < d; ++j)
                for (std::size_t r = 0; r < rows.n; ++r) weight[first[j] + rows.column(static_cast<int>(j))[r]] += weights ? weights->data()[r] : 1.0;
            std::vector<Member> grown(M);
            std::atomic<std::size_t> done{0};
            const int threads = team(n_jobs, table.cells.size() * M * 20);
            without_gil([&] {
                posteriori::Watch watch(ending(tell, done));
                posteriori::parallel_for(M, threads, [&](std::size_t t) {
                    watch();
                    std::vector<double> bag(rows.n);
                    posteriori::draw_bag(rows.n, weights ? running.data() : nullptr, seeds.data()[t], bag.data());
                    grown[t] = posteriori::grow_member<C>(rows, blank.data(), first.data(), weight.data(), y.data(), K, bag.data(), most,
                                                          seeds.data()[t]);
                    ++done;
                });
            });
            Member all;
            std::vector<std::int64_t> cut_ends{0}, cell_ends{0};
            for (auto& one : grown) {
                const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
                join(all.sizes, one.sizes), join(all.cuts, one.cuts), join(all.parents, one.parents), join(all.cells, one.cells);
                join(all.prior, one.prior);
                cut_ends.push_back(static_cast<std::int64_t>(all.cuts.size())), cell_ends.push_back(static_cast<std::int64_t>(all.cells.size()));
                one = {};
            }
            const std::size_t cuts = all.cuts.size(), cells = all.cells.size();
            const auto own = empty<std::int64_t>({d});
            std::copy(sizes.begin(), sizes.end(), own.data);
            return made("MemberCounts", nb::make_tuple(own.array, owned(std::move(all.sizes), {M, d}), owned(std::move(all.cuts), {cuts}),
                                                       owned(std::move(all.parents), {M, d, 2}), owned(std::move(all.cells), {cells}),
                                                       owned(std::move(cut_ends), {M + 1}), owned(std::move(cell_ends), {M + 1}),
                                                       owned(std::move(all.prior), {M, static_cast<std::size_t>(K)}), rows.n));
        },
        nb::arg("codes"), nb::arg("blank"), nb::arg("y"), nb::arg("K"), as_is("weights").none(), as_is("seeds"), nb::arg("most"), jobs(),
        nb::arg("tell") = nb::none());
    m.def(
        "member_sums",
        [](nb::handle members_given, nb::handle codes, const Bits& bags, nb::handle n_jobs) {
            const Coded<C> table(codes);
            const auto rows = table.rows(false);
            const auto first = first_cells(table.sizes);
            const HeldMembers kept(members_given);
            const Members members = kept.members(first);
            const auto* in = bags_of(bags, members.members, rows.n);
            const auto out = zeros<double>({rows.n, static_cast<std::size_t>(members.K)});
            const auto used = zeros<std::uint32_t>({rows.n});
            const int threads = team(n_jobs, table.cells.size() * members.members * 3);
            without_gil([&] { posteriori::member_sums(rows, first.data(), members, in, out.data, used.data, threads); });
            return nb::make_tuple(out.array, used.array);
        },
        nb::arg("members"), nb::arg("codes"), maybe("bags"), jobs());
}

}  // namespace

void bind_members(nb::module_& m) {
    bind_codes<std::uint8_t>(m);
    bind_codes<std::uint16_t>(m);
    m.def("member_room", [](nb::handle counts) { return HeldCounts(counts).room(); }, nb::arg("counts"));
    m.def(
        "open_members",
        [](nb::handle counts, nb::handle n_jobs) {
            HeldCounts kept(counts);
            const std::size_t M = kept.counted.members, d = kept.codes.size(), width = static_cast<std::size_t>(first_cells(kept.codes).back());
            const std::size_t room = kept.room();
            const int threads = team(n_jobs, 10 * room);
            std::vector<std::uint16_t> values(M * width);
            std::vector<float> tables(room);
            without_gil([&] { posteriori::open_members(kept.counted, kept.starts.data(), values.data(), tables.data(), threads); });
            return nb::make_tuple(owned(std::move(values), {M, width}), owned(std::move(kept.starts), {M, d + 1}), owned(std::move(tables), {room}));
        },
        nb::arg("counts"), jobs());
}
