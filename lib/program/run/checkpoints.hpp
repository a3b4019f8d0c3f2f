// Binomial checkpointing (Griewank and Walther 2000) for loops of unknown length. Going forward, the states before some
// iterations are kept, at a stride that doubles whenever there are too many. Going back, the gaps are filled.
#pragma once
#include <algorithm>
#include <cstdint>
#include <reel/tensor.hpp>

namespace reel::program {

/// binomial(s + t, s): the most iterations that s kept states serve if each iteration is computed at most t times
/// again.
inline std::int64_t checkpoint_reach(std::int64_t s, std::int64_t t, std::int64_t limit) {
  std::int64_t b = 1;
  for (std::int64_t k = 1; k <= s && b < limit; ++k) b = b * (t + k) / k;
  return std::min(b, limit);
}

/// The distance from the last kept state to the next, for `length` iterations ahead and `free` states left to keep.
inline std::int64_t next_checkpoint(std::int64_t length, std::int64_t free) {
  std::int64_t t = 1;
  while (checkpoint_reach(free, t, length) < length) ++t;
  return std::max<std::int64_t>(1, std::min(checkpoint_reach(free, t - 1, length), length - 1));
}

/// Walks back over the iterations of a loop: pull(i, before(i)) for each, from the last to the first. before(i) is the
/// state before iteration i.
template <class Before, class Pull>
void walk_back(std::int64_t iterations, const Before& before, const Pull& pull) {
  for (std::int64_t i = iterations; i-- > 0;) pull(i, before(i));
}

/// A State is a handle to the inputs of an iteration.
template <class State>
class Checkpoints {
 public:
  void limit(std::size_t most) noexcept { most_ = most; }
  /// Going forward: `state` is the one before iteration i. Called for each iteration in turn.
  void offer(std::int64_t i, const State& state) {
    if (i % stride_ != 0) return;
    if (kept_.size() == most_) {
      std::erase_if(kept_, [&](const Kept& k) { return k.iteration % (2 * stride_) != 0; });
      stride_ *= 2;
    }
    if (i % stride_ == 0) kept_.push_back({i, state});
  }
  /// Going back: the state before iteration i, computed from the last kept one by advance(k, state), which returns the
  /// state before iteration k + 1. States on the way are kept where there is room; those from i on are dropped.
  template <class F>
  State before(std::int64_t i, F advance) {
    for (;;) {
      const std::int64_t from = kept_.back().iteration;
      State state = kept_.back().state;
      if (from == i) {
        kept_.pop_back();
        return state;
      }
      const auto free = static_cast<std::int64_t>(most_) - static_cast<std::int64_t>(kept_.size());
      const std::int64_t to = free > 0 ? from + next_checkpoint(i + 1 - from, free) : i;
      for (std::int64_t k = from; k < to; ++k) state = advance(k, state);
      if (free <= 0) return state;
      kept_.push_back({to, std::move(state)});
    }
  }

 private:
  struct Kept {
    std::int64_t iteration;
    State state;
  };
  std::size_t most_ = 2;
  std::int64_t stride_ = 1;
  detail::List<Kept> kept_;
};

}  // namespace reel::program
