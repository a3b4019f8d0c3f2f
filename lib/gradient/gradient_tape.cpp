// GradientTape: the public interface of a tape. Jacobians: the rows of replay_rows, in the shape that callers expect.
#include <algorithm>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/reverse/replayed_tape.hpp"
#include "ops/make/identity_rows.hpp"
#include "tape/variable.hpp"

namespace reel {

using tape::state, tape::Tape;

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
  return replay_rows(who, tape, target, sources, unconnected, target.tensor().size(),
                     [](const Tensor& rows, const Shape& y, const Shape& x) { return reshape(rows, join(y, x)); });
}

namespace {

// How many rows cost as much as one column. Measured on a network with a batch of 1000: 1.3 ms per row of a batched
// replay, 2 ms per column.
constexpr std::int64_t rows_per_batch_column = 2;

// Column by column: the tangents are 1 at one element of each source[i]. None, and the tape can still be replayed, at
// an op without a jvp that no path sees.
Gradient batch_columns(const char* who, Tape& t, const Tensor& target, const Source& source, const Shape& column) {
  ReplayedTape replayed(t);
  const Shape by = shape_of(source);
  const DType dtype = dtype_of_source(source);
  const std::int64_t count = column.elements();
  const auto columns = if_differentiable([&] {
    std::vector<Tensor> list;
    for (std::int64_t i = 0; i < count; ++i) {
      const Tensor tangent = ops::identity_rows(by, dtype, 0, count, i);
      Tensor y = pushforward(t, {&source, 1}, {&tangent, 1}, {&target, 1}).front();
      if (!y.defined()) y = zeros(target.shape(), dtype);
      list.push_back(y.dtype() == dtype ? y : cast(y, dtype));
    }
    return list;
  });
  if (!columns) {
    replayed.keep();
    return {};
  }
  const Tensor result = reshape(stack(*columns, -1), join(target.shape(), column));
  replayed.count_entries(who);
  return result;
}

}  // namespace

Gradient batch_jacobian(const char* op, Tape& tape, const Target& target, const Source& source,
                        UnconnectedGradients unconnected) {
  check(op, tape, {&target, 1}, {&source, 1}, {});
  const Shape of = target.tensor().shape(), by = shape_of(source);
  if (of.empty() || by.empty() || of[0] != by[0])
    fail<ShapeError>(op,
                     "the first axes of target and source are the batch and must have the same extent: the target is "
                     "{}, the source {}; use jacobian for what has no batch",
                     of, by);
  const Shape row(of.data() + 1, of.size() - 1), column(by.data() + 1, by.size() - 1);
  if (of.rank() + column.rank() > max_rank)
    fail<ShapeError>(op, "a target of rank {} by a source of rank {} makes a rank above {}; flatten them", of.rank(),
                     by.rank(), max_rank);
  const std::int64_t rows_asked = row.elements(), columns_asked = column.elements();
  if (columns_asked > 0 && columns_asked < rows_asked && !tape.options.vspace && is_floating(target.tensor().dtype()) &&
      is_floating(dtype_of_source(source))) {
    const Path path = path_between(tape, {&source, 1}, {&target.tensor(), 1});
    if (path.connected && path.can_push && (path.one_by_one || columns_asked <= rows_asked / rows_per_batch_column))
      if (Gradient columns = batch_columns(op, tape, target.tensor(), source, column)) return columns;
  }
  // Each row of the target depends only on the same row of the source, so summing over the batch loses nothing.
  const auto arrange = [](const Tensor& all, const Shape& y, const Shape& x) {
    return contiguous(reshape(moveaxis(all, 0, 1), join(y, Shape(x.data() + 1, x.size() - 1))));
  };
  return replay_rows(op, tape, target, {&source, 1}, unconnected, row.elements(), arrange).front();
}

}  // namespace autodiff

GradientTape::GradientTape(const TapeOptions& options) : tape_(tape::make_tape(options)) { tape::push(&state(tape_)); }
GradientTape::~GradientTape() {
  for (Pause* p = pauses_; p; p = p->next_) p->owner_ = nullptr;
  tape::free_tape(&state(tape_));
}

namespace {
void check_unused(const Tape& t, const char* what) {
  if (t.used) fail<TapeError>(what, "the tape was used already; call reset(), or make it persistent");
}
}  // namespace

namespace {
template <class Leaf>
void watch_leaf(Tape& t, const Leaf& x, const detail::CallLine& at) {
  detail::naming_line(at, [&] {
    check_thread(t, "GradientTape.watch");
    check_unused(t, "GradientTape.watch");
    tape::watch(t, x);
  });
}
}  // namespace

void GradientTape::watch(const Tensor& x, const detail::CallLine& at) { watch_leaf(state(tape_), x, at); }
void GradientTape::watch(const Variable& x, const detail::CallLine& at) { watch_leaf(state(tape_), x, at); }

detail::List<Gradient> GradientTape::replay(std::span<const Target> targets, std::span<const Source> sources,
                                            const GradientOptions& options) {
  return autodiff::replay(state(tape_), targets, sources, options);
}

detail::List<Gradient> GradientTape::jacobians(const Target& target, std::span<const Source> sources,
                                               const JacobianOptions& options) {
  return autodiff::jacobian("GradientTape.jacobian", state(tape_), target, sources, options.unconnected_gradients);
}

Gradient GradientTape::batch_jacobian(const Target& target, const Source& source, const JacobianOptions& options,
                                      const detail::CallLine& at) {
  return detail::naming_line(at, [&] {
    return autodiff::batch_jacobian("GradientTape.batch_jacobian", state(tape_), target, source,
                                    options.unconnected_gradients);
  });
}

GradientTape::Pause::Pause(GradientTape& owner) : owner_(&owner), next_(owner.pauses_) {
  check_thread(state(owner.tape_), "GradientTape.stop_recording");
  check_unused(state(owner.tape_), "GradientTape.stop_recording");
  if (!owner.active())
    fail<TapeError>("GradientTape.stop_recording",
                    "the tape does not record: stop() was called; call resume(), or leave stop_recording() out");
  owner.pauses_ = this;
  ++state(owner.tape_).paused;
}
GradientTape::Pause::~Pause() {
  if (!owner_) return;
  Pause** at = &owner_->pauses_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  --state(owner_->tape_).paused;
}

void GradientTape::stop(const detail::CallLine& at) {
  detail::naming_line(at, [&] { check_thread(state(tape_), "GradientTape.stop"); });
  if (active()) tape::pop(&state(tape_));
}

void GradientTape::resume(const detail::CallLine& at) {
  detail::naming_line(at, [&] {
    check_thread(state(tape_), "GradientTape.resume");
    if (active()) fail<TapeError>("GradientTape.resume", "the tape is active already");
    check_unused(state(tape_), "GradientTape.resume");
    if (state(tape_).replaying && !state(tape_).options.persistent)
      fail<TapeError>("GradientTape.resume",
                      "called from within a gradient function of this tape, which is used up then");
  });
  tape::push(&state(tape_));
}

void GradientTape::reset() {
  check_thread(state(tape_), "GradientTape.reset");
  if (state(tape_).replaying)
    fail<TapeError>("GradientTape.reset", "called from within a gradient function of this tape");
  state(tape_).clear();
  if (!active()) tape::push(&state(tape_));
}

std::vector<Variable> GradientTape::watched_variables() const {
  std::vector<Variable> list;
  std::vector<const Variable*> order;
  for (const auto& [v, slot] : state(tape_).variables) order.push_back(&v);
  std::sort(order.begin(), order.end(), [](const Variable* a, const Variable* b) { return a->id() < b->id(); });
  for (const Variable* v : order) list.push_back(*v);
  VariableAccess::note_order(list);
  return list;
}

bool GradientTape::active() const noexcept { return state(tape_).status.load() == Tape::Status::on_stack; }

std::string GradientTape::explain_all(std::span<const Target> targets, std::span<const Source> sources) const {
  return autodiff::explain(state(tape_), targets, sources);
}

}  // namespace reel
