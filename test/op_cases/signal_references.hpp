// Cosine and sine transforms, Hadamard's transform, trends and recursive filters of rows, by the sums of their
// definitions: of long doubles, for the op cases, and of jets, for random programs.
#pragma once
#include <vector>

#include "../kernels/references.hpp"
#include "../random/number.hpp"

namespace references {

using random_programs::Jet;
template <class N>
using RowOf = std::vector<N>;

template <class N>
class Sum {
 public:
  void add(const N& x, Real factor) { sum_ += x * factor; }
  N done() const { return sum_; }

 private:
  N sum_ = 0;
};
/// A sum whose error is that of its largest terms.
template <>
class Sum<Jet> {
 public:
  void add(const Jet& x, Real factor) {
    const random_programs::Exactly exactly;
    sum_ = sum_ + x * Jet(factor);
    grow(x, factor);
  }
  void add(const Jet& x, const Jet& y) {
    const random_programs::Exactly exactly;
    const Jet product = x * y;
    sum_ = sum_ + product;
    grow(product, 1);
  }
  Jet done() const {
    Jet y = sum_;
    for (int m = 0; m < Jet::count; ++m) y.e[m] += 24 * Jet::unit * size_[m];
    return y;
  }

 private:
  void grow(const Jet& x, Real factor) {
    for (int m = 0; m < Jet::count; ++m) size_[m] += static_cast<double>(std::fabs(x.v[m] * factor));
  }
  Jet sum_;
  double size_[8] = {};
};

/// The matrix entry (k, j) of SciPy's definition.
inline Real wave_entry(std::int64_t type, bool sine, bool ortho, std::int64_t k, std::int64_t j, std::int64_t n) {
  const auto K = static_cast<Real>(k), J = static_cast<Real>(j), N = static_cast<Real>(n);
  const Real root = std::sqrt(Real(2)), once = ortho ? 1 / root : Real(0.5);
  const auto wave = [sine](Real angle) { return sine ? std::sin(angle * pi) : std::cos(angle * pi); };
  Real w = 2, period = 2 * N;
  if (type == 1) {
    period = sine ? 2 * N + 2 : 2 * N - 2;
    w *= sine ? wave((K + 1) * (J + 1) / (N + 1)) : wave(K * J / (N - 1));
    if (!sine && (j == 0 || j == n - 1)) w *= once;
    if (!sine && ortho && (k == 0 || k == n - 1)) w /= root;
  } else if (type == 2) {
    w *= sine ? wave((K + 1) * (2 * J + 1) / (2 * N)) : wave(K * (2 * J + 1) / (2 * N));
    if (ortho && k == (sine ? n - 1 : 0)) w /= root;
  } else if (type == 3) {
    w *= sine ? wave((J + 1) * (2 * K + 1) / (2 * N)) : wave(J * (2 * K + 1) / (2 * N));
    if (j == (sine ? n - 1 : 0)) w *= once;
  } else {
    w *= wave((2 * K + 1) * (2 * J + 1) / (4 * N));
  }
  return ortho ? w / std::sqrt(period) : w;
}
/// The inverse is the transform of the other type, divided by the number of elements of its period.
template <class N>
RowOf<N> wave_transform(const RowOf<N>& x, std::int64_t type, bool sine, bool ortho, bool inverse) {
  const auto n = static_cast<std::int64_t>(x.size());
  if (inverse && type != 4) type = type == 1 ? 1 : 5 - type;
  const Real period = static_cast<Real>(type > 1 ? 2 * n : sine ? 2 * n + 2 : 2 * n - 2);
  RowOf<N> y;
  for (std::int64_t k = 0; k < n; ++k) {
    Sum<N> sum;
    for (std::int64_t j = 0; j < n; ++j)
      sum.add(x[static_cast<std::size_t>(j)],
              wave_entry(type, sine, ortho, k, j, n) / (inverse && !ortho ? period : 1));
    y.push_back(sum.done());
  }
  return y;
}

template <class N>
RowOf<N> hadamard_transform(const RowOf<N>& x) {
  RowOf<N> y;
  for (std::size_t k = 0; k < x.size(); ++k) {
    Sum<N> sum;
    for (std::size_t j = 0; j < x.size(); ++j)
      sum.add(x[j], (__builtin_popcountll(j & k) % 2 == 1 ? -1 : 1) / std::sqrt(static_cast<Real>(x.size())));
    y.push_back(sum.done());
  }
  return y;
}

/// Less the mean, or the line of least squares.
template <class N>
RowOf<N> without_trend(const RowOf<N>& x, bool line) {
  const auto count = static_cast<Real>(x.size());
  const Real squares = count * (count * count - 1) / 12;
  RowOf<N> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Sum<N> sum;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const Real s = static_cast<Real>(i) - (count - 1) / 2, t = static_cast<Real>(j) - (count - 1) / 2;
      // Each on its own: the library rounds what is taken away.
      if (i == j) sum.add(x[j], 1);
      sum.add(x[j], -1 / count);
      if (line && x.size() > 1) sum.add(x[j], -s * t / squares);
    }
    y.push_back(sum.done());
  }
  return y;
}

/// Of coefficients b and a, a[0] not 0.
template <class N>
RowOf<N> filtered(const RowOf<N>& b, const RowOf<N>& a, const RowOf<N>& x) {
  RowOf<N> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    N sum = 0;
    for (std::size_t k = 0; k < b.size() && k <= i; ++k) sum = sum + b[k] / a[0] * x[i - k];
    for (std::size_t k = 1; k < a.size() && k <= i; ++k) sum = sum - a[k] / a[0] * y[i - k];
    y.push_back(sum);
  }
  return y;
}
/// By sections of six coefficients one after another.
template <class N>
RowOf<N> cascaded(const RowOf<N>& sections, RowOf<N> x) {
  for (auto at = sections.begin(); at != sections.end(); at += 6)
    x = filtered(RowOf<N>(at, at + 3), RowOf<N>(at + 3, at + 6), x);
  return x;
}

}  // namespace references
