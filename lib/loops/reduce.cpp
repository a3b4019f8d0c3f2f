// Reductions over any axes. Elements are combined in a tree that extents and strides alone determine: along the closest
// reduced axis by the kernel's pairwise run, or, where an axis that stays is closer, row by row with a counter of
// partial rows of equal age. Large problems are cut into segments of the reduced elements whose partial results form
// one more, small, problem; the cut is there with one thread too.
#include <algorithm>

#include "loops/loops.hpp"
#include "loops/nest.hpp"

namespace reel::loops {
namespace {

using kernels::Reduction;

constexpr std::int64_t piece = 65536;                    // elements that one task combines, about
constexpr std::int64_t run_length = 65536;               // a run is cut into parts of this length
constexpr std::int64_t max_tasks = 256;                  // aimed at for the largest problems
constexpr std::int64_t long_row = 2048;                  // bytes; longer rows are cut into strips,
constexpr std::int64_t strip_bytes = 8192;               // and a few rows at a time combined,
constexpr std::int64_t few_rows = 64;                    // so that what is near in memory is near in time
constexpr std::int64_t leaf = 8;                         // rows added one after the other
constexpr int max_ages = 40;                             // rows of 8 * 2^40 elements
constexpr std::int64_t age_bytes = max_ages * long_row;  // or few_rows of strips
constexpr std::int64_t dense = 2048;                     // elements of short rows that are halved again and again
constexpr std::int64_t short_run = 16;                   // reduced axes below are no good as runs,
constexpr std::int64_t short_row = 16;                   // axes that stay below no good as rows

struct Problem {
  const Reduction& op;
  DType dtype;
  std::size_t bytes;
  const std::byte* from;
  std::byte* to;
  Nest<1> kept;     // outermost first; `to` has them row-major without gaps
  Nest<1> reduced;  // by stride, largest first; strides not negative
};

std::int64_t count(const Nest<1>& nest) {
  std::int64_t n = 1;
  for (int d = 0; d < nest.rank; ++d) n *= nest.extent[d];
  return n;
}
void append(Nest<1>& nest, std::int64_t extent, std::int64_t stride) { nest.push(extent, {stride}); }
Nest<1> without(const Nest<1>& nest, int axis) {
  Nest<1> rest;
  for (int d = 0; d < nest.rank; ++d)
    if (d != axis) append(rest, nest.extent[d], nest.stride[0][d]);
  return rest;
}
std::int64_t offset_of(const Nest<1>& nest, std::int64_t at) { return nest.offset(0, at, nest.rank); }

// How a problem is cut: outputs into groups, reduced units (runs, or rows) into segments.
struct Cut {
  std::int64_t groups, per_group, segments, units;
  std::int64_t tasks_at_once;  // so many tasks are worth a thread
  std::int64_t first_unit(std::int64_t segment) const {
    return units / segments * segment + std::min(segment, units % segments);
  }
};
Cut cut(std::int64_t outputs, std::int64_t units, std::int64_t elements_per_output, std::int64_t longest_segment) {
  const std::int64_t per_group = std::clamp<std::int64_t>(piece / elements_per_output, 1, outputs);
  const std::int64_t groups = (outputs - 1) / per_group + 1, elements = outputs * elements_per_output;
  const std::int64_t aim = std::clamp<std::int64_t>(elements / piece, 1, max_tasks);
  const std::int64_t most = std::min(units, std::max<std::int64_t>(1, elements_per_output / (piece / 2)));
  std::int64_t segments = std::min((aim + groups - 1) / groups, most);
  segments = std::max(segments, (units - 1) / longest_segment + 1);
  return {groups, per_group, segments, units, std::max<std::int64_t>(1, piece / (elements / (groups * segments) + 1))};
}

void solve(const Problem& p);

// Runs body(first, last, segment, out) for each segment and group of outputs; `out` begins what the segment has of the
// outputs. Then the segments are combined.
template <class Body>
void segmented(const Problem& p, const Cut& c, std::int64_t outputs, std::int64_t results, const Body& body) {
  Tensor scratch;
  std::byte* out = p.to;
  if (c.segments > 1) {
    scratch = detail::empty(p.dtype, {c.segments, results});
    out = detail::block(scratch)->data;
  }
  const std::int64_t stride = results * static_cast<std::int64_t>(p.bytes);
  parallel_for(c.groups * c.segments, c.tasks_at_once, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t segment = t / c.groups, group = t % c.groups;
      body(group * c.per_group, std::min(outputs, (group + 1) * c.per_group), segment, out + segment * stride);
    }
  });
  if (c.segments == 1) return;
  Problem rest{p.op, p.dtype, p.bytes, out, p.to, {}, {}};
  append(rest.kept, results, 1);
  append(rest.reduced, c.segments, results);
  solve(rest);
}

// Combines any number of single values: runs of 64 of them, of 64 of those, and so on.
class Partials {
 public:
  explicit Partials(const Problem& p) : op_(p.op), bytes_(p.bytes) {}
  // Where the next value belongs; then call added().
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
  static constexpr std::int64_t width = 64;
  static constexpr int levels = 8;
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

// Each output is a tree of runs along one reduced axis.
void by_runs(const Problem& p, int axis) {
  const bool any = p.reduced.rank > 0;
  const std::int64_t length = any ? p.reduced.extent[axis] : 1, stride = any ? p.reduced.stride[0][axis] : 0;
  const Nest<1> others = without(p.reduced, axis);
  const std::int64_t parts = (length - 1) / run_length + 1, outputs = count(p.kept), units = count(others) * parts;
  const Cut c = cut(outputs, units, count(p.reduced), units);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  const auto run = [&](const std::byte* from, std::int64_t unit, void* to) {
    const std::int64_t begin = unit % parts * run_length;
    if (others.rank > 0) from += offset_of(others, unit / parts) * bytes;
    p.op.run({from + begin * stride * bytes, stride}, std::min(run_length, length - begin), to);
  };
  segmented(p, c, outputs, outputs, [&](std::int64_t first, std::int64_t last, std::int64_t segment, std::byte* out) {
    const std::int64_t begin = c.first_unit(segment), end = c.first_unit(segment + 1);
    Walk walk(p.kept, first, p.kept.rank);
    for (std::int64_t o = first; o < last; ++o, walk.next()) {
      const std::byte* from = p.from + walk.offset(0) * bytes;
      if (end - begin == 1) {
        run(from, begin, out + o * bytes);
        continue;
      }
      Partials partials(p);
      for (std::int64_t unit = begin; unit < end; ++unit) {
        run(from, unit, partials.next());
        partials.added();
      }
      partials.finish(out + o * bytes);
    }
  });
}

// Rows of up to `width` elements, each an index of the reduced axes, combined into one.
struct Rows {
  const Problem& p;
  std::int64_t stride, width;  // of a row's elements; elements

  void load(const std::byte* row, std::byte* to) const {
    if (stride == 1)
      std::memcpy(to, row, static_cast<std::size_t>(width) * p.bytes);
    else
      with_size(p.bytes, [&](auto element) { gather<decltype(element)>(row, stride, to, width); });
  }
  // to = the rows that the walk comes to, one after the other.
  void sequence(const std::byte* from, Walk<1>& walk, std::int64_t rows, std::byte* to, std::byte* spare) const {
    const auto bytes = static_cast<std::int64_t>(p.bytes);
    load(from + walk.offset(0) * bytes, to);
    walk.next();
    for (std::int64_t r = 1; r < rows; ++r, walk.next()) {
      const std::byte* row = from + walk.offset(0) * bytes;
      if (stride != 1) load(row, spare), row = spare;
      p.op.merge(to, row, width);
    }
  }
  // The same for any number of rows, by a binary counter of sequences.
  void tree(const std::byte* from, Walk<1>& walk, std::int64_t rows, std::byte* to) const {
    alignas(64) std::byte spare[strip_bytes];
    if (rows <= leaf) return sequence(from, walk, rows, to, spare);
    alignas(64) std::byte ages[age_bytes];
    const std::int64_t bytes = width * static_cast<std::int64_t>(p.bytes), apart = (bytes + 63) / 64 * 64;
    std::byte* next = ages;
    for (std::int64_t done = 0, leaves = 1; done < rows; done += leaf, ++leaves) {
      sequence(from, walk, std::min(leaf, rows - done), next, spare);
      next += apart;
      for (std::int64_t bits = leaves; bits % 2 == 0; bits /= 2, next -= apart)
        p.op.merge(next - 2 * apart, next - apart, width);
    }
    for (; next - apart != ages; next -= apart) p.op.merge(next - 2 * apart, next - apart, width);
    std::memcpy(to, ages, static_cast<std::size_t>(bytes));
  }
};

// Outputs are rows along the last axis that stays; a row for each index of the reduced axes is added to them.
void by_rows(const Problem& p) {
  const int last = p.kept.rank - 1;
  const std::int64_t length = p.kept.extent[last], stride = p.kept.stride[0][last], units = count(p.reduced);
  const Nest<1> outer = without(p.kept, last);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  const std::int64_t width = length * bytes <= long_row ? length : std::min(length, strip_bytes / bytes);
  const std::int64_t strips = (length - 1) / width + 1, results = count(p.kept);
  const Cut c = cut(count(outer) * strips, units, units * width, width * bytes > long_row ? few_rows : units);
  segmented(p, c, count(outer) * strips, results,
            [&](std::int64_t first, std::int64_t end, std::int64_t segment, std::byte* out) {
              const std::int64_t begin_unit = c.first_unit(segment), end_unit = c.first_unit(segment + 1);
              for (std::int64_t o = first; o < end; ++o) {
                const std::int64_t column = o % strips * width;
                const Rows rows{p, stride, std::min(width, length - column)};
                Walk walk(p.reduced, begin_unit, p.reduced.rank);
                rows.tree(p.from + (offset_of(outer, o / strips) + column * stride) * bytes, walk,
                          end_unit - begin_unit, out + (o / strips * length + column) * bytes);
              }
            });
}

// Short rows one right behind the other, not many: the later half is combined with the first, until one row is left.
void halved(const Problem& p) {
  const int last = p.kept.rank - 1;
  const std::int64_t width = p.kept.extent[last], total = p.reduced.extent[0];
  const Nest<1> outer = without(p.kept, last);
  const Cut c = cut(count(outer), 1, total * width, 1);
  const auto bytes = static_cast<std::int64_t>(p.bytes);
  segmented(p, c, count(outer), count(p.kept), [&](std::int64_t first, std::int64_t end, std::int64_t, std::byte* out) {
    alignas(64) std::byte half[dense / 2 * 16];
    for (std::int64_t o = first; o < end; ++o) {
      const std::byte* from = p.from + offset_of(outer, o) * bytes;
      const std::byte* rows_from = from;
      for (std::int64_t rows = total; rows > 1; rows /= 2, rows_from = half) {
        const std::int64_t kept = rows / 2 * width;
        if (rows_from == from) std::memcpy(half, from, static_cast<std::size_t>(kept * bytes));
        p.op.merge(half, rows_from + kept * bytes, kept);
        if (rows % 2 != 0) p.op.merge(half, rows_from + 2 * kept * bytes, width);
      }
      std::memcpy(out + o * width * bytes, half, static_cast<std::size_t>(width * bytes));
    }
  });
}

// Many of them: `fold` are taken as one long row, which is halved at the end.
void folded(const Problem& p) {
  const int last = p.kept.rank - 1, inner = p.reduced.rank - 1;
  const std::int64_t width = p.kept.extent[last], rows = p.reduced.extent[inner];
  const std::int64_t fold = 256 / width, whole = rows / fold, left = rows % fold, outputs = count(p.kept);
  const Nest<1> outer = without(p.kept, last);
  const Tensor wide = detail::empty(p.dtype, {outputs * fold});
  Problem first{p.op, p.dtype, p.bytes, p.from, detail::block(wide)->data, outer, without(p.reduced, inner)};
  append(first.kept, fold * width, 1);
  append(first.reduced, whole, fold * width);
  solve(first);
  Problem second{p.op, p.dtype, p.bytes, first.to, p.to, {}, {}};
  append(second.kept, outputs / width, fold * width);
  append(second.kept, width, 1);
  append(second.reduced, fold, width);
  solve(second);
  if (left == 0) return;
  const std::byte* from = p.from + whole * fold * width * static_cast<std::int64_t>(p.bytes);
  const Tensor tail = detail::empty(p.dtype, {outputs});
  Problem third{p.op, p.dtype, p.bytes, from, detail::block(tail)->data, outer, without(p.reduced, inner)};
  append(third.kept, width, 1);
  append(third.reduced, left, width);
  solve(third);
  p.op.merge(p.to, third.to, outputs);
}

void solve(const Problem& p) {
  if (p.kept.rank == 0 || p.reduced.rank == 0) return by_runs(p, std::max(0, p.reduced.rank - 1));
  const int inner = p.reduced.rank - 1;
  const std::int64_t run = p.reduced.extent[inner], run_stride = p.reduced.stride[0][inner];
  const std::int64_t row = p.kept.extent[p.kept.rank - 1], row_stride = std::abs(p.kept.stride[0][p.kept.rank - 1]);
  if (row_stride == 0 || run_stride < row_stride) {
    if (run >= short_run) return by_runs(p, inner);
    if (row >= 32 && row_stride != 0) return by_rows(p);
    int longest = 0;
    for (int d = 1; d <= inner; ++d)
      if (p.reduced.extent[d] >= p.reduced.extent[longest]) longest = d;
    return by_runs(p, longest);
  }
  if (row >= short_row) return by_rows(p);
  if (p.kept.stride[0][p.kept.rank - 1] == 1 && run_stride == row) {
    if (run >= 8 * (256 / row)) return folded(p);
    if (p.reduced.rank == 1 && run * row <= dense) return halved(p);
  }
  if (row < 4 && run >= 32) return by_runs(p, inner);
  by_rows(p);
}

}  // namespace

void reduce(const kernels::Reduction& reduction, const Tensor& in, const Shape& axes, const Tensor& out) {
  const detail::Block *x = detail::block(in), *y = detail::block(out);
  if (y->size == 0) return;
  if (x->size == y->size) {  // one element each
    const Tensor same = contiguous(in);
    std::memcpy(y->data, detail::block(same)->data, static_cast<std::size_t>(y->size) * item_size(y->dtype));
    return;
  }
  if (y->size == 1 && x->contiguous() && x->size <= run_length)
    return reduction.run({x->data, 1}, static_cast<std::ptrdiff_t>(x->size), y->data);
  Problem p{reduction, x->dtype, item_size(x->dtype), x->data, y->data, {}, {}};
  // The reduced axes in ascending order of strides, then turned round.
  std::int64_t extent[max_rank], stride[max_rank];
  int reduced = 0;
  auto axis = axes.begin();
  for (int d = 0; d < x->rank; ++d) {
    const std::int64_t e = x->extents()[d];
    std::int64_t s = x->strides()[d];
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
  solve(p);
}

}  // namespace reel::loops
