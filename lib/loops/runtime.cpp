// The instruction set in use, and the kernels of OpenBLAS. A REEL_ISA that this machine does not support is reported at
// the first use of a tensor.
#include <atomic>
#include <chrono>
#include <reel/runtime.hpp>
#include <thread>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "kernels/blas.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/set.hpp"
#include "loops/parallel.hpp"

namespace reel {

namespace {
void check_isa() {
  if (const char* problem = kernels::isa_problem()) fail_without_line<ValueError>("REEL_ISA", "{}", problem);
}
const bool installed = (detail::on_first_use = check_isa, true);
}  // namespace

std::string_view isa() {
  static_cast<void>(installed);
  check_isa();
  return kernels::active().isa;
}

void set_isa(std::string_view name) {
  if (detail::any_thread_used())
    fail_without_line<ValueError>(
        "set_isa",
        "{} comes too late: call it before the first tensor or tape of the process (REEL_ISA={} "
        "in the environment works as well)",
        name, name);
  const kernels::Set* set = kernels::find(name);
  if (!set)
    fail_without_line<ValueError>("set_isa",
                                  "'{}' is not an instruction set that this machine has and that was compiled in: {}",
                                  name, kernels::available());
  kernels::activate(*set);
}

namespace {

// One range per worker. Each waits until all have begun, for at most a few milliseconds.
void start_workers() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds most_wait(20);
  const int count = num_threads();
  const Clock::time_point end = Clock::now() + most_wait;
  std::atomic<int> begun{0};
  loops::parallel_for(count, 1, [&](std::int64_t, std::int64_t) {
    ++begun;
    while (begun.load() < count && Clock::now() < end) std::this_thread::yield();
  });
}

// OpenBLAS allocates its buffers at the first product that is not tiny.
void start_blas() {
  if constexpr (kernels::has_lapack) {
    constexpr std::ptrdiff_t n = 64;  // order of such a product
    const detail::List<float> a(n * n, 1.f);
    detail::List<float> c(n * n);
    static_cast<void>(kernels::gemm<float>(kernels::Transposed::no, kernels::Transposed::no, n, n, n, 1.f, a.data(), n,
                                           a.data(), n, 0.f, c.data(), n));
  }
}

}  // namespace

void warm_up() {
  isa();
  constexpr std::size_t smallest = 128, largest = 16 * 1024;  // size classes of the pool that come from slabs
  for (std::size_t bytes = smallest; bytes <= largest; bytes += smallest)
    detail::deallocate(detail::allocate(bytes), bytes);
  start_workers();
  start_blas();
}

BlasTuning tune_blas() {
  const std::string_view before = kernels::blas_core();
  const std::string_view reason = kernels::tune_blas();
  return {before, kernels::blas_core(), reason};
}

}  // namespace reel
