// The pointwise ops: definitions of the table with their derivatives, and the public functions.
#include "ops/apply/pointwise.hpp"

#include <bit>
#include <reel/nn/cross_entropy.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/pointwise.hpp>

#include "loops/elementwise/elements.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/entry_values.hpp"
#include "ops/engine.hpp"
#include "ops/recorded_derivatives.hpp"

namespace reel {

namespace table = kernels::table;

namespace ops {

namespace {

// The derivative below, as an operation of a program.
[[gnu::cold, gnu::noinline]] Tensor trace_derivative(const PointwisePrimitive& p, std::size_t k, Inputs in,
                                                     const Shape* shape, const Shape* target) {
  const Tensor& g = *in[0];
  if (p.kinds[k] == DerivativeKind::times)
    if (Tensor view = times_one(g, *in[in.size() - 1], shape); view.defined()) return view;
  const Shape full = shape ? *shape : g.shape();
  const bool summed = target && *target != full && full.elements() != 0 && !is_half(g.dtype());
  return trace({.name = p.name,
                .definition = static_cast<std::uint16_t>(p.index),
                .operand = static_cast<std::int8_t>(k),
                .summed = summed},
               in, g.dtype(), summed ? *target : full);
}

const PointwisePrimitive& primitive_of(const tape::Record& record) {
  return static_cast<const PointwisePrimitive&>(record.rule());
}

// g times the partial derivative with respect to operand k, as the options say. Recorded if a tape follows what it is
// made of. Otherwise one fused kernel, which adds to the sum of earlier cotangents if replay offers one, or writes into
// g's memory. Inlined into the rule, where a call would cost 30 instructions for each op.
[[gnu::always_inline]] inline Tensor derivative(const tape::Record& record, const Tensor& g, std::size_t k,
                                                const FusedOptions& options) {
  const PointwisePrimitive& p = primitive_of(record);
  const DerivativeKind kind = p.kinds[k];
  if (kind > DerivativeKind::times) {
    if (kind == DerivativeKind::zero) return zeros(options.shape ? *options.shape : g.shape(), g.dtype());
    return options.reuse && !tape::watching() ? std::move(const_cast<Tensor&>(g)) : g;
  }
  // The inputs of a vjp kernel are g, x, y, w, z, up to the last one that it reads, but at least two. Inputs that it
  // does not read are g.
  const Tensor* inputs[2 + pointwise_arity_max] = {&g, &g, &g, &g, &g};
  std::size_t count = 2;
  for (unsigned reads = p.reads[k]; reads; reads &= reads - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(reads));
    inputs[1 + i] = &record.saved(i);
    count = 2 + i;
  }
  const Inputs in(inputs, count);
  if (any_followed(in))
    return kind == DerivativeKind::times ? multiply(g, *in[count - 1]) : recorded_derivative(p.index, k, in);
  if (tape::watching() & tape::watch_program) [[unlikely]]
    return trace_derivative(p, k, in, options.shape, options.sum_to);
  const std::int64_t size = detail::block(g)->size;
  if (size >= view_elements_min && kind == DerivativeKind::times)
    if (Tensor view = times_one(g, *in[count - 1], options.shape); view.defined()) return view;
  const kernels::Loop loop = kernels::pointwise(p.index, detail::block(g)->dtype).derivative[k];
  if (size >= in_place_elements_min && !options.sum_to)
    if (Tensor sum = add_to_sum(record, k, loop, in, options.shape); sum.defined()) return sum;
  return evaluate_fused(loop, g, in, options);
}

// The same, not inlined.
[[gnu::noinline]] Tensor derivative_apart(const tape::Record& record, const Tensor& g, std::size_t k,
                                          const FusedOptions& options) {
  return derivative(record, g, k, options);
}

// The cotangent of an operand k that was broadcast.
[[gnu::noinline]] Tensor summed_derivative(const tape::Record& record, const Tensor& g, std::size_t k, bool reuse) {
  const Shape own = record.shape(k), target = batched_target(record, own, detail::block(g)->rank);
  return sum_to(record, derivative_apart(record, g, k, {nullptr, &target, reuse}), own);
}

// The transpose of a complex linear map is the map with conjugated factors.
[[gnu::noinline]] Tensor complex_derivative(const tape::Record& record, const Tensor& g, std::size_t k) {
  const Shape own = record.shape(k), target = batched_target(record, own, detail::block(g)->rank);
  const bool fits = record.fits(g, k);
  const Tensor part = derivative_apart(record, conj(g), k, {nullptr, fits ? nullptr : &target, true});
  return conj(fits ? part : sum_to(record, part, own));
}

void pointwise_vjp(const tape::Record& record, std::span<const Tensor> cotangents, std::span<Gradient> dx) {
  const PointwisePrimitive& p = primitive_of(record);
  const Tensor& g = cotangents[0];
  std::size_t last = p.arity - 1;  // operand that is wanted: nobody needs g after it
  while (last > 0 && !record.wanted(last)) --last;
  for (std::size_t k = 0; k <= last; ++k) {
    const DerivativeKind kind = p.kinds[k];
    if (!record.wanted(k) || kind == DerivativeKind::unconnected) continue;
    if (kind <= DerivativeKind::times && is_complex(detail::block(g)->dtype))
      dx[k] = complex_derivative(record, g, k);
    else if (record.fits(g, k))
      dx[k] = derivative(record, g, k, {nullptr, nullptr, k == last});
    else if (kind == DerivativeKind::identity)
      dx[k] = sum_to(record, g, record.shape(k));
    else
      dx[k] = summed_derivative(record, g, k, k == last);
  }
}

void pointwise_jvp(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const PointwisePrimitive& p = primitive_of(record);
  for (std::size_t k = 0; k < p.arity; ++k) {
    if (!dx[k].defined() || p.kinds[k] == DerivativeKind::unconnected) continue;
    const Shape shape = record.output_shape();
    Tensor part = derivative(record, dx[k], k, {&shape, nullptr, false});
    if (part.shape() != shape) part = broadcast_to(part, shape);
    dy[0] = dy[0].defined() ? add(std::move(dy[0]), part) : part;
  }
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

template <table::Reads R, class F>
constexpr DerivativeKind kind_of(const table::Derivative<R, F>& derivative) {
  if (derivative.is_times) return DerivativeKind::times;
  if (derivative.is_identity) return DerivativeKind::identity;
  if (derivative.is_zero) return DerivativeKind::zero;
  return derivative.is_unconnected ? DerivativeKind::unconnected : DerivativeKind::function;
}

constexpr PointwisePrimitive make_primitive(std::size_t index, const auto& definition) {
  PointwisePrimitive p{};
  p.name = definition.name.data();
  p.vjp = pointwise_vjp;
  p.jvp = pointwise_jvp;
  p.batched = true;
  p.index = index;
  p.arity = definition.arity;
  p.domain = definition.domain;
  p.check = check_of(definition.name);
  const auto set = [&](std::size_t k, const auto& derivative) {
    p.reads[k] = derivative.reads;
    p.kinds[k] = kind_of(derivative);
  };
  std::apply([&, k = std::size_t{0}](const auto&... derivative) mutable { (set(k++, derivative), ...); },
             definition.derivatives);
  return p;
}

// In the order of the table.
constexpr auto pointwise_primitives = std::apply(
    [](const auto&... definition) {
      std::size_t index = 0;
      return std::array{make_primitive(index++, definition)...};
    },
    table::definitions);

}  // namespace

static_assert(std::is_standard_layout_v<Primitive>);  // its rule has its address
Keep kept_value(const tape::Rule& rule, std::size_t k) noexcept {
  const auto position = static_cast<std::uint8_t>(k);
  if (rule.vjp == pointwise_vjp) return k == tape::most_read - 1 ? keep_output(0) : keep_input(position);
  const auto& primitive = reinterpret_cast<const Primitive&>(rule);
  return primitive.keep_inputs ? keep_input(position) : primitive.keeps[k];
}

const PointwisePrimitive& pointwise_primitive(std::size_t definition) { return pointwise_primitives[definition]; }

// Not inline: each has many callers.
[[gnu::noinline]] Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x) {
  const tape::OpScope scope(x);
  return apply<1>(primitive, {&x});
}
[[gnu::noinline]] Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  return apply<2>(primitive, {&x, &y});
}
[[gnu::noinline]] Tensor pointwise(const PointwisePrimitive& primitive, const Operand& x, const Operand& y,
                                   const Operand& w) {
  const tape::OpScope scope(x);
  return apply<3>(primitive, {&x, &y, &w});
}

}  // namespace ops

using kernels::index_of, ops::pointwise, ops::pointwise_primitives;

#define REEL_DEFINE_1(name) \
  Tensor name(const Operand& x) { return pointwise(pointwise_primitives[index_of<#name>()], x); }
#define REEL_DEFINE_2(name) \
  Tensor name(const Operand& x, const Operand& y) { return pointwise(pointwise_primitives[index_of<#name>()], x, y); }
#define REEL_DEFINE_3(name)                                             \
  Tensor name(const Operand& x, const Operand& y, const Operand& w) {   \
    return pointwise(pointwise_primitives[index_of<#name>()], x, y, w); \
  }
#define REEL_DEFINE(name, arity) REEL_DEFINE_##arity(name)
REEL_POINTWISE_FUNCTIONS(REEL_DEFINE)
REEL_NORMAL_FUNCTIONS(REEL_DEFINE)

Tensor logit(const Operand& operand, double eps) {
  const tape::OpScope scope(operand);
  if (!(eps >= 0 && eps <= 0.5)) fail<ValueError>("logit", "eps is {}; it must be at least 0 and at most 0.5", eps);
  const Tensor x = ops::to_tensor("logit", operand);
  if (is_complex(x.dtype())) return logit(x);  // which refuses it
  if (ops::is_half(x.dtype())) return ops::in_float32(x, [eps](const Tensor& wide) { return logit(wide, eps); });
  return logit(clip(ops::cast_to(x, ops::floating_of(x.dtype())), eps, 1 - eps));
}

}  // namespace reel
