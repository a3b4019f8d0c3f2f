// Handlers for a function that is run again for its derivative: it reads the values and draws the numbers of its first
// run, and assigns nothing.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "ops/apply/effect.hpp"

namespace reel::ops {

/// While it lives, this thread reads the given values of these variables, whatever was assigned since. Assigning them
/// is an error: the function would not see the new value, and it would be assigned twice.
class FrozenReads final : public EffectHandler {
 public:
  FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values);
  /// TapeError for a write to one of them.
  void perform(const Effect& effect) override;
  /// Its value; null if it is none of the variables.
  Tensor* find(const Variable& variable) noexcept;

 private:
  std::vector<std::pair<std::uint64_t, Tensor>> values_;  // by Variable::id()
};

/// While it lives, assigns on this thread have no effect: the first run has assigned. Those to variables of `reads` are
/// passed on to it, which refuses them. For the function alone, not for the gradient functions that are called when
/// its record is replayed.
class AssignedBefore final : public EffectHandler {
 public:
  explicit AssignedBefore(FrozenReads& reads) : EffectHandler(writes_variables), reads_(reads) {}
  void perform(const Effect& effect) override;

 private:
  FrozenReads& reads_;
};

/// One draw: the seed of the generator, and the number of the first block.
struct Draw {
  std::uint64_t seed, first;
};
using Draws = std::vector<Draw>;

/// While it lives, draws on this thread are noted in `log`, or, if it replays, taken from it; generators do not advance
/// then. The innermost one that replays decides what is drawn; those that note inside it note that. A draw that fails
/// leaves all of them unchanged.
class DrawsScope final : public EffectHandler {
 public:
  enum class Mode { note, replay };
  DrawsScope(Draws& log, Mode mode) : EffectHandler(advances_generator), log_(log), mode_(mode) {}
  /// ValueError if a replayed function draws more than in its first run; std::bad_alloc if noting the draw fails.
  void perform(const Effect& effect) override;

 private:
  Draws& log_;
  Mode mode_;
  std::size_t next_ = 0;
};

}  // namespace reel::ops
