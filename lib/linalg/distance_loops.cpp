#include "linalg/distance_loops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "kernels/baseline/copy.hpp"
#include "linalg/distance_kernels.hpp"
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
    const bool underflows = z > kernels::large_distance<T> && std::abs(factor) < std::numeric_limits<T>::min();
    if (std::isfinite(factor) && z < std::numeric_limits<T>::infinity() && !underflows)
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
                 for (std::int64_t at = begin; at < end; ++at) {
                   const std::int64_t first = at % blocks * width, count = std::min(width, e.m - first);
                   T* block = to + at * e.d * width;
                   if (count < width) std::fill_n(block, e.d * width, T(0));
                   kernels::copy_matrix(from + (at / blocks * e.m + first) * e.d, 1, e.d, block, width, e.d, count,
                                        sizeof(T));
                 }
               });
  return packed;
}

// Distances of points to others, taken distance_block at a time.
template <class T>
class PointBlocks {
 public:
  static constexpr std::int64_t width = kernels::distance_block;
  static constexpr std::int64_t panel = 32;  // points per call that stay in L1 for all blocks

  PointBlocks(const Tensor& x, const Tensor& y, double p)
      : e_(x, y),
        from_(detail::mutable_data<T>(x)),
        others_(detail::mutable_data<T>(y)),
        distance_{p},
        kernel_(kernels::active<kernels::DistanceKernels>()[x.dtype()].run) {
    if (p != 1 && p != 2) return;
    packed_ = in_columns<T>(y, e_);
    columns_ = detail::mutable_data<T>(packed_);
  }
  std::int64_t count() const { return (e_.m + width - 1) / width; }
  std::int64_t width_of(std::int64_t block) const { return std::min(width, e_.m - block * width); }

  // Distances of points [first, first + n) of [b * n] to a block of the same batch; `stride` is that of the rows of to.
  [[gnu::noinline]] void compute(std::int64_t first, std::int64_t n, std::int64_t block, T* to,
                                 std::int64_t stride) const {
    const std::int64_t batch = first / e_.n, size = width_of(block);
    const T *x = from_ + first * e_.d, *y = others_ + (batch * e_.m + block * width) * e_.d;
    const T* columns = columns_ ? columns_ + (batch * count() + block) * e_.d * width : nullptr;
    if (distance_.p == 2) kernel_(x, n, e_.d, columns, size, to, stride);
    for (std::int64_t r = 0; r < n; ++r, x += e_.d, to += stride) {
      if (distance_.p == 1)
        add_differences(x, columns, size, to);
      else if (distance_.p != 2 || !in_range(to, size))
        replace(x, y, size, to);
    }
  }

 private:
  // Squares of distances below `least` may have underflowed.
  static T least() { return std::sqrt(std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon()); }
  static bool is_in_range(T v, T low) { return v > low && v < std::numeric_limits<T>::infinity(); }
  static bool in_range(const T* distances, std::int64_t n) {
    using Flag = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // of one width: vectorised
    const T low = least();
    Flag outside = 0;
    for (std::int64_t j = 0; j < n; ++j)
      outside |= static_cast<Flag>(!(distances[j] > low)) |
                 static_cast<Flag>(!(distances[j] < std::numeric_limits<T>::infinity()));
    return outside == 0;
  }
  [[gnu::noinline]] void replace(const T* x, const T* y, std::int64_t n, T* to) const {
    const T low = least();
    for (std::int64_t j = 0; j < n; ++j)
      if (distance_.p != 2 || !is_in_range(to[j], low)) to[j] = distance_(x, y + j * e_.d, e_.d);
  }
  // The sums of a few columns at a time: they stay in registers.
  void add_differences(const T* x, const T* columns, std::int64_t n, T* to) const {
    constexpr std::int64_t lanes = 64 / sizeof(T);
    static_assert(width % lanes == 0);
    for (std::int64_t first = 0; first < n; first += lanes) {
      T sum[lanes] = {};
      for (std::int64_t k = 0; k < e_.d; ++k)
        for (std::int64_t j = 0; j < lanes; ++j) sum[j] += std::abs(x[k] - columns[k * width + first + j]);
      std::copy_n(sum, std::min(lanes, n - first), to + first);
    }
  }

  PairExtents e_;
  const T *from_, *others_, *columns_ = nullptr;
  Distance<T> distance_;
  decltype(kernels::DistanceLoops::run) kernel_;
  Tensor packed_;
};

template <class T>
void distances_of(const Tensor& x, const Tensor& y, double p, const Tensor& z) {
  using Blocks = PointBlocks<T>;
  const PairExtents e(x, y);
  const Blocks blocks(x, y, p);
  T* to = detail::mutable_data<T>(z);
  parallel_for(e.b * e.n, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {  // points of one batch
      const std::int64_t n = std::min({Blocks::panel, end - begin, e.n - begin % e.n});
      for (std::int64_t j = 0; j < blocks.count(); ++j)
        blocks.compute(begin, n, j, to + begin * e.m + j * Blocks::width, e.m);
      begin += n;
    }
  });
}

template <class T>
void pair_distances_of(const Tensor& x, double p, const Tensor& z) {
  using Blocks = PointBlocks<T>;
  const std::int64_t n = x.shape()[1];
  const Blocks blocks(x, x, p);
  T* to = detail::mutable_data<T>(z);
  std::int64_t stride = Blocks::width;
  asm("" : "+r"(stride));  // no copy of compute() for this value
  parallel_for((n - 1) / Blocks::panel + 1, 1, [&](std::int64_t begin, std::int64_t end) {
    T distances[static_cast<std::size_t>(Blocks::panel * Blocks::width)];
    for (std::int64_t first = begin * Blocks::panel; first < std::min(n, end * Blocks::panel); first += Blocks::panel) {
      const std::int64_t rows = std::min(Blocks::panel, n - first);
      for (std::int64_t j = first / Blocks::width; j < blocks.count(); ++j) {
        blocks.compute(first, rows, j, distances, stride);
        for (std::int64_t i = first; i < first + rows; ++i) {
          const std::int64_t column = std::max(i + 1, j * Blocks::width), skipped = column - j * Blocks::width;
          const std::int64_t row = i * n - i * (i + 1) / 2 - i - 1;  // place of the pair (i, 0), if there was one
          std::copy_n(distances + (i - first) * Blocks::width + skipped,
                      std::max<std::int64_t>(0, blocks.width_of(j) - skipped), to + row + column);
        }
      }
    }
  });
}

template <class T>
void slopes_of(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& z, double p, const Tensor& dx) {
  const PairExtents e(x, y);
  const T *from = detail::mutable_data<T>(x), *others = detail::mutable_data<T>(y),
          *cotangent = detail::mutable_data<T>(g), *distance = detail::mutable_data<T>(z);
  T* to = detail::mutable_data<T>(dx);
  const std::int64_t rows = e.b * e.n;
  const auto kernel = kernels::active<kernels::DistanceKernels>()[dx.dtype()].vjp;
  parallel_for(dx.size() / e.d, e.grain(), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      constexpr std::int64_t panel = 4;  // points of one batch
      const std::int64_t row = begin % rows, n = std::min({panel, end - begin, e.n - row % e.n});
      const T *a = from + row * e.d, *b = others + row / e.n * e.m * e.d, *g_row = cotangent + begin * e.m;
      const T* z_row = distance + row * e.m;
      T* sums = to + begin * e.d;
      begin += n;
      if (p == 2 && kernel(g_row, z_row, a, b, n, e.m, e.d, sums)) continue;
      std::fill_n(sums, n * e.d, T(0));
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < e.m; ++j)
          for_each_slope(a + i * e.d, b + j * e.d, e.d, z_row[i * e.m + j], p, g_row[i * e.m + j],
                         [sum = sums + i * e.d](std::int64_t k, T v) { sum[k] += v; });
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

void pair_distances(const Tensor& x, double p, const Tensor& z) {
  if (z.size() == 0) return;
  visit_among<float, double>(z.dtype(), [&]<class T>() { pair_distances_of<T>(x, p, z); });
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
