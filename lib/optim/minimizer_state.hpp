// Saved states of minimisers, from which a run continues with the same bits.
#pragma once
#include <optional>

#include "optim/vectors.hpp"

namespace reel::optim {

/// The method that a state belongs to. The numbers are part of the file format.
enum class Method {
  lbfgs = 1,
  nonlinear_cg = 2,
  projected_lbfgs = 3,
  newton_cg = 4,
  gauss_newton = 5,
  levenberg_marquardt = 6,
  sparse_levenberg_marquardt = 7,
};

/// The state that all methods have, and the numbers and vectors of one method.
struct Saved {
  Point now;
  detail::MinimizeSummary summary;
  Vector numbers;
  std::vector<Vector> vectors;
};

/// Empty if the handle is null or the state is empty. ValueError for `op` unless the state belongs to the method, has
/// `size` elements, `numbers` numbers of the method's own and a multiple of `group` vectors.
std::optional<Saved> read_state(const char* op, const MinimizerState* state, Method method, std::size_t size,
                                std::size_t numbers = 0, std::int64_t group = 2);
/// The reason for the end that a state holds as a number: the limit of iterations if a callback stopped the run, since
/// a run continues from either. ValueError for `op` for any other number.
StopReason read_reason(const char* op, double number);
/// Does nothing if the handle is null.
void write_state(MinimizerState* state, Method method, const Saved& saved);

}  // namespace reel::optim
