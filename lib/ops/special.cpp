// Special functions of several arguments: a primitive each, whose attributes are how often it is differentiated by each
// argument. A derivative of the primitive is itself with one order more.
#include "loops/special.hpp"

#include <reel/ops/make.hpp>
#include <reel/special.hpp>

#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

using Function = loops::SpecialFunction;

// The rule of an op from its derivative by argument k: D::derivative(record, k).
template <class D, std::size_t Count>
void special_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  for (std::size_t k = 0; k < Count; ++k)
    if (r.wanted(k)) dx[k] = g[0] * D::derivative(r, k);
}
template <class D, std::size_t Count>
void special_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  for (std::size_t k = 0; k < Count; ++k)
    if (t[k].defined()) {
      const Tensor part = t[k] * D::derivative(r, k);
      dy[0] = dy[0].defined() ? dy[0] + part : part;
    }
}
template <class D, std::size_t Count>
constexpr tape::Rule special_rule(const char* name) {
  return batched({name, special_vjp<D, Count>, special_jvp<D, Count>});
}

// ---- f and its derivatives: inputs of one shape and dtype; attributes: the order of each

template <Function F, std::size_t Count>
struct Special {
  static void infer(const Call& call, Metas& out) { out.add_like(call.input(0)); }
  static void evaluate(const Call& call, Outputs& out) { loops::special(F, call.attributes, call.inputs, out[0]); }
  static Tensor derivative(const tape::Record& r, std::size_t by);
};

constexpr Keeps keep_inputs(std::size_t count) {
  Keeps keeps = {};
  for (std::size_t k = 0; k < count; ++k) keeps[k] = keep_input(static_cast<std::uint8_t>(k));
  return keeps;
}
template <Function F>
constexpr const char* name_of = nullptr;
template <>
constexpr const char* name_of<Function::gamma> = "gamma";
template <>
constexpr const char* name_of<Function::rgamma> = "rgamma";
template <>
constexpr const char* name_of<Function::betaln> = "betaln";
template <>
constexpr const char* name_of<Function::beta> = "beta";
template <>
constexpr const char* name_of<Function::poch> = "poch";
template <>
constexpr const char* name_of<Function::gammainc> = "gammainc";
template <>
constexpr const char* name_of<Function::gammaincc> = "gammaincc";
template <>
constexpr const char* name_of<Function::betainc> = "betainc";
template <>
constexpr const char* name_of<Function::betaincc> = "betaincc";
template <>
constexpr const char* name_of<Function::gammaincinv> = "gammaincinv";
template <>
constexpr const char* name_of<Function::gammainccinv> = "gammainccinv";
template <>
constexpr const char* name_of<Function::betaincinv> = "betaincinv";

template <Function F, std::size_t Count>
constexpr Primitive special_primitive = {.rule = special_rule<Special<F, Count>, Count>(name_of<F>),
                                         .infer = Special<F, Count>::infer,
                                         .evaluate = Special<F, Count>::evaluate,
                                         .keeps = keep_inputs(Count)};

// The partial derivative of these orders, of inputs of one shape and dtype.
template <Function F, class... X>
Tensor partial(const std::array<std::int64_t, sizeof...(X)>& orders, const X&... x) {
  std::int64_t coefficients = 1;
  for (const std::int64_t n : orders) coefficients *= n + 1;
  if (coefficients > loops::coefficients_max)
    fail<ValueError>(name_of<F>,
                     "has no derivatives of so high an order: the product of the orders by its arguments, "
                     "each plus 1, is {}; it must be at most {}",
                     coefficients, loops::coefficients_max);
  return apply(special_primitive<F, sizeof...(X)>, {&x...}, orders);
}

template <Function F, std::size_t Count>
Tensor Special<F, Count>::derivative(const tape::Record& r, std::size_t by) {
  std::array<std::int64_t, Count> orders;
  std::copy_n(r.attributes().begin(), Count, orders.begin());
  ++orders[by];
  return [&]<std::size_t... K>(std::index_sequence<K...>) { return partial<F>(orders, r.saved(K)...); }
  (std::make_index_sequence<Count>());
}

// ---- inverses in the last argument, z: its derivative is 1 / f', by the others that of f, negative, by f'

template <Function F, Function Inverse, std::size_t Count>
struct InverseOf {
  static void infer(const Call& call, Metas& out) { out.add_like(call.input(0)); }
  static void evaluate(const Call& call, Outputs& out) {
    constexpr std::int64_t orders[Count] = {};
    loops::special(Inverse, orders, call.inputs, out[0]);
  }
  // Of f at z by argument k; z is the last value kept.
  static Tensor of_f(const tape::Record& r, std::size_t k) {
    std::array<std::int64_t, Count> orders = {};
    orders[k] = 1;
    return [&]<std::size_t... K>(std::index_sequence<K...>) {
      return partial<F>(orders, r.saved(K)..., r.saved(Count - 1));
    }
    (std::make_index_sequence<Count - 1>());
  }
  static Tensor derivative(const tape::Record& r, std::size_t k) {
    const Tensor slope = of_f(r, Count - 1);
    return k + 1 == Count ? 1 / slope : -of_f(r, k) / slope;
  }
  static constexpr Keeps keeps() {
    Keeps kept = keep_inputs(Count - 1);
    kept[Count - 1] = keep_output(0);
    return kept;
  }
};
template <Function F, Function Inverse, std::size_t Count>
constexpr Primitive quantile_primitive = {.rule = special_rule<InverseOf<F, Inverse, Count>, Count>(name_of<Inverse>),
                                          .infer = InverseOf<F, Inverse, Count>::infer,
                                          .evaluate = InverseOf<F, Inverse, Count>::evaluate,
                                          .keeps = InverseOf<F, Inverse, Count>::keeps()};

// ---- operands

// f of the operands as tensors of one shape and of float32 or float64; the result in their own dtype.
template <class F, class... X>
Tensor with_operands(const char* op, const F& f, const X&... operands) {
  const Operand* const list[] = {&operands...};
  const tape::OpScope scope(*list[0]);
  const DType d = common_dtype(op, list);
  if (is_complex(d)) fail<TypeError>(op, "is not defined for {}; {}", d, remedy(d));
  const DType wide = is_half(d) ? DType::float32 : floating_of(d);
  Tensor x[sizeof...(X)];
  Shape shape;
  for (std::size_t k = 0; k < sizeof...(X); ++k) {
    x[k] = to_tensor(op, *list[k], wide, "x");
    shape = k == 0 ? x[k].shape() : broadcast_shapes(op, shape, x[k].shape());
  }
  for (Tensor& t : x)
    if (t.shape() != shape) t = broadcast_to(t, shape);
  const Tensor y = [&]<std::size_t... K>(std::index_sequence<K...>) { return f(x[K]...); }
  (std::make_index_sequence<sizeof...(X)>());
  return cast_to(y, is_half(d) ? d : wide);
}

template <Function F, class... X>
Tensor special(const X&... operands) {
  return with_operands(
      name_of<F>, [](const auto&... x) { return partial<F>(std::array<std::int64_t, sizeof...(x)>{}, x...); },
      operands...);
}
template <Function F, Function Inverse, class... X>
Tensor inverse(const X&... operands) {
  return with_operands(
      name_of<Inverse>, [](const auto&... x) { return apply(quantile_primitive<F, Inverse, sizeof...(x)>, {&x...}); },
      operands...);
}

}  // namespace

}  // namespace ops

using ops::Function;

Tensor gamma(const Operand& x) { return ops::special<Function::gamma>(x); }
Tensor rgamma(const Operand& x) { return ops::special<Function::rgamma>(x); }
Tensor beta(const Operand& a, const Operand& b) { return ops::special<Function::beta>(a, b); }
Tensor betaln(const Operand& a, const Operand& b) { return ops::special<Function::betaln>(a, b); }
Tensor poch(const Operand& a, const Operand& m) { return ops::special<Function::poch>(a, m); }
Tensor gammainc(const Operand& a, const Operand& x) { return ops::special<Function::gammainc>(a, x); }
Tensor gammaincc(const Operand& a, const Operand& x) { return ops::special<Function::gammaincc>(a, x); }
Tensor betainc(const Operand& a, const Operand& b, const Operand& x) {
  return ops::special<Function::betainc>(a, b, x);
}
Tensor betaincc(const Operand& a, const Operand& b, const Operand& x) {
  return ops::special<Function::betaincc>(a, b, x);
}
Tensor gammaincinv(const Operand& a, const Operand& p) {
  return ops::inverse<Function::gammainc, Function::gammaincinv>(a, p);
}
Tensor gammainccinv(const Operand& a, const Operand& q) {
  return ops::inverse<Function::gammaincc, Function::gammainccinv>(a, q);
}
Tensor betaincinv(const Operand& a, const Operand& b, const Operand& p) {
  return ops::inverse<Function::betainc, Function::betaincinv>(a, b, p);
}

}  // namespace reel
