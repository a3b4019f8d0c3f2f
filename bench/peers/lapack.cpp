// LAPACK alone, by OpenBLAS on one thread: the calls that a factorisation of these matrices takes, on a copy of each
// matrix. In rows with a gradient it computes the values only, so that their ratio is the cost of the derivative.
#include "lapack.hpp"

#include <algorithm>
#include <memory>

extern "C" {
void dpotrf_(const char*, const int*, double*, const int*, int*, std::size_t);
void dgesv_(const int*, const int*, double*, const int*, int*, double*, const int*, int*);
void dgetrf_(const int*, const int*, double*, const int*, int*, int*);
void dgetri_(const int*, double*, const int*, const int*, double*, const int*, int*);
void dgeqrf_(const int*, const int*, double*, const int*, double*, double*, const int*, int*);
void dorgqr_(const int*, const int*, const int*, double*, const int*, const double*, double*, const int*, int*);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,
             const int*, double*, const int*, int*, int*, std::size_t);
}

namespace {

// One matrix, its results and the memory that LAPACK works in.
struct Work {
  int n, length = 64 * n + 8 * n * n, info = 0;
  std::vector<double> a, b, c, values, memory;
  std::vector<int> whole;
  explicit Work(int size)
      : n(size),
        a(area()),
        b(area()),
        c(area()),
        values(static_cast<std::size_t>(n)),
        memory(static_cast<std::size_t>(length)),
        whole(static_cast<std::size_t>(8 * n + 16)) {}
  std::size_t area() const { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
};

void cholesky(Work& w) { dpotrf_("U", &w.n, w.a.data(), &w.n, &w.info, 1); }
void solve(Work& w) {
  std::copy(w.a.begin(), w.a.end(), w.b.begin());
  dgesv_(&w.n, &w.n, w.a.data(), &w.n, w.whole.data(), w.b.data(), &w.n, &w.info);
}
void inverse(Work& w) {
  dgetrf_(&w.n, &w.n, w.a.data(), &w.n, w.whole.data(), &w.info);
  dgetri_(&w.n, w.a.data(), &w.n, w.whole.data(), w.memory.data(), &w.length, &w.info);
}
void qr(Work& w) {
  dgeqrf_(&w.n, &w.n, w.a.data(), &w.n, w.values.data(), w.memory.data(), &w.length, &w.info);
  std::copy(w.a.begin(), w.a.end(), w.b.begin());
  dorgqr_(&w.n, &w.n, &w.n, w.a.data(), &w.n, w.values.data(), w.memory.data(), &w.length, &w.info);
}
void eigh(Work& w) {
  const int whole = static_cast<int>(w.whole.size());
  dsyevd_("V", "L", &w.n, w.a.data(), &w.n, w.values.data(), w.memory.data(), &w.length, w.whole.data(), &whole,
          &w.info, 1, 1);
}
void svd(Work& w) {
  dgesdd_("S", &w.n, &w.n, w.a.data(), &w.n, w.values.data(), w.b.data(), &w.n, w.c.data(), &w.n, w.memory.data(),
          &w.length, w.whole.data(), &w.info, 1);
}

// u, or (u + u^T) / 2 + shift.
std::vector<double> matrices(int count, int n, bool symmetric, double shift) {
  const std::size_t size = static_cast<std::size_t>(n), area = size * size;
  const std::vector<double> u = bench::uniform<double>(static_cast<std::int64_t>(area) * count, -1, 1, 1);
  std::vector<double> a = u;
  for (std::size_t k = 0; symmetric && k < static_cast<std::size_t>(count); ++k)
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        a[k * area + i * size + j] =
            0.5 * (u[k * area + i * size + j] + u[k * area + j * size + i]) + (i == j ? shift : 0);
  return a;
}

struct Factorisation {
  const char* name;
  void (*run)(Work& w);
  bool symmetric, positive;
};

bench::Case factorisation(const Factorisation& f, int count, int n, const char* rest) {
  return {.name = std::string(f.name) + " of " + std::to_string(count) + " x [" + std::to_string(n) + "," +
                  std::to_string(n) + "], f64" + rest,
          .make =
              [f, count, n] {
                const auto all =
                    std::make_shared<std::vector<double>>(matrices(count, n, f.symmetric, f.positive ? n : 0));
                const auto work = std::make_shared<Work>(n);
                return bench::Body{[=] {
                  for (int k = 0; k < count; ++k) {
                    std::copy_n(all->begin() + static_cast<std::ptrdiff_t>(work->area()) * k, work->area(),
                                work->a.begin());
                    f.run(*work);
                  }
                  if (work->info != 0) throw std::runtime_error(std::string(f.name) + ": LAPACK refuses the matrix");
                }};
              },
          .tolerance = 0};
}

}  // namespace

void add_lapack(bench::Program& program) {
  constexpr Factorisation all[] = {{"cholesky", cholesky, true, true}, {"solve", solve, false, false},
                                   {"inverse", inverse, false, false}, {"qr", qr, false, false},
                                   {"eigh", eigh, true, false},        {"svd", svd, false, false}};
  for (const Factorisation& f : all)
    for (const auto& [count, n] : {std::pair{1, 32}, {1, 256}, {1000, 4}, {100, 16}})
      for (const char* rest : {"", ", with the gradient"}) program.add(factorisation(f, count, n, rest));
}
