// layer_norm of contiguous rows and its vjp; the row operations of batch_norm. layer_norm subtracts the mean twice: the
// first mean is rounded, and the variance is that of the remainder.
#pragma once
#include "kernels/reduction/rows.hpp"
#include "kernels/reduction/wide_deviation.hpp"

namespace reel::kernels {

template <VecElement T>
struct NormFunctions {
  using L = Vec<T>;

  // x - first - second has mean 0; times `scale` it has variance 1, up to epsilon.
  struct Moments {
    L first, second, scale;
    [[gnu::always_inline]] L operator()(L x) const { return ((x - first) - second) * scale; }
  };
  // Of the row at `from`, whose values are x.
  template <class R>
  [[gnu::always_inline]] static Moments moments(const R& row, const T* from, const typename R::Values& x, L epsilon) {
    const L n(static_cast<T>(row.n));
    const L first = row.template fold<Sum>([](L a) { return a; }, x) / n;
    const L second = row.template fold<Sum>([first](L a) { return a - first; }, x) / n;
    const L squares = row.template fold<Sum>([first, second](L a) { return square((a - first) - second); }, x);
    if (const T e = first_element(epsilon); loses_squares(first_element(squares / n), e)) [[unlikely]]
      return {first, second,
              L(wide_inverse_deviation(from, 1, 0, row.n, first_element(first), first_element(second), e))};
    return {first, second, L(1) / sqrt(squares / n + epsilon)};
  }

  static void layer_norm(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    const T *x = static_cast<const T*>(in[0]), *scale = static_cast<const T*>(in[2]),
            *offset = static_cast<const T*>(in[3]);
    const L epsilon(*static_cast<const T*>(in[1]));
    for_rows<T, 0>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + r * n;
      const auto values = row.values(0, x + r * n);
      const Moments m = moments(row, x + r * n, values, epsilon);
      if (scale)
        row.store(
            row.map(
                to, [m](L a, L s, L o) { return m(a) * s + o; }, values, row.values(1, scale), row.values(2, offset)),
            to);
      else
        row.store(row.map(
                      to, [m](L a) { return m(a); }, values),
                  to);
    });
  }

  static void layer_norm_vjp(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows) {
    const T *g = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]), *scale = static_cast<const T*>(in[3]);
    const L epsilon(*static_cast<const T*>(in[2]));
    T* total = static_cast<T*>(sums);
    for_rows<T, 0>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      const auto gs = row.values(0, g + r * n), xs = row.values(1, x + r * n);
      const Moments m = moments(row, x + r * n, xs, epsilon);
      const auto add_sums = [&](const auto& y) {
        if (!total) return;
        row.add(
            total, [](L a, L v) { return a * v; }, gs, y);
        row.add(
            total + n, [](L a) { return a; }, gs);
      };
      const auto write_vjp = [&](T* to, const auto& y, const auto& factor, const auto&... s) {
        const L count(static_cast<T>(n));
        const L mean = row.template fold<Sum>([&](L a, auto... b) { return factor(a, b...); }, gs, s...) / count;
        const L along =
            row.template fold<Sum>([&](L v, L a, auto... b) { return factor(a, b...) * v; }, y, gs, s...) / count;
        row.store(
            row.map(
                to, [&](L v, L a, auto... b) { return m.scale * ((factor(a, b...) - mean) - v * along); }, y, gs, s...),
            to);
      };
      if (out) {
        T* to = static_cast<T*>(out) + r * n;
        const auto y = row.map(to, m, xs);
        add_sums(y);
        if (scale)
          write_vjp(
              to, y, [](L a, L b) { return a * b; }, row.values(2, scale));
        else
          write_vjp(to, y, [](L a) { return a; });
      } else if (total) {
        row.add(
            total, [m](L a, L v) { return a * m(v); }, gs, xs);
        row.add(
            total + n, [](L a) { return a; }, gs);
      }
    });
  }

  // ---- Rows with given means

  static constexpr std::ptrdiff_t sideways = 8;  // elements of a row up to which lanes are rows
  // Calls f(row, first(k) = values of operand k, numbers(k) = operand k's number per row) for all rows.
  template <class F>
  [[gnu::always_inline]] static void centred_rows(const void* const* in, std::ptrdiff_t n, std::ptrdiff_t rows,
                                                  const F& f) {
    for_rows<T, sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      f(
          row, r, [&](int k) { return row.values(k, static_cast<const T*>(in[k]) + r * n); },
          [&](int k) { return row.each(static_cast<const T*>(in[k]) + r); });
    });
  }
  static void row_sum(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    centred_rows(in, n, rows, [out](const auto& row, std::ptrdiff_t r, const auto& values, const auto&) {
      row.put(row.template fold<Sum>([](L a) { return a; }, values(0)), static_cast<T*>(out) + r);
    });
  }
  static void row_squares(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    centred_rows(in, n, rows, [out](const auto& row, std::ptrdiff_t r, const auto& values, const auto& number) {
      const L mean = number(1);
      row.put(row.template fold<Sum>([mean](L a) { return square(a - mean); }, values(0)), static_cast<T*>(out) + r);
    });
  }
  static void row_products(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    centred_rows(in, n, rows, [out](const auto& row, std::ptrdiff_t r, const auto& values, const auto& number) {
      const L mean = number(2);
      row.put(row.template fold<Sum>([mean](L a, L b) { return a * (b - mean); }, values(0), values(1)),
              static_cast<T*>(out) + r);
    });
  }
  // Sums over the rows for each of their n elements, with a mean for each: see Rows::column_sums.
  static void column_sums(const void* const* in, void*, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows) {
    const T *g = static_cast<const T*>(in[0]), *x = static_cast<const T*>(in[1]), *mean = static_cast<const T*>(in[2]);
    T* total = static_cast<T*>(sums);
    for_rows<T, 0>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      const auto xs = row.values(1, x + r * n), means = row.values(2, mean);
      if (g) {
        const auto gs = row.values(0, g + r * n);
        row.add(
            total, [](L a, L b, L m) { return a * (b - m); }, gs, xs, means);
        row.add(
            total + n, [](L a) { return a; }, gs);
      } else {
        row.add(
            total, [](L b, L m) { return square(b - m); }, xs, means);
      }
    });
  }
  static void row_scale(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    centred_rows(in, n, rows, [out, n](const auto& row, std::ptrdiff_t r, const auto& values, const auto& number) {
      T* to = static_cast<T*>(out) + r * n;
      const L mean = number(1), scale = number(2), offset = number(3);
      row.store(row.map(
                    to, [=](L a) { return (a - mean) * scale + offset; }, values(0)),
                to);
    });
  }
  static void row_scale_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    centred_rows(in, n, rows, [out, n](const auto& row, std::ptrdiff_t r, const auto& values, const auto& number) {
      T* to = static_cast<T*>(out) + r * n;
      const L mean = number(2), scale = number(3), offset = number(4), slope = number(5);
      row.store(row.map(
                    to, [=](L a, L b) { return scale * ((a - offset) - (b - mean) * slope); }, values(0), values(1)),
                to);
    });
  }
};

}  // namespace reel::kernels
