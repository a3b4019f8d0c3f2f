// What loops over windows share: the planes that a window meets, laid out flat with their padding.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "core/block.hpp"
#include "kernels/kernels.hpp"
#include "loops/window/convolution.hpp"

namespace reel::loops {

/// The quotient rounded up; b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a > 0 ? (a - 1) / b + 1 : -(-a / b); }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return divide_up(a, b) * b; }

/// A piece of work that another thread is worth, in multiplications.
inline constexpr std::int64_t window_piece = std::int64_t{1} << 20;

/// A tensor of rank 4 in place, steps in bytes.
struct Images {
  std::byte* data;
  std::int64_t step[4];

  explicit Images(const Tensor& x);
  std::byte* at(std::int64_t i, std::int64_t j) const { return data + i * step[0] + j * step[1]; }
};

/// An image as planes: element (r, c) of a plane is element (r * row_step + origin.row, c * column_step +
/// origin.column) of the image, or `fill` where that has none.
struct PlaneSet {
  struct Origin {
    std::int64_t row, column;
  };
  std::vector<Origin> planes;
  std::int64_t row_step, column_step;
  std::int64_t image_rows, image_columns;
  std::int64_t rows, columns;  // of each plane
  std::int64_t shared = 0;     // columns behind the end of a row, which are the first of the next
  double fill = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(planes.size()) * rows * columns; }
  /// Elements behind the last plane that are read, as `fill` or to be dropped.
  std::int64_t behind(std::int64_t lane) const { return shared + 2 * lane; }
  /// Lets the padding in front of a row serve behind the one before too: rows are then shorter by what they share, but
  /// have room for so many results; where so many rows of results take fewer lanes for it.
  void share_padding(std::int64_t result_rows, std::int64_t results);
  /// The planes of an image one behind the other, from row `shift` on; overwrites up to a lane more.
  void lay_out(const kernels::Convolution& kernel, const Images& x, const std::byte* image, std::int64_t shift,
               std::byte* to) const;
};

/// A tap of a window: its plane, the place there, and its number in row-major order.
struct Tap {
  std::int64_t plane, row, column, number;
  std::int64_t offset(const PlaneSet& set) const { return (plane * set.rows + row) * set.columns + column; }
};

/// The planes in which a step of the window is a step of one element, for all results, and the taps of the window.
std::vector<Tap> windows(const Convolved& c, PlaneSet& set);

/// Memory for tasks, as many at a time as there are threads.
class Workspaces {
 public:
  Workspaces(std::int64_t tasks, std::int64_t bytes);
  /// f(memory) with memory, aligned to 64 bytes, that nobody else has meanwhile.
  template <class F>
  void use(const F& f) {
    std::int64_t at = 0;
    while (taken_[static_cast<std::size_t>(at)].exchange(true, std::memory_order_acquire))
      at = at + 1 < count_ ? at + 1 : 0;
    f(memory_ + at * bytes_);
    taken_[static_cast<std::size_t>(at)].store(false, std::memory_order_release);
  }

 private:
  std::int64_t count_, bytes_;
  std::unique_ptr<std::atomic<bool>[]> taken_;
  Tensor held_;
  std::byte* memory_;
};

}  // namespace reel::loops
