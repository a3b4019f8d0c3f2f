// How a Fourier transform of n numbers is computed. n alone selects one of four methods, so that a row has the same
// bits alone and in a batch.
//
// Direct, for n < 64 whose prime factors are at most 13: passes over rows side by side.
//
// Split, for other n whose prime factors are at most 13 (Bailey 1990): n = a b, as a matrix [a, b] in row-major order.
// Direct transforms of its columns, twiddles, transposition, direct transforms of the columns again.
//
// Sixteen, on AVX-512, for those of them that are multiples of 16 vectors and small: n = 16 b, as a matrix [16, b]. The
// direct transforms of its columns, twiddles and transposition are one pass.
//
// Chirp, for all other n (Bluestein 1970): a convolution by transforms of m >= 2 n - 1 numbers.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "fft/kernels.hpp"

namespace reel::loops::fft {

/// Numbers of type T, aligned to cache lines, uninitialised.
template <class T>
class Table {
 public:
  Table() = default;
  explicit Table(std::int64_t n)
      : data_(static_cast<T*>(::operator new (static_cast<std::size_t>(n) * sizeof(T), std::align_val_t{64}))),
        size_(n) {}
  T* data() const noexcept { return data_.get(); }
  T& operator[](std::int64_t i) const noexcept { return data_.get()[i]; }
  std::int64_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(T* p) const noexcept { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<T, Free> data_;
  std::int64_t size_ = 0;
};

/// Rows of complex numbers, `stride` apart.
template <class T>
struct Rows {
  const T* in;
  std::int64_t in_stride;
  T* out;
  std::int64_t out_stride, count;
};

/// A block of columns, and the memory that its passes alternate between. Imaginary parts follow the real ones at a
/// distance of `part` numbers. `width` is a multiple of lanes.
template <class T>
struct Columns {
  const kernels::Fourier* kernels;
  T *a, *b;
  std::int64_t part, width;
  bool inverse;
};

/// Where the passes of radix 4 and 8 stand: first, where one may read from memory, or last, where one may write to it,
/// or last behind one of radix 16.
enum class Order : std::uint8_t { powers_first, powers_last, sixteen_first };

/// Passes over columns.
template <class T>
class Direct {
 public:
  Direct(std::int64_t n, Order order);
  std::int64_t length() const noexcept { return n_; }
  /// Transforms the columns of [n, width] from `in`, which may be b. Returns a or b: the one that holds the result.
  T* run(const Columns<T>& columns, T* in, std::int64_t in_part) const {
    return run(columns, in, in_part, 0, passes_.size());
  }
  /// The same of `count` columns in memory, whose rows are `stride` complex numbers apart.
  T* run_from(const Columns<T>& columns, T* in, std::int64_t stride, std::int64_t count) const;
  /// out = scale * the result of run(), for `count` columns.
  void run_to(const Columns<T>& columns, T* in, std::int64_t in_part, T* out, std::int64_t stride, std::int64_t count,
              double scale) const;
  std::int64_t bytes() const noexcept { return twiddles_.size() * static_cast<std::int64_t>(sizeof(T)); }

 private:
  struct Pass {
    std::int64_t radix, done, left, twiddles;  // the length before it, n / (done * radix), the index of its twiddles
  };
  // Real and imaginary parts are exchanged if `swapped`, for the other sign of the exponent.
  kernels::FourierPass arguments(const Columns<T>& columns, const Pass& pass, T* from, std::int64_t from_part, T* to,
                                 bool swapped) const;
  T* run(const Columns<T>& columns, T* in, std::int64_t in_part, std::size_t begin, std::size_t end) const;

  std::int64_t n_;
  std::vector<Pass> passes_;
  Table<T> twiddles_;  // of all passes, one after another
};

template <class T>
class Plan {
 public:
  Plan(std::int64_t n, const kernels::Fourier& kernels);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  /// The number of rows that one run() transforms for the work of one.
  std::int64_t rows() const noexcept { return method_ == Method::direct ? kernels_->lanes : 1; }
  /// Numbers of scratch memory that run() needs, aligned to 64 bytes.
  std::int64_t scratch() const noexcept { return scratch_; }
  /// out = scale * the unnormalised transform of in, for count <= rows() rows. in and out are the same or do not
  /// overlap.
  void run(const Rows<T>& rows, bool inverse, double scale, T* scratch) const;
  /// exp(-2 pi i k / (2 n)), k <= n / 2, which transforms of 2 n real numbers take. The first call computes them.
  const T* half_twiddles() const;
  /// Bytes of the tables that have been made.
  std::int64_t bytes() const;

 private:
  enum class Method : std::uint8_t { direct, sixteen, split, chirp };
  static bool sixteen_fits(std::int64_t n, const kernels::Fourier& kernels) noexcept;
  void run_direct(const Rows<T>& rows, bool inverse, double scale, T* scratch) const;
  void run_sixteen(const Rows<T>& rows, bool inverse, double scale, T* scratch) const;
  void run_split(const Rows<T>& rows, bool inverse, double scale, T* scratch) const;
  void run_chirp(const Rows<T>& rows, bool inverse, double scale, T* scratch) const;
  void make_sixteen();
  void make_split();
  void make_chirp();
  std::int64_t padded(std::int64_t n) const noexcept {
    return (n + kernels_->lanes - 1) / kernels_->lanes * kernels_->lanes;
  }
  std::int64_t block(std::int64_t columns, std::int64_t length) const noexcept;
  std::int64_t needed() const noexcept;  // scratch()

  std::int64_t n_;
  const kernels::Fourier* kernels_;
  Method method_;
  std::int64_t scratch_, across_ = 0, down_ = 0;  // split: padded(a), padded(b)
  std::int64_t wide_ = 0, high_ = 0;              // split: columns of a block of the first and of the second transforms
  std::unique_ptr<Direct<T>> first_, second_;     // direct: first_; split: of a and of b numbers; sixteen: second_
  // Split: [2, a, padded(b)]; chirp: exp(-i pi k^2 / n), interleaved; sixteen: of both signs, as the kernel takes them.
  Table<T> twiddles_;
  std::unique_ptr<Plan> convolution_;  // chirp: of m numbers
  Table<T> spectrum_;                  // chirp: of the conjugate chirp, interleaved, / m
  mutable std::mutex half_mutex_;
  mutable Table<T> half_;  // empty before the first half_twiddles()
};

/// The plan for n numbers and the instruction set in use, from a cache that all threads share. It keeps up to 64 plans,
/// the latest used first: the last one that was made, and others of up to 64 MiB.
template <class T>
std::shared_ptr<const Plan<T>> plan_of(std::int64_t n);

}  // namespace reel::loops::fft
