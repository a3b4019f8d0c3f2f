// What a function draws from generators, so that running it again for its derivative draws the same numbers.
#pragma once
#include <reel/ops/make.hpp>
#include <vector>

namespace reel::ops {

/// One draw: the generator's seed, and the number of the first block taken.
struct Draw {
  std::uint64_t seed, first;
};
using Draws = std::vector<Draw>;

/// While it lives, draws on this thread are noted in `log`, or, if it replays, taken from it: generators do not move.
/// The innermost one that replays decides what is drawn; all inside it that note, note that.
class DrawsScope {
 public:
  enum class Mode { note, replay };
  DrawsScope(Draws& log, Mode mode);
  DrawsScope(const DrawsScope&) = delete;
  DrawsScope& operator=(const DrawsScope&) = delete;
  ~DrawsScope();

 private:
  friend class PendingDraw;
  Draws& log_;
  Mode mode_;
  std::size_t next_ = 0;
  DrawsScope* below_;
};

/// A draw that an op is about to make. The generator moves, and scopes note the draw, when it is taken: an op that
/// fails before leaves them as they were.
class PendingDraw {
 public:
  /// ValueError when a replayed function draws more than it did; std::bad_alloc if there is no room to note the draw.
  explicit PendingDraw(Generator& generator);
  std::uint64_t seed() const noexcept { return draw_.seed; }
  std::uint64_t first() const noexcept { return draw_.first; }
  void take(std::uint64_t blocks) noexcept;

 private:
  Generator& generator_;
  DrawsScope* decides_;  // the scope that replays, if one does
  Draw draw_;
};

}  // namespace reel::ops
