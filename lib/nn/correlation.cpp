// A correlation in steps:
// 1. The weights are packed in the order in which they are read. Padding is multiplied with them as zeros. If a weight
// is not finite, that would give NaN, so the grids are divided into parts that meet no padding.
// 2. The rows of results are divided into ranges, so that the planes of a range stay in the second-level cache and
// there are enough tasks.
// 3. A task packs the planes of some channels, adds their sums over taps to those of earlier channels, one block of
// filters after the other, and continues with the next channels.
#include "nn/correlation.hpp"

#include <algorithm>

#include "loops/parallel.hpp"
#include "loops/tuning.hpp"
#include "nn/kernels.hpp"

namespace reel::loops {
namespace {

// The results along an axis whose tap is inside the image: [first, last).
struct ResultRange {
  std::int64_t first, last;
  bool has(std::int64_t i) const { return first <= i && i < last; }
};
ResultRange results_inside(std::int64_t origin, std::int64_t tap, std::int64_t step, std::int64_t extent,
                           std::int64_t results) {
  const std::int64_t at = origin + tap * step, first = std::clamp<std::int64_t>(divide_up(-at, step), 0, results);
  return {first, std::clamp<std::int64_t>(divide_up(extent - at, step), first, results)};
}

// For each tap of a grid the results that are inside the image there.
struct GridRanges {
  detail::List<ResultRange> rows, columns;
  GridRanges(const PlaneSet& set, const ResultGrid& grid) {
    for (const Tap& tap : grid.taps) {
      const PlaneSet::Origin& origin = set.planes[static_cast<std::size_t>(tap.plane)];
      rows.push_back(results_inside(origin.row, tap.row, set.row_step, set.image_rows, grid.rows));
      columns.push_back(results_inside(origin.column, tap.column, set.column_step, set.image_columns, grid.columns));
    }
  }
};

// The results of an axis at which a tap enters or leaves the image, including 0 and `results`.
detail::List<std::int64_t> cuts_of(std::int64_t results, const detail::List<ResultRange>& ranges) {
  detail::List<std::int64_t> cuts{0, results};
  for (const ResultRange& range : ranges) cuts.insert(cuts.end(), {range.first, range.last});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// The same results as grids without taps that meet padding.
detail::List<ResultGrid> grids_inside(const PlaneSet& set, const detail::List<ResultGrid>& grids) {
  detail::List<ResultGrid> parts;
  for (const ResultGrid& grid : grids) {
    const GridRanges ranges(set, grid);
    const detail::List<std::int64_t> rows = cuts_of(grid.rows, ranges.rows),
                                     columns = cuts_of(grid.columns, ranges.columns);
    for (std::size_t i = 0; i + 1 < rows.size(); ++i)
      for (std::size_t j = 0; j + 1 < columns.size(); ++j) {
        ResultGrid part{{},
                        rows[i + 1] - rows[i],
                        columns[j + 1] - columns[j],
                        grid.first_row + rows[i] * grid.row_step,
                        grid.first_column + columns[j] * grid.column_step,
                        grid.row_step,
                        grid.column_step};
        for (std::size_t k = 0; k < grid.taps.size(); ++k) {
          const Tap& tap = grid.taps[k];
          if (ranges.rows[k].has(rows[i]) && ranges.columns[k].has(columns[j]))
            part.taps.push_back({tap.plane, tap.row + rows[i], tap.column + columns[j], tap.number});
        }
        parts.push_back(std::move(part));
      }
  }
  return parts;
}

// Finite: no exponent has all bits set, so adding the exponent's lowest bit never carries into the sign.
template <class Word>
bool is_finite(const Tensor& x) {
  constexpr int mantissa = sizeof(Word) == 4 ? 23 : 52;
  constexpr Word sign = Word{1} << (8 * sizeof(Word) - 1), lowest = Word{1} << mantissa, exponent = sign - lowest;
  const Word* words = detail::mutable_data<Word>(x);
  Word found = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) found |= (words[i] & exponent) + lowest;
  return !(found & sign);
}

// Filters that are computed together.
struct FilterBlock {
  std::int64_t first, count;
};
detail::List<FilterBlock> blocks_of(std::int64_t filters, std::int64_t most) {
  detail::List<FilterBlock> blocks;
  for (std::int64_t first = 0; first < filters;) {
    std::int64_t count = most;
    while (count > filters - first) count /= 2;
    blocks.push_back({first, count});
    first += count;
  }
  return blocks;
}

// Rows of results for a group of an image, from `first_row` on, and the channels that are packed for them.
struct PackedRange {
  std::int64_t image, group, first_row, first_channel, channels;
};

class Correlator {
 public:
  explicit Correlator(Correlation&& correlation);
  void run();

 private:
  template <class Word>
  void pack_block(const FilterBlock& block, std::int64_t group, Word* group_weights) const;
  template <class Word>
  void pack_weights();
  template <class Word>
  void pack_finite_weights();
  void choose_ranges();
  void choose_offsets();
  void pack_planes(std::byte* to, const PackedRange& range) const;
  void correlate_block(std::byte* memory, const PackedRange& range, std::size_t grid, const std::byte* grid_weights,
                       const FilterBlock& block) const;
  void run_task(std::int64_t task, std::byte* memory) const;
  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  static std::int64_t num_taps(const ResultGrid& grid) { return static_cast<std::int64_t>(grid.taps.size()); }

  Correlation c_;
  const kernels::Convolution& k_;
  const std::int64_t bytes_, lanes_;  // per element; elements of a vector
  const ImageView x_, y_;
  const std::int64_t batch_, operands_, results_;  // images; channels per group
  const detail::List<FilterBlock> blocks_;
  Tensor weights_;                      // by group, grid, block, channel and tap
  std::int64_t weights_per_group_ = 0;  // elements
  std::int64_t reach_ = 0;              // the largest row of a tap
  std::int64_t work_ = 0;               // multiplications
  std::int64_t range_rows_ = 0, ranges_ = 0;
  std::int64_t channels_at_once_ = 0;
  std::int64_t block_ranges_ = 0;  // ranges of blocks among which tasks share
  std::int64_t tasks_ = 0;
  std::int64_t out_stride_ = 0, plane_bytes_ = 0;
  detail::List<detail::List<std::ptrdiff_t>> offsets_;  // for each grid, those of its taps in the packed planes
};

Correlator::Correlator(Correlation&& correlation)
    : c_(std::move(correlation)),
      k_(kernels::active<kernels::ConvolutionKernels>()[c_.from.dtype()]),
      bytes_(static_cast<std::int64_t>(k_.bytes)),
      lanes_(static_cast<std::int64_t>(k_.lanes)),
      x_(c_.from),
      y_(c_.to),
      batch_(c_.from.shape()[0]),
      operands_(c_.from.shape()[1] / c_.groups),
      results_(c_.to.shape()[1] / c_.groups),
      blocks_(blocks_of(results_, k_.block)) {}

// ---- weights

template <class Word>
void Correlator::pack_block(const FilterBlock& block, std::int64_t group, Word* group_weights) const {
  const ImageView w(c_.kernel);
  const std::byte* from = w.data + group * c_.strides.group + block.first * c_.strides.result;
  for (const ResultGrid& grid : c_.grids) {
    Word* to = group_weights + block.first * operands_ * num_taps(grid);
    for (std::int64_t i = 0; i < operands_; ++i)
      for (const Tap& tap : grid.taps) {
        const std::byte* at = from + i * c_.strides.operand + tap.number / c_.kernel_columns * w.stride[2] +
                              tap.number % c_.kernel_columns * w.stride[3];
        for (std::int64_t f = 0; f < block.count; ++f)
          *to++ = *reinterpret_cast<const Word*>(at + f * c_.strides.result);
      }
    group_weights += results_ * operands_ * num_taps(grid);
  }
}

template <class Word>
void Correlator::pack_weights() {
  constexpr std::int64_t grain = tuning::copy_grain;
  weights_per_group_ = 0;
  for (const ResultGrid& grid : c_.grids) weights_per_group_ += results_ * operands_ * num_taps(grid);
  weights_ = detail::empty(c_.kernel.dtype(), {c_.groups * weights_per_group_});
  Word* start = detail::mutable_data<Word>(weights_);
  parallel_for(c_.groups * num_blocks(), std::max<std::int64_t>(1, grain / (weights_per_group_ / num_blocks() + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t) {
                   const std::int64_t group = t / num_blocks();
                   pack_block(blocks_[static_cast<std::size_t>(t % num_blocks())], group,
                              start + group * weights_per_group_);
                 }
               });
}

template <class Word>
void Correlator::pack_finite_weights() {
  pack_weights<Word>();
  if (is_finite<Word>(weights_)) return;
  c_.grids = grids_inside(c_.set, c_.grids);
  pack_weights<Word>();
}

// ---- ranges

// Depends on shapes alone: the number of channels packed at once determines the order of the sums.
void Correlator::choose_ranges() {
  // Measured by `bench/run --filter conv2d`.
  constexpr std::int64_t cache_bytes = tuning::l2_bytes;  // for planes
  constexpr std::int64_t least_elements = 256;            // in a range of rows
  constexpr std::int64_t enough_tasks = 16;               // more tasks cost more overhead
  PlaneSet& set = c_.set;
  std::int64_t rows = 0;
  for (const ResultGrid& grid : c_.grids) {
    rows = std::max(rows, grid.rows);
    work_ += num_taps(grid) * grid.rows * grid.columns * operands_ * results_;
    for (const Tap& tap : grid.taps) reach_ = std::max(reach_, tap.row);
  }
  work_ *= batch_ * c_.groups;
  const auto num_ranges = [&] { return batch_ * c_.groups * divide_up(rows, set.rows - reach_); };
  const auto halve = [&] { set.rows = (set.rows - reach_ + 1) / 2 + reach_; };
  const auto divisible = [&] {
    const std::int64_t range = set.rows - reach_;
    return range > 1 && range / 2 * set.columns >= least_elements && range >= 2 * reach_;
  };
  set.rows = rows + reach_;
  while (operands_ * set.size() * bytes_ > cache_bytes && divisible()) halve();
  while (num_ranges() < enough_tasks && work_ / num_ranges() > 4 * window_grain && divisible()) halve();
  range_rows_ = set.rows - reach_;
  ranges_ = divide_up(rows, range_rows_);

  const std::int64_t all_bytes = operands_ * set.size() * bytes_;
  channels_at_once_ =
      divide_up(operands_, std::clamp<std::int64_t>(divide_up(all_bytes, 2 * cache_bytes), 1, operands_));
  block_ranges_ =
      std::clamp<std::int64_t>(std::min(divide_up(enough_tasks, num_ranges()), work_ / num_ranges() / window_grain), 1,
                               divide_up(num_blocks(), 2));
  tasks_ = num_ranges() * block_ranges_;
  out_stride_ = round_up(range_rows_ * set.columns, lanes_);
  plane_bytes_ = round_up((channels_at_once_ * set.size() + set.past_end(lanes_)) * bytes_, 64);
}

void Correlator::choose_offsets() {
  for (const ResultGrid& grid : c_.grids) {
    detail::List<std::ptrdiff_t>& list = offsets_.emplace_back();
    for (std::int64_t i = 0; i < channels_at_once_; ++i)
      for (const Tap& tap : grid.taps) list.push_back(i * c_.set.size() + tap.offset(c_.set));
  }
}

// ---- tasks

void Correlator::pack_planes(std::byte* to, const PackedRange& range) const {
  const std::int64_t plane = c_.set.size() * bytes_, channel = range.group * operands_ + range.first_channel;
  for (std::int64_t i = 0; i < range.channels; ++i)
    c_.set.pack(k_, x_, x_.at(range.image, channel + i), range.first_row, to + i * plane);
  std::fill_n(to + range.channels * plane, c_.set.past_end(lanes_) * bytes_, std::byte{0});
}

// Adds the sums of a block of filters over the taps of a grid, from packed planes, to those of earlier channels.
void Correlator::correlate_block(std::byte* memory, const PackedRange& range, std::size_t index,
                                 const std::byte* grid_weights, const FilterBlock& block) const {
  const ResultGrid& grid = c_.grids[index];
  const std::int64_t taps = num_taps(grid), width = c_.set.columns;
  const std::int64_t height = std::min(range_rows_, grid.rows - range.first_row);
  const std::byte* weights =
      grid_weights + (block.first * operands_ + range.first_channel * block.count) * taps * bytes_;
  std::byte* sums = memory + plane_bytes_;
  k_.correlate(memory, offsets_[index].data(), range.channels * taps, weights, block.count, sums, out_stride_,
               (height - 1) * width + grid.columns);
  const std::int64_t row = grid.first_row + range.first_row * grid.row_step;
  for (std::int64_t f = 0; f < block.count; ++f)
    k_.unpack(
        sums + f * out_stride_ * bytes_, width,
        y_.at(range.image, range.group * results_ + block.first + f) + row * y_.stride[2] + grid.first_column * bytes_,
        grid.row_step * y_.stride[2] / bytes_, grid.column_step, height, grid.columns, range.first_channel > 0);
}

void Correlator::run_task(std::int64_t task, std::byte* memory) const {
  const std::int64_t block_range = task % block_ranges_, row_range = task / block_ranges_ % ranges_,
                     group = task / block_ranges_ / ranges_ % c_.groups,
                     image = task / block_ranges_ / ranges_ / c_.groups;
  const std::int64_t first_block = block_range * num_blocks() / block_ranges_,
                     last_block = (block_range + 1) * num_blocks() / block_ranges_;
  PackedRange range{image, group, row_range * range_rows_, 0, 0};
  for (; range.first_channel < operands_; range.first_channel += channels_at_once_) {
    range.channels = std::min(channels_at_once_, operands_ - range.first_channel);
    pack_planes(memory, range);
    const std::byte* weights = detail::mutable_data<std::byte>(weights_) + group * weights_per_group_ * bytes_;
    for (std::size_t g = 0; g < c_.grids.size(); ++g) {
      if (range.first_row < c_.grids[g].rows)
        for (std::int64_t b = first_block; b < last_block; ++b)
          correlate_block(memory, range, g, weights, blocks_[static_cast<std::size_t>(b)]);
      weights += results_ * operands_ * num_taps(c_.grids[g]) * bytes_;
    }
  }
}

void Correlator::run() {
  if (bytes_ == 4)
    pack_finite_weights<std::uint32_t>();
  else
    pack_finite_weights<std::uint64_t>();
  choose_ranges();
  choose_offsets();
  Workspaces workspaces(tasks_, plane_bytes_ + k_.block * out_stride_ * bytes_);
  // The cost of packing an element, or storing a result, in multiplications: an estimate.
  constexpr std::int64_t copy_cost = 16;
  const std::int64_t cost = work_ + copy_cost * (c_.from.size() * block_ranges_ + c_.to.size());
  parallel_for(tasks_, std::max<std::int64_t>(1, window_grain / (cost / tasks_ + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 workspaces.use([&](std::byte* memory) {
                   for (std::int64_t t = begin; t < end; ++t) run_task(t, memory);
                 });
               });
}

}  // namespace

void correlate(Correlation correlation) { Correlator(std::move(correlation)).run(); }

}  // namespace reel::loops
