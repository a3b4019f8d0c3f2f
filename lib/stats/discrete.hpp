// Discrete distributions: counts and probabilities in lanes, operands and quantiles of tensors, and the public
// functions.
#pragma once
#include <reel/special.hpp>
#include <reel/stats/distribution.hpp>

#include "special/functions.hpp"
#include "stats/gamma_density.hpp"
#include "stats/operands.hpp"
#include "stats/tails.hpp"

namespace reel::ops {

// ---- Probabilities. x[0] is the count; it has no gradient, as round() has none.

struct Count {
  const Lane& number;
  LaneMask outside;
  Lane k;  // the count, or `inside` if it is not an integer in [low, high]
  Count(L x, double low, L high, double inside)
      : number(x),
        outside(not_equal(x, round(x)) || x < low || x > high || isinf(x)),
        k(where(outside, inside, round(x))) {}
  // NaN parameters give NaN outside the support, too.
  Lane finish(L inside, double beyond = -infinity) const {
    return where(isnan(number), number, where(outside, where(isnan(inside), inside, beyond), inside));
  }
};

// Where a distribution has but one possible number, at p = 0, p = 1 or mu = 0, its probabilities are those of their
// closed form, whose derivatives are finite; logarithms of 0 have the gradient 0, as outside the support.
struct Chance {
  LaneMask end;
  Lane p, inside;  // replaced by 1/2 at ends
  explicit Chance(const Lane& probability)
      : end(equal(probability, 0) || equal(probability, 1)),
        p(probability_or_nan(probability)),
        inside(where(end, 0.5, p)) {}
};
/// The probability, or its logarithm, from the latter inside and the closed form at ends.
Lane with_ends(bool logarithm, const LaneMask& end, L log_inside, L at_end);
/// Gamma(j + k + 1) / (Gamma(j + 1) Gamma(k + 1)), by terms that do not cancel, and bounded so that its derivatives are
/// finite, and 0 times them is 0.
Lane choices(L j, L k);

// ---- Distribution functions

// Operands: x, parameters. The support begins at `low`.
struct CountOperands {
  Converted c;
  Tensor k, below;
  CountOperands(const char* op, std::initializer_list<const Operand*> operands, double low);
  // `above` is where x is the highest number or more.
  Tensor finish(Tail t, const Tensor& above, const Tensor& inside) const;
  Tensor finish(Tail t, const Tensor& inside) const { return finish(t, equal(c.x[0], infinity), inside); }
};

// ---- Quantiles

/// Computed in float64 by a special function of the operands in order.
Tensor count_quantile(const char* op, loops::SpecialFunction f, bool upper,
                      std::initializer_list<const Operand*> operands);
/// Operands of a quantile in closed form: the probability and p, without gradients. `level` is the probability, and
/// `bound` the least number, or for the upper tail the greatest, that is rounded to it in float16 or bfloat16.
struct CountQuantile {
  Converted c;
  Tensor level, bound, p;
  CountQuantile(const char* op, bool upper, const Operand& q, const Operand& parameter);
  // -1 below the first number, if `first` is 0.
  Tensor finish(bool upper, double first, const Tensor& number) const;
};

}  // namespace reel::ops

// clang-format off
// The public functions of the distribution NAME of one or two parameters, by functions of namespace ops in the same file:
//   NAME_of(logarithm, x)                the probability in lanes
//   NAME_tail(op, tail, x, ...)          the distribution functions
//   NAME_quantile(op, upper, q, ...)     the quantiles
#define REEL_DISCRETE_TAIL(name, kind, parameters, ...) \
  Tensor name##_##kind parameters { return ops::name##_tail(#name "_" #kind, ops::Tail::kind, __VA_ARGS__); }
#define REEL_DISCRETE(name, parameters, addresses, ...) \
  namespace reel::ops { namespace { \
  constexpr Composed name##_functions[] = {{#name "_logpmf", [](const Lane* v) { return name##_of(true, v); }}, \
                                           {#name "_pmf", [](const Lane* v) { return name##_of(false, v); }}}; \
  constinit const ComposedOps name##_ops(name##_functions); \
  } } \
  namespace reel { \
  Tensor name##_logpmf parameters { return ops::name##_ops.call(0, REEL_BRACES addresses); } \
  Tensor name##_pmf parameters { return ops::name##_ops.call(1, REEL_BRACES addresses); } \
  REEL_DISCRETE_TAIL(name, cdf, parameters, __VA_ARGS__) REEL_DISCRETE_TAIL(name, sf, parameters, __VA_ARGS__) \
  REEL_DISCRETE_TAIL(name, logcdf, parameters, __VA_ARGS__) REEL_DISCRETE_TAIL(name, logsf, parameters, __VA_ARGS__) \
  Tensor name##_ppf parameters { return ops::name##_quantile(#name "_ppf", false, __VA_ARGS__); } \
  Tensor name##_isf parameters { return ops::name##_quantile(#name "_isf", true, __VA_ARGS__); } \
  }
#define REEL_DISCRETE_1(name) \
  REEL_DISCRETE(name, (const Operand& x, const Operand& p), (&x, &p), x, p) \
  REEL_SAMPLES(name, (Generator& generator, const Shape& shape, const Operand& p, DType dtype), (&p), DType::float64, x, p)
#define REEL_DISCRETE_2(name) \
  REEL_DISCRETE(name, (const Operand& x, const Operand& n, const Operand& p), (&x, &n, &p), x, n, p) \
  REEL_SAMPLES(name, (Generator& generator, const Shape& shape, const Operand& n, const Operand& p, DType dtype), (&n, &p), DType::float64, x, n, p)
// clang-format on
