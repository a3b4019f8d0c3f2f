// Convolution, recursive filters, cosine and sine transforms, short-time spectra and windows, with SciPy's names.
// <reel/reel.hpp> does not include this header.
//
// Operands are float32 or float64; float16 and bfloat16 compute as float32, integers and booleans as float64. TypeError
// for complex numbers, unless it says otherwise. Derivatives exist in both modes, to every order.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// Which part of a convolution of n and m numbers: all n + m - 1 (full), the n in the middle (same), or those for which
/// the shorter operand lies within the longer one (valid).
enum class ConvolveMode : std::uint8_t { full, same, valid };
/// direct: sums of products. fft: by transforms, whose rounding errors are relative to the largest result.
enum class ConvolveMethod : std::uint8_t { direct, fft };

/// The sum over j of x[j] h[i - j], along `axes` (default: all), on which both have an extent of at least 1. The other
/// axes broadcast. Complex numbers are allowed. ShapeError for different ranks and, in mode valid, unless one operand
/// is at least as long as the other on every axis. The direct method stores all products, except for real numbers along
/// one axis. x continues with zeros at both ends, so an infinity h[j] makes those results NaN for which i - j lies
/// outside x. With transforms, a NaN or infinity may reach every result.
Tensor convolve(const Operand& x, const Operand& h, ConvolveMode mode = ConvolveMode::full,
                ConvolveMethod method = ConvolveMethod::direct, const Axes& axes = {});
/// The sum over j of x[j + i - m + 1] conj(h[j]): the convolution with the reversed conjugate of h.
Tensor correlate(const Operand& x, const Operand& h, ConvolveMode mode = ConvolveMode::full,
                 ConvolveMethod method = ConvolveMethod::direct, const Axes& axes = {});

/// y[i] = (the sum of b[k] x[i - k] - the sum from k = 1 on of a[k] y[i - k]) / a[0] along the axis, with zero initial
/// conditions. ShapeError unless b and a are vectors of at least one number. Gradient: to x, the filter run backwards
/// on g; to b and a, sums of products with that. If a[0] is 0 the result is NaN or infinite. Zeros precede x, so an
/// infinity b[k] makes the first k results NaN.
Tensor lfilter(const Operand& b, const Operand& a, const Operand& x, std::int64_t axis = -1);

/// x filtered by second-order sections in turn, each as by lfilter(row[0:3], row[3:6], x) for a row of sections
/// [count, 6], with zero initial conditions (SciPy's sosfilt, which requires row[3] = 1; here the row is divided by
/// it). ShapeError for another shape and for no sections. Gradient: that of lfilter, to sections and x.
Tensor sosfilt(const Operand& sections, const Operand& x, std::int64_t axis = -1);

/// Cosine and sine transforms of types 1 to 4 along an axis, and their inverses. By default they are SciPy's sums,
/// which are twice those of the definition. With `ortho` the transform is orthogonal. dct of type 1 needs at least two
/// numbers. ValueError for other types, and for an axis of no elements.
Tensor dct(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor idct(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor dst(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);
Tensor idst(const Operand& x, int type = 2, std::int64_t axis = -1, bool ortho = false);

/// The product of the last axis, of n = 2^k numbers, with Sylvester's Hadamard matrix, divided by sqrt(n). It is its
/// own inverse. ShapeError for other n.
Tensor hadamard(const Operand& x);

/// The spectra of windows of x along its last axis, `hop` apart: [..., windows, n / 2 + 1]. `window` is a vector of n
/// numbers that each part of x is multiplied by; x has at least n (ShapeError). Parts of x at the end that do not fill
/// a window are dropped. ValueError unless 1 <= hop <= n.
Tensor stft(const Operand& x, const Operand& window, std::int64_t hop);
/// The signal of (windows - 1) hop + n numbers whose spectra are nearest to x in the sense of least squares. The
/// inverse transforms are multiplied by the window, added up, and divided by the sum of the squares of the windows that
/// cover a number; where that is below 1e-10 the result is 0. x is complex, with n / 2 + 1 numbers on its last axis
/// (ShapeError). ValueError for a window whose squares, `hop` apart, sum to at most 1e-10 somewhere (NOLA condition).
Tensor istft(const Operand& x, const Operand& window, std::int64_t hop);

/// What is subtracted from each segment of a signal: nothing, its mean, the straight line nearest to it.
enum class Trend : std::uint8_t { keep, mean, line };
/// How powers are scaled. density: per unit of frequency, so that their integral is the power of the signal. spectrum:
/// a sine has its power at its frequency.
enum class PowerScale : std::uint8_t { density, spectrum };
/// Options of csd and welch.
struct SpectrumOptions {
  std::int64_t hop = -1;  ///< from segment to segment; -1: half the length of the window, rounded up
  std::int64_t n = -1;    ///< length of the transform, to which segments are padded with zeros; -1: that of the window
  double rate = 1;        ///< samples per unit of time; the frequencies are rfftfreq(n, 1 / rate)
  Trend trend = Trend::mean;
  PowerScale scale = PowerScale::density;
};
/// The one-sided cross spectral density of real signals along their last axis: complex [..., n / 2 + 1] (Welch 1967;
/// SciPy's csd). It is the mean over segments of conj(X) Y, where X and Y are the spectra of the segments less their
/// trend, times the window. density divides by rate times the sum of the squares of the window, spectrum by the square
/// of its sum. All frequencies but 0 and, for even n, rate / 2 are doubled. The shorter signal is padded with zeros;
/// other axes broadcast. Samples at the end that do not fill a segment are dropped. `window` is a vector of at most as
/// many numbers as the longer signal has (ShapeError). ValueError for a hop outside 1 to the length of the window, for
/// n below that length, and for a rate that is not positive. Gradients: to both signals and the window.
Tensor csd(const Operand& x, const Operand& y, const Operand& window, const SpectrumOptions& options = {});
/// The power spectral density of x, real: csd(x, x) (SciPy's welch).
Tensor welch(const Operand& x, const Operand& window, const SpectrumOptions& options = {});

/// x with multiples of the period added so that no two neighbours differ by more than half a period (NumPy's unwrap). A
/// difference of exactly half a period keeps its sign. Gradient: g. ValueError unless the period is positive.
Tensor unwrap(const Operand& x, std::int64_t axis = -1, double period = 6.283185307179586);
/// x less the straight line that is nearest to it in the sense of least squares, along the axis; less its mean if
/// `linear` is false. ValueError for an axis of no elements.
Tensor detrend(const Operand& x, std::int64_t axis = -1, bool linear = true);

/// Windows of n numbers, float64: symmetric, or periodic, that is, the first n of the symmetric window of n + 1.
/// ValueError for n < 0. kaiser is NaN in the middle for beta above 713.
Tensor hann(std::int64_t n, bool periodic = false);
Tensor hamming(std::int64_t n, bool periodic = false);
Tensor blackman(std::int64_t n, bool periodic = false);
Tensor bartlett(std::int64_t n, bool periodic = false);
Tensor kaiser(std::int64_t n, double beta, bool periodic = false);

}  // namespace reel
