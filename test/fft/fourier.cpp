// Fourier transforms: errors of every length against sums in long double, on every instruction set; bits; the cache of
// plans.
#include <barrier>
#include <cmath>
#include <complex>
#include <cstring>
#include <reel/fft.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "fft/plan.hpp"
#include "fft/roots.hpp"
#include "kernels/dispatch.hpp"
#include "support/bits.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::same_bits;

namespace {

using Real = long double;
using Wide = std::complex<Real>;

template <class T>
std::vector<std::complex<T>> drawn(std::int64_t n) {
  support::Random random("Fourier" + std::to_string(n));
  std::vector<std::complex<T>> x(static_cast<std::size_t>(n));
  for (auto& z : x) z = {static_cast<T>(random.uniform(-1, 1)), static_cast<T>(random.uniform(-1, 1))};
  return x;
}

// exp(-2 pi i k / n), by the C library alone.
std::vector<Wide> roots_of(std::int64_t n) {
  std::vector<Wide> w;
  for (std::int64_t k = 0; k < n; ++k) {
    // The angle is at most half a turn, so that its error is that of long double.
    const std::int64_t at = 2 * k > n ? k - n : k;
    const Real angle = -2 * std::acos(Real(-1)) * static_cast<Real>(at) / static_cast<Real>(n);
    w.emplace_back(std::cos(angle), std::sin(angle));
  }
  return w;
}

// The error of `count` numbers of the transform, in the sense of least squares, divided by eps log2 n of T.
template <class T>
double error(const kernels::Fourier& kernels, std::int64_t n, bool inverse, std::int64_t count) {
  const std::vector<std::complex<T>> x = drawn<T>(n);
  std::vector<std::complex<T>> y(x.size());
  const loops::fft::Plan<T> plan(n, kernels);
  const loops::fft::Table<T> scratch(plan.scratch());
  plan.run({reinterpret_cast<const T*>(x.data()), n, reinterpret_cast<T*>(y.data()), n, 1}, inverse, 1, scratch.data());
  const std::vector<Wide> w = roots_of(n);
  Real off = 0, size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t k = count == n ? i : (i * 7919 + 3) % n;
    Wide sum = 0;
    for (std::int64_t j = 0, at = 0; j < n; ++j, at = (at + k) % n) {
      const Wide root = w[static_cast<std::size_t>(at)];
      const std::complex<T> z = x[static_cast<std::size_t>(j)];
      sum += Wide(z.real(), z.imag()) * (inverse ? std::conj(root) : root);
    }
    const std::complex<T> got = y[static_cast<std::size_t>(k)];
    off += std::norm(Wide(got.real(), got.imag()) - sum);
    size += std::norm(sum);
  }
  const double logarithm = std::max(1.0, std::log2(static_cast<double>(n)));
  return static_cast<double>(std::sqrt(off / size)) /
         (static_cast<double>(std::numeric_limits<T>::epsilon()) * logarithm);
}

template <class T>
std::vector<std::complex<T>> transformed(const kernels::Fourier& kernels, const std::vector<std::complex<T>>& x,
                                         bool inverse, double scale) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<std::complex<T>> y(x.size());
  const loops::fft::Plan<T> plan(n, kernels);
  const loops::fft::Table<T> scratch(plan.scratch());
  plan.run({reinterpret_cast<const T*>(x.data()), n, reinterpret_cast<T*>(y.data()), n, 1}, inverse, scale,
           scratch.data());
  return y;
}

template <class T>
const kernels::Fourier& kernels_of() {
  return kernels::active<kernels::FourierKernels>()[std::is_same_v<T, float> ? DType::float32 : DType::float64];
}

// The transform of 2^m numbers by halves (Cooley and Tukey 1965), in long double.
std::vector<Wide> by_halves(const std::vector<Wide>& x, const std::vector<Wide>& roots) {
  const std::size_t n = x.size();
  std::vector<Wide> from = x, to(n);
  for (std::size_t half = n / 2, stride = 1; half > 0; half /= 2, stride *= 2) {
    for (std::size_t j = 0; j < half; ++j)
      for (std::size_t k = 0; k < stride; ++k) {
        const Wide a = from[k + stride * j], b = from[k + stride * (j + half)];
        to[k + 2 * stride * j] = a + b;
        to[k + 2 * stride * j + stride] = (a - b) * roots[j * stride];
      }
    from.swap(to);
  }
  return from;
}

// The error of all numbers of a transform, in the sense of least squares, divided by eps log2 n of T. An inverse
// transform has the numbers of the other one in reverse order.
template <class T>
double error_beside(const std::vector<Wide>& right, bool inverse) {
  const auto n = static_cast<std::int64_t>(right.size());
  const std::vector<std::complex<float>> x = drawn<float>(n);
  const std::vector<std::complex<T>> y = transformed<T>(kernels_of<T>(), {x.begin(), x.end()}, inverse, 1);
  Real off = 0, size = 0;
  for (std::size_t k = 0; k < right.size(); ++k) {
    const Wide z = right[inverse ? (right.size() - k) % right.size() : k];
    off += std::norm(Wide(y[k].real(), y[k].imag()) - z);
    size += std::norm(z);
  }
  return static_cast<double>(std::sqrt(off / size)) /
         (static_cast<double>(std::numeric_limits<T>::epsilon()) * std::log2(static_cast<double>(n)));
}

template <class T>
void check_errors(const kernels::Set& set, std::span<const std::int64_t> lengths, std::int64_t count) {
  const kernels::Fourier& kernels =
      set.get<kernels::FourierKernels>()[std::is_same_v<T, float> ? DType::float32 : DType::float64];
  for (const std::int64_t n : lengths)
    for (const bool inverse : {false, true}) {
      const double e = error<T>(kernels, n, inverse, std::min(n, n > 100000 ? 4 : count));
      INFO(set.isa << ", " << n << " numbers of " << sizeof(T) << " bytes, inverse " << inverse << ": " << e);
      CHECK(e <= 1);
    }
}

// Passes that read and write complex numbers give the bits of passes between a load and a store. Lengths that are
// `whole` blocks of columns of radices 4 and 8 need neither.
template <class T>
void check_fused(const kernels::Fourier& kernels, std::int64_t n, bool whole) {
  kernels::Fourier separate = kernels, fused_only = kernels;
  separate.first_pass = nullptr;
  separate.last_pass = nullptr;
  const std::vector<std::complex<T>> x = drawn<T>(n);
  static int calls;
  calls = 0;
  fused_only.load = [](const kernels::FourierRows&) { ++calls; };
  fused_only.store = [](const kernels::FourierRows&, double) { ++calls; };
  for (const bool inverse : {false, true}) {
    INFO(n << " numbers of " << sizeof(T) << " bytes, inverse " << inverse);
    const auto y = transformed<T>(kernels, x, inverse, 0.3), z = transformed<T>(separate, x, inverse, 0.3);
    CHECK(std::memcmp(y.data(), z.data(), y.size() * sizeof y[0]) == 0);
    if (whole && kernels.lanes > 1) CHECK((transformed<T>(fused_only, x, inverse, 0.3) == y && calls == 0));
  }
}

Tensor random_complex(const Shape& shape, DType d) {
  support::Random random("complex" + to_string(shape));
  return cast(make_complex(random.tensor(shape), random.tensor(shape)), d);
}

}  // namespace

TEST_CASE("transforms of every length have errors of at most eps log2 n") {
  std::vector<std::int64_t> all, some = {1, 2, 3, 16, 31, 64, 65, 72, 100, 128, 143, 169, 210, 251, 255, 256};
  for (std::int64_t n = 1; n <= 300; ++n) all.push_back(n);
  for (const kernels::Set* each : kernels::supported_sets()) {
    const kernels::Set& set = *each;
    const bool best = std::string_view(set.isa) == kernels::active().isa;
    check_errors<double>(set, best ? all : some, 300);
    check_errors<float>(set, best ? all : some, 300);
  }
}

TEST_CASE("transforms of many numbers have errors of at most eps log2 n") {
  const std::int64_t lengths[] = {512,  997,  1000, 1009, 1024, 1152, 1331, 1500,  1536,  2048, 2187,
                                  2197, 2688, 3125, 4096, 5041, 6006, 8192, 10000, 10007, 9973, 1 << 20};
  check_errors<double>(kernels::active(), lengths, 20);
  check_errors<float>(kernels::active(), lengths, 20);
}

TEST_CASE("transforms of powers of 2 are those by halves") {
  for (std::int64_t n = 1 << 10; n <= 1 << 19; n *= 2) {
    const std::vector<std::complex<float>> x = drawn<float>(n);
    const std::vector<Wide> right = by_halves({x.begin(), x.end()}, roots_of(n));
    for (const bool inverse : {false, true}) {
      INFO(n << " numbers, inverse " << inverse);
      CHECK(error_beside<double>(right, inverse) <= 1);
      CHECK(error_beside<float>(right, inverse) <= 1);
    }
  }
}

TEST_CASE("Fourier passes read and write complex numbers with the bits of separate steps") {
  for (const kernels::Set* set : kernels::supported_sets()) {
    INFO(set->isa);
    CHECK((set->get<kernels::FourierKernels>()[DType::float64].first_pass == nullptr) ==
          (set->get<kernels::FourierKernels>()[DType::float64].lanes == 1));
    for (const std::int64_t n : {64, 72, 96, 128, 200, 250, 1000, 1024, 1440, 1536, 4096, 10000, 65536}) {
      const bool whole = n == 1024 || n == 4096 || n == 65536;
      check_fused<double>(set->get<kernels::FourierKernels>()[DType::float64], n, whole);
      check_fused<float>(set->get<kernels::FourierKernels>()[DType::float32], n, whole);
    }
  }
}

TEST_CASE("multiples of 16 vectors are transformed by a transposing pass up to 256 KiB") {
  static int calls;
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::Fourier kernels = set->get<kernels::FourierKernels>()[DType::float64];
    INFO(set->isa);
    CHECK((kernels.transposing_pass != nullptr) == (std::string_view(set->isa) == "avx512"));
    if (!kernels.transposing_pass) continue;
    kernels.transposing_pass = [](const kernels::FourierTransposingPass&) { ++calls; };
    for (const std::int64_t n : {128, 1000, 1024, 1536, 2000, 16384, 16512, 32768}) {
      calls = 0;
      transformed<double>(kernels, drawn<double>(n), false, 1);
      INFO(n << " numbers");
      CHECK(calls == (n % 128 == 0 && n <= 16384 ? 1 : 0));
    }
  }
}

TEST_CASE("roots of unity are right to rounding") {
  for (const std::int64_t n : {1, 2, 3, 5, 8, 12, 1000, 1 << 16, 3 * 7919}) {
    const loops::fft::Roots roots(n);
    const std::vector<Wide> expected = roots_of(n);
    Real worst = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto got = roots(k);
      worst = support::worse(worst, std::abs(Wide(got.re, got.im) - expected[static_cast<std::size_t>(k)]));
      if (4 * k % n == 0) CHECK((got.re == 0 || got.im == 0));  // quarters of a turn are exact
    }
    INFO(n);
    CHECK(worst <= 0x1p-60L);
  }
}

TEST_CASE("a transform of a batch has the bits of a single one, along any axis and in any layout") {
  for (const DType d : {DType::complex64, DType::complex128})
    for (const std::int64_t n : {1, 5, 30, 37, 64, 96, 256, 360, 509}) {
      const Tensor x = random_complex({19, n}, d), y = fft(x), real_x = real(x), half = rfft(real_x);
      const Tensor across = contiguous(transpose(x)), back = irfft(half, n), columns = fft(across, -1, 0);
      INFO(n << " numbers");
      for (const std::int64_t row : {0, 7, 16, 18}) {
        CHECK(same_bits(contiguous(y[row]), fft(x[row])));
        CHECK(same_bits(contiguous(half[row]), rfft(real_x[row])));
        CHECK(same_bits(contiguous(back[row]), irfft(half[row], n)));
      }
      CHECK(same_bits(contiguous(transpose(columns)), y));
      CHECK(same_bits(fft(transpose(across)), y));
      CHECK(same_bits(contiguous(transpose(rfft(real(across), -1, 0))), half));
      CHECK(same_bits(contiguous(transpose(irfft(contiguous(transpose(half)), n, 0))), back));
      const Tensor cube = reshape(across, {n, 1, 19});
      CHECK(same_bits(reshape(fft(cube, -1, 0), {n, 19}), columns));
    }
}

TEST_CASE("transforms have the same bits for every number of threads") {
  const Tensor x = random_complex({300, 250}, DType::complex128);
  const int threads = num_threads();
  set_num_threads(1);
  const Tensor rows = fft(x), columns = ifft(x, -1, 0), half = rfft(real(x)), back = irfft(x);
  for (const int n : {2, 5}) {
    set_num_threads(n);
    CHECK(same_bits(fft(x), rows));
    CHECK(same_bits(ifft(x, -1, 0), columns));
    CHECK(same_bits(rfft(real(x)), half));
    CHECK(same_bits(irfft(x), back));
  }
  set_num_threads(threads);
}

TEST_CASE("the cache of Fourier plans is bounded") {
  const auto first = loops::fft::plan_of<double>(999);
  CHECK(loops::fft::plan_of<double>(999) == first);
  for (std::int64_t n = 1; n <= 100; ++n) static_cast<void>(loops::fft::plan_of<double>(n));
  CHECK(first.use_count() == 1);
  const auto small = loops::fft::plan_of<double>(998), large = loops::fft::plan_of<double>(1 << 21);
  // This plan alone has more bytes than the cache keeps.
  const auto larger = loops::fft::plan_of<double>(1 << 22);
  CHECK(small.use_count() == 2);
  CHECK(large.use_count() == 2);
  CHECK(loops::fft::plan_of<double>(1 << 22) == larger);
  const auto last = loops::fft::plan_of<double>(3 << 20);
  CHECK(last.use_count() == 2);
  CHECK(larger.use_count() == 1);
  CHECK(large.use_count() == 1);
}

TEST_CASE("threads that request a Fourier plan at the same time share it") {
  for (const std::int64_t n : {1 << 18, 3 << 17, 5 << 16}) {
    std::barrier all(4);
    std::vector<std::shared_ptr<const loops::fft::Plan<double>>> plans(4);
    std::vector<std::thread> threads;
    for (auto& plan : plans)
      threads.emplace_back([&all, &plan, n] {
        all.arrive_and_wait();
        plan = loops::fft::plan_of<double>(n);
      });
    for (auto& thread : threads) thread.join();
    INFO(n);
    for (const auto& plan : plans) CHECK(plan == plans[0]);
  }
}

TEST_CASE("each instruction set has its own Fourier plans") {
  const kernels::Set before = kernels::active();
  for (const kernels::Set* set : kernels::supported_sets()) {
    kernels::activate(*set);
    INFO(set->isa);
    CHECK(loops::fft::plan_of<double>(30)->rows() == set->get<kernels::FourierKernels>()[DType::float64].lanes);
    CHECK(loops::fft::plan_of<float>(30)->rows() == set->get<kernels::FourierKernels>()[DType::float32].lanes);
  }
  kernels::activate(before);
}

TEST_CASE("a Fourier plan makes tables for real numbers at their first use") {
  const kernels::Fourier& kernels = kernels::active<kernels::FourierKernels>()[DType::float64];
  for (const std::int64_t n : {30, 1024, 1000, 1009}) {  // direct, sixteen or split, split, chirp
    const loops::fft::Plan<double> plan(n, kernels);
    const std::int64_t before = plan.bytes(), half = 2 * (n / 2 + 1) * 8;
    INFO(n);
    const double* const w = plan.half_twiddles();
    CHECK(w[2] == Approx(std::cos(std::acos(-1.0) / static_cast<double>(n))).epsilon(1e-14));
    CHECK(plan.bytes() == before + half);
    CHECK(plan.half_twiddles() == w);
    CHECK(plan.bytes() == before + half);
  }
}
