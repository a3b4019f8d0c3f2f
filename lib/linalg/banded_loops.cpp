#include "linalg/banded_loops.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "core/block.hpp"
#include "loops/loops.hpp"
#include "loops/parallel.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {
namespace {

double conjugate(double x) { return x; }
std::complex<double> conjugate(const std::complex<double>& x) { return std::conj(x); }
double pivot_size(double x) { return std::abs(x); }
double pivot_size(const std::complex<double>& x) { return std::abs(x.real()) + std::abs(x.imag()); }

template <class T>
T* elements(const Tensor& x) {
  return reinterpret_cast<T*>(detail::block(x)->data);
}

// Calls solve(one, x, scratch) for each system of the batch, where `one` is the matrix, of `size` elements, and scratch
// has room for `room` elements. solve returns the order of the failing step, or 0.
template <class T, class Solve>
FactorInfo for_each_system(const Tensor& matrices, const Shape& own, std::int64_t size, const Tensor& x,
                           const Shape& batch, std::int64_t room, std::int64_t work, const Solve& solve) {
  const std::int64_t count = batch.elements(), step = count == 0 ? 0 : x.size() / count;
  detail::List<std::int64_t> codes(static_cast<std::size_t>(count));
  const T* from = elements<T>(matrices);
  T* to = elements<T>(x);
  Workspaces workspaces(count, room * static_cast<std::int64_t>(sizeof(T)));
  parallel_for(count, std::max<std::int64_t>(1, tuning::recurrence_grain / (work + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 workspaces.use([&](std::byte* memory) {
                   for (std::int64_t i = begin; i < end; ++i)
                     codes[static_cast<std::size_t>(i)] = solve(from + broadcast_index(i, batch, own) * size,
                                                                to + i * step, reinterpret_cast<T*>(memory));
                 });
               });
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] > 0) return {static_cast<std::int64_t>(i), codes[i]};
  return {};
}

// Gaussian elimination with partial pivoting in band storage. Row i holds columns i - below to i + below + above: as in
// LAPACK's gbsv, rows up to `below` apart are exchanged, which adds that many diagonals to U.
template <class T>
struct BandedElimination {
  std::int64_t n, below, above, columns;
  std::int64_t width() const { return 2 * below + above + 1; }

  void load(const T* bands, bool adjoint, T* rows) const {
    std::fill_n(rows, n * width(), T(0));
    // below and above are those of the matrix that is eliminated, here perhaps the adjoint of that of the bands.
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = std::max<std::int64_t>(0, i - below); j <= std::min(n - 1, i + above); ++j)
        rows[i * width() + j - i + below] =
            adjoint ? conjugate(bands[(below + j - i) * n + i]) : bands[(above + i - j) * n + j];
  }

  // Forward substitution, for a lower triangular matrix.
  std::int64_t substitute(const T* rows, T* x) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const T* row = rows + i * width() + below - i;
      if (row[i] == T(0)) return i + 1;
      for (std::int64_t c = 0; c < columns; ++c) {
        T sum = x[i * columns + c];
        for (std::int64_t j = std::max<std::int64_t>(0, i - below); j < i; ++j) sum -= row[j] * x[j * columns + c];
        x[i * columns + c] = sum / row[i];
      }
    }
    return 0;
  }

  // The order of the pivot that is zero, or 0.
  std::int64_t solve(T* rows, T* x) const {
    if (above == 0) return substitute(rows, x);
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t last = std::min(n - 1, k + below), end = std::min(n - 1, k + below + above);
      const auto at = [&](std::int64_t i, std::int64_t j) -> T& { return rows[i * width() + j - i + below]; };
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i <= last; ++i)
        if (pivot_size(at(i, k)) > pivot_size(at(pivot, k))) pivot = i;
      if (at(pivot, k) == T(0)) return k + 1;
      if (pivot != k) {
        for (std::int64_t j = k; j <= end; ++j) std::swap(at(pivot, j), at(k, j));
        std::swap_ranges(x + k * columns, x + (k + 1) * columns, x + pivot * columns);
      }
      for (std::int64_t i = k + 1; i <= last; ++i) {
        const T multiplier = at(i, k) / at(k, k);
        if (multiplier == T(0)) continue;
        for (std::int64_t j = k + 1; j <= end; ++j) at(i, j) -= multiplier * at(k, j);
        for (std::int64_t c = 0; c < columns; ++c) x[i * columns + c] -= multiplier * x[k * columns + c];
      }
    }
    for (std::int64_t k = n - 1; k >= 0; --k)
      for (std::int64_t c = 0; c < columns; ++c) {
        T sum = x[k * columns + c];
        for (std::int64_t j = k + 1; j <= std::min(n - 1, k + below + above); ++j)
          sum -= rows[k * width() + j - k + below] * x[j * columns + c];
        x[k * columns + c] = sum / rows[k * width() + below];
      }
    return 0;
  }
};

double real_part(double x) { return x; }
double real_part(const std::complex<double>& x) { return x.real(); }
bool is_finite(double x) { return std::isfinite(x); }
bool is_finite(const std::complex<double>& x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

// Lower triangles in band storage. All loops go over elements of the band alone.
template <class T>
struct BandedTriangle {
  std::int64_t n, below;

  template <class U>
  U& at(U* x, std::int64_t i, std::int64_t j) const {
    return x[(i - j) * n + j];
  }
  std::int64_t first_column(std::int64_t i) const { return std::max<std::int64_t>(0, i - below); }
  std::int64_t last_row(std::int64_t j) const { return std::min(n - 1, j + below); }

  // f of each element that the matrix has; zero for the others.
  template <class F>
  void for_each(T* x, const F& f) const {
    for (std::int64_t d = 0; d <= below; ++d)
      for (std::int64_t j = 0; j < n; ++j)
        if (j + d < n)
          f(x[d * n + j]);
        else
          x[d * n + j] = T(0);
  }
  std::int64_t factorise(T* a) const {
    bool finite = true;
    for_each(a, [&](T& x) { finite = finite && is_finite(x); });
    if (!finite) for_each(a, [](T& x) { x = T(std::numeric_limits<double>::quiet_NaN()); });
    for (std::int64_t j = 0; j < n && finite; ++j)
      for (std::int64_t i = j; i <= last_row(j); ++i) {
        T sum = at(a, i, j);
        for (std::int64_t k = first_column(i); k < j; ++k) sum -= at(a, i, k) * conjugate(at(a, j, k));
        if (i == j && !(real_part(sum) > 0)) return j + 1;
        at(a, i, j) = i == j ? T(std::sqrt(real_part(sum))) : sum / at(a, j, j);
      }
    return 0;
  }
  void change(const T* l, T* b) const {
    for_each(b, [](T&) {});
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = j; i <= last_row(j); ++i) {
        T sum = at(b, i, j);
        for (std::int64_t k = first_column(i); k < j; ++k)
          sum -= at(b, i, k) * conjugate(at(l, j, k)) + at(l, i, k) * conjugate(at(b, j, k));
        at(b, i, j) =
            i == j ? T(0.5 * real_part(sum) / real_part(at(l, j, j))) : (sum - at(l, i, j) * at(b, j, j)) / at(l, j, j);
      }
  }
  void cotangent(const T* l, T* g) const {
    for_each(g, [](T&) {});
    // (y + y^H)(i, j)
    const auto whole = [&](std::int64_t i, std::int64_t j) {
      return i > j ? at(g, i, j) : i < j ? conjugate(at(g, j, i)) : T(2 * real_part(at(g, i, i)));
    };
    for (std::int64_t k = n - 1; k >= 0; --k)
      for (std::int64_t i = last_row(k); i >= k; --i) {
        T sum = at(g, i, k);
        for (std::int64_t j = k + 1; j <= last_row(k); ++j) sum -= whole(i, j) * at(l, j, k);
        at(g, i, k) = i > k ? sum / at(l, k, k) : T(0.5 * real_part(sum) / real_part(at(l, k, k)));
      }
  }
};

// The Levinson recursion for a Toeplitz matrix that need not be symmetric (Golub and Van Loan, section 4.7): step m
// extends the forward and backward vectors, the first and last columns of the inverse of the leading submatrix of order
// m, and the solution x of the leading system by one element.
template <class T>
struct Levinson {
  std::int64_t n, columns;

  std::int64_t solve(const T* diagonals, T* x, T* scratch) const {
    const T* t = diagonals + n - 1;  // t[k] is the diagonal k below the main one
    T *forward = scratch, *backward = scratch + n;
    if (t[0] == T(0)) return 1;
    forward[0] = backward[0] = T(1) / t[0];
    for (std::int64_t c = 0; c < columns; ++c) x[c] /= t[0];
    const double rounding = 8 * std::numeric_limits<double>::epsilon();
    for (std::int64_t m = 1; m < n; ++m) {
      T forward_error(0), backward_error(0);  // what the vectors, extended by 0, leave in the new row
      for (std::int64_t i = 0; i < m; ++i) {
        forward_error += t[m - i] * forward[i];
        backward_error += t[-(i + 1)] * backward[i];
      }
      const T determinant = T(1) - forward_error * backward_error;
      if (pivot_size(determinant) <= rounding * (1 + pivot_size(forward_error * backward_error))) return m + 1;
      forward[m] = T(0);
      for (std::int64_t i = m; i >= 0; --i) {  // backward moves by one
        const T f = forward[i], b = i > 0 ? backward[i - 1] : T(0);
        forward[i] = (f - forward_error * b) / determinant;
        backward[i] = (b - backward_error * f) / determinant;
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        T residual = x[m * columns + c];
        for (std::int64_t i = 0; i < m; ++i) residual -= t[m - i] * x[i * columns + c];
        x[m * columns + c] = T(0);
        for (std::int64_t i = 0; i <= m; ++i) x[i * columns + c] += residual * backward[i];
      }
    }
    return 0;
  }
};

Shape batch_behind(const Tensor& x, int own_axes) {
  Shape batch = x.shape();
  for (int d = 0; d < own_axes; ++d) batch.pop_back();
  return batch;
}

template <class F>
FactorInfo with_elements(const Tensor& x, const F& f) {
  return is_complex(detail::block(x)->dtype) ? f(std::complex<double>()) : f(double());
}

}  // namespace

FactorInfo solve_banded(const Tensor& bands, Bandwidths widths, bool adjoint, const Tensor& x, const Shape& batch,
                        std::int64_t columns) {
  const Tensor matrices = contiguous(bands);
  const std::int64_t n = bands.shape()[-1];
  if (x.size() == 0) return {};
  return with_elements(x, [&]<class T>(T) {
    const BandedElimination<T> system{n, adjoint ? widths.above : widths.below, adjoint ? widths.below : widths.above,
                                      columns};
    return for_each_system<T>(matrices, batch_behind(bands, 2), (widths.below + widths.above + 1) * n, x, batch,
                              n * system.width(), n * (system.below + 1) * (system.width() + columns),
                              [&](const T* one, T* right, T* scratch) {
                                system.load(one, adjoint, scratch);
                                return system.solve(scratch, right);
                              });
  });
}

namespace {
// work(triangle, l, x) for each matrix x of the batch, and its l, which may have fewer batch axes.
template <class Work>
FactorInfo for_each_triangle(const Tensor& l, const Tensor& x, const Work& work) {
  if (x.size() == 0) return {};
  const Tensor matrices = contiguous(l);
  const std::int64_t n = x.shape()[-1], rows = x.shape()[-2];
  const Shape batch = batch_behind(x, 2);
  return with_elements(x, [&]<class T>(T) {
    const BandedTriangle<T> triangle{n, rows - 1};
    return for_each_system<T>(matrices, batch_behind(l, 2), rows * n, x, batch, 1, n * rows * rows,
                              [&](const T* one, T* to, T*) { return work(triangle, one, to); });
  });
}
}  // namespace

FactorInfo banded_cholesky(const Tensor& a) {
  return for_each_triangle(a, a, [](const auto& triangle, const auto*, auto* x) { return triangle.factorise(x); });
}
void banded_cholesky_change(const Tensor& l, const Tensor& b) {
  for_each_triangle(l, b, [](const auto& triangle, const auto* one, auto* x) {
    triangle.change(one, x);
    return std::int64_t{0};
  });
}
void banded_cholesky_cotangent(const Tensor& l, const Tensor& g) {
  for_each_triangle(l, g, [](const auto& triangle, const auto* one, auto* x) {
    triangle.cotangent(one, x);
    return std::int64_t{0};
  });
}

FactorInfo solve_toeplitz(const Tensor& diagonals, const Tensor& x, const Shape& batch, std::int64_t columns) {
  const Tensor matrices = contiguous(diagonals);
  const std::int64_t length = diagonals.shape()[-1], n = (length + 1) / 2;
  if (x.size() == 0) return {};
  return with_elements(x, [&]<class T>(T) {
    const Levinson<T> system{n, columns};
    return for_each_system<T>(matrices, batch_behind(diagonals, 1), length, x, batch, 2 * n, n * n * (2 + columns),
                              [&](const T* one, T* right, T* scratch) { return system.solve(one, right, scratch); });
  });
}

}  // namespace reel::loops
