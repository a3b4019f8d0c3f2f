// The families that have headers of their own.
#include "../op_cases.hpp"

namespace cases {

std::span<const Family> families() {
  static constexpr Family families[] = {
      {"arranging, `<reel/ops/arranging.hpp>`", arranging},
      {"factorisations, `<reel/linalg/factorisations.hpp>`", factorisations},
      {"Fourier transforms, `<reel/fft.hpp>`", fft_rows},
      {"indexing, `<reel/ops/indexing.hpp>`", indexing},
      {"interpolation, `<reel/interpolate.hpp>`, `<reel/solve.hpp>`, `<reel/image.hpp>`", interpolation_rows},
      {"distributions, `<reel/stats.hpp>`", distributions},
      {"losses, `<reel/nn.hpp>`", losses},
      {"matrix functions, `<reel/linalg/functions.hpp>`", matrix_functions},
      {"matrix products, `<reel/linalg/products.hpp>`", matrix_products},
      {"networks of channels, `<reel/nn.hpp>`", nn},
      {"parts of numbers, `<reel/ops/parts.hpp>`", parts},
      {"rotations, `<reel/geometry.hpp>`", rotation_rows},
      {"scans, `<reel/ops/scans.hpp>`", scans},
      {"sequences, `<reel/nn.hpp>`", sequence_rows},
      {"signals, `<reel/fft.hpp>`", signal_rows},
      {"sorting, `<reel/ops/sorting.hpp>`", sorting},
      {"special, `<reel/special.hpp>`", special},
      {"statistics, `<reel/ops/statistics.hpp>`", statistics},
      {"structured systems, `<reel/linalg/structured.hpp>`", structured},
      {"windows, `<reel/ops/windows.hpp>`", windows},
  };
  return families;
}

std::vector<std::span<const Shaped>> shaped_tables() {
  std::vector<std::span<const Shaped>> tables = {reductions(), movements(), linear_algebra(), networks()};
  for (const Family& family : families()) tables.push_back(family.rows());
  return tables;
}

}  // namespace cases
