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
  friend Draw draw(Generator& generator, std::uint64_t blocks);
  Draws& log_;
  Mode mode_;
  std::size_t next_ = 0;
  DrawsScope* below_;
};

/// Takes blocks. ValueError when a replayed function draws more than it did.
Draw draw(Generator& generator, std::uint64_t blocks);

}  // namespace reel::ops
