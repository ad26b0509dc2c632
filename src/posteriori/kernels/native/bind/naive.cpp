#include "bind.hpp"

void bind_naive(nb::module_& m) { (void)m; }
