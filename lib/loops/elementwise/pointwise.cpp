// Elementwise loops over broadcast and strided operands. The result is contiguous, so a range of it is a range of flat
// positions; along the innermost loop each operand is a run with some stride. Results larger than the caches are
// written with non-temporal stores.
#include <algorithm>

#include "core/system/system.hpp"
#include "kernels/baseline/copy.hpp"
#include "loops/elementwise/plan.hpp"
#include "loops/loops.hpp"
#include "loops/tuning.hpp"

namespace reel::loops {
namespace {

using namespace tuning;

// Calls run(begin, end) on ranges of [0, n), in parallel if `size` elements are worth it.
template <class Run>
void for_ranges(std::int64_t size, std::int64_t n, std::int64_t each, const Run& run) {
  if (size < parallel_threshold)
    run(std::int64_t{0}, n);
  else
    parallel_for(n, each, run);
}
// Calls work(at, n) on blocks of at most `most` of the positions [begin, end).
template <class Work>
void for_blocks(std::int64_t begin, std::int64_t end, std::int64_t most, const Work& work) {
  for (std::int64_t at = begin; at < end; at += most) work(at, std::min(most, end - at));
}

std::int64_t half_of_last_cache() {
  const std::int64_t bytes = os::last_cache_bytes();
  return bytes > 0 ? bytes / 2 : non_temporal_bytes_default;
}
bool too_large_for_caches(std::int64_t bytes, std::int64_t nontemporal_from) {
  if (nontemporal_from != 0) return bytes >= nontemporal_from;
  if (bytes < non_temporal_bytes_min) return false;
  static const std::int64_t most = half_of_last_cache();
  return bytes >= most;
}

std::int64_t grain_of(std::int64_t size) {
  constexpr std::int64_t multiple = 1024;  // elements: a page of float32
  return std::clamp(size / tasks_wanted / multiple * multiple, pointwise_grain_min, pointwise_grain_max);
}

// Sets the plan's operands, and chooses matrices for the transposed ones. Operands that no tile can transpose are
// replaced by contiguous copies.
void choose_order(ElementwisePlan& plan, const Shape& shape, std::span<const Tensor* const> in,
                  const detail::Block* (&x)[max_operands], Tensor (&copies)[max_operands]) {
  plan.set_operands(shape, x);
  if (plan.nest.rank <= 1) return;
  if (!plan.short_rows()) plan.choose_matrix();
  bool copied = false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!x[k] || plan.operand[k].transposed || !transposed(x[k])) continue;
    const int d = closest(plan.nest, k), last = plan.nest.rank - 1;
    const bool in_order = d == last && plan.nest.stride[k][last] != 0;
    // Packing transposes whole rows of a block; long runs of one element need no packing.
    if (in_order || (plan.short_rows() ? d == last - 1 : d == last)) continue;
    copies[k] = contiguous(*in[k]);
    x[k] = detail::block(copies[k]);
    copied = true;
  }
  if (!copied) return;
  plan.set_operands(shape, x);  // dimensions may merge now
  if (plan.nest.rank > 1 && !plan.short_rows()) plan.choose_matrix();
}

// Computes the results at positions [begin, end) with non-temporal stores.
void compute_past_caches(const ElementwisePlan& plan, std::int64_t begin, std::int64_t end, std::byte* out) {
  alignas(64) std::byte block[block_bytes];
  const auto bytes = static_cast<std::int64_t>(plan.out_bytes);
  for_blocks(begin, end, static_cast<std::int64_t>(block_bytes) / bytes, [&](std::int64_t at, std::int64_t n) {
    plan.compute(at, at + n, block);
    kernels::copy_nontemporal(block, out + at * bytes, static_cast<std::size_t>(n * bytes));
  });
  kernels::nontemporal_fence();
}

// to = loop(to, x), in place.
struct InPlace {
  static constexpr std::size_t to_side = 0, x_side = 1;
  kernels::Loop loop;
  std::byte* to;
  const std::byte* x;
  std::int64_t bytes;
  LoopNest<2> nest;

  // Computes the elements at positions [begin, end). Elements that are not contiguous go through a block.
  void compute(std::int64_t begin, std::int64_t end) const {
    const int last = nest.rank - 1;
    const std::int64_t length = nest.extent[last], most = static_cast<std::int64_t>(block_bytes) / bytes;
    const std::int64_t to_stride = nest.stride[to_side][last], x_stride = nest.stride[x_side][last];
    alignas(64) std::byte block[block_bytes];
    IndexIterator index(nest, begin / length);
    std::int64_t within = begin % length;
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t left = std::min(length - within, end - at), n = to_stride == 1 ? left : std::min(left, most);
      std::byte* y = to + (index.offset(to_side) + within * to_stride) * bytes;
      const kernels::Strided in[] = {{y, to_stride},
                                     {x + (index.offset(x_side) + within * x_stride) * bytes, x_stride}};
      loop(in, to_stride == 1 ? y : block, n);
      if (to_stride != 1) kernels::copy({block, 1}, y, to_stride, n, static_cast<std::size_t>(bytes));
      at += n;
      within += n;
      if (within < length) continue;
      within = 0;
      index.next();
    }
  }
};

}  // namespace

void pointwise_into_view(kernels::Loop loop, const Tensor& x, const Tensor& view) {
  const detail::Block *from = detail::block(x), *to = detail::block(view);
  const Tensor* const both[] = {&view, &x};
  if (to->contiguous()) return pointwise(loop, both, view);
  InPlace c{loop, to->data, from->data, static_cast<std::int64_t>(item_size(to->dtype)), {}};
  for (int d = 0; d < to->rank; ++d)
    c.nest.push(to->extents()[d], {to->strides()[d], broadcast_stride(from, d, to->rank)});
  const bool short_rows = c.nest.rank > 1 && c.nest.extent[c.nest.rank - 1] < short_run;
  if (c.nest.rank > 0 && !short_rows && !transposed(from))
    return for_ranges(to->size, to->size, grain_of(to->size),
                      [&c](std::int64_t begin, std::int64_t end) { c.compute(begin, end); });
  const Tensor result = detail::empty(to->dtype, to->shape());
  pointwise(loop, both, result);
  copy(result, view);
}

void pointwise_any(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, const Tensor& out,
                   std::int64_t nontemporal_from) {
  const detail::Block* to = detail::block(out);
  const std::int64_t size = to->size;
  if (size == 0) return;
  Tensor copies[max_operands];
  const detail::Block* x[max_operands] = {};
  for (std::size_t k = 0; k < in.size(); ++k)
    if (in[k]) x[k] = detail::block(*in[k]);
  ElementwisePlan plan(loop, in.size(), item_size(to->dtype));
  choose_order(plan, shape, in, x, copies);
  const std::int64_t grain = grain_of(size);
  if (const MatrixTiles& m = plan.matrix; m.row >= 0)
    return for_ranges(size, size / (m.rows * m.columns) * m.strips * m.chunks,
                      std::max<std::int64_t>(1, grain / (m.height * m.width)),
                      [&](std::int64_t begin, std::int64_t end) { plan.compute_tiles(begin, end, to->data); });
  plan.classify();
  const auto bytes = static_cast<std::int64_t>(plan.out_bytes);
  const std::int64_t each = plan.packed ? grain / plan.block * plan.block : grain;
  const bool in_place =
      std::any_of(x, x + in.size(), [to](const detail::Block* b) { return b && b->data == to->data; });
  const bool past_caches = !in_place && too_large_for_caches(size * bytes, nontemporal_from);
  for_ranges(size, size, each, [&](std::int64_t begin, std::int64_t end) {
    if (past_caches)
      compute_past_caches(plan, begin, end, to->data);
    else
      plan.compute(begin, end, to->data + begin * bytes);
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
  bool any_transposed = false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) continue;
    x[k] = detail::block(*in[k]);
    any_transposed = any_transposed || transposed(x[k]);
  }
  if (any_transposed) {  // by tiles instead of blocks
    const Tensor term = detail::empty(to->dtype, shape);
    pointwise(loop, shape, in, term);
    return for_ranges(size, size, grain_of(size), [&](std::int64_t begin, std::int64_t end) {
      added(detail::block(term)->data + begin * bytes, begin, end - begin);
    });
  }
  ElementwisePlan plan(loop, in.size(), item_size(to->dtype));
  plan.set_operands(shape, x);
  plan.classify();
  for_ranges(size, size, grain_of(size), [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::byte block[block_bytes];
    for_blocks(begin, end, most, [&](std::int64_t at, std::int64_t n) {
      plan.compute(at, at + n, block);
      added(block, at, n);
    });
  });
}

}  // namespace reel::loops
