// Robust residuals of tensors, as those of loss.hpp, with derivatives of every order.
#include <cmath>
#include <reel/ops/pointwise.hpp>
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>

#include "core/fail.hpp"

namespace reel {

namespace {

// sqrt(log(1 + z) / z), by the Taylor series of the quotient near 0.
Tensor cauchy_factor(const Tensor& z) {
  const Tensor near = z < 1e-3, u = where(near, z, 0), v = where(near, 1, z);
  const Tensor series = 1 + u * (-1. / 2 + u * (1. / 3 + u * (-1. / 4 + u * (1. / 5 - u / 6))));
  return sqrt(where(near, series, log1p(v) / v));
}

}  // namespace

Tensor robust_residuals(const Tensor& r, Loss loss, double scale) {
  constexpr const char* op = "robust_residuals";
  if (!(scale > 0)) fail<ValueError>(op, "scale is {}, must be positive", scale);
  if (!is_floating(r.dtype())) fail<TypeError>(op, "the residuals must be real and floating, not {}", r.dtype());
  const Tensor u = r / scale, z = square(u), far = z > 1;
  switch (loss) {
    case Loss::squares:
      return r;
    case Loss::soft_l1:
      return r * sqrt(2 / (1 + sqrt(1 + z)));
    case Loss::huber:
      return where(far, copysign(scale * sqrt(2 * abs(where(far, u, 1)) - 1), r), r);
    case Loss::cauchy:
      return r * cauchy_factor(z);
    case Loss::tukey: {
      const Tensor inside = where(far, 0, z);
      return where(far, copysign(scale / std::sqrt(3.), r), r * sqrt(1 - inside + square(inside) / 3));
    }
  }
  return r;
}

}  // namespace reel
