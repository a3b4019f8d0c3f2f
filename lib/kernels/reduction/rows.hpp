// Views of rows for functions of rows. Rows of up to two vectors stay in registers. Very short rows are transposed, as
// many as a vector has lanes, so that vector j holds element j of each row. Longer rows are in memory, in L1 after the
// first pass. Columns of a matrix are transposed already. A function is written once for all four:
// values(slot, p) - the row at p, for reading (slot: 0, 1, 2, a different one per operand)
// fold<O>(f, v...) - f(vector of v...) combined by O over the row, in every lane
// map(out, f, v...) - f(vector of v...) for the whole row, as values; v may be results of map
// store(v, out) - writes the result of map
// each(p), put(a, p) - one number per row, read and written
// add(to, f, v...) - adds f(vector of v...) to the row at `to` (not for columns)
// Which view is used depends on the length of the rows alone; results do not depend on a row's position.
#pragma once
#include <tuple>

#include "kernels/reduction/reduce.hpp"

namespace reel::kernels {

// exp, inlined; same bits.
template <VecElement T>
[[gnu::always_inline]] inline Vec<T> row_exp(Vec<T> x) {
  if constexpr (is_scalar)
    return std::exp(x.v);
  else
    return math::exp_inline(x);
}

// maximum that may lose a NaN: callers find it in what they compute from the row.
struct Greatest {
  template <class V>
  [[gnu::always_inline]] static V combine(V a, V b) {
    return greater_of(a, b);
  }
  template <VecElement T>
  [[gnu::always_inline]] static T combine(T a, T b) {
    return a > b ? a : b;
  }
  template <class T>
  static constexpr T neutral = -std::numeric_limits<T>::infinity();
};

// A mask of the first `count` lanes.
template <VecElement T>
[[gnu::always_inline]] inline Mask<T> among_first(std::ptrdiff_t count) {
  alignas(64) static constexpr T order[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return Vec<T>::load(order) < Vec<T>(static_cast<T>(count));
}

template <VecElement T>
struct LongRow {
  using L = Vec<T>;
  using Values = const T*;
  std::ptrdiff_t n;

  template <class F, class... V>
  struct Terms {
    struct Block {
      const F& f;
      std::tuple<V...> v;
      template <std::size_t... K>
      [[gnu::always_inline]] L whole_of(std::ptrdiff_t j, std::index_sequence<K...>) const {
        return f(L::load(std::get<K>(v) + j)...);
      }
      template <std::size_t... K>
      [[gnu::always_inline]] L part_of(std::ptrdiff_t j, std::ptrdiff_t count, std::index_sequence<K...>) const {
        return f(load_first(std::get<K>(v) + j, count, L(0))...);
      }
      [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return whole_of(j, std::index_sequence_for<V...>()); }
      // Pairwise asks for the neutral element behind the last one.
      T neutral;
      [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t count) const {
        return where(among_first<T>(count), part_of(j, count, std::index_sequence_for<V...>()), L(neutral));
      }
    };
    const F& f;
    std::tuple<V...> v;
    T neutral;
    [[gnu::always_inline]] Block block(std::ptrdiff_t i, std::ptrdiff_t) const {
      return {f, std::apply([i](auto... p) { return std::tuple<V...>(p + i...); }, v), neutral};
    }
  };

  [[gnu::always_inline]] std::ptrdiff_t rows() const { return 1; }
  [[gnu::always_inline]] Values values(int, const T* p) const { return p; }
  template <class Operation, class F, class... V>
  [[gnu::always_inline]] L fold(const F& f, V... v) const {
    return Pairwise<T, Operation>::run(n, Terms<F, V...>{f, {v...}, Operation::template neutral<T>});
  }
  template <class F, class... V>
  [[gnu::always_inline]] Values map(T* out, const F& f, V... v) const {
    std::ptrdiff_t i = 0;
    for (; n - i >= L::size; i += L::size) f(L::load(v + i)...).store(out + i);
    if (i < n) store_first(f(load_first(v + i, n - i, L(0))...), out + i, n - i);
    return out;
  }
  [[gnu::always_inline]] void store(Values, T*) const {}
  template <class F, class... V>
  [[gnu::always_inline]] void add(T* to, const F& f, V... v) const {
    map(
        to, [&](L total, auto... a) { return total + f(a...); }, to, v...);
  }
  [[gnu::always_inline]] L each(const T* p) const { return *p; }
  [[gnu::always_inline]] void put(L a, T* p) const { *p = first_element(a); }
};

// A row of K vectors, the last possibly partial.
template <VecElement T, std::size_t K>
struct ShortRow {
  using L = Vec<T>;
  struct Values {
    L vector[K];
  };
  std::ptrdiff_t n, last;  // elements of the row, and of its last vector
  Mask<T> inside;

  explicit ShortRow(std::ptrdiff_t count)
      : n(count), last(count - static_cast<std::ptrdiff_t>(K - 1) * L::size), inside(among_first<T>(last)) {}

  [[gnu::always_inline]] std::ptrdiff_t rows() const { return 1; }
  [[gnu::always_inline]] Values values(int, const T* p) const {
    Values v;
    for (std::size_t k = 0; k + 1 < K; ++k) v.vector[k] = L::load(p + static_cast<std::ptrdiff_t>(k) * L::size);
    v.vector[K - 1] = load_first(p + n - last, last, L(0));
    return v;
  }
  template <class Operation, class F, class... V>
  [[gnu::always_inline]] L fold(const F& f, const V&... v) const {
    L total = where(inside, f(v.vector[K - 1]...), L(Operation::template neutral<T>));
    for (std::size_t k = 0; k + 1 < K; ++k) total = Operation::combine(total, f(v.vector[k]...));
    return across<Operation>(total);
  }
  template <class F, class... V>
  [[gnu::always_inline]] Values map(T*, const F& f, const V&... v) const {
    Values result;
    for (std::size_t k = 0; k < K; ++k) result.vector[k] = f(v.vector[k]...);
    return result;
  }
  [[gnu::always_inline]] void store(const Values& v, T* out) const {
    for (std::size_t k = 0; k + 1 < K; ++k) v.vector[k].store(out + static_cast<std::ptrdiff_t>(k) * L::size);
    store_first(v.vector[K - 1], out + n - last, last);
  }
  template <class F, class... V>
  [[gnu::always_inline]] void add(T* to, const F& f, const V&... v) const {
    store(map(
              to, [&](L total, auto... a) { return total + f(a...); }, values(0, to), v...),
          to);
  }
  [[gnu::always_inline]] L each(const T* p) const { return *p; }
  [[gnu::always_inline]] void put(L a, T* p) const { *p = first_element(a); }
};

// Very short rows, at most one per lane.
template <VecElement T, std::ptrdiff_t Longest>
struct SidewaysRows {
  using L = Vec<T>;
  using Values = const T*;
  std::ptrdiff_t n, count;
  alignas(64) mutable T buffer[4][static_cast<std::size_t>(Longest * L::size)];

  SidewaysRows(std::ptrdiff_t length, std::ptrdiff_t rows_left)
      : n(length), count(rows_left < L::size ? rows_left : L::size) {}

  [[gnu::always_inline]] std::ptrdiff_t rows() const { return count; }
  [[gnu::always_inline]] Values values(int slot, const T* p) const {
    T* to = buffer[slot];
    if (n == 1 && count == L::size) return p;
    if (count == L::size)
      for (std::ptrdiff_t r = 0; r < L::size; ++r)
        for (std::ptrdiff_t j = 0; j < n; ++j) to[j * L::size + r] = p[r * n + j];
    else  // the last row repeatedly, so that no lane takes a slow path of its own
      for (std::ptrdiff_t r = 0; r < L::size; ++r)
        for (std::ptrdiff_t j = 0; j < n; ++j) to[j * L::size + r] = p[(r < count ? r : count - 1) * n + j];
    return to;
  }
  template <class Operation, class F, class... V>
  [[gnu::always_inline]] L fold(const F& f, V... v) const {
    L total = f(L::load(v)...);
    for (std::ptrdiff_t j = 1; j < n; ++j) total = Operation::combine(total, f(L::load(v + j * L::size)...));
    return total;
  }
  template <class F, class... V>
  [[gnu::always_inline]] Values map(T*, const F& f, V... v) const {
    for (std::ptrdiff_t j = 0; j < n; ++j) f(L::load(v + j * L::size)...).store(buffer[3] + j * L::size);
    return buffer[3];
  }
  [[gnu::always_inline]] void store(Values v, T* out) const {
    if (n == 1) return put(L::load(v), out);
    for (std::ptrdiff_t r = 0; r < count; ++r)
      for (std::ptrdiff_t j = 0; j < n; ++j) out[r * n + j] = v[j * L::size + r];
  }
  [[gnu::always_inline]] L each(const T* p) const {
    return count == L::size ? L::load(p) : load_first(p, count, L(*p));
  }
  [[gnu::always_inline]] void put(L a, T* p) const {
    if (count == L::size)
      a.store(p);
    else
      store_first(a, p, count);
  }
};

// Neighbouring columns of a matrix, at most one per lane; `stride` elements between rows.
template <VecElement T>
struct ColumnsOf {
  using L = Vec<T>;
  using Values = const T*;
  std::ptrdiff_t n, stride, count;

  // Behind the last column the first one is repeated: zeros would be divided by their sum. Not inlined, since loads are
  // many.
  [[gnu::noinline, gnu::cold]] static L load_part(const T* p, std::ptrdiff_t count) {
    return load_first(p, count, L(*p));
  }
  [[gnu::always_inline]] L load(const T* p) const { return count == L::size ? L::load(p) : load_part(p, count); }

  // For Pairwise, which counts elements: one vector of them per row.
  template <class F, class... V>
  struct Terms {
    const ColumnsOf& columns;
    const F& f;
    std::tuple<V...> v;
    template <std::size_t... K>
    [[gnu::always_inline]] L row(std::ptrdiff_t r, std::index_sequence<K...>) const {
      return f(columns.load(std::get<K>(v) + r * columns.stride)...);
    }
    [[gnu::always_inline]] L whole(std::ptrdiff_t j) const { return row(j / L::size, std::index_sequence_for<V...>()); }
    [[gnu::always_inline]] L part(std::ptrdiff_t j, std::ptrdiff_t) const {
      return whole(j);
    }  // there is no partial vector
    [[gnu::always_inline]] Terms block(std::ptrdiff_t i, std::ptrdiff_t) const {
      const std::ptrdiff_t offset = i / L::size * columns.stride;
      return {columns, f, std::apply([offset](auto... p) { return std::tuple<V...>(p + offset...); }, v)};
    }
  };

  [[gnu::always_inline]] std::ptrdiff_t rows() const { return count; }
  [[gnu::always_inline]] Values values(int, const T* p) const { return p; }
  template <class Operation, class F, class... V>
  [[gnu::always_inline]] L fold(const F& f, V... v) const {
    return Pairwise<T, Operation>::vector(n * L::size, Terms<F, V...>{*this, f, {v...}});
  }
  template <class F, class... V>
  [[gnu::always_inline]] Values map(T* out, const F& f, V... v) const {
    for (std::ptrdiff_t j = 0; j < n * stride; j += stride) put(f(load(v + j)...), out + j);
    return out;
  }
  [[gnu::always_inline]] void store(Values, T*) const {}
  [[gnu::always_inline]] L each(const T* p) const { return load(p); }
  [[gnu::always_inline]] void put(L a, T* p) const {
    if (count == L::size)
      a.store(p);
    else
      store_first(a, p, count);
  }
};

// The same as for_rows(), for the columns of a matrix [n, columns].
template <VecElement T, class F>
[[gnu::always_inline]] inline void for_columns(std::ptrdiff_t n, std::ptrdiff_t columns, const F& f) {
  constexpr std::ptrdiff_t size = Vec<T>::size;
  for (std::ptrdiff_t c = 0; c < columns; c += size)
    f(ColumnsOf<T>{n, columns, columns - c < size ? columns - c : size}, c);
}

// Calls f(view, number of the first row) for all rows of n elements. Rows of up to `Longest` elements are transposed;
// longer limits pay off for costly functions such as a logarithm.
template <VecElement T, std::ptrdiff_t Longest, class F>
[[gnu::always_inline]] inline void for_rows(std::ptrdiff_t n, std::ptrdiff_t rows, const F& f) {
  if constexpr (!is_scalar) {
    constexpr std::ptrdiff_t size = Vec<T>::size;
    if constexpr (Longest > 0) {
      if (n <= Longest) {
        for (std::ptrdiff_t r = 0; r < rows; r += size) f(SidewaysRows<T, Longest>(n, rows - r), r);
        return;
      }
    }
    if (n <= size) {
      const ShortRow<T, 1> row(n);
      for (std::ptrdiff_t r = 0; r < rows; ++r) f(row, r);
      return;
    }
    if (n <= 2 * size) {
      const ShortRow<T, 2> row(n);
      for (std::ptrdiff_t r = 0; r < rows; ++r) f(row, r);
      return;
    }
  }
  const LongRow<T> row{n};
  for (std::ptrdiff_t r = 0; r < rows; ++r) f(row, r);
}

}  // namespace reel::kernels
