// Gradients shortened together.
#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>

#include "core/fail.hpp"
#include "ops/index/rows.hpp"

namespace reel::detail {
namespace {

constexpr const char* clipping = "clip_by_global_norm";

// The norm of a gradient; of IndexedSlices that of the tensor, with duplicates summed.
Tensor length_of(const Gradient& g) {
  return g.is_slices() ? ops::norm_of_rows(ops::check_rows(clipping, g.slices())) : norm(abs(g.dense()));
}

Gradient scale_gradient(const Gradient& g, const Tensor& factor) {
  if (!g) return g;
  if (!g.is_slices()) {
    const Tensor x = g.dense();
    return x * cast(factor, x.dtype());
  }
  IndexedSlices slices = g.slices();
  slices.values = slices.values * cast(factor, slices.dtype());
  return slices;
}

}  // namespace

ClippedGradients clip_by_global_norm(std::span<const Gradient> gradients, double limit) {
  if (!(limit > 0)) fail<ValueError>(clipping, "limit is {}, must be positive", limit);
  std::vector<Tensor> lengths;
  for (const Gradient& g : gradients)
    if (g) lengths.push_back(cast(length_of(g), DType::float64));
  ClippedGradients clipped;
  clipped.norm = lengths.empty() ? scalar(0.) : norm(stack(lengths));
  // An infinite norm would scale finite gradients to 0.
  const Tensor factor = where(isfinite(clipped.norm), limit / maximum(clipped.norm, limit), NAN);
  for (const Gradient& g : gradients) clipped.gradients.push_back(scale_gradient(g, factor));
  return clipped;
}

}  // namespace reel::detail
