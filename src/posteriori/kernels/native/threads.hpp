// Threads made for one call, at whose end nobody is at work: nothing is needed after a fork, nothing is shared between calls.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace posteriori {

// Asked now and then, between two tasks, on the thread that called; may throw to end the work, as Ctrl-C does.
extern void (*ask_between_tasks)();

// While one lives, nobody is asked on its thread: the work looks at signals itself, and says how it ends.
class Unasked {
    const int by;

public:
    explicit Unasked(bool really = true);
    ~Unasked();
    Unasked(const Unasked&) = delete;
    Unasked& operator=(const Unasked&) = delete;
};

// The work of parallel_for behind one pointer, so that <thread> and its machinery are compiled once.
void run_tasks(std::size_t tasks, int threads, void (*work)(void*, std::size_t), void* context);

// Runs work(task) for every task in [0, tasks) on up to `threads` threads, the caller's among them. Tasks are handed out
// in order; a caller that wants results free of the thread count keeps one result a task and merges them in task order.
template <typename Work> void parallel_for(std::size_t tasks, int threads, Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    run_tasks(tasks, threads, [](void* w, std::size_t t) { (*static_cast<Plain*>(w))(t); },
              const_cast<void*>(static_cast<const void*>(std::addressof(work))));
}

// The same for many short tasks that write side by side, runs of up to `most` of them on one thread: a core would otherwise fetch
// ahead what another is about to write.
template <typename Work> void parallel_runs(std::size_t tasks, std::size_t most, int threads, Work&& work) {
    const std::size_t turns = static_cast<std::size_t>(std::max(threads, 1)) * 4;
    const std::size_t run = threads > 1 ? std::clamp<std::size_t>(tasks / turns, 1, most) : most;
    parallel_for((tasks + run - 1) / run, threads, [&](std::size_t r) {
        for (std::size_t t = r * run; t < std::min(tasks, (r + 1) * run); ++t) work(t);
    });
}

}  // namespace posteriori
