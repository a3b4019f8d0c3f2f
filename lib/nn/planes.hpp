// Shared by loops over windows: the planes that a window meets, packed with their padding.
#pragma once

#include "core/block.hpp"
#include "loops/workspaces.hpp"
#include "nn/convolution_loops.hpp"
#include "nn/kernels.hpp"

namespace reel::loops {

/// The quotient rounded up; b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// The grain of loops over windows: multiplications that are worth another thread. It determines the division of sums,
/// and so their bits. Row of bench/run: "conv2d".
inline constexpr std::int64_t window_grain = std::int64_t{1} << 20;

/// The elements of a tensor of rank 4, with strides in bytes.
struct ImageView {
  std::byte* data;
  std::int64_t stride[4];

  explicit ImageView(const Tensor& x);
  std::byte* at(std::int64_t i, std::int64_t j) const { return data + i * stride[0] + j * stride[1]; }
};

/// An image as planes: element (r, c) of a plane is element (r * row_step + origin.row, c * column_step +
/// origin.column) of the image, or `fill` outside the image.
struct PlaneSet {
  struct Origin {
    std::int64_t row, column;
  };
  detail::List<Origin> planes;
  std::int64_t row_step, column_step;
  std::int64_t image_rows, image_columns;
  std::int64_t rows, columns;       // per plane
  std::int64_t shared_padding = 0;  // columns past the end of a row that are the first of the next one
  double fill = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(planes.size()) * rows * columns; }
  /// Elements past the end of the last plane that kernels read. `lanes`: elements of a vector.
  std::int64_t past_end(std::int64_t lanes) const { return shared_padding + 2 * lanes; }
  /// Lets consecutive rows share padding, if results then take fewer vectors: rows become shorter by what they share.
  void share_padding(std::int64_t result_rows, std::int64_t result_columns);
  /// Packs the planes of an image one behind the other, without the first `first_row` rows of each. Up to a vector
  /// behind them is overwritten.
  void pack(const kernels::Convolution& kernel, const ImageView& x, const std::byte* image, std::int64_t first_row,
            std::byte* to) const;
};

/// A tap of a window: its plane, its row and column there, and its row-major number.
struct Tap {
  std::int64_t plane, row, column, number;
  std::int64_t offset(const PlaneSet& set) const { return (plane * set.rows + row) * set.columns + column; }
};

/// The taps of a window and the planes that they meet, in which windows advance by one element per result.
detail::List<Tap> window_taps(const WindowGeometry& geometry, PlaneSet& set);

}  // namespace reel::loops
