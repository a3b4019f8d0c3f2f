// Sums over taps: the result of a convolution, and its gradient with respect to the image. Both are correlations of
// planes of one tensor with parts of the kernel, result by result: with strides, the former has several planes to read,
// the latter several to write. Padding is multiplied with the kernel as zeros; if the kernel is not finite, that would
// be NaN, so results are then made in parts that meet no padding.
#include "loops/window/convolution.hpp"

#include <algorithm>
#include <limits>

#include "loops/parallel.hpp"
#include "loops/window/planes.hpp"

namespace reel::loops {
namespace {

// Bytes of planes that stay in the second cache, and the fewest elements of a block of rows.
constexpr std::int64_t cached = std::int64_t{1} << 19, fewest = 256;
// Tasks that there should be, before more of them make more work.
constexpr std::int64_t enough = 16;

// Results in every (row_step, column_step)-th element of an image, rows x columns of them, and the taps that they are
// made of.
struct Pass {
  std::vector<Tap> taps;
  std::int64_t rows, columns, first_row, first_column, row_step, column_step;
};

struct Steps {
  std::int64_t group, result, operand;  // of the kernel, in bytes
};

struct Correlation {
  Tensor from, kernel, to;
  std::int64_t groups;
  PlaneSet set;
  std::int64_t reach;  // the greatest row of a tap
  std::vector<Pass> passes;
  Steps steps;
  std::int64_t kernel_columns;

  void avoid_padding();
  void run();
};

// Where, along an axis of results, a tap begins to meet the image and meets it no more.
struct Meeting {
  std::int64_t first, last;
};
Meeting meeting(std::int64_t origin, std::int64_t tap, std::int64_t step, std::int64_t extent, std::int64_t results) {
  const std::int64_t at = origin + tap * step, first = std::clamp<std::int64_t>(divide_up(-at, step), 0, results);
  return {first, std::clamp<std::int64_t>(divide_up(extent - at, step), first, results)};
}

// Passes such that no tap of one meets padding.
void Correlation::avoid_padding() {
  std::vector<Pass> parts;
  reach = 0;
  for (const Pass& pass : passes) {
    const auto rows_of = [&](const Tap& tap) {
      return meeting(set.planes[static_cast<std::size_t>(tap.plane)].row, tap.row, set.row_step, set.image_rows,
                     pass.rows);
    };
    const auto columns_of = [&](const Tap& tap) {
      return meeting(set.planes[static_cast<std::size_t>(tap.plane)].column, tap.column, set.column_step,
                     set.image_columns, pass.columns);
    };
    const auto cuts = [&](std::int64_t results, const auto& meeting_of) {
      std::vector<std::int64_t> all{0, results};
      for (const Tap& tap : pass.taps) {
        const Meeting m = meeting_of(tap);
        all.insert(all.end(), {m.first, m.last});
      }
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      return all;
    };
    const std::vector<std::int64_t> rows = cuts(pass.rows, rows_of), columns = cuts(pass.columns, columns_of);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      for (std::size_t j = 0; j + 1 < columns.size(); ++j) {
        Pass part{{},
                  rows[i + 1] - rows[i],
                  columns[j + 1] - columns[j],
                  pass.first_row + rows[i] * pass.row_step,
                  pass.first_column + columns[j] * pass.column_step,
                  pass.row_step,
                  pass.column_step};
        for (const Tap& tap : pass.taps) {
          const Meeting r = rows_of(tap), s = columns_of(tap);
          if (rows[i] < r.first || rows[i] >= r.last || columns[j] < s.first || columns[j] >= s.last) continue;
          part.taps.push_back({tap.plane, tap.row + rows[i], tap.column + columns[j], tap.number});
          reach = std::max(reach, part.taps.back().row);
        }
        parts.push_back(std::move(part));
      }
  }
  passes = std::move(parts);
}

// Whether no exponent has all bits: adding its lowest then gives the sign's.
template <class Word>
bool finite(const Tensor& x) {
  constexpr int mantissa = sizeof(Word) == 4 ? 23 : 52;
  constexpr Word sign = Word{1} << (8 * sizeof(Word) - 1), lowest = Word{1} << mantissa, exponent = sign - lowest;
  const Word* words = detail::mutable_data<Word>(x);
  Word found = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) found |= (words[i] & exponent) + lowest;
  return !(found & sign);
}

// Filters that are computed together.
struct Block {
  std::int64_t first, count;
};
std::vector<Block> blocks_of(std::int64_t filters, std::int64_t most) {
  std::vector<Block> blocks;
  for (std::int64_t first = 0; first < filters;) {
    std::int64_t count = most;
    while (count > filters - first) count /= 2;
    blocks.push_back({first, count});
    first += count;
  }
  return blocks;
}

// The kernel in the order in which it is read: by group, pass, block, channel and tap.
template <class Word>
Tensor packed(const Correlation& c, const std::vector<Block>& blocks, std::int64_t operands, std::int64_t results) {
  const Images w(c.kernel);
  std::int64_t each = 0;
  for (const Pass& pass : c.passes) each += results * operands * static_cast<std::int64_t>(pass.taps.size());
  const Tensor out = detail::empty(c.kernel.dtype(), {c.groups * each});
  Word* start = detail::mutable_data<Word>(out);
  const auto count = static_cast<std::int64_t>(blocks.size());
  parallel_for(c.groups * count, std::max<std::int64_t>(1, 32768 / (each / count + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t) {
                   const Block& b = blocks[static_cast<std::size_t>(t % count)];
                   const std::int64_t group = t / count;
                   const std::byte* from = w.data + group * c.steps.group + b.first * c.steps.result;
                   Word* base = start + group * each;
                   for (const Pass& pass : c.passes) {
                     const auto taps = static_cast<std::int64_t>(pass.taps.size());
                     Word* to = base + b.first * operands * taps;
                     for (std::int64_t i = 0; i < operands; ++i)
                       for (const Tap& tap : pass.taps) {
                         const std::byte* at = from + i * c.steps.operand + tap.number / c.kernel_columns * w.step[2] +
                                               tap.number % c.kernel_columns * w.step[3];
                         for (std::int64_t f = 0; f < b.count; ++f)
                           *to++ = *reinterpret_cast<const Word*>(at + f * c.steps.result);
                       }
                     base += results * operands * taps;
                   }
                 }
               });
  return out;
}

void Correlation::run() {
  const DType dtype = from.dtype();
  const kernels::Convolution& k = kernels::active().convolution[static_cast<std::size_t>(dtype)];
  const auto bytes = static_cast<std::int64_t>(k.bytes), lane = static_cast<std::int64_t>(k.lane);
  const Images x(from), y(to);
  const std::int64_t batch = from.shape()[0], operands = from.shape()[1] / groups, results = to.shape()[1] / groups;
  const std::vector<Block> blocks = blocks_of(results, k.block);
  const auto all_blocks = static_cast<std::int64_t>(blocks.size());
  const auto pack = bytes == 4 ? packed<std::uint32_t> : packed<std::uint64_t>;
  Tensor weights = pack(*this, blocks, operands, results);
  if (!(bytes == 4 ? finite<std::uint32_t> : finite<std::uint64_t>)(weights)) {
    avoid_padding();
    weights = pack(*this, blocks, operands, results);
  }
  const auto* weight = detail::mutable_data<std::byte>(weights);
  const std::int64_t each = weights.size() / groups;

  // Rows that are laid out at a time, and channels.
  std::int64_t rows = 0, taps = 0, work = 0;
  for (const Pass& pass : passes) {
    const auto own = static_cast<std::int64_t>(pass.taps.size());
    rows = std::max(rows, pass.rows);
    taps = std::max(taps, own);
    work += own * pass.rows * pass.columns * operands * results;
  }
  const auto shared = [&] { return batch * groups * divide_up(rows, set.rows - reach); };
  const auto halve = [&] { set.rows = (set.rows - reach + 1) / 2 + reach; };
  const auto divisible = [&] {
    return set.rows - reach > 1 && (set.rows - reach) / 2 * set.columns >= fewest && set.rows - reach >= 2 * reach;
  };
  set.rows = rows + reach;
  while (operands * set.size() * bytes > cached && divisible()) halve();
  while (shared() < enough && batch * groups * work / shared() > 4 * window_piece && divisible()) halve();
  const std::int64_t stretch = set.rows - reach, stretches = divide_up(rows, stretch);
  const std::int64_t chunks =
      std::clamp<std::int64_t>(divide_up(operands * set.size() * bytes, 2 * cached), 1, operands);
  const std::int64_t chunk = divide_up(operands, chunks);
  const std::int64_t parts =
      std::clamp<std::int64_t>(std::min(divide_up(enough, shared()), batch * groups * work / shared() / window_piece),
                               1, divide_up(all_blocks, 2));
  const std::int64_t tasks = shared() * parts, width = set.columns, out_stride = round_up(stretch * width, lane);
  const std::int64_t plane_bytes = round_up((chunk * set.size() + set.behind(lane)) * bytes, 64);

  std::vector<std::vector<std::ptrdiff_t>> offsets;
  for (const Pass& pass : passes) {
    std::vector<std::ptrdiff_t>& list = offsets.emplace_back();
    for (std::int64_t i = 0; i < chunk; ++i)
      for (const Tap& tap : pass.taps) list.push_back(i * set.size() + tap.offset(set));
  }

  const auto task = [&](std::int64_t t, std::byte* memory) {
    const std::int64_t part = t % parts, at = t / parts % stretches, group = t / parts / stretches % groups,
                       n = t / parts / stretches / groups, skipped = at * stretch;
    std::byte* sums = memory + plane_bytes;
    for (std::int64_t first = 0; first < operands; first += chunk) {
      const std::int64_t count = std::min(chunk, operands - first);
      for (std::int64_t i = 0; i < count; ++i)
        set.lay_out(k, x, x.at(n, group * operands + first + i), skipped, memory + i * set.size() * bytes);
      std::fill_n(memory + count * set.size() * bytes, set.behind(lane) * bytes, std::byte{0});
      const std::byte* w = weight + group * each * bytes;
      for (std::size_t p = 0; p < passes.size(); ++p) {
        const Pass& pass = passes[p];
        const auto own = static_cast<std::int64_t>(pass.taps.size());
        const std::int64_t height = std::min(stretch, pass.rows - skipped);
        for (std::int64_t b = part * all_blocks / parts; height > 0 && b < (part + 1) * all_blocks / parts; ++b) {
          const Block& block = blocks[static_cast<std::size_t>(b)];
          k.correlate(memory, offsets[p].data(), count * own,
                      w + (block.first * operands + first * block.count) * own * bytes, block.count, sums, out_stride,
                      (height - 1) * width + pass.columns);
          for (std::int64_t f = 0; f < block.count; ++f)
            k.take_back(sums + f * out_stride * bytes, width,
                        y.at(n, group * results + block.first + f) +
                            (pass.first_row + skipped * pass.row_step) * y.step[2] + pass.first_column * bytes,
                        pass.row_step * y.step[2] / bytes, pass.column_step, height, pass.columns, first > 0);
        }
        w += results * operands * own * bytes;
      }
    }
  };
  Workspaces workspaces(tasks, plane_bytes + k.block * out_stride * bytes);
  // Laying an element out, or taking a result back, takes as long as about so many multiplications.
  constexpr std::int64_t move = 16;
  const std::int64_t cost = batch * groups * work + move * (from.size() * parts + to.size());
  const std::int64_t grain = std::max<std::int64_t>(1, window_piece / (cost / tasks + 1));
  parallel_for(tasks, grain, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t t = begin; t < end; ++t) task(t, memory);
    });
  });
}

std::int64_t greatest_row(const std::vector<Tap>& taps) {
  std::int64_t row = 0;
  for (const Tap& tap : taps) row = std::max(row, tap.row);
  return row;
}

bool nothing(const Tensor& operand, const Tensor& w, const Tensor& to) {
  if (to.size() == 0) return true;
  if (operand.size() > 0 && w.size() > 0) return false;
  std::fill_n(detail::mutable_data<std::byte>(to), static_cast<std::size_t>(to.size()) * item_size(to.dtype()),
              std::byte{0});
  return true;
}

}  // namespace

void convolve(const Convolved& c, const Tensor& x, const Tensor& w, const Tensor& y) {
  if (nothing(x, w, y)) return;
  const Images kernel(w);
  Correlation job{x,
                  w,
                  y,
                  c.groups,
                  {},
                  0,
                  {},
                  {w.shape()[0] / c.groups * kernel.step[0], kernel.step[0], kernel.step[1]},
                  c.columns.taps};
  Pass pass{windows(c, job.set), c.rows.results, c.columns.results, 0, 0, 1, 1};
  job.reach = greatest_row(pass.taps);
  job.passes.push_back(std::move(pass));
  job.run();
}

// Element e of an axis of x has met tap t in result i = (e + before - t * dilation) / stride, where that is whole. So
// the elements fall into classes by (e + before) modulo stride: in each, neighbours are a step of i apart.
void convolve_back(const Convolved& c, const Tensor& y, const Tensor& w, const Tensor& x) {
  if (nothing(y, w, x)) return;
  struct Line {
    std::int64_t first, count;             // elements first, first + stride, ...
    std::int64_t start;                    // the result that tap "0" of the first meets
    std::vector<std::int64_t> taps, back;  // taps, and how many results before `start` theirs is
  };
  const auto lines = [](const ConvolvedAxis& axis, std::int64_t& lowest, std::int64_t& longest) {
    std::vector<Line> all;
    lowest = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t residue = 0; residue < axis.stride; ++residue) {
      Line line;
      line.start = divide_up(axis.before - residue, axis.stride);
      line.first = line.start * axis.stride + residue - axis.before;
      line.count = divide_up(axis.extent - line.first, axis.stride);
      if (line.count <= 0) continue;
      std::int64_t furthest = 0;
      for (std::int64_t t = 0; t < axis.taps; ++t)
        if (t * axis.dilation % axis.stride == residue) {
          line.taps.push_back(t);
          line.back.push_back(t * axis.dilation / axis.stride);
          furthest = line.back.back();
        }
      lowest = std::min(lowest, line.start - furthest);
      highest = std::max(highest, line.start + line.count);
      all.push_back(std::move(line));
    }
    longest = highest - lowest;
    return all;
  };
  const Images kernel(w);
  Correlation job{y,
                  w,
                  x,
                  c.groups,
                  {},
                  0,
                  {},
                  {w.shape()[0] / c.groups * kernel.step[0], kernel.step[1], kernel.step[0]},
                  c.columns.taps};
  std::int64_t row, column, height, width;
  const std::vector<Line> rows = lines(c.rows, row, height), columns = lines(c.columns, column, width);
  job.set.planes.push_back({row, column});
  job.set.row_step = job.set.column_step = 1;
  job.set.image_rows = c.rows.results;
  job.set.image_columns = c.columns.results;
  job.set.rows = height;
  job.set.columns = width;
  const auto most = [](const std::vector<Line>& all) {
    std::int64_t count = 0;
    for (const Line& line : all) count = std::max(count, line.count);
    return count;
  };
  job.set.share_padding(most(rows), most(columns));
  for (const Line& r : rows)
    for (const Line& s : columns) {
      Pass pass{{}, r.count, s.count, r.first, s.first, c.rows.stride, c.columns.stride};
      for (std::size_t i = 0; i < r.taps.size(); ++i)
        for (std::size_t j = 0; j < s.taps.size(); ++j)
          pass.taps.push_back(
              {0, r.start - r.back[i] - row, s.start - s.back[j] - column, r.taps[i] * c.columns.taps + s.taps[j]});
      job.reach = std::max(job.reach, greatest_row(pass.taps));
      job.passes.push_back(std::move(pass));
    }
  job.run();
}

}  // namespace reel::loops
