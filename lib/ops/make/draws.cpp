// Draws noted and replayed; scopes form a stack per thread.
#include "ops/make/draws.hpp"

#include "core/fail.hpp"
#include "core/thread.hpp"

namespace reel::ops {

DrawsScope::DrawsScope(Draws& log, Mode mode) : log_(log), mode_(mode), below_(detail::thread_state().draws) {
  detail::this_thread.state->draws = this;
}
DrawsScope::~DrawsScope() { detail::this_thread.state->draws = below_; }

PendingDraw::PendingDraw(Generator& generator) : generator_(generator), decides_(detail::this_thread.state->draws) {
  for (; decides_ && decides_->mode_ == DrawsScope::Mode::note; decides_ = decides_->below_)
    if (Draws& log = decides_->log_; log.size() == log.capacity()) log.reserve(2 * log.size() + 1);
  if (decides_ && decides_->next_ == decides_->log_.size())
    fail<ValueError>("random", "a function that is run again for its derivative draws more random numbers than before");
  draw_ = decides_ ? decides_->log_[decides_->next_] : Draw{generator.seed(), generator.position()};
}

void PendingDraw::take(std::uint64_t blocks) noexcept {
  if (decides_)
    ++decides_->next_;
  else
    generator_.take(blocks);
  for (DrawsScope* s = detail::this_thread.state->draws; s != decides_; s = s->below_) s->log_.push_back(draw_);
}

}  // namespace reel::ops
