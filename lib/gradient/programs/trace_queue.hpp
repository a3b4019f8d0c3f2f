// Trace queues: threads that trace one function do so one after another, since its C++ code need not be made for
// several threads. A thread does not wait for one that has come to a stop, which may be waiting for it.
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "program/trace.hpp"

namespace reel::autodiff {

class TraceQueue {
 public:
  /// Of what the threads share. No function is traced under it.
  std::mutex mutex;

  /// While it lives, this thread traces the function. Waits for those that trace it already, as long as they go on.
  class Turn {
   public:
    explicit Turn(TraceQueue& of) : of_(of) {
      std::unique_lock lock(of.mutex);
      while (std::any_of(of.open_.begin(), of.open_.end(), [](Turn* t) { return t->goes_on(); }))
        of.ended_.wait_for(lock, patience / 4);
      of.open_.push_back(this);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const std::lock_guard lock(of_.mutex);
      std::erase(of_.open_, this);
      of_.ended_.notify_all();
    }

   private:
    friend class TraceQueue;
    using Clock = std::chrono::steady_clock;
    // Between two ops of a function that is being traced.
    static constexpr std::chrono::milliseconds patience{200};
    // Whether a thread has traced an op, or a waiting thread has not looked, within that time. Which thread does not
    // matter: while others trace, a thread waits longer for one that has come to a stop.
    bool goes_on() {
      const auto now = Clock::now();
      const std::uint64_t ops = program::Trace::ops_added();
      if (ops != seen_) since_ = now;
      seen_ = ops;
      return now - since_ < patience;
    }
    TraceQueue& of_;
    const std::thread::id thread_ = std::this_thread::get_id();
    std::uint64_t seen_ = ~std::uint64_t{0};  // when a thread that waits looked last
    Clock::time_point since_;
  };
  /// Whether this thread has a turn.
  bool mine() {
    const std::lock_guard lock(mutex);
    return std::any_of(open_.begin(), open_.end(),
                       [id = std::this_thread::get_id()](const Turn* t) { return t->thread_ == id; });
  }

 private:
  std::condition_variable ended_;
  std::vector<Turn*> open_;
};

}  // namespace reel::autodiff
