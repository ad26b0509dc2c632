// The searches in double.
#include "kdtree_queries.hpp"

namespace posteriori::kdtree {

template void nearest<double>(const View<double>&, const double*, std::int64_t, int, const std::int32_t*, const Ask&, double*,
                              std::int64_t*);
template void within<double>(const View<double>&, const double*, std::int64_t, const double*, const Ask&, std::int64_t*,
                             std::vector<std::vector<std::int32_t>>*, std::vector<std::vector<double>>*);

}  // namespace posteriori::kdtree
