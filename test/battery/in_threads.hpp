// Threads that start together.
#pragma once
#include <barrier>
#include <thread>
#include <vector>

namespace support {

inline constexpr int thread_count = 8;

/// Runs f(thread) on eight threads that start together. Catch2's assertions belong to one thread: f makes none.
template <class F>
void in_threads(F f) {
  std::barrier start(thread_count);
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i)
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      f(i);
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace support
