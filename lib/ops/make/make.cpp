// Tensors made of values and by rule. Nothing here is recorded; sizes are checked before memory is taken.
#include <cmath>
#include <cstring>
#include <memory>
#include <reel/ops/make.hpp>

#include "kernels/kernels.hpp"
#include "loops/loops.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace {

constexpr std::int64_t piece = 32768;  // elements that one thread writes at a time

// Every element of `to`, which is contiguous, becomes that of `value`, a tensor of one element and the same dtype.
void fill(const Tensor& to, const Tensor& value) {
  const std::size_t bytes = item_size(detail::block(to)->dtype);
  const std::byte* from = detail::block(value)->data;
  std::byte* data = detail::block(to)->data;
  loops::parallel_for(detail::block(to)->size, piece, [&](std::int64_t begin, std::int64_t end) {
    kernels::fill(from, data + begin * static_cast<std::int64_t>(bytes), 1, end - begin, bytes);
  });
}

Tensor filled(const char* op, const Shape& shape, const Operand& value, DType dtype) {
  const tape::OpScope scope(value);
  ops::require_dtype(op, dtype);
  ops::require_shape(op, shape);
  const Tensor one = ops::to_tensor(op, value, dtype, "value");
  if (one.size() != 1) fail<ShapeError>(op, "value has shape {}; it must be a number or have one element", one.shape());
  Tensor y = detail::empty(dtype, shape);
  fill(y, one);
  if (tape::active()) {
    const Tensor* in[] = {&one};
    tape::note_cut(op, in, y, tape::Cut::stopped);
  }
  return y;
}

template <class T, class F>
Tensor generate(std::int64_t count, DType dtype, const F& value) {
  Tensor y = detail::empty(dtype_of<T>, {count});
  T* data = detail::mutable_data<T>(y);
  loops::parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) data[i] = value(i);
  });
  return ops::cast_to(y, dtype);
}

}  // namespace

detail::Owner::~Owner() = default;

void detail::fail_ragged() {
  fail<ShapeError>("tensor", "the nested list is ragged: sublists of one level must have equal lengths and depths");
}

namespace {
template <class N>
[[noreturn]] void refuse_literal(const char* op, N value, DType dtype) {
  fail<ValueError>(op, "{} is not a value of {}; choose a dtype that holds it, or convert it first", value, dtype);
}
}  // namespace
void detail::fail_literal(const char* op, double value, DType dtype) { refuse_literal(op, value, dtype); }
void detail::fail_literal(const char* op, std::int64_t value, DType dtype) { refuse_literal(op, value, dtype); }
void detail::fail_literal(const char* op, std::uint64_t value, DType dtype) { refuse_literal(op, value, dtype); }

Tensor detail::copy_in(const void* values, std::size_t count, const Shape& shape, DType dtype) {
  ops::require_shape("from_data", shape);
  const std::int64_t wanted = shape.elements();
  if (static_cast<std::uint64_t>(wanted) != count)
    fail<ShapeError>("from_data", "{} values do not fill shape {}, which has {} elements", count, shape, wanted);
  Tensor y = empty(dtype, shape);
  if (count) std::memcpy(block(y)->data, values, count * item_size(dtype));
  return y;
}

Tensor detail::borrow(const void* data, const Shape& shape, DType dtype, Owner* owner) {
  std::unique_ptr<Owner> guard(owner);
  ops::require_shape("borrow", shape);
  if (!data && shape.elements() != 0)
    fail<ValueError>("borrow", "the pointer is null but shape {} has elements", shape);
  const std::size_t alignment = item_size(dtype) / (is_complex(dtype) ? 2 : 1);
  if (const auto address = reinterpret_cast<std::uintptr_t>(data); address % alignment != 0 && shape.elements() != 0)
    fail<ValueError>(
        "borrow", "the memory of {} {} begins at an address that is not a multiple of {} bytes; copy it with from_data",
        dtype, shape, alignment);
  Tensor y = TensorAccess::adopt(new_borrowed(data, dtype, shape, owner));
  guard.release();
  return y;
}

Tensor detail::uninitialized(const Shape& shape, DType dtype, void*& data) {
  Tensor y = empty(dtype, shape);
  data = block(y)->data;
  return y;
}

Tensor zeros(const Shape& shape, DType dtype) {
  ops::require_dtype("zeros", dtype);
  ops::require_shape("zeros", shape);
  Tensor y = detail::empty(dtype, shape);
  const auto bytes = static_cast<std::int64_t>(item_size(dtype));
  std::byte* data = detail::block(y)->data;
  loops::parallel_for(y.size(), piece, [&](std::int64_t begin, std::int64_t end) {
    std::memset(data + begin * bytes, 0, static_cast<std::size_t>((end - begin) * bytes));
  });
  return y;
}

Tensor ones(const Shape& shape, DType dtype) { return filled("ones", shape, 1, dtype); }

Tensor full(const Shape& shape, const Operand& value) {
  const Operand* list[] = {&value};
  return filled("full", shape, value, ops::common_dtype("full", list));
}
Tensor full(const Shape& shape, const Operand& value, DType dtype) { return filled("full", shape, value, dtype); }

Tensor eye(std::int64_t n, DType dtype) { return eye(n, n, dtype); }

Tensor eye(std::int64_t n, std::int64_t m, DType dtype) {
  if (n < 0 || m < 0) fail<ShapeError>("eye", "n is {} and m is {}; both must be at least 0", n, m);
  ops::require_dtype("eye", dtype);
  ops::require_shape("eye", {n, m});
  Tensor y = zeros({n, m}, dtype);
  const Tensor one = ops::to_tensor("eye", 1, dtype, "value");
  kernels::fill(detail::block(one)->data, detail::block(y)->data, m + 1, std::min(n, m), item_size(dtype));
  return y;
}

Tensor zeros_like(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("zeros_like", x);
  return zeros(like.shape(), like.dtype());
}
Tensor ones_like(const Operand& x) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("ones_like", x);
  return ones(like.shape(), like.dtype());
}
Tensor full_like(const Operand& x, const Operand& value) {
  const tape::OpScope scope(x);
  const Tensor like = ops::to_tensor("full_like", x);
  return filled("full_like", like.shape(), value, like.dtype());
}

Tensor detail::arange(double start, double stop, double step, DType dtype) {
  if (!(std::isfinite(start) && std::isfinite(stop) && std::isfinite(step)) || step == 0)
    fail<ValueError>("arange", "start {}, stop {} and step {} must be finite, and step not 0", start, stop, step);
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 0x1p62)
    fail<ShapeError>("arange", "from {} to {} by {} there are more elements than 2^62", start, stop, step);
  return generate<double>(static_cast<std::int64_t>(count), dtype,
                          [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

Tensor detail::arange_integer(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
  if (step == 0) fail<ValueError>("arange", "step must not be 0");
  // In unsigned arithmetic, where the distance between any two bounds fits.
  const auto u = [](std::int64_t v) { return static_cast<std::uint64_t>(v); };
  std::uint64_t count = 0;
  if (step > 0 && stop > start) count = (u(stop) - u(start) - 1) / u(step) + 1;
  if (step < 0 && stop < start) count = (u(start) - u(stop) - 1) / (0 - u(step)) + 1;
  if (count > u(1) << 62)
    fail<ShapeError>("arange", "from {} to {} by {} there are more elements than 2^62", start, stop, step);
  return generate<std::int64_t>(static_cast<std::int64_t>(count), dtype,
                                [=](std::int64_t i) { return static_cast<std::int64_t>(u(start) + u(i) * u(step)); });
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype) {
  if (count < 0) fail<ValueError>("linspace", "count is {}; it must be at least 0", count);
  ops::require_dtype("linspace", dtype);
  ops::require_shape("linspace", {count});
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  return generate<double>(count, dtype, [=](std::int64_t i) {
    return i > 0 && i == count - 1 ? stop : start + static_cast<double>(i) * step;
  });
}

}  // namespace reel
