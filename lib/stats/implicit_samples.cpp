// A sample is drawn by a primitive without a derivative, and passed on by one that has the implicit derivatives. Inputs
// of the latter: the parameters, the drawn numbers.
#include "stats/implicit_samples.hpp"

#include <reel/special.hpp>
#include <reel/stats/t.hpp>

#include "loops/loops.hpp"
#include "ops/apply/effect.hpp"
#include "ops/attributes.hpp"
#include "special/functions.hpp"
#include "stats/constants.hpp"

namespace reel::ops {

namespace {

using loops::Variate;
using Function = loops::SpecialFunction;

// ---- Draws; attributes: seed, first block, the distribution

void infer_variate(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_variate(const Call& call, Outputs& out) {
  loops::draw_variate(static_cast<Variate>(call.attribute(2)),
                      {static_cast<std::uint64_t>(call.attribute(0)), static_cast<std::uint64_t>(call.attribute(1))},
                      call.inputs, out[0]);
}
constexpr Primitive draw_of(std::uint8_t parameters) {
  return {.rule = {.name = "random_variate"},
          .infer = infer_variate,
          .evaluate = evaluate_variate,
          .constants = parameters,
          .effects = advances_generator};
}
constexpr Primitive draws[] = {draw_of(1), draw_of(2)};

// ---- Implicit derivatives

Tensor partial_at(Function f, std::initializer_list<std::int64_t> orders, std::initializer_list<const Tensor*> x) {
  SpecialArguments all = {};
  std::copy(x.begin(), x.end(), all.begin());
  return partial(f, {orders.begin(), orders.size()}, all);
}

// The derivative of log z by a. For tiny z the distribution function is z^a / Gamma(a + 1). Where it overflows it is
// the largest number: what uses such a sample has cotangent 0 for it, or an infinite one.
Tensor log_gamma_slope(const Tensor& every_a, const Tensor& every_log_z) {
  const bool single = every_a.dtype() == DType::float32;
  const double largest = single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const Tensor overflows = logical_not(less(abs(every_log_z) / every_a, 0.5 * largest)),
               huge = logical_and(overflows, less(every_log_z, 0));
  const Tensor a = where(huge, 1, every_a), log_z = where(huge, 0, every_log_z);
  constexpr double tiny_max = -40;  // of log z: the next term is smaller by z, which is below 5e-18
  const Tensor tiny = less(log_z, tiny_max), z = exp(where(tiny, 0, log_z));
  const Tensor by_a = partial_at(Function::gammainc, {1, 0}, {&a, &z}),
               density = partial_at(Function::gammainc, {0, 1}, {&a, &z});
  return where(huge, largest, where(tiny, (digamma(a + 1) - where(tiny, log_z, tiny_max)) / a, -by_a / (density * z)));
}
Tensor slope_of_log_gamma(const tape::Record& r, std::size_t) { return log_gamma_slope(r.saved(0), r.saved(1)); }
Tensor slope_of_gamma(const tape::Record& r, std::size_t) {
  const Tensor& z = r.saved(1);
  return z * log_gamma_slope(r.saved(0), log(where(greater(z, 0), z, 1)));
}

// x where it is selected, otherwise a number.
[[gnu::noinline]] Tensor or_number(const Tensor& selected, const Tensor& x, double number) {
  return where(selected, x, number);
}

// 0 where a sample is rounded to an end. Elements that are not selected have shapes of 1 besides, at which no density
// underflows: derivatives of the quotient would be NaN.
Tensor slope_of_beta(const tape::Record& r, std::size_t by) {
  const Tensor& x = r.saved(2);
  const Tensor inside = logical_and(greater(x, 0), less(x, 1)), z = or_number(inside, x, 0.5);
  const Tensor a = or_number(inside, r.saved(0), 1), b = or_number(inside, r.saved(1), 1);
  const Tensor by_parameter = partial_at(Function::betainc, {by == 0, by == 1, 0}, {&a, &b, &z}),
               density = partial_at(Function::betainc, {0, 0, 1}, {&a, &b, &z});
  return or_number(inside, -by_parameter / density, 0);
}

// For many degrees of freedom, from z - a / df + b / df^2, the normal quantile of the same probability.
Tensor student_slope_of_many(const Tensor& df, const Tensor& z) {
  const Tensor y = square(z), a = 0.25 * z * (y + 1) / df, b = z * ((13 * y + 8) * y + 3) / 48 / df / df;
  return (b - a) / (df - 0.25 * (3 * y + 1));
}

// Of Student's distribution, z^2 = df w / (1 - w) where w has the beta distribution of shapes 1/2 and df / 2, and 1 - w
// the one of reversed shapes: the smaller of both keeps its digits. Where 1 + z^2 / df rounds to z^2 / df, the
// distribution function of y = 1 - w is y^h / (h B(h, 1/2)), h = df / 2; for tiny z that of z is linear. Elements that
// are not selected are replaced as in slope_of_beta.
Tensor student_slope(const Tensor& df, const Tensor& z) {
  constexpr double tiny_max = 1e-9;  // of |z|: the next term is smaller by z^2
  constexpr double many_min = 1e9;   // of df: the next term of the expansion is smaller by z^4 / df^2
  const Tensor not_far = less_equal(square(z) / df, square_dominates * square_dominates), many = greater(df, many_min);
  const Tensor centre = less(abs(z), tiny_max), s = square(or_number(not_far, z, 1)) / df;
  const Tensor near = logical_and(not_far, less(s, 1)), by_y = logical_and(greater(not_far, near), logical_not(many)),
               by_w = logical_and(greater(near, centre), logical_not(many));
  const Tensor half = 0.5 * df, root = 0 * half + 0.5, step = digamma(half + 0.5) - digamma(half);
  const Tensor half_w = or_number(by_w, half, 1), inner = or_number(by_w, s, 0.5), w = inner / (1 + inner);
  const Tensor half_y = or_number(by_y, half, 1), outer = or_number(by_y, s, 2), y = 1 / (1 + outer);
  const Tensor of_w = -partial_at(Function::betainc, {0, 1, 0}, {&root, &half_w, &w}) /
                      partial_at(Function::betainc, {0, 0, 1}, {&root, &half_w, &w}) / (w * (1 - w));
  const Tensor of_y = partial_at(Function::betainc, {1, 0, 0}, {&half_y, &root, &y}) /
                      partial_at(Function::betainc, {0, 0, 1}, {&half_y, &root, &y}) / (y * (1 - y));
  const Tensor log_y = log(df) - 2 * log(abs(where(not_far, 1, z))), of_log_y = (log_y - 1 / half + step) / half;
  const Tensor relative = where(near, of_w, where(not_far, of_y, of_log_y));
  const Tensor slope = z * where(centre, 0.5 * (1 / df - step), 0.5 / df + 0.25 * relative);
  return where(isinf(z), 0, where(many, student_slope_of_many(or_number(many, df, 1), or_number(many, z, 0)), slope));
}
Tensor slope_of_student_t(const tape::Record& r, std::size_t) { return student_slope(r.saved(0), r.saved(1)); }
Tensor slope_of_student_quantile(const tape::Record& r, std::size_t by) {
  const Tensor &df = r.saved(0), &z = r.saved(2);
  if (by == 0) return student_slope(df, z);
  const Tensor l = t_logpdf(z, df);
  return exp(r.attributes()[0] != 0 ? r.saved(1) - l : -l);
}

Tensor slope_of_von_mises(const tape::Record& r, std::size_t) {
  constexpr double normal_min = 1e17;  // of kappa: x is a normal variate over its root, to rounding
  const Tensor many = greater(r.saved(0), normal_min), kappa = where(many, 1, r.saved(0)),
               x = where(many, 0, r.saved(1));
  const Tensor slope = -partial_at(Function::vonmises_cdf, {1, 0}, {&kappa, &x}) /
                       partial_at(Function::vonmises_cdf, {0, 1}, {&kappa, &x});
  return where(many, -0.5 * r.saved(1) / or_number(many, r.saved(0), 1), slope);
}

void infer_sample(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_sample(const Call& call, Outputs& out) { loops::copy(call.input(call.inputs.size() - 1), out[0]); }

template <Tensor (*slope)(const tape::Record& r, std::size_t by)>
constexpr Primitive sample_of(const char* name, std::size_t parameters) {
  using Rules = RuleOf<slope>;
  Keeps kept = keep_inputs(parameters);
  kept[parameters] = keep_output(0);
  return {.rule = batched({name, Rules::vjp, Rules::jvp}),
          .infer = infer_sample,
          .evaluate = evaluate_sample,
          .keeps = kept,
          .constants = 1};
}
// By distribution.
#define REEL_SAMPLE(name, op, parameters) sample_of<slope_of_##name>(op, parameters),
constexpr Primitive variate_primitives[] = {REEL_VARIATES(REEL_SAMPLE)};
#undef REEL_SAMPLE

// ---- Choices; attributes: seed, first block, count, whether with replacement

void infer_choices(const Call& call, Metas& out) { out.add(DType::int64, {call.attribute(2)}); }
void evaluate_choices(const Call& call, Outputs& out) {
  constexpr const char* op = "random_choice";
  Tensor scratch;
  const Tensor& weights = loops::contiguous(call.input(0), scratch);
  const bool replace = call.attribute(3) != 0;
  const std::int64_t count = call.attribute(2);
  const loops::WeightCheck check = loops::draw_choices(
      {static_cast<std::uint64_t>(call.attribute(0)), static_cast<std::uint64_t>(call.attribute(1))}, weights, replace,
      out[0]);
  if (check.refused >= 0)
    fail<ValueError>(op, "weight {} is {}; weights must be finite and at least 0", check.refused, check.value);
  if (count > 0 && check.positives == 0)
    fail<ValueError>(op, "all {} weights are 0; at least one must be above 0", weights.size());
  if (!replace && check.positives < count)
    fail<ValueError>(op, "count is {}, but only {} weights are above 0; replace the choices, or choose fewer", count,
                     check.positives);
}
constexpr Primitive choices_primitive = {.rule = {.name = "random_choice"},
                                         .infer = infer_choices,
                                         .evaluate = evaluate_choices,
                                         .constants = 1,
                                         .effects = advances_generator | may_throw};

constexpr Primitive student_quantile_primitive = sample_of<slope_of_student_quantile>("t_ppf", 2);

}  // namespace

// The attribute: whether p is a logarithm.
Tensor student_sample(const Tensor& df, const Tensor& p, const Tensor& z, bool of_log) {
  return apply(student_quantile_primitive, {&df, &p, &z}, words(std::int64_t{of_log}));
}

Tensor draw_weighted(Generator& generator, const Tensor& weights, std::int64_t count, bool replace) {
  std::array attributes = words(0, 0, count, std::int64_t{replace});
  const Tensor* const inputs[] = {&weights};
  Tensor places;
  perform({.primitive = choices_primitive,
           .inputs = inputs,
           .attributes = attributes,
           .generator = &generator,
           .outputs = {&places, 1}});
  return places;
}

Tensor variates(Variate v, Generator& generator, std::span<const Tensor* const> parameters) {
  std::array attributes = words(0, 0, static_cast<std::int64_t>(v));
  Tensor drawn;
  perform({.primitive = draws[parameters.size() - 1],
           .inputs = parameters,
           .attributes = attributes,
           .generator = &generator,
           .outputs = {&drawn, 1}});
  SpecialArguments inputs = {};
  std::copy(parameters.begin(), parameters.end(), inputs.begin());
  inputs[parameters.size()] = &drawn;
  return apply(variate_primitives[static_cast<std::size_t>(v)], Inputs(inputs.data(), parameters.size() + 1), {});
}

}  // namespace reel::ops
