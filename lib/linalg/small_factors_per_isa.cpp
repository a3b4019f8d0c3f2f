// Factorisations and triangular solves of small matrices, and of panels of larger ones, without blocking. Every step
// works on rows: a row is divided, or subtracted from others, in the order of the pivots. So a column of a solution has
// the same bits whatever other columns there are.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/product/product.hpp"
#include "linalg/small_factors.hpp"

namespace reel::kernels {

// The order up to which matrices are not divided further: a multiple of the vector length of every instruction set.
inline constexpr std::ptrdiff_t factor_order = 16;

template <VecElement T>
struct FactorLoops {
  using L = Vec<T>;
  using Products = ProductLoops<T>;
  static constexpr bool masks_tails = Products::reads_tails && !is_scalar;

  // a * b + c, rounded like fma of vectors.
  [[gnu::always_inline]] static T fused(T a, T b, T c) {
    if constexpr (has_fma)
      return std::fma(a, b, c);
    else
      return a * b + c;
  }

  // Calls vector(i) for whole vectors from i on; then tail(i, count), or element(i) for the rest where masked tails are
  // slow.
  template <class V, class M, class E>
  [[gnu::always_inline]] static void for_row(std::ptrdiff_t i, std::ptrdiff_t end, const V& vector, const M& tail,
                                             const E& element) {
    for (; end - i >= L::size; i += L::size) vector(i);
    if constexpr (masks_tails) {
      if (end > i) tail(i, end - i);
    } else {
      for (; i < end; ++i) element(i);
    }
  }

  // y[i] += factor * x[i]
  [[gnu::always_inline]] static void add_row(T* y, T factor, const T* x, std::ptrdiff_t i, std::ptrdiff_t end) {
    const L f(factor);
    for_row(
        i, end,
        [&](std::ptrdiff_t at)
            __attribute__((always_inline)) { fma(f, L::load(x + at), L::load(y + at)).store(y + at); },
        [&](std::ptrdiff_t at, std::ptrdiff_t count) __attribute__((always_inline)) {
          store_first(fma(f, load_first(x + at, count, L(0)), load_first(y + at, count, L(0))), y + at, count);
        },
        [&](std::ptrdiff_t at) __attribute__((always_inline)) { y[at] = fused(factor, x[at], y[at]); });
  }
  [[gnu::always_inline]] static void divide_row(T* y, T by, std::ptrdiff_t i, std::ptrdiff_t end) {
    const L d(by);
    for_row(
        i, end, [&](std::ptrdiff_t at) __attribute__((always_inline)) { (L::load(y + at) / d).store(y + at); },
        [&](std::ptrdiff_t at, std::ptrdiff_t count)
            __attribute__((always_inline)) { store_first(load_first(y + at, count, L(0)) / d, y + at, count); },
        [&](std::ptrdiff_t at) __attribute__((always_inline)) { y[at] /= by; });
  }

  // ---- Tiles: matrices of order up to factor_order whose rows are whole vectors. A whole vector that was stored can
  // be reloaded without a store-forwarding stall; a masked tail cannot.
  struct alignas(64) TileOf {
    T row[factor_order][factor_order];
  };
  alignas(64) static constexpr T position[factor_order] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

  [[gnu::always_inline]] static std::ptrdiff_t padded(std::ptrdiff_t n) {
    return (n + L::size - 1) / L::size * L::size;
  }
  // to[0, n) = from[0, n); zeros up to padded(n).
  [[gnu::always_inline]] static void read_row(const T* from, T* to, std::ptrdiff_t n) {
    for_row(
        0, n, [&](std::ptrdiff_t at) __attribute__((always_inline)) { L::load(from + at).store(to + at); },
        [&](std::ptrdiff_t at, std::ptrdiff_t count)
            __attribute__((always_inline)) { load_first(from + at, count, L(0)).store(to + at); },
        [&](std::ptrdiff_t at) __attribute__((always_inline)) { to[at] = from[at]; });
    if constexpr (!masks_tails)
      for (std::ptrdiff_t at = n; at < padded(n); ++at) to[at] = 0;
  }
  [[gnu::always_inline]] static void write_row(const T* from, T* to, std::ptrdiff_t n) {
    for_row(
        0, n, [&](std::ptrdiff_t at) __attribute__((always_inline)) { L::load(from + at).store(to + at); },
        [&](std::ptrdiff_t at, std::ptrdiff_t count)
            __attribute__((always_inline)) { store_first(L::load(from + at), to + at, count); },
        [&](std::ptrdiff_t at) __attribute__((always_inline)) { to[at] = from[at]; });
  }

  // ---- LU

  // The first position of the largest magnitude in [begin, end), or of a NaN: magnitudes compare as integers.
  [[gnu::always_inline]] static std::ptrdiff_t largest(const T* x, std::ptrdiff_t begin, std::ptrdiff_t end) {
    using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    std::ptrdiff_t found = begin;
    Integer most = -1;
    for (std::ptrdiff_t i = begin; i < end; ++i) {
      const Integer magnitude = std::bit_cast<Integer>(x[i]) & std::numeric_limits<Integer>::max();
      const bool greater = magnitude > most;
      found = greater ? i : found;
      most = greater ? magnitude : most;
    }
    return found;
  }
  static std::ptrdiff_t largest_of_many(const T* x, std::ptrdiff_t begin, std::ptrdiff_t end) {
    constexpr std::ptrdiff_t step = 4 * L::size;
    if (end - begin < 2 * step) return largest(x, begin, end);
    L greatest[4] = {0, 0, 0, 0};
    std::ptrdiff_t i = begin;
    for (; end - i >= step; i += step)
      for (int v = 0; v < 4; ++v) greatest[v] = greater_of(abs(L::load(x + i + v * L::size)), greatest[v]);
    const L bound = greater_of(greater_of(greatest[0], greatest[1]), greater_of(greatest[2], greatest[3]));
    alignas(64) T lanes[static_cast<std::size_t>(L::size)];
    bound.store(lanes);
    T most = lanes[largest(lanes, 0, L::size)];
    const std::ptrdiff_t behind = largest(x, std::min(i, end - 1), end);
    if (std::abs(x[behind]) > most) return behind;
    const L target(most);
    for (i = begin; end - i >= L::size; i += L::size)
      if (any(abs(L::load(x + i)) == target)) break;
    while (i < end - 1 && std::abs(x[i]) != most) ++i;
    return i;
  }

  static std::ptrdiff_t lu_of_tile(T* a, std::ptrdiff_t a_row, std::ptrdiff_t rows, std::ptrdiff_t columns,
                                   int* pivots) {
    TileOf tile;
    alignas(64) T quotient[factor_order];
    const std::ptrdiff_t end = padded(columns);
    for (std::ptrdiff_t i = 0; i < rows; ++i) read_row(a + i * a_row, tile.row[i], columns);
    std::ptrdiff_t zero = 0;
    for (std::ptrdiff_t k = 0; k < rows; ++k) {
      T* const row = tile.row[k];
      const std::ptrdiff_t at = largest(row, k, columns);
      pivots[k] = static_cast<int>(at + 1);
      const T pivot = row[at];
      if (pivot == T(0)) {
        if (zero == 0) zero = k + 1;
        continue;
      }
      if (at != k)
        for (std::ptrdiff_t i = 0; i < rows; ++i) std::swap(tile.row[i][k], tile.row[i][at]);
      const std::ptrdiff_t begin = (k + 1) / L::size * L::size;
      for (std::ptrdiff_t j = begin; j < end; j += L::size) {
        const L before = L::load(row + j), q = before / L(pivot);
        const auto right = L::load(position + j) > L(static_cast<T>(k));
        where(right, q, before).store(row + j);
        where(right, q, L(0)).store(quotient + j);
      }
      for (std::ptrdiff_t i = k + 1; i < rows; ++i) {
        T* const to = tile.row[i];
        const L factor(-to[k]);
        for (std::ptrdiff_t j = begin; j < end; j += L::size)
          fma(factor, L::load(quotient + j), L::load(to + j)).store(to + j);
      }
    }
    for (std::ptrdiff_t i = 0; i < rows; ++i) write_row(tile.row[i], a + i * a_row, columns);
    return zero;
  }

  static std::ptrdiff_t lu(void* matrix, std::ptrdiff_t a_row, std::ptrdiff_t rows, std::ptrdiff_t columns,
                           int* pivots) {
    T* const a = static_cast<T*>(matrix);
    if (columns <= factor_order) return lu_of_tile(a, a_row, rows, columns, pivots);
    std::ptrdiff_t zero = 0;
    for (std::ptrdiff_t k = 0; k < rows; ++k) {
      T* const row = a + k * a_row;
      const std::ptrdiff_t at = largest_of_many(row, k, columns);
      pivots[k] = static_cast<int>(at + 1);
      const T pivot = row[at];
      if (pivot == T(0)) {
        if (zero == 0) zero = k + 1;
        continue;
      }
      if (at != k)
        for (std::ptrdiff_t i = 0; i < rows; ++i) std::swap(a[i * a_row + k], a[i * a_row + at]);
      divide_row(row, pivot, k + 1, columns);
      for (std::ptrdiff_t i = k + 1; i < rows; ++i) add_row(a + i * a_row, -a[i * a_row + k], row, k + 1, columns);
    }
    return zero;
  }

  // ---- Cholesky

  // As D U^T U with a unit diagonal of U, of the transpose of the lower triangle: only a division is between two pivots
  // then. Rows are scaled by square roots when they are copied back.
  static std::ptrdiff_t cholesky(void* matrix, std::ptrdiff_t a_row, std::ptrdiff_t n) {
    T* const a = static_cast<T*>(matrix);
    TileOf tile;
    const std::ptrdiff_t end = padded(n);
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      T* const row = tile.row[j];
      for (std::ptrdiff_t i = 0; i < j; ++i) row[i] = 0;
      for (std::ptrdiff_t i = j; i < n; ++i) row[i] = a[i * a_row + j];
      for (std::ptrdiff_t i = n; i < end; ++i) row[i] = 0;
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const T* const row = tile.row[j];
      const T pivot = row[j];
      if (!(pivot > T(0))) return j + 1;
      for (std::ptrdiff_t k = j + 1; k < n; ++k) {
        T* const to = tile.row[k];
        const L factor(-row[k] / pivot);
        for (std::ptrdiff_t i = k / L::size * L::size; i < end; i += L::size)
          fma(factor, L::load(row + i), L::load(to + i)).store(to + i);
      }
    }
    for (std::ptrdiff_t j = 0; j < n; ++j) {
      const T* const row = tile.row[j];
      const T root = std::sqrt(row[j]), factor = 1 / root;
      a[j * a_row + j] = root;
      for (std::ptrdiff_t i = j + 1; i < n; ++i) a[i * a_row + j] = row[i] * factor;
    }
    return 0;
  }

  // ---- Triangular solves

  // A block of vectors of columns at b, whose row stride is b_row.
  template <int Vectors>
  static void solve_vectors(const TriangularBlock& p, T* b, std::ptrdiff_t b_row) {
    const T* const a = static_cast<const T*>(p.a);
    for (std::ptrdiff_t s = 0; s < p.n; ++s) {
      const std::ptrdiff_t k = p.lower ? s : p.n - 1 - s;
      T* const row = b + k * b_row;
      L x[Vectors];
      for (int v = 0; v < Vectors; ++v) x[v] = L::load(row + v * L::size);
      if (!p.unit) {
        const L d(a[k * (p.a_row + p.a_column)]);
        for (int v = 0; v < Vectors; ++v) (x[v] = x[v] / d).store(row + v * L::size);
      }
      const std::ptrdiff_t begin = p.lower ? k + 1 : 0, end = p.lower ? p.n : k;
      for (std::ptrdiff_t i = begin; i < end; ++i) {
        const L f(-a[i * p.a_row + k * p.a_column]);
        T* const y = b + i * b_row;
        for (int v = 0; v < Vectors; ++v) fma(f, x[v], L::load(y + v * L::size)).store(y + v * L::size);
      }
    }
  }
  static void solve_column(const TriangularBlock& p, T* b, std::ptrdiff_t b_row) {
    const T* const a = static_cast<const T*>(p.a);
    for (std::ptrdiff_t s = 0; s < p.n; ++s) {
      const std::ptrdiff_t k = p.lower ? s : p.n - 1 - s;
      const T* const column = a + k * p.a_column;
      T x = b[k * b_row];
      if (!p.unit) b[k * b_row] = x = x / column[k * p.a_row];
      const std::ptrdiff_t begin = p.lower ? k + 1 : 0, end = p.lower ? p.n : k;
      for (std::ptrdiff_t i = begin; i < end; ++i) b[i * b_row] = fused(-column[i * p.a_row], x, b[i * b_row]);
    }
  }
  static void solve_rows(const TriangularBlock& p, T* b, std::ptrdiff_t b_row, std::ptrdiff_t columns) {
    std::ptrdiff_t j = 0;
    for (; columns - j >= 2 * L::size; j += 2 * L::size) solve_vectors<2>(p, b + j, b_row);
    for (; columns - j >= L::size; j += L::size) solve_vectors<1>(p, b + j, b_row);
    if (columns - j == 1) return solve_column(p, b + j, b_row);
    if (columns == j) return;
    alignas(64) T tile[static_cast<std::size_t>(factor_order * L::size)];
    for (std::ptrdiff_t i = 0; i < p.n; ++i) read_row(b + i * b_row + j, tile + i * L::size, columns - j);
    solve_vectors<1>(p, tile, L::size);
    for (std::ptrdiff_t i = 0; i < p.n; ++i) write_row(tile + i * L::size, b + i * b_row + j, columns - j);
  }

  static void solve(const TriangularBlock& p) {
    T* b = static_cast<T*>(p.b);
    if (p.b_column == 1 || p.columns == 1) return solve_rows(p, b, p.b_row, p.columns);
    if constexpr (is_scalar) {
      for (std::ptrdiff_t j = 0; j < p.columns; ++j) solve_column(p, b + j * p.b_column, p.b_row);
    } else {
      // The columns are contiguous: they become rows of a tile, and are transposed back.
      alignas(64) T tile[static_cast<std::size_t>(factor_order * L::size)];
      for (std::ptrdiff_t j = 0; j < p.columns; j += L::size, b += L::size * p.b_column) {
        const std::ptrdiff_t width = std::min(L::size, p.columns - j);
        if (width == L::size)
          Products::template transpose_panel<true>(b, p.b_column, width, p.n, tile, L::size);
        else
          Products::template transpose_panel<false>(b, p.b_column, width, p.n, tile, L::size);
        solve_vectors<1>(p, tile, L::size);
        if (width == L::size && p.n % L::size == 0) {
          for (std::ptrdiff_t i = 0; i < p.n; i += L::size)
            Products::template transpose_panel<true>(tile + i * L::size, L::size, L::size, L::size, b + i, p.b_column);
        } else {
          for (std::ptrdiff_t c = 0; c < width; ++c)
            for (std::ptrdiff_t i = 0; i < p.n; ++i) b[c * p.b_column + i] = tile[i * L::size + c];
        }
      }
    }
  }

  static SmallFactors table() { return {factor_order, &cholesky, &lu, &solve}; }
};

const void* small_factors_kernels() {
  static SmallFactorKernels all;
  all[DType::float32] = FactorLoops<float>::table();
  all[DType::float64] = FactorLoops<double>::table();
  return &all;
}

}  // namespace reel::kernels
