// The searches in float.
#include "kdtree_queries.hpp"

namespace posteriori::kdtree {

template void nearest<float>(const View<float>&, const float*, std::int64_t, int, const std::int32_t*, const Ask&, float*,
                              std::int64_t*);
template void within<float>(const View<float>&, const float*, std::int64_t, const float*, const Ask&, std::int64_t*,
                             std::vector<std::vector<std::int32_t>>*, std::vector<std::vector<float>>*);

}  // namespace posteriori::kdtree
