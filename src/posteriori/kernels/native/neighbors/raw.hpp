// Arrays that are written before they are read: not cleared, and in huge pages where the system has them, since a fresh
// page costs more than filling it.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace posteriori {

template <typename T> struct RawMemory {
    using value_type = T;
    RawMemory() = default;
    template <typename U> RawMemory(const RawMemory<U>&) {}

    T* allocate(std::size_t n) {
        constexpr std::size_t huge = std::size_t(1) << 21;
        const std::size_t bytes = n * sizeof(T);
        void* p;
#ifdef __linux__
        if (bytes >= 2 * huge) {
            const std::size_t whole = (bytes + huge - 1) / huge * huge;
            p = std::aligned_alloc(huge, whole);
            if (p) madvise(p, whole, MADV_HUGEPAGE);
        } else
#endif
            p = std::malloc(bytes);
        if (!p && n) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }
    template <typename U> void construct(U* p) { ::new (static_cast<void*>(p)) U; }
    template <typename U, typename... A> void construct(U* p, A&&... a) {
        ::new (static_cast<void*>(p)) U(std::forward<A>(a)...);
    }
    bool operator==(const RawMemory&) const { return true; }
    bool operator!=(const RawMemory&) const { return false; }
};

template <typename T> using Raw = std::vector<T, RawMemory<T>>;

}  // namespace posteriori
