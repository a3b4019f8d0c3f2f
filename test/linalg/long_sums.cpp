// Products of many terms: the bound on rounding errors that <reel/ops/linalg.hpp> states, for every way a product is
// computed, and the values where a sum is divided.
#include <cmath>
#include <limits>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>

#include "catch.hpp"
#include "support/derivatives.hpp"

using namespace reel;

namespace {

constexpr std::int64_t most_errors = 4200;  // units of rounding, times the sum of |terms|

// Rows of equal elements, so that every addition to a sum within a power of two has the same rounding error, and
// errors of a sum without division grow with the number of its terms. A copy of the layout that `transposed` asks for.
Tensor equal_elements(const Shape& shape, double value, DType d, bool transposed) {
  return transposed ? transpose(full({shape[1], shape[0]}, value, d)) : full(shape, value, d);
}

template <class T>
void check_bound(const Tensor& product, double value, std::int64_t k) {
  CAPTURE(product.dtype(), product.shape(), k);
  constexpr double unit = std::numeric_limits<T>::epsilon() / 2;
  const long double exact = static_cast<long double>(static_cast<T>(value)) * k;
  const long double bound = most_errors * unit * std::abs(exact);
  for (const double z : cast(product, DType::float64).to_vector()) CHECK(std::abs(z - exact) <= bound);
}

template <class T>
void check_equal_elements(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed_a, bool transposed_b) {
  constexpr double value = 0.1;
  const DType d = sizeof(T) == 4 ? DType::float32 : DType::float64;
  const Tensor a = equal_elements({m, k}, value, d, transposed_a), b = equal_elements({k, n}, 1, d, transposed_b);
  check_bound<T>(matmul(a, b), value, k);
}

}  // namespace

TEST_CASE("matmul: the rounding error of long sums is within the stated bound, in every layout") {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 3}, {3, 1}, {1, 300}, {2, 2}, {3, 5}})
    for (const bool transposed_a : {false, true})
      for (const bool transposed_b : {false, true}) {
        const std::int64_t k = n == 300 ? 70000 : 250000;
        check_equal_elements<float>(m, n, k, transposed_a, transposed_b);
        check_equal_elements<double>(m, n, k, transposed_a, transposed_b);
      }
  check_equal_elements<float>(20, 40, 140000, false, false);
  check_equal_elements<float>(3, 2, 3000000, false, true);
}

TEST_CASE("matmul: the rounding error of a matrix by its own transpose, of complex numbers, and of batches") {
  constexpr double root = 0.3;
  for (const std::int64_t m : {3, 50}) {
    const Tensor x = full({m, 140000}, root, DType::float32);
    const double square = double{static_cast<float>(root)} * static_cast<float>(root);
    const Tensor product = cast(matmul(x, transpose(x)), DType::float64);
    CHECK(max(abs(product - square * 140000)).item<double>() <= most_errors * std::ldexp(1., -24) * square * 140000);
  }
  const std::int64_t k = 200000;
  const Tensor parts = full({2, k}, 0.1, DType::float32), ones_of_parts = ones({k, 2}, DType::float32);
  const Tensor z = matmul(make_complex(parts, -parts), make_complex(ones_of_parts, zeros_like(ones_of_parts)));
  check_bound<float>(real(z), 0.1, k);
  check_bound<float>(imag(z), -0.1, k);
  check_bound<float>(matmul(expand_dims(parts, 0), broadcast_to(ones_of_parts, {3, k, 2})), 0.1, k);
  check_bound<float>(tensordot(parts, ones_of_parts, 1), 0.1, k);
  check_bound<float>(cov(concatenate({parts, -parts}, 1), 0), double{0.1f} * 0.1f, 1);
}

TEST_CASE("matmul: values where sums are divided, in every layout, and of views") {
  const auto drawn = [](const Shape& shape, const std::string& seed) { return support::Random(seed).tensor(shape); };
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 300}, {3, 1}, {3, 5}, {50, 50}, {2, 17}})
    for (const std::int64_t k : {4096, 4097, 8193, 65536, 65537, 140001}) {
      if (m * n * k > 5000000 && k != 4097 && k != 65537) continue;
      const Tensor a = drawn({m, k}, "a"), b = m == n && m > 3 ? transpose(a) : drawn({k, n}, "b");
      const Tensor of_a = contiguous(transpose(a)), of_b = contiguous(transpose(b));
      const Tensor wide = drawn({m, 2 * k}, "c"), every_other = slice(wide, {reel::all, range(0, 2 * k, 2)});
      for (const Tensor& x : {a, transpose(of_a), every_other})
        for (const Tensor& y : {b, transpose(of_b)}) {
          CAPTURE(m, n, k);
          const Tensor z = matmul(x, y), magnitude = max(abs(x)) * max(abs(y)) * static_cast<double>(k);
          for (const auto& [i, j] : {std::pair<std::int64_t, std::int64_t>{0, 0}, {m - 1, n - 1}, {m / 2, n / 3}}) {
            const Tensor expected = sum(slice(x, {i}) * slice(y, {reel::all, j}));
            CHECK(std::abs((slice(z, {i, j}) - expected).item<double>()) <= 1e-13 * magnitude.item<double>());
          }
        }
    }
}
