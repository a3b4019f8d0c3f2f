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

// Running sums of exponentials, relative to the largest element so far and less its 1, for several elements at a time,
// and their logarithms: log1p keeps digits that adding to 1 would lose.
template <class T>
struct LogSums {
  static constexpr double nothing = -1;  // of no elements
  kernels::Loop exp, log1p;
  T most[strip], terms[strip];
  bool grew[strip];
  double others[strip];

  explicit LogSums(DType d)
      : exp(kernels::pointwise(kernels::index_of<"exp">(), d).value),
        log1p(kernels::pointwise(kernels::index_of<"log1p">(), d).value) {}

  // Adds x to a sum relative to `so_far`. Sets terms[i] to the exponent of the factor: of the old sum if x is larger,
  // otherwise of the new term.
  void meet(std::int64_t i, T x, T so_far) {
    grew[i] = x > so_far;
    most[i] = grew[i] ? x : so_far;
    terms[i] = x == so_far ? T(0) : -std::abs(x - so_far);
  }
  static double sum_of(double before, bool grew, T term) {
    const auto factor = static_cast<double>(term);
    return grew ? (1 + before) * factor : before + factor;
  }
};

// Calls body(i, before, sum, place) for each element of a column: i is its index in s.grew and s.terms, `before` and
// `sum` are the sums without it and with it. Then calls done(count, place) for each strip of them.
template <class T, class Body, class Done>
void for_column(LogSums<T>& s, const T* x, std::int64_t n, bool reverse, const Body& body, const Done& done) {
  T most = -std::numeric_limits<T>::infinity();
  double sum = LogSums<T>::nothing;
  for (std::int64_t first = 0; first < n; first += strip) {
    const std::int64_t count = std::min(strip, n - first);
    const auto place = [&](std::int64_t i) { return reverse ? n - 1 - first - i : first + i; };
    for (std::int64_t i = 0; i < count; ++i) {
      s.meet(i, x[place(i)], most);
      most = s.most[i];
    }
    apply_in_place(s.exp, s.terms, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const double before = sum;
      sum = s.sum_of(before, s.grew[i], s.terms[i]);
      body(i, before, sum, place(i));
    }
    done(count, place);
  }
}

// The same for neighbouring columns, row by row.
template <class T, class Body, class Done>
void for_columns(LogSums<T>& s, const AxisSplit& e, const T* x, std::int64_t count, bool reverse, const Body& body,
                 const Done& done) {
  std::fill_n(s.most, count, -std::numeric_limits<T>::infinity());
  std::fill_n(s.others, count, LogSums<T>::nothing);
  for (std::int64_t k = 0; k < e.extent; ++k) {
    const std::int64_t row = (reverse ? e.extent - 1 - k : k) * e.inner;
    for (std::int64_t c = 0; c < count; ++c) s.meet(c, x[row + c], s.most[c]);
    apply_in_place(s.exp, s.terms, count);
    for (std::int64_t c = 0; c < count; ++c) {
      const double before = s.others[c];
      s.others[c] = s.sum_of(before, s.grew[c], s.terms[c]);
      body(c, before, s.others[c], row + c);
    }
    done(count, [row](std::int64_t c) { return row + c; });
  }
}

// One of them for `count` columns from x on.
template <class T, class Body, class Done>
void for_sums(LogSums<T>& s, const AxisSplit& e, const T* x, std::int64_t count, bool reverse, const Body& body,
              const Done& done) {
  if (e.inner == 1)
    for_column(s, x, e.extent, reverse, body, done);
  else
    for_columns(s, e, x, count, reverse, body, done);
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
      LogSums<T> s(x.dtype());
      const auto keep = [&](std::int64_t i, double, double others, std::int64_t) {
        s.terms[i] = static_cast<T>(others);
      };
      const auto write = [&](std::int64_t n, const auto& place) {
        apply_in_place(s.log1p, s.terms, n);
        for (std::int64_t i = 0; i < n; ++i) to[first + place(i)] = s.most[i] + s.terms[i];
      };
      for_sums(s, e, from + first, count, reverse, keep, write);
    });
  });
}

void log_running_shares(const Tensor& x, const Tensor& z, int axis, bool reverse, const Tensor& weights,
                        const Tensor& carries) {
  if (x.size() == 0) return;
  const AxisSplit e(x.shape(), axis);
  visit_among<float, double>(x.dtype(), [&]<class T>() {
    const T *elements = detail::mutable_data<T>(x), *sums = detail::mutable_data<T>(z);
    T *weight = detail::mutable_data<T>(weights), *carry = detail::mutable_data<T>(carries);
    for_strips(e, [&](std::int64_t first, std::int64_t count) {
      LogSums<T> s(x.dtype());
      const auto share = [&](std::int64_t i, double before, double others, std::int64_t place) {
        const auto term = static_cast<double>(s.terms[i]);
        weight[first + place] = static_cast<T>((s.grew[i] ? 1 : term) / (1 + others));
        carry[first + place] = static_cast<T>((1 + before) * (s.grew[i] ? term : 1) / (1 + others));
      };
      for_sums(s, e, elements + first, count, reverse, share, [](std::int64_t, const auto&) {});
      for (std::int64_t at = first; at < first + count; ++at)
        set_infinite_shares(elements + at, sums + at, e, reverse, weight + at, carry + at);
    });
  });
}

}  // namespace reel::loops
