// FFTW with plans by FFTW_ESTIMATE, made before the time is taken, on one thread.
#include <fftw3.h>

#include <memory>

#include "../common/protocol.hpp"

namespace {

// Deletes what FFTW has allocated.
struct Free {
  void operator()(fftw_complex* x) const { fftw_free(x); }
};
struct Transform {
  std::size_t n;
  std::unique_ptr<fftw_complex[], Free> x, y;
  fftw_plan plan;
  explicit Transform(std::int64_t length)
      : n(static_cast<std::size_t>(length)),
        x(fftw_alloc_complex(n)),
        y(fftw_alloc_complex(n)),
        plan(fftw_plan_dft_1d(static_cast<int>(n), x.get(), y.get(), FFTW_FORWARD, FFTW_ESTIMATE)) {
    const std::vector<double> re = bench::uniform<double>(length, -1, 1, 1),
                              im = bench::uniform<double>(length, -1, 1, 2);
    for (std::size_t i = 0; i < n; ++i) x[i][0] = re[i], x[i][1] = im[i];
  }
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;
  ~Transform() { fftw_destroy_plan(plan); }
};

bench::Case transform(std::int64_t length) {
  return {.name = bench::transform_name(length),
          .make =
              [length] {
                const auto t = std::make_shared<Transform>(length);
                return bench::Body{[t] { fftw_execute(t->plan); },
                                   [t] {
                                     fftw_execute(t->plan);
                                     bench::Checksum sum;
                                     for (const int part : {0, 1})
                                       for (std::size_t i = 0; i < t->n; ++i) sum.add(&t->y[i][part], 1);
                                     return sum.value();
                                   }};
              },
          .tolerance = 1e-6};
}

}  // namespace

int main() {
  bench::Program program;
  for (const std::int64_t n : bench::transform_lengths) program.add(transform(n));
  return program.serve();
}
