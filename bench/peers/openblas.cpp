// Only the matrix products of some of our cases: the time that an array library without overhead would take.
// REEL_NUM_THREADS = 2 halves the rows of every result between two threads, each with a single-threaded OpenBLAS.
#include <cblas.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "../common/protocol.hpp"
#include "lapack.hpp"

namespace {

using bench::Body, bench::Case;

int threads() {
  const char* text = std::getenv("REEL_NUM_THREADS");
  return text ? std::atoi(text) : 1;
}

// A second thread, which waits for work without sleeping while a run lasts.
class Helper {
 public:
  Helper() : thread_([this] { loop(); }) {}
  ~Helper() {
    stop_ = true;
    ask();
    thread_.join();
  }
  // f(0) here and f(1) there.
  template <class F>
  void halves(F f) {
    work_ = [&f] { f(1); };
    ask();
    f(0);
    while (done_.load() != asked_.load()) std::this_thread::yield();
  }

 private:
  void ask() {
    ++asked_;
    asked_.notify_one();
  }
  void loop() {
    for (unsigned seen = 0;;) {
      for (int i = 0; i < 2000 && asked_.load() == seen; ++i) std::this_thread::yield();
      asked_.wait(seen);
      seen = asked_.load();
      if (stop_) return;
      work_();
      done_ = seen;
    }
  }
  std::function<void()> work_;
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> asked_ = 0, done_ = 0;
  std::thread thread_;
};

struct Product {
  CBLAS_TRANSPOSE ta, tb;
  int m, n, k;
  std::vector<float> a, b, c;

  Product(CBLAS_TRANSPOSE ta_, CBLAS_TRANSPOSE tb_, int m_, int n_, int k_)
      : ta(ta_),
        tb(tb_),
        m(m_),
        n(n_),
        k(k_),
        a(bench::uniform<float>(std::int64_t{m} * k, -1, 1, 1)),
        b(bench::uniform<float>(std::int64_t{k} * n, -1, 1, 2)),
        c(static_cast<std::size_t>(std::int64_t{m} * n)) {}
  void rows(int first, int count) {
    const int lda = ta == CblasNoTrans ? k : m, ldb = tb == CblasNoTrans ? n : k;
    const std::int64_t skipped = first;
    const float* part = a.data() + (ta == CblasNoTrans ? skipped * k : skipped);
    cblas_sgemm(CblasRowMajor, ta, tb, count, n, k, 1, part, lda, b.data(), ldb, 0, c.data() + skipped * n, n);
  }
};

Case products(const char* name, std::vector<std::array<int, 3>> sizes, bool first_has_no_input_gradient) {
  return {.name = name,
          .make =
              [=] {
                auto list = std::make_shared<std::vector<Product>>();
                for (std::size_t i = 0; i < sizes.size(); ++i) {
                  const auto [m, n, k] = sizes[i];
                  list->emplace_back(CblasNoTrans, CblasNoTrans, m, n, k);
                  list->emplace_back(CblasTrans, CblasNoTrans, k, n, m);
                  if (i || !first_has_no_input_gradient) list->emplace_back(CblasNoTrans, CblasTrans, m, k, n);
                }
                auto helper = threads() > 1 ? std::make_shared<Helper>() : nullptr;
                return Body{[=] {
                  for (Product& p : *list) {
                    if (!helper || std::int64_t{p.m} * p.n * p.k < 1000000) {
                      p.rows(0, p.m);
                      continue;
                    }
                    const int half = p.m / 2;
                    helper->halves([&](int i) { i ? p.rows(half, p.m - half) : p.rows(0, half); });
                  }
                }};
              },
          .tolerance = 0};
}

}  // namespace

int main() {
  openblas_set_num_threads(1);
  bench::Program program;
  program.about("openblas_core", openblas_get_corename());
  program.add(products("matmul 6^3, gradient for a given cotangent", {{6, 6, 6}}, false));
  program.add(products("matmul 32^3, gradient for a given cotangent", {{32, 32, 32}}, false));
  program.add(products("matmul 128^3, gradient for a given cotangent", {{128, 128, 128}}, false));
  program.add(products("sum(matmul) 1024^3, gradient", {{1024, 1024, 1024}}, false));
  program.add(products("matmul 1024^3, gradient for a given cotangent", {{1024, 1024, 1024}}, false));
  program.add(
      products("MLP 784-256-128-10, batch 64, SGD step", {{64, 256, 784}, {64, 128, 256}, {64, 10, 128}}, true));
  program.add(products("MLP 784-1024-1024-10, batch 256, SGD step",
                       {{256, 1024, 784}, {256, 1024, 1024}, {256, 10, 1024}}, true));
  add_lapack(program);
  return program.serve();
}
