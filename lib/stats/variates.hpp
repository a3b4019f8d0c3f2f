// Random numbers of distributions whose parameters are tensors, by rejection. Each element has a stream of its own, so
// that the rejections of one shift no other: its numbers are a function of the seed, the position and its parameters
// alone. They are computed in float64 by operations that IEEE 754 rounds correctly: the same bits on every machine.
#pragma once
#include <span>

#include "loops/make/random.hpp"

namespace reel::loops {

// The distributions that are drawn by rejection: the op that returns the draws, and its number of parameters. In their
// order: of shape a; its logarithm, without underflow; of shapes a and b; of df degrees of freedom; an angle between
// -pi and pi, of concentration kappa.
// clang-format off
#define REEL_VARIATES(F) \
  F(gamma, "gamma_rvs", 1) F(log_gamma, "log_gamma_rvs", 1) F(beta, "beta_rvs", 2) F(student_t, "t_rvs", 1) \
  F(von_mises, "vonmises_rvs", 1)
// clang-format on
enum class Variate : std::uint8_t {
#define REEL_ENUMERATOR(name, op, parameters) name,
  REEL_VARIATES(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};

/// Fills y, contiguous and float32 or float64. The parameters have its shape and dtype, and any strides; NaN where one
/// is not above 0, kappa not at least 0, or is infinite.
void draw_variate(Variate v, RandomStream from, std::span<const Tensor* const> parameters, const Tensor& y);

/// What draw_choices() found among weights.
struct WeightCheck {
  std::int64_t refused = -1;   ///< the first weight that is negative, NaN or infinite, if there is one
  double value = 0;            ///< of that one
  std::int64_t positives = 0;  ///< counted up to it
};
/// Places 0 ... n - 1 for the weights, contiguous float64 [n]; y is int64 [count]. Draws nothing unless all weights are
/// finite and at least 0 and enough of them above 0: one, or without replacement as many as places.
WeightCheck draw_choices(RandomStream from, const Tensor& weights, bool replace, const Tensor& y);

}  // namespace reel::loops
