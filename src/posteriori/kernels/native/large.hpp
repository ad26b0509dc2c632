// Numbers on large pages. To touch small pages for the first time costs more than to count into them, and a table that is read
// here and there has more small pages than the processor remembers.
#pragma once
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace posteriori {

using Numbers = std::unique_ptr<double[], void (*)(void*)>;

// Not yet set.
inline Numbers numbers(std::size_t count) {
    constexpr std::size_t PAGE = std::size_t{1} << 21;
    if (count > (std::numeric_limits<std::size_t>::max() - PAGE) / sizeof(double)) throw std::bad_alloc();
    const std::size_t bytes = count * sizeof(double), whole = (bytes + PAGE - 1) / PAGE * PAGE;
    void* p = bytes < PAGE / 4 ? std::malloc(bytes ? bytes : 1) : std::aligned_alloc(PAGE, whole);
    if (!p) throw std::bad_alloc();
#if defined(__linux__)
    if (bytes >= PAGE / 4) madvise(p, whole, MADV_HUGEPAGE);  // advice: nothing depends on its being taken
#endif
    return {static_cast<double*>(p), std::free};
}

}  // namespace posteriori
