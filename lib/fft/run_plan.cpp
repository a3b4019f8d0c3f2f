// How plans are run.
#include <algorithm>

#include "fft/plan.hpp"
#include "loops/tuning.hpp"

namespace reel::loops::fft {

namespace {

// Bytes of a block of columns and its results: half of the first-level cache, and half of the second-level cache.
constexpr std::int64_t first_bytes = tuning::l1_bytes / 2, second_bytes = tuning::l2_bytes / 2;
// The distance in numbers between arrays whose sizes are powers of two: 19 cache lines, more than a quarter of 4 KiB.
// Equal positions in several arrays map to different sets of the cache, and no load waits for a recent store at the
// same offset in a page. Measured for 3, 16 and 19 lines by `bench/run --filter fft`.
template <class T>
constexpr std::int64_t skew = 19 * tuning::cache_line_bytes / static_cast<std::int64_t>(sizeof(T));

// Whether a pass of this radix reads or writes complex numbers in memory by itself.
bool fused(const kernels::Fourier& k, std::int64_t radix, std::int64_t count, std::int64_t width) {
  return (radix == 4 || radix == 8) && count == width && k.first_pass;
}

}  // namespace

template <class T>
kernels::FourierPass Direct<T>::arguments(const Columns<T>& columns, const Pass& pass, T* from, std::int64_t from_part,
                                          T* to, bool swapped) const {
  const std::int64_t re = swapped ? 1 : 0, im = 1 - re;
  return {.radix = pass.radix,
          .done = pass.done,
          .columns = pass.left * columns.width,
          .in_re = from + re * from_part,
          .in_im = from + im * from_part,
          .out_re = to + re * columns.part,
          .out_im = to + im * columns.part,
          .twiddles = twiddles_.data() + pass.twiddles};
}

template <class T>
T* Direct<T>::run(const Columns<T>& columns, T* in, std::int64_t in_part, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) {
    T* const to = in == columns.a ? columns.b : columns.a;
    columns.kernels->pass(arguments(columns, passes_[i], in, in_part, to, columns.inverse));
    in = to;
    in_part = columns.part;
  }
  return in;
}

template <class T>
T* Direct<T>::run_from(const Columns<T>& columns, T* in, std::int64_t stride, std::int64_t count) const {
  const kernels::FourierRows rows = {in, stride, n_, count, columns.width, columns.b, columns.b + columns.part};
  if (!fused(*columns.kernels, passes_[0].radix, count, columns.width)) {
    columns.kernels->load(rows);
    return run(columns, columns.b, columns.part);
  }
  columns.kernels->first_pass(arguments(columns, passes_[0], columns.b, columns.part, columns.a, false), rows,
                              columns.inverse);
  return run(columns, columns.a, columns.part, 1, passes_.size());
}

template <class T>
void Direct<T>::run_to(const Columns<T>& columns, T* in, std::int64_t in_part, T* out, std::int64_t stride,
                       std::int64_t count, double scale) const {
  const bool whole = fused(*columns.kernels, passes_.back().radix, count, columns.width);
  T* const done = run(columns, in, in_part, 0, passes_.size() - (whole ? 1 : 0));
  const kernels::FourierRows rows = {out, stride, n_, count, columns.width, done, done + columns.part};
  if (!whole) return columns.kernels->store(rows, scale);
  const std::int64_t part = done == in ? in_part : columns.part;
  columns.kernels->last_pass(arguments(columns, passes_.back(), done, part, done, columns.inverse), rows,
                             columns.inverse, scale);
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
std::int64_t Plan<T>::needed() const noexcept {
  if (method_ == Method::direct) return 4 * padded(n_) * kernels_->lanes;
  if (method_ == Method::sixteen) return 4 * second_->length() * kernels_->lanes + 2 * n_ + 6 * skew<T>;
  if (method_ == Method::chirp) return 2 * convolution_->n_ + 16 + convolution_->scratch();
  return 4 * std::max(across_ * wide_, down_ * high_) + 2 * down_ * across_ + 6 * skew<T>;
}

template <class T>
void Plan<T>::run(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  if (method_ == Method::direct)
    run_direct(rows, inverse, scale, scratch);
  else if (method_ == Method::sixteen)
    run_sixteen(rows, inverse, scale, scratch);
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
  T* const done = first_->run({kernels_, a, b, part, lanes, inverse}, b, part);
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
void Plan<T>::run_sixteen(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  const std::int64_t b = second_->length(), lanes = kernels_->lanes;
  const std::int64_t part = b * lanes + skew<T>, middle_part = n_ + skew<T>;
  T *const x = scratch, *const y = x + 2 * part, *const middle = y + 2 * part;
  kernels_->transposing_pass({.in = rows.in,
                              .columns = b,
                              .inverse = inverse,
                              .out_re = middle,
                              .out_im = middle + middle_part,
                              .twiddles = twiddles_.data() + (inverse ? twiddles_.size() / 2 : 0)});
  for (std::int64_t c = 0; c < 16; c += lanes)
    second_->run_to({kernels_, y, x, part, lanes, inverse}, middle + c * b, middle_part, rows.out + 2 * c, 16, lanes,
                    scale);
}

template <class T>
void Plan<T>::run_split(const Rows<T>& rows, bool inverse, double scale, T* scratch) const {
  const std::int64_t a = first_->length(), b = second_->length(), across = across_, down = down_;
  const std::int64_t wide = wide_, high = high_, part = std::max(across * wide, down * high) + skew<T>;
  const std::int64_t middle_part = down * across + skew<T>;
  T *const x = scratch, *const y = x + 2 * part, *const middle = y + 2 * part;
  // For the other sign of the exponent, real and imaginary parts are exchanged, except in twiddles.
  const std::int64_t re = inverse ? 1 : 0, im = 1 - re;
  for (std::int64_t c = 0; c < down; c += wide) {
    const std::int64_t width = std::min(wide, down - c);
    const T* const done = first_->run_from({kernels_, y, x, part, width, inverse}, const_cast<T*>(rows.in) + 2 * c, b,
                                           std::min(width, b - c));
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
    second_->run_to({kernels_, y, x, part, width, inverse}, middle + c * down, middle_part, rows.out + 2 * c, a,
                    std::min(width, a - c), scale);
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

// plan.cpp instantiates the classes: in a unity build a second time would be an error.
template float* Direct<float>::run(const Columns<float>&, float*, std::int64_t, std::size_t, std::size_t) const;
template double* Direct<double>::run(const Columns<double>&, double*, std::int64_t, std::size_t, std::size_t) const;
template std::int64_t Plan<float>::block(std::int64_t, std::int64_t) const noexcept;
template std::int64_t Plan<double>::block(std::int64_t, std::int64_t) const noexcept;
template std::int64_t Plan<float>::needed() const noexcept;
template std::int64_t Plan<double>::needed() const noexcept;
template void Plan<float>::run(const Rows<float>&, bool, double, float*) const;
template void Plan<double>::run(const Rows<double>&, bool, double, double*) const;

}  // namespace reel::loops::fft
