#include "optim/robust_loss.hpp"

#include <cmath>

namespace reel::optim {

namespace {

struct Rho {
  double ratio, slope;  // rho(z) / z, and the derivative of rho
};

Rho rho(Loss loss, double z) {
  switch (loss) {
    case Loss::squares:
      return {1, 1};
    case Loss::soft_l1: {
      const double root = std::sqrt(1 + z);
      return {2 / (1 + root), 1 / root};
    }
    case Loss::huber: {
      if (z <= 1) return {1, 1};
      const double root = std::sqrt(z);
      return {(2 * root - 1) / z, 1 / root};
    }
    case Loss::cauchy:
      return {z == 0 ? 1 : std::log1p(z) / z, 1 / (1 + z)};
    case Loss::tukey:
      if (z >= 1) return {1 / (3 * z), 0};
      return {1 - z + z * z / 3, (1 - z) * (1 - z)};
  }
  return {1, 1};
}

}  // namespace

RobustResidual robust_residual(Loss loss, double scale, double r) {
  const double u = r / scale;
  const Rho at = rho(loss, u * u);
  const double root = std::sqrt(at.ratio);
  return {r * root, at.slope / root};
}

}  // namespace reel::optim
