// States of minimisers, from which a run goes on with the same bits.
#pragma once
#include <optional>

#include "optim/minimize/vectors.hpp"

namespace reel::optim {

/// Which method's state it is: numbers in files.
enum class Method { lbfgs = 1, nonlinear_cg = 2, projected_lbfgs = 3, newton_cg = 4, gauss_newton = 5 };

/// What every method keeps, and what one keeps besides.
struct Saved {
  Point now;
  detail::MinimizeSummary summary;
  Vector numbers;
  std::vector<Vector> vectors;
};

/// Nothing where the handle is null or the state empty. ValueError for `op` unless it is a state of the method, for
/// `size` elements, with so many numbers of its own.
std::optional<Saved> read_state(const char* op, const MinimizerState* state, Method method, std::size_t size,
                                std::size_t numbers = 0);
/// Does nothing where the handle is null.
void write_state(MinimizerState* state, Method method, const Saved& saved);

}  // namespace reel::optim
