// A sentinel at the bottom of the stack keeps tape::active() true, so that every op reports.
#include "tape/capture.hpp"

#include "tape/tape.hpp"

namespace reel::tape {

Capture::Capture() : sentinel_(make_tape({}, Tape::Kind::capture)), below_(innermost()) {
  sentinel_->capture = this;
  push(sentinel_);
  detail::thread_state().capture = this;
}
Capture::~Capture() {
  detail::this_thread.state->capture = below_;
  free_tape(sentinel_);
}

bool Capture::hides(const detail::Block* x) const noexcept {
  for (const Tape* t = hidden(); t; t = t->below)
    if (t->kind == Tape::Kind::capture ? t->capture->hides(x) : t->recording() && t->find(x) != no_slot) return true;
  return false;
}

bool Capture::would_follow(const Variable& v) const noexcept {
  for (const Tape* t = hidden(); t; t = t->below)
    if (t->kind == Tape::Kind::capture ? t->capture->would_follow(v)
                                       : t->recording() && (t->by_id.find(v.id()) != no_slot ||
                                                            (v.trainable() && t->options.watch_accessed_variables)))
      return true;
  return false;
}

bool Capture::in_forward_over_reverse() noexcept {
  const auto any = [](const Tape* stack, bool suspended) {
    bool inside = false;
    for (const Tape* t = stack; t; t = t->below) {
      const bool records = t->kind == Tape::Kind::reverse && !t->paused;
      if (records && (t->hidden || t->over_tangents)) return true;
      if (suspended && inside && (records || t->kind == Tape::Kind::forward)) return true;
      inside |= records;
    }
    return false;
  };
  if (any(top(), false)) return true;
  for (const Suspend* h = detail::this_thread.state->suspended; h; h = h->below_)
    if (any(h->top_, true)) return true;
  return false;
}

void Capture::note(const Tensor& x) {
  const detail::Block* b = detail::block(x);
  if (!is_differentiable(b->dtype) || !hides(b) || !known_.insert(b->id).second) return;
  tensors_.push_back(x);
  if (watcher_) watch(*watcher_, x);
}

void Capture::note(std::span<const Tensor* const> inputs) {
  for (const Tensor* x : inputs) note(*x);
}

void Capture::note(std::span<const Tensor> results) {
  for (const Tensor& x : results) note(x);
}

void Capture::note(const Variable& v, std::uint64_t id) {
  known_.insert(id);
  variables_.emplace(v.id(), v);
}

std::vector<Variable> Capture::variables() const {
  std::vector<Variable> list;
  list.reserve(variables_.size());
  for (const auto& [id, v] : variables_) list.push_back(v);
  return list;
}

void Capture::note_constant(const Variable& v, const Tensor& value) {
  for (Capture* c = this; c; c = c->below_)
    if (c->known_constants_.insert(v.id()).second) {
      c->constant_values_.push_back(value);
      c->constants_.push_back(v);
    }
}

}  // namespace reel::tape
