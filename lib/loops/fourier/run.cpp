// How plans are run.
#include <algorithm>

#include "loops/fourier/plan.hpp"
#include "loops/tuning.hpp"

namespace reel::loops::fft {

namespace {

// Bytes of a block of columns and its results: half of the first-level cache, and half of the second-level cache.
constexpr std::int64_t first_bytes = tuning::l1_bytes / 2, second_bytes = tuning::l2_bytes / 2;
// The distance in numbers between arrays whose sizes are powers of two: three cache lines, so that equal positions in
// several arrays map to different sets of the cache.
template <class T>
constexpr std::int64_t skew = 192 / static_cast<std::int64_t>(sizeof(T));

}  // namespace

template <class T>
T* Direct<T>::run(const kernels::Fourier& k, T* in, std::int64_t in_part, T* a, T* b, std::int64_t part,
                  std::int64_t width, bool inverse) const {
  std::int64_t done = 1, from_part = in_part;
  T *from = in, *to = a;
  const T* w = twiddles_.data();
  for (const int r : radices_) {
    k.pass({.radix = r,
            .done = done,
            .columns = n_ / (done * r) * width,
            .in_re = from + (inverse ? from_part : 0),
            .in_im = from + (inverse ? 0 : from_part),
            .out_re = to + (inverse ? part : 0),
            .out_im = to + (inverse ? 0 : part),
            .twiddles = w});
    w += 2 * (r - 1) * (done - 1);
    done *= r;
    from = to;
    from_part = part;
    to = to == a ? b : a;
  }
  return from;
}

// The number of columns that are transformed at a time: as many as the first-level cache holds with their results. If
// that is less than a cache line of each, as many as the second-level cache holds.
template <class T>
std::int64_t Plan<T>::block(std::int64_t columns, std::int64_t length) const noexcept {
  const std::int64_t unit = std::max<std::int64_t>(64 / static_cast<std::int64_t>(sizeof(T)), kernels_->lanes);
  const std::int64_t column = 4 * length * static_cast<std::int64_t>(sizeof(T)), first = first_bytes,
                     second = second_bytes;
  const std::int64_t fitting = (unit * column <= first ? first : second) / (unit * column) * unit;
  return std::min(padded(columns), std::max(fitting, unit));
}

template <class T>
std::int64_t Plan<T>::scratch() const noexcept {
  if (method_ == Method::direct) return 4 * padded(n_) * kernels_->lanes;
  if (method_ == Method::chirp) return 2 * convolution_->n_ + 16 + convolution_->scratch();
  const std::int64_t a = first_->length(), b = second_->length();
  return 4 * std::max(padded(a) * block(b, a), padded(b) * block(a, b)) + 2 * padded(b) * padded(a) + 6 * skew<T>;
}

template <class T>
void Plan<T>::run(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  if (method_ == Method::direct)
    run_direct(rows, inverse, scale, scratch);
  else if (method_ == Method::split)
    run_split(rows, inverse, scale, scratch);
  else
    run_chirp(rows, inverse, scale, scratch);
}

template <class T>
void Plan<T>::run_direct(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  const std::int64_t lanes = kernels_->lanes, width = padded(n_), part = width * lanes;
  T *a = scratch, *b = scratch + 2 * part;
  kernels_->load({const_cast<T*>(rows.in), rows.in_stride, rows.count, n_, width, a, a + part});
  kernels_->transpose({.rows = rows.count,
                       .columns = width,
                       .in_re = a,
                       .in_im = a + part,
                       .in_stride = width,
                       .out_re = b,
                       .out_im = b + part,
                       .out_stride = lanes,
                       .twiddle_re = nullptr,
                       .twiddle_im = nullptr,
                       .twiddle_stride = 0});
  T* const done = first_->run(*kernels_, b, part, a, b, part, lanes, inverse);
  T* const other = done == a ? b : a;
  kernels_->transpose({.rows = n_,
                       .columns = lanes,
                       .in_re = done,
                       .in_im = done + part,
                       .in_stride = lanes,
                       .out_re = other,
                       .out_im = other + part,
                       .out_stride = width,
                       .twiddle_re = nullptr,
                       .twiddle_im = nullptr,
                       .twiddle_stride = 0});
  kernels_->store({rows.out, rows.out_stride, rows.count, n_, width, other, other + part}, scale);
}

template <class T>
void Plan<T>::run_split(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  const std::int64_t a = first_->length(), b = second_->length(), across = padded(a), down = padded(b);
  const std::int64_t wide = block(b, a), high = block(a, b), part = std::max(across * wide, down * high) + skew<T>;
  const std::int64_t middle_part = down * across + skew<T>;
  T *const x = scratch, *const y = x + 2 * part, *const middle = y + 2 * part;
  // For the other sign of the exponent, real and imaginary parts are exchanged, except in twiddles.
  const std::int64_t re = inverse ? 1 : 0, im = 1 - re;
  for (std::int64_t c = 0; c < down; c += wide) {
    const std::int64_t width = std::min(wide, down - c);
    kernels_->load({const_cast<T*>(rows.in) + 2 * c, b, a, std::min(width, b - c), width, x, x + part});
    const T* const done = first_->run(*kernels_, x, part, y, x, part, width, inverse);
    // The middle has blocks [down, at most high], one after another.
    for (std::int64_t r = 0; r < across; r += high) {
      const std::int64_t rows_of_block = std::min(high, across - r), to = r * down + c * rows_of_block;
      kernels_->transpose({.rows = std::min(rows_of_block, a - r),
                           .columns = width,
                           .in_re = done + re * part + r * width,
                           .in_im = done + im * part + r * width,
                           .in_stride = width,
                           .out_re = middle + re * middle_part + to,
                           .out_im = middle + im * middle_part + to,
                           .out_stride = rows_of_block,
                           .twiddle_re = twiddles_.data() + r * down + c,
                           .twiddle_im = twiddles_.data() + (a + r) * down + c,
                           .twiddle_stride = down});
    }
  }
  for (std::int64_t c = 0; c < across; c += high) {
    const std::int64_t width = std::min(high, across - c);
    T* const done = second_->run(*kernels_, middle + c * down, middle_part, y, x, part, width, inverse);
    kernels_->store({rows.out + 2 * c, a, b, std::min(width, a - c), width, done, done + part}, scale);
  }
}

template <class T>
void Plan<T>::run_chirp(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  const std::int64_t m = convolution_->n_;
  T *const x = scratch, *const inner = scratch + (2 * m + 15) / 16 * 16;
  const T *w = twiddles_.data(), *spectrum = spectrum_.data();
  const T sign = inverse ? T(-1) : T(1), factor = static_cast<T>(scale);
  // For the other sign, numbers are conjugated before and after.
  for (std::int64_t k = 0; k < n_; ++k) {
    const T re = rows.in[2 * k], im = sign * rows.in[2 * k + 1];
    x[2 * k] = re * w[2 * k] - im * w[2 * k + 1];
    x[2 * k + 1] = re * w[2 * k + 1] + im * w[2 * k];
  }
  std::fill(x + 2 * n_, x + 2 * m, T(0));
  convolution_->run({x, m, x, m, 1}, false, 1, inner);
  for (std::int64_t k = 0; k < m; ++k) {
    const T re = x[2 * k], im = x[2 * k + 1];
    x[2 * k] = re * spectrum[2 * k] - im * spectrum[2 * k + 1];
    x[2 * k + 1] = re * spectrum[2 * k + 1] + im * spectrum[2 * k];
  }
  convolution_->run({x, m, x, m, 1}, true, 1, inner);
  for (std::int64_t k = 0; k < n_; ++k) {
    const T re = x[2 * k], im = x[2 * k + 1];
    rows.out[2 * k] = (re * w[2 * k] - im * w[2 * k + 1]) * factor;
    rows.out[2 * k + 1] = sign * ((re * w[2 * k + 1] + im * w[2 * k]) * factor);
  }
}

template class Direct<float>;
template class Direct<double>;
template class Plan<float>;
template class Plan<double>;

}  // namespace reel::loops::fft
