// Helpers that ops share: operands as tensors, promotion, axes counted from the front.
#include "ops/engine.hpp"

#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "loops/elementwise/scalar.hpp"
#include "ops/apply/operation.hpp"

namespace reel::ops {

namespace {

[[noreturn, gnu::cold]] void fail_range(const char* op, const char* operand, double value, DType d) {
  fail<ValueError>(op, "{} is {}, which {} cannot hold; cast the other operand first, or pass a tensor", operand, value,
                   d);
}

template <class T>
T to_integer(const char* op, const char* operand, const Operand& x) {
  if (x.kind() == detail::OperandKind::weak_floating) {
    // The bounds are powers of two: exact in double. NaN fails both comparisons.
    const double v = std::trunc(x.floating()), high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(v >= (std::is_signed_v<T> ? -high : 0.0) && v < high)) fail_range(op, operand, x.floating(), dtype_of<T>);
    return static_cast<T>(v);
  }
  if (!std::in_range<T>(x.integer())) fail_range(op, operand, static_cast<double>(x.integer()), dtype_of<T>);
  return static_cast<T>(x.integer());
}

// Integers are rounded once, not through double.
float single(const Operand& x) {
  return x.kind() >= detail::OperandKind::weak_floating ? static_cast<float>(x.floating())
                                                        : static_cast<float>(x.integer());
}

// The number as an element of type T.
template <class T>
T to_element(const char* op, const char* operand, const Operand& x) {
  if constexpr (std::is_same_v<T, bool>)
    return x.floating() != 0;
  else if constexpr (std::is_integral_v<T>)
    return to_integer<T>(op, operand, x);
  else if constexpr (std::is_same_v<T, double>)
    return x.floating();
  else if constexpr (std::is_same_v<T, complex128>)
    return {x.floating(), x.imaginary()};
  else if constexpr (std::is_same_v<T, complex64>)
    return {single(x), static_cast<float>(x.imaginary())};
  else
    return T(single(x));
}

}  // namespace

void require_defined(const char* op, const Tensor& x, const char* operand) {
  if (!x.defined())
    fail<ValueError>(op, "operand {} is empty (default-constructed or moved from); give it a value first", operand);
}

void require_elements(const char* op, const Tensor& x) {
  require_defined(op, x);
  const detail::Block* b = detail::block(x);
  if (!b->abstract()) return;
  detail::fail_unless_traced(op, b);
  const detail::Maker& maker = detail::maker_of(b);
  const tape::CallScope scope({maker.file, maker.line});  // bool() and data() do not know their caller's line
  fail<TraceError>(op,
                   "the tensor, {} {}, has no value while {} traces the function that computes it; choose with where, "
                   "cond or while_loop, or compute what is read before",
                   x.dtype(), x.shape(), Tracer::current()->owner());
}

void require_rank(const char* op, int rank) {
  if (rank > max_rank) fail<ShapeError>(op, "the result would have rank {}; at most {} is supported", rank, max_rank);
}

void require_shape(const char* op, const Shape& shape) {
  // This many elements of the widest dtype take 2^62 bytes.
  constexpr std::int64_t most = std::int64_t{1} << 58;
  std::int64_t elements = 1;
  bool overflow = false, none = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail<ShapeError>(op, "shape {} has a negative extent", shape);
    none = none || extent == 0;
    overflow = __builtin_mul_overflow(elements, extent, &elements) || overflow;
  }
  if (!none && (overflow || elements > most))
    fail<ShapeError>(op, "a tensor of shape {} would have more elements than memory has addresses", shape);
}

Tensor to_tensor(const char* op, const Operand& x, const char* operand) {
  using enum detail::OperandKind;
  if (x.is_tensor()) {
    require_defined(op, x.tensor(), operand);
    return x.tensor();
  }
  const DType d = x.kind() == weak_boolean   ? DType::boolean
                  : x.kind() == weak_integer ? DType::int64
                  : x.kind() == weak_complex ? DType::complex128
                                             : DType::float64;
  return to_tensor(op, x, d, operand);
}

Tensor to_tensor(const char* op, const Operand& x, DType d, const char* operand) {
  if (x.is_tensor()) {
    require_defined(op, x.tensor(), operand);
    return cast_to(x.tensor(), d);
  }
  if (x.kind() == detail::OperandKind::weak_complex && !is_complex(d)) [[unlikely]]
    fail<TypeError>(op, "{} is a complex number, which {} cannot hold; pass its real part", operand, d);
  require_dtype(op, d);
  return visit(d, [&]<class T>() { return loops::scalar(to_element<T>(op, operand, x)); });
}

// A number matters only if its category is above that of every tensor.
DType CommonDType::dtype() const {
  if (weak_ == 3 && !is_complex(dtype_))
    return is_floating(dtype_) && dtype_ != DType::float64 ? DType::complex64 : DType::complex128;
  if (weak_ == 2 && !is_differentiable(dtype_)) return DType::float64;
  if (weak_ == 1 && dtype_ == DType::boolean) return DType::int64;
  return dtype_;
}

DType common_dtype(const char* op, std::span<const Operand* const> operands) {
  CommonDType common;
  for (const Operand* x : operands) common.add(op, *x);
  return common.dtype();
}

Tensor cast_to(const Tensor& x, DType d) { return x.dtype() == d ? x : cast(x, d); }

namespace {

// The axis counted from the front; negative out of range.
int from_front(std::int64_t axis, int rank) noexcept {
  const std::int64_t a = axis < 0 ? axis + rank : axis;
  return a < 0 || a >= rank ? -1 : static_cast<int>(a);
}

[[noreturn, gnu::cold, gnu::noinline]] void fail_axis(const char* op, std::int64_t axis, const Shape& shape, int rank) {
  if (rank <= 0) fail<IndexError>(op, "axis {} is out of range: shape {} has too few axes", axis, shape);
  fail<IndexError>(op, "axis {} is out of range for shape {}: it must be from {} to {}", axis, shape, -rank, rank - 1);
}

}  // namespace

int normalize(const char* op, std::int64_t axis, const Tensor& x, int more) {
  const int rank = x.rank() + more, a = from_front(axis, rank);
  if (a < 0) fail_axis(op, axis, x.shape(), rank);
  return a;
}

int normalize(const char* op, std::int64_t axis, const Shape& shape, int more) {
  const int rank = shape.rank() + more, a = from_front(axis, rank);
  if (a < 0) fail_axis(op, axis, shape, rank);
  return a;
}

Shape normalize(const char* op, const Axes& axes, const Tensor& x) {
  const int rank = x.rank();
  bool chosen[max_rank] = {};
  if (axes.all()) std::fill_n(chosen, rank, true);
  for (std::int64_t axis : axes.list()) {
    bool& c = chosen[normalize(op, axis, x)];
    if (c) fail<ValueError>(op, "axis {} is named twice in {}, for shape {}", axis, axes.list(), x.shape());
    c = true;
  }
  Shape result;
  for (int i = 0; i < rank; ++i)
    if (chosen[i]) result.push_back(i);
  return result;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  const int lead = longer.rank() - shorter.rank();
  for (int i = 0; i < shorter.rank(); ++i) {
    std::int64_t& e = result.begin()[lead + i];
    const std::int64_t other = shorter.begin()[i];
    if (e == other || other == 1) continue;
    if (e != 1)
      fail<ShapeError>(op,
                       "shapes {} and {} do not broadcast: extents {} and {} meet; they must be equal or one of them 1",
                       a, b, a.begin()[i + a.rank() - shorter.rank()], b.begin()[i + b.rank() - shorter.rank()]);
    e = other;
  }
  return result;
}

void rethrow_named(const char* op) {
  // The text alone, without the line of the inner op's caller.
  const auto text = [](const Error& e) { return std::string(e.std::runtime_error::what()); };
  try {
    throw;
  } catch (const ValueError& e) {
    fail<ValueError>(op, "{}", text(e));
  } catch (const ShapeError& e) {
    fail<ShapeError>(op, "{}", text(e));
  } catch (const TypeError& e) {
    fail<TypeError>(op, "{}", text(e));
  } catch (const IndexError& e) {
    fail<IndexError>(op, "{}", text(e));
  } catch (const TraceError& e) {
    fail<TraceError>(op, "{}", text(e));
  }
}

}  // namespace reel::ops
