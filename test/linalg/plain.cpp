// The replacements of OpenBLAS in a library built without it, against OpenBLAS.
#include "linalg/lapack/plain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace reel::kernels;

namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<T> drawn(std::ptrdiff_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> x(at(count));
  for (T& v : x) v = uniform(random);
  return x;
}

// Whether all elements are the same to within 200 roundings of numbers near 1.
template <class T>
bool near(const std::vector<T>& x, const std::vector<T>& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= 200 * std::numeric_limits<T>::epsilon() * std::max(T(1), std::abs(y[i]))))
      return false;
  return true;
}

constexpr std::array flags = {Transposed::no, Transposed::yes};

}  // namespace

TEMPLATE_TEST_CASE("plain products are those of OpenBLAS", "", float, double) {
  constexpr std::ptrdiff_t m = 5, n = 7, k = 4, ld = 9;
  for (const Transposed ta : flags)
    for (const Transposed tb : flags)
      for (const TestType beta : {TestType(0), TestType(0.5)}) {
        const std::vector<TestType> a = drawn<TestType>(ld * ld, 1), b = drawn<TestType>(ld * ld, 2);
        std::vector<TestType> x = drawn<TestType>(m * ld, 3), y = x;
        REQUIRE(plain::gemm(ta, tb, m, n, k, -1.5, a.data(), ld, b.data(), ld, beta, x.data(), ld) == 0);
        REQUIRE(gemm(ta, tb, m, n, k, -1.5, a.data(), ld, b.data(), ld, beta, y.data(), ld) == 0);
        CHECK(near(x, y));
      }
  const std::vector<TestType> v = drawn<TestType>(60, 4);
  CHECK(near<TestType>({plain::dot(20, v.data(), 3, v.data() + 1, 2)}, {dot(20, v.data(), 3, v.data() + 1, 2)}));
}

TEMPLATE_TEST_CASE("plain triangular solves are those of LAPACK, and report the same zero pivot", "", float, double) {
  constexpr std::ptrdiff_t n = 6, columns = 3, ld = 8;
  for (const Triangle triangle : {Triangle::lower, Triangle::upper})
    for (const Transposed transposed : flags)
      for (const Diagonal diagonal : {Diagonal::stored, Diagonal::unit}) {
        std::vector<TestType> a = drawn<TestType>(ld * n, 5);
        for (std::ptrdiff_t i = 0; i < n; ++i) a[at(i * (ld + 1))] += 4;
        std::vector<TestType> x = drawn<TestType>(ld * columns, 6), y = x;
        REQUIRE(plain::trtrs(triangle, transposed, diagonal, n, columns, a.data(), ld, x.data(), ld) == 0);
        REQUIRE(trtrs(triangle, transposed, diagonal, n, columns, a.data(), ld, y.data(), ld) == 0);
        CHECK(near(x, y));
        a[at(3 * (ld + 1))] = 0;
        const int code = diagonal == Diagonal::unit ? 0 : 4;
        CHECK(plain::trtrs(triangle, transposed, diagonal, n, columns, a.data(), ld, x.data(), ld) == code);
      }
}

TEMPLATE_TEST_CASE("plain QR gives the reflectors of LAPACK, with and without pivots", "", float, double) {
  constexpr std::ptrdiff_t ld = 11;
  for (const auto& [rows, columns] : {std::pair<std::ptrdiff_t, std::ptrdiff_t>(9, 6), {6, 6}, {4, 7}, {1, 3}}) {
    const std::ptrdiff_t m = rows, n = columns, reflectors = std::min(m, n);
    CAPTURE(m, n);
    std::vector<TestType> x = drawn<TestType>(ld * n, 7), y = x, tau_x(at(reflectors)), tau_y = tau_x;
    REQUIRE(plain::geqrf(m, n, x.data(), ld, tau_x.data()) == 0);
    REQUIRE(geqrf(m, n, y.data(), ld, tau_y.data()) == 0);
    CHECK(near(x, y));
    CHECK(near(tau_x, tau_y));
    for (const Side side : {Side::left, Side::right})
      for (const Transposed transposed : flags) {
        const std::ptrdiff_t r = side == Side::left ? m : 3, c = side == Side::left ? 3 : m;
        std::vector<TestType> u = drawn<TestType>(ld * ld, 8), v = u;
        REQUIRE(plain::ormqr(side, transposed, r, c, reflectors, y.data(), ld, tau_y.data(), u.data(), ld) == 0);
        REQUIRE(ormqr(side, transposed, r, c, reflectors, y.data(), ld, tau_y.data(), v.data(), ld) == 0);
        CHECK(near(u, v));
      }
    std::vector<int> order_x(at(n)), order_y(at(n));
    x = y = drawn<TestType>(ld * n, 9);
    for (std::ptrdiff_t i = 0; i < m; ++i) x[at(i)] = y[at(i)] = 0;  // a column of zeros comes last
    REQUIRE(plain::geqp3(m, n, x.data(), ld, order_x.data(), tau_x.data()) == 0);
    REQUIRE(geqp3(m, n, y.data(), ld, order_y.data(), tau_y.data()) == 0);
    CHECK(order_x == order_y);
    CHECK(near(x, y));
  }
}
