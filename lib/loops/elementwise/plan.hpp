// The plan of an elementwise computation: how the operands are read at the flat positions of the result, any range of
// which can be computed. If the innermost loop is short, operands are packed into blocks on the stack, so that there is
// a kernel call per block and not per few elements. Transposed operands are transposed tile by tile in L1.
#pragma once
#include <span>

#include "loops/elementwise/layout.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// The tiles, row by row, of a matrix of `rows` by `columns`: the last dimension of a nest and another one.
struct MatrixTiles {
  int row = -1;  // the other dimension
  std::int64_t rows, columns, height, width, strips, chunks;
};

struct ElementwisePlan {
  struct Operand {
    Layout layout;
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    bool transposed = false;  // packed tile by tile
  };

  kernels::Loop loop;
  std::size_t count;
  Operand operand[max_operands];
  LoopNest<max_operands> nest;
  std::size_t out_bytes;
  std::int64_t block = 0;  // elements packed at once: a multiple of every period that fits
  bool packed = false;
  MatrixTiles matrix;

  ElementwisePlan(kernels::Loop computes, std::size_t operands, std::size_t result_bytes)
      : loop(computes), count(operands), out_bytes(result_bytes) {}

  /// Sets the operands, which broadcast to `shape`; null ones are not read.
  void set_operands(const Shape& shape, const detail::Block* const (&x)[max_operands]);
  /// Must be called before compute().
  void classify();
  bool short_rows() const { return nest.rank > 1 && nest.extent[nest.rank - 1] < tuning::short_run; }
  /// Computes the results at positions [begin, end), contiguously.
  void compute(std::int64_t begin, std::int64_t end, std::byte* to) const {
    if (packed)
      compute_packed(begin, end, to);
    else
      compute_rows(begin, end, to);
  }

  /// Chooses matrices for operands whose smallest stride is along one common axis that is not the last: these are
  /// transposed tile by tile. matrix.row stays -1 if there are none.
  void choose_matrix();
  /// Computes tiles [begin, end) of all matrices of a result that begins at `out`.
  void compute_tiles(std::int64_t begin, std::int64_t end, std::byte* out) const;

 private:
  /// A tile: its extents, its offset in each operand and in the result, and the row stride of the result.
  struct Tile {
    std::int64_t width, height, offset[max_operands], out_offset, out_row;
  };
  Tile tile_at(std::int64_t number) const;
  void compute_tile(const Tile& tile, std::byte* out) const;
  /// The first transposed operand that equals operand k.
  std::size_t first_alike(std::size_t k) const;
  void compute_rows(std::int64_t begin, std::int64_t end, std::byte* to) const;
  void compute_packed(std::int64_t begin, std::int64_t end, std::byte* to) const;
};

}  // namespace reel::loops
