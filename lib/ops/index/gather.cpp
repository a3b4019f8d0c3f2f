// Elements chosen by index tensors: gather, take_along_axis, scatter_add, one_hot, IndexedSlices. Indices are checked
// before anything is computed; sums at equal indices run in the order of the indices, so that they do not depend on
// threads.
#include <cstring>
#include <reel/gradient.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "kernels/kernels.hpp"
#include "loops/nest.hpp"
#include "ops/index/indices.hpp"

namespace reel {

namespace ops {

namespace {

// x and y add as numbers of these types; integers wrap, a complex number is two floats.
struct Truth {
  std::uint8_t value;
};
template <class T>
void add_to(T& sum, T x) {
  sum = static_cast<T>(sum + x);
}
void add_to(Truth& sum, Truth x) { sum.value = sum.value | x.value; }
template <class T>
void add_to(complex<T>& sum, complex<T> x) {
  sum = {sum.re + x.re, sum.im + x.im};
}

template <class F>
void with_sum(DType d, const F& f) {
  switch (d) {
    case DType::boolean:
      return f(Truth{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int32:
      return f(std::uint32_t{});
    case DType::int64:
      return f(std::uint64_t{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(complex64{});
    case DType::complex128:
      return f(complex128{});
    default:
      break;  // 16-bit floats add up in float32
  }
}

// The extents before, at and behind an axis.
struct Folds {
  std::int64_t before = 1, at = 1, behind = 1;
  Folds(const Shape& shape, int first, int last) {
    for (int d = 0; d < shape.rank(); ++d) (d < first ? before : d < last ? at : behind) *= shape.begin()[d];
  }
};

// to[b, indices[k], i] += from[b, k, i] for all k in order; `to` is [before, extent, behind] and contiguous.
void add_rows(const Tensor& to, const Tensor& given, const Tensor& indices, std::int64_t before, std::int64_t behind) {
  const Tensor from = loops::contiguous(given);
  const std::int64_t count = indices.size(), extent = before && behind ? to.size() / before / behind : 0;
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  with_sum(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* sums = detail::mutable_data<T>(to);
    const T* terms = detail::mutable_data<T>(from);
    const auto add = [=](std::int64_t b, std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = 0; k < count; ++k) {
        T* row = sums + (b * extent + index[k]) * behind;
        const T* term = terms + (b * count + k) * behind;
        for (std::int64_t i = begin; i < end; ++i) add_to(row[i], term[i]);
      }
    };
    if (from.size() < loops::parallel_threshold) {
      for (std::int64_t b = 0; b < before; ++b) add(b, 0, behind);
    } else if (before > 1) {
      loops::parallel_for(before, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) add(b, 0, behind);
      });
    } else {
      loops::parallel_for(behind, 64, [&](std::int64_t begin, std::int64_t end) { add(0, begin, end); });
    }
  });
}

// A contiguous copy of x to add to; 16-bit floats as float32.
Tensor sums_of(const Tensor& x) {
  if (is_half(x.dtype())) return cast(x, DType::float32);
  Tensor y = detail::empty(x.dtype(), x.shape());
  loops::copy(x, y);
  return y;
}

// ---- gather and its transpose; attributes: axis; saved: the indices

Tensor gather_checked(const Tensor& x, const Tensor& indices, int axis);

void gather_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (!r.wanted(0)) return;
  const Tensor indices = r.saved(0);
  const Shape shape = r.led(r.shape(0));
  const auto axis = static_cast<int>(r.attributes()[0]) + r.lead();
  if (axis != 0) {
    dx[0] = scatter_rows(g[0], indices, shape, axis);
    return;
  }
  Shape rows = shape;
  rows[0] = indices.size();
  dx[0] = IndexedSlices{reshape(g[0], rows), reshape(indices, {indices.size()}), shape};
}
void gather_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = gather_checked(t[0], r.saved(0), static_cast<int>(r.attributes()[0]));
}
// Rows of rows: the slices of the result name rows of the indices, and these name rows of x.
Gradient gather_slices(const tape::Record& r, const IndexedSlices& g) {
  const Tensor indices = r.saved(0);
  if (r.attributes()[0] != 0 || indices.rank() == 0) return {};
  const Shape shape = r.shape(0);
  const Tensor rows = gather_checked(indices, checked_indices("IndexedSlices", g.indices, 0, indices.shape()[0]), 0);
  Shape values = shape;
  values[0] = rows.size();
  return IndexedSlices{reshape(g.values, values), reshape(rows, {rows.size()}), shape};
}
constexpr tape::Rule gather_rule = [] {
  tape::Rule rule = batched({"gather", gather_vjp, gather_jvp});
  rule.slices = gather_slices;
  return rule;
}();

void scatter_rows_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0))
    dx[0] =
        reshape(gather_checked(g[0], r.saved(0), static_cast<int>(r.attributes()[0]) + r.lead()), r.led(r.shape(0)));
}
void scatter_rows_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = scatter_rows(t[0], r.saved(0), r.output_shape(), static_cast<int>(r.attributes()[0]));
}
constexpr tape::Rule scatter_rows_rule = batched({"scatter_rows", scatter_rows_vjp, scatter_rows_jvp});

Tensor gathered(const Tensor& given, const Tensor& indices, int axis) {
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(given.shape()[d]);
  for (std::int64_t e : indices.shape()) shape.push_back(e);
  for (int d = axis + 1; d < given.rank(); ++d) shape.push_back(given.shape()[d]);
  Tensor y = detail::empty(given.dtype(), shape);
  if (y.size() == 0) return y;
  const Folds folds(given.shape(), axis, axis + 1);
  Tensor x = reshaped_view(given, {folds.before, folds.at, folds.behind});
  if (!x.defined()) x = reshaped_view(loops::contiguous(given), {folds.before, folds.at, folds.behind});
  const std::int64_t* strides = detail::block(x)->strides();
  const std::int64_t outer = strides[0], step = strides[1], inner = strides[2], count = indices.size(),
                     behind = folds.behind;
  const std::size_t bytes = item_size(x.dtype());
  const auto width = static_cast<std::int64_t>(bytes);
  const std::byte* from = detail::block(x)->data;
  std::byte* to = detail::block(y)->data;
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  // move(source, r) for rows [begin, end) of the result.
  const auto each = [=](std::int64_t begin, std::int64_t end, const auto& move) {
    std::int64_t k = begin % count;
    const std::byte* slab = from + begin / count * outer * width;
    for (std::int64_t r = begin; r < end; ++r) {
      move(slab + index[k] * step * width, r);
      if (++k == count) {
        k = 0;
        slab += outer * width;
      }
    }
  };
  const std::int64_t grain = std::max<std::int64_t>(1, loops::parallel_threshold / behind);
  if (behind == 1) {
    loops::with_size(bytes, [&](auto element) {
      constexpr std::int64_t size = sizeof element;
      loops::parallel_for(y.size(), grain, [=](std::int64_t begin, std::int64_t end) {
        each(begin, end, [=](const std::byte* source, std::int64_t r) { std::memcpy(to + r * size, source, size); });
      });
    });
  } else {
    loops::parallel_for(folds.before * count, grain, [=](std::int64_t begin, std::int64_t end) {
      each(begin, end, [=](const std::byte* source, std::int64_t r) {
        kernels::copy({source, inner}, to + r * behind * width, 1, behind, bytes);
      });
    });
  }
  return y;
}

Tensor gather_checked(const Tensor& x, const Tensor& indices, int axis) {
  Tensor y = gathered(x, indices, axis);
  if (tape::active()) {
    const std::int64_t attributes[] = {axis};
    if (is_differentiable(y.dtype()))
      tape::record(gather_rule, {&x}, y, {&indices}, attributes);
    else
      finish(gather_rule, x, y);
  }
  return y;
}

// ---- take_along_axis and its transpose, on operands of one shape but for the axis; attributes: axis; saved: indices

// f(x at, y at) for the place of each index in [before, extent of x, behind] and in [before, count, behind].
template <class F>
void along(const Shape& x, const Tensor& indices, int axis, const F& f) {
  const std::int64_t n = x[axis];
  const Folds folds(indices.shape(), axis, axis + 1);
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      for (std::int64_t k = 0; k < folds.at; ++k)
        for (std::int64_t i = 0; i < folds.behind; ++i) {
          const std::int64_t at = (b * folds.at + k) * folds.behind + i;
          f((b * n + index[at]) * folds.behind + i, at);
        }
  };
  const std::int64_t each = folds.at * folds.behind;
  if (indices.size() == 0) return;
  if (indices.size() < loops::parallel_threshold)
    run(0, folds.before);
  else
    loops::parallel_for(folds.before, std::max<std::int64_t>(1, loops::parallel_threshold / each), run);
}

// The indices, for each of the cotangents that are carried together.
Tensor led_indices(const tape::Record& r) {
  const Tensor indices = r.saved(0);
  return r.lead() ? loops::contiguous(broadcast_view(indices, r.led(indices.shape()))) : indices;
}

Tensor take_along(const Tensor& x, const Tensor& indices, int axis);
Tensor put_along(const Tensor& g, const Tensor& indices, const Shape& shape, int axis);

void take_along_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const auto axis = static_cast<int>(r.attributes()[0]) + r.lead();
  if (r.wanted(0)) dx[0] = put_along(g[0], led_indices(r), r.led(r.shape(0)), axis);
}
void take_along_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = take_along(t[0], r.saved(0), static_cast<int>(r.attributes()[0]));
}
constexpr tape::Rule take_along_rule = batched({"take_along_axis", take_along_vjp, take_along_jvp});

void put_along_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = take_along(g[0], led_indices(r), static_cast<int>(r.attributes()[0]) + r.lead());
}
void put_along_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (t[0].defined()) dy[0] = put_along(t[0], r.saved(0), r.output_shape(), static_cast<int>(r.attributes()[0]));
}
constexpr tape::Rule put_along_rule = batched({"put_add_along_axis", put_along_vjp, put_along_jvp});

Tensor take_along(const Tensor& given, const Tensor& indices, int axis) {
  const Tensor x = loops::contiguous(given);
  Tensor y = detail::empty(x.dtype(), indices.shape());
  loops::with_size(item_size(x.dtype()), [&](auto element) {
    using T = decltype(element);
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(y);
    along(x.shape(), indices, axis,
          [=](std::int64_t x_at, std::int64_t y_at) { std::memcpy(to + y_at, from + x_at, sizeof(T)); });
  });
  if (tape::active()) {
    const std::int64_t attributes[] = {axis};
    if (is_differentiable(y.dtype()))
      tape::record(take_along_rule, {&given}, y, {&indices}, attributes);
    else
      finish(take_along_rule, given, y);
  }
  return y;
}

Tensor put_along(const Tensor& g, const Tensor& indices, const Shape& shape, int axis) {
  Tensor y = zeros(shape, is_half(g.dtype()) ? DType::float32 : g.dtype());
  {
    const tape::Suspend unrecorded;
    const Tensor terms = loops::contiguous(cast_to(g, y.dtype()));
    with_sum(y.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = detail::mutable_data<T>(terms);
      T* to = detail::mutable_data<T>(y);
      along(shape, indices, axis, [=](std::int64_t y_at, std::int64_t at) { add_to(to[y_at], from[at]); });
    });
    y = cast_to(y, g.dtype());
  }
  if (tape::active()) {
    const std::int64_t attributes[] = {axis};
    tape::record(put_along_rule, {&g}, y, {&indices}, attributes);
  }
  return y;
}

// ---- scatter_add; inputs: x, updates; saved: the indices

void scatter_add_vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  if (r.wanted(0)) dx[0] = g[0];
  if (r.wanted(1)) dx[1] = gather_checked(g[0], r.saved(0), r.lead());
}
Tensor scatter_add_checked(const Tensor& x, const Tensor& indices, const Tensor& updates);
void scatter_add_jvp(const tape::Record& r, std::span<const Tensor> t, std::span<Tensor> dy) {
  if (!t[1].defined())
    dy[0] = t[0];
  else if (!t[0].defined())
    dy[0] = scatter_rows(t[1], r.saved(0), r.output_shape(), 0);
  else
    dy[0] = scatter_add_checked(t[0], r.saved(0), t[1]);
}
constexpr tape::Rule scatter_add_rule = batched({"scatter_add", scatter_add_vjp, scatter_add_jvp});

Tensor scatter_add_checked(const Tensor& x, const Tensor& indices, const Tensor& updates) {
  Tensor y;
  {
    const tape::Suspend unrecorded;
    const Tensor sums = sums_of(x);
    if (updates.size() != 0)
      add_rows(sums, cast_to(updates, sums.dtype()), indices, 1, updates.size() / indices.size());
    y = cast_to(sums, x.dtype());
  }
  if (tape::active()) {
    const Tensor* in[] = {&x, &updates};
    const Tensor* out[] = {&y};
    const Tensor* saved[] = {tape::followed(updates) ? &indices : nullptr};
    if (is_differentiable(y.dtype()))
      tape::record(scatter_add_rule, in, out, saved);
    else
      tape::note_cut("scatter_add", in, y, tape::Cut::integer);
  }
  return y;
}

}  // namespace

Tensor checked_indices(const char* op, const Operand& operand, int axis, std::int64_t extent) {
  Tensor given = to_tensor(op, operand, "indices");
  if (!is_integer(given.dtype()))
    fail<TypeError>(op, "indices must be integers, not {}; cast them to int64{}", given.dtype(),
                    given.dtype() == DType::boolean ? ", or choose by a condition with where" : "");
  Tensor indices = loops::contiguous(cast_to(given, DType::int64));
  const auto* values = detail::mutable_data<std::int64_t>(indices);
  const std::int64_t n = indices.size();
  bool negative = false;
  for (std::int64_t i = 0; i < n; ++i) {
    negative = negative || values[i] < 0;
    if (values[i] < -extent || values[i] >= extent)
      fail<IndexError>(op, "index {} (element {} of indices) is out of range for axis {}, of extent {}", values[i], i,
                       axis, extent);
  }
  if (!negative) return indices;
  Tensor counted = detail::empty(DType::int64, indices.shape());
  auto* to = detail::mutable_data<std::int64_t>(counted);
  for (std::int64_t i = 0; i < n; ++i) to[i] = values[i] < 0 ? values[i] + extent : values[i];
  return counted;
}

Tensor scatter_rows(const Tensor& g, const Tensor& indices, const Shape& shape, int axis) {
  Tensor y = zeros(shape, is_half(g.dtype()) ? DType::float32 : g.dtype());
  {
    const tape::Suspend unrecorded;
    const Folds folds(shape, axis, axis + 1);
    if (g.size() != 0) add_rows(y, cast_to(g, y.dtype()), indices, folds.before, folds.behind);
    y = cast_to(y, g.dtype());
  }
  if (tape::active()) {
    const std::int64_t attributes[] = {axis};
    if (is_differentiable(y.dtype()))
      tape::record(scatter_rows_rule, {&g}, y, {&indices}, attributes);
    else
      finish(scatter_rows_rule, g, y);
  }
  return y;
}

}  // namespace ops

Tensor gather(const Operand& operand, const Operand& indices, std::int64_t axis) {
  const tape::OpScope scope(operand);
  const Tensor x = ops::to_tensor("gather", operand);
  const int a = ops::normalize("gather", axis, x.rank());
  const Tensor at = ops::checked_indices("gather", indices, a, x.shape()[a]);
  ops::require_rank("gather", x.rank() - 1 + at.rank());
  return ops::gather_checked(x, at, a);
}

Tensor take_along_axis(const Operand& operand, const Operand& indices, std::int64_t axis) {
  const tape::OpScope scope(operand);
  Tensor x = ops::to_tensor("take_along_axis", operand);
  const Shape chosen = ops::to_tensor("take_along_axis", indices, "indices").shape();
  if (chosen.rank() != x.rank())
    fail<ShapeError>("take_along_axis", "x has shape {}, indices {}: they must have the same rank", x.shape(), chosen);
  const int a = ops::normalize("take_along_axis", axis, x.rank());
  Tensor at = ops::checked_indices("take_along_axis", indices, a, x.shape()[a]);
  // All other axes broadcast.
  Shape ones_at_axis = x.shape(), common = chosen;
  ones_at_axis[a] = common[a] = 1;
  common = ops::broadcast_shapes("take_along_axis", ones_at_axis, common);
  Shape x_shape = common, at_shape = common;
  x_shape[a] = x.shape()[a];
  at_shape[a] = chosen[a];
  if (x.shape() != x_shape) x = broadcast_to(x, x_shape);
  if (at.shape() != at_shape) at = loops::contiguous(ops::broadcast_view(at, at_shape));
  return ops::take_along(x, at, a);
}

Tensor scatter_add(const Operand& operand, const Operand& indices, const Operand& updates) {
  const tape::OpScope scope(operand);
  const Operand* both[] = {&operand, &updates};
  const DType dtype = ops::common_dtype("scatter_add", both);
  const Tensor x = ops::to_tensor("scatter_add", operand, dtype, "x");
  if (x.rank() == 0) fail<ShapeError>("scatter_add", "x has rank 0; it needs an axis 0 that the indices name");
  const Tensor at = ops::checked_indices("scatter_add", indices, 0, x.shape()[0]);
  Tensor terms = ops::to_tensor("scatter_add", updates, dtype, "updates");
  Shape wanted = at.shape();
  for (int d = 1; d < x.rank(); ++d) wanted.push_back(x.shape()[d]);
  if (terms.shape() != wanted) {
    if (ops::broadcast_shapes("scatter_add", terms.shape(), wanted) != wanted)
      fail<ShapeError>(
          "scatter_add",
          "updates have shape {}, which does not broadcast to {}: that of indices, {}, then x's, {}, without axis 0",
          terms.shape(), wanted, at.shape(), x.shape());
    terms = broadcast_to(terms, wanted);
  }
  return ops::scatter_add_checked(x, at, terms);
}

Tensor one_hot(const Operand& operand, std::int64_t depth, DType dtype) {
  const tape::OpScope scope(operand);
  const Tensor given = ops::to_tensor("one_hot", operand, "indices");
  if (!is_integer(given.dtype()))
    fail<TypeError>("one_hot", "indices must be integers, not {}; cast them to int64", given.dtype());
  if (depth < 0) fail<ValueError>("one_hot", "depth is {}; it must be at least 0", depth);
  const Tensor indices = loops::contiguous(ops::cast_to(given, DType::int64));
  Shape shape = indices.shape();
  shape.push_back(depth);
  ops::require_dtype("one_hot", dtype);
  ops::require_shape("one_hot", shape);
  Tensor y = zeros(shape, dtype);
  const Tensor one = ops::to_tensor("one_hot", 1, dtype, "value");
  const std::size_t bytes = item_size(dtype);
  const auto* index = detail::mutable_data<std::int64_t>(indices);
  for (std::int64_t i = 0; i < indices.size(); ++i)
    if (index[i] >= 0 && index[i] < depth)
      std::memcpy(detail::block(y)->data + (i * depth + index[i]) * static_cast<std::int64_t>(bytes),
                  detail::block(one)->data, bytes);
  return y;
}

namespace {
constexpr const char* slices_op = "IndexedSlices.dense";
}

void ops::check_slices(const char* op, const IndexedSlices& s) {
  if (!s.values.defined() || !s.indices.defined()) fail<ValueError>(op, "values or indices are empty handles");
  if (s.dense_shape.rank() == 0)
    fail<ValueError>(op, "Tensor conversion requested for IndexedSlices without dense_shape: values have shape {}",
                     s.values.shape());
  Shape wanted = s.dense_shape;
  wanted[0] = s.indices.size();
  if (s.indices.rank() != 1 || s.values.shape() != wanted)
    fail<ShapeError>(
        op, "values of shape {} and indices of shape {} do not fit dense_shape {}: indices [n] go with values {} of it",
        s.values.shape(), s.indices.shape(), s.dense_shape, "[n, rest]");
}

Tensor IndexedSlices::dense() const {
  ops::check_slices(slices_op, *this);
  if (const std::int64_t elements = dense_shape.elements(); elements >= 100'000'000)
    detail::warn("Converting sparse IndexedSlices to a dense Tensor with " + std::to_string(elements) +
                 " elements. This may consume a large amount of memory.");
  return ops::scatter_rows(values, ops::checked_indices(slices_op, indices, 0, dense_shape[0]), dense_shape, 0);
}

Tensor IndexedSlices::dense(DType dtype) const {
  if (values.defined() && values.dtype() != dtype)
    fail<ValueError>(slices_op,
                     "Tensor conversion requested dtype {} for IndexedSlices with dtype {}; cast what dense() gives",
                     dtype, values.dtype());
  return dense();
}

}  // namespace reel
