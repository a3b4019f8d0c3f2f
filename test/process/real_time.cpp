// The promise of README.md for calls in the steady state: no system call, no page fault, no allocation. Each case runs
// in a process of its own. It warms up, then makes its calls once counted and once under a filter that kills the
// process at its first system call.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <reel/compile.hpp>
#include <reel/elementwise.hpp>
#include <reel/geometry.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "budget/counted_allocations.hpp"
#include "support/child.hpp"

using namespace reel;

namespace {

constexpr int many = 100000, few = 1000;  // calls of what is compiled, and of what is not

Tensor ramp(const Shape& shape) { return reshape(linspace(-1., 1., shape.elements()), shape); }

// ---- what is called

struct Network {
  Variable w1{ramp({6, 8})}, b1{zeros({8})}, w2{ramp({8, 2})};
  auto leaves() { return std::tie(w1, b1, w2); }
  Tensor loss(const Tensor& x, const Tensor& y) { return mean(square(matmul(tanh(matmul(x, w1) + b1), w2) - y)); }
};

template <class F>
auto repeated(F f) {
  return [f](int times) mutable {
    for (int i = 0; i < times; ++i) f();
  };
}

void compiled_step(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  Adam adam({.learning_rate = 1e-6});
  const auto step = compile([&](const Tensor& a, const Tensor& b) {
    GradientTape tape;
    const Tensor loss = n.loss(a, b);
    adam.step(tape.gradient(loss, n), n);
    return loss;
  });
  measure(many, repeated([&] { static_cast<void>(step(x, y)); }));
}

void gradient_through_a_call(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  const auto loss = compile([&](const Tensor& a, const Tensor& b) { return n.loss(a, b); });
  measure(many, repeated([&] {
            GradientTape tape;
            tape.watch(x);
            static_cast<void>(tape.gradient(loss(x, y), x));
          }));
}

void compiled_rollout(const auto& measure) {
  const Tensor x = ramp({4}), gain = ramp({4});
  const auto f = compile([](const Tensor& start, const Tensor& k) {
    GradientTape tape;
    tape.watch(k);
    const Tensor last = fori_loop(
        0, 20, [k](const Tensor&, const Tensor& s) { return s + 0.01 * (sin(s) - k * s); }, start);
    return *tape.gradient(sum(last * last), k);
  });
  measure(many / 10, repeated([&] { static_cast<void>(f(x, gain)); }));
}

// The loop is unrolled: fused programs have more operands than their scratch memory on the stack holds.
void compiled_horizon(const auto& measure) {
  const auto f = [](const Tensor& y, const Tensor& u) {
    const Tensor thrust = u(0) + u(1);
    return stack({y(3), y(4), y(5), -thrust * sin(y(2)), thrust * cos(y(2)) - 9.81, 4 * (u(0) - u(1))});
  };
  const auto cost = [f](const Tensor& start, const Tensor& controls) {
    Tensor y = start, sum_of_steps = scalar(0.);
    for (int k = 0; k < 20; ++k) {
      const Tensor u = controls[k], half = y + 0.025 * f(y, u);
      y = y + 0.05 * f(half, u);
      sum_of_steps = sum_of_steps + sum(square(y)) + 0.01 * sum(square(u - 4.905));
    }
    return sum_of_steps;
  };
  const auto step = compile([cost](const Tensor& y, const Tensor& u) { return u - 0.05 * grad<1>(cost)(y, u); });
  const Tensor start = ramp({6}), controls = full({20, 2}, 4.9);
  measure(many / 10, repeated([&] { static_cast<void>(step(start, controls)); }));
}

void eager_motions(const auto& measure) {
  const Tensor x = ramp({2, 6});
  measure(few, repeated([&] { static_cast<void>(se3_log(matmul(se3_exp(x)[0], se3_exp(x)))); }));
}

void eager_step(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  Adam adam({.learning_rate = 1e-6});
  measure(few, repeated([&] {
            GradientTape tape;
            const Tensor loss = n.loss(x, y);
            adam.step(tape.gradient(loss, n), n);
          }));
}

void eager_elementwise(const auto& measure) {
  const Tensor x = ramp({64}), y = ramp({64});
  const auto f = elementwise([](auto a, auto b) { return exp(a) * b + sin(b); });
  measure(few, repeated([&] {
            GradientTape tape;
            tape.watch(x);
            static_cast<void>(tape.gradient(sum(f(x, y) + elementwise([](auto a) { return a * a; }, x)), x));
          }));
}

void eager_slices(const auto& measure) {
  const Tensor x = ramp({64});
  measure(few, repeated([&] {
            GradientTape tape;
            tape.watch(x);
            const Tensor y = concatenate({slice(x, {range(32, 64)}), slice(x, {range(0, 32)})});
            static_cast<void>(tape.gradient(sum(y * y) + x[3], x));
          }));
}

// Results that no tape follows: it notes why, and frees the notes.
void eager_unrecorded(const auto& measure) {
  const Tensor x = ramp({64});
  measure(few, repeated([&] {
            GradientTape tape;
            tape.watch(x);
            const Tensor fixed = stop_gradient(x * x), sign = cast(x > 0, DType::float64);
            static_cast<void>(argmax(x, 0));
            static_cast<void>(tape.gradient(sum(x * fixed * sign), x));
          }));
}

// ---- how it is measured

long faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt + used.ru_majflt;
}

// From here on a system call of this thread other than exit_group kills the process. Threads of OpenBLAS may be alive:
// exit, which SECCOMP_MODE_STRICT allows in place of exit_group, would end this one alone.
bool forbid_system_calls() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{4, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int mistakes = 0;

// Runs f in a process, which returns 1 for allocations and 2 for page faults, and is killed by a system call. The
// system may move a page, so the minimum of three rounds counts.
template <class F>
void expect_quiet(const char* name, const F& f) {
  const support::Ending e = support::in_child([&] {
    f([&](int times, auto call) {
      warm_up();
      call(10);
      long allocated = -1, faulted = -1;
      for (int round = 0; round < 3 && (allocated != 0 || faulted != 0); ++round) {
        const long allocated_before = allocations, faulted_before = faults();
        call(times);
        allocated = allocations - allocated_before;
        faulted = faults() - faulted_before;
      }
      if (allocated > 0 || faulted > 0)
        std::printf("%s, %d calls: %ld allocations, %ld page faults\n", name, times, allocated, faulted);
      std::fflush(stdout);
      if (!forbid_system_calls()) _exit(4);
      call(times);
      _exit((allocated > 0 ? 1 : 0) + (faulted > 0 ? 2 : 0));
    });
    return 5;
  });
  if (e.signal == 0 && e.status == 0) return;
  ++mistakes;
  std::printf("not quiet: %s: %s\n", name, to_string(e).c_str());
}

// ---- warm_up

long tasks() {
  long count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
  return count;
}

int warmed_up() {
  set_num_threads(2);
  warm_up();
  const long before = tasks();
  const std::int64_t misses = memory_stats().pool_misses;
  for (std::int64_t n = 1; n < 1500; n += 7) static_cast<void>(zeros({n}) + 1.);
  if (memory_stats().pool_misses != misses) return 1;
  const Tensor x = zeros({1 << 20}), y = exp(x) + x;  // large enough for both threads
  if (before < 2 || tasks() != before) return 2;
  try {
    set_isa(isa());
    return 3;
  } catch (const ValueError&) {
    return 0;  // it is fixed
  }
}

}  // namespace

int main() {
  set_num_threads(1);
  expect_quiet("a compiled step", [](const auto& measure) { compiled_step(measure); });
  expect_quiet("a gradient through a compiled call", [](const auto& measure) { gradient_through_a_call(measure); });
  expect_quiet("a compiled rollout", [](const auto& measure) { compiled_rollout(measure); });
  expect_quiet("a compiled horizon", [](const auto& measure) { compiled_horizon(measure); });
  expect_quiet("motions", [](const auto& measure) { eager_motions(measure); });
  expect_quiet("a step op by op", [](const auto& measure) { eager_step(measure); });
  expect_quiet("elementwise", [](const auto& measure) { eager_elementwise(measure); });
  expect_quiet("slices", [](const auto& measure) { eager_slices(measure); });
  expect_quiet("unrecorded", [](const auto& measure) { eager_unrecorded(measure); });
  if (const support::Ending e = support::in_child(warmed_up); e.signal != 0 || e.status != 0) {
    ++mistakes;
    std::printf("warm_up: %s\n", to_string(e).c_str());
  }
  return mistakes == 0 ? 0 : 1;
}
