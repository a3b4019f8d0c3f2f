// Distribution functions and quantiles of distributions made of several ops: their operands, what they are outside the
// support, and the incomplete gamma and beta functions of <reel/special.hpp> as tails.
#pragma once
#include "stats/operands.hpp"

namespace reel::ops {

/// gammainc(a, x), gammaincc(a, x) or the logarithm of either.
Tensor incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& x);
/// betainc(a, b, x), betaincc(a, b, x) or the logarithm of either.
Tensor incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& x);
/// The x where the former is p, and where the latter is.
Tensor invert_incomplete_gamma(const char* op, Tail t, const Tensor& a, const Tensor& p);
Tensor invert_incomplete_beta(const char* op, Tail t, const Tensor& a, const Tensor& b, const Tensor& p);

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
// The public functions of the distribution NAME, by functions of namespace ops: tail(op, kind, arguments...), and
// quantile(op, the kind that it inverts, arguments...).
#define REEL_TAIL(name, kind, of, parameters, function, ...) \
  Tensor name##_##kind parameters { return ops::function(#name "_" #kind, ops::Tail::of, __VA_ARGS__); }
#define REEL_TAILS(name, parameters, tail, quantile, ...) \
  namespace reel { \
  REEL_TAIL(name, cdf, cdf, parameters, tail, __VA_ARGS__) REEL_TAIL(name, sf, sf, parameters, tail, __VA_ARGS__) \
  REEL_TAIL(name, logcdf, logcdf, parameters, tail, __VA_ARGS__) REEL_TAIL(name, logsf, logsf, parameters, tail, __VA_ARGS__) \
  REEL_TAIL(name, ppf, cdf, parameters, quantile, __VA_ARGS__) REEL_TAIL(name, isf, sf, parameters, quantile, __VA_ARGS__) \
  REEL_TAIL(name, ilogcdf, logcdf, parameters, quantile, __VA_ARGS__) REEL_TAIL(name, ilogsf, logsf, parameters, quantile, __VA_ARGS__) \
  }
// clang-format on
