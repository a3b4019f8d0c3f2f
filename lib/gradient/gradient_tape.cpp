// GradientTape: the public face of a tape.
#include <algorithm>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

using tape::Tape;

GradientTape::GradientTape(const TapeOptions& options) : tape_(tape::make_tape(options)) { tape::push(tape_); }
GradientTape::~GradientTape() { tape::free_tape(tape_); }

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
  return autodiff::replay(*tape_, targets, sources, options);
}

GradientTape::Pause::Pause(GradientTape& owner) : tape_(owner.tape_) {
  check_thread(*tape_, "GradientTape.stop_recording");
  ++tape_->paused;
}
GradientTape::Pause::~Pause() { --tape_->paused; }

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
  return autodiff::explain(*tape_, targets, sources);
}

TapeStats GradientTape::stats() const {
  TapeStats s;
  s.entries = tape_->entries.count();
  s.entry_bytes = tape_->entries.bytes() + static_cast<std::int64_t>(tape_->slots.size() * sizeof(tape::Slot));
  const tape::Arena::Place end = tape_->entries.end();
  for (tape::Arena::Place at; const tape::Entry* e = tape_->entries.step_forward(at, end);)
    for (std::uint32_t i = 0; i < e->saved; ++i)
      if (const detail::Block* b = e->blocks()[i]) {
        ++s.saved_tensors;
        s.saved_bytes += b->size * static_cast<std::int64_t>(item_size(b->dtype));
      }
  return s;
}

}  // namespace reel
