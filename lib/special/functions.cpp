// Special functions: one primitive for each, whose attributes are the function and the order of the derivative by each
// argument. The derivative of the primitive is the primitive with one order increased. All functions share the code;
// their primitives differ only in the name. Where several distributions have the same function, each has a primitive.
#include "special/functions.hpp"

#include <cmath>
#include <reel/ops/make.hpp>
#include <reel/special.hpp>
#include <reel/stats/beta.hpp>
#include <reel/stats/gamma.hpp>
#include <reel/stats/vonmises.hpp>

#include "ops/promote.hpp"
#include "ops/sort/order.hpp"

namespace reel {

namespace ops {

namespace {

using Function = loops::SpecialFunction;
using Arguments = SpecialArguments;

// The name that a distribution gives to a function.
struct NamedFunction {
  const char* name;
  Function f;
};
constexpr NamedFunction distribution_functions[] = {
    {"chi2_logcdf", Function::log_gammainc},   {"chi2_logsf", Function::log_gammaincc},
    {"poisson_logsf", Function::log_gammainc}, {"poisson_logcdf", Function::log_gammaincc},
    {"t_logcdf", Function::log_betainc},       {"t_logcdf", Function::log_betaincc},
    {"t_logsf", Function::log_betainc},        {"t_logsf", Function::log_betaincc},
    {"binom_logsf", Function::log_betainc},    {"binom_logcdf", Function::log_betaincc},
    {"nbinom_logcdf", Function::log_betainc},  {"nbinom_logsf", Function::log_betaincc},
    {"vonmises_sf", Function::vonmises_cdf},   {"vonmises_logsf", Function::vonmises_logcdf}};
constexpr std::size_t function_count = std::size(loops::signatures);

// Attribute 0 is the index of the primitive: functions come first, those of distributions follow.
Function function_of(Attributes attributes) {
  const auto i = static_cast<std::size_t>(attributes[0]);
  return i < function_count ? static_cast<Function>(i) : distribution_functions[i - function_count].f;
}
/// The number of differentiable arguments, which come first.
std::size_t variables(Function f) { return std::size_t{loops::signature(f).arguments} - loops::signature(f).constants; }

// ---- f and its derivatives. Inputs have one shape and dtype; attributes: the function, the order by each argument.

void infer_special(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_partial(const Call& call, Outputs& out) {
  loops::special(function_of(call.attributes), call.attributes.subspan(1), call.inputs, out[0]);
}
Tensor derivative(const tape::Record& r, std::size_t by);

constexpr Primitive special_primitive_of(std::size_t k) {
  using Rules = RuleOf<derivative>;
  const loops::Signature& s =
      k < function_count ? loops::signatures[k] : loops::signature(distribution_functions[k - function_count].f);
  return {.rule = batched(
              {k < function_count ? s.name : distribution_functions[k - function_count].name, Rules::vjp, Rules::jvp}),
          .infer = infer_special,
          .evaluate = evaluate_partial,
          .keeps = keep_inputs(s.arguments),
          .constants = s.constants};
}
template <class Make, std::size_t... K>
constexpr auto one_of_each(Make make, std::index_sequence<K...>) {
  return std::array<Primitive, sizeof...(K)>{make(K)...};
}
constexpr auto special_primitives =
    one_of_each(special_primitive_of, std::make_index_sequence<function_count + std::size(distribution_functions)>());

// ValueError where a derivative of these orders has more coefficients than the kernels hold.
void require_orders(const char* op, std::span<const std::int64_t> orders) {
  std::int64_t coefficients = 1;
  for (const std::int64_t n : orders) coefficients *= n + 1;
  if (coefficients > loops::coefficients_max)
    fail<ValueError>(op,
                     "has no derivatives of so high an order: the product of the orders by its arguments, "
                     "each plus 1, is {}; it must be at most {}",
                     coefficients, loops::coefficients_max);
}

Tensor apply_partial(std::size_t primitive, std::span<const std::int64_t> orders, const Arguments& x) {
  const Primitive& p = special_primitives[primitive];
  require_orders(p.rule.name, orders);
  detail::ShortList<std::int64_t, 1 + loops::arguments_max> attributes(1 + orders.size());
  attributes[0] = static_cast<std::int64_t>(primitive);
  std::copy(orders.begin(), orders.end(), attributes.begin() + 1);
  return apply(p, Inputs(x.data(), loops::signature(function_of(attributes)).arguments), attributes);
}
}  // namespace

Tensor partial(Function f, std::span<const std::int64_t> orders, const Arguments& x) {
  return apply_partial(static_cast<std::size_t>(f), orders, x);
}

namespace {

Tensor derivative(const tape::Record& r, std::size_t by) {
  const Function f = function_of(r.attributes());
  std::int64_t orders[loops::arguments_max] = {};
  std::copy(r.attributes().begin() + 1, r.attributes().end(), orders);
  ++orders[by];
  Arguments x = {};
  for (std::size_t k = 0; k < loops::signature(f).arguments; ++k) x[k] = &r.saved(k);
  return apply_partial(static_cast<std::size_t>(r.attributes()[0]), {orders, variables(f)}, x);
}

// ---- Inverses z in the last argument. By that argument the derivative is 1 / f'; by any other minus that of f over
// f'.

struct Inverse {
  Function inverse, of;
};
// Those of logarithms are the last ones.
constexpr Inverse inverse_functions[] = {
    {Function::gammaincinv, Function::gammainc},         {Function::gammainccinv, Function::gammaincc},
    {Function::betaincinv, Function::betainc},           {Function::betainccinv, Function::betaincc},
    {Function::vonmises_ppf, Function::vonmises_cdf},    {Function::vonmises_ilogcdf, Function::vonmises_logcdf},
    {Function::log_gammaincinv, Function::log_gammainc}, {Function::log_gammainccinv, Function::log_gammaincc},
    {Function::log_betaincinv, Function::log_betainc},   {Function::log_betainccinv, Function::log_betaincc}};
constexpr std::size_t inverse_count = std::size(inverse_functions), first_of_logarithm = 5;
std::size_t inverse_number(Function f) {
  const auto* at =
      std::find_if(inverse_functions, std::end(inverse_functions), [f](const Inverse& i) { return i.inverse == f; });
  return static_cast<std::size_t>(at - inverse_functions);
}
Function inverted(Function inverse) { return inverse_functions[inverse_number(inverse)].of; }
// The derivative of f at z by argument k.
Tensor derivative_at(const tape::Record& r, std::size_t k, const Tensor& z) {
  const Function f = inverted(function_of(r.attributes()));
  std::int64_t orders[loops::arguments_max] = {};
  orders[k] = 1;
  Arguments x = {};
  for (std::size_t i = 0; i + 1 < variables(f); ++i) x[i] = &r.saved(i);
  x[variables(f) - 1] = &z;
  return partial(f, {orders, variables(f)}, x);
}
// The same at the inverse, the last kept value.
Tensor derivative_at_inverse(const tape::Record& r, std::size_t k) {
  return derivative_at(r, k, r.saved(variables(function_of(r.attributes())) - 1));
}
// numerator / slope. Where its derivative may be wanted, it is that of exp(-l), l the logarithm of the density: the
// square of a slope underflows. Ends of the support, where l may be infinite, keep the quotient; at other points it is
// taken at an inner one, because the derivative of a slope overflows before the slope does.
Tensor over_slope(const tape::Record& r, const Tensor& numerator, const Tensor& slope) {
  const Function inverse = function_of(r.attributes());
  const std::size_t n = variables(inverse);
  bool wanted = false;
  for (std::size_t i = 0; i < n; ++i) wanted = wanted || followed(r.saved(i));
  if (!wanted) return numerator / slope;
  const Tensor &x = r.saved(n - 1), inside = inverse == Function::vonmises_ppf
                                                 ? logical_not(isnan(x))
                                                 : logical_and(greater(x, 0), less(x, n == 3 ? 1 : HUGE_VAL));
  const Tensor point = where(inside, x, 0.5);
  const Tensor l = inverse == Function::vonmises_ppf ? vonmises_logpdf(point, r.saved(0))
                   : n == 3                          ? beta_logpdf(point, r.saved(0), r.saved(1))
                                                     : gamma_logpdf(point, r.saved(0));
  const Tensor usable = logical_and(inside, isfinite(l));
  return where(usable, numerator * exp(stop_gradient(l) - l) / stop_gradient(slope),
               numerator / where(usable, 1, derivative_at(r, n - 1, where(usable, 0.5, x))));
}
Tensor derivative_of_inverse(const tape::Record& r, std::size_t k) {
  const Function inverse = function_of(r.attributes());
  const std::size_t last = variables(inverse) - 1;
  const Tensor slope = derivative_at_inverse(r, last);
  if (inverse_number(inverse) >= first_of_logarithm) {  // whose slope is infinite where the quantile is or rounds to 0
    const Tensor end = isinf(slope);
    return k == last ? 1 / slope : where(end, 0, -derivative_at_inverse(r, k) / where(end, 1, slope));
  }
  if (k == last) return over_slope(r, ones_like(slope), slope);
  const Tensor numerator = -derivative_at_inverse(r, k);
  return inverse == Function::vonmises_ppf ? numerator / slope : over_slope(r, numerator, slope);
}
void evaluate_quantile(const Call& call, Outputs& out) {
  constexpr std::int64_t orders[loops::arguments_max] = {};
  loops::special(function_of(call.attributes), {orders, call.inputs.size()}, call.inputs, out[0]);
}
constexpr Primitive inverse_of(const loops::Signature& s) {
  using Rules = RuleOf<derivative_of_inverse>;
  Keeps kept = keep_inputs(s.arguments - 1u);
  kept[s.arguments - 1u] = keep_output(0);
  return {.rule = batched({s.name, Rules::vjp, Rules::jvp}),
          .infer = infer_special,
          .evaluate = evaluate_quantile,
          .keeps = kept};
}
constexpr auto inverses =
    one_of_each([](std::size_t k) { return inverse_of(loops::signature(inverse_functions[k].inverse)); },
                std::make_index_sequence<inverse_count>());

// ---- operands

using SpecialRun = Tensor (*)(Function f, const Arguments& x);

// Calls `run` on the operands in one shape and in float32 or float64; casts the result to the promised dtype.
Tensor with_operands(Function f, SpecialRun run, std::span<const Operand* const> operands) {
  const char* const op = loops::signature(f).name;
  const tape::OpScope scope(*operands[0]);
  const auto [result, wide] = promote_operands(op, operands, Accept::real);
  Tensor x[loops::arguments_max];
  Arguments arguments = {};
  Shape shape;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    x[k] = to_tensor(op, *operands[k], wide, "x");
    shape = k == 0 ? x[k].shape() : broadcast_shapes(op, shape, x[k].shape());
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (x[k].shape() != shape) x[k] = broadcast_to(x[k], shape);
    arguments[k] = &x[k];
  }
  return cast_to(run(f, arguments), result);
}

Tensor run_special(Function f, const Arguments& x) {
  constexpr std::int64_t orders[loops::arguments_max] = {};
  return partial(f, {orders, variables(f)}, x);
}
Tensor run_inverse(Function f, const Arguments& x) {
  const std::int64_t attributes[] = {static_cast<std::int64_t>(f)};
  return apply(inverses[inverse_number(f)], Inputs(x.data(), variables(f)), attributes);
}

template <class... X>
Tensor special(Function f, const X&... operands) {
  const Operand* const list[] = {&operands...};
  return with_operands(f, run_special, list);
}
template <class... X>
Tensor inverse(Function f, const X&... operands) {
  const Operand* const list[] = {&operands...};
  return with_operands(f, run_inverse, list);
}

}  // namespace

Tensor apply_special(const char* op, Function f, std::initializer_list<const Tensor*> operands) {
  Arguments x = {};
  Tensor all[loops::arguments_max];
  Shape shape;
  for (const Tensor* operand : operands) shape = broadcast_shapes(op, shape, operand->shape());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Tensor& operand = *operands.begin()[k];
    all[k] = operand.shape() == shape ? operand : broadcast_to(operand, shape);
    x[k] = &all[k];
  }
  if (inverse_number(f) < inverse_count) return run_inverse(f, x);
  std::size_t primitive = static_cast<std::size_t>(f);
  for (std::size_t k = 0; k < std::size(distribution_functions); ++k)
    if (distribution_functions[k].f == f && std::string_view(distribution_functions[k].name) == op)
      primitive = function_count + k;
  constexpr std::int64_t orders[loops::arguments_max] = {};
  return apply_partial(primitive, {orders, variables(f)}, x);
}

}  // namespace ops

using ops::Function;

// The public functions, from the table: by family, number of arguments and number of constants, which come first here
// and last in the kernels.
// clang-format off
#define REEL_FRONT_10(f, run) Tensor f(const Operand& x) { return ops::run(Function::f, x); }
#define REEL_FRONT_20(f, run) Tensor f(const Operand& x, const Operand& y) { return ops::run(Function::f, x, y); }
#define REEL_FRONT_21(f, run) Tensor f(const Operand& n, const Operand& x) { return ops::run(Function::f, x, n); }
#define REEL_FRONT_30(f, run) \
  Tensor f(const Operand& x, const Operand& y, const Operand& z) { return ops::run(Function::f, x, y, z); }
#define REEL_FRONT_31(f, run) \
  Tensor f(const Operand& n, const Operand& x, const Operand& y) { return ops::run(Function::f, x, y, n); }
#define REEL_FRONT_40(f, run) \
  Tensor f(const Operand& x, const Operand& y, const Operand& z, const Operand& w) { return ops::run(Function::f, x, y, z, w); }
#define REEL_FRONT_41(f, run) \
  Tensor f(const Operand& n, const Operand& x, const Operand& y, const Operand& z) { return ops::run(Function::f, x, y, z, n); }
#define REEL_OF_gamma_or_beta(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_incomplete(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_incomplete_inverse(f, shape) REEL_FRONT_##shape(f, inverse)
#define REEL_OF_integral(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_bessel(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_elliptic(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_hypergeometric(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_polynomial(f, shape) REEL_FRONT_##shape(f, special)
#define REEL_OF_gamma_like(f, shape)             // below
#define REEL_OF_lambert_w(f, shape)              // below
#define REEL_OF_distribution_function(f, shape)  // lib/stats calls apply_special
#define REEL_FRONT(f, name, arguments, constants, family, ...) REEL_OF_##family(f, arguments##constants)
REEL_SPECIAL_FUNCTIONS(REEL_FRONT)
// clang-format on

Tensor gammasgn(const Operand& operand) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::ordered("gammasgn", operand), below = floor(ops::cast_to(x, ops::floating_of(x.dtype())));
  const Tensor one = ones_like(below);
  return where(greater(x, 0), one, where(equal(below, x), below - below, one - 2 * mod(below, 2)));
}

Tensor comb(const Operand& n, const Operand& k) { return ops::special(Function::comb, n, k); }
Tensor multigammaln(const Operand& a, const Operand& d) { return ops::special(Function::multigammaln, a, d); }
Tensor zeta(const Operand& s) { return ops::special(Function::riemann_zeta, s); }
Tensor zeta(const Operand& s, const Operand& q) { return ops::special(Function::zeta, s, q); }
Tensor lambertw(const Operand& x, int branch) {
  if (branch != 0 && branch != -1) fail<ValueError>("lambertw", "branch is {}; the real branches are 0 and -1", branch);
  return ops::special(branch == 0 ? Function::lambertw : Function::lambertw_lower, x);
}

}  // namespace reel
