// GradientTape: the public face of a tape.
#include <algorithm>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

using tape::Tape;

GradientTape::GradientTape(const TapeOptions& options) : tape_(tape::make_tape(options)) { tape::push(tape_); }
GradientTape::~GradientTape() {
  for (Pause* p = pauses_; p; p = p->next_) p->owner_ = nullptr;
  tape::free_tape(tape_);
}

void GradientTape::watch(const Tensor& x) {
  check_thread(*tape_, "GradientTape.watch");
  tape::watch(*tape_, x);
}
void GradientTape::watch(const Variable& x) {
  check_thread(*tape_, "GradientTape.watch");
  tape::watch(*tape_, x);
}

std::vector<Gradient> GradientTape::replay(std::span<const Target> targets, std::span<const Source> sources,
                                           const GradientOptions& options) {
  return gradients::replay(*tape_, targets, sources, options);
}

GradientTape::Pause::Pause(GradientTape& owner) : owner_(&owner), next_(owner.pauses_) {
  check_thread(*owner.tape_, "GradientTape.stop_recording");
  owner.pauses_ = this;
  ++owner.tape_->paused;
}
GradientTape::Pause::~Pause() {
  if (!owner_) return;
  Pause** at = &owner_->pauses_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  --owner_->tape_->paused;
}

void GradientTape::stop() {
  check_thread(*tape_, "GradientTape.stop");
  if (active()) tape::pop(tape_);
}

void GradientTape::resume() {
  check_thread(*tape_, "GradientTape.resume");
  if (active()) fail<TapeError>("GradientTape.resume", "the tape is active already");
  if (tape_->used)
    fail<TapeError>("GradientTape.resume", "the tape was used already; call reset(), or make it persistent");
  tape::push(tape_);
}

void GradientTape::reset() {
  check_thread(*tape_, "GradientTape.reset");
  if (tape_->replaying) fail<TapeError>("GradientTape.reset", "called from within a gradient function of this tape");
  tape_->clear();
  if (!active()) tape::push(tape_);
}

std::vector<Variable> GradientTape::watched_variables() const {
  std::vector<Variable> list;
  std::vector<const Variable*> order;
  for (const auto& [v, slot] : tape_->variables) order.push_back(&v);
  std::sort(order.begin(), order.end(), [](const Variable* a, const Variable* b) { return a->id() < b->id(); });
  for (const Variable* v : order) list.push_back(*v);
  return list;
}

bool GradientTape::active() const noexcept { return tape_->place.load() == Tape::Place::on_stack; }

std::string GradientTape::explain_all(std::span<const Target> targets, std::span<const Source> sources) const {
  return gradients::explain(*tape_, targets, sources);
}

}  // namespace reel
