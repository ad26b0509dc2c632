#include "threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "watch.hpp"

namespace posteriori {
namespace {

thread_local int unasked = 0;
thread_local Often often;

// The tasks of a call and the threads at work on them. On a busy machine a thread may get its first turn long after the
// others have done everything: nobody waits for it. It finds the team closed and goes, the last to leave ends the team.
struct Team {
    std::size_t tasks;
    void (*work)(void*, std::size_t);
    void* context;
    std::atomic<std::size_t> next{0};
    std::mutex guard;
    std::condition_variable left;
    std::size_t inside = 0;  // threads, the caller aside, that have begun
    bool closed = false;
    std::exception_ptr failure;
    bool follows = false;  // the failure is that of another thread: who gave up first says why

    Team(std::size_t tasks, void (*work)(void*, std::size_t), void* context) : tasks(tasks), work(work), context(context) {}

    void run(bool asked) {
        try {
            for (std::size_t t; (t = next.fetch_add(1)) < tasks;) {
                work(context, t);
                if (asked && often()) ask_between_tasks();
            }
        } catch (const Watch::Ended&) {
            fail(true);
        } catch (...) {
            fail(false);
        }
    }

    void fail(bool late) {
        std::lock_guard<std::mutex> hold(guard);
        if (!failure || follows) failure = std::current_exception(), follows = late;
        next = tasks;
    }

    void help() {
        {
            std::lock_guard<std::mutex> hold(guard);
            if (closed) return;
            ++inside;
        }
        run(false);
        std::lock_guard<std::mutex> hold(guard);
        if (--inside == 0) left.notify_one();
    }

    void close() {
        std::unique_lock<std::mutex> hold(guard);
        closed = true;
        left.wait(hold, [&] { return inside == 0; });
    }
};

}  // namespace

void (*ask_between_tasks)() = nullptr;

Unasked::Unasked(bool really) : by(really) { unasked += by; }
Unasked::~Unasked() { unasked -= by; }

void run_tasks(std::size_t tasks, int threads, void (*work)(void*, std::size_t), void* context) {
    const std::size_t n = std::min<std::size_t>(tasks, std::max(threads, 1));
    const bool asked = ask_between_tasks && !unasked;
    if (n <= 1) {
        for (std::size_t t = 0; t < tasks; ++t) {
            work(context, t);
            if (asked && often()) ask_between_tasks();
        }
        return;
    }
    const auto team = std::make_shared<Team>(tasks, work, context);
    try {
        for (std::size_t i = 1; i < n; ++i) std::thread([team] { team->help(); }).detach();
    } catch (...) {  // no more threads to be had: the ones there are do the work
    }
    team->run(asked);
    team->close();
    if (team->failure) std::rethrow_exception(team->failure);
}

}  // namespace posteriori
