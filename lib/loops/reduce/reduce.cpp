// Reductions over any axes. Elements are combined in a tree that extents and strides alone determine:
// 1. If a reduced axis has the smallest stride, the kernel combines runs along it, pairwise.
// 2. Otherwise rows along a remaining axis are merged, in the order of a binary counter of partial rows.
// 3. The terms (runs, or rows) of a large reduction are divided into ranges, even with one thread. Their partial
// results are reduced in the same way.
//
// The elements may be computed on the way, a run or a row at a time, without an array of all of them.
#include "loops/reduce/reduce.hpp"

#include <algorithm>

#include "kernels/comparisons.hpp"
#include "kernels/products.hpp"
#include "kernels/short_rows.hpp"
#include "kernels/table.hpp"
#include "loops/elementwise/cast.hpp"
#include "loops/elementwise/compare.hpp"
#include "loops/elementwise/plan.hpp"
#include "loops/make/fill.hpp"
#include "loops/reduce/rows.hpp"

namespace reel::loops {
namespace {

using kernels::Reduction;

constexpr std::int64_t combine_grain = 65536;   // elements that one task combines, approximately
constexpr std::int64_t computed_length = 2048;  // length of the parts of a run that is computed on the way
constexpr std::int64_t max_tasks = 256;         // approximate limit, for the largest reductions
// Rows longer than this are divided into strips; a range has few_rows of each. Neighbours in memory are then read soon
// after each other.
constexpr std::int64_t long_row = 2048;     // bytes
constexpr std::int64_t strip_bytes = 8192;  // of one row
constexpr std::int64_t few_rows = 64;
constexpr std::int64_t leaf = 8;                               // rows added one after the other
constexpr int max_levels = 40;                                 // of the counter: 8 * 2^40 rows
constexpr std::int64_t counter_bytes = max_levels * long_row;  // or few_rows of strips
constexpr std::int64_t least_run = 16;           // smallest extent of a reduced axis that is combined by runs
constexpr std::int64_t least_row = 16;           // smallest extent of a remaining axis that is merged by rows
constexpr std::int64_t split_bytes = 16 * 1024;  // of points whose coordinates are split: half of L1
// Points of n coordinates in a tile, whose columns begin with a cache line, and differ modulo 4096 bytes.
constexpr std::int64_t points_per_tile(std::int64_t n, std::int64_t bytes) {
  return std::min<std::int64_t>(split_bytes / (n * bytes) / 16 * 16, 240);
}
static_assert(kernels::short_row_max <= 2 * leaf);  // the order of the tree: a sequence of rows, or two of them
// Reductions of up to this many elements, with rows up to this length, are halved repeatedly instead of merged by rows.
constexpr std::int64_t halved_elements = 2048;
constexpr std::int64_t halved_row = 128;

// What one reduction reads, combines and writes.
struct ReductionPlan {
  const Reduction& op;
  DType dtype;
  std::size_t bytes;
  const std::byte* from;
  std::byte* to;
  LoopNest<1> kept;     // outermost first; `to` has them row-major without gaps
  LoopNest<1> reduced;  // by decreasing stride; strides are not negative
  // Computes the elements if they are not in memory: `from` is null then, and strides are those of a dense array.
  const ElementwisePlan* computed = nullptr;
  // If not null, for one line of elements: the runs, combined already. `from` is null then.
  const std::byte* runs = nullptr;
  // If not null, it combines the runs, whose elements follow one another, instead of op.
  void (*run)(const void* x, std::ptrdiff_t n, void* out) = nullptr;
};

std::int64_t count(const LoopNest<1>& nest) {
  std::int64_t n = 1;
  for (int d = 0; d < nest.rank; ++d) n *= nest.extent[d];
  return n;
}
void append(LoopNest<1>& nest, std::int64_t extent, std::int64_t stride) { nest.push(extent, {stride}); }
LoopNest<1> without(const LoopNest<1>& nest, int axis) {
  LoopNest<1> rest;
  for (int d = 0; d < nest.rank; ++d)
    if (d != axis) append(rest, nest.extent[d], nest.stride[0][d]);
  return rest;
}
std::int64_t offset_of(const LoopNest<1>& nest, std::int64_t at) { return nest.offset(0, at, nest.rank); }

// How a reduction is divided: outputs into groups, terms (runs, or rows) into ranges.
struct Partition {
  std::int64_t groups, per_group, ranges, terms;
  std::int64_t tasks_at_once;  // number of tasks that are worth a thread
  std::int64_t first_term(std::int64_t range) const { return terms / ranges * range + std::min(range, terms % ranges); }
};
Partition partition(std::int64_t outputs, std::int64_t terms, std::int64_t elements_per_output,
                    std::int64_t longest_range) {
  const std::int64_t per_group = std::clamp<std::int64_t>(combine_grain / elements_per_output, 1, outputs);
  const std::int64_t groups = (outputs - 1) / per_group + 1, elements = outputs * elements_per_output;
  const std::int64_t aim = std::clamp<std::int64_t>(elements / combine_grain, 1, max_tasks);
  const std::int64_t most = std::min(terms, std::max<std::int64_t>(1, elements_per_output / (combine_grain / 2)));
  std::int64_t ranges = std::min((aim + groups - 1) / groups, most);
  ranges = std::max(ranges, (terms - 1) / longest_range + 1);
  return {groups, per_group, ranges, terms,
          std::max<std::int64_t>(1, combine_grain / (elements / (groups * ranges) + 1))};
}

void execute(const ReductionPlan& p);

// Calls body(first, last, range, out) for each range and group of outputs; `out` holds the range's partial results.
// Then combines these.
template <class Body>
void for_ranges(const ReductionPlan& p, const Partition& c, std::int64_t outputs, std::int64_t results,
                const Body& body) {
  Tensor scratch;
  std::byte* out = p.to;
  if (c.ranges > 1) {
    scratch = detail::empty(p.dtype, {c.ranges, results});
    out = detail::block(scratch)->data;
  }
  const std::int64_t stride = results * static_cast<std::int64_t>(p.bytes);
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t range = t / c.groups, group = t % c.groups;
      body(group * c.per_group, std::min(outputs, (group + 1) * c.per_group), range, out + range * stride);
    }
  };
  parallel_for(c.groups * c.ranges, c.tasks_at_once, run);
  if (c.ranges == 1) return;
  ReductionPlan rest{p.op, p.dtype, p.bytes, out, p.to, {}, {}};
  append(rest.kept, results, 1);
  append(rest.reduced, c.ranges, results);
  execute(rest);
}

// Combines any number of single values: runs of 64 of them, of 64 of those, and so on.
class Partials {
 public:
  explicit Partials(const ReductionPlan& p) : op_(p.op), bytes_(p.bytes) {}
  // The place for the next value; call added() afterwards.
  void* next() { return at(0, filled_[0]); }
  void added() {
    for (int level = 0; ++filled_[level] == width; ++level) {
      op_.run({at(level, 0), 1}, width, at(level + 1, filled_[level + 1]));
      filled_[level] = 0;
    }
  }
  void finish(void* out) {
    int level = 0;
    for (; level < top(); ++level) {
      if (filled_[level] == 0) continue;
      op_.run({at(level, 0), 1}, filled_[level], at(level + 1, filled_[level + 1]));
      ++filled_[level + 1];  // at most `width`: the buffer has room for one more than added() leaves
    }
    op_.run({at(level, 0), 1}, filled_[level], out);
  }

 private:
  static constexpr std::int64_t width = 64;  // values per run
  static constexpr int levels = 8;           // 64^8 values
  int top() const {
    int level = levels - 1;
    while (level > 0 && filled_[level] == 0) --level;
    return level;
  }
  void* at(int level, std::int64_t i) { return buffer_[level] + i * static_cast<std::int64_t>(bytes_); }
  const Reduction& op_;
  std::size_t bytes_;
  std::int64_t filled_[levels] = {};
  alignas(64) std::byte buffer_[levels][width * 16];
};

// A run whose elements are computed on the way.
void run_computed(const ReductionPlan& p, std::int64_t begin, std::int64_t n, void* to) {
  alignas(64) std::byte buffer[computed_length * 16];
  p.computed->compute(begin, begin + n, buffer);
  p.op.run({buffer, 1}, n, to);
}

// Each output is a tree of runs along one reduced axis.
void by_runs(const ReductionPlan& p, int axis) {
  const bool any = p.reduced.rank > 0;
  const std::int64_t length = any ? p.reduced.extent[axis] : 1, stride = any ? p.reduced.stride[0][axis] : 0;
  const LoopNest<1> others = without(p.reduced, axis);
  const std::int64_t part = p.computed ? computed_length : run_length, parts = (length - 1) / part + 1;
  const std::int64_t outputs = count(p.kept), terms = count(others) * parts;
  const Partition c = partition(outputs, terms, count(p.reduced), terms);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  const auto run = [&](std::int64_t offset, std::int64_t term, void* to) {
    const std::int64_t begin = term % parts * part, n = std::min(part, length - begin);
    if (others.rank > 0) offset += offset_of(others, term / parts);
    if (p.computed)
      run_computed(p, offset + begin, n, to);
    else if (p.runs)
      std::memcpy(to, p.runs + term * bytes, p.bytes);
    else if (p.run)
      p.run(p.from + (offset + begin) * bytes, n, to);
    else
      p.op.run({p.from + (offset + begin * stride) * bytes, stride}, n, to);
  };
  for_ranges(p, c, outputs, outputs, [&](std::int64_t first, std::int64_t last, std::int64_t range, std::byte* out) {
    const std::int64_t begin = c.first_term(range), end = c.first_term(range + 1);
    IndexIterator index(p.kept, first, p.kept.rank);
    for (std::int64_t o = first; o < last; ++o, index.next()) {
      if (end - begin == 1) {
        run(index.offset(0), begin, out + o * bytes);
        continue;
      }
      Partials partials(p);
      for (std::int64_t term = begin; term < end; ++term) {
        run(index.offset(0), term, partials.next());
        partials.added();
      }
      partials.finish(out + o * bytes);
    }
  });
}

// Combines rows of up to `width` elements, one for each index of the reduced axes.
struct Rows {
  const ReductionPlan& p;
  std::int64_t stride, width;  // stride of a row's elements; number of elements

  void load(std::int64_t offset, std::byte* to) const {
    if (p.computed) return p.computed->compute(offset, offset + width, to);
    const std::byte* row = p.from + offset * static_cast<std::int64_t>(p.bytes);
    if (stride == 1)
      std::memcpy(to, row, static_cast<std::size_t>(width) * p.bytes);
    else
      with_size(p.bytes, [&](auto element) { gather<decltype(element)>(row, stride, to, width); });
  }
  // to = the sum of up to `leaf` rows from the index on, one after the other.
  void sequence(std::int64_t offset, IndexIterator<1>& index, std::int64_t rows, std::byte* to,
                std::byte* spare) const {
    if (stride == 1 && !p.computed && p.op.merge_all) {
      const void* row[leaf];
      for (std::int64_t r = 0; r < rows; ++r, index.next())
        row[r] = p.from + (offset + index.offset(0)) * static_cast<std::int64_t>(p.bytes);
      return p.op.merge_all(row, rows, to, width);
    }
    load(offset + index.offset(0), to);
    index.next();
    const bool in_memory = stride == 1 && !p.computed;
    for (std::int64_t r = 1; r < rows; ++r, index.next()) {
      const std::int64_t at = offset + index.offset(0);
      if (!in_memory) load(at, spare);
      p.op.merge(to, in_memory ? p.from + at * static_cast<std::int64_t>(p.bytes) : spare, width);
    }
  }
  // The same, if the rows are columns of a matrix without gaps, such as the coordinates of points: they are split off
  // in tiles. False if they are not, or there are too many.
  bool of_points(std::int64_t offset, std::int64_t rows, std::byte* to) const {
    if (p.computed || stride != rows || p.reduced.rank != 1 || p.reduced.stride[0][0] != 1) return false;
    if (!kernels::is_short_row(rows)) return false;
    alignas(64) std::byte tile[split_bytes];
    const auto bytes = static_cast<std::int64_t>(p.bytes);
    const std::int64_t most =
        points_per_tile(std::max<std::int64_t>(kernels::split_columns(rows, p.bytes), rows + 1), bytes);
    for (std::int64_t i = 0; i < width; i += most) {
      const std::int64_t n = std::min(most, width - i);
      kernels::split_rows(p.from + (offset + i * rows) * bytes, rows, n, tile, most, p.bytes);
      const void* column[kernels::short_row_max];
      for (std::int64_t r = 0; r < rows; ++r) column[r] = tile + r * most * bytes;
      combine_columns(column, std::min(leaf, rows), to + i * bytes, n);
      if (rows <= leaf) continue;
      std::byte* const second = tile + rows * most * bytes;
      combine_columns(column + leaf, rows - leaf, second, n);
      p.op.merge(to + i * bytes, second, n);
    }
    return true;
  }
  // to = the columns, one after the other.
  void combine_columns(const void* const* column, std::int64_t columns, std::byte* to, std::int64_t n) const {
    if (p.op.merge_all) return p.op.merge_all(column, columns, to, n);
    std::memcpy(to, column[0], static_cast<std::size_t>(n) * p.bytes);
    for (std::int64_t r = 1; r < columns; ++r) p.op.merge(to, column[r], n);
  }
  // The same for any number of rows, by a binary counter of partial rows.
  void tree(std::int64_t offset, IndexIterator<1>& index, std::int64_t rows, std::byte* to) const {
    if (of_points(offset + index.offset(0), rows, to)) return;
    alignas(64) std::byte spare[strip_bytes];
    if (rows <= leaf) return sequence(offset, index, rows, to, spare);
    alignas(64) std::byte counter[counter_bytes];
    const std::int64_t bytes = width * static_cast<std::int64_t>(p.bytes), apart = (bytes + 63) / 64 * 64;
    std::byte* next = counter;
    for (std::int64_t done = 0, leaves = 1; done < rows; done += leaf, ++leaves) {
      sequence(offset, index, std::min(leaf, rows - done), next, spare);
      next += apart;
      for (std::int64_t bits = leaves; bits % 2 == 0; bits /= 2, next -= apart)
        p.op.merge(next - 2 * apart, next - apart, width);
    }
    for (; next - apart != counter; next -= apart) p.op.merge(next - 2 * apart, next - apart, width);
    std::memcpy(to, counter, static_cast<std::size_t>(bytes));
  }
};

// Outputs are rows along the last remaining axis; one row per index of the reduced axes is added to them.
void merge_rows(const ReductionPlan& p) {
  const int last = p.kept.rank - 1;
  const std::int64_t length = p.kept.extent[last], stride = p.kept.stride[0][last], terms = count(p.reduced);
  const LoopNest<1> outer = without(p.kept, last);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  const std::int64_t width = length * bytes <= long_row ? length : std::min(length, strip_bytes / bytes);
  const std::int64_t strips = (length - 1) / width + 1, results = count(p.kept);
  const Partition c =
      partition(count(outer) * strips, terms, terms * width, width * bytes > long_row ? few_rows : terms);
  for_ranges(p, c, count(outer) * strips, results,
             [&](std::int64_t first, std::int64_t end, std::int64_t range, std::byte* out) {
               const std::int64_t begin_term = c.first_term(range), end_term = c.first_term(range + 1);
               for (std::int64_t o = first; o < end; ++o) {
                 const std::int64_t column = o % strips * width;
                 const Rows rows{p, stride, std::min(width, length - column)};
                 IndexIterator index(p.reduced, begin_term, p.reduced.rank);
                 rows.tree(offset_of(outer, o / strips) + column * stride, index, end_term - begin_term,
                           out + (o / strips * length + column) * bytes);
               }
             });
}

// Combines adjacent short rows, not many: the second half with the first until one row is left.
void halve(const Reduction& op, std::size_t size, const std::byte* from, std::int64_t rows, std::int64_t width,
           std::byte* out) {
  alignas(64) std::byte half[halved_elements / 2 * 16];
  const auto bytes = static_cast<std::int64_t>(size);
  for (; rows > 1; rows /= 2, from = half) {
    const std::int64_t kept = rows / 2 * width;
    const std::byte* const second = from + kept * bytes;
    std::byte* const to = rows < 4 ? out : half;
    if (to != from && op.merge_all) {
      const void* const both[] = {from, second};
      op.merge_all(both, 2, to, kept);
    } else {
      if (to != from) std::memcpy(to, from, static_cast<std::size_t>(kept * bytes));
      op.merge(to, second, kept);
    }
    if (rows % 2 != 0) op.merge(to, second + kept * bytes, width);
  }
}
bool is_halved(std::int64_t rows, std::int64_t width) {
  return rows * width <= halved_elements && width <= halved_row && (width >= least_row || rows < 8 * (256 / width));
}

void halved(const ReductionPlan& p) {
  const int last = p.kept.rank - 1;
  const std::int64_t width = p.kept.extent[last], total = p.reduced.extent[0];
  const LoopNest<1> outer = without(p.kept, last);
  const Partition c = partition(count(outer), 1, total * width, 1);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  for_ranges(p, c, count(outer), count(p.kept),
             [&](std::int64_t first, std::int64_t end, std::int64_t, std::byte* out) {
               for (std::int64_t o = first; o < end; ++o)
                 halve(p.op, p.bytes, p.from + offset_of(outer, o) * bytes, total, width, out + o * width * bytes);
             });
}

// Many adjacent short rows: `fold` of them are taken as one long row, which is halved at the end.
void folded(const ReductionPlan& p) {
  const int last = p.kept.rank - 1, inner = p.reduced.rank - 1;
  const std::int64_t width = p.kept.extent[last], rows = p.reduced.extent[inner];
  const std::int64_t fold = 256 / width, whole = rows / fold, left = rows % fold, outputs = count(p.kept);
  const LoopNest<1> outer = without(p.kept, last);
  const Tensor wide = detail::empty(p.dtype, {outputs * fold});
  ReductionPlan first{p.op, p.dtype, p.bytes, p.from, detail::block(wide)->data, outer, without(p.reduced, inner)};
  append(first.kept, fold * width, 1);
  append(first.reduced, whole, fold * width);
  execute(first);
  ReductionPlan second{p.op, p.dtype, p.bytes, first.to, p.to, {}, {}};
  append(second.kept, outputs / width, fold * width);
  append(second.kept, width, 1);
  append(second.reduced, fold, width);
  execute(second);
  if (left == 0) return;
  const std::byte* from = p.from + whole * fold * width * static_cast<std::int64_t>(p.bytes);
  const Tensor tail = detail::empty(p.dtype, {outputs});
  ReductionPlan third{p.op, p.dtype, p.bytes, from, detail::block(tail)->data, outer, without(p.reduced, inner)};
  append(third.kept, width, 1);
  append(third.reduced, left, width);
  execute(third);
  p.op.merge(p.to, third.to, outputs);
}

void execute(const ReductionPlan& p) {
  if (p.kept.rank == 0 || p.reduced.rank == 0) return by_runs(p, std::max(0, p.reduced.rank - 1));
  const int inner = p.reduced.rank - 1;
  const std::int64_t run = p.reduced.extent[inner], run_stride = p.reduced.stride[0][inner];
  const std::int64_t row = p.kept.extent[p.kept.rank - 1], row_stride = std::abs(p.kept.stride[0][p.kept.rank - 1]);
  if (row_stride == 0 || run_stride < row_stride) {
    if (run >= least_run) return by_runs(p, inner);
    if (row >= 32 && row_stride != 0) return merge_rows(p);
    int longest = 0;
    for (int d = 1; d <= inner; ++d)
      if (p.reduced.extent[d] >= p.reduced.extent[longest]) longest = d;
    return by_runs(p, longest);
  }
  const bool gapless = p.kept.stride[0][p.kept.rank - 1] == 1 && run_stride == row;
  if (gapless && p.reduced.rank == 1 && is_halved(run, row)) return halved(p);
  if (row >= least_row) return merge_rows(p);
  if (gapless && run >= 8 * (256 / row)) return folded(p);
  if (row < 4 && run >= 32) return by_runs(p, inner);
  merge_rows(p);
}

// Divides the axes: reduced ones, by decreasing stride, and remaining ones.
void set_axes(ReductionPlan& p, int rank, const std::int64_t* extents, const std::int64_t* strides, const Shape& axes) {
  std::int64_t extent[max_rank], stride[max_rank];
  int reduced = 0;
  auto axis = axes.begin();
  for (int d = 0; d < rank; ++d) {
    const std::int64_t e = extents[d];
    std::int64_t s = strides[d];
    if (axis == axes.end() || *axis != d) {
      append(p.kept, e, s);
      continue;
    }
    ++axis;
    if (e == 1) continue;
    if (s < 0) {
      p.from += s * (e - 1) * static_cast<std::int64_t>(p.bytes);
      s = -s;
    }
    int at = reduced++;
    for (; at > 0 && stride[at - 1] < s; --at) extent[at] = extent[at - 1], stride[at] = stride[at - 1];
    extent[at] = e;
    stride[at] = s;
  }
  for (int i = 0; i < reduced; ++i) append(p.reduced, extent[i], stride[i]);
}

}  // namespace

void reduce(const kernels::Reduction& reduction, const Tensor& in, const Shape& axes, const Tensor& out) {
  const detail::Block *x = detail::block(in), *y = detail::block(out);
  if (y->size == 0) return;
  if (x->size == y->size) {  // one element per output
    Tensor scratch;
    const std::byte* from = detail::block(contiguous(in, scratch))->data;
    std::memcpy(y->data, from, static_cast<std::size_t>(y->size) * item_size(y->dtype));
    return;
  }
  if (y->size == 1 && x->contiguous() && x->size <= run_length)
    return reduction.run({x->data, 1}, static_cast<std::ptrdiff_t>(x->size), y->data);
  if (x->rank == 2 && axes.rank() == 1 && axes.data()[0] == 0 && x->contiguous() &&
      is_halved(x->extents()[0], x->extents()[1]))
    return halve(reduction, item_size(x->dtype), x->data, x->extents()[0], x->extents()[1], y->data);
  ReductionPlan p{reduction, x->dtype, item_size(x->dtype), x->data, y->data, {}, {}};
  set_axes(p, x->rank, x->extents(), x->strides(), axes);
  execute(p);
}

bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in,
                      const kernels::Reduction& reduction, const Shape& axes, const Tensor& out) {
  // Elements of the loop, and per call of the kernel, from which on fusing saves more than it costs.
  constexpr std::int64_t fused_elements_min = 32768, least_length = 256;
  const detail::Block* y = detail::block(out);
  const std::int64_t size = shape.elements();
  if (size < fused_elements_min || y->size == 0 || size == y->size) return false;
  const detail::Block* x[max_operands] = {};
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k]) continue;
    x[k] = detail::block(*in[k]);
    if (transposed(x[k])) return false;
  }
  ElementwisePlan plan(loop, in.size(), item_size(y->dtype));
  plan.set_operands(shape, x);
  plan.classify();
  ReductionPlan p{reduction, y->dtype, item_size(y->dtype), nullptr, y->data, {}, {}, &plan};
  std::int64_t strides[max_rank], dense_stride = 1;
  for (int d = shape.rank() - 1; d >= 0; dense_stride *= shape.begin()[d--]) strides[d] = dense_stride;
  set_axes(p, shape.rank(), shape.begin(), strides, axes);
  // Only long runs, and rows without gaps, are worth a kernel call each.
  const int last = p.kept.rank - 1, inner = p.reduced.rank - 1;
  if (last >= 0 && p.kept.stride[0][last] == 1) {
    if (p.kept.extent[last] < least_length) return false;
    merge_rows(p);
  } else {
    if (p.reduced.extent[inner] < least_length) return false;
    by_runs(p, inner);
  }
  return true;
}

// ---- Reductions by function

namespace {

kernels::ArgReduce arg_reduction_of(ReduceFunction f, DType d) {
  const auto& reductions = kernels::active<kernels::ReductionKernels>();
  return (f == ReduceFunction::max ? reductions.argmax : reductions.argmin)[kernels::index(d)];
}

// x = x / y; y broadcasts.
void divide_by(const Tensor& x, const Tensor& y) {
  const Tensor* in[] = {&x, &y};
  const DType dtype = x.dtype();
  pointwise(kernels::pointwise(kernels::index_of<"divide">(), dtype).value, in, x);
}

}  // namespace

bool has_reduction(ReduceFunction f, DType d) noexcept { return kernels::reduction(f, d).run != nullptr; }
bool has_arg_reduction(DType d) noexcept { return arg_reduction_of(ReduceFunction::max, d) != nullptr; }

void reduce(ReduceFunction f, const Tensor& x, const Shape& axes, const Tensor& out) {
  if (detail::block(x)->size != 0) return reduce(kernels::reduction(f, detail::block(x)->dtype), x, axes, out);
  if (f == ReduceFunction::sum || f == ReduceFunction::max)
    fill_zero(out);
  else
    fill_one(out);
}

bool pointwise_reduce(kernels::Loop loop, const Shape& shape, std::span<const Tensor* const> in, ReduceFunction f,
                      const Shape& axes, const Tensor& out) {
  return pointwise_reduce(loop, shape, in, kernels::reduction(f, detail::block(out)->dtype), axes, out);
}

void sum_of_numbers(const Tensor& x, const Shape& axes, const Tensor& out) {
  const detail::Block *in = detail::block(x), *y = detail::block(out);
  if (in->size > y->size && y->size != 0) {
    ReductionPlan p{
        kernels::reduction(ReduceFunction::sum, in->dtype), in->dtype, item_size(in->dtype), in->data, y->data, {}, {}};
    set_axes(p, in->rank, in->extents(), in->strides(), axes);
    p.run = kernels::active<kernels::ReductionKernels>().sum_of_numbers[static_cast<std::size_t>(in->dtype)];
    const int inner = p.reduced.rank - 1, last = p.kept.rank - 1;
    // As in execute(): the runs of reduce() along the reduced axis of the smallest stride.
    if (p.reduced.stride[0][inner] == 1 &&
        (last < 0 || (p.reduced.extent[inner] >= least_run && std::abs(p.kept.stride[0][last]) != 1)))
      return by_runs(p, inner);
  }
  const Tensor numbers = detail::empty(in->dtype, x.shape());
  fill_zero(numbers);
  const Tensor* operands[] = {&x, &x, &x, &numbers};
  pointwise(kernels::active<kernels::ComparisonKernels>().of(kernels::Choice::equal, in->dtype), operands, numbers);
  reduce(ReduceFunction::sum, numbers, axes, out);
}

std::size_t sum_lanes(DType d) noexcept {
  return static_cast<std::size_t>(kernels::active<kernels::ProductKernels>()[d].lanes);
}

void sum_of_runs(const Tensor& runs, std::int64_t size, const Tensor& out) {
  const detail::Block *x = detail::block(runs), *y = detail::block(out);
  ReductionPlan p{
      kernels::reduction(ReduceFunction::sum, x->dtype), x->dtype, item_size(x->dtype), nullptr, y->data, {}, {}};
  append(p.reduced, size, 1);
  p.runs = x->data;
  by_runs(p, 0);
}

namespace {

// Short rows without gaps, of n elements.
struct Points {
  const std::byte* data;
  std::int64_t n, bytes;
};
// Coordinates are split off in tiles, so that neighbouring points are compared at once.
void arg_reduce_points(kernels::ArgReduce find, const Points& x, const Tensor& out) {
  auto* to = detail::mutable_data<std::int64_t>(out);
  parallel_for(
      out.size(), std::max<std::int64_t>(1, parallel_threshold / x.n), [=](std::int64_t begin, std::int64_t end) {
        alignas(64) std::byte tile[split_bytes];
        const std::int64_t most =
            points_per_tile(kernels::split_columns(x.n, static_cast<std::size_t>(x.bytes)), x.bytes);
        for (std::int64_t i = begin; i < end; i += most) {
          const std::int64_t count = std::min(most, end - i);
          kernels::split_rows(x.data + i * x.n * x.bytes, x.n, count, tile, most, static_cast<std::size_t>(x.bytes));
          find({tile, most}, x.n, count, to + i);
        }
      });
}

}  // namespace

void arg_reduce(ReduceFunction f, const Tensor& x, int axis, const Tensor& out) {
  if (out.size() == 0) return;
  const Tensor from = contiguous(x);
  const kernels::ArgReduce find = arg_reduction_of(f, x.dtype());
  std::int64_t inner = 1;
  for (int d = axis + 1; d < x.rank(); ++d) inner *= x.shape()[d];
  const auto* data = detail::mutable_data<std::byte>(from);
  auto* to = detail::mutable_data<std::int64_t>(out);
  const auto bytes = static_cast<std::int64_t>(item_size(x.dtype()));
  const std::int64_t n = x.shape()[axis];
  if (inner == 1 && kernels::is_short_row(n)) return arg_reduce_points(find, {data, n, bytes}, out);
  parallel_for(out.size(), std::max<std::int64_t>(1, parallel_threshold / n),
               [=](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin, count; i < end; i += count) {
                   count = std::min(inner - i % inner, end - i);
                   find({data + (i / inner * inner * n + i % inner) * bytes, inner}, n, count, to + i);
                 }
               });
}

void extreme_shares(const Tensor& x, const Tensor& z, const Shape& axes, const Tensor& out) {
  Shape shape = x.shape();
  const Tensor equal = detail::empty(DType::boolean, shape), is_nan = detail::empty(DType::boolean, shape),
               hit = detail::empty(DType::boolean, shape);
  for (const std::int64_t a : axes) shape[a] = 1;
  const Tensor extreme = in_shape(z, shape), hits = detail::empty(out.dtype(), shape);
  const Tensor *both[] = {&x, &extreme}, *number[] = {&x}, *either[] = {&equal, &is_nan};
  pointwise(Comparison::equal, both, equal);
  pointwise(Predicate::isnan, number, is_nan);
  pointwise(Logical::disjunction, either, hit);
  static_cast<void>(cast(hit, out));
  reduce(ReduceFunction::sum, out, axes, hits);
  divide_by(out, hits);
}

}  // namespace reel::loops
