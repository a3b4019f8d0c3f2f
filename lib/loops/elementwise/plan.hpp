// An elementwise computation set up: what it reads, seen from the flat positions of its result, any range of which can
// be computed. Where the innermost loop is short, operands are packed into blocks on the stack first, so that a kernel
// is called per block and not per few elements. Where operands are transposed, tiles of them are transposed in L1.
#pragma once
#include <span>

#include "loops/elementwise/layout.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

/// Of a matrix of `rows` by `columns`, the last dimension of a nest and another one: its tiles, row by row.
struct MatrixTiles {
  int row = -1;  // that other dimension
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

  /// Takes the operands, which broadcast to `shape`; a null one is not read.
  void set_operands(const Shape& shape, const detail::Block* const (&x)[max_operands]);
  /// To be called before compute().
  void classify();
  bool short_rows() const { return nest.rank > 1 && nest.extent[nest.rank - 1] < tuning::short_run; }
  /// The results at positions [begin, end), without gaps.
  void compute(std::int64_t begin, std::int64_t end, std::byte* to) const {
    if (packed)
      compute_packed(begin, end, to);
    else
      compute_rows(begin, end, to);
  }

  /// Chooses matrices for the operands whose elements lie close together along one certain axis that is not the last:
  /// those are transposed tile by tile. matrix.row stays -1 if there are none.
  void choose_matrix();
  /// Tiles [begin, end) of all matrices of a result that begins at `out`.
  void compute_tiles(std::int64_t begin, std::int64_t end, std::byte* out) const;

 private:
  /// A tile: its extents, where it begins in each operand and in the result, and the distance of the result's rows.
  struct Tile {
    std::int64_t width, height, offset[max_operands], out_offset, out_row;
  };
  Tile tile_at(std::int64_t number) const;
  void compute_tile(const Tile& tile, std::byte* out) const;
  /// The first transposed operand that is the same as operand k in every way.
  std::size_t first_alike(std::size_t k) const;
  void compute_rows(std::int64_t begin, std::int64_t end, std::byte* to) const;
  void compute_packed(std::int64_t begin, std::int64_t end, std::byte* to) const;
};

}  // namespace reel::loops
