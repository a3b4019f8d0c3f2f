// Convolution, recursive filters, cosine and sine transforms, short-time spectra and windows, with SciPy's names.
//
// float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as float64. Complex numbers where
// it says so, else TypeError. Gradients in both modes, to every order. <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// Which part of a convolution of n and m numbers: all n + m - 1 (full), the n in the middle (same), or those for which
/// the shorter operand lies within the longer one (valid).
enum class ConvolveMode : std::uint8_t { full, same, valid };
/// By sums of products, or by transforms, whose errors are of the size of the largest result.
enum class ConvolveMethod : std::uint8_t { direct, fft };

/// The sum over j of x[j] h[i - j], along axes (default: all) on which both have an extent of at least 1. The other
/// axes broadcast. Complex numbers too. ShapeError for different ranks and, of mode valid, unless one operand is at
/// least as long on every axis. The direct method takes memory for all products, unless of real numbers along one axis.
/// Zeros stand before and after x: an infinity h[j] makes those numbers NaN for which i - j lies outside x. By
/// transforms a NaN or infinity may reach every number.
Tensor convolve(const Operand& x, const Operand& h, ConvolveMode mode = ConvolveMode::full,
                ConvolveMethod method = ConvolveMethod::direct, const Axes& axes = {});
/// The sum over j of x[j + i - m + 1] conj(h[j]): the convolution with the conjugate of h in reverse.
Tensor correlate(const Operand& x, const Operand& h, ConvolveMode mode = ConvolveMode::full,
                 ConvolveMethod method = ConvolveMethod::direct, const Axes& axes = {});

/// y[i] = (the sum of b[k] x[i - k] - the sum from k = 1 on of a[k] y[i - k]) / a[0] along the axis, with zero initial
/// conditions. ShapeError unless b and a are vectors of at least one number. Gradient: by x the filter run backwards;
/// by b and a sums of products with it. An a[0] of 0 gives NaN or infinities. Zeros stand before x: an infinity b[k]
/// makes the first k numbers NaN.
Tensor lfilter(const Operand& b, const Operand& a, const Operand& x, std::int64_t axis = -1);

/// Cosine and sine transforms of types 1 to 4 along an axis, and their inverses. Without `ortho` SciPy's sums, twice
/// those of the definition; with it the transform is orthogonal. dct of type 1 takes at least two numbers. ValueError
/// for other types and an axis of no elements.
Tensor dct(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor idct(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor dst(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor idst(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);

/// The product of the last axis, of n = 2^k numbers, with Sylvester's Hadamard matrix, divided by sqrt(n): its own
/// inverse. ShapeError for other n.
Tensor hadamard(const Operand& x);

/// Spectra of the windows of x along its last axis, `hop` apart: [..., windows, n / 2 + 1] of windows of n numbers.
/// Only whole windows count. `window` is a vector of n numbers, at most as many as x has (ShapeError); ValueError
/// unless hop is from 1 to n.
Tensor stft(const Operand& x, const Operand& window, std::int64_t hop);
/// The signal of (windows - 1) hop + n numbers whose spectra are nearest to x in the sense of least squares: inverse
/// transforms, times the window, added up, divided by the sum of the squares of the windows that cover a number; 0
/// where that is below 1e-10. x is complex, with n / 2 + 1 numbers on its last axis (ShapeError). ValueError for a
/// window of which the squares, `hop` apart, sum to at most 1e-10 somewhere (NOLA): its numbers are read. Within
/// compile() only those of a captured window are; one that is an argument, or is computed there, is not checked.
Tensor istft(const Operand& x, const Operand& window, std::int64_t hop);

/// x with multiples of the period added from element to element, so that differences above half a period vanish
/// (NumPy's unwrap): exactly half a period keeps its sign. Gradient: g. ValueError unless the period is positive.
Tensor unwrap(const Operand& x, std::int64_t axis = -1, double period = 6.283185307179586);
/// x less its mean along the axis or, `linear`, less the straight line nearest to it in the sense of least squares.
/// ValueError for an axis of no elements.
Tensor detrend(const Operand& x, std::int64_t axis = -1, bool linear = true);

/// Windows of n numbers, float64: symmetric, or periodic, which are the first n of n + 1. ValueError for n < 0. That of
/// Kaiser has NaN in the middle for beta above 713.
Tensor hann(std::int64_t n, bool periodic = false);
Tensor hamming(std::int64_t n, bool periodic = false);
Tensor blackman(std::int64_t n, bool periodic = false);
Tensor bartlett(std::int64_t n, bool periodic = false);
Tensor kaiser(std::int64_t n, double beta, bool periodic = false);

}  // namespace reel
