// Products in tiles: a tile writes only to its part of the result and to its workspace, and has the same bits as in
// every other tiling.
#include "loops/linalg/tiled_product.hpp"

#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"

using namespace reel;
using namespace reel::loops;

namespace {

constexpr std::byte untouched{0xa5};

std::vector<std::byte> drawn(DType dtype, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * item_size(dtype));
  const bool narrow = dtype == DType::float32 || dtype == DType::complex64;
  for (std::size_t i = 0; i < bytes.size(); i += narrow ? 4 : 8) {
    const float single = uniform(random);
    const double wide = single;
    std::memcpy(&bytes[i], narrow ? static_cast<const void*>(&single) : &wide, narrow ? 4 : 8);
  }
  return bytes;
}

// A product [m, k] x [k, n] in tiles of at most rows x columns, each with no more workspace than it asks for.
std::vector<std::byte> product(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool transposed,
                               std::int64_t rows, std::int64_t columns) {
  const auto size = static_cast<std::int64_t>(item_size(dtype));
  const std::vector<std::byte> x = drawn(dtype, m * k, 1), y = drawn(dtype, k * n, 2);
  std::vector<std::byte> z(static_cast<std::size_t>(m * n * size));
  const Factor a{x.data(), m, k, transposed ? 1 : k, transposed ? m : 1, {}},
      b{y.data(), k, n, transposed ? 1 : n, transposed ? k : 1, {}};
  const TiledProduct tiles(dtype, a, b, n, Into::overwrite);
  const auto promised = static_cast<std::size_t>(tiles.bytes(rows, columns));
  std::vector<std::byte> memory(promised + 4096);
  for (std::int64_t i = 0; i < m; i += rows)
    for (std::int64_t j = 0; j < n; j += columns) {
      std::fill(memory.begin(), memory.end(), untouched);
      tiles(x.data() + i * a.row_stride * size, y.data() + j * b.column_stride * size, z.data() + (i * n + j) * size,
            std::min(rows, m - i), std::min(columns, n - j), memory.data());
      std::size_t beyond = 0;
      for (std::size_t at = promised; at < memory.size(); ++at) beyond += memory[at] != untouched;
      CHECK(beyond == 0);
    }
  return z;
}

}  // namespace

TEST_CASE("tiles write only their part and have the bits of the whole product, in every instruction set", "[once]") {
  const kernels::Set& before = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    for (const DType dtype : {DType::float32, DType::float64, DType::complex64, DType::complex128})
      for (const bool transposed : {false, true})
        for (const std::int64_t k : {7, 300}) {
          CAPTURE(set->isa, dtype, transposed, k);
          constexpr std::int64_t m = 450, n = 330;
          const std::vector<std::byte> whole = product(dtype, m, n, k, transposed, m, n);
          for (const auto& [rows, columns] :
               {std::pair(300, 192), {260, 330}, {192, 300}, {130, 128}, {450, 100}, {64, 64}})
            CHECK(product(dtype, m, n, k, transposed, rows, columns) == whole);
        }
  }
  kernels::activate(before);
}
