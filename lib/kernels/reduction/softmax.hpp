// softmax, log_softmax, logsumexp and the cross-entropies of contiguous rows, and their vjps. The maximum is subtracted
// first. Terms exp(0) = 1 are counted instead of added, so that log1p keeps digits that adding to 1 would lose.
#pragma once
#include "kernels/reduction/rows.hpp"

namespace reel::kernels {

// For contiguous rows or, with Across, for the columns of a matrix.
template <VecElement T, bool Across = false>
struct RowFunctions {
  using L = Vec<T>;
  static constexpr std::ptrdiff_t sideways = 8, sideways_log = 32;  // elements of a row up to which lanes are rows

  template <std::ptrdiff_t Longest, class F>
  [[gnu::always_inline]] static void for_each(std::ptrdiff_t n, std::ptrdiff_t rows, const F& f) {
    if constexpr (Across)
      for_columns<T>(n, rows, f);
    else
      for_rows<T, Longest>(n, rows, f);
  }
  // The offset of row r.
  static constexpr std::ptrdiff_t at(std::ptrdiff_t r, std::ptrdiff_t n) { return Across ? r : r * n; }

  static const T* operand(const void* const* in, std::size_t k) { return static_cast<const T*>(in[k]); }
  static T* written(const void* const* in, std::size_t k) { return static_cast<T*>(const_cast<void*>(in[k])); }
  static constexpr auto itself = [](L a) { return a; };

  // The maximum m of a row, sum(exp(x - m)), and its logarithm. For an infinite m the logarithm is 0, so that x - m
  // below gives NaN, as it should; m is NaN if it is infinite and the row holds a NaN.
  struct Logarithm {
    L m, sum, log;
  };
  template <class R>
  [[gnu::always_inline]] static Logarithm logarithm(const R& row, const typename R::Values& x) {
    L m = row.template fold<Greatest>(itself, x);
    if (!all(isfinite(m))) m = row.template fold<Max>(itself, x);
    const L others = row.template fold<Sum>([m](L a) { return where(a == m, 0, row_exp(a - m)); }, x);
    const L ties = row.template fold<Sum>([m](L a) { return where(a == m, L(1), L(0)); }, x);
    const L sum = (ties - 1) + others;  // less the 1 of the maximum
    L log;
    if constexpr (is_scalar)
      log = log1p(sum);
    else
      log = math::log1p_inline(sum);
    return {m, 1 + sum, where(isfinite(m), log, 0)};
  }

  // logarithm(); for columns, whose views are one type, a function of its own that its callers share.
  template <class R>
  [[gnu::always_inline]] static Logarithm logarithm_of(const R& row, const typename R::Values& x) {
    if constexpr (Across)
      return column_logarithm(row, x);
    else
      return logarithm(row, x);
  }
  [[gnu::noinline]] static Logarithm column_logarithm(const ColumnsOf<T>& columns, const T* x) {
    return logarithm(columns, x);
  }

  // exp(x - m) of the row and their sum.
  template <class R>
  struct Shares {
    typename R::Values e;
    L sum;
  };
  template <class R>
  [[gnu::always_inline]] static Shares<R> shares(const R& row, const typename R::Values& x, T* out) {
    const L m = row.template fold<Greatest>(itself, x);
    const auto e = row.map(
        out, [m](L a) { return row_exp(a - m); }, x);
    return {e, row.template fold<Sum>(itself, e)};
  }

  static void softmax(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_each<sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + at(r, n);
      const auto [e, sum] = shares(row, row.values(0, operand(in, 0) + at(r, n)), to);
      const L scale = L(1) / sum;
      row.store(row.map(
                    to, [scale](L a) { return a * scale; }, e),
                to);
    });
  }
  static void log_softmax(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_each<sideways_log>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + at(r, n);
      const auto x = row.values(0, operand(in, 0) + at(r, n));
      const Logarithm l = logarithm_of(row, x);
      row.store(row.map(
                    to, [l](L a) { return a - l.m - l.log; }, x),
                to);
    });
  }
  // in: x; the maximum and the sum of exponentials, one per row, which are written unless they are null
  static void logsumexp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    T *const most = written(in, 1), *const sum = written(in, 2);
    for_each<sideways_log>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      const Logarithm l = logarithm_of(row, row.values(0, operand(in, 0) + at(r, n)));
      row.put(l.m + l.log, static_cast<T*>(out) + r);
      if (!most) return;
      row.put(l.m, most + r);
      row.put(l.sum, sum + r);
    });
  }

  // in: g, z
  static void softmax_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_each<sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + at(r, n);
      const auto g = row.values(0, operand(in, 0) + at(r, n)), z = row.values(1, operand(in, 1) + at(r, n));
      const L mean = row.template fold<Sum>([](L a, L b) { return a * b; }, g, z);
      row.store(row.map(
                    to, [mean](L a, L b) { return b * (a - mean); }, g, z),
                to);
    });
  }
  static void log_softmax_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_each<sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + at(r, n);
      const auto g = row.values(0, operand(in, 0) + at(r, n)), z = row.values(1, operand(in, 1) + at(r, n));
      const L total = row.template fold<Sum>(itself, g);
      row.store(row.map(
                    to, [total](L a, L b) { return a - row_exp(b) * total; }, g, z),
                to);
    });
  }
  // in: g, one per row; x; the maximum and the sum of exponentials, one per row, or null for a sum of 1
  static void logsumexp_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_each<sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + at(r, n);
      const L g = row.each(operand(in, 0) + r), m = row.each(operand(in, 2) + r);
      const L scale = in[3] ? g / row.each(operand(in, 3) + r) : g;
      row.store(row.map(
                    to, [scale, m](L a) { return scale * row_exp(a - m); }, row.values(1, operand(in, 1) + at(r, n))),
                to);
    });
  }

  // in: x, labels. A label of 0 contributes 0, whatever its x.
  static void cross_entropy(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_rows<T, sideways_log>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      const auto x = row.values(0, operand(in, 0) + r * n), labels = row.values(1, operand(in, 1) + r * n);
      const Logarithm l = logarithm(row, x);
      row.put(row.template fold<Sum>([l](L a, L b) { return where(b == L(0), 0, b * ((l.m - a) + l.log)); }, x, labels),
              static_cast<T*>(out) + r);
    });
  }
  // in: g, one per row; x; labels
  static void cross_entropy_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_rows<T, sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + r * n;
      const auto labels = row.values(1, operand(in, 2) + r * n);
      const L g = row.each(operand(in, 0) + r), total = row.template fold<Sum>(itself, labels);
      const auto [e, sum] = shares(row, row.values(0, operand(in, 1) + r * n), to);
      const L scale = total / sum;
      row.store(row.map(
                    to, [g, scale](L a, L b) { return g * (a * scale - b); }, e, labels),
                to);
    });
  }
  // The cotangent of the labels. in: g, one per row; x
  static void cross_entropy_labels_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    for_rows<T, sideways_log>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + r * n;
      const L g = row.each(operand(in, 0) + r);
      const auto x = row.values(0, operand(in, 1) + r * n);
      const Logarithm l = logarithm(row, x);
      row.store(row.map(
                    to, [g, l](L a) { return g * ((l.m - a) + l.log); }, x),
                to);
    });
  }

  // The element that the label of each row names; 0, and a mask, for rows without one (a negative label).
  struct Chosen {
    L x;
    Mask<T> present;
  };
  template <class R>
  [[gnu::always_inline]] static Chosen chosen(const R& row, const T* x, const std::int64_t* label) {
    alignas(64) T value[static_cast<std::size_t>(L::size)] = {}, present[static_cast<std::size_t>(L::size)] = {};
    for (std::ptrdiff_t r = 0; r < row.rows(); ++r) {
      present[r] = label[r] >= 0 ? T(1) : T(0);
      value[r] = label[r] >= 0 && x ? x[r * row.n + label[r]] : T(0);
    }
    if (row.rows() == 1) return {value[0], L(present[0]) != L(0)};
    return {L::load(value), L::load(present) != L(0)};
  }
  // in: x; labels, one int64 per row
  static void sparse_cross_entropy(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    const auto* label = static_cast<const std::int64_t*>(in[1]);
    for_rows<T, sideways_log>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      const T* p = operand(in, 0) + r * n;
      const Logarithm l = logarithm(row, row.values(0, p));
      const Chosen at = chosen(row, p, label + r);
      row.put(where(at.present, (l.m - at.x) + l.log, 0), static_cast<T*>(out) + r);
    });
  }
  // in: g, one per row; x; labels. out differs from all of them.
  static void sparse_cross_entropy_vjp(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows) {
    const T* g = operand(in, 0);
    const auto* label = static_cast<const std::int64_t*>(in[2]);
    for_rows<T, sideways>(n, rows, [&](const auto& row, std::ptrdiff_t r) {
      T* to = static_cast<T*>(out) + r * n;
      const auto [e, sum] = shares(row, row.values(0, operand(in, 1) + r * n), to);
      const auto present = chosen(row, static_cast<const T*>(nullptr), label + r).present;
      const L scale = row.each(g + r) / sum;
      row.store(row.map(
                    to, [scale, present](L a) { return where(present, a * scale, 0); }, e),
                to);
      for (std::ptrdiff_t k = 0; k < row.rows(); ++k)
        if (label[r + k] >= 0) to[k * n + label[r + k]] -= g[r + k];
    });
  }
};

}  // namespace reel::kernels
