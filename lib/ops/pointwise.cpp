// The pointwise ops: definitions of the table with their derivatives, and the public functions.
#include "ops/apply/pointwise.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/neural.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/pointwise.hpp>

#include "loops/elementwise/elements.hpp"
#include "ops/apply/apply.hpp"
#include "ops/complex.hpp"
#include "ops/derivatives.hpp"
#include "ops/engine.hpp"
#include "ops/recorded_derivatives.hpp"

namespace reel {

namespace table = kernels::table;

namespace ops {

namespace {

// The derivative below, as an operation of a program. `is_times` if it is g times the last of the inputs.
[[gnu::cold, gnu::noinline]] Tensor trace_derivative(std::size_t definition, const char* name, std::size_t k,
                                                     bool is_times, Inputs in, const Shape* shape,
                                                     const Shape* target) {
  const Tensor& g = *in[0];
  if (is_times)
    if (Tensor view = times_one(g, *in[in.size() - 1], shape); view.defined()) return view;
  const Shape full = shape ? *shape : g.shape();
  const bool summed = target && *target != full && full.elements() != 0 && !is_half(g.dtype());
  return trace({.name = name,
                .definition = static_cast<std::uint16_t>(definition),
                .operand = static_cast<std::int8_t>(k),
                .summed = summed},
               in, g.dtype(), summed ? *target : full);
}

// g times the partial derivative with respect to operand K, in g's shape, in `shape`, or summed down to `target`.
// Recorded if a tape follows what it is made of. Otherwise one fused kernel, which adds to the sum of earlier
// cotangents if replay offers one, or writes into g's memory if nobody `needs` g afterwards.
template <table::FixedString Name, std::size_t K>
Tensor derivative(const tape::Record& record, const Tensor& g, const Shape* shape, const Shape* target, bool needed) {
  constexpr const auto& p = std::get<K>(kernels::definition<Name>.derivatives);
  if constexpr (p.is_identity) {
    return needed || tape::watching() ? g : std::move(const_cast<Tensor&>(g));
  } else if constexpr (p.is_zero) {
    return zeros(shape ? *shape : g.shape(), g.dtype());
  } else {
    constexpr unsigned masks[] = {table::x, table::y, table::w, table::z};
    // The inputs of a vjp kernel are g, x, y, w, z, up to the last one that it reads. Inputs that it does not read are
    // g.
    constexpr std::size_t count = p.reads & table::z ? 5 : p.reads & table::w ? 4 : p.reads & table::y ? 3 : 2;
    const Tensor* in[count];
    in[0] = &g;
    for (std::size_t i = 1; i < count; ++i) in[i] = p.reads & masks[i - 1] ? &record.saved(i - 1) : &g;
    if (any_followed(in)) return recorded_derivative(kernels::index_of<Name>(), K, in);
    if (tape::watching() & tape::watch_program) [[unlikely]]
      return trace_derivative(kernels::index_of<Name>(), kernels::definition<Name>.name.data(), K, p.is_times, in,
                              shape, target);
    const std::int64_t size = detail::block(g)->size;
    if constexpr (p.is_times)
      if (size >= view_elements_min)
        if (Tensor view = times_one(g, *in[count - 1], shape); view.defined()) return view;
    const kernels::Loop loop =
        kernels::active().pointwise(kernels::index_of<Name>(), detail::block(g)->dtype).derivative[K];
    if (!target && size >= in_place_elements_min)
      if (Tensor sum = add_to_sum(record, K, loop, in, shape); sum.defined()) return sum;
    return evaluate_fused(loop, g, in, {shape, target, !needed});
  }
}

using DerivativeFunction = Tensor (*)(const tape::Record&, const Tensor& g, const Shape*, const Shape* target,
                                      bool needed);

// The vjp for an operand k that was broadcast.
[[gnu::noinline]] void summed_vjp(const tape::Record& record, const Tensor& g, std::size_t k,
                                  DerivativeFunction derivative, bool needed, Gradient& dx) {
  const Shape own = record.shape(k), target = batched_target(record, own, detail::block(g)->rank);
  dx = sum_to(record, derivative(record, g, nullptr, &target, needed), own);
}

// The transpose of a complex linear map is the map with conjugated factors.
[[gnu::noinline]] void complex_vjp(const tape::Record& record, const Tensor& g, std::size_t k,
                                   DerivativeFunction derivative, Gradient& dx) {
  const Shape own = record.shape(k), target = batched_target(record, own, detail::block(g)->rank);
  const bool fits = record.fits(g, k);
  const Tensor part = derivative(record, conj(g), nullptr, fits ? nullptr : &target, false);
  dx = conj(fits ? part : sum_to(record, part, own));
}

template <table::FixedString Name, std::size_t K>
void vjp(const tape::Record& record, const Tensor& g, std::span<Gradient> dx) {
  constexpr const auto& p = std::get<K>(kernels::definition<Name>.derivatives);
  if constexpr (!p.is_unconnected) {
    bool needed = false;
    for (std::size_t k = K + 1; k < kernels::definition<Name>.arity; ++k) needed = needed || record.wanted(k);
    if (p.has_function && is_complex(detail::block(g)->dtype))
      complex_vjp(record, g, K, &derivative<Name, K>, dx[K]);
    else if (record.fits(g, K))
      dx[K] = derivative<Name, K>(record, g, nullptr, nullptr, needed);
    else if constexpr (p.is_identity)
      dx[K] = sum_to(record, g, record.shape(K));
    else
      summed_vjp(record, g, K, &derivative<Name, K>, needed, dx[K]);
  }
}

[[gnu::noinline]] void add_tangent(const tape::Record& record, const Tensor& t, DerivativeFunction derivative,
                                   Tensor& dy) {
  const Shape shape = record.output_shape();
  Tensor part = derivative(record, t, &shape, nullptr, true);
  if (part.shape() != shape) part = broadcast_to(part, shape);
  dy = dy.defined() ? add(std::move(dy), part) : part;
}

template <table::FixedString Name, std::size_t K>
void jvp(const tape::Record& record, const Tensor& t, Tensor& dy) {
  if constexpr (!std::get<K>(kernels::definition<Name>.derivatives).is_unconnected)
    if (t.defined()) add_tangent(record, t, &derivative<Name, K>, dy);
}

// ---- Operands that an op refuses

void refuse_zero_divisor(const char* op, Inputs x) {
  if (!is_differentiable(x[1]->dtype()) && loops::any_zero(*x[1]))
    fail<ValueError>(op, "an integer is divided by zero");
}
void refuse_negative_exponent(Inputs x) {
  if (!is_differentiable(x[1]->dtype()) && loops::any_negative(*x[1]))
    fail<ValueError>("power", "an integer has a negative integer exponent; cast the base to a floating dtype");
}
// elu is not monotonic for negative alphas.
void refuse_negative_alpha(Inputs x) {
  if (loops::any_negative(*x[1])) fail<ValueError>("elu", "alpha must not be negative");
}

using ArgumentCheck = void (*)(Inputs inputs);
constexpr ArgumentCheck check_of(std::string_view name) {
  if (name == "power") return refuse_negative_exponent;
  if (name == "elu") return refuse_negative_alpha;
  if (name == "floor_divide") return [](Inputs x) { refuse_zero_divisor("floor_divide", x); };
  if (name == "mod") return [](Inputs x) { refuse_zero_divisor("mod", x); };
  return nullptr;
}

template <table::FixedString Name>
constexpr PointwisePrimitive make_primitive() {
  constexpr const auto& definition = kernels::definition<Name>;
  constexpr std::size_t arity = definition.arity;
  PointwisePrimitive p{};
  p.index = kernels::index_of<Name>();
  p.arity = arity;
  p.domain = definition.domain;
  p.check = check_of(definition.name);
  [&]<std::size_t... K>(std::index_sequence<K...>) { ((p.reads[K] = std::get<K>(definition.derivatives).reads), ...); }
  (std::make_index_sequence<arity>());
  p.rule.name = definition.name.data();
  p.rule.batched = true;
  p.rule.vjp = [](const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx) {
    [&]<std::size_t... K>(std::index_sequence<K...>) {
      ((record.wanted(K) ? vjp<Name, K>(record, g[0], dx) : void()), ...);
    }
    (std::make_index_sequence<arity>());
  };
  p.rule.jvp = [](const tape::Record& record, std::span<const Tensor> t, std::span<Tensor> dy) {
    [&]<std::size_t... K>(std::index_sequence<K...>) { (jvp<Name, K>(record, t[K], dy[0]), ...); }
    (std::make_index_sequence<arity>());
  };
  return p;
}
template <table::FixedString Name>
constexpr PointwisePrimitive primitive = make_primitive<Name>();

template <table::FixedString Name, class... O>
Tensor pointwise(const Operand& first, const O&... others) {
  // The absolute value of a complex number is real: a different op.
  if constexpr (std::string_view(Name) == "abs")
    if (first.is_tensor() && first.tensor().defined() && is_complex(first.tensor().dtype())) return magnitude(first);
  const tape::OpScope scope(first);
  return ops::apply<1 + sizeof...(O)>(primitive<Name>, {&first, &others...});
}

}  // namespace

}  // namespace ops

using ops::pointwise;

// clang-format off
#define REEL_DEFINE_1(name) Tensor name(const Operand& x) { return pointwise<#name>(x); }
#define REEL_DEFINE_2(name) Tensor name(const Operand& x, const Operand& y) { return pointwise<#name>(x, y); }
#define REEL_DEFINE_3(name) Tensor name(const Operand& x, const Operand& y, const Operand& z) { return pointwise<#name>(x, y, z); }
#define REEL_DEFINE(name, arity) REEL_DEFINE_##arity(name)
REEL_POINTWISE_FUNCTIONS(REEL_DEFINE)
REEL_NORMAL_FUNCTIONS(REEL_DEFINE)
// clang-format on

Tensor logit(const Operand& operand, double eps) {
  const tape::OpScope scope(operand);
  if (!(eps >= 0 && eps <= 0.5)) fail<ValueError>("logit", "eps is {}; it must be at least 0 and at most 0.5", eps);
  const Tensor x = ops::to_tensor("logit", operand);
  if (is_complex(x.dtype())) return logit(x);  // which refuses it
  if (ops::is_half(x.dtype())) return ops::in_float32(x, [eps](const Tensor& wide) { return logit(wide, eps); });
  return logit(clip(ops::cast_to(x, ops::floating_of(x.dtype())), eps, 1 - eps));
}

}  // namespace reel
