// A long call looks at signals now and then, so that Ctrl-C ends it.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

namespace posteriori {

// Called now and then on the caller's thread; may throw to end the work.
using Poll = std::function<void()>;

// Lets the caller look, at most every fifth of a second and only on the thread that called.
class Watch {
    const Poll& poll;
    const std::thread::id caller = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();

  public:
    explicit Watch(const Poll& poll) : poll(poll) {}
    void operator()() {
        if (!poll || std::this_thread::get_id() != caller) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(200)) return;
        last = now;
        poll();
    }
};

}  // namespace posteriori
