#include "loops/linalg/distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "kernels/kernels.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

namespace {

// The p-norm of a - b, scaled by the largest difference.
template <class T>
struct Distance {
  double p;

  static T largest(const T* a, const T* b, std::int64_t d) {
    T most = 0;
    for (std::int64_t k = 0; k < d; ++k) {
      const T v = std::abs(a[k] - b[k]);
      if (!(v <= most)) most = v;  // a NaN stays: comparisons with it are false
      if (most != most) break;
    }
    return most;
  }
  T operator()(const T* a, const T* b, std::int64_t d) const {
    if (p == 1) {
      T sum = 0;
      for (std::int64_t k = 0; k < d; ++k) sum += std::abs(a[k] - b[k]);
      return sum;
    }
    const T most = largest(a, b, d);
    if (std::isinf(p) || most == 0 || !std::isfinite(most)) return most;
    double sum = 0;
    for (std::int64_t k = 0; k < d; ++k) {
      const auto ratio = static_cast<double>(std::abs(a[k] - b[k]) / most);
      sum += p == 2 ? ratio * ratio : std::pow(ratio, p);
    }
    return most * static_cast<T>(p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p));
  }
};

// Calls f(k, g times the derivative of z, the distance of a and b, by element k of a), except where that is 0.
template <class T, class F>
void for_each_slope(const T* a, const T* b, std::int64_t d, T z, double p, T g, const F& f) {
  if (z == 0) return;
  const auto sign = [](T v) { return v > 0 ? T(1) : v < 0 ? T(-1) : v; };
  if (p == 2) {
    const T factor = g / z;
    if (std::isfinite(factor) && z < std::numeric_limits<T>::infinity())
      for (std::int64_t k = 0; k < d; ++k) f(k, factor * (a[k] - b[k]));
    else
      for (std::int64_t k = 0; k < d; ++k) f(k, g * ((a[k] - b[k]) / z));
  } else if (p == 1) {
    for (std::int64_t k = 0; k < d; ++k) f(k, g * sign(a[k] - b[k]));
  } else if (std::isinf(p)) {
    T ties = 0;
    for (std::int64_t k = 0; k < d; ++k) ties += std::abs(a[k] - b[k]) == z ? T(1) : T(0);
    for (std::int64_t k = 0; k < d; ++k)
      if (std::abs(a[k] - b[k]) == z) f(k, g * sign(a[k] - b[k]) / ties);
  } else {
    for (std::int64_t k = 0; k < d; ++k) {
      const T v = a[k] - b[k];
      if (v != 0) f(k, g * sign(v) * static_cast<T>(std::pow(static_cast<double>(std::abs(v) / z), p - 1)));
    }
  }
}

struct PairExtents {
  std::int64_t b, n, m, d;
  PairExtents(const Tensor& x, const Tensor& y) : b(x.shape()[0]), n(x.shape()[1]), m(y.shape()[1]), d(x.shape()[2]) {}
  std::int64_t grain() const {
    return std::max<std::int64_t>(1, parallel_threshold / 4 / std::max<std::int64_t>(1, m * d));
  }
};

// Points y [b, m, d] as kernels read them: blocks of columns, [b, blocks, d, distance_block], zeros behind the last.
template <class T>
Tensor in_columns(const Tensor& y, const PairExtents& e) {
  constexpr std::int64_t width = kernels::distance_block;
  const std::int64_t blocks = (e.m + width - 1) / width;
  const Tensor packed = detail::empty(y.dtype(), {e.b, blocks, e.d, width});
  const T* from = detail::mutable_data<T>(y);
  T* to = detail::mutable_data<T>(packed);
  parallel_for(e.b * blocks, std::max<std::int64_t>(1, parallel_threshold / (width * std::max<std::int64_t>(1, e.d))),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at)
                   for (std::int64_t j = 0; j < width; ++j) {
                     const std::int64_t row = at % blocks * width + j;
                     const T* point = from + (at / blocks * e.m + row) * e.d;
                     T* column = to + at * e.d * width + j;
                     for (std::int64_t k = 0; k < e.d; ++k) column[k * width] = row < e.m ? point[k] : T(0);
                   }
               });
  return packed;
}
// The Euclidean distances, directly where the squares are in range.
template <class T>
void euclidean_distances_of(const Tensor& x, const Tensor& y, const Tensor& z) {
  constexpr std::int64_t width = kernels::distance_block;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T least = std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon());
  const PairExtents e(x, y);
  const Tensor packed = in_columns<T>(y, e);
  const T *from = detail::mutable_data<T>(x), *others = detail::mutable_data<T>(y),
          *columns = detail::mutable_data<T>(packed);
  T* to = detail::mutable_data<T>(z);
  const auto kernel = kernels::active().rows[kernels::index(z.dtype())].distances;
  const std::int64_t blocks = packed.shape()[1];
  parallel_for(e.b * e.n, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {  // the rows of one batch
      const std::int64_t batch = begin / e.n, rows = std::min(end, (batch + 1) * e.n) - begin;
      for (std::int64_t j = 0; j < blocks; ++j)
        kernel(from + begin * e.d, rows, e.d, columns + (batch * blocks + j) * e.d * width,
               std::min(width, e.m - j * width), to + begin * e.m + j * width, e.m);
      for (std::int64_t at = begin * e.m; at < (begin + rows) * e.m; ++at)
        if (!(to[at] > least && to[at] < infinity))
          to[at] = Distance<T>{2}(from + at / e.m * e.d, others + (batch * e.m + at % e.m) * e.d, e.d);
      begin += rows;
    }
  });
}

template <class T>
void distances_of(const Tensor& x, const Tensor& y, double p, const Tensor& z) {
  if (p == 2) return euclidean_distances_of<T>(x, y, z);
  const PairExtents e(x, y);
  const T *from = detail::mutable_data<T>(x), *others = detail::mutable_data<T>(y);
  T* to = detail::mutable_data<T>(z);
  const Distance<T> distance{p};
  parallel_for(e.b * e.n, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t j = 0; j < e.m; ++j)
        to[row * e.m + j] = distance(from + row * e.d, others + (row / e.n * e.m + j) * e.d, e.d);
  });
}

template <class T>
void slopes_of(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& z, double p, const Tensor& dx) {
  const PairExtents e(x, y);
  const T *from = detail::mutable_data<T>(x), *others = detail::mutable_data<T>(y),
          *cotangent = detail::mutable_data<T>(g), *distance = detail::mutable_data<T>(z);
  T* to = detail::mutable_data<T>(dx);
  const std::int64_t rows = e.b * e.n;
  parallel_for(dx.size() / e.d, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t out = begin; out < end; ++out) {
      const std::int64_t row = out % rows;
      std::fill_n(to + out * e.d, e.d, T(0));
      for (std::int64_t j = 0; j < e.m; ++j)
        for_each_slope(from + row * e.d, others + (row / e.n * e.m + j) * e.d, e.d, distance[row * e.m + j], p,
                       cotangent[out * e.m + j], [sum = to + out * e.d](std::int64_t k, T v) { sum[k] += v; });
    }
  });
}

template <class T>
void tangents_of(const Tensor& tx, const Tensor& ty, const Tensor& x, const Tensor& y, const Tensor& z, double p,
                 const Tensor& dz) {
  const PairExtents e(x, y);
  const T *from = detail::mutable_data<T>(x), *others = detail::mutable_data<T>(y),
          *from_t = detail::mutable_data<T>(tx), *others_t = detail::mutable_data<T>(ty),
          *distance = detail::mutable_data<T>(z);
  T* to = detail::mutable_data<T>(dz);
  parallel_for(e.b * e.n, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (std::int64_t j = 0; j < e.m; ++j) {
        const std::int64_t a = row * e.d, b = (row / e.n * e.m + j) * e.d, at = row * e.m + j;
        T sum = 0;
        for_each_slope(from + a, others + b, e.d, distance[at], p, T(1),
                       [&](std::int64_t k, T slope) { sum += slope * (from_t[a + k] - others_t[b + k]); });
        to[at] = sum;
      }
  });
}

}  // namespace

void distances(const Tensor& x, const Tensor& y, double p, const Tensor& z) {
  if (z.size() == 0) return;
  visit_among<float, double>(z.dtype(), [&]<class T>() { distances_of<T>(x, y, p, z); });
}

void distances_vjp(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& z, double p, const Tensor& dx) {
  if (dx.size() == 0) return;
  visit_among<float, double>(dx.dtype(), [&]<class T>() { slopes_of<T>(g, x, y, z, p, dx); });
}

void distances_jvp(const Tensor& tx, const Tensor& ty, const Tensor& x, const Tensor& y, const Tensor& z, double p,
                   const Tensor& dz) {
  if (dz.size() == 0) return;
  visit_among<float, double>(dz.dtype(), [&]<class T>() { tangents_of<T>(tx, ty, x, y, z, p, dz); });
}

}  // namespace reel::loops
