// The inner loops of convolutions. A plane packed with its padding is read as one flat row: the elements that two taps
// of the kernel meet are a fixed distance apart. So sums over taps, and products of planes, are runs of whole vectors,
// however narrow the image is. Results between rows are computed too, and dropped.
#include <cstring>

#include "kernels/reduction/reduce.hpp"
#include "kernels/simd/tail.hpp"
#include "kernels/vec.hpp"
#include "nn/kernels.hpp"

namespace reel::kernels {

// Vectors per step for a block of this many filters, and for the remainder.
inline constexpr int vectors_of(int filters) {
  return many_registers ? (filters == 8 ? 3 : filters == 4 ? 6 : 8) : (filters == 4 ? 3 : filters == 2 ? 4 : 6);
}

template <VecElement T>
struct ConvolutionLoops {
  using L = Vec<T>;
  static constexpr std::ptrdiff_t block = many_registers ? 8 : 4;

  // ---- Sums over taps

  template <int Filters, int Vectors>
  [[gnu::always_inline]] static void sums(const T* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const T* w,
                                          T* out, std::ptrdiff_t out_stride) {
    L acc[Filters][Vectors];
    for (int f = 0; f < Filters; ++f)
      for (int j = 0; j < Vectors; ++j) acc[f][j] = L(0);
    for (std::ptrdiff_t k = 0; k < taps; ++k, w += Filters) {
      const T* at = x + offset[k];
      L vector[Vectors];
      for (int j = 0; j < Vectors; ++j) vector[j] = L::load(at + j * L::size);
      for (int f = 0; f < Filters; ++f) {
        const L factor(w[f]);
        for (int j = 0; j < Vectors; ++j) acc[f][j] = fma(vector[j], factor, acc[f][j]);
      }
    }
    for (int f = 0; f < Filters; ++f)
      for (int j = 0; j < Vectors; ++j) acc[f][j].store(out + f * out_stride + j * L::size);
  }
  template <int Filters>
  [[gnu::noinline]] static void block_sums(const T* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const T* w,
                                           T* out, std::ptrdiff_t out_stride, std::ptrdiff_t n) {
    constexpr int vectors = vectors_of(Filters);
    std::ptrdiff_t p = 0;
    for (; n - p > (vectors - 1) * L::size; p += vectors * L::size)
      sums<Filters, vectors>(x + p, offset, taps, w, out + p, out_stride);
    for (; n - p > L::size; p += 2 * L::size) sums<Filters, 2>(x + p, offset, taps, w, out + p, out_stride);
    if (n > p) sums<Filters, 1>(x + p, offset, taps, w, out + p, out_stride);
  }
  static void correlate(const void* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* w,
                        std::ptrdiff_t filters, void* out, std::ptrdiff_t out_stride, std::ptrdiff_t n) {
    const auto run = [&](auto f) {
      block_sums<f()>(static_cast<const T*>(x), offset, taps, static_cast<const T*>(w), static_cast<T*>(out),
                      out_stride, n);
    };
    if constexpr (block == 8)
      if (filters == 8) return run(std::integral_constant<int, 8>());
    if (filters == 4) return run(std::integral_constant<int, 4>());
    if (filters == 2) return run(std::integral_constant<int, 2>());
    run(std::integral_constant<int, 1>());
  }

  // ---- Products of planes

#if XSIMD_WITH_AVX512BW
  // A quarter vector each: the horizontal sums of four accumulators.
  [[gnu::always_inline]] static __m512 quarters(const L* vector) {
    const __m512 a = vector[0].v, b = vector[1].v, c = vector[2].v, d = vector[3].v;
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)),
                 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    return _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  }
  [[gnu::always_inline]] static __m512 halves(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
#endif
  // out[i] = the sum of the lanes of vector[i]: for as many vectors as a vector has lanes, for half as many, or one by
  // one.
  template <int Count>
  [[gnu::always_inline]] static void across(const L* vector, T* out) {
    constexpr std::ptrdiff_t all = L::size;
    if constexpr (Count == 0) {
      return;
    } else if constexpr (is_scalar) {
      for (int i = 0; i < Count; ++i) out[i] = vector[i].v;
#if XSIMD_WITH_AVX512BW
    } else if constexpr (instruction_set == InstructionSet::avx512 && sizeof(T) == 4 && Count >= 8) {
      // xsimd 8 permutes the sums of 16.
      const __m512 first = halves(quarters(vector), quarters(vector + 4));
      if constexpr (Count >= all) {
        L(typename L::Batch(halves(first, halves(quarters(vector + 8), quarters(vector + 12))))).store(out);
        across<Count - all>(vector + all, out + all);
      } else {
        _mm256_storeu_ps(out, _mm512_castps512_ps256(halves(first, first)));
        across<Count - 8>(vector + 8, out + 8);
      }
#endif
    } else if constexpr (Count >= all) {
      typename L::Batch rows[all];
      for (std::ptrdiff_t i = 0; i < all; ++i) rows[i] = vector[i].v;
      L(xsimd::haddp(rows)).store(out);
      across<Count - all>(vector + all, out + all);
    } else {
      for (int i = 0; i < Count; ++i) out[i] = kernels::across<Sum>(vector[i]);
    }
  }

  template <int Rows, int Taps>
  [[gnu::always_inline]] static void tile(const PlaneProducts& p, std::ptrdiff_t f, std::ptrdiff_t k) {
    L acc[Rows][Taps];
    for (int r = 0; r < Rows; ++r)
      for (int t = 0; t < Taps; ++t) acc[r][t] = L(0);
    const T* g = static_cast<const T*>(p.g) + f * p.g_stride;
    const T* x = static_cast<const T*>(p.x);
    for (std::ptrdiff_t u = 0; u < p.count; ++u, g += p.g_step, x += p.x_step) {
      const T* at[Taps];
      for (int t = 0; t < Taps; ++t) at[t] = x + p.offset[k + t];
      for (std::ptrdiff_t i = 0; i < p.n; i += L::size) {
        L factor[Rows];
        for (int r = 0; r < Rows; ++r) factor[r] = L::load(g + r * p.g_stride + i);
        for (int t = 0; t < Taps; ++t) {
          const L vector = L::load(at[t] + i);
          for (int r = 0; r < Rows; ++r) acc[r][t] = fma(factor[r], vector, acc[r][t]);
        }
      }
    }
    T* out = static_cast<T*>(p.out) + f * p.out_stride + k;
    T total[Rows][Taps];
    across<Rows * Taps>(acc[0], total[0]);
    for (int r = 0; r < Rows; ++r)
      for (int t = 0; t < Taps; ++t) out[r * p.out_stride + t] += total[r][t];
  }
  template <int Rows>
  [[gnu::noinline]] static void tiles(const PlaneProducts& p, std::ptrdiff_t f) {
    std::ptrdiff_t k = 0;
    constexpr int taps = many_registers ? 6 : 4;  // with six, the compiler spills sums if registers are few
    for (; p.taps - k >= taps; k += taps) tile<Rows, taps>(p, f, k);
    if (p.taps - k >= 3) {
      tile<Rows, 3>(p, f, k);
      k += 3;
    }
    for (; k < p.taps; ++k) tile<Rows, 1>(p, f, k);
  }
  static void products(const PlaneProducts& p) {
    std::ptrdiff_t f = 0;
    if constexpr (many_registers)
      for (; p.filters - f >= 4; f += 4) tiles<4>(p, f);
    for (; p.filters - f >= 2; f += 2) tiles<2>(p, f);
    if (f < p.filters) tiles<1>(p, f);
  }

  // ---- Packing and unpacking planes

  // to[0..n) = value; may write up to one vector more.
  [[gnu::always_inline]] static void fill_over(T* to, std::ptrdiff_t n, L value) {
    for (std::ptrdiff_t i = 0; i < n; i += L::size) value.store(to + i);
  }
  [[gnu::always_inline]] static void copy_row(const T* from, T* to, std::ptrdiff_t n) {
    if constexpr (tails_are_masked) {
      std::ptrdiff_t i = 0;
      for (; n - i >= L::size; i += L::size) L::load(from + i).store(to + i);
      if (n > i) store_first(load_first(from + i, n - i, L(0)), to + i, n - i);
      return;
    }
    if (n < L::size) {
      for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[i];
      return;
    }
    std::ptrdiff_t i = 0;
    for (; n - i > L::size; i += L::size) L::load(from + i).store(to + i);
    L::load(from + n - L::size).store(to + n - L::size);
  }
  // to[0..width) = from[0..n) followed by the fill; may write up to one vector more.
  [[gnu::always_inline]] static void fill_row(const T* from, T* to, std::ptrdiff_t n, std::ptrdiff_t width, L fill) {
    std::ptrdiff_t i = 0;
    if constexpr (tails_are_masked) {
      for (; n - i >= L::size; i += L::size) L::load(from + i).store(to + i);
      if (n > i) {
        load_first(from + i, n - i, fill).store(to + i);
        i += L::size;
      }
    } else {
      copy_row(from, to, n);
      i = n;
    }
    fill_over(to + i, width - i, fill);
  }

  // Every second element; the compiler uses shuffles for a known distance.
  static void take_other(const T* from, T* __restrict to, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) to[i] = from[2 * i];
  }

  static void pack(const PlaneLayout& p) {
    const L fill(static_cast<T>(p.fill));
    T* to = static_cast<T*>(p.to);
    const T* from = static_cast<const T*>(p.from);
    std::ptrdiff_t copied = p.last_column - p.first_column;
    if (copied == p.columns && p.row_stride == copied && p.column_stride == 1) {  // same layout
      fill_over(to, p.first_row * copied, fill);
      to += p.first_row * copied;
      copied *= p.last_row - p.first_row;
      copy_row(from, to, copied);
      return fill_over(to + copied, (p.rows - p.last_row) * p.columns, fill);
    }
    // The padding in front of a row is also that behind the previous row.
    const std::ptrdiff_t front = p.last_row > p.first_row ? p.first_column : 0;
    fill_over(to, p.first_row * p.columns + front, fill);
    to += p.first_row * p.columns + front;
    for (std::ptrdiff_t r = p.first_row; r < p.last_row; ++r, to += p.columns, from += p.row_stride) {
      const std::ptrdiff_t width = r + 1 < p.rows ? p.columns : p.columns - front;
      if (p.column_stride == 1) {
        fill_row(from, to, copied, width, fill);
        continue;
      }
      if (p.column_stride == 2)
        take_other(from, to, copied);
      else
        for (std::ptrdiff_t i = 0; i < copied; ++i) to[i] = from[i * p.column_stride];
      fill_over(to + copied, width - copied, fill);
    }
    fill_over(to, (p.rows - p.last_row) * p.columns - front, fill);
  }

  static void unpack(const void* in, std::ptrdiff_t width, void* out, std::ptrdiff_t row_stride,
                     std::ptrdiff_t column_stride, std::ptrdiff_t rows, std::ptrdiff_t columns, bool add) {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    if (width == columns && row_stride == columns && column_stride == 1) {  // same layout
      columns *= rows;
      rows = 1;
    }
    for (std::ptrdiff_t r = 0; r < rows; ++r, from += width, to += row_stride) {
      if (add)
        for (std::ptrdiff_t i = 0; i < columns; ++i) to[i * column_stride] += from[i];
      else if (column_stride == 1)
        copy_row(from, to, columns);
      else
        for (std::ptrdiff_t i = 0; i < columns; ++i) to[i * column_stride] = from[i];
    }
  }

  // ---- Maxima

  // The first maximum of each window, and its index in the window. Once a NaN is met, it is the maximum.
  template <int Vectors>
  [[gnu::always_inline]] static void greatest_vectors(const T* x, const std::ptrdiff_t* offset, std::ptrdiff_t taps,
                                                      const T* first, T* out, T* place) {
    L best[Vectors], at[Vectors];
    for (int j = 0; j < Vectors; ++j) {
      best[j] = L(-std::numeric_limits<T>::infinity());
      at[j] = L::load(first + j * L::size);
    }
    for (std::ptrdiff_t k = 0; k < taps; ++k) {
      const L here(static_cast<T>(k));
      for (int j = 0; j < Vectors; ++j) {
        const L a = L::load(x + offset[k] + j * L::size);
        const auto wins = (a > best[j]) | ((a != a) & (best[j] == best[j]));
        best[j] = where(wins, a, best[j]);
        at[j] = where(wins, here, at[j]);
      }
    }
    for (int j = 0; j < Vectors; ++j) {
      best[j].store(out + j * L::size);
      at[j].store(place + j * L::size);
    }
  }
  static void greatest(const void* in, const std::ptrdiff_t* offset, std::ptrdiff_t taps, const void* first, void* out,
                       void* place, std::ptrdiff_t n) {
    const T *x = static_cast<const T*>(in), *from = static_cast<const T*>(first);
    T *to = static_cast<T*>(out), *at = static_cast<T*>(place);
    std::ptrdiff_t p = 0;
    for (; n - p > L::size; p += 2 * L::size) greatest_vectors<2>(x + p, offset, taps, from + p, to + p, at + p);
    if (n > p) greatest_vectors<1>(x + p, offset, taps, from + p, to + p, at + p);
  }

  static Convolution table() { return {sizeof(T), L::size, block, &correlate, &products, &pack, &unpack, &greatest}; }
};

const void* convolution_kernels() {
  static ConvolutionKernels all;
  all[DType::float32] = ConvolutionLoops<float>::table();
  all[DType::float64] = ConvolutionLoops<double>::table();
  return &all;
}

}  // namespace reel::kernels
