// Helpers that all families of ops share: operands as tensors, promotion, axes. Nothing here is recorded unless it says
// so.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <reel/tensor.hpp>

#include "core/fail.hpp"
#include "tape/record.hpp"

namespace reel::ops {

/// The operand as a tensor. A weak scalar becomes a tensor of rank 0, of dtype `weak` if it is floating. ValueError
/// naming op and operand when the handle is empty.
Tensor to_tensor(const char* op, const Operand& x, const char* operand = "x");
/// The same; a weak scalar becomes a tensor of dtype `d`. ValueError if its value does not fit an integer `d`.
Tensor to_tensor(const char* op, const Operand& x, DType d, const char* operand);
/// ShapeError naming the op for an invalid shape: a negative extent, or more elements than addresses.
void require_shape(const char* op, const Shape& shape);
/// ShapeError if the result's rank would exceed max_rank.
void require_rank(const char* op, int rank);
/// TypeError for a value outside the enumeration.
inline void require_dtype(const char* op, DType d) {
  if (d > DType::complex128) [[unlikely]]
    detail::fail_dtype(op, d);
}
/// ValueError when the handle is empty.
void require_defined(const char* op, const Tensor& x, const char* operand = "x");
/// The same, and TraceError when x has no elements because a function is being traced.
void require_elements(const char* op, const Tensor& x);

// As to_tensor and cast_to, without a further handle to an operand that exists already, which would cost two atomic
// instructions. `scratch` holds a tensor that had to be made.
/// The operand itself, or a tensor made of a number.
inline const Tensor& as_tensor(const char* op, const Operand& x, Tensor& scratch, const char* operand = "x") {
  if (!x.is_tensor()) return scratch = to_tensor(op, x, operand);
  require_defined(op, x.tensor(), operand);
  return x.tensor();
}
/// The operand in dtype d.
inline const Tensor& as_tensor(const char* op, const Operand& x, DType d, Tensor& scratch, const char* operand) {
  if (x.is_tensor() && x.tensor().defined() && detail::block(x.tensor())->dtype == d) return x.tensor();
  return scratch = to_tensor(op, x, d, operand);
}

/// Finds the common dtype of operands that are added one by one; weak scalars give way within their category.
class CommonDType {
 public:
  /// ValueError when the handle is empty.
  void add(const char* op, const Tensor& x) {
    require_defined(op, x);
    const DType own = detail::block(x)->dtype;
    dtype_ = any_tensor_ && own != dtype_ ? promote(dtype_, own) : own;
    any_tensor_ = true;
  }
  void add(const char* op, const Operand& x) {
    if (!x.is_weak())
      add(op, x.tensor());
    else
      weak_ = std::max(weak_, static_cast<int>(x.kind()) - static_cast<int>(detail::OperandKind::weak_boolean));
  }
  DType dtype() const;

 private:
  bool any_tensor_ = false;
  DType dtype_ = DType::boolean;  // common dtype of the tensors
  int weak_ = 0;                  // highest category of a number: 0 boolean, 1 integer, 2 floating, 3 complex
};
/// The dtype in which the operands are combined.
DType common_dtype(const char* op, std::span<const Operand* const> operands);
/// x as a tensor of dtype d, of any layout: x itself, or reel::cast(x, d), recorded.
Tensor cast_to(const Tensor& x, DType d);
inline Tensor cast_to(Tensor&& x, DType d) {
  return detail::block(x)->dtype == d ? std::move(x) : cast_to(static_cast<const Tensor&>(x), d);
}
/// x itself, or cast.
inline const Tensor& in_dtype(const Tensor& x, DType d, Tensor& scratch) {
  return detail::block(x)->dtype == d ? x : scratch = cast_to(x, d);
}
/// The dtype in which unary floating functions compute: d itself if floating or complex, float64 for integers and
/// booleans.
constexpr DType floating_of(DType d) noexcept { return is_differentiable(d) ? d : DType::float64; }

/// The remedy in the TypeError of an op that does not support d.
constexpr const char* remedy(DType d) noexcept {
  return is_complex(d) ? "take real(x), imag(x) or abs(x) first" : "cast the operand first";
}
constexpr bool is_half(DType d) noexcept { return d == DType::float16 || d == DType::bfloat16; }
/// The dtype in which functions of several steps compute: float32 for a half precision, rounded once at the end.
constexpr DType widened(DType d) noexcept { return is_half(d) ? DType::float32 : d; }
inline Tensor widened(const Tensor& x) { return cast_to(x, widened(x.dtype())); }
/// f(x) for a half precision: computed in float32, with f's own rule, and rounded once at the end. Recorded.
template <class F>
Tensor in_float32(const Tensor& x, const F& f) {
  return cast(f(cast(x, DType::float32)), x.dtype());
}

/// `axis` counted from the front, among the axes of x and `more`. IndexError out of range.
int normalize(const char* op, std::int64_t axis, const Tensor& x, int more = 0);
int normalize(const char* op, std::int64_t axis, const Shape& shape, int more = 0);
/// The axes of x counted from the front, ascending. IndexError out of range, ValueError when one is named twice.
Shape normalize(const char* op, const Axes& axes, const Tensor& x);
/// The shape that both broadcast to. ShapeError naming both.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);
/// Sums x down to `shape`, which broadcasts to x's shape. Recorded; the transpose of broadcast_to.
Tensor sum_to(const Tensor& x, const Shape& shape);
/// The axes that sum_to() sums, counted from the front, ascending.
Shape summed_axes(const Shape& from, const Shape& to);
/// `shape`, which broadcasts to `full`, with the rank that a cotangent needs: behind the leading axis of cotangents, if
/// there is one, extents of 1 take the place of axes that broadcasting would add.
Shape batched_target(const tape::Record& r, const Shape& shape, int full_rank);
/// The same for a value made of cotangents: behind their leading axis, if there is one.
Tensor batched_sum_to(const tape::Record& r, const Tensor& x, const Shape& shape);
inline Tensor sum_to(const tape::Record& r, const Tensor& x, const Shape& shape) {
  return r.batch_rank() ? batched_sum_to(r, x, shape) : sum_to(x, shape);
}
inline Tensor sum_to(const tape::Record& r, Tensor&& x, const Shape& shape) {
  if (!r.batch_rank() && x.shape() == shape) return std::move(x);
  return sum_to(r, x, shape);
}

/// Rethrows the current exception with `op` in front of its text.
[[noreturn]] void rethrow_named(const char* op);
/// Returns f(). Errors of the ops that it calls name this op too.
template <class F>
auto named(const char* op, const F& f) {
  try {
    return f();
  } catch (const Error&) {
    rethrow_named(op);
  }
}

/// The rule, whose vjp supports the leading axis of cotangents.
constexpr tape::Rule batched(tape::Rule rule) {
  rule.batched = true;
  return rule;
}

/// A rule for a linear op of one input: the vjp is the transpose, the jvp the op itself; nothing is saved.
/// transpose(record, g) and forward(record, t) each return one tensor; transpose supports the leading axis of g.
template <Tensor (*Transpose)(const tape::Record&, const Tensor&),
          Tensor (*Forward)(const tape::Record&, const Tensor&)>
constexpr tape::Rule linear(const char* name) {
  return batched(
      {name,
       [](const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) { dx[0] = Transpose(r, g[0]); },
       [](const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) { dy[0] = Forward(r, t[0]); }});
}

}  // namespace reel::ops
