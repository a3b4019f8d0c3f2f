// Elementwise loops over broadcast and strided operands. The result is contiguous, so a piece of it is a range of flat
// positions; each operand is a run of some stride along the innermost loop. One that lies close together along another
// axis is turned in the first cache, one tile after the other. A result larger than the caches is written past them.
#include <unistd.h>

#include <algorithm>

#include "loops/elementwise/job.hpp"

namespace reel::loops {
namespace {

constexpr std::int64_t least_piece = 4096, piece = 16384;  // elements that one thread takes at a time
constexpr std::int64_t pieces_wanted = 16;                 // so that threads are done at about the same time
constexpr std::int64_t turned_bytes = 32 * 1024;           // of a tile of an operand that is turned,
constexpr std::int64_t turned_line = 128;                  // and of its shorter side,
constexpr std::int64_t apart = 64;                         // between its rows, which would share places of the cache,
constexpr int most_turned = 3;                             // for so many operands on the stack
constexpr std::size_t block_bytes = 8 * 1024;              // of results on their way into a sum, or past the caches

// run(begin, end) for pieces of n units, on several threads if it is worth that for `size` elements.
template <class Run>
void in_pieces(std::int64_t size, std::int64_t n, std::int64_t each, const Run& run) {
  if (size < parallel_threshold)
    run(std::int64_t{0}, n);
  else
    parallel_for(n, each, run, size);
}
// work(at, n) for blocks of at most `most` of the positions [begin, end).
template <class Work>
void in_blocks(std::int64_t begin, std::int64_t end, std::int64_t most, const Work& work) {
  for (std::int64_t at = begin; at < end; at += most) work(at, std::min(most, end - at));
}

std::int64_t half_of_last_cache() {
  long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
#endif
  return bytes > 0 ? bytes / 2 : std::int64_t{128} << 20;
}
bool too_large_for_caches(std::int64_t bytes) {
  constexpr std::int64_t least = std::int64_t{4} << 20;  // asking takes a while
  if (streamed_from != 0) return bytes >= streamed_from;
  if (bytes < least) return false;
  static const std::int64_t most = half_of_last_cache();
  return bytes >= most;
}

std::int64_t grain_of(std::int64_t size) { return std::clamp(size / pieces_wanted / 1024 * 1024, least_piece, piece); }

}  // namespace

std::int64_t streamed_from = 0;

void Job::lay(const Shape& shape, const detail::Block* const (&x)[max_operands]) {
  nest.rank = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t stride[max_operands] = {};
    for (std::size_t k = 0; k < count; ++k)
      if (x[k]) stride[k] = broadcast_stride(x[k], d, shape.rank());
    nest.push(shape.begin()[d], stride);
  }
  for (std::size_t k = 0; k < count; ++k) {
    operand[k].turned = false;
    if (!x[k]) continue;
    operand[k].data = x[k]->data;
    operand[k].bytes = item_size(x[k]->dtype);
  }
  matrix.row = -1;
}

// One call of the kernel for each row of the innermost loop.
void Job::rows(std::int64_t begin, std::int64_t end, std::byte* to) const {
  const int last = nest.rank - 1;
  const std::int64_t length = nest.extent[last];
  Walk walk(nest, begin / length);
  std::int64_t within = begin % length;
  kernels::Strided in[max_operands];
  for (std::size_t k = 0; k < count; ++k) in[k].stride = nest.stride[k][last];
  for (std::int64_t at = begin; at < end; walk.next()) {
    const std::int64_t n = std::min(length - within, end - at);
    for (std::size_t k = 0; k < count; ++k)
      in[k].data =
          operand[k].data + (walk.offset(k) + within * in[k].stride) * static_cast<std::int64_t>(operand[k].bytes);
    loop(in, to, n);
    to += n * static_cast<std::int64_t>(out_bytes);
    at += n;
    within = 0;
  }
}

// One call for each tile. A tile is a multiple of what repeats within it, which is laid out once.
void Job::tiles(std::int64_t begin, std::int64_t end, std::byte* to) const {
  alignas(64) std::byte buffer[max_operands][tile_elements * 16];
  const auto lay_out = [&](std::size_t k, std::int64_t from, std::int64_t until) {
    loops::lay_out(nest, k, operand[k].data, operand[k].bytes, from, until, buffer[k]);
  };
  kernels::Strided in[max_operands];
  for (std::size_t k = 0; k < count; ++k) {
    const Operand& x = operand[k];
    in[k] = {x.data, x.layout.kind == Layout::Kind::single || x.layout.kind == Layout::Kind::none ? 0 : 1};
    if (x.layout.kind != Layout::Kind::strided) continue;
    in[k].data = buffer[k];
    if (x.layout.period > tile) continue;
    lay_out(k, begin, begin + x.layout.period);
    repeat(buffer[k], static_cast<std::size_t>(x.layout.period) * x.bytes,
           static_cast<std::size_t>(std::min(tile, end - begin)) * x.bytes);
  }
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t n = std::min(tile, end - at);
    for (std::size_t k = 0; k < count; ++k) {
      const Operand& x = operand[k];
      if (x.layout.kind == Layout::Kind::linear) in[k].data = x.data + at * static_cast<std::int64_t>(x.bytes);
      if (x.layout.kind == Layout::Kind::strided && x.layout.period > tile) lay_out(k, at, at + n);
    }
    loop(in, to, n);
    to += n * static_cast<std::int64_t>(out_bytes);
  }
}

void Job::classify() {
  std::int64_t longest = 1;
  bool repeats = nest.rank > 1 && nest.extent[nest.rank - 1] <= call_run;  // everything that is to be laid out
  for (std::size_t k = 0; k < count; ++k) {
    Operand& x = operand[k];
    if (!x.data) continue;
    x.layout = layout_of(nest, k);
    if (x.layout.period <= tile_elements) longest = std::max(longest, x.layout.period);
    repeats = repeats && x.layout.period <= tile_elements / 2;
  }
  tile = tile_elements / longest * longest;  // periods divide each other
  by_tiles = nest.rank == 0 || short_rows() || repeats;
}

std::size_t Job::turned_like(std::size_t k) const {
  const auto same = [&](std::size_t j) {
    return operand[j].turned && operand[j].data == operand[k].data && operand[j].bytes == operand[k].bytes &&
           std::equal(nest.stride[j], nest.stride[j] + nest.rank, nest.stride[k]);
  };
  std::size_t first = 0;
  while (!same(first)) ++first;
  return first;
}

void Job::turns(std::int64_t begin, std::int64_t end, std::byte* out) const {
  alignas(64) std::byte buffer[most_turned][turned_bytes + turned_line * apart];
  const int last = nest.rank - 1;
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t column = t % matrix.chunks * matrix.width,
                       first = t / matrix.chunks % matrix.strips * matrix.height;
    const std::int64_t wide = std::min(matrix.width, matrix.columns - column),
                       high = std::min(matrix.height, matrix.rows - first);
    // Where the tile begins: in each operand, and in the result, which is dense.
    std::int64_t offset[max_operands] = {}, out_offset = 0, dense = 1, out_row = 0;
    std::int64_t outer = t / matrix.chunks / matrix.strips;
    for (int d = last; d >= 0; --d) {
      std::int64_t index = d == last ? column : first;
      if (d != last && d != matrix.row) {
        index = outer % nest.extent[d];
        outer /= nest.extent[d];
      }
      for (std::size_t k = 0; k < count; ++k) offset[k] += index * nest.stride[k][d];
      out_offset += index * dense;
      if (d == matrix.row) out_row = dense;
      dense *= nest.extent[d];
    }
    kernels::Strided in[max_operands];
    std::int64_t row_bytes[max_operands];
    std::byte* free = buffer[0];
    for (std::size_t k = 0; k < count; ++k) {
      const Operand& x = operand[k];
      const auto bytes = static_cast<std::int64_t>(x.bytes);
      in[k] = {x.data + offset[k] * bytes, nest.stride[k][last]};
      row_bytes[k] = nest.stride[k][matrix.row] * bytes;
      if (!x.turned) continue;
      if (const std::size_t first_like = turned_like(k); first_like < k) {
        in[k] = in[first_like];
        row_bytes[k] = row_bytes[first_like];
        continue;
      }
      const std::int64_t pitch = wide + apart / bytes;
      kernels::copy_matrix(in[k].data, nest.stride[k][matrix.row], nest.stride[k][last], free, pitch, high, wide,
                           x.bytes);
      in[k] = {free, 1};
      row_bytes[k] = pitch * bytes;
      free += sizeof buffer[0];
    }
    std::byte* to = out + out_offset * static_cast<std::int64_t>(out_bytes);
    for (std::int64_t r = 0; r < high; ++r, to += out_row * static_cast<std::int64_t>(out_bytes)) {
      loop(in, to, wide);
      for (std::size_t k = 0; k < count; ++k)
        if (in[k].data) in[k].data = static_cast<const std::byte*>(in[k].data) + row_bytes[k];
    }
  }
}

void Job::choose_matrix() {
  const int last = nest.rank - 1;
  int turned = 0;
  std::size_t widest = 1;
  for (std::size_t k = 0; k < count; ++k) {
    const int d = operand[k].data ? closest(nest, k) : last;
    if (d == last || turned == most_turned || (matrix.row >= 0 && matrix.row != d)) continue;
    matrix.row = d;
    operand[k].turned = true;
    widest = std::max(widest, operand[k].bytes);
    ++turned;
  }
  if (turned == 0) return;
  MatrixTiles& m = matrix;
  m.rows = nest.extent[m.row];
  m.columns = nest.extent[last];
  m.height = std::min(m.rows, std::min<std::int64_t>(64, turned_line / static_cast<std::int64_t>(widest)));
  m.width = turned_bytes / static_cast<std::int64_t>(widest) / m.height / 16 * 16;
  m.strips = (m.rows - 1) / m.height + 1;
  m.chunks = (m.columns - 1) / m.width + 1;
}

void pointwise_any(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  const std::int64_t size = to->size;
  if (size == 0) return;
  Tensor copies[max_operands];
  const detail::Block* x[max_operands] = {};
  for (std::size_t k = 0; k < in.size(); ++k)
    if (in[k]) x[k] = detail::block(*in[k]);
  Job job(loop, in.size(), item_size(to->dtype));
  job.lay(shape, x);
  if (job.nest.rank > 1) {
    if (!job.short_rows()) job.choose_matrix();
    bool copied = false;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!x[k] || job.operand[k].turned || !transposed(x[k])) continue;
      const int d = closest(job.nest, k), last = job.nest.rank - 1;
      const bool in_order = d == last && job.nest.stride[k][last] != 0;
      // Whole rows of a tile are turned where it is laid out; long runs of one element are no work.
      if (in_order || (job.short_rows() ? d == last - 1 : d == last)) continue;
      copies[k] = contiguous(*in[k]);
      x[k] = detail::block(copies[k]);
      copied = true;
    }
    if (copied) {  // dimensions may join now
      job.lay(shape, x);
      if (job.nest.rank > 1 && !job.short_rows()) job.choose_matrix();
    }
  }
  const std::int64_t grain = grain_of(size);
  if (const MatrixTiles& m = job.matrix; m.row >= 0)
    return in_pieces(size, size / (m.rows * m.columns) * m.strips * m.chunks,
                     std::max<std::int64_t>(1, grain / (m.height * m.width)),
                     [&](std::int64_t begin, std::int64_t end) { job.turns(begin, end, to->data); });
  job.classify();
  const auto bytes = static_cast<std::int64_t>(job.out_bytes);
  const std::int64_t each = job.by_tiles ? grain / job.tile * job.tile : grain;
  const bool in_place =
      std::any_of(x, x + in.size(), [to](const detail::Block* b) { return b && b->data == to->data; });
  if (in_place || !too_large_for_caches(size * bytes))
    return in_pieces(size, size, each,
                     [&](std::int64_t begin, std::int64_t end) { job.compute(begin, end, to->data + begin * bytes); });
  in_pieces(size, size, each, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte block[block_bytes];
    in_blocks(begin, end, static_cast<std::int64_t>(block_bytes) / bytes, [&](std::int64_t at, std::int64_t n) {
      job.compute(at, at + n, block);
      kernels::stream(block, to->data + at * bytes, static_cast<std::size_t>(n * bytes));
    });
    kernels::streamed();
  });
}

void pointwise_into_sum(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, kernels::Loop add,
                        const Tensor& sum) {
  const detail::Block* to = detail::block(sum);
  const std::int64_t size = to->size;
  const auto bytes = static_cast<std::int64_t>(item_size(to->dtype));
  const std::int64_t most = static_cast<std::int64_t>(block_bytes) / bytes;
  if (size == 0) return;
  const auto added = [&](const std::byte* block, std::int64_t at, std::int64_t n) {
    const kernels::Strided both[] = {{to->data + at * bytes, 1}, {block, 1}};
    add(both, to->data + at * bytes, n);
  };
  const detail::Block* x[max_operands] = {};
  bool turned = false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) continue;
    x[k] = detail::block(*in[k]);
    turned = turned || transposed(x[k]);
  }
  if (turned) {  // by tiles, not by blocks
    const Tensor term = detail::empty(to->dtype, shape);
    pointwise(loop, shape, in, term);
    return in_pieces(size, size, grain_of(size), [&](std::int64_t begin, std::int64_t end) {
      added(detail::block(term)->data + begin * bytes, begin, end - begin);
    });
  }
  Job job(loop, in.size(), item_size(to->dtype));
  job.lay(shape, x);
  job.classify();
  in_pieces(size, size, grain_of(size), [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte block[block_bytes];
    in_blocks(begin, end, most, [&](std::int64_t at, std::int64_t n) {
      job.compute(at, at + n, block);
      added(block, at, n);
    });
  });
}

}  // namespace reel::loops
