// Comparisons, predicates and logic: boolean results, never recorded; a tape only notes why the gradient ends there.
#include <reel/ops/reduce.hpp>

#include "kernels/kernels.hpp"
#include "loops/loops.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace {

using kernels::Comparison, kernels::Logical, kernels::Predicate;

Tensor finish(const char* op, kernels::Loop loop, std::span<const Tensor* const> x, const Shape& shape) {
  Tensor z = detail::empty(DType::boolean, shape);
  if (z.size()) loops::pointwise(loop, shape, x, z);
  if (tape::active()) tape::note_cut(op, x, z, tape::Cut::integer);
  return z;
}

Tensor binary(const char* op, const Operand& x, const Operand& y, DType d, kernels::Loop loop) {
  const auto as = [&](const Operand& o, const char* which) {
    return o.is_tensor() ? ops::cast_to(ops::to_tensor(op, o, which), d) : ops::to_tensor(op, o, d, which);
  };
  const Tensor a = as(x, "x"), b = as(y, "y");
  const Tensor* both[] = {&a, &b};
  return finish(op, loop, both, ops::broadcast_shapes(op, a.shape(), b.shape()));
}

Tensor compare(const char* op, Comparison c, const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  for (const Operand* o : {&x, &y})
    if (o->is_tensor()) ops::require_defined(op, o->tensor(), o == &x ? "x" : "y");
  const Operand* both[] = {&x, &y};
  DType d = ops::common_dtype(op, both);
  if (ops::is_half(d)) d = DType::float32;                                                       // exact
  if (!is_differentiable(d) && !(x.is_tensor() && y.is_tensor())) d = promote(d, DType::int64);  // any number fits
  const kernels::Loop loop = kernels::active().comparison(c, static_cast<kernels::Type>(d));
  if (!loop) fail<TypeError>(op, "{} has no order; compare real(x), or abs(x)", d);
  return binary(op, x, y, d, loop);
}

Tensor logical(const char* op, Logical l, const Operand& x, const Operand& y) {
  const tape::OpScope scope(x);
  return binary(op, x, y, DType::boolean, kernels::active().logic(l));
}

Tensor predicate(const char* op, Predicate p, const Operand& x) {
  const tape::OpScope scope(x);
  Tensor a = ops::to_tensor(op, x);
  if (ops::is_half(a.dtype())) a = ops::cast_to(a, DType::float32);
  if (!is_differentiable(a.dtype())) a = ops::cast_to(a, DType::float64);  // integers are finite
  const kernels::Loop loop = kernels::active().test(p, static_cast<kernels::Type>(a.dtype()));
  if (!loop) fail<TypeError>(op, "is not defined for {}", a.dtype());
  const Tensor* in[] = {&a};
  return finish(op, loop, in, a.shape());
}

}  // namespace

// clang-format off
Tensor equal(const Operand& x, const Operand& y)         { return compare("equal", Comparison::equal, x, y); }
Tensor not_equal(const Operand& x, const Operand& y)     { return compare("not_equal", Comparison::not_equal, x, y); }
Tensor less(const Operand& x, const Operand& y)          { return compare("less", Comparison::less, x, y); }
Tensor less_equal(const Operand& x, const Operand& y)    { return compare("less_equal", Comparison::less_equal, x, y); }
Tensor greater(const Operand& x, const Operand& y)       { return compare("greater", Comparison::greater, x, y); }
Tensor greater_equal(const Operand& x, const Operand& y) { return compare("greater_equal", Comparison::greater_equal, x, y); }
Tensor logical_and(const Operand& x, const Operand& y)   { return logical("logical_and", Logical::conjunction, x, y); }
Tensor logical_or(const Operand& x, const Operand& y)    { return logical("logical_or", Logical::disjunction, x, y); }
Tensor logical_xor(const Operand& x, const Operand& y)   { return logical("logical_xor", Logical::exclusive, x, y); }
Tensor isnan(const Operand& x)    { return predicate("isnan", Predicate::isnan, x); }
Tensor isinf(const Operand& x)    { return predicate("isinf", Predicate::isinf, x); }
Tensor isfinite(const Operand& x) { return predicate("isfinite", Predicate::isfinite, x); }
// clang-format on

Tensor logical_not(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor a = ops::cast_to(ops::to_tensor("logical_not", x), DType::boolean);
  const Tensor* in[] = {&a};
  return finish("logical_not", kernels::active().logic(Logical::negation), in, a.shape());
}

bool array_equal(const Operand& x, const Operand& y) {
  const tape::Suspend suspend;
  const Tensor a = ops::to_tensor("array_equal", x, "x"), b = ops::to_tensor("array_equal", y, "y");
  return a.shape() == b.shape() && bool(all(equal(a, b)));
}

}  // namespace reel
