#include "loops/elementwise/plan.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/baseline/copy.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {

using namespace tuning;

void ElementwisePlan::set_operands(const Shape& shape, const detail::Block* const (&x)[max_operands]) {
  nest.rank = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t stride[max_operands] = {};
    for (std::size_t k = 0; k < count; ++k)
      if (x[k]) stride[k] = broadcast_stride(x[k], d, shape.rank());
    nest.push(shape.begin()[d], stride);
  }
  for (std::size_t k = 0; k < count; ++k) {
    operand[k].transposed = false;
    if (!x[k]) continue;
    operand[k].data = x[k]->data;
    operand[k].bytes = item_size(x[k]->dtype);
  }
  matrix.row = -1;
}

// One kernel call per row of the innermost loop.
void ElementwisePlan::compute_rows(std::int64_t begin, std::int64_t end, std::byte* to) const {
  const int last = nest.rank - 1;
  const std::int64_t length = nest.extent[last];
  IndexIterator index(nest, begin / length);
  std::int64_t within = begin % length;
  kernels::Strided in[max_operands];
  for (std::size_t k = 0; k < count; ++k) in[k].stride = nest.stride[k][last];
  for (std::int64_t at = begin; at < end; index.next()) {
    const std::int64_t n = std::min(length - within, end - at);
    for (std::size_t k = 0; k < count; ++k)
      in[k].data =
          operand[k].data + (index.offset(k) + within * in[k].stride) * static_cast<std::int64_t>(operand[k].bytes);
    loop(in, to, n);
    to += n * static_cast<std::int64_t>(out_bytes);
    at += n;
    within = 0;
  }
}

// One kernel call per block of the stack buffer. A block is a multiple of the period of repeated operands, which are
// packed once.
void ElementwisePlan::compute_packed(std::int64_t begin, std::int64_t end, std::byte* to) const {
  alignas(64) std::byte buffer[max_operands][packed_elements * 16];
  const auto pack_operand = [&](std::size_t k, std::int64_t from, std::int64_t until) {
    pack(nest, k, operand[k].data, operand[k].bytes, from, until, buffer[k]);
  };
  kernels::Strided in[max_operands];
  for (std::size_t k = 0; k < count; ++k) {
    const Operand& x = operand[k];
    in[k] = {x.data, x.layout.kind == Layout::Kind::single || x.layout.kind == Layout::Kind::none ? 0 : 1};
    if (x.layout.kind != Layout::Kind::strided) continue;
    in[k].data = buffer[k];
    if (x.layout.period > block) continue;
    pack_operand(k, begin, begin + x.layout.period);
    repeat(buffer[k], static_cast<std::size_t>(x.layout.period) * x.bytes,
           static_cast<std::size_t>(std::min(block, end - begin)) * x.bytes);
  }
  for (std::int64_t at = begin; at < end; at += block) {
    const std::int64_t n = std::min(block, end - at);
    for (std::size_t k = 0; k < count; ++k) {
      const Operand& x = operand[k];
      if (x.layout.kind == Layout::Kind::linear) in[k].data = x.data + at * static_cast<std::int64_t>(x.bytes);
      if (x.layout.kind == Layout::Kind::strided && x.layout.period > block) pack_operand(k, at, at + n);
    }
    loop(in, to, n);
    to += n * static_cast<std::int64_t>(out_bytes);
  }
}

void ElementwisePlan::classify() {
  std::int64_t longest = 1;
  bool repeats =
      nest.rank > 1 && nest.extent[nest.rank - 1] <= packed_run;  // every operand that must be packed repeats
  for (std::size_t k = 0; k < count; ++k) {
    Operand& x = operand[k];
    if (!x.data) continue;
    x.layout = layout_of(nest, k);
    if (x.layout.period <= packed_elements) longest = std::max(longest, x.layout.period);
    repeats = repeats && x.layout.period <= packed_elements / 2;
  }
  if (short_rows()) {  // as many rows as a vector has elements, and results from the beginning of a cache line on
    const std::int64_t unit = std::lcm(longest, 16 * nest.extent[nest.rank - 1]);
    if (unit <= packed_elements) longest = unit;
  }
  block = packed_elements / longest * longest;  // each period divides the next one
  packed = nest.rank == 0 || short_rows() || repeats;
}

std::size_t ElementwisePlan::first_alike(std::size_t k) const {
  const auto same = [&](std::size_t j) {
    return operand[j].transposed && operand[j].data == operand[k].data && operand[j].bytes == operand[k].bytes &&
           std::equal(nest.stride[j], nest.stride[j] + nest.rank, nest.stride[k]);
  };
  std::size_t first = 0;
  while (!same(first)) ++first;
  return first;
}

ElementwisePlan::Tile ElementwisePlan::tile_at(std::int64_t number) const {
  const std::int64_t column = number % matrix.chunks * matrix.width,
                     first = number / matrix.chunks % matrix.strips * matrix.height;
  Tile t{};
  t.width = std::min(matrix.width, matrix.columns - column);
  t.height = std::min(matrix.height, matrix.rows - first);
  std::int64_t dense = 1, outer = number / matrix.chunks / matrix.strips;
  const int last = nest.rank - 1;
  for (int d = last; d >= 0; --d) {
    std::int64_t index = d == last ? column : first;
    if (d != last && d != matrix.row) {
      index = outer % nest.extent[d];
      outer /= nest.extent[d];
    }
    for (std::size_t k = 0; k < count; ++k) t.offset[k] += index * nest.stride[k][d];
    t.out_offset += index * dense;
    if (d == matrix.row) t.out_row = dense;
    dense *= nest.extent[d];
  }
  return t;
}

void ElementwisePlan::compute_tile(const Tile& t, std::byte* out) const {
  alignas(64)
      std::byte buffer[transposed_operands_max][transposed_tile_bytes + transposed_line_bytes * row_padding_bytes];
  const int last = nest.rank - 1;
  kernels::Strided in[max_operands];
  std::int64_t row_bytes[max_operands];
  std::byte* free = buffer[0];
  for (std::size_t k = 0; k < count; ++k) {
    const Operand& x = operand[k];
    const auto bytes = static_cast<std::int64_t>(x.bytes);
    in[k] = {x.data + t.offset[k] * bytes, nest.stride[k][last]};
    row_bytes[k] = nest.stride[k][matrix.row] * bytes;
    if (!x.transposed) continue;
    if (const std::size_t first = first_alike(k); first < k) {
      in[k] = in[first];
      row_bytes[k] = row_bytes[first];
      continue;
    }
    const std::int64_t pitch = t.width + row_padding_bytes / bytes;
    kernels::copy_matrix(in[k].data, nest.stride[k][matrix.row], nest.stride[k][last], free, pitch, t.height, t.width,
                         x.bytes);
    in[k] = {free, 1};
    row_bytes[k] = pitch * bytes;
    free += sizeof buffer[0];
  }
  std::byte* to = out + t.out_offset * static_cast<std::int64_t>(out_bytes);
  for (std::int64_t r = 0; r < t.height; ++r, to += t.out_row * static_cast<std::int64_t>(out_bytes)) {
    loop(in, to, t.width);
    for (std::size_t k = 0; k < count; ++k)
      if (in[k].data) in[k].data = static_cast<const std::byte*>(in[k].data) + row_bytes[k];
  }
}

void ElementwisePlan::compute_tiles(std::int64_t begin, std::int64_t end, std::byte* out) const {
  for (std::int64_t number = begin; number < end; ++number) compute_tile(tile_at(number), out);
}

void ElementwisePlan::choose_matrix() {
  const int last = nest.rank - 1;
  int chosen = 0;
  std::size_t widest = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const int d = operand[k].data ? closest(nest, k) : last;
    if (d == last || chosen == transposed_operands_max || (matrix.row >= 0 && matrix.row != d)) continue;
    matrix.row = d;
    operand[k].transposed = true;
    widest = std::max(widest, operand[k].bytes);
    ++chosen;
  }
  if (chosen == 0) return;
  MatrixTiles& m = matrix;
  m.rows = nest.extent[m.row];
  m.columns = nest.extent[last];
  m.height = std::min(m.rows, std::min<std::int64_t>(64, transposed_line_bytes / static_cast<std::int64_t>(widest)));
  m.width = transposed_tile_bytes / static_cast<std::int64_t>(widest) / m.height / 16 * 16;
  m.strips = (m.rows - 1) / m.height + 1;
  m.chunks = (m.columns - 1) / m.width + 1;
}

}  // namespace reel::loops
