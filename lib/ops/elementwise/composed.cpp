// Pointwise ops composed of those of the table. Each is a function of lanes, traced once; it runs in one pass over
// memory and is differentiated by the chain rule. Where a formula has no value or no derivative at a point, the operand
// is replaced before the formula reads it, so that no NaN reaches the gradient.
#include "ops/elementwise/composed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <reel/ops/shape.hpp>
#include <vector>

#include "core/fail.hpp"
#include "ops/derivatives.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/engine.hpp"
#include "tape/observe/observe.hpp"

namespace reel {

namespace ops {

namespace {

using X = const Lane*;
using std::numbers::ln2, std::numbers::pi;

// The remainder of the magnitudes, which mod computes exactly, with the sign of x: that of -0 by 2 x - r, whose slope
// is that of r.
Lane fmod_of(const Lane& x, const Lane& y) {
  const Lane r = mod(where(x < 0, -x, x), where(y < 0, -y, y));
  return where(x < 0, -r, where(equal(x, 0), 2 * x - r, r));
}

// sin(pi x) / (pi x): by its Taylor series where the derivatives of the quotient cancel, with an error of 1e-17;
// otherwise with x reduced by the period of the sine, which is exact. 0 at infinity.
Lane sinc_of(const Lane& x) {
  const LaneMask near = abs(x) < 0.5, far = isinf(x);
  const Lane inside = where(near, x, 0), square = -(pi * inside) * (pi * inside);
  double coefficients[17] = {1};
  for (int k = 1; k <= 16; ++k) coefficients[k] = coefficients[k - 1] / (2 * k * (2 * k + 1));
  Lane series = coefficients[15] + coefficients[16] * square;
  for (int k = 14; k >= 0; --k) series = coefficients[k] + series * square;
  const Lane outside = where(near || far, 1, x), n = round(outside), half_wave = sin(pi * (outside - n));
  return where(near, series, where(far, 0, where(equal(mod(n, 2), 0), half_wave, -half_wave) / (pi * outside)));
}

// x f(x), f with the derivative 1 / x, for x > 0; where that overflows, in terms of 2^60 x, which is selected, and
// f(2^60 x) - 60 log 2.
template <class F>
Lane times_logarithm(const Lane& x, const LaneMask& tiny, F f) {
  const Lane u = x * where(tiny, 0x1p60, 1);
  return where(tiny, 0x1p-60, 1) * (u * (f(u) - where(tiny, 60 * ln2, 0)));
}

// x log(x / y) where both are positive. At x = 0 <= y, -sqrt(x) makes the derivative by x -inf, and -x log(y) the mixed
// second derivative -1 / y.
Lane rel_entr_of(const Lane& x, const Lane& y) {
  const LaneMask far = equal(x, HUGE_VAL) && y > 0 && y<HUGE_VAL, inside = x> 0 && y > 0 && !far,
                 zero = equal(x, 0) && y >= 0;
  const Lane u = where(inside, x, 1), v = where(inside, y, 1);
  const LaneMask tiny = isinf(1 / u) && v > 0x1p100 * u;
  const Lane product = times_logarithm(u, tiny, [&](const Lane& scaled) { return log_ratio(scaled, v); });
  const Lane least = where(zero, x, 0), positive = where(zero && y > 0 && y < HUGE_VAL, y, 1);
  const Lane at_zero = 0 - sqrt(least) - least * log(positive);
  // The logarithm of infinity is a constant, so that 1 / x is no factor of an infinite x in derivatives.
  const Lane at_infinity = where(far, x, 1) * (where(far, HUGE_VAL, 0) - log(where(far, y, 1)));
  return where(far, at_infinity,
               where(inside, product, where(zero, at_zero, where(isnan(x) || isnan(y), x + y, HUGE_VAL))));
}

// In the order of the enumerators.
// clang-format off
constexpr Composed composed_functions[] = {
    {"fmod", [](X x) { return fmod_of(x[0], x[1]); }},
    {"fmax", [](X x) { return where(isnan(x[1]), x[0], where(isnan(x[0]), x[1], maximum(x[0], x[1]))); }},
    {"fmin", [](X x) { return where(isnan(x[1]), x[0], where(isnan(x[0]), x[1], minimum(x[0], x[1]))); }},
    {"logaddexp2", [](X x) { return logaddexp(ln2 * x[0], ln2 * x[1]) / ln2; }},
    {"exp10", [](X x) { return power(10.0, x[0]); }},
    {"log1mexp", [](X x) {
       const LaneMask near = x[0] < ln2;
       return where(near, log(-expm1(-where(near, x[0], 1))), log1p(-exp(-where(near, 1, x[0]))));
     }},
    {"sinc", [](X x) { return sinc_of(x[0]); }},
    {"xlogy", [](X x) {
       const LaneMask none_there = equal(x[0], 0) && (x[1] <= 0 || equal(x[1], HUGE_VAL));
       return x[0] * log(where(none_there, 1, x[1]));
     }},
    {"xlog1py", [](X x) {
       const LaneMask none_there = equal(x[0], 0) && (x[1] <= -1 || equal(x[1], HUGE_VAL));
       return x[0] * log1p(where(none_there, 0, x[1]));
     }},
    {"xdivy", [](X x) {
       const LaneMask both = equal(x[0], 0) && equal(x[1], 0);
       return where(both, 0, x[0] / where(both, 1, x[1]));
     }},
    {"divide_no_nan", [](X x) {
       const LaneMask zero = equal(x[1], 0);
       return where(zero, 0, x[0] / where(zero, 1, x[1]));
     }},
    {"multiply_no_nan", [](X x) {
       const LaneMask zero = equal(x[1], 0) && !isfinite(x[0]);
       return where(zero, 0, where(zero, 0, x[0]) * x[1]);
     }},
    // The derivative at 0 is infinite, that of sqrt.
    {"entr", [](X x) {
       const LaneMask far = equal(x[0], HUGE_VAL);
       const Lane inside = where(x[0] > 0 && !far, x[0], 1), zero = sqrt(where(equal(x[0], 0), x[0], 0));
       const Lane at_infinity = where(far, x[0], 1) * where(far, -HUGE_VAL, 0);  // as in rel_entr_of
       return where(x[0] > 0, where(far, at_infinity, -times_logarithm(inside, isinf(1 / inside), [](const Lane& u) { return log(u); })), where(equal(x[0], 0), zero, where(isnan(x[0]), x[0], -HUGE_VAL)));
     }},
    {"rel_entr", [](X x) { return rel_entr_of(x[0], x[1]); }},
    // Half of tanh by sigmoid, which does not cancel in the left tail. Beyond 1e4 the sigmoid is 0 or 1, also of dtypes
    // in which the cube would overflow.
    {"gelu_tanh", [](X x) {
       const Lane u = where(x[0] < -1e4, -1e4, x[0]), v = where(u > 1e4, 1e4, u);
       return u * sigmoid(std::sqrt(8 / pi) * (v + 0.044715 * v * v * v));
     }},
    {"hard_tanh", [](X x) {
       const Lane low = where(isnan(x[0]), x[0], where(x[0] <= x[1], x[1], x[2]));
       return where(x[0] > x[1] && x[0] < x[2], x[0], low);
     }},
    // tanh(softplus(x)) = n / (n + 2), n = e^x (e^x + 2): 1 to rounding from 20 on, 0 below -750.
    {"mish", [](X x) {
       const Lane u = where(x[0] < 20, where(x[0] > -750, x[0], -750), 20), e = exp(u), n = fma(e, e, 2 * e);
       return u * (n / (n + 2)) + where(x[0] < 20, 0, x[0] - 20);
     }},
    {"celu", [](X x) { return where(x[0] > 0, x[0], x[1] * expm1(where(x[0] > 0, 0, x[0]) / x[1])); }},
    {"log_sigmoid", [](X x) { return -softplus(-x[0]); }},
    {"threshold", [](X x) { return where(x[0] > x[1] || isnan(x[0]), x[0], x[2]); }},
    {"softshrink", [](X x) { return where(x[0] > x[1], x[0] - x[1], where(x[0] < -x[1], x[0] + x[1], where(isnan(x[0]), x[0], 0))); }},
    // Not a function of lanes: the replacement of an infinity depends on the dtype.
    {"nan_to_num", [](X x) {
       return where(isnan(x[0]), x[1], where(equal(x[0], HUGE_VAL), x[2], where(equal(x[0], -HUGE_VAL), x[3], x[0])));
     }},
};
// clang-format on

constexpr std::size_t nan_to_num_index = std::size(composed_functions) - 1;
#define REEL_NAME(name, arity) #name,
constexpr std::string_view composed_names[] = {REEL_COMPOSED_FUNCTIONS(REEL_NAME)};
#undef REEL_NAME
static_assert(std::ranges::equal(composed_names, std::span(composed_functions).first(nan_to_num_index), {}, {},
                                 &Composed::name));

constexpr std::size_t at(detail::ComposedFunction f) { return static_cast<std::size_t>(f); }

constinit const ComposedOps composed_ops(composed_functions);

}  // namespace

struct ComposedOps::Made {
  std::vector<Primitive> primitives;
  std::vector<detail::LaneTraces> traces;
};

const ComposedOps::Made& ComposedOps::made() const {
  const Made* known = made_.load(std::memory_order_acquire);
  if (known != nullptr) [[likely]]
    return *known;
  auto own = std::make_unique<Made>();
  own->primitives.assign(definitions_.size(), elementwise_primitive());
  for (std::size_t i = 0; i < definitions_.size(); ++i) {
    own->primitives[i].rule.name = definitions_[i].name.data();
    own->traces.emplace_back(own->primitives[i]);
  }
  // Another thread may have been faster; its ops are the ones in use.
  return made_.compare_exchange_strong(known, own.get(), std::memory_order_acq_rel) ? *own.release() : *known;
}

Tensor ComposedOps::call(std::size_t f, std::span<const Operand* const> operands) const {
  const char* const name = definitions_[f].name.data();
  const DType dtype = common_dtype(name, operands);
  if (is_complex(dtype)) fail<TypeError>(name, "is not defined for {}; {}", dtype, remedy(dtype));
  const DType least = definitions_[f].least;
  if (is_half(dtype) || (dtype == DType::float32 && least == DType::float64)) {
    // Numbers stay numbers: they take the dtype of the tensors.
    Tensor wide[most_of_composed];
    const auto operand = [&](std::size_t k) {
      const Operand* x = operands[std::min(k, operands.size() - 1)];
      return x->is_tensor() ? Operand(wide[k] = cast_to(x->tensor(), least)) : Operand(x->floating());
    };
    const Operand in[] = {operand(0), operand(1), operand(2), operand(3), operand(4)};
    const Operand* list[] = {&in[0], &in[1], &in[2], &in[3], &in[4]};
    return cast(call(f, std::span(list).first(operands.size())), dtype);
  }
  const detail::LaneArgument first = *operands.front();
  std::array<detail::LaneArgument, most_of_composed> arguments = {first, first, first, first, first};
  for (std::size_t k = 0; k < operands.size(); ++k) arguments[k] = *operands[k];
  detail::LaneProgram program(made().traces[f], std::span(arguments).first(operands.size()));
  if (!program.traced()) {
    const Lane made = definitions_[f].value(program.lanes().data());
    program.set_outputs({&made, 1});
  }
  Tensor result;
  program.run(&result);
  return result;
}

Tensor ComposedOps::call(std::size_t f, std::initializer_list<const Operand*> operands) const {
  const tape::OpScope scope(**operands.begin());
  return call(f, std::span(operands.begin(), operands.size()));
}

}  // namespace ops

Lane detail::call(ComposedFunction function, std::initializer_list<LaneOperand> operands) {
  const auto* own = std::find_if(operands.begin(), operands.end(), [](const LaneOperand& x) { return x.is_lane(); });
  ops::Trace& trace = ops::Trace::of(own == operands.end() ? 0 : LaneAccess::trace(own->lane()));
  std::array<Lane, ops::most_of_composed> x;
  std::size_t k = 0;
  for (const LaneOperand& operand : operands) x[k++] = trace.lane(trace.operand(operand));
  return ops::composed_functions[ops::at(function)].value(x.data());
}

namespace ops {
namespace {

double largest(DType d) {
  return d == DType::float16    ? 65504
         : d == DType::bfloat16 ? 0x1.fep127
         : d == DType::float32  ? static_cast<double>(std::numeric_limits<float>::max())
                                : std::numeric_limits<double>::max();
}

}  // namespace
}  // namespace ops

// clang-format off
#define REEL_COMPOSED_1(name) Tensor name(const Operand& x) { return ops::composed_ops.call(ops::at(detail::ComposedFunction::name), {&x}); }
#define REEL_COMPOSED_2(name) Tensor name(const Operand& x, const Operand& y) { return ops::composed_ops.call(ops::at(detail::ComposedFunction::name), {&x, &y}); }
#define REEL_COMPOSED_3(name) \
  Tensor name(const Operand& x, const Operand& y, const Operand& z) { return ops::composed_ops.call(ops::at(detail::ComposedFunction::name), {&x, &y, &z}); }
#define REEL_COMPOSED(name, arity) REEL_COMPOSED_##arity(name)
REEL_COMPOSED_FUNCTIONS(REEL_COMPOSED)
// clang-format on

Tensor nan_to_num(const Operand& x, double nan, double high, double low) {
  const Operand of_nan(nan), of_high(high), of_low(low);
  return ops::composed_ops.call(ops::nan_to_num_index, {&x, &of_nan, &of_high, &of_low});
}

Tensor nan_to_num(const Operand& x, double nan) {
  const Operand* const operand = &x;
  const double high = ops::largest(ops::common_dtype("nan_to_num", {&operand, 1}));
  return nan_to_num(x, nan, high, -high);
}

}  // namespace reel
