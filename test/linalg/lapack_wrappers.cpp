// The wrappers of BLAS and LAPACK against loops written out: layouts, flags, leading dimensions, codes.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "../catch.hpp"
#include "linalg/lapack/decompositions.hpp"
#include "linalg/lapack/lapack.hpp"
#include "linalg/lapack_codes.hpp"
#include "support/out_of_memory.hpp"

using namespace reel::kernels;

namespace {

constexpr std::array flags = {Transposed::no, Transposed::yes};
constexpr std::array triangles = {Triangle::lower, Triangle::upper};

// Reproducible numbers in (-1, 1).
template <class T>
std::vector<T> numbers(std::ptrdiff_t count, std::uint32_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint64_t state = seed;
  for (T& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<T>(static_cast<double>(state >> 33) / 1073741824.0 - 1.0);
  }
  return values;
}

template <class T>
class Matrix {  // row-major
 public:
  Matrix(std::ptrdiff_t r, std::ptrdiff_t c, std::uint32_t seed, std::ptrdiff_t padding = 0)
      : rows(r), columns(c), leading(c + padding), values(numbers<T>(r * (c + padding), seed)) {}
  double operator()(std::ptrdiff_t i, std::ptrdiff_t j, Transposed t = Transposed::no) const {
    if (t == Transposed::yes) std::swap(i, j);
    return static_cast<double>(values[static_cast<std::size_t>(i * leading + j)]);
  }
  T* data() { return values.data(); }
  const T* data() const { return values.data(); }
  void shift_diagonal(T by) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) values[static_cast<std::size_t>(i * leading + i)] += by;
  }

  std::ptrdiff_t rows, columns, leading;
  std::vector<T> values;
};

template <class T>
Approx near(double expected) {
  return Approx(expected).margin(1e3 * static_cast<double>(std::numeric_limits<T>::epsilon()));
}

// Element (i, j) of op(A) X, or X op(A), summed in double.
template <class A, class X>
double product(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t inner, const A& a, const X& x) {
  double sum = 0;
  for (std::ptrdiff_t l = 0; l < inner; ++l) sum += a(i, l) * x(l, j);
  return sum;
}

}  // namespace

TEMPLATE_TEST_CASE("gemm multiplies row-major matrices with padding and flags", "", float, double) {
  constexpr std::ptrdiff_t m = 5, n = 7, k = 4;
  for (const Transposed ta : flags) {
    for (const Transposed tb : flags) {
      const bool turn_a = ta == Transposed::yes, turn_b = tb == Transposed::yes;
      const Matrix<TestType> a(turn_a ? k : m, turn_a ? m : k, 1, 2), b(turn_b ? n : k, turn_b ? k : n, 2, 3);
      Matrix<TestType> c(m, n, 3, 1);
      const Matrix<TestType> before = c;
      REQUIRE(gemm(ta, tb, m, n, k, 1.5, a.data(), a.leading, b.data(), b.leading, 0.5, c.data(), c.leading) == 0);
      for (std::ptrdiff_t i = 0; i < m; ++i) {
        for (std::ptrdiff_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::ptrdiff_t l = 0; l < k; ++l) sum += a(i, l, ta) * b(l, j, tb);
          CHECK(c(i, j) == near<TestType>(1.5 * sum + 0.5 * before(i, j)));
        }
        CHECK(c(i, n) == before(i, n));  // the padding is not touched
      }
    }
  }
}

TEMPLATE_TEST_CASE("syrk overwrites, or adds to, the lower triangle of a row-major matrix with padding", "", float,
                   double) {
  constexpr std::ptrdiff_t n = 7, k = 4;
  constexpr TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  for (const Transposed turn : flags) {
    const bool turned = turn == Transposed::yes;
    const Matrix<TestType> a(turned ? k : n, turned ? n : k, 1, 2);
    std::vector<TestType> c(n * 9, nan);
    REQUIRE(syrk(turn, n, k, a.data(), a.leading, false, c.data(), 9) == 0);
    for (std::ptrdiff_t i = 0; i < n; ++i)
      for (std::ptrdiff_t j = 0; j < 9; ++j) {
        double sum = 0;
        for (std::ptrdiff_t l = 0; l < k && j < n; ++l) sum += a(i, l, turn) * a(j, l, turn);
        const TestType value = c[static_cast<std::size_t>(i * 9 + j)];
        if (j <= i)
          CHECK(value == near<TestType>(sum));
        else
          CHECK(std::isnan(value));
      }
    const std::vector<TestType> once = c;
    REQUIRE(syrk(turn, n, k, a.data(), a.leading, true, c.data(), 9) == 0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) CHECK(c[i * 9 + j] == near<TestType>(2 * double{once[i * 9 + j]}));
  }
}

TEMPLATE_TEST_CASE("gemm with beta = 0 overwrites NaN, also for an empty sum", "", float, double) {
  constexpr TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const Matrix<TestType> a(3, 3, 4), b(3, 3, 5);
  std::vector<TestType> c(9, nan);
  REQUIRE(gemm(Transposed::no, Transposed::no, 3, 3, 0, 1, a.data(), 0, b.data(), 3, 0, c.data(), 3) == 0);
  CHECK(c == std::vector<TestType>(9, TestType(0)));
  std::vector<TestType> y(6, nan);
  REQUIRE(gemv(Transposed::no, 3, 3, 2, a.data(), 3, b.data(), 3, 0, y.data(), 2) == 0);
  for (std::ptrdiff_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::ptrdiff_t l = 0; l < 3; ++l) sum += a(i, l) * b(l, 0);
    CHECK(static_cast<double>(y[static_cast<std::size_t>(2 * i)]) == near<TestType>(2 * sum));
    CHECK(std::isnan(y[static_cast<std::size_t>(2 * i + 1)]));
  }
  REQUIRE(gemv(Transposed::yes, 0, 3, 1, a.data(), 3, b.data(), 1, 0, y.data(), 1) == 0);
  CHECK(y[0] == 0);
}

TEMPLATE_TEST_CASE("dot with strides", "", float, double) {
  const std::vector<TestType> x = numbers<TestType>(100, 6), y = numbers<TestType>(100, 7);
  double sum = 0;
  for (std::size_t i = 0; i < 20; ++i) sum += static_cast<double>(x[2 * i]) * static_cast<double>(y[3 * i]);
  CHECK(static_cast<double>(dot(20, x.data(), 2, y.data(), 3)) == near<TestType>(sum));
  CHECK(dot(0, x.data(), 1, y.data(), 1) == 0);
}

TEMPLATE_TEST_CASE("trsm solves from both sides, for both triangles, transposed and with unit diagonal", "", float,
                   double) {
  constexpr std::ptrdiff_t m = 5, n = 7;
  for (const Side side : {Side::left, Side::right}) {
    for (const Triangle triangle : triangles) {
      for (const Transposed t : flags) {
        for (const Diagonal diagonal : {Diagonal::stored, Diagonal::unit}) {
          const std::ptrdiff_t order = side == Side::left ? m : n;
          Matrix<TestType> a(order, order, 8);
          a.shift_diagonal(6);
          const Matrix<TestType> b(m, n, 9, 2);
          Matrix<TestType> x = b;
          REQUIRE(trsm(side, triangle, t, diagonal, m, n, 2, a.data(), a.leading, x.data(), x.leading) == 0);
          const auto solved = [&](std::ptrdiff_t i, std::ptrdiff_t j) { return x(i, j); };
          const auto used = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
            if (t == Transposed::yes) std::swap(i, j);
            if (i == j) return diagonal == Diagonal::unit ? 1.0 : a(i, i);
            return (i > j) == (triangle == Triangle::lower) ? a(i, j) : 0.0;
          };
          for (std::ptrdiff_t i = 0; i < m; ++i) {
            for (std::ptrdiff_t j = 0; j < n; ++j)
              CHECK((side == Side::left ? product(i, j, m, used, solved) : product(i, j, n, solved, used)) ==
                    near<TestType>(2 * b(i, j)));
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("Cholesky factors and solves in either triangle and does not change the other", "", float, double) {
  constexpr std::ptrdiff_t n = 6;
  const Matrix<TestType> root(n, n, 10);
  Matrix<TestType> a(n, n, 11);
  REQUIRE(gemm(Transposed::no, Transposed::yes, n, n, n, 1, root.data(), n, root.data(), n, 0, a.data(), n) == 0);
  a.shift_diagonal(1);
  for (const Triangle triangle : triangles) {
    Matrix<TestType> factor = a;
    REQUIRE(potrf(triangle, n, factor.data(), n) == 0);
    CHECK((triangle == Triangle::lower ? factor(0, n - 1) : factor(n - 1, 0)) == a(0, n - 1));
    const Matrix<TestType> b(n, 3, 12);
    Matrix<TestType> x = b;
    REQUIRE(potrs(triangle, n, 3, factor.data(), n, x.data(), 3) == 0);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (std::ptrdiff_t j = 0; j < 3; ++j) CHECK(product(i, j, n, a, x) == near<TestType>(b(i, j)));
    }
  }
  a.shift_diagonal(-100);
  CHECK(potrf(Triangle::lower, n, a.data(), n) == 1);
}

TEMPLATE_TEST_CASE("LU solves, also transposed, inverts and gives the determinant", "", float, double) {
  constexpr std::ptrdiff_t n = 8;
  Matrix<TestType> a(n, n, 13);
  Matrix<TestType> factors = a;
  std::vector<int> pivots(n);
  REQUIRE(getrf(n, n, factors.data(), n, pivots.data()) == 0);
  for (const Transposed t : flags) {
    const Matrix<TestType> b(n, 3, 14);
    Matrix<TestType> x = b;
    REQUIRE(getrs(t, n, 3, factors.data(), n, pivots.data(), x.data(), 3) == 0);
    const auto used = [&](std::ptrdiff_t i, std::ptrdiff_t j) { return a(i, j, t); };
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      for (std::ptrdiff_t j = 0; j < 3; ++j) CHECK(product(i, j, n, used, x) == near<TestType>(b(i, j)));
    }
  }
  REQUIRE(getri(n, factors.data(), n, pivots.data()) == 0);
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    for (std::ptrdiff_t j = 0; j < n; ++j) CHECK(product(i, j, n, a, factors) == near<TestType>(i == j ? 1 : 0));
  }
  std::vector<TestType> two{1, 2, 3, 4};
  REQUIRE(getrf(2, 2, two.data(), 2, pivots.data()) == 0);
  const double sign = (pivots[0] != 1 ? -1.0 : 1.0) * (pivots[1] != 2 ? -1.0 : 1.0);
  CHECK(sign * static_cast<double>(two[0]) * static_cast<double>(two[3]) == near<TestType>(-2));
  std::vector<TestType> singular{1, 2, 2, 4};
  CHECK(getrf(2, 2, singular.data(), 2, pivots.data()) == 2);
}

TEMPLATE_TEST_CASE("QR factors column-major matrices", "", float, double) {
  constexpr std::ptrdiff_t m = 9, n = 4;
  const std::vector<TestType> a = numbers<TestType>(m * n, 15);
  const auto at = [&](const std::vector<TestType>& x, std::ptrdiff_t i, std::ptrdiff_t j) {
    return static_cast<double>(x[static_cast<std::size_t>(i + j * m)]);
  };
  std::vector<TestType> factored = a, tau(n);
  REQUIRE(geqrf(m, n, factored.data(), m, tau.data()) == 0);
  std::vector<TestType> q = factored;
  REQUIRE(orgqr(m, n, n, q.data(), m, tau.data()) == 0);
  std::vector<TestType> rotated = a;
  REQUIRE(ormqr(Side::left, Transposed::yes, m, n, n, factored.data(), m, tau.data(), rotated.data(), m) == 0);
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::ptrdiff_t l = 0; l <= j; ++l) sum += at(q, i, l) * at(factored, l, j);
      CHECK(sum == near<TestType>(at(a, i, j)));
      CHECK(at(rotated, i, j) == near<TestType>(i <= j ? at(factored, i, j) : 0));
    }
  }
  std::vector<TestType> x(rotated.begin(), rotated.begin() + n);  // Q^T times the first column
  REQUIRE(trtrs(Triangle::upper, Transposed::no, Diagonal::stored, n, 1, factored.data(), m, x.data(), n) == 0);
  CHECK(static_cast<double>(x[0]) == near<TestType>(1));
  CHECK(static_cast<double>(x[1]) == near<TestType>(0));
  std::vector<TestType> pivoted = a;
  std::vector<int> order(n, 0);
  REQUIRE(geqp3(m, n, pivoted.data(), m, order.data(), tau.data()) == 0);
  for (std::ptrdiff_t j = 1; j < n; ++j) CHECK(std::fabs(at(pivoted, j, j)) <= std::fabs(at(pivoted, j - 1, j - 1)));
  const std::vector<TestType> zero(n * n, TestType(0));
  CHECK(trtrs(Triangle::upper, Transposed::no, Diagonal::stored, n, 1, zero.data(), n, x.data(), n) == 1);
}

TEST_CASE("extents beyond 32 bits return an error code and change nothing") {
  double x = 3;
  constexpr std::ptrdiff_t huge = std::ptrdiff_t{1} << 31;
  CHECK(gemm(Transposed::no, Transposed::no, huge, 1, 1, 1.0, &x, 1, &x, 1, 0.0, &x, 1) == too_large);
  CHECK(gemm(Transposed::no, Transposed::no, 3, 1, 4, 1.0, &x, 1, &x, 1, 0.0, &x, 1) == bad_extent);
  CHECK(syrk(Transposed::no, huge, 1, &x, 1, false, &x, 1) == too_large);
  CHECK(syrk(Transposed::no, 3, 4, &x, 1, false, &x, 3) == bad_extent);
  CHECK(gemv(Transposed::no, -1, 1, 1.0, &x, 1, &x, 1, 0.0, &x, 1) == bad_extent);
  CHECK(trsm(Side::left, Triangle::lower, Transposed::no, Diagonal::stored, 1, huge, 1.0, &x, 1, &x, huge) ==
        too_large);
  CHECK(potrf(Triangle::lower, huge, &x, huge) == too_large);
  CHECK(geqrf(2, 1, &x, 1, &x) == bad_extent);
  CHECK(x == 3);
}

// The answers to LAPACK's queries wrap at these orders. Nothing is read: the matrices are null.
TEST_CASE("workspace lengths beyond 32 bits return an error code") {
  constexpr std::ptrdiff_t n = 40000;
  double* const no_d = nullptr;
  std::complex<float>* const no_c = nullptr;
  float* const no_f = nullptr;
  CHECK(heevd(true, Triangle::lower, n, no_d, n, no_d) == too_large);
  CHECK(heevd(true, Triangle::lower, n, no_c, n, no_f) == too_large);
  CHECK(gesdd(Vectors::thin, n, n, no_d, no_d, no_d, no_d) == too_large);
  CHECK(gesdd(Vectors::all, n, n, no_c, no_f, no_c, no_c) == too_large);
  CHECK(gelsd(n, n, 2 * n, no_d, no_d, 0.0) == too_large);
  const auto memory_is_asked_for = [](int succeed, const auto& call) {
    const support::FailNothrowNew no_memory(succeed);
    return call() == out_of_memory;
  };
  std::complex<double> vectors;
  CHECK(memory_is_asked_for(2, [&] { return geev(50000, no_d, &vectors, &vectors); }));
  CHECK(memory_is_asked_for(1, [&] { return gesdd(Vectors::none, n, n, no_c, no_f, no_c, no_c); }));
  CHECK_THROWS_WITH(reel::loops::first_info({0, too_large}), Catch::Contains("the workspace that LAPACK"));
}

TEST_CASE("empty matrices are no error") {
  double x = 3;
  int pivot = 0;
  CHECK(gemm(Transposed::no, Transposed::no, 0, 4, 2, 1.0, &x, 2, &x, 4, 0.0, &x, 4) == 0);
  CHECK(potrf(Triangle::upper, 0, &x, 0) == 0);
  CHECK(getrf(0, 0, &x, 0, &pivot) == 0);
  CHECK(getrs(Transposed::no, 0, 3, &x, 0, &pivot, &x, 3) == 0);
  CHECK(geqrf(0, 3, &x, 0, &x) == 0);
  CHECK(x == 3);
}
