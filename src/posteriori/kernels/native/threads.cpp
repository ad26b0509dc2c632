#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace posteriori {

void run_tasks(std::size_t tasks, int threads, void (*work)(void*, std::size_t), void* context) {
    const std::size_t n = std::min<std::size_t>(tasks, std::max(threads, 1));
    if (n <= 1) {
        for (std::size_t t = 0; t < tasks; ++t) work(context, t);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    auto loop = [&] {
        try {
            for (std::size_t t; (t = next.fetch_add(1)) < tasks;) work(context, t);
        } catch (...) {
            std::lock_guard<std::mutex> hold(guard);
            if (!failure) failure = std::current_exception();
            next = tasks;
        }
    };
    std::vector<std::thread> team;
    team.reserve(n - 1);
    try {
        for (std::size_t i = 1; i < n; ++i) team.emplace_back(loop);
    } catch (...) {  // no more threads to be had: the ones there are do the work
    }
    loop();
    for (auto& member : team) member.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace posteriori
