// Loops over the matrices of a batch, one LAPACK call each. Non-finite input never reaches LAPACK: its pivot search is
// not defined on NaN.
#include "loops/factorise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "kernels/lapack.hpp"
#include "loops/parallel.hpp"

namespace reel::loops {
namespace {

using kernels::Diagonal, kernels::Side, kernels::Transposed, kernels::Triangle;
using reel::detail::mutable_data;

constexpr Transposed flag(bool transposed) { return transposed ? Transposed::yes : Transposed::no; }

std::int64_t order_of(const Tensor& a) { return reel::detail::block(a)->extents()[reel::detail::block(a)->rank - 1]; }
std::int64_t count_of(const Tensor& a, std::int64_t n) { return n == 0 ? 0 : reel::detail::block(a)->size / (n * n); }

template <class F>
void with_type(const Tensor& x, const F& f) {
  if (reel::detail::block(x)->dtype == DType::float32)
    f(float{});
  else
    f(double{});
}

// Calls f(i) for each matrix, whose order says how many make a task.
template <class F>
void each(std::int64_t count, std::int64_t n, const F& f) {
  if (count == 1) return f(std::int64_t{0});
  kernels::prepare_blas();
  const std::int64_t grain = std::max<std::int64_t>(1, 200000 / (n * n * std::min<std::int64_t>(n, 1000) + 100));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
}

// The first code that is not 0, as a fault; what is no fault of the matrix is thrown.
Fault first_fault(const std::vector<int>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (codes[i] == kernels::out_of_memory) throw std::bad_alloc();
    if (codes[i] < 0) fail<ValueError>("linear algebra", "an extent beyond 2^31 - 1 is more than LAPACK takes");
    if (codes[i] > 0) return {static_cast<std::int64_t>(i), codes[i]};
  }
  return {};
}

template <class T>
bool finite(const T* x, std::int64_t n) {
  T sum{0};  // x - x is 0 or NaN
  for (std::int64_t i = 0; i < n; ++i) sum += x[i] - x[i];
  return sum == T(0);
}

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

// Part k of `total` in `parts` integers that differ by 1 at most.
std::int64_t share(std::int64_t total, std::int64_t parts, std::int64_t k) {
  return total / parts + (k < std::abs(total % parts) ? (total > 0 ? 1 : -1) : 0);
}

// The product of the pivots, as mantissa in (-1, 1) and exponent.
struct Scaled {
  double mantissa = 1;
  std::int64_t exponent = 0;
  void times(double x) {
    int e = 0;
    mantissa = std::frexp(mantissa * x, &e);
    exponent += e;
  }
  double value() const {
    return std::ldexp(mantissa, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000))) + 0.0;  // no -0
  }
};

template <class T>
Scaled pivot_product(const T* factors, const int* pivots, std::int64_t n) {
  Scaled p;
  for (std::int64_t i = 0; i < n; ++i) {
    int e = 0;
    const double pivot = std::frexp(static_cast<double>(factors[i * n + i]), &e);
    p.times(pivots[i] == i + 1 ? pivot : -pivot);
    p.exponent += e;
  }
  return p;
}

}  // namespace

Fault cholesky(const Tensor& a) {
  const std::int64_t n = order_of(a), count = count_of(a, n);
  std::vector<int> codes(static_cast<std::size_t>(count));
  with_type(a, [&]<class T>(T) {
    each(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(a) + at * n * n;
      bool is_finite = true;
      for (std::int64_t i = 0; i < n; ++i) {
        is_finite = is_finite && finite(m + i * n, i + 1);
        std::fill(m + i * n + i + 1, m + (i + 1) * n, T(0));
      }
      if (is_finite) {
        codes[static_cast<std::size_t>(at)] = kernels::potrf<T>(Triangle::lower, n, m, n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) std::fill_n(m + i * n, i + 1, not_a_number<T>);
      }
    });
  });
  return first_fault(codes);
}

Fault factorise(const Tensor& a, const Tensor& pivots) {
  const std::int64_t n = order_of(a), count = count_of(a, n);
  std::vector<int> codes(static_cast<std::size_t>(count));
  with_type(a, [&]<class T>(T) {
    each(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(a) + at * n * n;
      int* p = mutable_data<int>(pivots) + at * n;
      if (finite(m, n * n)) {
        codes[static_cast<std::size_t>(at)] = kernels::getrf<T>(n, m, n, p);
      } else {
        std::fill_n(m, n * n, not_a_number<T>);
        std::iota(p, p + n, 1);
      }
    });
  });
  return first_fault(codes);
}

void solve(const Tensor& factors, const Tensor& pivots, bool transpose, const Tensor& x, const Shape& batch,
           std::int64_t columns) {
  const std::int64_t n = order_of(factors), count = batch.elements();
  if (n == 0 || columns == 0 || count == 0) return;
  Shape own = factors.shape();
  own.pop_back();
  own.pop_back();
  std::vector<int> codes(static_cast<std::size_t>(count));
  with_type(x, [&]<class T>(T) {
    each(count, n, [&](std::int64_t at) {
      const std::int64_t from = broadcast_index(at, batch, own);
      codes[static_cast<std::size_t>(at)] =
          kernels::getrs<T>(flag(transpose), n, columns, mutable_data<T>(factors) + from * n * n, n,
                            mutable_data<int>(pivots) + from * n, mutable_data<T>(x) + at * n * columns, columns);
    });
  });
  static_cast<void>(first_fault(codes));
}

std::vector<std::int64_t> invert(const Tensor& factors, const Tensor& pivots) {
  const std::int64_t n = order_of(factors), count = count_of(factors, n);
  std::vector<int> codes(static_cast<std::size_t>(count));
  with_type(factors, [&]<class T>(T) {
    each(count, n, [&](std::int64_t at) {
      T* m = mutable_data<T>(factors) + at * n * n;
      codes[static_cast<std::size_t>(at)] = kernels::getri<T>(n, m, n, mutable_data<int>(pivots) + at * n);
    });
  });
  std::vector<std::int64_t> singular;
  if (first_fault(codes))
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (codes[i] > 0) singular.push_back(static_cast<std::int64_t>(i));
  return singular;
}

Fault solve_triangular(const Factor& a, const TriangularSystem& system, const Tensor& x, const Shape& batch,
                       std::int64_t columns) {
  const std::int64_t n = a.rows, count = batch.elements();
  if (n == 0 || columns == 0 || count == 0) return {};
  const MatrixLayout in_memory = layout(a);  // a transposed view: the other triangle, transposed once more
  const Triangle triangle = system.lower == in_memory.transposed ? Triangle::upper : Triangle::lower;
  const Transposed transposed = flag(system.transpose != in_memory.transposed);
  const Diagonal diagonal = system.unit_diagonal ? Diagonal::unit : Diagonal::stored;
  std::vector<int> codes(static_cast<std::size_t>(count));
  with_type(x, [&]<class T>(T) {
    each(count, n, [&](std::int64_t at) {
      std::int64_t offset = 0, rest = at;
      for (int d = batch.rank() - 1; d >= 0; --d) {
        offset += rest % batch.data()[d] * a.batch_strides.data()[d];
        rest /= batch.data()[d];
      }
      const T* m = reinterpret_cast<const T*>(a.data) + offset;
      int& code = codes[static_cast<std::size_t>(at)];
      for (std::int64_t i = 0; i < n && !system.unit_diagonal && code == 0; ++i)
        if (m[i * (a.row_stride + a.column_stride)] == T(0)) code = static_cast<int>(i + 1);
      if (code == 0)
        code = kernels::trsm<T>(Side::left, triangle, transposed, diagonal, n, columns, 1, m, in_memory.leading,
                                mutable_data<T>(x) + at * n * columns, columns);
    });
  });
  return first_fault(codes);
}

void determinant(const Tensor& factors, const Tensor& pivots, const Tensor& det) {
  const std::int64_t n = order_of(factors), count = det.size();
  with_type(factors, [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i)
      mutable_data<T>(det)[i] = static_cast<T>(
          pivot_product(mutable_data<T>(factors) + i * n * n, mutable_data<int>(pivots) + i * n, n).value());
  });
}

std::int64_t determinant_parts(const Tensor& factors, const Tensor& pivots, const Tensor& mantissa) {
  std::int64_t exponent = 0;
  with_type(factors, [&]<class T>(T) {
    const Scaled p = pivot_product(mutable_data<T>(factors), mutable_data<int>(pivots), order_of(factors));
    *mutable_data<T>(mantissa) = static_cast<T>(p.mantissa);
    exponent = p.exponent;
  });
  return exponent;
}

bool all_normal(const Tensor& x) {
  bool all = true;
  with_type(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const T v = mutable_data<T>(x)[i];
      all = all && (std::isnormal(v) || std::isnan(v));
    }
  });
  return all;
}

void log_determinant(const Tensor& factors, const Tensor& pivots, const Tensor& sign, const Tensor& logdet) {
  const std::int64_t n = order_of(factors), count = sign.size();
  with_type(factors, [&]<class T>(T) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Scaled p = pivot_product(mutable_data<T>(factors) + i * n * n, mutable_data<int>(pivots) + i * n, n);
      const double m = std::abs(p.mantissa);
      // In one logarithm while the value is in range: exact cancellation near a determinant of 1.
      const double log = std::abs(p.exponent) < 1000 ? std::log(std::abs(p.value()))
                                                     : std::log(m) + static_cast<double>(p.exponent) * std::log(2.0);
      mutable_data<T>(logdet)[i] = static_cast<T>(log);
      mutable_data<T>(sign)[i] = static_cast<T>(std::isnan(m) ? m : m == 0 ? 0.0 : std::copysign(1.0, p.mantissa));
    }
  });
}

bool well_pivoted(const Tensor& factors, double tolerance) {
  const std::int64_t n = order_of(factors), count = count_of(factors, n);
  bool all = true;
  with_type(factors, [&]<class T>(T) {
    for (std::int64_t at = 0; at < count; ++at) {
      const T* m = mutable_data<T>(factors) + at * n * n;
      T least = std::numeric_limits<T>::infinity(), most = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        least = std::min(least, std::abs(m[i * n + i]));
        most = std::max(most, std::abs(m[i * n + i]));
      }
      if (!std::isnan(m[0]) && !(least > static_cast<T>(tolerance) * most)) all = false;
    }
  });
  return all;
}

namespace {

template <class T>
std::int64_t eliminate(T* a, std::int64_t n, std::int64_t most, double tolerance, T* left, T* right, double& scale) {
  std::vector<std::int64_t> row(static_cast<std::size_t>(n)), column(row.size());
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  Scaled product;
  std::int64_t s = 0;
  for (double first = 0; s < most; ++s) {
    std::int64_t pi = s, pj = s;
    for (std::int64_t i = s; i < n; ++i)
      for (std::int64_t j = s; j < n; ++j)
        if (std::abs(a[i * n + j]) > std::abs(a[pi * n + pj])) pi = i, pj = j;
    const double pivot = static_cast<double>(a[pi * n + pj]);
    if (s == 0) first = std::abs(pivot);
    if (!(std::abs(pivot) > tolerance * first)) break;
    if (pi != s) {
      std::swap_ranges(a + pi * n, a + (pi + 1) * n, a + s * n);
      std::swap(row[static_cast<std::size_t>(pi)], row[static_cast<std::size_t>(s)]);
      product.times(-1);
    }
    if (pj != s) {
      for (std::int64_t i = 0; i < n; ++i) std::swap(a[i * n + pj], a[i * n + s]);
      std::swap(column[static_cast<std::size_t>(pj)], column[static_cast<std::size_t>(s)]);
      product.times(-1);
    }
    product.times(pivot);
    for (std::int64_t i = s + 1; i < n; ++i) {
      const T factor = a[i * n + s] /= static_cast<T>(pivot);
      for (std::int64_t j = s + 1; j < n; ++j) a[i * n + j] -= factor * a[s * n + j];
    }
  }
  // P A Q = L D U: left = D^-1 L^-1 P, right^T = Q U^-1, by substitution into the permutations.
  std::fill_n(left, n * n, T(0));
  std::fill_n(right, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) {
    left[i * n + row[static_cast<std::size_t>(i)]] = 1;
    right[i * n + column[static_cast<std::size_t>(i)]] = 1;
  }
  for (std::int64_t k = 0; k < s; ++k) {
    const T pivot = a[k * n + k];
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T lower = a[i * n + k], upper = a[k * n + i] / pivot;
      for (std::int64_t j = 0; j < n; ++j) {
        left[i * n + j] -= lower * left[k * n + j];
        right[i * n + j] -= upper * right[k * n + j];
      }
    }
  }
  scale = product.mantissa;
  for (std::int64_t k = 0; k < s; ++k) {
    const T d = std::ldexp(T(1), static_cast<int>(share(product.exponent, s, k)));
    for (std::int64_t j = 0; j < n; ++j) left[k * n + j] = left[k * n + j] / a[k * n + k] * d;
  }
  return s;
}

}  // namespace

std::int64_t eliminate(const Tensor& a, double tolerance, const Tensor& left, const Tensor& right, double& scale) {
  const std::int64_t n = order_of(a);
  std::int64_t pivots = 0;
  with_type(a, [&]<class T>(T) {
    pivots = eliminate(mutable_data<T>(a), n, n, tolerance, mutable_data<T>(left), mutable_data<T>(right), scale);
  });
  return pivots;
}

namespace {

// The largest binary exponent of the elements that `stride` separates, each raised by its own; `none` of zeros.
constexpr int none = std::numeric_limits<int>::min();
template <class T>
int largest_exponent(const T* x, std::int64_t n, std::int64_t stride, const int* raised) {
  int most = none;
  for (std::int64_t k = 0; k < n; ++k)
    if (x[k * stride] != T(0)) most = std::max(most, std::ilogb(x[k * stride]) + raised[k]);
  return most;
}

template <class T>
bool balance(const T* a, std::int64_t n, T* first, T* second) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<int> row(size), column(size);
  for (std::int64_t i = 0; i < n; ++i)
    if (const int e = largest_exponent(a + i * n, n, 1, column.data()); e != none)
      row[static_cast<std::size_t>(i)] = -e;
  for (std::int64_t j = 0; j < n; ++j)
    if (const int e = largest_exponent(a + j, n, n, row.data()); e != none) column[static_cast<std::size_t>(j)] = -e;
  // The determinant must not change: the sum of all exponents is taken off the rows, in equal shares.
  const std::int64_t sum = std::accumulate(row.begin(), row.end(), std::int64_t{0}) +
                           std::accumulate(column.begin(), column.end(), std::int64_t{0});
  for (std::int64_t i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] -= static_cast<int>(share(sum, n, i));
  constexpr int most = std::numeric_limits<T>::max_exponent - 2;
  bool any = false;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const int e = row[static_cast<std::size_t>(i)] + column[static_cast<std::size_t>(j)];
      const int half = std::abs(e) <= most ? e : e / 2;
      any = any || e != 0;
      first[i * n + j] = std::ldexp(T(1), std::clamp(half, -most, most));
      second[i * n + j] = std::ldexp(T(1), std::clamp(e - half, -most, most));
    }
  return any;
}

// The last row of `left` and of `right`, after n - 1 pivots, span the adjugate of a matrix of rank n - 1.
template <class T>
void fill_infinite_inverse(T* a, std::int64_t n, T* inverse) {
  std::vector<T> left(static_cast<std::size_t>(n * n)), right(left.size());
  double scale = 1;
  const double rounding = static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::int64_t rank = eliminate(a, n, n - 1, rounding, left.data(), right.data(), scale);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const T l = left[static_cast<std::size_t>((n - 1) * n + i)], r = right[static_cast<std::size_t>((n - 1) * n + j)];
      const bool negative = rank == n - 1 && l != T(0) && r != T(0) && (l < T(0)) != ((r < T(0)) != (scale < 0));
      inverse[j * n + i] = negative ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity();
    }
}

}  // namespace

bool balance(const Tensor& a, const Tensor& first, const Tensor& second) {
  bool any = false;
  with_type(a, [&]<class T>(T) {
    any = balance(mutable_data<T>(a), order_of(a), mutable_data<T>(first), mutable_data<T>(second));
  });
  return any;
}

void fill_infinite_inverse(const Tensor& a, std::int64_t at, const Tensor& inverse) {
  const std::int64_t n = order_of(a);
  with_type(a, [&]<class T>(T) {
    const T* from = mutable_data<T>(a) + at * n * n;
    std::vector<T> work(from, from + n * n);
    fill_infinite_inverse(work.data(), n, mutable_data<T>(inverse) + at * n * n);
  });
}

}  // namespace reel::loops
