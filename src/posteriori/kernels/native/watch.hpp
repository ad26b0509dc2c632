// A long call looks at signals now and then, so that Ctrl-C ends it.
#pragma once
#include <cstdint>

namespace posteriori {

// Called now and then on the caller's thread; may throw to end the work.
using Poll = void (*)();

// Lets the caller look, at most every fifth of a second and only on the thread that called.
class Watch {
    const Poll poll;
    const std::uintptr_t caller;
    std::int64_t last;  // milliseconds

  public:
    explicit Watch(Poll poll);
    void operator()();
};

}  // namespace posteriori
