// One matrix at a time, in double precision. Three ways, of which values choose:
//   1. Order 4 and less: the polynomial itself, by expansion into minors.
//   2. Pivots of much the same size: a + e h = a (1 + e x) with x = a^-1 h by the LU factors.
//   3. Otherwise: rows and columns are scaled by powers of two, and a = L D U with complete pivoting. What is left is
//      det(D + e x) with x = L^-1 h U^-1: expanded up to order 8. Above, for a derivative of order K (K of the rows
//      come from directions), the first n - K pivots are divided by and the Schur complement of order K is expanded.
//      No term that is divided by small pivots exceeds the largest product of n - K pivots, the size of the result.
#include "loops/determinant.hpp"

#include <array>
#include <limits>
#include <new>

#include "core/fail.hpp"
#include "kernels/lapack.hpp"
#include "loops/loops.hpp"
#include "loops/matmul.hpp"
#include "loops/matrices.hpp"
#include "loops/minors.hpp"
#include "loops/scaled.hpp"

namespace reel::loops {
namespace {

using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;
using reel::detail::mutable_data;

using Matrix = std::vector<double>;  // row-major

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void require_success(int code) {
  if (code == kernels::out_of_memory) throw std::bad_alloc();
  if (code != 0) fail<ValueError>("linear algebra", "an extent beyond 2^31 - 1 is more than LAPACK takes");
}

// A matrix, its factors, k directions, and what is asked for.
struct Problem {
  std::int64_t n;
  unsigned k;
  bool cofactors;  // else the determinant
  Matrix a;
  std::vector<Matrix> directions;
  unsigned sets() const { return 1u << k; }
  unsigned full() const { return sets() - 1; }
  // How many rows come from directions, the one of the gradient included.
  std::int64_t degree() const { return k + (cofactors ? 1 : 0); }
};

// What is asked for: one number, or n n of them.
struct Result {
  Matrix mantissas;
  std::vector<std::int64_t> exponents;  // of each; one alone for all
  Scaled operator[](std::size_t i) const {
    Scaled x = Scaled::of(mantissas[i]);
    x.exponent += exponents.size() == 1 ? exponents[0] : exponents[i];
    return x;
  }
};

// ---- Matrices of polynomials, by coefficients

// One matrix for each set of variables; an empty one is zero.
struct Series {
  std::int64_t rows, columns;
  std::vector<Matrix> coefficients;
};

Series zero_series(std::int64_t rows, std::int64_t columns, unsigned sets) {
  return {rows, columns, std::vector<Matrix>(sets)};
}

// sum += factor x y of matrices.
void add_matrix_product(Matrix& sum, double factor, const Matrix& x, const Matrix& y, std::int64_t rows,
                        std::int64_t inner, std::int64_t columns) {
  if (sum.empty()) sum.assign(at(rows * columns), 0.0);
  if (rows > 0 && inner > 0 && columns > 0)
    require_success(kernels::gemm<double>(Transposed::no, Transposed::no, rows, columns, inner, factor, x.data(), inner,
                                          y.data(), columns, 1, sum.data(), columns));
}

Series product(const Series& x, const Series& y) {
  const auto sets = static_cast<unsigned>(x.coefficients.size());
  Series z = zero_series(x.rows, y.columns, sets);
  for (unsigned r = 0; r < sets; ++r)
    for (unsigned t = 0; t < sets; ++t)
      if ((r & t) == 0 && !x.coefficients[r].empty() && !y.coefficients[t].empty())
        add_matrix_product(z.coefficients[r | t], 1, x.coefficients[r], y.coefficients[t], x.rows, x.columns,
                           y.columns);
  return z;
}

// p x with a polynomial p.
Series scaled(const Polynomial<double>& p, const Series& x) {
  Series z = zero_series(x.rows, x.columns, static_cast<unsigned>(p.size()));
  for (unsigned r = 0; r < p.size(); ++r)
    for (unsigned t = 0; t < p.size(); ++t) {
      if ((r & t) != 0 || x.coefficients[t].empty()) continue;
      Matrix& sum = z.coefficients[r | t];
      if (sum.empty()) sum.assign(x.coefficients[t].size(), 0.0);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += p[r] * x.coefficients[t][i];
    }
  return z;
}

// Determinant and inverse of 1 + sum_i e_i x_i.
struct UnitSeries {
  Polynomial<double> determinant;
  Series inverse;
};

double trace_of_product(const Matrix& x, const Matrix& y, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) sum += x[at(i * n + j)] * y[at(j * n + i)];
  return sum;
}

UnitSeries unit_series(const std::vector<Matrix>& x, std::int64_t n) {
  const unsigned sets = 1u << x.size();
  UnitSeries u{Polynomial<double>(sets), zero_series(n, n, sets)};
  u.determinant[0] = 1;
  std::vector<Matrix>& inverse = u.inverse.coefficients;
  inverse[0].assign(at(n * n), 0.0);
  for (std::int64_t i = 0; i < n; ++i) inverse[0][at(i * n + i)] = 1;
  for (unsigned t = 1; t < sets; ++t) {
    for (unsigned i = 0; i < x.size(); ++i)
      if (t >> i & 1) add_matrix_product(inverse[t], -1, x[i], inverse[t & ~(1u << i)], n, n, n);
    // The derivative by the last variable: d det = det tr(inverse x).
    const auto last = static_cast<unsigned>(std::bit_width(t)) - 1;
    const unsigned rest = t & ~(1u << last);
    for (unsigned r = rest;; r = (r - 1) & rest) {
      u.determinant[t] += u.determinant[r] * trace_of_product(inverse[rest & ~r], x[last], n);
      if (r == 0) break;
    }
  }
  return u;
}

// ---- 1. By expansion

constexpr std::int64_t expanded_order_max = 4;

// Whether products of n elements neither overflow nor vanish. Also where one is not finite: nothing is lost then.
bool in_range(const Problem& p) {
  const int most = 960 / static_cast<int>(expanded_order_max);
  bool all_in_range = true, all_finite = true;
  const auto look = [&](const Matrix& m) {
    for (const double x : m) {
      all_finite = all_finite && std::isfinite(x);
      if (x != 0 && std::isfinite(x)) all_in_range = all_in_range && std::abs(std::ilogb(x)) < most;
    }
  };
  look(p.a);
  for (const Matrix& h : p.directions) look(h);
  return all_in_range || !all_finite;
}

double number_of(double x, double*) { return x; }
Scaled number_of(double x, Scaled*) { return Scaled::of(x); }
Scaled scaled_of(double x) { return Scaled::of(x); }
Scaled scaled_of(const Scaled& x) { return x; }

// The minor of a [n, n] in as many rows as columns, by expansion along the first row.
template <class Number>
Number minor_of(const Matrix& a, unsigned n, unsigned rows, unsigned columns) {
  if (rows == 0) return Number{1};
  const auto row = static_cast<unsigned>(std::countr_zero(rows));
  Number sum{};
  bool negative = false;
  for (unsigned left = columns; left != 0; left &= left - 1, negative = !negative) {
    const auto column = static_cast<unsigned>(std::countr_zero(left));
    const Number element = number_of(a[row * n + column], static_cast<Number*>(nullptr));
    if (is_zero(element)) continue;
    sum += (negative ? -element : element) * minor_of<Number>(a, n, rows & (rows - 1), columns & ~(1u << column));
  }
  return sum;
}

// The elements of the directions in these rows and columns, as polynomials.
template <class Number>
Minors<Number> minors_of_directions(const Problem& p, unsigned rows, unsigned columns) {
  const auto n = static_cast<unsigned>(p.n), order = static_cast<unsigned>(std::popcount(rows));
  Polynomial<Number> matrix(std::size_t{order} * order * p.sets());
  std::size_t element = 0;
  for (unsigned r = rows; r != 0; r &= r - 1)
    for (unsigned c = columns; c != 0; c &= c - 1, ++element) {
      const unsigned from = static_cast<unsigned>(std::countr_zero(r)) * n + static_cast<unsigned>(std::countr_zero(c));
      for (unsigned d = 0; d < p.k; ++d)
        matrix[element * p.sets() + (1u << d)] = number_of(p.directions[d][from], static_cast<Number*>(nullptr));
    }
  return {order, p.sets(), std::move(matrix)};
}

bool odd_sum(unsigned rows, unsigned columns) {
  constexpr unsigned odd_positions = 0xaaaaaaaa;
  return (std::popcount(rows & odd_positions) + std::popcount(columns & odd_positions)) % 2 != 0;
}

// The sum over the rows and columns that come from directions: minors there times the complementary minors of a.
template <class Number>
Result by_expansion(const Problem& p) {
  const auto n = static_cast<unsigned>(p.n), every = (1u << n) - 1, degree = static_cast<unsigned>(p.degree());
  std::vector<Number> sums(p.cofactors ? n * n : 1);
  for (unsigned rows = 0; rows <= every; ++rows) {
    if (static_cast<unsigned>(std::popcount(rows)) != degree) continue;
    for (unsigned columns = 0; columns <= every; ++columns) {
      if (static_cast<unsigned>(std::popcount(columns)) != degree) continue;
      Number minor = minor_of<Number>(p.a, n, every & ~rows, every & ~columns);
      if (is_zero(minor)) continue;
      if (odd_sum(rows, columns)) minor = -minor;
      const Minors<Number> others = minors_of_directions<Number>(p, rows, columns);
      if (!p.cofactors) {
        sums[0] += minor * others.determinant()[p.full()];
        continue;
      }
      for (unsigned r = rows, i = 0; r != 0; r &= r - 1, ++i)
        for (unsigned c = columns, j = 0; c != 0; c &= c - 1, ++j)
          sums[static_cast<unsigned>(std::countr_zero(r)) * n + static_cast<unsigned>(std::countr_zero(c))] +=
              minor * others.cofactor(i, j)[p.full()];
    }
  }
  Result result;
  for (const Number& sum : sums) {
    result.mantissas.push_back(scaled_of(sum).mantissa);
    result.exponents.push_back(scaled_of(sum).exponent);
  }
  return result;
}

// ---- 2. By LU factors

// The largest exponent of the elements; of zeros the least integer.
int largest_exponent(const Matrix& x) {
  double most = 0;
  for (const double element : x) most = std::max(most, std::abs(element));
  return most == 0 ? std::numeric_limits<int>::min() : std::ilogb(most);
}

template <class T>
struct Factored {
  const T* lu;
  const int* pivots;
  std::int64_t n;
  double least = std::numeric_limits<double>::infinity(), most = 0;  // magnitudes of the pivots

  Factored(const T* factors, const int* rows, std::int64_t order) : lu(factors), pivots(rows), n(order) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double pivot = std::abs(static_cast<double>(lu[i * n + i]));
      least = std::min(least, pivot);
      most = std::max(most, pivot);
    }
  }
  // Whether division by the pivots costs no more than half of the digits, to a derivative of this degree, and no
  // element of the inverse overflows.
  bool regular(std::int64_t degree) const {
    const double half = std::is_same_v<T, float> ? 1e-3 : 1e-6, range = std::is_same_v<T, float> ? 0x1p100 : 0x1p900;
    return least > std::pow(half, 1.0 / static_cast<double>(degree)) * most && most < range && most > 1 / range;
  }
};

// The gradient of det itself.
template <class T>
Result inverse_cofactors(const Factored<T>& f) {
  const std::int64_t n = f.n;
  std::vector<T> inverse(f.lu, f.lu + n * n);
  require_success(kernels::getri<T>(n, inverse.data(), n, f.pivots));
  const Scaled determinant = pivot_product(f.lu, f.pivots, n);
  Result result{Matrix(at(n * n)), {determinant.exponent}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      result.mantissas[at(i * n + j)] = determinant.mantissa * static_cast<double>(inverse[at(j * n + i)]);
  return result;
}

template <class T>
Result by_factors(const Problem& p, const Factored<T>& f) {
  if (p.k == 0 && p.cofactors) return inverse_cofactors(f);
  const std::int64_t n = p.n;
  const Matrix lu(f.lu, f.lu + n * n);
  Scaled determinant = pivot_product(f.lu, f.pivots, n);
  const int size = std::ilogb(f.most);
  std::vector<Matrix> x = p.directions;
  for (Matrix& h : x) {  // of a's size, so that a^-1 h is in range
    const int exponent = largest_exponent(h);
    if (exponent == std::numeric_limits<int>::min()) continue;
    for (double& element : h) element = std::ldexp(element, size - exponent);
    determinant.exponent += exponent - size;
    require_success(kernels::getrs<double>(Transposed::no, n, n, lu.data(), n, f.pivots, h.data(), n));
  }
  const UnitSeries u = unit_series(x, n);
  if (!p.cofactors) return {{u.determinant[p.full()] * determinant.mantissa}, {determinant.exponent}};
  const Matrix adjugate = scaled(u.determinant, u.inverse).coefficients[p.full()];
  Result result{Matrix(at(n * n)), {determinant.exponent - size}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      result.mantissas[at(i * n + j)] = std::ldexp(adjugate[at(j * n + i)] * determinant.mantissa, size);
  require_success(kernels::getrs<double>(Transposed::yes, n, n, lu.data(), n, f.pivots, result.mantissas.data(), n));
  return result;
}

// ---- 3. By complete pivoting

// Powers of two that make the rows and columns of a matrix alike in size.
struct Balance {
  std::vector<std::int64_t> rows, columns;
  std::int64_t total = 0;  // the sum of all exponents

  explicit Balance(const Matrix& a, std::int64_t n) : rows(at(n)), columns(at(n)) {
    for (std::int64_t i = 0; i < n; ++i)
      rows[at(i)] = -largest(
          a, n, [&](std::int64_t k) { return i * n + k; }, columns);
    for (std::int64_t j = 0; j < n; ++j)
      columns[at(j)] = -largest(
          a, n, [&](std::int64_t k) { return k * n + j; }, rows);
    for (std::int64_t i = 0; i < n; ++i) total += rows[at(i)] + columns[at(i)];
  }
  std::int64_t exponent(std::int64_t i, std::int64_t j) const { return rows[at(i)] + columns[at(j)]; }

 private:
  template <class Position>
  static std::int64_t largest(const Matrix& a, std::int64_t n, const Position& position,
                              const std::vector<std::int64_t>& raised) {
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t k = 0; k < n; ++k)
      if (const double x = a[at(position(k))]; x != 0) most = std::max(most, std::ilogb(x) + raised[at(k)]);
    return most == std::numeric_limits<std::int64_t>::min() ? 0 : most;
  }
};

double raised(double x, std::int64_t exponent) {
  return std::ldexp(x, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
}

// The balanced matrix as L D U, and directions as x = L^-1 h U^-1.
struct Reduced {
  Balance balance;
  Matrix lu;  // L below the diagonal, U above it
  Matrix pivots;
  CompletePivots order;
  std::vector<Matrix> x;
  std::int64_t exponent = 0;  // of the result, by the scaling of directions
};

// The direction in balanced rows and columns, in the order of the pivots, and its largest exponent taken off.
Matrix balanced_direction(const Matrix& h, const Reduced& to, std::int64_t n, std::int64_t& exponent) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      if (const double x = h[at(i * n + j)]; x != 0) most = std::max(most, std::ilogb(x) + to.balance.exponent(i, j));
  Matrix y(at(n * n), 0.0);
  if (most == std::numeric_limits<std::int64_t>::min()) return y;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = to.order.rows[at(i)], column = to.order.columns[at(j)];
      y[at(i * n + j)] = raised(h[at(row * n + column)], to.balance.exponent(row, column) - most);
    }
  exponent += most;
  return y;
}

void solve_unit(const Matrix& lu, Side side, Triangle triangle, Transposed transposed, std::int64_t n, Matrix& x) {
  require_success(
      kernels::trsm<double>(side, triangle, transposed, Diagonal::unit, n, n, 1, lu.data(), n, x.data(), n));
}

constexpr double zero_pivot = 0x1p-200;  // relative to the first; those below are rounding errors of a singular matrix

Reduced reduced(const Problem& p) {
  const std::int64_t n = p.n;
  Reduced r{Balance(p.a, n), p.a, Matrix(at(n), 0.0), {}, {}};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) r.lu[at(i * n + j)] = raised(p.a[at(i * n + j)], r.balance.exponent(i, j));
  r.order = eliminate(r.lu.data(), n, n, zero_pivot);
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_pivot = i < r.order.count;
    if (is_pivot) r.pivots[at(i)] = r.lu[at(i * n + i)];
    for (std::int64_t j = i + 1; j < n; ++j) {
      r.lu[at(i * n + j)] = is_pivot ? r.lu[at(i * n + j)] / r.pivots[at(i)] : 0;
      if (!is_pivot) r.lu[at(j * n + i)] = 0;
    }
  }
  for (const Matrix& h : p.directions) {
    r.x.push_back(balanced_direction(h, r, n, r.exponent));
    solve_unit(r.lu, Side::left, Triangle::lower, Transposed::no, n, r.x.back());
    solve_unit(r.lu, Side::right, Triangle::upper, Transposed::no, n, r.x.back());
  }
  return r;
}

Matrix block(const Matrix& x, std::int64_t n, std::int64_t row, std::int64_t column, std::int64_t rows,
             std::int64_t columns) {
  Matrix y(at(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y[at(i * columns + j)] = x[at((row + i) * n + column + j)];
  return y;
}

void divide_rows(Matrix& x, const Matrix& by, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) x[at(i * columns + j)] /= by[at(i)];
}
void divide_columns(Series& x, const Matrix& by) {
  for (Matrix& m : x.coefficients)
    for (std::size_t i = 0; i < m.size(); ++i) m[i] /= by[i % at(x.columns)];
}

// D + sum_i e_i x_i in blocks: the first `head` rows and columns, and the others.
struct Blocks {
  std::int64_t n, head, tail;
  Polynomial<double> determinant;  // of the first block, but for its pivots
  Series inverse;                  // of the first block, but for division of its columns by the pivots
  Series right, below;             // inverse times the block on its right, the block below times inverse
  Series schur;                    // complement of the first block
};

Blocks blocks_of(const Reduced& r, const Problem& p) {
  const std::int64_t n = p.n, head = n - p.degree(), tail = p.degree();
  std::vector<Matrix> first;
  Series right = zero_series(head, tail, p.sets()), below = zero_series(tail, head, p.sets());
  Series schur = zero_series(tail, tail, p.sets());
  schur.coefficients[0].assign(at(tail * tail), 0.0);
  for (std::int64_t i = 0; i < tail; ++i) schur.coefficients[0][at(i * tail + i)] = r.pivots[at(head + i)];
  for (unsigned d = 0; d < p.k; ++d) {
    first.push_back(block(r.x[d], n, 0, 0, head, head));
    divide_rows(first.back(), r.pivots, head, head);
    right.coefficients[1u << d] = block(r.x[d], n, 0, head, head, tail);
    divide_rows(right.coefficients[1u << d], r.pivots, head, tail);
    below.coefficients[1u << d] = block(r.x[d], n, head, 0, tail, head);
    schur.coefficients[1u << d] = block(r.x[d], n, head, head, tail, tail);
  }
  UnitSeries u = unit_series(first, head);
  Series inner = product(u.inverse, right), left = product(below, u.inverse);
  divide_columns(left, r.pivots);
  const Series correction = product(below, inner);
  for (unsigned t = 0; t < p.sets(); ++t) {
    Matrix& sum = schur.coefficients[t];
    if (sum.empty()) sum.assign(at(tail * tail), 0.0);
    for (std::size_t i = 0; i < correction.coefficients[t].size(); ++i) sum[i] -= correction.coefficients[t][i];
  }
  return {n,
          head,
          tail,
          std::move(u.determinant),
          std::move(u.inverse),
          std::move(inner),
          std::move(left),
          std::move(schur)};
}

Minors<double> minors_of(const Series& x) {
  const std::size_t sets = x.coefficients.size();
  Polynomial<double> matrix(at(x.rows * x.columns) * sets);
  for (std::size_t t = 0; t < sets; ++t)
    for (std::size_t i = 0; i < x.coefficients[t].size(); ++i) matrix[i * sets + t] = x.coefficients[t][i];
  return {static_cast<unsigned>(x.rows), static_cast<unsigned>(sets), std::move(matrix)};
}

Polynomial<double> product(const Polynomial<double>& x, const Polynomial<double>& y) {
  Polynomial<double> z(x.size());
  add_product(z.data(), x.data(), y.data(), static_cast<unsigned>(x.size()));
  return z;
}

// The cofactors of D + sum_i e_i x_i, but for the pivots of the first block: the coefficient of all variables.
Matrix block_cofactors(const Blocks& b, const Minors<double>& minors, const Matrix& pivots) {
  const auto sets = static_cast<unsigned>(b.determinant.size()), full = sets - 1;
  Series adjugate = zero_series(b.tail, b.tail, sets);  // of the Schur complement
  for (Matrix& m : adjugate.coefficients) m.resize(at(b.tail * b.tail));
  for (std::int64_t i = 0; i < b.tail; ++i)
    for (std::int64_t j = 0; j < b.tail; ++j) {
      const Polynomial<double> c = minors.cofactor(static_cast<unsigned>(i), static_cast<unsigned>(j));
      for (unsigned t = 0; t < sets; ++t) adjugate.coefficients[t][at(j * b.tail + i)] = c[t];
    }
  const Series corner = scaled(b.determinant, adjugate), right = product(b.right, corner);
  const Series below = product(corner, b.below), inner = product(right, b.below);
  Series first = scaled(product(b.determinant, minors.determinant()), b.inverse);
  divide_columns(first, pivots);
  Matrix cofactors(at(b.n * b.n), 0.0);  // the transpose of the adjugate
  const auto put = [&](const Series& x, double sign, std::int64_t row, std::int64_t column) {
    const Matrix& m = x.coefficients[full];
    for (std::size_t i = 0; i < m.size(); ++i) {
      const auto k = static_cast<std::int64_t>(i);
      cofactors[at((column + k % x.columns) * b.n + row + k / x.columns)] += sign * m[i];
    }
  };
  put(first, 1, 0, 0);
  put(inner, 1, 0, 0);
  put(right, -1, 0, b.head);
  put(below, -1, b.head, 0);
  put(corner, 1, b.head, b.head);
  return cofactors;
}

// The determinant of D + sum_i e_i x_i, or its cofactors, as numbers times 2^exponent.
struct OfPivots {
  Matrix values;
  std::int64_t exponent = 0;
};

OfPivots by_blocks(const Reduced& r, const Problem& p) {
  const Blocks b = blocks_of(r, p);
  Scaled scale{1, 0};
  for (std::int64_t i = 0; i < b.head; ++i) scale *= r.pivots[at(i)];
  const Minors<double> minors = minors_of(b.schur);
  OfPivots result{p.cofactors ? block_cofactors(b, minors, r.pivots)
                              : Matrix{product(b.determinant, minors.determinant())[p.full()]},
                  scale.exponent};
  for (double& x : result.values) x *= scale.mantissa;
  return result;
}

// Without any division: zeros are exact, whatever the scale of rows and columns.
OfPivots by_expansion_of_pivots(const Reduced& r, const Problem& p) {
  Problem diagonal{p.n, p.k, p.cofactors, Matrix(at(p.n * p.n), 0.0), r.x};
  for (std::int64_t i = 0; i < p.n; ++i) diagonal.a[at(i * p.n + i)] = r.pivots[at(i)];
  const Result expanded = by_expansion<double>(diagonal);
  OfPivots result;
  for (std::size_t i = 0; i < expanded.mantissas.size(); ++i) result.values.push_back(expanded[i].value());
  return result;
}

constexpr std::int64_t expanded_pivots_max = 8;  // 2^8 sets of rows; elimination is faster from about there on

Result by_complete_pivoting(const Problem& p) {
  const std::int64_t n = p.n;
  const Reduced r = reduced(p);
  const std::size_t size = p.cofactors ? at(n * n) : 1;
  if (r.order.count < n - p.degree()) return {Matrix(size, 0.0), {0}};
  OfPivots of = n <= expanded_pivots_max ? by_expansion_of_pivots(r, p) : by_blocks(r, p);
  const std::int64_t exponent = of.exponent + r.exponent - r.balance.total;
  const double sign = r.order.odd ? -1 : 1;
  if (!p.cofactors) return {{sign * of.values[0]}, {exponent}};
  solve_unit(r.lu, Side::left, Triangle::lower, Transposed::yes, n, of.values);
  solve_unit(r.lu, Side::right, Triangle::upper, Transposed::yes, n, of.values);
  Result result{Matrix(size), std::vector<std::int64_t>(size)};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = r.order.rows[at(i)], column = r.order.columns[at(j)];
      result.mantissas[at(row * n + column)] = sign * of.values[at(i * n + j)];
      result.exponents[at(row * n + column)] = exponent + r.balance.exponent(row, column);
    }
  return result;
}

// ---- The choice, and batches

bool all_finite(const Problem& p) {
  const auto finite = [](const Matrix& m) {
    double sum = 0;  // x - x is 0 or NaN
    for (const double x : m) sum += x - x;
    return sum == 0;
  };
  return finite(p.a) && std::all_of(p.directions.begin(), p.directions.end(), finite);
}

template <class T>
Result derivative(const Problem& p, const T* lu, const int* pivots) {
  const std::size_t size = p.cofactors ? at(p.n * p.n) : 1;
  if (p.degree() > p.n) return {Matrix(size, 0.0), {0}};
  if (p.n <= expanded_order_max) return in_range(p) ? by_expansion<double>(p) : by_expansion<Scaled>(p);
  if (!all_finite(p)) return {Matrix(size, std::numeric_limits<double>::quiet_NaN()), {0}};
  const Factored<T> f(lu, pivots, p.n);
  return f.regular(p.degree()) ? by_factors(p, f) : by_complete_pivoting(p);
}

// Shape of the batch: all but the last `own` axes.
Shape batch_of(const Tensor& x, int own) {
  Shape batch = x.shape();
  for (int i = 0; i < own; ++i) batch.pop_back();
  return batch;
}

// to = weight x, each number rounded once from double.
template <class T>
void write_weighted(double weight, const Result& x, T* to) {
  Scaled common = Scaled::of(weight);
  common.exponent += x.exponents[0];
  const std::size_t count = x.mantissas.size();
  if (const double factor = common.value(); x.exponents.size() == 1 && std::isnormal(factor)) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<T>(factor * x.mantissas[i]);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    Scaled element = x[i];
    if (std::isfinite(weight)) element *= Scaled::of(weight);
    to[i] = static_cast<T>(std::isfinite(weight) ? element.value() : weight * element.value());
  }
}

// The operands of all problems, without gaps.
template <class T>
struct Operands {
  Operands(const DeterminantDirections& p)
      : a(contiguous(p.a)), lu(contiguous(p.lu)), pivots(contiguous(p.pivots)), directions(contiguous(p.directions)) {}

  // Problem i of the batch, and its result.
  Result operator()(std::int64_t i, const Shape& batch, bool cofactors) const {
    const std::int64_t n = order_of(a), matrix = broadcast_index(i, batch, batch_of(a, 2));
    const std::int64_t k = reel::detail::block(directions)->extents()[reel::detail::block(directions)->rank - 3];
    const T *first = mutable_data<T>(a) + matrix * n * n,
            *h = mutable_data<T>(directions) + broadcast_index(i, batch, batch_of(directions, 3)) * k * n * n;
    Problem p{n, static_cast<unsigned>(k), cofactors, Matrix(first, first + n * n), {}};
    for (std::int64_t d = 0; d < k; ++d, h += n * n) p.directions.emplace_back(h, h + n * n);
    return derivative(p, mutable_data<T>(lu) + matrix * n * n, mutable_data<int>(pivots) + matrix * n);
  }
  Tensor a, lu, pivots, directions;
};

}  // namespace

void determinant_derivative(const DeterminantDirections& p, const Tensor& out) {
  const Shape batch = out.shape();
  with_type(out, [&]<class T>(T) {
    const Operands<T> problems(p);
    for_each_matrix(out.size(), order_of(p.a), [&](std::int64_t i) {
      mutable_data<T>(out)[i] = static_cast<T>(problems(i, batch, false)[0].value());
    });
  });
}

void cofactor_derivative(const Tensor& weight, const DeterminantDirections& p, const Tensor& out) {
  const Shape batch = batch_of(out, 2);
  const std::int64_t n = order_of(out);
  const Tensor weights = contiguous(weight);
  with_type(out, [&]<class T>(T) {
    const Operands<T> problems(p);
    for_each_matrix(count_of(out, n), n, [&](std::int64_t i) {
      const Result result = problems(i, batch, true);
      const double w = static_cast<double>(mutable_data<T>(weights)[broadcast_index(i, batch, weights.shape())]);
      write_weighted(w, result, mutable_data<T>(out) + i * n * n);
    });
  });
}

}  // namespace reel::loops
