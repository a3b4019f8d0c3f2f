// Kernels of Fourier transforms: passes over the columns of a matrix, and the steps before and after them.
#pragma once
#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// Fourier transforms of the columns of a matrix. Real and imaginary parts are separate arrays, whose rows have `width`
// or `columns` numbers, a multiple of lanes. Counts and strides of interleaved memory are in complex numbers, others in
// real ones. The sign of the exponent is negative. Exchange real and imaginary parts of every argument for the positive
// sign.

// One pass of the Stockham algorithm. It multiplies the length of the transforms by `radix`: 2, 3, 4, 5, 7, 8, 11 or
// 13; or 16, where there is a transposing pass, if done is 1. in is [done, radix, columns], out is [radix, done,
// columns] and does not overlap it. out(q, k) = the sum over j of exp(-2 pi i j q / radix) w(k, j) in(k, j), with w(k,
// j) = exp(-2 pi i j k / (done * radix)). twiddles holds w(k, j) for all k and for j from 1 on.
struct FourierPass {
  std::ptrdiff_t radix, done, columns;
  const void *in_re, *in_im;
  void *out_re, *out_im;
  const void* twiddles;
};
// `rows` rows of `count` complex numbers in memory, `stride` apart, and the same rows as separate parts of `width`
// numbers.
struct FourierRows {
  void* memory;
  std::ptrdiff_t stride, rows, count, width;
  void *re, *im;
};
// out(c, r) = in(r, c) w(r, c), or in(r, c) if the twiddles are null. columns is a multiple of lanes. Rows of zeros are
// appended to out up to a multiple of lanes.
struct FourierTranspose {
  std::ptrdiff_t rows, columns;
  const void *in_re, *in_im;
  std::ptrdiff_t in_stride;
  void *out_re, *out_im;
  std::ptrdiff_t out_stride;
  const void *twiddle_re, *twiddle_im;
  std::ptrdiff_t twiddle_stride;
};
// A step between the transform of 2 * half real numbers x and that of the same numbers read as `half` complex ones z.
// twiddles: exp(-2 pi i k / (2 half)), k <= half / 2. The numbers of the spectrum are multiplied by `inner`, except the
// first and the last.
struct FourierHalf {
  const void* in;
  const void* twiddles;
  void* out;  // does not overlap in
  std::ptrdiff_t half;
  double inner;
};
// The first pass of a transform of 16 * columns numbers in memory, a matrix [16, columns] of complex numbers in
// row-major order: butterflies of its columns, times twiddles, and transposition. Each vector of rows of the result is
// a matrix [columns, lanes] of its own; these follow one another. columns and 16 are multiples of lanes. twiddles
// holds, for each vector of columns and each k from 1 to 15, the real and then the imaginary parts of exp(-2 pi i k
// column / n), conjugated for the inverse transform.
struct FourierTransposingPass {
  const void* in;
  std::ptrdiff_t columns;
  bool inverse;
  void *out_re, *out_im;
  const void* twiddles;
};
inline constexpr std::ptrdiff_t fourier_transposing_radix = 16;
struct Fourier {
  std::ptrdiff_t lanes;
  void (*pass)(const FourierPass& p);
  // The first pass reads, and the last pass writes, complex numbers in memory in place of `in` and `out`. The radix is
  // 4 or 8, and count is width. Null for one lane. For the inverse transform the parts of `in` of the last pass are
  // exchanged, and those of `out` of the first pass are not.
  void (*first_pass)(const FourierPass& p, const FourierRows& in, bool inverse);
  void (*last_pass)(const FourierPass& p, const FourierRows& out, bool inverse, double scale);
  void (*transposing_pass)(const FourierTransposingPass& p);  // on AVX-512, else null, as radix 16 needs 32 registers
  void (*load)(const FourierRows& p);                         // from memory to parts; zeros up to width
  void (*store)(const FourierRows& p, double scale);
  void (*transpose)(const FourierTranspose& p);
  // in: the transform of z, `half` numbers. out: the transform of x, half + 1 numbers, doubled.
  void (*to_half)(const FourierHalf& p);
  // in: the spectrum of x, half + 1 numbers; only the real parts of the first and the last are read. out: the spectrum
  // of z.
  void (*from_half)(const FourierHalf& p);
};

/// float32, float64.
struct FourierKernels : ByDType<Fourier> {
  static constexpr KernelFamily family = KernelFamily::fourier;
};

}  // namespace reel::kernels
