// Draws noted and replayed; scopes form a stack per thread.
#include "ops/make/draws.hpp"

#include "core/fail.hpp"
#include "core/thread.hpp"

namespace reel::ops {

DrawsScope::DrawsScope(Draws& log, Mode mode) : log_(log), mode_(mode), below_(detail::thread_state().draws) {
  detail::this_thread.state->draws = this;
}
DrawsScope::~DrawsScope() { detail::this_thread.state->draws = below_; }

Draw draw(Generator& generator, std::uint64_t blocks) {
  DrawsScope* const innermost = detail::this_thread.state->draws;
  DrawsScope* decides = innermost;
  while (decides && decides->mode_ == DrawsScope::Mode::note) decides = decides->below_;
  if (decides && decides->next_ == decides->log_.size())
    fail<ValueError>("random", "a function that is run again for its derivative draws more random numbers than before");
  const Draw drawn = decides ? decides->log_[decides->next_++] : Draw{generator.seed(), generator.take(blocks)};
  for (DrawsScope* s = innermost; s != decides; s = s->below_) s->log_.push_back(drawn);
  return drawn;
}

}  // namespace reel::ops
