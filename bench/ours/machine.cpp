// The memory bandwidth of plain loops, to which the ops are compared: 10^7 floats from memory, split over the threads
// of the run. "stream": stores bypass the caches, where the processor can (AVX).
#ifdef __AVX__
#include <immintrin.h>
#endif

#include <array>
#include <thread>

#include "cases.hpp"

namespace bench {

namespace {

constexpr std::int64_t large = 10000000;

// f(first, last) on equal parts, each in a thread of its own.
template <class F>
void in_parts(F f) {
  const int parts = reel::num_threads();
  std::vector<std::thread> threads;
  const auto bound = [&](int i) { return large / parts * i / 64 * 64; };
  for (int i = 1; i < parts; ++i) threads.emplace_back([=] { f(bound(i), i + 1 == parts ? large : bound(i + 1)); });
  f(std::int64_t{0}, parts == 1 ? large : bound(1));
  for (std::thread& t : threads) t.join();
}

struct Arrays {
  std::unique_ptr<float[], decltype(&std::free)> a = make(), b = make(), c = make();
  static std::unique_ptr<float[], decltype(&std::free)> make() {
    auto* p = static_cast<float*>(std::aligned_alloc(64, sizeof(float) * large));
    std::fill(p, p + large, 1.f);
    return {p, &std::free};
  }
};

template <class F>
Case kernel(const char* name, int arrays, F f) {
  return {.name = std::string("machine: ") + name,
          .make =
              [f] {
                const auto data = std::make_shared<Arrays>();
                return Body{[=] {
                  in_parts([=](std::int64_t first, std::int64_t last) {
                    f(data->a.get(), data->b.get(), data->c.get(), first, last);
                  });
                }};
              },
          .unit_count = large,
          .unit = "element",
          .bytes = 4. * arrays * large};
}

#ifdef __AVX__
void stream(float* to, const float* a, const float* b, std::int64_t first, std::int64_t last) {
  std::int64_t i = first;
  for (; i + 8 <= last; i += 8) {
    const __m256 x = _mm256_load_ps(a + i);
    _mm256_stream_ps(to + i, b ? _mm256_add_ps(x, _mm256_load_ps(b + i)) : x);
  }
  for (; i < last; ++i) to[i] = b ? a[i] + b[i] : a[i];
  _mm_sfence();
}
#endif

}  // namespace

std::vector<Case> machine_cases() {
  return {
      kernel("read", 1,
             [](const float* a, const float*, float*, std::int64_t first, std::int64_t last) {
               std::array<float, 128> sums{};
               std::int64_t i = first;
               for (; i + 128 <= last; i += 128)
                 for (std::int64_t k = 0; k < 128; ++k) sums[static_cast<std::size_t>(k)] += a[i + k];
               for (const float s : sums) {
                 volatile float sink = s;
                 static_cast<void>(sink);
               }
             }),
      kernel("copy", 2,
             [](const float* a, const float*, float* c, std::int64_t first, std::int64_t last) {
               for (std::int64_t i = first; i < last; ++i) c[i] = a[i] + 0.f;  // not memcpy
             }),
      kernel("add", 3,
             [](const float* a, const float* b, float* c, std::int64_t first, std::int64_t last) {
               for (std::int64_t i = first; i < last; ++i) c[i] = a[i] + b[i];
             }),
#ifdef __AVX__
      kernel("stream copy", 2,
             [](const float* a, const float*, float* c, std::int64_t first, std::int64_t last) {
               stream(c, a, nullptr, first, last);
             }),
      kernel("stream add", 3,
             [](const float* a, const float* b, float* c, std::int64_t first, std::int64_t last) {
               stream(c, a, b, first, last);
             }),
#endif
  };
}

}  // namespace bench
