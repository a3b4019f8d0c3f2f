// Rows handed to their kernels: many at a time where they lie one after the other, and a few at a time, copied to
// scratch memory, where they do not.
#include "ops/reduce/by_rows.hpp"

namespace reel::ops {

namespace {

constexpr std::size_t most_operands = 6;

// Rows that one thread takes at a time.
std::int64_t grain(std::int64_t n) { return std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(n, 1)); }

}  // namespace

const kernels::Rows& row_kernels(const char* op, DType d) {
  const kernels::Rows& rows = kernels::active().rows[kernels::index(type_of(d))];
  if (!rows.softmax) fail_no_kernel(op, d);
  return rows;
}

void by_rows(kernels::RowLoop kernel, std::int64_t n, std::initializer_list<RowOperand> operands, const Tensor& out,
             std::int64_t width) {
  struct Side {
    std::byte* data;
    std::int64_t bytes, rows;
  };
  Side side[most_operands];
  std::size_t count = 0;
  for (const RowOperand& o : operands) {
    if (o.width == 0)
      side[count++] = {o.x.defined() ? detail::mutable_data<std::byte>(o.x) : nullptr, 0, out.size() / width};
    else
      side[count++] = {detail::mutable_data<std::byte>(o.x),
                       o.width * static_cast<std::int64_t>(item_size(o.x.dtype())), o.x.size() / o.width};
  }
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

Tensor along_axis(kernels::RowLoop kernel, int axis, const Tensor& x, const Tensor* more) {
  const Shape shape = x.shape();
  Tensor out = detail::empty(x.dtype(), shape);
  if (x.size() == 0) return out;
  const std::int64_t n = shape[axis];
  if (axis == shape.rank() - 1) {
    if (more)
      by_rows(kernel, n, {whole_rows(x), whole_rows(*more)}, out, n);
    else
      by_rows(kernel, n, {whole_rows(x)}, out, n);
    return out;
  }
  // A few columns at a time are laid out as rows, and the results put back.
  constexpr std::int64_t columns = 16;
  const std::size_t operands = more ? 2 : 1;
  const Tensor operand[] = {loops::contiguous(x), more ? loops::contiguous(*more) : Tensor()};
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t row = n * bytes;
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape[d];
  const std::int64_t strips = (inner - 1) / columns + 1, outer = x.size() / (n * inner);
  const std::byte* from[2] = {};
  std::int64_t length[2] = {};
  Tensor scratch[2];  // made here: a loop's body makes no tensors
  std::byte* strip[2] = {};
  for (std::size_t i = 0; i < operands; ++i) {
    from[i] = detail::mutable_data<std::byte>(operand[i]);
    length[i] = operand[i].size() * bytes;
    scratch[i] = detail::empty(x.dtype(), {outer * strips, columns, n});
    strip[i] = detail::mutable_data<std::byte>(scratch[i]);
  }
  auto* to = detail::mutable_data<std::byte>(out);
  loops::parallel_for(outer * strips, grain(n * columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t first = t % strips * columns, count = std::min(columns, inner - first);
      const std::int64_t at = (t / strips * n * inner + first) * bytes;
      const void* in[2] = {};
      for (std::size_t i = 0; i < operands; ++i) {
        std::byte* place = strip[i] + t * columns * row;
        kernels::copy_matrix(from[i] + (at < length[i] ? at : at % length[i]), 1, inner, place, n, count, n,
                             static_cast<std::size_t>(bytes));
        in[i] = place;
      }
      std::byte* result = strip[0] + t * columns * row;
      kernel(in, result, n, count);
      kernels::copy_matrix(result, 1, n, to + at, inner, n, count, static_cast<std::size_t>(bytes));
    }
  });
  return out;
}

}  // namespace reel::ops
