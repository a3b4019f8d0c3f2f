// Robust losses of residuals, as least squares: with z = (r / scale)^2 the loss of r is scale^2 rho(z), and the square
// of the *robust residual* r sqrt(rho(z) / z), which has the sign of r. Formulas: Triggs, McLauchlan, Hartley and
// Fitzgibbon, "Bundle adjustment - a modern synthesis", 2000; names as in SciPy's least_squares.
#pragma once
#include <reel/optim/least_squares.hpp>
#include <reel/optim/optimizers.hpp>

namespace reel::optim {

struct RobustResidual {
  double value, slope;  // and the derivative by r
};
RobustResidual robust_residual(Loss loss, double scale, double r);

}  // namespace reel::optim
