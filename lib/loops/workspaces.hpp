// Scratch memory for tasks.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <reel/tensor.hpp>

namespace reel::loops {

/// Scratch memory for as many concurrent tasks as there are threads.
class Workspaces {
 public:
  Workspaces(std::int64_t tasks, std::int64_t bytes);
  /// Calls f(memory) with memory, aligned to 64 bytes, that no other call uses meanwhile.
  template <class F>
  void use(const F& f) {
    std::int64_t at = 0;
    while (taken_[static_cast<std::size_t>(at)].exchange(true, std::memory_order_acquire))
      at = at + 1 < count_ ? at + 1 : 0;
    f(memory_ + at * bytes_);
    taken_[static_cast<std::size_t>(at)].store(false, std::memory_order_release);
  }

 private:
  std::int64_t count_, bytes_;
  detail::List<std::atomic<bool>> taken_;
  Tensor held_;
  std::byte* memory_;
};

}  // namespace reel::loops
