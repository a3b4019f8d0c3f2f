// Contiguous rows are passed to their kernels many at a time. Columns are read in place if the cache holds everything
// between their elements; otherwise strips of columns are packed.
#include "loops/reduce/rows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <reel/runtime.hpp>

#include "kernels/baseline/copy.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

namespace {

constexpr std::size_t most_operands = 6;

const kernels::Rows& rows_of(DType d) { return kernels::active<kernels::RowKernels>()[d]; }

#define REEL_MEMBER(name) &kernels::Rows::name,
constexpr kernels::RowOrColumnLoop kernels::Rows::*over_columns[] = {REEL_COLUMN_FUNCTIONS(REEL_MEMBER)};
constexpr kernels::RowLoop kernels::Rows::*over_rows[] = {REEL_ROW_FUNCTIONS(REEL_MEMBER)};
#undef REEL_MEMBER

kernels::RowLoop row_loop(RowFunction f, DType d) {
  const auto at = static_cast<std::size_t>(f);
  if (at < std::size(over_columns)) return rows_of(d).*over_columns[at];
  return rows_of(d).*over_rows[at - std::size(over_columns)];
}

// Rows per task.
std::int64_t grain(std::int64_t n) {
  return std::max<std::int64_t>(1, tuning::rows_grain / std::max<std::int64_t>(n, 1));
}

// An operand of the kernel: bytes per row, 0 if all rows share it, and its number of rows.
struct RowSource {
  std::byte* data = nullptr;
  std::int64_t bytes = 0, rows = 0;
};
RowSource source_of(const RowOperand& o, std::int64_t rows) {
  if (o.width == 0) return {o.x.defined() ? detail::mutable_data<std::byte>(o.x) : nullptr, 0, rows};
  return {detail::mutable_data<std::byte>(o.x), o.width * static_cast<std::int64_t>(item_size(o.x.dtype())),
          o.x.size() / o.width};
}

// The columns of contiguous matrices [n, inner], and the operands in the same order.
struct Columns {
  kernels::RowLoop kernel;
  std::int64_t n, inner, item, matrices;  // item: bytes of an element
  RowSource source[most_operands];
  std::size_t count = 0;
  std::byte* out;
  std::int64_t width;  // elements of a column of the result

  // Column `first` of matrix m in operand i; null for an absent operand.
  std::byte* operand(std::size_t i, std::int64_t m, std::int64_t first) const {
    const RowSource& s = source[i];
    return s.data ? s.data + m * inner % s.rows * s.bytes + first * item : nullptr;
  }
  std::byte* result(std::int64_t m, std::int64_t first) const { return out + (m * inner * width + first) * item; }
  // Whether operand i has n elements per column.
  bool is_whole(std::size_t i) const { return n > 1 && source[i].bytes == n * item; }
};

// Computes blocks of `height` rows of a matrix, all its columns, in place.
void columns_in_place(const Columns& c, std::int64_t height) {
  const std::int64_t blocks = (c.n - 1) / height + 1, row = c.inner * c.item;
  parallel_for(c.matrices * blocks, grain(height * c.inner), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t m = t / blocks, above = t % blocks * height;
      const void* in[most_operands];
      for (std::size_t i = 0; i < c.count; ++i) in[i] = c.operand(i, m, 0) + (c.is_whole(i) ? above * row : 0);
      c.kernel(in, c.result(m, 0) + above * row, std::min(height, c.n - above), c.inner);
    }
  });
}

// Computes columns [first, first + high) of matrix m, packed in `scratch` first.
void packed_strip(const Columns& c, std::int64_t m, std::int64_t first, std::int64_t high, std::int64_t place,
                  std::byte* scratch) {
  const auto bytes = static_cast<std::size_t>(c.item);
  std::byte* free = scratch;
  const void* in[most_operands];
  for (std::size_t i = 0; i < c.count; ++i) {
    in[i] = c.operand(i, m, first);
    if (!c.is_whole(i)) continue;
    kernels::copy_matrix(in[i], c.inner, 1, free, high, c.n, high, bytes);
    in[i] = free;
    free += place;
  }
  if (c.width != c.n) return c.kernel(in, c.result(m, first), c.n, high);
  c.kernel(in, scratch, c.n, high);
  kernels::copy_matrix(scratch, high, 1, c.result(m, first), c.inner, c.n, high, bytes);
}

// Strips of `wide` columns. Each worker has its own scratch memory for all of its strips.
void columns_by_strips(const Columns& c, std::int64_t wide) {
  std::int64_t packed = 0;
  for (std::size_t i = 0; i < c.count; ++i) packed += c.is_whole(i);
  const std::int64_t strips = (c.inner - 1) / wide + 1, all = c.matrices * strips;
  const std::int64_t workers = std::min<std::int64_t>(num_threads(), all), place = c.n * wide * c.item;
  const std::int64_t bytes = std::max<std::int64_t>(packed, 1) * place;
  const Tensor scratch = detail::empty(DType::uint8, {workers, bytes});
  std::byte* data = detail::mutable_data<std::byte>(scratch);
  std::atomic<std::int64_t> next{0};
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < all;) {
        const std::int64_t first = t % strips * wide;
        packed_strip(c, t / strips, first, std::min(wide, c.inner - first), place, data + worker * bytes);
      }
  });
}

// The order of axes that makes `axis` the last one, -1; with `back` its inverse.
Shape axis_last(int rank, int axis, bool back) {
  Shape order;
  for (int d = 0; d < rank; ++d)
    if (d != (back ? rank - 1 : axis)) order.push_back(d);
  order.insert(back ? axis : rank - 1, back ? rank - 1 : axis);
  return order;
}

}  // namespace

Shape rows_last(int rank, std::int64_t mask) {
  Shape order;
  for (int part : {0, 1})
    for (int d = 0; d < rank; ++d)
      if ((mask >> d & 1) == part) order.push_back(d);
  return order;
}

bool has_row_functions(DType d) noexcept { return rows_of(d).softmax.rows != nullptr; }

void by_rows(RowFunction f, std::int64_t n, std::initializer_list<RowOperand> operands, const Tensor& out,
             std::int64_t width) {
  const kernels::RowLoop kernel = row_loop(f, out.dtype());
  RowSource source[most_operands];
  std::size_t count = 0;
  for (const RowOperand& o : operands) source[count++] = source_of(o, out.size() / width);
  auto* to = detail::mutable_data<std::byte>(out);
  const std::int64_t out_bytes = width * static_cast<std::int64_t>(item_size(out.dtype()));
  parallel_for(out.size() / width, grain(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      std::int64_t together = end - row;
      const void* in[most_operands];
      for (std::size_t i = 0; i < count; ++i) {
        const RowSource& s = source[i];
        const std::int64_t at = row < s.rows ? row : row % s.rows;
        together = std::min(together, s.rows - at);
        in[i] = s.data + at * s.bytes;
      }
      kernel(in, to + row * out_bytes, n, together);
      row += together;
    }
  });
}

void by_columns(RowFunction f, std::int64_t n, std::int64_t inner, std::initializer_list<RowOperand> operands,
                const Tensor& out, std::int64_t width, bool elementwise) {
  // Half of each cache, beside the result. Row: "log_softmax".
  constexpr std::int64_t line = tuning::cache_line_bytes, first_cache = tuning::l1_bytes / 2,
                         second_cache = tuning::l2_bytes / 2;
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const std::int64_t columns = out.size() / width, row = inner * item;
  const kernels::RowOrColumnLoop& kernel = rows_of(out.dtype()).*over_columns[static_cast<std::size_t>(f)];
  Columns c{kernel.columns, n, inner, item, columns / inner, {}, 0, detail::mutable_data<std::byte>(out), width};
  for (const RowOperand& o : operands) c.source[c.count++] = source_of(o, columns);
  if (elementwise) return columns_in_place(c, std::min(n, grain(inner)));
  if (row <= 4 * line || n * row <= first_cache) return columns_in_place(c, n);
  columns_by_strips(c, std::clamp(second_cache / (n * line), std::int64_t{1}, std::int64_t{4}) * line / item);
}

void along_axis(RowFunction f, int axis, const Tensor& x, const Tensor* more, const Tensor& out) {
  const Shape shape = x.shape();
  if (x.size() == 0) return;
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  if (inner > 1 && inner < least_columns) {
    const auto transposed = [&](const Tensor& t) {
      return contiguous(with_axis_order(t, axis_last(t.rank(), axis - shape.rank() + t.rank(), false)));
    };
    const Tensor rows = transposed(x), other = more ? transposed(*more) : Tensor();
    const Tensor result = detail::empty(out.dtype(), rows.shape());
    along_axis(f, shape.rank() - 1, rows, more ? &other : nullptr, result);
    return copy(with_axis_order(result, axis_last(shape.rank(), axis, true)), out);
  }
  const std::int64_t n = shape[axis];
  const RowOperand first{contiguous(x), n}, second{more ? contiguous(*more) : Tensor(), more ? n : 0};
  if (inner == 1)
    by_rows(f, n, {first, second}, out, n);
  else
    by_columns(f, n, inner, {first, second}, out, n);
}

Tensor with_axis_order(const Tensor& x, const Shape& order) {
  const detail::Block* b = detail::block(x);
  Shape shape = order, strides = order;
  for (int d = 0; d < order.rank(); ++d) {
    shape.begin()[d] = b->extents()[order.begin()[d]];
    strides.begin()[d] = b->strides()[order.begin()[d]];
  }
  return TensorAccess::adopt(detail::new_view(detail::block(x), 0, shape, strides));
}

Tensor in_shape(const Tensor& x, const Shape& shape) {
  Shape strides = shape;
  std::int64_t dense = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides.begin()[d] = dense;
    dense *= shape.begin()[d];
  }
  return TensorAccess::adopt(detail::new_view(detail::block(x), 0, shape, strides));
}

Tensor to_rows(const Tensor& x, std::int64_t mask) {
  const detail::Block* b = detail::block(x);
  std::int64_t n = 1, rows = 1;
  for (int d = 0; d < b->rank; ++d) (mask >> d & 1 ? n : rows) *= b->extents()[d];
  return in_shape(contiguous(with_axis_order(x, rows_last(b->rank, mask))), {rows, n});
}

void from_rows(const Tensor& rows, std::int64_t mask, const Tensor& out) {
  const detail::Block* b = detail::block(out);
  const Shape order = rows_last(b->rank, mask);
  Shape shape, back = order;
  for (int d = 0; d < order.rank(); ++d) {
    shape.push_back(b->extents()[order[d]]);
    back[order[d]] = d;
  }
  copy(with_axis_order(in_shape(rows, shape), back), out);
}

}  // namespace reel::loops
