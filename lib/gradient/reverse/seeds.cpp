// Checks the arguments of gradient() before anything runs, and makes the cotangents that a replay starts with.
#include "gradient/reverse/seeds.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/reverse/pass.hpp"

namespace reel::autodiff {

namespace {

std::string label(std::size_t i, const Tensor& y) { return fmt::format("{} of shape {}", i, to_string(y.shape())); }

// The cotangent of target i: the given one, or ones.
Gradient seed(const char* op, std::size_t i, const Tensor& y, const Gradient* output_gradient, const VSpace& space) {
  const bool complex = is_complex(y.dtype());
  if (!output_gradient || !*output_gradient) {
    if (complex)
      fail<TypeError>(op,
                      "Gradients of complex tensors must set grad_ys (y.dtype = {}): give output_gradients for target "
                      "{}, or take its real part or abs",
                      y.dtype(), label(i, y));
    return space.ones(y.shape(), y.dtype());
  }
  const bool slices = output_gradient->is_slices();
  IndexedSlices g = slices ? output_gradient->slices() : IndexedSlices{output_gradient->dense(), {}, {}};
  detail::require_known(op, g.values);
  if (y.dtype() == DType::boolean)
    fail<TypeError>(op, "Tensor {} with type {} must be numeric to obtain a default gradient", label(i, y), y.dtype());
  if (!complex && (g.dtype() == DType::boolean || is_complex(g.dtype())))
    fail<TypeError>(
        op, "Gradient type {} generated for real or integer-valued tensor {} with type {} must be real or integer",
        g.dtype(), label(i, y), y.dtype());
  if (complex && !is_complex(g.dtype()))
    fail<TypeError>(op, "Gradient type {} generated for complex-valued tensor {} with type {} must be complex",
                    g.dtype(), label(i, y), y.dtype());
  if (const Shape shape = slices ? g.dense_shape : g.values.shape(); shape != y.shape())
    fail<ShapeError>(op, "an output gradient of shape {} does not fit target {}", shape, label(i, y));
  if (g.dtype() == y.dtype()) {
    g.values = identity(g.values);
  } else {
    detail::warn(fmt::format("{}: an output gradient of dtype {} is cast to {}, the target's", op, name(g.dtype()),
                             name(y.dtype())));
    g.values = cast(g.values, y.dtype());
  }
  if (!slices) return g.values;
  g.indices = identity(g.indices);
  return g;
}

}  // namespace

Gradients seeds(const char* op, std::span<const Target> targets, const GradientOptions& o, const VSpace& space) {
  Gradients result;
  result.reserve(targets.size());
  const auto list = o.output_gradients.list();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& y = targets[i].tensor();
    if (o.output_gradients.is_number())
      result.push_back(full(y.shape(), o.output_gradients.number(), y.dtype()));
    else
      result.push_back(seed(op, i, y, list.empty() ? nullptr : &list[i], space));
  }
  return result;
}

void check(const char* who, const tape::Tape& t, std::span<const Target> targets, std::span<const Source> sources,
           const GradientOptions& o) {
  check_thread(t, who);
  if (t.used)
    fail<TapeError>(fmt::format("{} can only be called once", who),
                    "this tape is not persistent; make it so (TapeOptions.persistent) to call it again");
  if (t.replaying && !t.options.persistent)
    fail<TapeError>(who,
                    "called from within a gradient function of this tape; make it persistent (TapeOptions.persistent)");
  if (o.unconnected_gradients > UnconnectedGradients::zero)
    fail<ValueError>(who, "Unknown value for unconnected_gradients: {}", static_cast<int>(o.unconnected_gradients));
  if (o.aggregation_method > AggregationMethod::accumulate_n)
    fail<ValueError>(who, "Invalid aggregation_method specified {}.", static_cast<int>(o.aggregation_method));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!targets[i].tensor().defined())
      fail<ValueError>(who, "target {} is empty (default-constructed or moved from)", i);
    detail::require_known(who, targets[i].tensor());
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].is_variable()) continue;
    if (!sources[i].tensor().defined())
      fail<ValueError>(who, "source {} is empty (default-constructed or moved from)", i);
    detail::require_known(who, sources[i].tensor());
  }
  const std::size_t count = o.output_gradients.list().size();
  if (o.output_gradients.given() && !o.output_gradients.is_number() && count != targets.size())
    fail<ValueError>(who, "Passed {} grad_ys for {} ys: output_gradients needs one entry for each target", count,
                     targets.size());
}

}  // namespace reel::autodiff
