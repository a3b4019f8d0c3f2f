// Rows handed to their kernels: many at a time where they lie one after the other. Columns are read where they are if a
// cache holds all that lies between their elements; else a few at a time are copied close together.
#include "ops/reduce/by_rows.hpp"

#include <algorithm>
#include <atomic>
#include <reel/runtime.hpp>

namespace reel::ops {

namespace {

constexpr std::size_t most_operands = 6;

// Rows that one thread takes at a time.
std::int64_t grain(std::int64_t n) { return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(n, 1)); }

// What the kernel reads: its bytes per row, 0 if all rows share them, and how many rows it has.
struct Side {
  std::byte* data = nullptr;
  std::int64_t bytes = 0, rows = 0;
};
Side side_of(const RowOperand& o, std::int64_t rows) {
  if (o.width == 0) return {o.x.defined() ? detail::mutable_data<std::byte>(o.x) : nullptr, 0, rows};
  return {detail::mutable_data<std::byte>(o.x), o.width * static_cast<std::int64_t>(item_size(o.x.dtype())),
          o.x.size() / o.width};
}

}  // namespace

const kernels::Rows& row_kernels(const char* op, DType d) {
  const kernels::Rows& rows = kernels::active().rows[kernels::index(type_of(d))];
  if (!rows.softmax) fail_no_kernel(op, d);
  return rows;
}

void by_rows(kernels::RowLoop kernel, std::int64_t n, std::initializer_list<RowOperand> operands, const Tensor& out,
             std::int64_t width) {
  Side side[most_operands];
  std::size_t count = 0;
  for (const RowOperand& o : operands) side[count++] = side_of(o, out.size() / width);
  auto* to = detail::mutable_data<std::byte>(out);
  const std::int64_t out_bytes = width * static_cast<std::int64_t>(item_size(out.dtype()));
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      std::int64_t together = end - row;
      const void* in[most_operands];
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t at = row < side[i].rows ? row : row % side[i].rows;
        together = std::min(together, side[i].rows - at);
        in[i] = side[i].data + at * side[i].bytes;
      }
      kernel(in, to + row * out_bytes, n, together);
      row += together;
    }
  };
  loops::parallel_for(out.size() / width, grain(n), run);
}

void by_columns(kernels::RowLoop kernel, std::int64_t n, std::int64_t inner, std::initializer_list<RowOperand> operands,
                const Tensor& out, std::int64_t width, bool alone) {
  constexpr std::int64_t line = 64, first_cache = 16 * 1024, second_cache = 256 * 1024;  // bytes
  const auto item = static_cast<std::int64_t>(item_size(out.dtype()));
  const std::int64_t columns = out.size() / width, row = inner * item;
  Side side[most_operands];
  std::size_t count = 0, copied = 0;  // an operand with whole columns is copied
  for (const RowOperand& o : operands) {
    copied += o.width == n && n > 1;
    side[count++] = side_of(o, columns);
  }
  auto* to = detail::mutable_data<std::byte>(out);
  // A strip of columns, from `first` on, of matrix m: where operand i has it, and the result.
  const auto source = [&](std::size_t i, std::int64_t m, std::int64_t first) -> std::byte* {
    if (!side[i].data) return nullptr;                       // an operand that is not there
    const std::int64_t column = (m * inner) % side[i].rows;  // of which the matrices before it have so many
    return side[i].data + column * side[i].bytes + first * item;
  };
  const auto target = [&](std::int64_t m, std::int64_t first) { return to + m * inner * width * item + first * item; };
  const auto is_whole = [&](std::size_t i) { return n > 1 && side[i].bytes == n * item; };

  if (alone || row <= 4 * line || n * row <= first_cache) {
    const std::int64_t high = alone ? std::min(n, grain(inner)) : n, blocks = (n - 1) / high + 1;
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        const std::int64_t m = t / blocks, above = t % blocks * high;
        const void* in[most_operands];
        for (std::size_t i = 0; i < count; ++i) in[i] = source(i, m, 0) + (is_whole(i) ? above * row : 0);
        kernel(in, target(m, 0) + above * row, std::min(high, n - above), inner);
      }
    };
    return loops::parallel_for(columns / inner * blocks, grain(high * inner), run);
  }
  const std::int64_t wide = std::clamp(second_cache / (n * line), std::int64_t{1}, std::int64_t{4}) * line / item;
  const std::int64_t strips = (inner - 1) / wide + 1, all = columns / inner * strips;
  const std::int64_t workers = std::min<std::int64_t>(num_threads(), all), place = n * wide * item;
  const Tensor scratch =
      detail::empty(DType::uint8, {workers, static_cast<std::int64_t>(std::max<std::size_t>(copied, 1)) * place});
  std::atomic<std::int64_t> next{0};  // each worker has a place of its own, whatever it works on
  loops::parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t worker = begin; worker < end; ++worker)
      for (std::int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < all;) {
        const std::int64_t m = t / strips, first = t % strips * wide, high = std::min(wide, inner - first);
        std::byte* free = detail::mutable_data<std::byte>(scratch) + worker * scratch.size() / workers;
        std::byte* result = free;
        const void* in[most_operands];
        for (std::size_t i = 0; i < count; ++i) {
          in[i] = source(i, m, first);
          if (!is_whole(i)) continue;
          kernels::copy_matrix(in[i], inner, 1, free, high, n, high, static_cast<std::size_t>(item));
          in[i] = free;
          free += place;
        }
        if (width != n) {
          kernel(in, target(m, first), n, high);
          continue;
        }
        kernel(in, result, n, high);
        kernels::copy_matrix(result, high, 1, target(m, first), inner, n, high, static_cast<std::size_t>(item));
      }
  });
}

Tensor along_axis(const kernels::RowOrColumnLoop& kernel, int axis, const Tensor& x, const Tensor* more) {
  const Shape shape = x.shape();
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  if (inner > 1 && inner < least_columns) {
    const tape::Suspend unrecorded;
    const auto turned = [&](const Tensor& t) { return moveaxis(t, axis - shape.rank(), -1); };
    const Tensor held = more ? turned(*more) : Tensor();
    const Tensor rows = along_axis(kernel, shape.rank() - 1, turned(x), more ? &held : nullptr);
    return loops::contiguous(moveaxis(rows, -1, axis));
  }
  Tensor out = detail::empty(x.dtype(), shape);
  if (x.size() == 0) return out;
  const std::int64_t n = shape[axis];
  const RowOperand first{loops::contiguous(x), n}, second{more ? loops::contiguous(*more) : Tensor(), more ? n : 0};
  if (inner == 1)
    by_rows(kernel.rows, n, {first, second}, out, n);
  else
    by_columns(kernel.columns, n, inner, {first, second}, out, n);
  return out;
}

}  // namespace reel::ops
