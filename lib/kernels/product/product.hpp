// Matrix products in register tiles. An element of c is the sum over k in order, from 0, by fused multiply-adds where
// the machine has them, so that its bits depend neither on its tile nor on the layouts of a and b. A complex product is
// a real one with twice the k and twice the columns: a row of a, re, im, re, im, ..., is read as stored; each row of b
// becomes two: re, im, ... as stored, and -im, re, ...
#pragma once
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/products.hpp"
#include "kernels/simd/complex.hpp"
#include "kernels/simd/tail.hpp"
#include "kernels/simd/unrolled.hpp"
#include "kernels/vec.hpp"

namespace reel::kernels {

// Size of a tile: its sums (rows x vectors), the vectors of a row of b, and one element of a fill 32 registers, or 16.
inline constexpr int product_rows =
    instruction_set == InstructionSet::avx512 || instruction_set == InstructionSet::neon64 ? 14 : 6;
inline constexpr int product_vectors = 2;

template <VecElement T>
struct ProductLoops {
  using L = Vec<T>;
  static constexpr std::ptrdiff_t columns = product_vectors * L::size;
  // Whether a tail of b can be read without reading beyond it.
  static constexpr bool reads_tails =
      instruction_set == InstructionSet::avx512 || instruction_set == InstructionSet::avx2 || is_scalar;

  struct Tile {
    const T* a;
    std::ptrdiff_t a_row, a_step;  // between rows, and along k
    const T* b;
    std::ptrdiff_t b_step;
    std::ptrdiff_t k;
    T* c;
    std::ptrdiff_t c_row;
    std::ptrdiff_t last;  // columns of the last vector
    bool add, negate;
  };

  template <bool Tail>
  [[gnu::always_inline]] static L load(const T* p, [[maybe_unused]] std::ptrdiff_t count) {
    if constexpr (Tail && !is_scalar)
      return load_first(p, count, L(0));
    else
      return L::load(p);
  }
  template <bool Tail>
  [[gnu::always_inline]] static void store(L x, T* p, [[maybe_unused]] std::ptrdiff_t count) {
    if constexpr (Tail && !is_scalar)
      store_first(x, p, count);
    else
      x.store(p);
  }

  // Stored, added to the old value, or subtracted from it (sign -1).
  template <bool Tail>
  [[gnu::always_inline]] static void finish(L x, T* p, std::ptrdiff_t count, bool add, L sign) {
    if (add) x = fma(x, sign, load<Tail>(p, count));
    store<Tail>(x, p, count);
  }

  [[gnu::always_inline]] static const T* moved(const T* p, std::ptrdiff_t bytes) {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(p) + bytes);
  }

  // A step that is opaque to the compiler: for a loop-invariant one it would generate a second version for step 1.
  [[gnu::always_inline]] static std::ptrdiff_t varying(std::ptrdiff_t step) {
    asm("" : "+r"(step));
    return step;
  }

  // Rows x Vectors elements of c. With Tail the last vector has `last` columns.
  template <int Rows, int Vectors, bool Tail>
  [[gnu::noinline]] static void tile(const Tile& t) {
    constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(T));
    const std::ptrdiff_t a_row = t.a_row * bytes, a_step = t.a_step * bytes, b_step = t.b_step * bytes, last = t.last;
    constexpr bool masked = Tail && reads_tails;
    L sum[Rows][Vectors];
    unrolled<Rows * Vectors>([&](auto i) __attribute__((always_inline)) { sum[i / Vectors][i % Vectors] = L(0); });
    // Three rows of a share a pointer: their addresses are that plus 0, 1 or 2 times a_row.
    constexpr int pointers = (Rows + 2) / 3;
    const T* row[pointers];
    unrolled<pointers>([&](auto i) __attribute__((always_inline)) { row[i] = moved(t.a, 3 * i * a_row); });
    const T* b = t.b;
    for (std::ptrdiff_t k = t.k; k > 0; --k) {
      L vector[Vectors];
      unrolled<Vectors - 1>([&](auto v) __attribute__((always_inline)) { vector[v] = L::load(b + v * L::size); });
      vector[Vectors - 1] = load<masked>(b + (Vectors - 1) * L::size, last);
      unrolled<Rows>([&](auto r) __attribute__((always_inline)) {
        const L factor(*moved(row[r / 3], r % 3 * a_row));
        unrolled<Vectors>([&](auto v)
                              __attribute__((always_inline)) { sum[r][v] = fma(factor, vector[v], sum[r][v]); });
      });
      unrolled<pointers>([&](auto i) __attribute__((always_inline)) { row[i] = moved(row[i], varying(a_step)); });
      b = moved(b, varying(b_step));
    }
    T* c = t.c;
    const std::ptrdiff_t c_row = t.c_row;
    const bool add = t.add;
    const L sign(t.negate ? -1 : 1);
    unrolled<Rows>([&](auto r) __attribute__((always_inline)) {
      unrolled<Vectors - 1>([&](auto v) __attribute__((always_inline)) {
        finish<false>(sum[r][v], c + v * L::size, 0, add, sign);
      });
      finish<Tail>(sum[r][Vectors - 1], c + (Vectors - 1) * L::size, last, add, sign);
      c += c_row;
    });
  }

  using TileLoop = void (*)(const Tile& t);
  struct TileLoops {
    TileLoop of[product_rows][product_vectors][2];
  };
  // If tails are masked, the masked code serves whole vectors too.
  template <int Rows, int Vectors>
  static constexpr TileLoop whole = &tile<Rows, Vectors, tails_are_masked>;
  template <int... Row>
  static constexpr TileLoops tiles_of(std::integer_sequence<int, Row...>) {
    return {{{{whole<Row + 1, 1>, &tile<Row + 1, 1, true>}, {whole<Row + 1, 2>, &tile<Row + 1, 2, true>}}...}};
  }
  static constexpr TileLoops tiles = tiles_of(std::make_integer_sequence<int, product_rows>());

  static void run(const ProductBlock& p) {
    Tile t{nullptr, p.a_row, p.a_step, nullptr, p.b_step, p.k, nullptr, p.c_row, 0, p.add, p.negate};
    const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
    T* c = static_cast<T*>(p.c);
    for (std::ptrdiff_t j = 0; j < p.n; j += columns, b += p.b_panel) {
      const std::ptrdiff_t width = std::min(columns, p.n - j);
      const bool two = width > L::size;
      t.b = b;
      t.last = two ? width - L::size : width;
      t.a = a;
      for (std::ptrdiff_t i = 0; i < p.m; i += p.height, t.a += p.a_panel) {
        t.c = c + i * p.c_row + j;
        tiles.of[std::min(p.height, p.m - i) - 1][two][t.last < L::size](t);
      }
    }
  }

  // ---- Packing

  // Packs panels of `height` rows: row by row where rows are contiguous, otherwise by columns.
  static void pack_a(const ProductFactor& f, void* to, ProductBlock& p) {
    const T* from = static_cast<const T*>(f.data);
    T* out = static_cast<T*>(to);
    p.a = to;
    if (f.row_stride == 1 && f.column_stride != 1) {
      p.a_row = 1;
      p.a_step = p.height;
      p.a_panel = p.height * p.k;
      for (std::ptrdiff_t i = 0; i < p.m; i += p.height, out += p.a_panel) {
        const std::ptrdiff_t rows = std::min(p.height, p.m - i);
        for (std::ptrdiff_t k = 0; k < p.k; ++k) copy_run(from + i + k * f.column_stride, out + k * p.height, rows);
      }
      return;
    }
    p.a_step = 1;
    p.a_row = row_distance(p.k);
    p.a_panel = p.height * p.a_row;
    for (std::ptrdiff_t i = 0; i < p.m; ++i, from += f.row_stride, out += p.a_row) {
      if (f.column_stride == 1)
        copy_run(from, out, p.k);
      else
        for (std::ptrdiff_t k = 0; k < p.k; ++k) out[k] = from[k * f.column_stride];
    }
  }
  // The distance of packed rows in pack_a. It is padded, because with k = 256 the rows of a panel would share cache
  // sets.
  static std::ptrdiff_t row_distance(std::ptrdiff_t k) {
    constexpr std::ptrdiff_t line = 64 / sizeof(T);
    return (k + line - 1) / line * line + line;
  }
  [[gnu::always_inline]] static void copy_run(const T* from, T* to, std::ptrdiff_t n) {
    std::ptrdiff_t i = 0;
    for (; n - i >= L::size; i += L::size) L::load(from + i).store(to + i);
    if constexpr (tails_are_masked) {
      if (n > i) store_first(load_first(from + i, n - i, L(0)), to + i, n - i);
    } else {
      for (; i < n; ++i) to[i] = from[i];
    }
  }

  // Packs panels of `columns` columns, with contiguous rows. Elements after the last column are arbitrary.
  static void pack_b(const ProductFactor& f, void* to, ProductBlock& p) {
    const T* from = static_cast<const T*>(f.data);
    T* out = static_cast<T*>(to);
    p.b = to;
    p.b_step = columns;
    p.b_panel = columns * p.k;
    for (std::ptrdiff_t j = 0; j < p.n; j += columns, from += columns * f.column_stride, out += p.b_panel) {
      const std::ptrdiff_t width = std::min(columns, p.n - j);
      if (f.column_stride == 1 && width == columns) {
        for (std::ptrdiff_t k = 0; k < p.k; ++k)
          for (int v = 0; v < product_vectors; ++v)
            L::load(from + k * f.row_stride + v * L::size).store(out + k * columns + v * L::size);
        continue;
      }
      if constexpr (!is_scalar) {
        if (f.row_stride == 1) {
          for (std::ptrdiff_t i = 0; i < width; i += L::size) {
            const T* first = from + i * f.column_stride;
            if (width - i >= L::size)
              transpose_panel<true>(first, f.column_stride, L::size, p.k, out + i, columns);
            else
              transpose_panel<false>(first, f.column_stride, width - i, p.k, out + i, columns);
          }
          continue;
        }
      }
      for (std::ptrdiff_t k = 0; k < p.k; ++k) {
        for (std::ptrdiff_t i = 0; i < width; ++i) out[k * columns + i] = from[k * f.row_stride + i * f.column_stride];
        for (std::ptrdiff_t i = width; i < columns; ++i) out[k * columns + i] = 0;
      }
    }
  }

  // ---- Transposing: L::size columns, each contiguous, become rows that are `step` apart

  static constexpr int in_lane = static_cast<int>(16 / sizeof(T));  // elements of 128 bits
  template <int Lanes>
  struct Lanes128 {
    typedef T type __attribute__((vector_size(16 * Lanes)));
  };
  template <int Lanes>
  using Wide = typename Lanes128<Lanes>::type;

  template <int... I, class V>
  [[gnu::always_inline]] static auto shuffled(V a, V b, std::integer_sequence<int, I...>) {
    return __builtin_shufflevector(a, b, I...);
  }
  // 128-bit lane g is loaded from from + offset[g * in_lane].
  template <int Lanes>
  [[gnu::always_inline]] static Wide<Lanes> gathered(const T* from, const std::ptrdiff_t* offset) {
    if constexpr (Lanes == 1) {
      Wide<1> x;
      std::memcpy(&x, from + *offset, sizeof x);
      return x;
    } else {
      return shuffled(gathered<Lanes / 2>(from, offset), gathered<Lanes / 2>(from, offset + Lanes / 2 * in_lane),
                      std::make_integer_sequence<int, Lanes * in_lane>());
    }
  }
  // In each 128-bit lane interleaves groups of `Size` elements of the lower (High: upper) halves of a and b.
  template <int Lanes, int Size, bool High, int... I>
  [[gnu::always_inline]] static Wide<Lanes> merged(Wide<Lanes> a, Wide<Lanes> b, std::integer_sequence<int, I...>) {
    constexpr int all = Lanes * in_lane;
    constexpr auto source = [](int i) {
      const int lane = i / in_lane * in_lane, at = i % in_lane;
      const int piece = at / (2 * Size), of_b = at / Size % 2, within = at % Size;
      return lane + (High ? in_lane / 2 : 0) + piece * Size + within + (of_b ? all : 0);
    };
    return __builtin_shufflevector(a, b, source(I)...);
  }
  template <int Lanes>
  [[gnu::always_inline]] static void put(Wide<Lanes> x, T* to) {
    std::memcpy(to, &x, sizeof x);
  }

  // The first `count` columns, `stride` apart; unless Whole, the others are copies of the last one.
  template <bool Whole>
  static void transpose_panel(const T* from, std::ptrdiff_t stride, std::ptrdiff_t count, std::ptrdiff_t k, T* out,
                              std::ptrdiff_t step) {
    std::ptrdiff_t offset[static_cast<std::size_t>(L::size)];
    for (std::ptrdiff_t i = 0; i < L::size; ++i) offset[i] = (Whole ? i : std::min(i, count - 1)) * stride;
    constexpr int lanes = static_cast<int>(L::size) / in_lane;
    using W = Wide<lanes>;
    constexpr auto all = std::make_integer_sequence<int, lanes * in_lane>();
    std::ptrdiff_t p = 0;
    for (; k - p >= in_lane; p += in_lane, from += in_lane, out += in_lane * step) {
      W row[in_lane];
      for (int e = 0; e < in_lane; ++e) row[e] = gathered<lanes>(from, offset + e);
      if constexpr (in_lane == 2) {
        put<lanes>(merged<lanes, 1, false>(row[0], row[1], all), out);
        put<lanes>(merged<lanes, 1, true>(row[0], row[1], all), out + step);
      } else {
        const W low01 = merged<lanes, 1, false>(row[0], row[1], all),
                high01 = merged<lanes, 1, true>(row[0], row[1], all),
                low23 = merged<lanes, 1, false>(row[2], row[3], all),
                high23 = merged<lanes, 1, true>(row[2], row[3], all);
        put<lanes>(merged<lanes, 2, false>(low01, low23, all), out);
        put<lanes>(merged<lanes, 2, true>(low01, low23, all), out + step);
        put<lanes>(merged<lanes, 2, false>(high01, high23, all), out + 2 * step);
        put<lanes>(merged<lanes, 2, true>(high01, high23, all), out + 3 * step);
      }
    }
    for (; p < k; ++p, ++from, out += step)
      for (std::ptrdiff_t i = 0; i < L::size; ++i) out[i] = from[offset[i]];
  }

  // ---- Complex numbers: strides and extents of f are in complex elements, those of p in real ones

  static void pack_complex_a(const ProductFactor& f, void* to, ProductBlock& p) {
    const T* from = static_cast<const T*>(f.data);
    T* out = static_cast<T*>(to);
    p.a = to;
    p.a_step = 1;
    p.a_row = row_distance(p.k);
    p.a_panel = p.height * p.a_row;
    for (std::ptrdiff_t i = 0; i < p.m; ++i, from += 2 * f.row_stride, out += p.a_row) {
      for (std::ptrdiff_t k = 0; k < p.k; k += 2) {
        out[k] = from[k * f.column_stride];
        out[k + 1] = from[k * f.column_stride + 1];
      }
    }
  }
  static void pack_complex_b(const ProductFactor& f, void* to, ProductBlock& p) {
    const T* from = static_cast<const T*>(f.data);
    T* out = static_cast<T*>(to);
    p.b = to;
    p.b_step = columns;
    p.b_panel = columns * p.k;
    for (std::ptrdiff_t j = 0; j < p.n; j += columns, from += columns * f.column_stride) {
      const std::ptrdiff_t width = std::min(columns, p.n - j);
      for (std::ptrdiff_t k = 0; k < p.k; k += 2, out += 2 * columns) {
        const T* row = from + k * f.row_stride;
        for (std::ptrdiff_t i = 0; i < width; i += 2) {
          const T re = row[i * f.column_stride], im = row[i * f.column_stride + 1];
          out[i] = re;
          out[i + 1] = im;
          out[columns + i] = -im;
          out[columns + i + 1] = re;
        }
        for (std::ptrdiff_t i = width; i < columns; ++i) out[i] = out[columns + i] = 0;
      }
    }
  }

  static MatrixProduct table(bool complex) {
    return {product_rows,
            columns,
            L::size,
            reads_tails,
            &run,
            complex ? &pack_complex_a : &pack_a,
            complex ? &pack_complex_b : &pack_b};
  }
};

}  // namespace reel::kernels
