// The first use of each part of the library, in a fresh process for each memory request that can fail in it, once or
// from then on. Only bad_alloc may be thrown. Afterwards the same code gives the right result, and no tensor is left.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <reel/debug.hpp>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>
#include <string>
#include <thread>

#include "support/child.hpp"
#include "support/failing_allocations.hpp"

using namespace reel;
using support::Fails;

namespace {

// Each computes something and returns whether it is right. The library throws what they throw.
bool first_op() { return (scalar(2.0) * 3.0).item() == 6; }
bool first_gradient() {
  const Tensor x = scalar(3.0);
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(x * x, x).dense().item() == 6;
}
bool first_parallel_loop() {
  set_num_threads(2);
  const std::int64_t n = 1 << 20;
  return sum(full({n}, 2.0) * 3.0).item() == 6.0 * static_cast<double>(n);
}
bool first_product() {
  set_num_threads(2);
  return sum(matmul(ones({600, 600}), ones({600, 600}))).item() == 600.0 * 600 * 600;
}
bool first_elementwise() {
  const Tensor y = elementwise([](auto x) { return x * x + 1.0; }, full({10}, 2.0));
  return sum(y).item() == 50;
}
bool first_anomaly_guard() {
  const AnomalyGuard guard;
  return first_gradient();
}
std::string trace_path() { return "first_allocations." + std::to_string(getpid()) + ".json"; }
bool first_trace() {
  const std::string path = trace_path();
  bool right;
  {
    const ChromeTraceGuard guard(path);
    right = first_gradient();
  }
  return right;
}
bool first_loop_and_custom() {
  const auto f =
      custom_gradient([](const Tensor& x) { return std::pair(x * x, [x](const Tensor& dy) { return dy * x * 2.0; }); });
  const Tensor x = scalar(2.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = while_loop([](const Tensor& s) { return s.item() < 10; }, f, x);
  return tape.gradient(y, x).dense().item() == 32;
}

struct Scenario {
  const char* name;
  bool (*run)();
};
constexpr Scenario scenarios[] = {
    {"first op", first_op},
    {"first gradient", first_gradient},
    {"first parallel loop", first_parallel_loop},
    {"first matrix product", first_product},
    {"first elementwise", first_elementwise},
    {"first anomaly guard", first_anomaly_guard},
    {"first Chrome trace", first_trace},
    {"first loop over a custom gradient", first_loop_and_custom},
};

enum Outcome : int { completed = 0, bad_alloc = 1, wrong = 2, wrong_afterwards = 3, leaked = 4, other = 5 };
const char* const meanings[] = {"completed",          "bad_alloc",    "wrong result", "wrong result afterwards",
                                "tensors are leaked", "another error"};

// Runs it with failures and then without; in its process when called.
Outcome attempt(const Scenario& s, std::int64_t n, Fails how, std::int64_t& requests) {
  Outcome outcome = completed;
  support::fail_allocation(n, how);
  try {
    if (!s.run()) outcome = wrong;
  } catch (const std::bad_alloc&) {
    outcome = bad_alloc;
  } catch (const std::exception& e) {
    std::printf("%s: %s\n", s.name, e.what());
    outcome = other;
  }
  requests = support::allocation_requests();
  support::allow_allocations();
  if (outcome > bad_alloc) return outcome;
  for (int again = 0; again < 2; ++again)
    if (!s.run()) return wrong_afterwards;
  std::filesystem::remove(trace_path());
  return memory_stats().live_tensors != 0 ? leaked : outcome;
}
// The same in the first use by another thread.
Outcome attempt_in_thread(const Scenario& s, std::int64_t n, Fails how, std::int64_t& requests) {
  Outcome outcome = completed;
  std::thread([&] { outcome = attempt(s, n, how, requests); }).join();
  return outcome;
}

int problems = 0, runs = 0;

template <class Attempt>
void check(const Scenario& s, const char* where, Attempt attempted) {
  std::int64_t requests = 0;
  int hit = 0;
  for (const Fails how : {Fails::once, Fails::for_ever}) {
    for (std::int64_t n = 0;; ++n) {
      const support::Ending e = support::in_child([&] {
        std::int64_t seen = 0;
        const Outcome o = attempted(s, n, how, seen);
        return seen <= n ? 50 + static_cast<int>(o) : static_cast<int>(o);  // 50: there is no request n
      });
      ++runs;
      if (e.signal == 0 && e.status == 50) break;
      hit += e.signal == 0 && e.status == bad_alloc;
      if (e.signal || e.status > bad_alloc) {
        ++problems;
        std::printf("%s%s, request %lld fails %s: it %s%s%s\n", s.name, where, static_cast<long long>(n),
                    how == Fails::once ? "once" : "for ever", to_string(e).c_str(), e.signal ? "" : ": ",
                    e.signal || e.status % 50 > other ? "" : meanings[e.status % 50]);
      }
      if (n > 5000 || problems > 40) return;
      requests = n;
    }
  }
  std::printf("%s%s: %lld requests, %d of the failures came out as bad_alloc\n", s.name, where,
              static_cast<long long>(requests + 1), hit);
  if (hit == 0) {
    ++problems;
    std::printf("%s%s: no failure came out, so nothing was tested\n", s.name, where);
  }
}

}  // namespace

int main(int, char** argv) {
  // OpenBLAS starts threads of its own anew in a child, and raises SIGINT when it cannot.
  if (!std::getenv("OPENBLAS_NUM_THREADS")) {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  for (const Scenario& s : scenarios) {
    check(s, "", attempt);
    check(s, " of a thread", attempt_in_thread);
  }
  std::printf("%d processes, %d problems\n", runs, problems);
  return problems != 0;
}
