#include "watch.hpp"

#include <chrono>

namespace posteriori {
namespace {

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A variable of the thread's own: its address is the thread's name.
std::uintptr_t thread_name() {
    thread_local char own;
    return reinterpret_cast<std::uintptr_t>(&own);
}

}  // namespace

Often::Often() : last(now()) {}

bool Often::operator()() {
    const std::int64_t at = now();
    if (at - last < 200) return false;
    last = at;
    return true;
}

Watch::Watch(Poll poll) : alone(static_cast<bool>(poll)), poll(poll), caller(thread_name()) {}

void Watch::operator()() {
    if (ended.load(std::memory_order_relaxed)) throw Ended{};
    if (!poll || thread_name() != caller || !often()) return;
    try {
        poll();
    } catch (...) {
        ended = true;
        throw;
    }
}

}  // namespace posteriori
