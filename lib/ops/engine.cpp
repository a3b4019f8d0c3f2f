// What the families of ops share: operands made tensors, promotion, axes.
#include "ops/engine.hpp"

#include <reel/ops/make.hpp>

namespace reel::ops {

namespace {

using detail::OperandKind;

int category(DType d) noexcept { return is_complex(d) ? 3 : is_floating(d) ? 2 : is_integer(d) ? 1 : 0; }
int category(OperandKind k) noexcept {
  return k == OperandKind::weak_floating ? 2 : k == OperandKind::weak_integer ? 1 : 0;
}
DType default_of(OperandKind k) noexcept {
  return k == OperandKind::weak_floating ? DType::float64 : k == OperandKind::weak_integer ? DType::int64 : DType::boolean;
}

bool fits(std::int64_t value, DType d) noexcept {
  switch (d) {
    case DType::boolean: return value == 0 || value == 1;
    case DType::uint8: return std::in_range<std::uint8_t>(value);
    case DType::int32: return std::in_range<std::int32_t>(value);
    default: return true;
  }
}

}  // namespace

void require_defined(const char* op, const Tensor& x, const char* operand) {
  if (!x.defined()) fail<ValueError>(op, "operand {} is empty (default-constructed or moved from)", operand);
}

Tensor to_tensor(const char* op, const Operand& x, const char* operand) {
  if (!x.is_tensor()) return to_tensor(op, x, default_of(x.kind()), operand);
  require_defined(op, x.tensor(), operand);
  return x.tensor();
}

Tensor to_tensor(const char* op, const Operand& x, DType d, const char* operand) {
  if (x.is_tensor()) {
    require_defined(op, x.tensor(), operand);
    return cast_to(x.tensor(), d);
  }
  if (!is_differentiable(d) && (x.kind() == OperandKind::weak_floating || !fits(x.integer(), d))) {
    if (x.kind() == OperandKind::weak_floating) fail<ValueError>(op, "operand {}, {}, does not fit {}", operand, x.floating(), d);
    fail<ValueError>(op, "operand {}, {}, does not fit {}", operand, x.integer(), d);
  }
  Tensor t = detail::empty(d, {});
  std::byte* data = detail::block(t)->data;
  const auto put = [&](auto value) { *reinterpret_cast<decltype(value)*>(data) = value; };
  switch (d) {
    case DType::boolean: put(x.integer() != 0); break;
    case DType::uint8: put(static_cast<std::uint8_t>(x.integer())); break;
    case DType::int32: put(static_cast<std::int32_t>(x.integer())); break;
    case DType::int64: put(x.integer()); break;
    case DType::float16: put(float16(static_cast<float>(x.floating()))); break;
    case DType::bfloat16: put(bfloat16(static_cast<float>(x.floating()))); break;
    case DType::float32: put(static_cast<float>(x.floating())); break;
    case DType::float64: put(x.floating()); break;
    case DType::complex64: put(complex64(static_cast<float>(x.floating()))); break;
    case DType::complex128: put(complex128(x.floating())); break;
  }
  return t;
}

DType common_dtype(const char* op, std::span<const Operand* const> operands) {
  bool any = false;
  DType d = DType::boolean;
  for (const Operand* x : operands) {
    if (!x->is_tensor()) continue;
    require_defined(op, x->tensor());
    d = any ? promote(d, x->tensor().dtype()) : x->tensor().dtype();
    any = true;
  }
  // A weak scalar decides only where its category is above that of every tensor.
  for (const Operand* x : operands)
    if (!x->is_tensor() && (!any || category(x->kind()) > category(d))) {
      d = any ? promote(d, default_of(x->kind())) : default_of(x->kind());
      any = true;
    }
  return d;
}

Tensor cast_to(const Tensor& x, DType d) { return x.dtype() == d ? x : cast(x, d); }

int normalize(const char* op, std::int64_t axis, int rank) {
  const std::int64_t i = axis < 0 ? axis + rank : axis;
  if (i < 0 || i >= rank) fail<IndexError>(op, "axis {} is out of range for rank {}", axis, rank);
  return static_cast<int>(i);
}

Shape normalize(const char* op, const Axes& axes, int rank) {
  bool named[max_rank] = {};
  Shape result;
  for (std::int64_t a : axes.list()) {
    const int i = normalize(op, a, rank);
    if (named[i]) fail<ValueError>(op, "axis {} is named twice", a);
    named[i] = true;
  }
  for (int i = 0; i < rank; ++i)
    if (axes.all() || named[i]) result.push_back(i);
  return result;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int skip = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    std::int64_t& e = result.begin()[skip + i];
    const std::int64_t s = shorter.data()[i];
    if (e == s || s == 1) continue;
    if (e != 1)
      fail<ShapeError>(op, "shapes {} and {} do not broadcast: extents {} and {} meet; they must be equal or one of them 1", a, b,
                       e, s);
    e = s;
  }
  return result;
}

}  // namespace reel::ops
