// The promise of README.md for calls in the steady state: no system call, no page fault, no allocation, no mutex. Each
// case runs in a process of its own. It warms up, then makes its calls under a filter that kills the process at its
// first system call, and counts the rest.
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
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

thread_local long locks = 0;  // mutexes that this thread locked

template <class Mutex>
int lock_by(const char* name, int (*&next)(Mutex*), Mutex* mutex) {
  ++locks;
  if (!next) next = reinterpret_cast<int (*)(Mutex*)>(dlsym(RTLD_NEXT, name));
  return next(mutex);
}

}  // namespace

// They replace those of the C library, also for the library under test and for the C++ library.
extern "C" {
int pthread_mutex_lock(pthread_mutex_t* m) {
  static int (*next)(pthread_mutex_t*) = nullptr;
  return lock_by("pthread_mutex_lock", next, m);
}
int pthread_mutex_trylock(pthread_mutex_t* m) {
  static int (*next)(pthread_mutex_t*) = nullptr;
  return lock_by("pthread_mutex_trylock", next, m);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* m) {
  static int (*next)(pthread_rwlock_t*) = nullptr;
  return lock_by("pthread_rwlock_rdlock", next, m);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* m) {
  static int (*next)(pthread_rwlock_t*) = nullptr;
  return lock_by("pthread_rwlock_wrlock", next, m);
}
}

namespace {

constexpr int calls = 100000;

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
  measure(repeated([&] { static_cast<void>(step(x, y)); }));
}

void gradient_through_a_call(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  const auto loss = compile([&](const Tensor& a, const Tensor& b) { return n.loss(a, b); });
  measure(repeated([&] {
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(tape.gradient(loss(x, y), x));
  }));
}

void tangents_through_a_call(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  const auto loss = compile([&](const Tensor& a, const Tensor& b) { return n.loss(a, b); });
  measure(repeated([&] { static_cast<void>(jvp([&](const Tensor& a) { return loss(a, y); }, x, x)); }));
}

// Two derivatives in turn: with respect to one argument and to both.
void second_order_through_a_call(const auto& measure) {
  const Tensor x = ramp({4, 6}), y = ramp({4, 6});
  const auto f = compile([](const Tensor& a, const Tensor& b) { return sum(sin(a * b)); });
  const auto slope_of_slope = [&](bool both) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    if (both) inner.watch(y);
    const Tensor slope = inner.gradient(f(x, y), x);
    static_cast<void>(outer.gradient(sum(slope * slope), x));
  };
  measure(repeated([&] {
    slope_of_slope(false);
    slope_of_slope(true);
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
  measure(repeated([&] { static_cast<void>(f(x, gain)); }));
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
  measure(repeated([&] { static_cast<void>(step(start, controls)); }));
}

// Calls of two signatures in turn.
void compiled_shapes(const auto& measure) {
  const Tensor small = ramp({3}), large = ramp({50});
  const auto f =
      compile([](const Tensor& x, auto rate) { return grad([&](const Tensor& y) { return sum(exp(y * rate)); })(x); });
  measure(repeated([&] {
    static_cast<void>(f(small, 0.5));
    static_cast<void>(f(large, 0.25));
  }));
}

void compiled_control_flow(const auto& measure) {
  const Tensor x = ramp({4}), rows = ramp({30, 4});
  const auto f = compile([](const Tensor& start, const Tensor& steps) {
    GradientTape tape;
    tape.watch(start);
    const Tensor settled =
        while_loop([](const Tensor& y) { return max(abs(y)) > 0.1; }, [](const Tensor& y) { return y * 0.5; }, start);
    const auto [last, path] =
        scan([](const Tensor& y, const Tensor& row) { return std::pair(sin(y) + row, y * row); }, settled, steps);
    const auto square_of = [](const Tensor& y) { return y * y; };
    const auto exp_of = [](const Tensor& y) { return exp(y); };
    return *tape.gradient(sum(cond(sum(start) > 0, square_of, exp_of, last)) + sum(path), start);
  });
  measure(repeated([&] { static_cast<void>(f(x, rows)); }));
}

void eager_motions(const auto& measure) {
  const Tensor x = ramp({2, 6});
  measure(repeated([&] { static_cast<void>(se3_log(matmul(se3_exp(x)[0], se3_exp(x)))); }));
}

void eager_step(const auto& measure) {
  Network n;
  const Tensor x = ramp({4, 6}), y = ramp({4, 2});
  Adam adam({.learning_rate = 1e-6});
  measure(repeated([&] {
    GradientTape tape;
    const Tensor loss = n.loss(x, y);
    adam.step(tape.gradient(loss, n), n);
  }));
}

void eager_elementwise(const auto& measure) {
  const Tensor x = ramp({64}), y = ramp({64});
  const auto f = elementwise([](auto a, auto b) { return exp(a) * b + sin(b); });
  measure(repeated([&] {
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(tape.gradient(sum(f(x, y) + elementwise([](auto a) { return a * a; }, x)), x));
  }));
}

void eager_slices(const auto& measure) {
  const Tensor x = ramp({64});
  measure(repeated([&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = concatenate({slice(x, {range(32, 64)}), slice(x, {range(0, 32)})});
    static_cast<void>(tape.gradient(sum(y * y) + x[3], x));
  }));
}

// Results that no tape follows: it notes why, and frees the notes.
void eager_unrecorded(const auto& measure) {
  const Tensor x = ramp({64});
  measure(repeated([&] {
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

// From here on a system call of this thread other than getrusage and exit_group kills the process. Threads of OpenBLAS
// may be alive: exit, which SECCOMP_MODE_STRICT allows in place of exit_group, would end this one alone.
bool forbid_system_calls() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{5, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

int mistakes = 0;

struct Counts {
  long allocations, faults, locks;
  bool none() const { return allocations == 0 && faults == 0 && locks == 0; }
};
Counts counted_so_far() { return {allocations, faults(), locks}; }

// Runs f in a process, which returns 1 for a count above 0 and is killed by a system call. The system may move a page,
// so the last of at most three rounds counts.
template <class F>
void expect_quiet(const char* name, const F& f) {
  static auto* counts = static_cast<Counts*>(
      mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));  // with the child
  *counts = {-1, -1, -1};
  const support::Ending e = support::in_child([&] {
    f([&](auto call) {
      warm_up();
      call(10);
      *counts = counted_so_far();
      if (!forbid_system_calls()) _exit(4);
      for (int round = 0; round < 3; ++round) {
        const Counts before = counted_so_far();
        call(calls);
        const Counts after = counted_so_far();
        *counts = {after.allocations - before.allocations, after.faults - before.faults, after.locks - before.locks};
        if (counts->none()) break;
      }
      _exit(counts->none() ? 0 : 1);
    });
    return 5;
  });
  if (e.signal == 0 && e.status == 0) return;
  ++mistakes;
  std::printf("not quiet: %s: %s; in %d calls %ld allocations, %ld page faults, %ld locks\n", name,
              to_string(e).c_str(), calls, counts->allocations, counts->faults, counts->locks);
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
  expect_quiet("tangents through a compiled call", [](const auto& measure) { tangents_through_a_call(measure); });
  expect_quiet("second order through a compiled call",
               [](const auto& measure) { second_order_through_a_call(measure); });
  expect_quiet("a compiled rollout", [](const auto& measure) { compiled_rollout(measure); });
  expect_quiet("a compiled horizon", [](const auto& measure) { compiled_horizon(measure); });
  expect_quiet("compiled calls of two shapes", [](const auto& measure) { compiled_shapes(measure); });
  expect_quiet("compiled control flow", [](const auto& measure) { compiled_control_flow(measure); });
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
