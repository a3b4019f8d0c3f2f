// ForwardAccumulator: the public interface of a forward tape (lib/tape/forward.cpp).
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/gradient.hpp"

namespace reel {

using autodiff::dtype_of_source, autodiff::shape_of, tape::state, tape::Tape;

namespace {

// One tangent per primal, checked.
detail::List<Tensor> fitting(const char* who, std::span<const Source> primals, const GradientList& tangents) {
  const auto list = tangents.list();
  if (!tangents.is_number() && list.size() != primals.size())
    fail<ValueError>(who, "passed {} tangents for {} primals", list.size(), primals.size());
  detail::List<Tensor> result;
  result.reserve(primals.size());
  for (std::size_t i = 0; i < primals.size(); ++i) {
    if (!primals[i].is_variable() && !primals[i].tensor().defined())
      fail<ValueError>(who, "primal {} is empty (default-constructed or moved from)", i);
    detail::require_known(who, primals[i].tensor());
    const Shape shape = shape_of(primals[i]);
    const DType dtype = dtype_of_source(primals[i]);
    if (!is_differentiable(dtype))
      fail<TypeError>(who, "primal {} holds {} values, which have no tangent; cast it to a floating dtype", i, dtype);
    if (tangents.is_number()) {
      result.push_back(full(shape, tangents.number(), dtype));
      continue;
    }
    if (!list[i]) fail<ValueError>(who, "tangent {} is none: {}", i, list[i].why_none());
    result.push_back(list[i].dense());
    detail::require_known(who, result[i]);
    if (result[i].shape() != shape)
      fail<ShapeError>(who, "tangent {} has shape {}, its primal {}", i, result[i].shape(), shape);
    if (result[i].dtype() != dtype)
      fail<TypeError>(who, "tangent {} is {}, its primal {}; cast it", i, result[i].dtype(), dtype);
  }
  return result;
}

}  // namespace

ForwardAccumulator::ForwardAccumulator(detail::Called by, const SourceList& primals, const GradientList& tangents)
    : tape_(nullptr) {
  detail::List<Tensor> fitted = fitting(by.name, primals.list(), tangents);
  tape_ = tape::make_tape({.watch_accessed_variables = false}, Tape::Kind::forward);
  try {
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      const Source& x = primals.list()[i];
      tape::reserve_tangents(state(tape_), 1);
      if (x.is_variable())
        watch(state(tape_), x.variable());
      else
        watch(state(tape_), x.tensor());
      state(tape_).tangents.resize(state(tape_).slots.size());
      Tensor& t = state(tape_).tangents[autodiff::slot_of(state(tape_), x)];
      t = t.defined() ? add(t, fitted[i]) : std::move(fitted[i]);
    }
  } catch (...) {
    tape::free_tape(&state(tape_));
    throw;
  }
  tape::push(&state(tape_));
}
ForwardAccumulator::~ForwardAccumulator() { tape::free_tape(&state(tape_)); }

Gradient ForwardAccumulator::tangent(const Target& target, UnconnectedGradients unconnected) const {
  check_thread(state(tape_), "ForwardAccumulator.jvp");
  const Tensor& y = target.tensor();
  if (!y.defined())
    fail<ValueError>("ForwardAccumulator.jvp", "the target is empty (default-constructed or moved from)");
  const detail::List<Tensor>& tangents = state(tape_).tangents;
  if (const std::uint32_t slot = autodiff::slot_of(state(tape_), target);
      slot < tangents.size() && tangents[slot].defined()) {
    if (tape::is_unknown(tangents[slot])) [[unlikely]]
      tape::fail_unknown("ForwardAccumulator.jvp");
    return tangents[slot];
  }
  if (unconnected == UnconnectedGradients::zero) return zeros(y.shape(), y.dtype());
  return GradientAccess::none({is_differentiable(y.dtype()) ? WhyNone::not_connected : WhyNone::integer_dtype, {}, 0});
}

void ForwardAccumulator::stop() {
  check_thread(state(tape_), "ForwardAccumulator.stop");
  if (state(tape_).status.load() == Tape::Status::on_stack) tape::pop(&state(tape_));
}

void ForwardAccumulator::resume() {
  check_thread(state(tape_), "ForwardAccumulator.resume");
  if (state(tape_).status.load() == Tape::Status::on_stack)
    fail<TapeError>("ForwardAccumulator.resume", "the accumulator is active already");
  if (state(tape_).replaying)
    fail<TapeError>("ForwardAccumulator.resume",
                    "called from within a jvp that this accumulator runs; it carries no tangents there");
  tape::push(&state(tape_));
}

namespace detail {

List<Tensor> push(const char* who, GradientTape& tape, std::span<const Source> sources, const GradientList& tangents,
                  std::span<const Tensor> targets) {
  check_thread(GradientTapeAccess::get(tape), who);
  const detail::List<Tensor> dx = fitting(who, sources, tangents);
  std::vector<Tensor> dy = autodiff::pushforward(GradientTapeAccess::get(tape), sources, dx, targets);
  for (std::size_t k = 0; k < targets.size(); ++k)
    if (!dy[k].defined()) dy[k] = zeros(targets[k].shape(), targets[k].dtype());
  return {dy.begin(), dy.end()};
}

}  // namespace detail

}  // namespace reel
