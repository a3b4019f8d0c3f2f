// Factorisations of one matrix by the library's own kernels, in every instruction set: against products in double, with
// rows that lie apart, and with the codes of LAPACK.
#include "linalg/blocked.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "catch.hpp"
#include "kernels/dispatch.hpp"
#include "linalg/dense_factors.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace reel::loops;

namespace {

constexpr std::int64_t orders[] = {1, 2, 3, 6, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100, 150};
constexpr std::int64_t gap = 3;  // elements between rows
constexpr double filler = 77;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class T>
struct Rows {
  Rows(std::int64_t rows, std::int64_t columns, unsigned seed)
      : n(columns), lda(columns + gap), x(at(rows * lda), T(filler)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < n; ++j) (*this)(i, j) = uniform(random);
  }
  T& operator()(std::int64_t i, std::int64_t j) { return x[at(i * lda + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return static_cast<double>(x[at(i * lda + j)]); }
  bool gaps_untouched() const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (static_cast<std::int64_t>(i) % lda >= n && x[i] != T(filler)) return false;
    return true;
  }
  std::int64_t n, lda;
  std::vector<T> x;
};

// The tolerance: 50 roundings for each term of a sum, for numbers below 1 in magnitude and well-conditioned matrices.
template <class T>
double tolerance(std::int64_t n) {
  return 50 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class F>
void in_every_set(const F& f) {
  const kernels::Set before = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    for (const std::int64_t n : orders) {
      CAPTURE(set->isa, n);
      f(n);
    }
  }
  kernels::activate(before);
}

}  // namespace

TEMPLATE_TEST_CASE("blocked LU: the factors multiply to the matrix; partial pivoting", "", float, double) {
  in_every_set([](std::int64_t n) {
    const Rows<TestType> a(n, n, 3);
    Rows<TestType> f = a;
    std::vector<int> pivots(at(n));
    REQUIRE(blocked::getrf(n, f.x.data(), f.lda, pivots.data()) == 0);
    CHECK(f.gaps_untouched());
    double worst = 0, largest_upper = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<double> row(at(n));
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t k = 0; k <= std::min(i, j); ++k)
          row[at(j)] += std::as_const(f)(i, k) * (k == j ? 1 : std::as_const(f)(k, j));
        if (j > i) largest_upper = support::worse(largest_upper, std::abs(std::as_const(f)(i, j)));
      }
      for (std::int64_t k = n - 1; k >= 0; --k) std::swap(row[at(k)], row[at(pivots[at(k)] - 1)]);
      for (std::int64_t j = 0; j < n; ++j) worst = support::worse(worst, std::abs(row[at(j)] - a(i, j)));
    }
    CHECK(worst < tolerance<TestType>(n));
    CHECK(largest_upper <= 1);
  });
}

TEMPLATE_TEST_CASE("blocked LU continues after a zero pivot and reports the first one", "", float, double) {
  in_every_set([](std::int64_t n) {
    for (const std::int64_t zero : {std::int64_t{0}, n / 2, n - 1}) {
      Rows<TestType> a(n, n, 4);
      // rows of an upper triangular matrix, of which one is zero
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) a(i, j) = i == zero ? TestType(0) : TestType(i == j ? 2 : j > i ? 1 : 0);
      std::vector<int> pivots(at(n));
      CHECK(blocked::getrf(n, a.x.data(), a.lda, pivots.data()) == zero + 1);
      const Rows<TestType> before = a;
      CHECK(blocked::getri(n, a.x.data(), a.lda, pivots.data()) == zero + 1);
      CHECK(a.x == before.x);
    }
  });
}

TEMPLATE_TEST_CASE("blocked Cholesky: the factor squares to the matrix; reports the first minor that is not positive",
                   "", float, double) {
  in_every_set([](std::int64_t n) {
    Rows<TestType> a(n, n, 5);
    for (std::int64_t i = 0; i < n; ++i) a(i, i) += static_cast<TestType>(n);
    Rows<TestType> f = a;
    REQUIRE(blocked::potrf(n, f.x.data(), f.lda) == 0);
    CHECK(f.gaps_untouched());
    double worst = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += std::as_const(f)(i, k) * std::as_const(f)(j, k);
        worst = support::worse(worst, std::abs(sum - std::as_const(a)(i, j)));
      }
    CHECK(worst < tolerance<TestType>(n) * static_cast<double>(n));
    for (const std::int64_t failed : {std::int64_t{0}, n / 2, n - 1}) {
      f = a;
      f(failed, failed) = static_cast<TestType>(-n);
      CHECK(blocked::potrf(n, f.x.data(), f.lda) == failed + 1);
    }
  });
}

TEMPLATE_TEST_CASE("blocked triangular solves read one triangle; a column has the bits of its own solve", "", float,
                   double) {
  in_every_set([](std::int64_t n) {
    constexpr TestType nan = std::numeric_limits<TestType>::quiet_NaN();
    for (const bool lower : {false, true})
      for (const bool unit : {false, true})
        for (const bool transposed : {false, true})
          for (const std::int64_t columns : {1, 2, 7, 40}) {
            CAPTURE(lower, unit, transposed, columns);
            Rows<TestType> a(n, n, 6);
            for (std::int64_t i = 0; i < n; ++i)
              for (std::int64_t j = 0; j < n; ++j) {
                a(i, j) *= TestType(1) / static_cast<TestType>(n);
                if (i == j) a(i, j) = unit ? nan : TestType(2);
                if (i != j && (i > j) != (lower != transposed)) a(i, j) = nan;
              }
            const Rows<TestType> b(n, columns, 7);
            Rows<TestType> x = b;
            const std::int64_t row = transposed ? 1 : a.lda, column = transposed ? a.lda : 1;
            REQUIRE(blocked::solve<TestType>(
                        {n, columns, lower, unit, a.x.data(), row, column, x.x.data(), x.lda, 1}) == 0);
            CHECK(x.gaps_untouched());
            double worst = 0;
            for (std::int64_t i = 0; i < n; ++i)
              for (std::int64_t j = 0; j < columns; ++j) {
                double sum = unit ? std::as_const(x)(i, j) : 0;
                for (std::int64_t k = lower ? 0 : i; k < (lower ? i + 1 : n); ++k)
                  if (k != i || !unit)
                    sum += static_cast<double>(a.x[at(i * row + k * column)]) * std::as_const(x)(k, j);
                worst = support::worse(worst, std::abs(sum - b(i, j)));
              }
            CHECK(worst < tolerance<TestType>(n));
            // Columns that are contiguous, one at a time and all at once.
            std::vector<TestType> one(at(n)), all(at(n * columns));
            bool same = true;
            for (std::int64_t j = 0; j < columns; ++j)
              for (std::int64_t i = 0; i < n; ++i) all[at(j * n + i)] = b.x[at(i * b.lda + j)];
            REQUIRE(blocked::solve<TestType>({n, columns, lower, unit, a.x.data(), row, column, all.data(), 1, n}) ==
                    0);
            for (std::int64_t j = 0; j < columns; ++j) {
              for (std::int64_t i = 0; i < n; ++i) one[at(i)] = b.x[at(i * b.lda + j)];
              REQUIRE(blocked::solve<TestType>({n, 1, lower, unit, a.x.data(), row, column, one.data(), 1, n}) == 0);
              for (std::int64_t i = 0; i < n; ++i)
                same = same && one[at(i)] == x(i, j) && one[at(i)] == all[at(j * n + i)];
            }
            CHECK(same);
          }
  });
}

TEMPLATE_TEST_CASE("systems solved by blocked LU, transposed too, and the inverse", "", float, double) {
  in_every_set([](std::int64_t n) {
    Rows<TestType> a(n, n, 8);
    for (std::int64_t i = 0; i < n; ++i) a(i, (i + 1) % n) += static_cast<TestType>(n);
    Rows<TestType> f = a;
    std::vector<int> pivots(at(n));
    REQUIRE(blocked::getrf(n, f.x.data(), f.lda, pivots.data()) == 0);
    for (const bool transposed : {false, true}) {
      constexpr std::int64_t columns = 5;
      const Rows<TestType> b(n, columns, 9);
      Rows<TestType> x = b;
      REQUIRE(blocked::getrs(transposed, n, columns, f.x.data(), f.lda, pivots.data(), x.x.data(), x.lda) == 0);
      double worst = 0;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < n; ++k)
            sum += (transposed ? std::as_const(a)(k, i) : std::as_const(a)(i, k)) * std::as_const(x)(k, j);
          worst = support::worse(worst, std::abs(sum - b(i, j)));
        }
      CHECK(worst < tolerance<TestType>(n));
    }
    REQUIRE(blocked::getri(n, f.x.data(), f.lda, pivots.data()) == 0);
    CHECK(f.gaps_untouched());
    double worst = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = i == j ? -1 : 0;
        for (std::int64_t k = 0; k < n; ++k) sum += std::as_const(a)(i, k) * std::as_const(f)(k, j);
        worst = support::worse(worst, std::abs(sum));
      }
    CHECK(worst < tolerance<TestType>(n));
  });
}

TEMPLATE_TEST_CASE("the chosen triangular solve agrees with LAPACK on both sides", "", float, double) {
  using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;
  for (const Side side : {Side::left, Side::right})
    for (const Triangle triangle : {Triangle::lower, Triangle::upper})
      for (const Transposed transposed : {Transposed::no, Transposed::yes})
        for (const Diagonal diagonal : {Diagonal::stored, Diagonal::unit}) {
          constexpr std::int64_t m = 37, n = 21;
          const std::int64_t order = side == Side::left ? m : n;
          Rows<TestType> a(order, order, 10);
          for (std::int64_t i = 0; i < order; ++i)
            for (std::int64_t j = 0; j < order; ++j) a(i, j) = i == j ? TestType(2) : a(i, j) / TestType(order);
          Rows<TestType> x(m, n, 11), y = x;
          REQUIRE(dense::trsm(side, triangle, transposed, diagonal, m, n, a.x.data(), a.lda, x.x.data(), x.lda) == 0);
          REQUIRE(kernels::trsm(side, triangle, transposed, diagonal, m, n, 1, a.x.data(), a.lda, y.x.data(), y.lda) ==
                  0);
          double worst = 0;
          for (std::size_t i = 0; i < x.x.size(); ++i)
            worst = support::worse(worst, std::abs(static_cast<double>(x.x[i]) - static_cast<double>(y.x[i])));
          CHECK(worst < tolerance<TestType>(order));
        }
}
