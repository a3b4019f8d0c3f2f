#include "ops/probability/distributions.hpp"

#include <reel/ops/shape.hpp>

#include "ops/apply/apply.hpp"
#include "ops/special.hpp"

namespace reel::ops {

namespace {

// ---- f and its derivatives. Inputs have one shape and dtype; attributes: the function, the order by each argument.

using Function = loops::DistributionFunction;

void infer_distribution_function(const Call& call, Metas& out) { out.add_like(call.input(0)); }
void evaluate_distribution_function(const Call& call, Outputs& out) {
  loops::special(static_cast<Function>(call.attributes[0]), call.attributes.subspan(1), call.inputs, out[0]);
}
Tensor distribution_derivative(const tape::Record& r, std::size_t by);

constexpr Primitive distribution(const char* name, std::size_t arguments) {
  using Rules = RuleOf<distribution_derivative>;
  return {.rule = batched({name, Rules::vjp, Rules::jvp}),
          .infer = infer_distribution_function,
          .evaluate = evaluate_distribution_function,
          .keeps = keep_inputs(arguments)};
}
// In the order of the enumerators.
constexpr Primitive distributions[] = {distribution("gamma_logcdf", 2), distribution("gamma_logsf", 2),
                                       distribution("beta_logcdf", 3), distribution("beta_logsf", 3),
                                       distribution("vonmises_cdf", 2)};

using Attributes4 = std::array<std::int64_t, 1 + loops::arguments_max>;

Tensor of_orders(const Attributes4& attributes, const SpecialArguments& x) {
  const auto f = static_cast<std::size_t>(attributes[0]), count = loops::arguments_of(static_cast<Function>(f));
  require_orders(distributions[f].rule.name, std::span(attributes).subspan(1));
  return apply(distributions[f], Inputs(x.data(), count), std::span(attributes).first(1 + count));
}

Tensor distribution_derivative(const tape::Record& r, std::size_t by) {
  Attributes4 attributes = {};
  std::copy(r.attributes().begin(), r.attributes().end(), attributes.begin());
  ++attributes[1 + by];
  SpecialArguments x = {};
  for (std::size_t k = 0; k + 1 < r.attributes().size(); ++k) x[k] = &r.saved(k);
  return of_orders(attributes, x);
}

Tensor value(Function f, std::initializer_list<const Tensor*> operands) {
  Shape shape;
  for (const Tensor* t : operands) shape = broadcast_shapes(distributions[0].rule.name, shape, t->shape());
  Tensor held[loops::arguments_max];
  SpecialArguments x = {};
  std::size_t k = 0;
  for (const Tensor* t : operands) {
    held[k] = t->shape() == shape ? *t : broadcast_to(*t, shape);
    x[k] = &held[k];
    ++k;
  }
  return of_orders({static_cast<std::int64_t>(f)}, x);
}

}  // namespace

Tensor log_gammainc(const Tensor& a, const Tensor& x) { return value(Function::log_gammainc, {&a, &x}); }
Tensor log_gammaincc(const Tensor& a, const Tensor& x) { return value(Function::log_gammaincc, {&a, &x}); }
Tensor log_betainc(const Tensor& a, const Tensor& b, const Tensor& x) {
  return value(Function::log_betainc, {&a, &b, &x});
}
Tensor log_betaincc(const Tensor& a, const Tensor& b, const Tensor& x) {
  return value(Function::log_betaincc, {&a, &b, &x});
}

Tensor vonmises_cdf_by_kappa(const Tensor& kappa, const Tensor& x) {
  return of_orders({static_cast<std::int64_t>(Function::vonmises_cdf), 1, 0}, {&kappa, &x});
}
Tensor vonmises_cdf_by_x(const Tensor& kappa, const Tensor& x) {
  return of_orders({static_cast<std::int64_t>(Function::vonmises_cdf), 0, 1}, {&kappa, &x});
}

}  // namespace reel::ops
