// An elementwise computation set up: what it reads, seen from the flat positions of its result, any range of which can
// be computed. Where the innermost loop is short, operands are laid out in a tile on the stack first, so that a kernel
// is called per tile and not per few elements.
#pragma once
#include <span>

#include "loops/elementwise/layout.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

inline constexpr std::int64_t short_run = 16;  // below: tiles,
inline constexpr std::int64_t call_run = 128;  // up to here too where a tile costs no more than a copy of what repeats
inline constexpr std::int64_t tile_elements = 512;

/// Of a matrix of `rows` by `columns`, the last dimension of a nest and another one: its tiles, row by row.
struct MatrixTiles {
  int row = -1;  // that other dimension
  std::int64_t rows, columns, height, width, strips, chunks;
};

struct Job {
  struct Operand {
    Layout layout;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool turned = false;
  };

  kernels::Loop loop;
  std::size_t count;
  Operand operand[max_operands];
  Nest<max_operands> nest;
  std::size_t out_bytes;
  std::int64_t tile = 0;  // a multiple of every period that fits
  bool by_tiles = false;
  MatrixTiles matrix;

  Job(kernels::Loop computes, std::size_t operands, std::size_t result_bytes)
      : loop(computes), count(operands), out_bytes(result_bytes) {}

  /// Takes the operands, which broadcast to `shape`; a null one is not read.
  void lay(const Shape& shape, const detail::Block* const (&x)[max_operands]);
  /// To be called before compute().
  void classify();
  bool short_rows() const { return nest.rank > 1 && nest.extent[nest.rank - 1] < short_run; }
  /// The results at positions [begin, end), without gaps.
  void compute(std::int64_t begin, std::int64_t end, std::byte* to) const {
    if (by_tiles)
      tiles(begin, end, to);
    else
      rows(begin, end, to);
  }

  /// Chooses matrices for the operands that can be turned in place: those of which the elements lie close together
  /// along one certain axis that is not the last. matrix.row stays -1 if there are none.
  void choose_matrix();
  /// Tiles [begin, end) of all matrices of a result that begins at `out`.
  void turns(std::int64_t begin, std::int64_t end, std::byte* out) const;

 private:
  /// The first operand that is the same as operand k, which is turned, in every way.
  std::size_t turned_like(std::size_t k) const;
  void rows(std::int64_t begin, std::int64_t end, std::byte* to) const;
  void tiles(std::int64_t begin, std::int64_t end, std::byte* to) const;
};

}  // namespace reel::loops
