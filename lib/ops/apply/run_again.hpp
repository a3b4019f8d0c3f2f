// Handlers for a function that is run again for its derivative: it reads the values and draws the numbers of its first
// run.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "ops/apply/effect.hpp"

namespace reel::ops {

/// While it lives, this thread reads these variables as these values, whatever was assigned since, and may not assign
/// them: the assignment would be lost on the function, and happen twice.
class FrozenReads final : public EffectHandler {
 public:
  FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values);
  /// TapeError for a write to one of them.
  void perform(const Effect& effect) override;

 private:
  Tensor* find(const Variable& variable) noexcept;
  std::vector<std::pair<std::uint64_t, Tensor>> values_;  // by Variable::id()
};

/// One draw: the generator's seed, and the number of the first block taken.
struct Draw {
  std::uint64_t seed, first;
};
using Draws = std::vector<Draw>;

/// While it lives, draws on this thread are noted in `log`, or, if it replays, taken from it: generators do not move.
/// The innermost one that replays decides what is drawn; all inside it that note, note that. A draw that fails leaves
/// all of them as they were.
class DrawsScope final : public EffectHandler {
 public:
  enum class Mode { note, replay };
  DrawsScope(Draws& log, Mode mode) : EffectHandler(advances_generator), log_(log), mode_(mode) {}
  /// ValueError when a replayed function draws more than it did; std::bad_alloc if there is no room to note the draw.
  void perform(const Effect& effect) override;

 private:
  Draws& log_;
  Mode mode_;
  std::size_t next_ = 0;
};

}  // namespace reel::ops
