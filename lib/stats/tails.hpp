// Distribution functions and quantiles of distributions made of several ops: their operands, what they are outside the
// support, and the incomplete gamma and beta functions of <reel/special.hpp> as tails.
#pragma once
#include "stats/converted.hpp"

namespace reel::ops {

/// gammainc(a, x), gammaincc(a, x) or the logarithm of either.
Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x);
/// betainc(a, b, x), betaincc(a, b, x) or the logarithm of either.
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x);

// Operands of a continuous distribution: x, shape parameters, loc, scale. Where x is outside the support it is replaced
// by a number inside, and the value by a constant.
struct Placed {
  Converted c;
  Tensor z, below, above;
  Placed(const char* op, std::initializer_list<const Operand*> operands, double low, double high);
  Tensor finish(Tail t, const Tensor& inside) const;
};

// Operands of a quantile: p, shape parameters, loc, scale.
struct Quantile {
  Converted c;
  Quantile(const char* op, std::initializer_list<const Operand*> operands);
  Tensor finish(const Tensor& standard) const;
};

}  // namespace reel::ops

// clang-format off
// Four public functions of a distribution by ops::tail(name of the function, kind of tail, arguments).
#define REEL_TAIL(distribution, kind, parameters, arguments, tail, ...) \
  Tensor distribution##_##kind parameters { return ops::tail(#distribution "_" #kind, ops::Tail::kind, REEL_LIST arguments __VA_ARGS__); }
#define REEL_TAILS(distribution, parameters, arguments, ...) \
  REEL_TAIL(distribution, cdf, parameters, arguments, __VA_ARGS__) REEL_TAIL(distribution, sf, parameters, arguments, __VA_ARGS__) \
  REEL_TAIL(distribution, logcdf, parameters, arguments, __VA_ARGS__) REEL_TAIL(distribution, logsf, parameters, arguments, __VA_ARGS__)
#define REEL_LIST(...) __VA_ARGS__
// clang-format on
