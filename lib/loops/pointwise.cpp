// Elementwise loops over broadcast and strided operands. The result is contiguous, so a piece of it is a range of flat
// positions; each operand is a run of some stride along the innermost loop. Where that loop is short, operands are laid
// out in a tile on the stack first, so that a kernel is called per tile and not per few elements.
#include <algorithm>

#include "loops/layout.hpp"
#include "loops/loops.hpp"

namespace reel::loops {
namespace {

constexpr std::int64_t piece = 16384;   // elements that one thread takes at a time
constexpr std::int64_t short_run = 16;  // below: tiles
constexpr std::int64_t tile_elements = 512;

struct Operand {
  Layout layout;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

struct Job {
  kernels::Loop loop;
  std::size_t count;
  Operand operand[max_operands];
  Nest<max_operands> nest;
  std::byte* out;
  std::size_t out_bytes;
  std::int64_t tile = 0;  // a multiple of every period that fits

  void rows(std::int64_t begin, std::int64_t end) const;
  void tiles(std::int64_t begin, std::int64_t end) const;
  void lay_out(std::size_t k, std::int64_t begin, std::int64_t end, std::byte* to) const {
    loops::lay_out(nest, k, operand[k].data, operand[k].bytes, begin, end, to);
  }
};

// One call of the kernel for each row of the innermost loop.
void Job::rows(std::int64_t begin, std::int64_t end) const {
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
    loop(in, out + at * static_cast<std::int64_t>(out_bytes), n);
    at += n;
    within = 0;
  }
}

// One call for each tile. `begin` is a multiple of the tile, so that what repeats within it is laid out once.
void Job::tiles(std::int64_t begin, std::int64_t end) const {
  alignas(64) std::byte buffer[max_operands][tile_elements * 16];
  kernels::Strided in[max_operands];
  for (std::size_t k = 0; k < count; ++k) {
    const Operand& x = operand[k];
    in[k] = {x.data, x.layout.kind == Layout::Kind::single || x.layout.kind == Layout::Kind::none ? 0 : 1};
    if (x.layout.kind != Layout::Kind::strided) continue;
    in[k].data = buffer[k];
    if (x.layout.period > tile) continue;
    lay_out(k, begin, begin + x.layout.period, buffer[k]);
    repeat(buffer[k], static_cast<std::size_t>(x.layout.period) * x.bytes, static_cast<std::size_t>(tile) * x.bytes);
  }
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t n = std::min(tile, end - at);
    for (std::size_t k = 0; k < count; ++k) {
      const Operand& x = operand[k];
      if (x.layout.kind == Layout::Kind::linear) in[k].data = x.data + at * static_cast<std::int64_t>(x.bytes);
      if (x.layout.kind == Layout::Kind::strided && x.layout.period > tile) lay_out(k, at, at + n, buffer[k]);
    }
    loop(in, out + at * static_cast<std::int64_t>(out_bytes), n);
  }
}

void classify(Job& job) {
  std::int64_t longest = 1;
  for (std::size_t k = 0; k < job.count; ++k) {
    Operand& x = job.operand[k];
    if (!x.data) continue;
    x.layout = layout_of(job.nest, k);
    if (x.layout.period <= tile_elements) longest = std::max(longest, x.layout.period);
  }
  job.tile = tile_elements / longest * longest;  // periods divide each other
}

}  // namespace

void pointwise_any(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out) {
  const detail::Block* to = detail::block(out);
  const std::int64_t size = to->size;
  if (size == 0) return;
  Tensor copies[max_operands];
  const detail::Block* x[max_operands] = {};
  Job job;
  job.loop = loop;
  job.count = in.size();
  job.out = to->data;
  job.out_bytes = item_size(to->dtype);
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) continue;
    x[k] = detail::block(*in[k]);
    if (transposed(x[k])) {
      copies[k] = contiguous(*in[k]);
      x[k] = detail::block(copies[k]);
    }
    job.operand[k].data = x[k]->data;
    job.operand[k].bytes = item_size(x[k]->dtype);
  }
  for (int d = 0; d < shape.rank(); ++d) {
    std::int64_t stride[max_operands] = {};
    for (std::size_t k = 0; k < in.size(); ++k)
      if (x[k]) stride[k] = broadcast_stride(x[k], d, shape.rank());
    job.nest.push(shape.begin()[d], stride);
  }
  classify(job);
  const bool tiled = job.nest.rank > 1 && job.nest.extent[job.nest.rank - 1] < short_run;
  const std::int64_t grain = tiled ? piece / job.tile * job.tile : piece;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    if (tiled)
      job.tiles(begin, end);
    else
      job.rows(begin, end);
  };
  if (size < parallel_threshold)
    run(0, size);
  else
    parallel_for(size, grain, run);
}

}  // namespace reel::loops
