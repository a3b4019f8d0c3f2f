// Perturbed matrices (see perturbed.hpp) of small order, of double or std::complex<double>, in memory of their own: no
// tensors, so that tasks of a batch may make them.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "linalg/functions/perturbed.hpp"

namespace reel::loops {

/// [n, n], row-major.
template <class T>
struct SmallMatrix {
  std::int64_t n = 0;
  std::vector<T> elements;

  explicit SmallMatrix(std::int64_t order) : n(order), elements(static_cast<std::size_t>(order * order)) {}
  T* row(std::int64_t i) { return elements.data() + i * n; }
  const T* row(std::int64_t i) const { return elements.data() + i * n; }
};
template <class T>
using SmallPerturbed = std::vector<SmallMatrix<T>>;

template <class T>
std::vector<double> magnitudes(const SmallMatrix<T>& x) {
  std::vector<double> sizes;
  for (const T& e : x.elements) sizes.push_back(std::abs(e));
  return sizes;
}
template <class T>
double one_norm(const SmallMatrix<T>& x) {
  double largest = 0;
  for (std::int64_t j = 0; j < x.n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.n; ++i) sum += std::abs(x.row(i)[j]);
    largest = sum > largest || std::isnan(sum) ? sum : largest;
  }
  return largest;
}
template <class T>
SmallPerturbed<T> zeros_like(const SmallPerturbed<T>& x) {
  return SmallPerturbed<T>(x.size(), SmallMatrix<T>(x[0].n));
}
template <class T>
SmallPerturbed<T> copy_of(const SmallPerturbed<T>& x) {
  return x;
}
template <class T>
void add(SmallPerturbed<T>& z, double factor, const SmallPerturbed<T>& x) {
  for (std::size_t part = 0; part < z.size(); ++part)
    for (std::size_t i = 0; i < z[part].elements.size(); ++i) z[part].elements[i] += factor * x[part].elements[i];
}
template <class T>
void add_identity(SmallPerturbed<T>& z, double factor) {
  for (std::int64_t i = 0; i < z[0].n; ++i) z[0].row(i)[i] += factor;
}
template <class T>
SmallPerturbed<T> value_of(const WeightedSum<SmallPerturbed<T>>& sum) {
  SmallPerturbed<T> z = zeros_like(*sum.terms[0].x);
  add_identity(z, sum.identity);
  for (std::size_t k = 0; k < sum.count; ++k) add(z, sum.terms[k].factor, *sum.terms[k].x);
  return z;
}
template <class T>
void scale(SmallPerturbed<T>& z, double factor) {
  for (SmallMatrix<T>& part : z)
    for (T& e : part.elements) e *= factor;
}
/// The product, without std::complex's handling of infinities.
inline double times(double x, double y) { return x * y; }
inline std::complex<double> times(const std::complex<double>& x, const std::complex<double>& y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
/// z += sign x y
template <class T>
void add_product(SmallMatrix<T>& z, double sign, const SmallMatrix<T>& x, const SmallMatrix<T>& y) {
  for (std::int64_t i = 0; i < z.n; ++i)
    for (std::int64_t k = 0; k < z.n; ++k) {
      const T factor = sign * x.row(i)[k];
      for (std::int64_t j = 0; j < z.n; ++j) z.row(i)[j] += times(factor, y.row(k)[j]);
    }
}
template <class T>
SmallPerturbed<T> product(const SmallPerturbed<T>& x, const SmallPerturbed<T>& y) {
  SmallPerturbed<T> z = zeros_like(x);
  for (std::size_t all = 0; all < x.size(); ++all)
    for (std::size_t left = all;; left = (left - 1) & all) {
      add_product(z[all], 1, x[left], y[all ^ left]);
      if (left == 0) break;
    }
  return z;
}

/// Systems with one matrix: triangular ones by substitution, which keeps the diagonal of their solutions exact, others
/// by elimination with row pivots.
template <class T>
class SmallSystem {
 public:
  explicit SmallSystem(const SmallMatrix<T>& a) : lu_(a), upper_(is_triangular(false)), lower_(is_triangular(true)) {
    if (!upper_ && !lower_) eliminate();
  }
  /// x becomes the solution.
  void solve(SmallMatrix<T>& x) const {
    const std::int64_t n = lu_.n;
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(rows_.size()); ++k)
      if (const std::int64_t row = rows_[static_cast<std::size_t>(k)]; row != k)
        std::swap_ranges(x.row(k), x.row(k) + n, x.row(row));
    for (std::int64_t i = 0; i < n && !upper_; ++i) substitute(x, i, 0, i, lower_);
    for (std::int64_t i = n - 1; i >= 0 && (upper_ || !lower_); --i) substitute(x, i, i + 1, n, true);
  }

 private:
  bool is_triangular(bool lower) const {
    for (std::int64_t i = 0; i < lu_.n; ++i)
      for (std::int64_t j = lower ? i + 1 : 0; j < (lower ? lu_.n : i); ++j)
        if (lu_.row(i)[j] != T(0)) return false;
    return true;
  }
  void eliminate() {
    const std::int64_t n = lu_.n;
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < n; ++i)
        if (std::abs(lu_.row(i)[k]) > std::abs(lu_.row(pivot)[k])) pivot = i;
      rows_.push_back(pivot);
      if (pivot != k) std::swap_ranges(lu_.row(k), lu_.row(k) + n, lu_.row(pivot));
      for (std::int64_t i = k + 1; i < n; ++i) {
        const T factor = lu_.row(i)[k] /= lu_.row(k)[k];
        for (std::int64_t j = k + 1; j < n; ++j) lu_.row(i)[j] -= times(factor, lu_.row(k)[j]);
      }
    }
  }
  // Row i of x less multiples of the rows [first, last), divided by the diagonal.
  void substitute(SmallMatrix<T>& x, std::int64_t i, std::int64_t first, std::int64_t last, bool divide) const {
    const T* a = lu_.row(i);
    T* to = x.row(i);
    for (std::int64_t k = first; k < last; ++k)
      for (std::int64_t j = 0; j < x.n; ++j) to[j] -= times(a[k], x.row(k)[j]);
    for (std::int64_t j = 0; j < x.n && divide; ++j) to[j] /= a[i];
  }

  SmallMatrix<T> lu_;
  bool upper_, lower_;
  std::vector<std::int64_t> rows_;  // that row k was swapped with
};

/// q^-1 x
template <class T>
SmallPerturbed<T> quotient(const SmallPerturbed<T>& q, const SmallPerturbed<T>& x) {
  const SmallSystem<T> system(q[0]);
  SmallPerturbed<T> r = x;
  for (std::size_t all = 0; all < x.size(); ++all) {
    for (std::size_t left = all; left > 0; left = (left - 1) & all) add_product(r[all], -1, q[left], r[all ^ left]);
    system.solve(r[all]);
  }
  return r;
}

}  // namespace reel::loops
