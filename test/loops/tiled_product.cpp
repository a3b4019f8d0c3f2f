// Products in tiles: a tile writes only to its part of the result and to its workspace, and has the same bits as in
// every other tiling.
#include "loops/product/tiled_product.hpp"

#include <complex>
#include <cstring>
#include <random>
#include <reel/reel.hpp>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "loops/product/symmetric.hpp"
#include "support/bits.hpp"

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

Tensor of_numbers(const Shape& shape, DType d, unsigned seed) {
  Generator g(seed);
  const Tensor x = random_normal(g, shape, 0, 1, is_complex(d) ? DType::float32 : d);
  return is_complex(d) ? make_complex(x, exp(x)) : x;
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

TEST_CASE("half of the tiles of a product by the own transpose have the bits of all, in every instruction set",
          "[once]") {
  const kernels::Set before = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    for (const DType dtype : {DType::float32, DType::float64})
      for (const bool transposed : {false, true})
        for (const auto& [m, k] : {std::pair<std::int64_t, std::int64_t>{65, 3}, {100, 300}, {129, 700}, {256, 64}}) {
          CAPTURE(set->isa, dtype, transposed, m, k);
          const std::int64_t row = transposed ? 1 : k, column = transposed ? m : 1;
          const std::vector<std::byte> x = drawn(dtype, m * k, 1);
          const Factor a{x.data(), m, k, row, column, {}}, b{x.data(), k, m, column, row, {}};
          std::vector<std::byte> half(static_cast<std::size_t>(m * m) * item_size(dtype), untouched), all = half;
          REQUIRE(multiply_gram(dtype, a, b, half.data()));
          const TiledProduct tiles(dtype, a, b, m, Into::overwrite);
          std::vector<std::byte> memory(static_cast<std::size_t>(tiles.bytes(m, m)));
          tiles(x.data(), x.data(), all.data(), m, m, memory.data());
          CHECK(half == all);
        }
  }
  kernels::activate(before);
}

TEST_CASE("tiles write only their part and have the bits of the whole product, in every instruction set", "[once]") {
  const kernels::Set before = kernels::active();
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

TEST_CASE("a small product of matrices has the bits of a batch of one, and is added like two ops") {
  const std::array<std::int64_t, 3> shapes[] = {{2, 2, 2},  {16, 13, 32}, {16, 32, 3},  {3, 16, 40}, {5, 1, 7},
                                                {1, 9, 12}, {12, 9, 1},   {8, 300, 12}, {32, 32, 32}};
  for (const DType d : {DType::float64, DType::float32, DType::complex64})
    for (const auto& [m, k, n] : shapes)
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          CAPTURE(d, m, k, n, ta, tb);
          const MatmulOptions options{ta, tb};
          const auto check = [&options](const Tensor& a, const Tensor& b) {
            const Tensor batch = matmul(expand_dims(a, 0), expand_dims(b, 0), options);
            CHECK(support::same_bits(matmul(a, b, options), batch[0]));
          };
          const Shape sa = ta ? Shape{k, m} : Shape{m, k}, sb = tb ? Shape{n, k} : Shape{k, n};
          const Tensor a = of_numbers(sa, d, 3), b = of_numbers(sb, d, 4);
          check(a, b);
          check(-ones(sa, d), zeros(sb, d));
          check(flip(a),
                slice(of_numbers({2 * sb[0], 3 * sb[1]}, d, 5), {range(0, 2 * sb[0], 2), range(0, 3 * sb[1], 3)}));
          check(broadcast_to(slice(a, {ta ? reel::all : range(0, 1), ta ? range(0, 1) : reel::all}), sa), b);
          check(a, broadcast_to(slice(b, {tb ? range(0, 1) : reel::all, tb ? reel::all : range(0, 1)}), sb));
        }
  for (const std::int64_t terms : {40, 300}) {
    const Tensor x = of_numbers({12, 9}, DType::float32, 1), a = of_numbers({terms, 12}, DType::float32, 2), b = a * 3,
                 g = of_numbers({terms, 9}, DType::float32, 3), h = exp(g);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(matmul(a, x) * g) + sum(matmul(b, x) * h);
    const Tensor one = matmul(a, g, {.transpose_a = true}), other = matmul(b, h, {.transpose_a = true});
    CHECK(support::same_bits(*tape.gradient(y, x), one + other));
  }
}

TEST_CASE("BLAS, which may lock, computes no product of at most 512 multiplications where vectors are long", "[once]") {
  const kernels::Set before = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    const bool long_vectors = std::string_view(set->isa) == "avx2" || std::string_view(set->isa) == "avx512";
    if (!long_vectors) continue;
    for (const DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(set->isa, dtype);
      CHECK(is_tiled(dtype, 2, 16, 9));   // few rows
      CHECK(is_tiled(dtype, 10, 3, 17));  // few columns
      CHECK(is_tiled(dtype, 8, 8, 8));
    }
  }
  kernels::activate(before);
}
