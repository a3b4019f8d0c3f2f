// Passes of fast Fourier transforms over columns, one column per lane (Stockham's form, decimation in time: the result
// of each pass is in order). Also the steps before and after them: conversion between complex numbers in memory and
// separate real and imaginary parts, transposition, spectra of real numbers. A column has the same bits in every lane.
#include <algorithm>

#include "fft/butterflies.hpp"
#include "fft/kernels.hpp"

namespace reel::kernels {

template <VecElement T>
struct FourierLoops {
  using V = Vec<T>;
  using C = fourier::Lanes<T>;
  static constexpr std::ptrdiff_t lanes = V::size;
  static constexpr auto lane_count = static_cast<std::size_t>(V::size);
  // A butterfly of 16 numbers takes 32 vectors, as many as AVX-512 has.
  static constexpr bool has_radix_16 = instruction_set == InstructionSet::avx512;

  // ---- Elements of two vectors, in an order known at compile time

  template <int... I>
  [[gnu::always_inline]] static V picked(V a, V b, std::integer_sequence<int, I...>) {
    if constexpr (lanes == 1) {
      constexpr int first[] = {I...};
      return first[0] == 0 ? a : b;
    } else {
      using Register = typename V::Batch::register_type;
      return V(
          typename V::Batch(__builtin_shufflevector(static_cast<Register>(a.v), static_cast<Register>(b.v), I...)));
    }
  }
  template <int Start, int... I>
  static auto zip_order(std::integer_sequence<int, I...>) {
    return std::integer_sequence<int, (Start + I / 2 + I % 2 * static_cast<int>(lanes))...>();
  }
  template <int Start, int... I>
  static auto step_order(std::integer_sequence<int, I...>) {
    return std::integer_sequence<int, (Start + 2 * I)...>();
  }
  using All = std::make_integer_sequence<int, static_cast<int>(lanes)>;
  // Interleave the lower (zip_low) or upper (zip_high) halves of a and b: a0 b0 a1 b1 ...
  [[gnu::always_inline]] static V zip_low(V a, V b) { return picked(a, b, decltype(zip_order<0>(All()))()); }
  [[gnu::always_inline]] static V zip_high(V a, V b) {
    if constexpr (lanes == 1) return b;
    return picked(a, b, decltype(zip_order<static_cast<int>(lanes / 2)>(All()))());
  }
  // Every second element of the concatenation of a and b: from the first (evens) or the second one on (odds).
  [[gnu::always_inline]] static V evens(V a, V b) { return picked(a, b, decltype(step_order<0>(All()))()); }
  [[gnu::always_inline]] static V odds(V a, V b) { return picked(a, b, decltype(step_order<1>(All()))()); }

  // ---- A pass

  // Rows of separate real and imaginary parts, `step` apart: where R rows are read from or written to.
  struct Parts {
    T *re, *im;
    std::ptrdiff_t step;
    [[gnu::always_inline]] C row(std::size_t j, std::ptrdiff_t c = 0) const {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(j) * step + c;
      return {V::load(re + at), V::load(im + at)};
    }
    template <std::size_t R>
    [[gnu::always_inline]] void load(std::array<C, R>& x, std::ptrdiff_t c) const {
      unrolled<R>([&](auto j) { x[j] = row(j, c); });
    }
    template <std::size_t R>
    [[gnu::always_inline]] void store(const std::array<C, R>& x, std::ptrdiff_t c) const {
      unrolled<R>([&](auto q) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(decltype(q)::value) * step + c;
        x[q].re.store(re + at);
        x[q].im.store(im + at);
      });
    }
  };
  // R rows of complex numbers in memory, `step` apart.
  template <std::size_t R>
  struct Interleaved {
    T *memory, *others;  // row 0, and j steps before row j
    std::ptrdiff_t step;

    // With `reverse`, the rows but row 0 are in reverse order: their forward butterfly is the inverse one.
    Interleaved(const void* start, std::ptrdiff_t distance, bool reverse)
        : memory(number(start)),
          others(memory + (reverse ? 2 * static_cast<std::ptrdiff_t>(R) * distance : 0)),
          step(reverse ? -distance : distance) {}
    template <class Row>
    [[gnu::always_inline]] T* at(Row, std::ptrdiff_t c) const {
      return (Row::value == 0 ? memory : others + 2 * static_cast<std::ptrdiff_t>(Row::value) * step) + 2 * c;
    }
    [[gnu::always_inline]] void load(std::array<C, R>& x, std::ptrdiff_t c) const {
      unrolled<R>([&](auto j) __attribute__((always_inline)) {
        const V a = V::load(at(j, c)), b = V::load(at(j, c) + lanes);
        x[j] = {evens(a, b), odds(a, b)};
      });
    }
  };
  // Stores scale * x to R rows of complex numbers, `step` apart. Real and imaginary parts are exchanged if `swapped`.
  template <std::size_t R>
  [[gnu::always_inline]] static void interleave(const std::array<C, R>& x, T* to, std::ptrdiff_t step, bool swapped,
                                                V scale) {
    const auto rows = [&](auto first, auto second) __attribute__((always_inline)) {
      unrolled<R>([&](auto q) __attribute__((always_inline)) {
        T* const at = to + 2 * static_cast<std::ptrdiff_t>(decltype(q)::value) * step;
        const V a = x[q].*first * scale, b = x[q].*second * scale;
        zip_low(a, b).store(at);
        zip_high(a, b).store(at + lanes);
      });
    };
    swapped ? rows(&C::im, &C::re) : rows(&C::re, &C::im);
  }

  static T* number(const void* p) { return const_cast<T*>(static_cast<const T*>(p)); }

  template <std::size_t R>
  [[gnu::always_inline]] static void twiddle(std::array<C, R>& x, const T* w) {
    unrolled<R - 1>([&](auto j) __attribute__((always_inline)) {
      x[j + 1] = x[j + 1] * C{V(w[2 * j]), V(w[2 * j + 1])};
    });
  }
  // Butterflies of R rows of n numbers. w: the twiddles of all rows but the first, or null.
  template <std::size_t R, bool Twiddled, class In, class Out>
  [[gnu::always_inline]] static void columns(const In& in, const Out& out, std::ptrdiff_t n, const T* w) {
    for (std::ptrdiff_t c = 0; c < n; c += lanes) {
      std::array<C, R> x;
      in.load(x, c);
      if constexpr (Twiddled) twiddle<R>(x, w);
      fourier::butterfly<R>(x);
      out.store(x, c);
    }
  }
  // Where the butterflies with the twiddles of index k read their rows.
  static Parts rows_in(const FourierPass& p, std::ptrdiff_t k) {
    const std::ptrdiff_t from = k * p.radix * p.columns;
    return {number(p.in_re) + from, number(p.in_im) + from, p.columns};
  }
  template <std::size_t R>
  static void run(const FourierPass& p) {
    const T* w = static_cast<const T*>(p.twiddles);
    const std::ptrdiff_t n = p.columns, step = p.done * n;
    const auto rows_out = [&](std::ptrdiff_t k) {
      return Parts{number(p.out_re) + k * n, number(p.out_im) + k * n, step};
    };
    columns<R, false>(rows_in(p, 0), rows_out(0), n, nullptr);
    if constexpr (R == 16) return;
    for (std::ptrdiff_t k = 1; k < p.done; ++k) {
      w += 2 * (R - 1);
      columns<R, true>(rows_in(p, k), rows_out(k), n, w);
    }
  }
  template <std::size_t R>
  static void run_first(const FourierPass& p, const FourierRows& in, bool inverse) {
    const std::ptrdiff_t n = in.width, rows = p.columns / n;
    for (std::ptrdiff_t r = 0; r < rows; ++r)
      columns<R, false>(Interleaved<R>(number(in.memory) + 2 * r * in.stride, rows * in.stride, inverse),
                        Parts{number(p.out_re) + r * n, number(p.out_im) + r * n, p.columns}, n, nullptr);
  }
  // The loop over k is the inner one, as rows are short. The twiddles of k = 0 are 1.
  template <std::size_t R>
  static void run_last(const FourierPass& p, const FourierRows& out, bool inverse, double scale) {
    constexpr auto radix = static_cast<std::ptrdiff_t>(R);
    const std::ptrdiff_t n = p.columns;
    for (std::ptrdiff_t c = 0; c < n; c += lanes) {
      const T* w = static_cast<const T*>(p.twiddles);
      T* to = number(out.memory) + 2 * c;
      Parts from = {number(p.in_re) + c, number(p.in_im) + c, n};
      for (std::ptrdiff_t k = 0; k < p.done; ++k, w += 2 * (radix - 1), to += 2 * out.stride) {
        std::array<C, R> x;
        from.load(x, 0);
        twiddle<R>(x, w);
        fourier::butterfly<R>(x);
        interleave<R>(x, to, p.done * out.stride, inverse, static_cast<T>(scale));
        from.re += radix * n;
        from.im += radix * n;
      }
    }
  }
  static void first_pass(const FourierPass& p, const FourierRows& in, bool inverse) {
    p.radix == 8 ? run_first<8>(p, in, inverse) : run_first<4>(p, in, inverse);
  }
  static void last_pass(const FourierPass& p, const FourierRows& out, bool inverse, double scale) {
    p.radix == 8 ? run_last<8>(p, out, inverse, scale) : run_last<4>(p, out, inverse, scale);
  }
  // The same for an odd prime radix up to 13, in loops.
  static void run_prime(const FourierPass& p, const double* cosine, const double* sine) {
    const std::ptrdiff_t n = p.columns, r = p.radix, half = r / 2, step = p.done * n;
    const T* w = static_cast<const T*>(p.twiddles);
    for (std::ptrdiff_t k = 0; k < p.done; ++k, w += 2 * (r - 1)) {
      const T *re = static_cast<const T*>(p.in_re) + k * r * n, *im = static_cast<const T*>(p.in_im) + k * r * n;
      T *to_re = static_cast<T*>(p.out_re) + k * n, *to_im = static_cast<T*>(p.out_im) + k * n;
      for (std::ptrdiff_t c = 0; c < n; c += lanes) {
        const auto loaded = [&](std::ptrdiff_t j) {
          const C x = {V::load(re + j * n + c), V::load(im + j * n + c)};
          return k == 0 || j == 0 ? x : x * C{V(w[2 * (j - 1)]), V(w[2 * (j - 1) + 1])};
        };
        const auto put = [&](C x, std::ptrdiff_t q) {
          x.re.store(to_re + q * step + c);
          x.im.store(to_im + q * step + c);
        };
        C sum[6], difference[6];
        const C first = loaded(0);
        C total = first;
        for (std::ptrdiff_t j = 0; j < half; ++j) {
          const C a = loaded(j + 1), b = loaded(r - 1 - j);
          sum[j] = a + b;
          difference[j] = a - b;
          total = total + sum[j];
        }
        put(total, 0);
        for (std::ptrdiff_t q = 1; q <= half; ++q) {
          C a = first, b = {T(0), T(0)};
          for (std::ptrdiff_t j = 0, root = q; j < half; ++j, root = root + q < r ? root + q : root + q - r) {
            const V x = cosine[root], y = sine[root];
            a = {fma(x, sum[j].re, a.re), fma(x, sum[j].im, a.im)};
            b = {fma(y, difference[j].re, b.re), fma(y, difference[j].im, b.im)};
          }
          put(minus_i(a, b), q);
          put(plus_i(a, b), r - q);
        }
      }
    }
  }
  static void pass(const FourierPass& p) {
    switch (p.radix) {
      case 2:
        return run<2>(p);
      case 3:
        return run<3>(p);
      case 4:
        return run<4>(p);
      case 5:
        return run<5>(p);
      case 8:
        return run<8>(p);
      case 16:
        if constexpr (has_radix_16) run<16>(p);
        return;
      default:
        return run_prime(p, fourier::cosines(p.radix), fourier::sines(p.radix));
    }
  }

  // ---- Complex numbers in memory

  static void load(const FourierRows& p) {
    const T* from = static_cast<const T*>(p.memory);
    T *re = static_cast<T*>(p.re), *im = static_cast<T*>(p.im);
    for (std::ptrdiff_t r = 0; r < p.rows; ++r, from += 2 * p.stride, re += p.width, im += p.width) {
      std::ptrdiff_t i = 0;
      for (; i + lanes <= p.count; i += lanes) {
        const V a = V::load(from + 2 * i), b = V::load(from + 2 * i + lanes);
        evens(a, b).store(re + i);
        odds(a, b).store(im + i);
      }
      for (; i < p.count; ++i) re[i] = from[2 * i], im[i] = from[2 * i + 1];
      for (; i < p.width; ++i) re[i] = im[i] = 0;
    }
  }
  static void store(const FourierRows& p, double scale) {
    T* to = static_cast<T*>(p.memory);
    const T *re = static_cast<const T*>(p.re), *im = static_cast<const T*>(p.im);
    const T factor = static_cast<T>(scale);
    for (std::ptrdiff_t r = 0; r < p.rows; ++r, to += 2 * p.stride, re += p.width, im += p.width) {
      std::ptrdiff_t i = 0;
      for (; i + lanes <= p.count; i += lanes) {
        const V a = V::load(re + i) * V(factor), b = V::load(im + i) * V(factor);
        zip_low(a, b).store(to + 2 * i);
        zip_high(a, b).store(to + 2 * i + lanes);
      }
      for (; i < p.count; ++i) to[2 * i] = re[i] * factor, to[2 * i + 1] = im[i] * factor;
    }
  }

  // ---- Transposition

  // Quads are the groups of 128 bits within which, and of which, a register is shuffled fastest.
  static constexpr std::ptrdiff_t quad = std::min<std::ptrdiff_t>(lanes, 16 / static_cast<std::ptrdiff_t>(sizeof(T)));
  template <int Start, int... I>
  static auto quad_zip_order(std::integer_sequence<int, I...>) {
    constexpr int q = static_cast<int>(quad);
    return std::integer_sequence<int, (I / q * q + Start + I % q / 2 + I % 2 * static_cast<int>(lanes))...>();
  }
  template <int Start, int... I>
  static auto quad_step_order(std::integer_sequence<int, I...>) {
    constexpr int q = static_cast<int>(quad);
    return std::integer_sequence<int, (I / q * 2 * q + Start + I % q)...>();
  }
  // 1. Each [quad, quad] matrix is transposed by zips within quads. 2. The matrix of these matrices is transposed: the
  // even quads of two vectors make one vector, the odd ones another.
  [[gnu::always_inline]] static void transpose(std::array<V, lane_count>& x) {
    constexpr auto q = static_cast<std::size_t>(quad), half = q / 2;
    std::array<V, lane_count> y;
    for (std::ptrdiff_t done = 1; done < quad; done *= 2) {
      unrolled<lane_count / 2>([&](auto i) {
        constexpr std::size_t block = i / half * q, at = i % half;
        const V a = x[block + at], b = x[block + at + half];
        y[block + 2 * at] = picked(a, b, decltype(quad_zip_order<0>(All()))());
        y[block + 2 * at + 1] = picked(a, b, decltype(quad_zip_order<static_cast<int>(half)>(All()))());
      });
      x = y;
    }
    for (std::ptrdiff_t done = quad; done < lanes; done *= 2) {
      unrolled<lane_count / 2>([&](auto i) {
        const V a = x[i / q * 2 * q + i % q], b = x[i / q * 2 * q + q + i % q];
        y[i] = picked(a, b, decltype(quad_step_order<0>(All()))());
        y[i + lane_count / 2] = picked(a, b, decltype(quad_step_order<static_cast<int>(q)>(All()))());
      });
      x = y;
    }
  }
  static Parts matrix(const void* re, const void* im, std::ptrdiff_t stride, std::ptrdiff_t at) {
    return {number(re) + at, number(im) + at, stride};
  }
  // out = the first `left` rows of `in` times twiddles, unless these are null, and rows of zeros behind them.
  static void pad(const Parts& in, const Parts& twiddles, std::ptrdiff_t left, const Parts& out) {
    for (std::ptrdiff_t i = 0; i < lanes; ++i) {
      C x = {V(T(0)), V(T(0))};
      const std::ptrdiff_t at = i * in.step, w = i * twiddles.step, to = i * out.step;
      if (i < left) x = {V::load(in.re + at), V::load(in.im + at)};
      if (i < left && twiddles.re) x = x * C{V::load(twiddles.re + w), V::load(twiddles.im + w)};
      x.re.store(out.re + to);
      x.im.store(out.im + to);
    }
  }
  [[gnu::always_inline]] static void transpose_block(const FourierTranspose& p, std::ptrdiff_t row,
                                                     std::ptrdiff_t column) {
    alignas(64) T padded[2 * lane_count * lane_count];
    Parts in = matrix(p.in_re, p.in_im, p.in_stride, row * p.in_stride + column), w = {nullptr, nullptr, 0};
    if (p.twiddle_re) w = matrix(p.twiddle_re, p.twiddle_im, p.twiddle_stride, row * p.twiddle_stride + column);
    if (p.rows - row < lanes) {
      const Parts full = {padded, padded + lanes * lanes, lanes};
      pad(in, w, p.rows - row, full);
      in = full;
      w.re = nullptr;
    }
    std::array<C, lane_count> x;
    if (w.re)
      unrolled<lane_count>([&](auto i) { x[i] = in.row(i) * w.row(i); });
    else
      in.load(x, 0);
    std::array<V, lane_count> re, im;
    unrolled<lane_count>([&](auto i) { re[i] = x[i].re, im[i] = x[i].im; });
    transpose(re);
    transpose(im);
    unrolled<lane_count>([&](auto i) { x[i] = {re[i], im[i]}; });
    matrix(p.out_re, p.out_im, p.out_stride, column * p.out_stride + row).store(x, 0);
  }
  static void transpose_all(const FourierTranspose& p) {
    for (std::ptrdiff_t c = 0; c < p.columns; c += lanes)
      for (std::ptrdiff_t r = 0; r < p.rows; r += lanes) transpose_block(p, r, c);
  }

  // ---- The first pass of a transform, with transposition

  [[gnu::always_inline]] static void store_transposed(std::array<V, lane_count>& x, T* to) {
    transpose(x);
    unrolled<lanes>([&](auto i)
                        __attribute__((always_inline)) { x[static_cast<std::size_t>(i())].store(to + i() * lanes); });
  }
  static void transposing_pass(const FourierTransposingPass& p) {
    constexpr std::size_t radix = fourier_transposing_radix;
    const Interleaved<radix> in(p.in, p.columns, p.inverse);
    const T* w = static_cast<const T*>(p.twiddles);
    for (std::ptrdiff_t c = 0; c < p.columns; c += lanes, w += 2 * (radix - 1) * lanes) {
      std::array<C, radix> x;
      in.load(x, c);
      fourier::butterfly<radix>(x);
      const Parts twiddles = {const_cast<T*>(w), const_cast<T*>(w) + lanes, 2 * lanes};
      unrolled<radix - 1>([&](auto j) __attribute__((always_inline)) { x[j + 1] = x[j + 1] * twiddles.row(j); });
      unrolled<radix / lane_count>([&](auto v) __attribute__((always_inline)) {
        std::array<V, lane_count> re, im;
        unrolled<lane_count>([&](auto i) __attribute__((always_inline)) {
          re[i] = x[v * lane_count + i].re;
          im[i] = x[v * lane_count + i].im;
        });
        const std::ptrdiff_t to = (static_cast<std::ptrdiff_t>(v()) * p.columns + c) * lanes;
        store_transposed(re, number(p.out_re) + to);
        store_transposed(im, number(p.out_im) + to);
      });
    }
  }

  // ---- Spectra of an even number of real numbers

  // The elements of a vector from the last to the first.
  template <int... I>
  static auto reverse_order(std::integer_sequence<int, I...>) {
    return std::integer_sequence<int, (static_cast<int>(lanes) - 1 - I)...>();
  }
  [[gnu::always_inline]] static V reversed(V a) {
    if constexpr (lanes == 1) return a;
    return picked(a, a, decltype(reverse_order(All()))());
  }
  // The complex numbers from[k] to from[k + lanes - 1].
  [[gnu::always_inline]] static C ahead(const T* from, std::ptrdiff_t k) {
    const V a = V::load(from + 2 * k), b = V::load(from + 2 * k + lanes);
    return {evens(a, b), odds(a, b)};
  }
  // from[k], from[k - 1], ..., from[k - lanes + 1].
  [[gnu::always_inline]] static C behind(const T* from, std::ptrdiff_t k) {
    const C x = ahead(from, k - lanes + 1);
    return {reversed(x.re), reversed(x.im)};
  }
  [[gnu::always_inline]] static void put_ahead(C x, T* to, std::ptrdiff_t k) {
    zip_low(x.re, x.im).store(to + 2 * k);
    zip_high(x.re, x.im).store(to + 2 * k + lanes);
  }
  [[gnu::always_inline]] static void put_behind(C x, T* to, std::ptrdiff_t k) {
    put_ahead({reversed(x.re), reversed(x.im)}, to, k - lanes + 1);
  }
  struct Pair {
    C near, far;
  };
  // Calls f(from[k], from[h - k], w[k], k) for k = 1 to h / 2 and stores the pair to[k], to[h - k]. The last vector may
  // overlap the previous one, so in and out must not overlap.
  template <class F>
  [[gnu::always_inline]] static void pairs(const FourierHalf& p, const F& f) {
    const T *from = static_cast<const T*>(p.in), *w = static_cast<const T*>(p.twiddles);
    T* to = static_cast<T*>(p.out);
    const std::ptrdiff_t h = p.half, end = h / 2 + 1;
    if (end - 1 >= lanes) {
      for (std::ptrdiff_t k = 1; k < end; k += lanes) {
        const std::ptrdiff_t at = std::min(k, end - lanes);
        const Pair y = f(ahead(from, at), behind(from, h - at), ahead(w, at));
        put_ahead(y.near, to, at);
        put_behind(y.far, to, h - at);
      }
      return;
    }
    alignas(64) T a[2 * lane_count] = {}, b[2 * lane_count] = {}, c[2 * lane_count] = {};
    for (std::ptrdiff_t k = 1; k < end; ++k)
      for (std::ptrdiff_t i = 0; i < 2; ++i) {
        a[2 * (k - 1) + i] = from[2 * k + i];
        b[2 * (k - 1) + i] = from[2 * (h - k) + i];
        c[2 * (k - 1) + i] = w[2 * k + i];
      }
    const Pair y = f(ahead(a, 0), ahead(b, 0), ahead(c, 0));
    put_ahead(y.near, a, 0);
    put_ahead(y.far, b, 0);
    for (std::ptrdiff_t k = 1; k < end; ++k)
      for (std::ptrdiff_t i = 0; i < 2; ++i) {
        to[2 * k + i] = a[2 * (k - 1) + i];
        to[2 * (h - k) + i] = b[2 * (k - 1) + i];
      }
  }
  // x[k] = e + w o and x[h - k] = conj(e - w o), of e = z[k] + conj(z[h - k]) and o = (z[k] - conj(z[h - k])) / i.
  static void to_half(const FourierHalf& p) {
    const T* from = static_cast<const T*>(p.in);
    T* to = static_cast<T*>(p.out);
    const std::ptrdiff_t h = p.half;
    const V inner = static_cast<T>(p.inner);
    const T re = 2 * from[0], im = 2 * from[1];
    to[0] = re + im, to[1] = 0;
    to[2 * h] = re - im, to[2 * h + 1] = 0;
    pairs(p, [&](C a, C b, C w) {
      const C e = {a.re + b.re, a.im - b.im}, o = {a.im + b.im, b.re - a.re}, wo = w * o;
      const C x = e + wo, y = e - wo;
      return Pair{{x.re * inner, x.im * inner}, {y.re * inner, -(y.im * inner)}};
    });
  }
  // z[k] = e + i o and z[h - k] = conj(e - i o), of e = x[k] + conj(x[h - k]) and o = conj(w) (x[k] - conj(x[h - k])).
  static void from_half(const FourierHalf& p) {
    const T* from = static_cast<const T*>(p.in);
    T* to = static_cast<T*>(p.out);
    const std::ptrdiff_t h = p.half;
    const V inner = static_cast<T>(p.inner);
    to[0] = from[0] + from[2 * h], to[1] = from[0] - from[2 * h];
    pairs(p, [&](C a, C b, C w) {
      const C e = {a.re + b.re, a.im - b.im}, d = {a.re - b.re, a.im + b.im}, o = C{w.re, -w.im} * d;
      const C x = plus_i(e, o), y = minus_i(e, o);
      return Pair{{x.re * inner, x.im * inner}, {y.re * inner, -(y.im * inner)}};
    });
  }

  static Fourier table() {
    Fourier all = {lanes, pass, nullptr, nullptr, nullptr, load, store, transpose_all, to_half, from_half};
    if constexpr (lanes > 1) {
      all.first_pass = first_pass;
      all.last_pass = last_pass;
    }
    if constexpr (has_radix_16) all.transposing_pass = transposing_pass;
    return all;
  }
};

const void* fourier_kernels() {
  static FourierKernels all;
  all[DType::float32] = FourierLoops<float>::table();
  all[DType::float64] = FourierLoops<double>::table();
  return &all;
}

}  // namespace reel::kernels
