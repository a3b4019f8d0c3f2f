#include "fft/plan.hpp"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <utility>

#include "fft/roots.hpp"

namespace reel::loops::fft {

namespace {

// Lengths below this are transformed by passes only: a vector of columns, at most 8 KiB, fits the first-level cache.
constexpr std::int64_t direct_below = 64;
// Bytes up to which a transform begins with radix 16. Measured by `bench/run --filter fft` up to 256 KiB.
constexpr std::int64_t sixteen_bytes = 256 * 1024;

// n as a product of the radices of passes. 16 replaces two radices of 4.
std::vector<int> radices_of(std::int64_t n, Order order) {
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  int eights = twos / 3, fours = twos % 3 == 2 ? 1 : 0;
  const bool two = twos == 1;
  if (twos % 3 == 1 && eights > 0) {
    --eights;
    fours = 2;
  }
  const bool sixteen = order == Order::sixteen_first && fours == 2 && eights > 0;
  std::vector<int> powers(static_cast<std::size_t>(eights), 8), others;
  if (!sixteen) powers.insert(powers.end(), static_cast<std::size_t>(fours), 4);
  for (const int prime : {13, 11, 7, 5, 3})
    for (; n % prime == 0; n /= prime) others.push_back(prime);
  if (two) others.push_back(2);
  if (order == Order::powers_first) std::swap(powers, others);
  others.insert(others.end(), powers.begin(), powers.end());
  if (sixteen) others.insert(others.begin(), 16);
  return others;
}

bool smooth(std::int64_t n) {
  for (const int prime : {2, 3, 5, 7, 11, 13})
    while (n % prime == 0) n /= prime;
  return n == 1;
}

// The cost of passes over a column of n numbers, in units of about one multiplication.
double cost_of_passes(std::int64_t n) {
  double all = 0;
  for (const int r : radices_of(n, Order::powers_first))
    all += r == 2 ? 8 : r == 3 ? 9 : r == 4 ? 9 : r == 5 ? 12 : r == 7 ? 16 : r == 8 ? 12 : 2 * r + 4;
  return all * static_cast<double>(n);
}

// The least length from 2 n - 1 on of a cheap transform.
std::int64_t convolution_length(std::int64_t n) {
  for (std::int64_t m = 2 * n - 1;; ++m) {
    std::int64_t rest = m;
    int odd = 0;
    for (const int prime : {3, 5})
      for (; rest % prime == 0; rest /= prime) ++odd;
    if ((rest & (rest - 1)) == 0 && (odd <= 1 || m < 128) && (m % 64 == 0 || m < 1024)) return m;
  }
}

}  // namespace

// ---- Direct

template <class T>
Direct<T>::Direct(std::int64_t n, Order order) : n_(n) {
  std::int64_t size = 0, done = 1;
  for (const int r : radices_of(n, order)) {
    passes_.push_back({r, done, n / (done * r), size});
    size += 2 * (r - 1) * done;
    done *= r;
  }
  twiddles_ = Table<T>(size);
  const Roots roots(n);
  T* w = twiddles_.data();
  for (const Pass& p : passes_)
    for (std::int64_t k = 0; k < p.done; ++k)
      for (std::int64_t j = 1; j < p.radix; ++j) {
        const auto root = roots(n / (p.done * p.radix) * k * j);
        *w++ = static_cast<T>(root.re);
        *w++ = static_cast<T>(root.im);
      }
}

// ---- Plan

template <class T>
bool Plan<T>::sixteen_fits(std::int64_t n, const kernels::Fourier& kernels) noexcept {
  return kernels.transposing_pass && n % (16 * kernels.lanes) == 0 &&
         2 * n * static_cast<std::int64_t>(sizeof(T)) <= sixteen_bytes;
}

template <class T>
Plan<T>::Plan(std::int64_t n, const kernels::Fourier& kernels) : n_(n), kernels_(&kernels) {
  method_ = !smooth(n) ? Method::chirp : n < direct_below ? Method::direct : Method::split;
  if (method_ == Method::split && sixteen_fits(n, kernels)) method_ = Method::sixteen;
  if (method_ == Method::direct)
    first_ = std::make_unique<Direct<T>>(n, Order::powers_first);
  else if (method_ == Method::sixteen)
    make_sixteen();
  else if (method_ == Method::split)
    make_split();
  else
    make_chirp();
  scratch_ = needed();
}

template <class T>
void Plan<T>::make_split() {
  double least = 0;
  std::int64_t best = 0;
  for (std::int64_t a = 2; a * a <= n_ * 16; ++a) {
    const std::int64_t b = n_ / a;
    if (n_ % a != 0 || b == 1) continue;
    const double cost = cost_of_passes(a) * static_cast<double>(padded(b)) +
                        cost_of_passes(b) * static_cast<double>(padded(a)) + 1e-3 * static_cast<double>(a * a + b * b);
    if (best == 0 || cost < least) {
      best = a;
      least = cost;
    }
  }
  const std::int64_t a = best, b = n_ / a, width = padded(b);
  first_ = std::make_unique<Direct<T>>(a, Order::powers_first);
  second_ = std::make_unique<Direct<T>>(b, kernels_->transposing_pass ? Order::sixteen_first : Order::powers_last);
  across_ = padded(a);
  down_ = width;
  wide_ = block(b, a);
  high_ = block(a, b);
  twiddles_ = Table<T>(2 * a * width);
  const Roots roots(n_);
  for (std::int64_t k = 0; k < a; ++k)
    for (std::int64_t s = 0; s < width; ++s) {
      const auto root = roots(s < b ? k * s : 0);
      twiddles_[k * width + s] = static_cast<T>(root.re);
      twiddles_[(a + k) * width + s] = static_cast<T>(root.im);
    }
}

template <class T>
void Plan<T>::make_sixteen() {
  const std::int64_t b = n_ / 16, lanes = kernels_->lanes, half = 2 * 15 * b;
  second_ = std::make_unique<Direct<T>>(b, Order::sixteen_first);
  twiddles_ = Table<T>(2 * half);
  const Roots roots(n_);
  T* w = twiddles_.data();
  for (std::int64_t c = 0; c < b; c += lanes)
    for (std::int64_t k = 1; k < 16; ++k, w += 2 * lanes)
      for (std::int64_t i = 0; i < lanes; ++i) {
        const auto root = roots(k * (c + i));
        w[i] = w[half + i] = static_cast<T>(root.re);
        w[lanes + i] = static_cast<T>(root.im);
        w[half + lanes + i] = static_cast<T>(-root.im);
      }
}

template <class T>
void Plan<T>::make_chirp() {
  const std::int64_t m = convolution_length(n_);
  convolution_ = std::make_unique<Plan>(m, *kernels_);
  twiddles_ = Table<T>(2 * n_);
  spectrum_ = Table<T>(2 * m);
  Table<T> conjugate(2 * m);
  std::fill(conjugate.data(), conjugate.data() + 2 * m, T(0));
  const Roots roots(2 * n_);
  std::int64_t square = 0;  // k^2 modulo 2 n
  for (std::int64_t k = 0; k < n_; square = (square + 2 * k + 1) % (2 * n_), ++k) {
    const auto root = roots(square);
    const T re = static_cast<T>(root.re), im = static_cast<T>(root.im);
    twiddles_[2 * k] = re;
    twiddles_[2 * k + 1] = im;
    for (const std::int64_t at : {k, (m - k) % m}) {
      conjugate[2 * at] = re;
      conjugate[2 * at + 1] = -im;
    }
  }
  const Table<T> scratch(convolution_->scratch());
  convolution_->run({conjugate.data(), m, spectrum_.data(), m, 1}, false, 1 / static_cast<double>(m), scratch.data());
}

template <class T>
const T* Plan<T>::half_twiddles() const {
  const std::lock_guard lock(half_mutex_);
  if (half_.data()) return half_.data();
  Table<T> half(2 * (n_ / 2 + 1));
  const Roots roots(2 * n_);
  for (std::int64_t k = 0; k <= n_ / 2; ++k) {
    const auto root = roots(k);
    half[2 * k] = static_cast<T>(root.re);
    half[2 * k + 1] = static_cast<T>(root.im);
  }
  half_ = std::move(half);
  return half_.data();
}

template <class T>
std::int64_t Plan<T>::bytes() const {
  const std::lock_guard lock(half_mutex_);
  std::int64_t all = (twiddles_.size() + spectrum_.size() + half_.size()) * static_cast<std::int64_t>(sizeof(T));
  for (const auto* part : {first_.get(), second_.get()})
    if (part) all += part->bytes();
  return all + (convolution_ ? convolution_->bytes() : 0);
}

// ---- The cache

namespace {

template <class T>
class Cache {
 public:
  std::shared_ptr<const Plan<T>> get(std::int64_t n, const kernels::Fourier& kernels) {
    if (auto found = find(n, kernels)) return found;
    auto made = std::make_shared<const Plan<T>>(n, kernels);  // without the lock, so that other lengths do not wait
    const std::lock_guard lock(mutex_);
    if (auto found = latest(n, kernels)) return found;  // another thread was faster
    plans_.reserve(plans_max + 1);
    plans_.insert(plans_.begin(), {n, &kernels, made});
    std::int64_t bytes = 0;  // but for the latest
    std::size_t kept = 1;
    for (; kept < plans_.size() && kept < plans_max; ++kept)
      if ((bytes += plans_[kept].plan->bytes()) > bytes_max) break;
    plans_.resize(kept);
    return made;
  }

 private:
  static constexpr std::size_t plans_max = 64;                       // of all lengths and dtypes
  static constexpr std::int64_t bytes_max = std::int64_t{64} << 20;  // of their tables
  struct Kept {
    std::int64_t n = 0;
    const kernels::Fourier* kernels = nullptr;
    std::shared_ptr<const Plan<T>> plan;
  };
  std::shared_ptr<const Plan<T>> find(std::int64_t n, const kernels::Fourier& kernels) {
    const std::lock_guard lock(mutex_);
    return latest(n, kernels);
  }
  // The plan, which becomes the latest used one, or null. The caller holds the lock.
  std::shared_ptr<const Plan<T>> latest(std::int64_t n, const kernels::Fourier& kernels) {
    const auto at =
        std::find_if(plans_.begin(), plans_.end(), [&](const Kept& k) { return k.n == n && k.kernels == &kernels; });
    if (at == plans_.end()) return nullptr;
    std::rotate(plans_.begin(), at, at + 1);
    return plans_.front().plan;
  }
  std::mutex mutex_;
  std::vector<Kept> plans_;  // the latest used first
};

}  // namespace

template <class T>
std::shared_ptr<const Plan<T>> plan_of(std::int64_t n) {
  static auto& cache = *new Cache<T>;  // never destroyed: transforms may run while the process ends
  constexpr DType d = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  return cache.get(n, kernels::active<kernels::FourierKernels>()[d]);
}

template class Direct<float>;
template class Direct<double>;
template class Plan<float>;
template class Plan<double>;
template std::shared_ptr<const Plan<float>> plan_of<float>(std::int64_t n);
template std::shared_ptr<const Plan<double>> plan_of<double>(std::int64_t n);

}  // namespace reel::loops::fft
