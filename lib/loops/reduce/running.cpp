// Strips of columns, row by row; a single column in blocks along it.
#include "loops/reduce/running.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/visit.hpp"
#include "kernels/table.hpp"
#include "loops/index/axis_split.hpp"
#include "loops/loops.hpp"

namespace reel::loops {

namespace {

constexpr std::int64_t strip = 256;  // columns, or elements of one column, at a time: a few such buffers fit L1

// Calls body(first, count) for strips of columns of each matrix [n, inner]: `first` is the index of the first element.
template <class Body>
void for_strips(const AxisSplit& e, const Body& body) {
  const std::int64_t width = std::min(strip, e.inner), strips = (e.inner - 1) / width + 1;
  parallel_for(e.outer * strips, std::max<std::int64_t>(1, parallel_threshold / (e.extent * width)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t t = begin; t < end; ++t) {
                   const std::int64_t first = t % strips * width;
                   body(t / strips * e.extent * e.inner + first, std::min(width, e.inner - first));
                 }
               });
}

template <class T>
void extreme_columns(const AxisSplit& e, bool largest, bool reverse, const T* x, std::int64_t count, T* best,
                     std::int64_t* position) {
  using Compared = std::conditional_t<std::is_arithmetic_v<T>, T, float>;  // 16-bit floats as float32
  const auto is_nan = [](Compared v) { return v != v; };
  std::int64_t k = reverse ? e.extent - 1 : 0;
  const std::int64_t one = reverse ? -1 : 1, step = one * e.inner;
  x += k * e.inner, best += k * e.inner, position += k * e.inner;
  std::copy_n(x, count, best);
  std::fill_n(position, count, k);
  for (std::int64_t i = 1; i < e.extent; ++i) {
    k += one, x += step, best += step, position += step;
    for (std::int64_t c = 0; c < count; ++c) {
      const Compared next = static_cast<Compared>(x[c]), so_far = static_cast<Compared>(best[c - step]);
      const bool takes = is_nan(next) || (!is_nan(so_far) && (largest ? next >= so_far : next <= so_far));
      best[c] = takes ? x[c] : best[c - step];
      position[c] = takes ? k : position[c - step];
    }
  }
}

// The same for one column whose elements follow one another. Blocks whose elements are all beyond the extreme so far
// copy it. Least elements are the largest of the negatives, so that there is one loop for both.
template <class T>
[[gnu::noinline]] void extreme_column(std::int64_t n, bool largest, bool reverse, const T* x, T* best,
                                      std::int64_t* position) {
  constexpr std::int64_t block = 16;
  const std::int64_t start = reverse ? n - 1 : 0, one = reverse ? -1 : 1;
  const T sign = largest ? 1 : -1;
  std::int64_t found = start;
  T most = sign * x[start];
  for (std::int64_t done = 0; done < n; done += block) {
    const std::int64_t count = std::min(block, n - done), begin = start + one * done;
    const std::int64_t first = reverse ? begin - block + 1 : begin;  // of a whole block in memory
    bool beyond = count == block;                                    // false with a NaN too
    if (beyond) {
      int all = 1;
      for (std::int64_t i = 0; i < block; ++i) all &= static_cast<int>(sign * x[first + i] < most);
      beyond = all != 0;
    }
    if (beyond) {
      std::fill_n(best + first, block, x[found]);
      std::fill_n(position + first, block, found);
      continue;
    }
    for (std::int64_t k = 0, i = begin; k < count; ++k, i += one) {
      const T next = sign * x[i];
      if (next != next || next >= most) {  // a NaN stays, for comparisons with it are false, until the next one
        most = next;
        found = i;
      }
      best[i] = x[found];
      position[i] = found;
    }
  }
}

// Applies a pointwise function in place.
template <class T>
void apply_in_place(kernels::Loop loop, T* x, std::int64_t n) {
  const kernels::Strided in[] = {{reinterpret_cast<const std::byte*>(x), 1}};
  loop(in, reinterpret_cast<std::byte*>(x), n);
}

// Running sums of exponentials for several elements at a time, and their logarithms.
template <class T>
struct LogSums {
  kernels::Loop exp, log;
  T most[strip], terms[strip];
  bool grew[strip];
  double sums[strip];

  explicit LogSums(DType d)
      : exp(kernels::active().pointwise(kernels::index_of<"exp">(), d).value),
        log(kernels::active().pointwise(kernels::index_of<"log">(), d).value) {}

  // Adds x to a sum relative to `so_far`. Sets terms[i] to the exponent of the factor: of the old sum if x is larger,
  // otherwise of the new term.
  void meet(std::int64_t i, T x, T so_far) {
    grew[i] = x > so_far;
    most[i] = grew[i] ? x : so_far;
    terms[i] = x == so_far ? T(0) : -std::abs(x - so_far);
  }
  static double sum_of(double before, bool grew, T term) {
    const auto factor = static_cast<double>(term);
    return grew ? before * factor + 1 : before + factor;
  }
};

template <class T>
void log_sum_column(LogSums<T>& s, const T* x, std::int64_t n, bool reverse, T* z) {
  T most = -std::numeric_limits<T>::infinity();
  double sum = 0;
  for (std::int64_t done = 0; done < n; done += strip) {
    const std::int64_t count = std::min(strip, n - done);
    const auto place = [&](std::int64_t i) { return reverse ? n - 1 - done - i : done + i; };
    for (std::int64_t i = 0; i < count; ++i) {
      s.meet(i, x[place(i)], most);
      most = s.most[i];
    }
    apply_in_place(s.exp, s.terms, count);
    for (std::int64_t i = 0; i < count; ++i) s.terms[i] = static_cast<T>(sum = s.sum_of(sum, s.grew[i], s.terms[i]));
    apply_in_place(s.log, s.terms, count);
    for (std::int64_t i = 0; i < count; ++i) z[place(i)] = s.most[i] + s.terms[i];
  }
}

template <class T>
void log_sum_columns(LogSums<T>& s, const AxisSplit& e, const T* x, std::int64_t count, bool reverse, T* z) {
  std::fill_n(s.most, count, -std::numeric_limits<T>::infinity());
  std::fill_n(s.sums, count, 0.0);
  for (std::int64_t i = 0; i < e.extent; ++i) {
    const std::int64_t row = (reverse ? e.extent - 1 - i : i) * e.inner;
    for (std::int64_t c = 0; c < count; ++c) s.meet(c, x[row + c], s.most[c]);
    apply_in_place(s.exp, s.terms, count);
    for (std::int64_t c = 0; c < count; ++c)
      s.terms[c] = static_cast<T>(s.sums[c] = s.sum_of(s.sums[c], s.grew[c], s.terms[c]));
    apply_in_place(s.log, s.terms, count);
    for (std::int64_t c = 0; c < count; ++c) z[row + c] = s.most[c] + s.terms[c];
  }
}

// The shares in a column where its sums are infinite.
template <class T>
void set_infinite_shares(const T* x, const T* z, const AxisSplit& e, bool reverse, T* weight, T* carry) {
  T hits = 0;
  for (std::int64_t i = 0; i < e.extent; ++i) {
    const std::int64_t at = (reverse ? e.extent - 1 - i : i) * e.inner;
    if (!std::isinf(z[at])) continue;
    const bool equal = x[at] == z[at];
    if (z[at] < 0)
      hits = static_cast<T>(i + 1);
    else if (i == 0 || z[at - (reverse ? -e.inner : e.inner)] != z[at])
      hits = 1;
    else if (equal)
      ++hits;
    weight[at] = equal ? 1 / hits : 0;
    carry[at] = 1 - weight[at];
  }
}

}  // namespace

void running_extreme(const Tensor& x, int axis, bool largest, bool reverse, const Tensor& values,
                     const Tensor& positions) {
  if (x.size() == 0) return;
  const AxisSplit e(x.shape(), axis);
  auto* position = detail::mutable_data<std::int64_t>(positions);
  visit(x.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>) {
      const T* from = detail::mutable_data<T>(x);
      T* best = detail::mutable_data<T>(values);
      for_strips(e, [&](std::int64_t first, std::int64_t count) {
        if constexpr (std::is_floating_point_v<T>)  // code for other types would be rarely used
          if (e.inner == 1)
            return extreme_column(e.extent, largest, reverse, from + first, best + first, position + first);
        extreme_columns(e, largest, reverse, from + first, count, best + first, position + first);
      });
    }
  });
}

void log_running_sum(const Tensor& x, int axis, bool reverse, const Tensor& z) {
  if (x.size() == 0) return;
  const AxisSplit e(x.shape(), axis);
  visit_among<float, double>(x.dtype(), [&]<class T>() {
    const T* from = detail::mutable_data<T>(x);
    T* to = detail::mutable_data<T>(z);
    for_strips(e, [&](std::int64_t first, std::int64_t count) {
      LogSums<T> sums(x.dtype());
      if (e.inner == 1)
        log_sum_column(sums, from + first, e.extent, reverse, to + first);
      else
        log_sum_columns(sums, e, from + first, count, reverse, to + first);
    });
  });
}

void log_running_shares(const Tensor& x, const Tensor& z, int axis, bool reverse, const Tensor& weights,
                        const Tensor& carries) {
  if (x.size() == 0) return;
  const AxisSplit e(x.shape(), axis);
  const std::int64_t back = reverse ? e.inner : -e.inner, edge = reverse ? e.extent - 1 : 0;
  visit_among<float, double>(x.dtype(), [&]<class T>() {
    const T *elements = detail::mutable_data<T>(x), *sums = detail::mutable_data<T>(z);
    T *weight = detail::mutable_data<T>(weights), *carry = detail::mutable_data<T>(carries);
    for_strips(e, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t k = 0; k < e.extent; ++k)
        for (std::int64_t at = first + k * e.inner; at < first + k * e.inner + count; ++at) {
          weight[at] = elements[at] - sums[at];
          carry[at] = k == edge ? -std::numeric_limits<T>::infinity() : sums[at + back] - sums[at];
        }
    });
    const kernels::Loop exp = kernels::active().pointwise(kernels::index_of<"exp">(), x.dtype()).value;
    for (const Tensor* shares : {&weights, &carries}) pointwise(exp, std::span(&shares, 1), *shares);
    for_strips(e, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t at = first; at < first + count; ++at)
        set_infinite_shares(elements + at, sums + at, e, reverse, weight + at, carry + at);
    });
  });
}

}  // namespace reel::loops
