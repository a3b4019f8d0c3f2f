// Random numbers by rejection, with implicit derivatives by the parameters.
#pragma once
#include <reel/ops/make.hpp>

#include "stats/variates.hpp"

namespace reel::ops {

/// Draws in float32 or float64. The parameters have the shape and dtype of the result. The derivative by a parameter p
/// is that of the quantile at a fixed probability, -(dF/dp) / density (Figurnov, Mohamed, Mnih 2018), written in ops:
/// it has derivatives of every order. It costs a call of an incomplete function per element, and the draw none.
Tensor variates(loops::Variate v, Generator& generator, std::span<const Tensor* const> parameters);

/// z, a quantile of Student's distribution for the probability p or (`of_log`) its logarithm p, with derivatives by df
/// and p. All have one shape and dtype.
Tensor student_sample(const Tensor& df, const Tensor& p, const Tensor& z, bool of_log);

/// `count` places for the weights, float64 [n]. ValueError as random_choice documents.
Tensor draw_weighted(Generator& generator, const Tensor& weights, std::int64_t count, bool replace);

}  // namespace reel::ops
