// GradientTape: the public face of a tape; Jacobians, which are the rows of replay_rows in their callers' shapes.
#include <algorithm>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel {

using tape::Tape;

namespace autodiff {

Shape join(const Shape& a, const Shape& b) {
  Shape s = a;
  for (std::int64_t extent : b) s.push_back(extent);
  return s;
}

Gradients jacobian(const char* who, tape::Tape& tape, const Target& target, std::span<const Source> sources,
                   UnconnectedGradients unconnected) {
  check(who, tape, {&target, 1}, sources, {});
  const Shape of = target.tensor().shape();
  for (const Source& s : sources)
    if (const Shape by = shape_of(s); of.rank() + by.rank() > max_rank)
      fail<ShapeError>(who, "a target of rank {} by a source of rank {} makes a rank above {}; flatten them", of.rank(),
                       by.rank(), max_rank);
  Gradients result = replay_rows(who, tape, target, sources, unconnected, target.tensor().size());
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (result[i]) result[i] = reshape(result[i].dense(), join(of, shape_of(sources[i])));
  return result;
}

}  // namespace autodiff

GradientTape::GradientTape(const TapeOptions& options) : tape_(tape::make_tape(options)) { tape::push(tape_); }
GradientTape::~GradientTape() {
  for (Pause* p = pauses_; p; p = p->next_) p->owner_ = nullptr;
  tape::free_tape(tape_);
}

namespace {
void check_unused(const Tape& t, const char* what) {
  if (t.used) fail<TapeError>(what, "the tape was used already; call reset(), or make it persistent");
}
}  // namespace

void GradientTape::watch(const Tensor& x) {
  check_thread(*tape_, "GradientTape.watch");
  check_unused(*tape_, "GradientTape.watch");
  tape::watch(*tape_, x);
}
void GradientTape::watch(const Variable& x) {
  check_thread(*tape_, "GradientTape.watch");
  check_unused(*tape_, "GradientTape.watch");
  tape::watch(*tape_, x);
}

detail::List<Gradient> GradientTape::replay(std::span<const Target> targets, std::span<const Source> sources,
                                            const GradientOptions& options) {
  return autodiff::replay(*tape_, targets, sources, options);
}

detail::List<Gradient> GradientTape::jacobians(const Target& target, std::span<const Source> sources,
                                               const JacobianOptions& options) {
  return autodiff::jacobian("GradientTape.jacobian", *tape_, target, sources, options.unconnected_gradients);
}

Gradient GradientTape::batch_jacobian(const Target& target, const Source& source, const JacobianOptions& options) {
  constexpr const char* op = "GradientTape.batch_jacobian";
  autodiff::check(op, *tape_, {&target, 1}, {&source, 1}, {});
  const Shape of = target.tensor().shape(), by = autodiff::shape_of(source);
  if (of.empty() || by.empty() || of[0] != by[0])
    fail<ShapeError>(op,
                     "the first axes of target and source are the batch and must have the same extent: the target is "
                     "{}, the source {}; use jacobian for what has no batch",
                     of, by);
  const Shape row(of.data() + 1, of.size() - 1), column(by.data() + 1, by.size() - 1);
  if (of.rank() + column.rank() > max_rank)
    fail<ShapeError>(op, "a target of rank {} by a source of rank {} makes a rank above {}; flatten them", of.rank(),
                     by.rank(), max_rank);
  // An element of the target depends on its own element of the batch alone: the sum over the batch loses nothing.
  Gradient rows =
      autodiff::replay_rows(op, *tape_, target, {&source, 1}, options.unconnected_gradients, row.elements()).front();
  if (!rows) return rows;
  return contiguous(reshape(moveaxis(rows.dense(), 0, 1), autodiff::join(of, column)));
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
  check_unused(*tape_, "GradientTape.resume");
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

}  // namespace reel
