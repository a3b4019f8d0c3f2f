// Comparisons, tests of floating-point numbers and logic: boolean results, which carry no gradient.
#include "ops/compare.hpp"

#include <reel/ops/pointwise.hpp>
#include <reel/ops/reduce.hpp>
#include <reel/ops/shape.hpp>

#include "csource/text.hpp"
#include "loops/elementwise/compare.hpp"
#include "ops/apply/apply.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

using loops::Comparison, loops::Logical, loops::Predicate;

constexpr const char* name_of(Comparison f) {
  constexpr const char* names[] = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"};
  return names[static_cast<std::size_t>(f)];
}
constexpr const char* name_of(Logical f) {
  constexpr const char* names[] = {"logical_and", "logical_or", "logical_xor", "logical_not"};
  return names[static_cast<std::size_t>(f)];
}
constexpr const char* name_of(Predicate f) {
  constexpr const char* names[] = {"isnan", "isinf", "isfinite"};
  return names[static_cast<std::size_t>(f)];
}

void infer_boolean(const char* name, const Call& call, Metas& out) {
  const Shape shape = call.input(0).shape();
  if (call.inputs.size() == 1) return out.add(DType::boolean, shape);
  out.add(DType::boolean, broadcast_shapes(name, shape, call.input(1).shape()));
}
std::string write_as(Comparison f, std::span<const std::string> x) {
  return csource::comparison(static_cast<std::size_t>(f), x[0], x[1]);
}
std::string write_as(Logical f, std::span<const std::string> x) {
  if (f == Logical::negation) return csource::cat({"!", x[0]});
  return csource::connection(static_cast<std::size_t>(f), x[0], x[1]);
}
std::string write_as(Predicate f, std::span<const std::string> x) {
  return csource::cat({name_of(f), "(", x[0], ") != 0"});
}
// F is a Comparison, Logical or Predicate, with one operand or two.
template <auto F>
constexpr Primitive boolean_primitive = {
    .rule = {name_of(F), nullptr, nullptr},
    .infer = [](const Call& call, Metas& out) { infer_boolean(name_of(F), call, out); },
    .evaluate = [](const Call& call, Outputs& out) { loops::pointwise(F, call.inputs, out[0]); },
    .write_c = WriteC::Expression(
        [](const Call&, csource::Writer&, std::span<const std::string> x) { return write_as(F, x); })};

Tensor binary(const Primitive& primitive, const Operand& x, const Operand& y, DType d) {
  Tensor scratch[2];
  const Tensor &a = as_tensor(primitive.rule.name, x, d, scratch[0], "x"),
               &b = as_tensor(primitive.rule.name, y, d, scratch[1], "y");
  return apply(primitive, {&a, &b});
}

Tensor compare(const Primitive& primitive, Comparison f, const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  const char* op = primitive.rule.name;
  for (const Operand* o : {&x, &y})
    if (o->is_tensor()) require_defined(op, o->tensor(), o == &x ? "x" : "y");
  const Operand* both[] = {&x, &y};
  DType d = common_dtype(op, both);
  if (is_half(d)) d = DType::float32;  // exact
  if (!is_differentiable(d) && (x.is_weak() || y.is_weak()))
    d = promote(d, DType::int64);  // the number may not fit a narrow integer dtype
  if (!loops::has_kernel(f, d)) fail<TypeError>(op, "{} has no order; compare real(x), or abs(x)", d);
  return binary(primitive, x, y, d);
}

Tensor logical(const Primitive& primitive, const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  return binary(primitive, x, y, DType::boolean);
}

Tensor classify(const Primitive& primitive, Predicate f, const Operand& x) {
  const tape::OpScope scope(x);
  const char* op = primitive.rule.name;
  Tensor a = to_tensor(op, x);
  if (is_half(a.dtype())) a = cast_to(a, DType::float32);
  if (!is_differentiable(a.dtype())) a = cast_to(a, DType::float64);  // integers are always finite
  if (!loops::has_kernel(f, a.dtype())) fail<TypeError>(op, "is not defined for {}", a.dtype());
  return apply(primitive, {&a});
}

// The public functions.
template <Comparison F>
Tensor compare(const Operand& x, const Operand& y) {
  return compare(boolean_primitive<F>, F, x, y);
}
template <Logical F>
Tensor logical(const Operand& x, const Operand& y) {
  return logical(boolean_primitive<F>, x, y);
}
template <Predicate F>
Tensor classify(const Operand& x) {
  return classify(boolean_primitive<F>, F, x);
}

// As gives_booleans, of these functions.
template <auto... F>
bool is_among(const Primitive& primitive, loops::Opcode opcode, loops::Node& node) noexcept {
  const auto is = [&](const Primitive& own, auto f) {
    if (&primitive != &own) return false;
    node.opcode = opcode;
    node.function = static_cast<std::uint16_t>(f);
    return true;
  };
  return (is(boolean_primitive<F>, F) || ...);
}

}  // namespace

bool gives_booleans(const Primitive& p, loops::Node& node) noexcept {
  using enum Comparison;
  using enum Logical;
  using enum Predicate;
  using loops::Opcode;
  return is_among<equal, not_equal, less, less_equal, greater, greater_equal>(p, Opcode::comparison, node) ||
         is_among<conjunction, disjunction, exclusive, negation>(p, Opcode::logical, node) ||
         is_among<isnan, isinf, isfinite>(p, Opcode::predicate, node);
}

}  // namespace ops

using ops::Logical, ops::Predicate, ops::Comparison;

// clang-format off
Tensor equal(const Operand& x, const Operand& y)         { return ops::compare<Comparison::equal>(x, y); }
Tensor not_equal(const Operand& x, const Operand& y)     { return ops::compare<Comparison::not_equal>(x, y); }
Tensor less(const Operand& x, const Operand& y)          { return ops::compare<Comparison::less>(x, y); }
Tensor less_equal(const Operand& x, const Operand& y)    { return ops::compare<Comparison::less_equal>(x, y); }
Tensor greater(const Operand& x, const Operand& y)       { return ops::compare<Comparison::greater>(x, y); }
Tensor greater_equal(const Operand& x, const Operand& y) { return ops::compare<Comparison::greater_equal>(x, y); }
Tensor logical_and(const Operand& x, const Operand& y)   { return ops::logical<Logical::conjunction>(x, y); }
Tensor logical_or(const Operand& x, const Operand& y)    { return ops::logical<Logical::disjunction>(x, y); }
Tensor logical_xor(const Operand& x, const Operand& y)   { return ops::logical<Logical::exclusive>(x, y); }
Tensor isnan(const Operand& x)    { return ops::classify<Predicate::isnan>(x); }
Tensor isinf(const Operand& x)    { return ops::classify<Predicate::isinf>(x); }
Tensor isfinite(const Operand& x) { return ops::classify<Predicate::isfinite>(x); }
// clang-format on

Tensor logical_not(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor a = ops::cast_to(ops::to_tensor("logical_not", x), DType::boolean);
  return ops::apply(ops::boolean_primitive<Logical::negation>, {&a});
}

bool array_equal(const Operand& x, const Operand& y) {
  const tape::Suspend suspend;
  const Tensor a = ops::to_tensor("array_equal", x, "x"), b = ops::to_tensor("array_equal", y, "y");
  return a.shape() == b.shape() && ops::named("array_equal", [&] { return bool(all(equal(a, b))); });
}

[[gnu::cold]] bool allclose(const Operand& x, const Operand& y, const AllcloseOptions& options) {
  constexpr const char* op = "allclose";
  if (!(options.rtol >= 0 && options.atol >= 0))
    fail<ValueError>(op, "rtol is {} and atol {}; they must be at least 0", options.rtol, options.atol);
  const tape::Suspend suspend;
  Tensor a = ops::to_tensor(op, x, "x"), b = ops::to_tensor(op, y, "y");
  const DType wide = is_complex(a.dtype()) || is_complex(b.dtype()) ? DType::complex128 : DType::float64;
  a = cast(a, wide), b = cast(b, wide);
  return ops::named(op, [&] {
    const Tensor near = less_equal(abs(a - b), options.atol + options.rtol * abs(b));
    Tensor close = logical_or(logical_and(near, isfinite(b)), equal(a, b));
    if (options.equal_nan) close = logical_or(close, logical_and(isnan(a), isnan(b)));
    return bool(all(close));
  });
}

}  // namespace reel
