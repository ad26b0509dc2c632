// A long call looks at signals and the clock now and then, so that Ctrl-C or a time limit ends it.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

#include "threads.hpp"

namespace posteriori {

// True at most every fifth of a second.
class Often {
    std::int64_t last;  // milliseconds

  public:
    Often();
    bool operator()();
};

// Called now and then on the caller's thread; may throw to end the work.
using Poll = std::function<void()>;

// Lets the caller look, at most every fifth of a second and only on the thread that called. Once it has thrown, the other
// threads' looks throw too.
class Watch {
    const Unasked alone;
    const Poll poll;
    const std::uintptr_t caller;
    Often often;
    std::atomic<bool> ended{false};

  public:
    struct Ended {};
    explicit Watch(Poll poll);
    void operator()();
};

}  // namespace posteriori
