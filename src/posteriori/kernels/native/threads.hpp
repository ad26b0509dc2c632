// Threads made for one call, at whose end nobody is at work: nothing is needed after a fork, nothing is shared between calls.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

namespace posteriori {

// The work of parallel_for behind one pointer, so that <thread> and its machinery are compiled once.
void run_tasks(std::size_t tasks, int threads, void (*work)(void*, std::size_t), void* context);

// Runs work(task) for every task in [0, tasks) on up to `threads` threads, the caller's among them. Tasks are handed out
// in order; a caller that wants results free of the thread count keeps one result a task and merges them in task order.
template <typename Work> void parallel_for(std::size_t tasks, int threads, Work&& work) {
    using Plain = std::remove_reference_t<Work>;
    run_tasks(tasks, threads, [](void* w, std::size_t t) { (*static_cast<Plain*>(w))(t); },
              const_cast<void*>(static_cast<const void*>(std::addressof(work))));
}

}  // namespace posteriori
