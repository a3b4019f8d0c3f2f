// The floating-point environment of the calling thread (rounding, flush-to-zero) applies in every loop, for any number
// of threads, whether it was set before or after the first parallel loop of the process; and it is unchanged
// afterwards.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cfenv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>
#include <string>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "support/child.hpp"

using namespace reel;

namespace {

struct Environment {
  const char* name;
  void (*set)();
};
const Environment environments[] = {
    {"the default", [] {}},
    {"upward", [] { std::fesetround(FE_UPWARD); }},
    {"downward", [] { std::fesetround(FE_DOWNWARD); }},
    {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }},
#if defined(__x86_64__)
    {"flush to zero", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }},  // FTZ and DAZ
    {"flush to zero, upward", [] { _mm_setcsr(_mm_getcsr() | 0x8040), std::fesetround(FE_UPWARD); }},
#endif
};

// What describes the environment; status flags are no part of it.
std::pair<int, unsigned> environment_now() {
#if defined(__x86_64__)
  return {std::fegetround(), _mm_getcsr() & ~0x3fu};
#else
  return {std::fegetround(), 0};
#endif
}

struct Family {
  const char* name;
  std::function<Tensor()> run;
};

// Operands large enough that every family uses several threads, half of them near or below the smallest normal number.
template <class T>
std::vector<Family> families() {
  const std::int64_t n = 1 << 16;
  const double tiny = sizeof(T) == 4 ? 1e-38 : 1e-307;
  std::vector<T> numbers(static_cast<std::size_t>(n)), small(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<T>(0.1 + 1.7 * static_cast<double>(i * 7919 % 10007) / 10007.0);
    small[i] = static_cast<T>(tiny * (0.001 + static_cast<double>(i * 104729 % 10007) / 10007.0));
  }
  const Tensor x = from_data(numbers), s = from_data(small), image = reshape(x, {4, 16, 32, 32});
  const Tensor matrix = reshape(x, {256, 256}), w = reshape(slice(x, {range(0, 16 * 16 * 9)}), {16, 16, 3, 3});
  return {
      {"multiply", [=] { return s * x; }},
      {"divide", [=] { return s / (x + 3.0); }},
      {"exp", [=] { return exp(x); }},
      {"tanh", [=] { return tanh(x); }},
      {"elementwise", [=] { return elementwise([](auto a, auto b) { return a * b + a / 3.0; }, s, x); }},
      {"sum", [=] { return sum(x) + sum(s); }},
      {"sum of rows",
       [=] {
         return sum(reshape(s, {256, 256}), 1) * 0.3;
       }},
      {"sum of columns",
       [=] {
         return sum(reshape(x, {256, 256}), 0);
       }},
      {"softmax", [=] { return softmax(matrix * 50.0); }},
      {"cumsum", [=] { return cumsum(matrix, 1); }},
      {"matmul", [=] { return matmul(matrix, matrix); }},
      {"matmul of tiny numbers",
       [=] {
         return matmul(reshape(s, {256, 256}), matrix);
       }},
      {"conv2d", [=] { return conv2d(image, w); }},
      {"gradient",
       [=] {
         GradientTape tape;
         tape.watch(s);
         return *tape.gradient(sum(square(s) * x + s / 7.0), s);
       }},
      {"cast", [=] { return cast(s * 1.5, sizeof(T) == 4 ? DType::float64 : DType::float32); }},
  };
}

std::string bytes_of(const Tensor& x) {
  const Tensor y = contiguous(x);
  const auto as_string = [](const auto& span) {
    return std::string(reinterpret_cast<const char*>(span.data()), span.size_bytes());
  };
  return y.dtype() == DType::float32 ? as_string(y.data<float>()) : as_string(y.data<double>());
}

// Number of differences, each of which is printed.
template <class T>
int differences(const char* what, const std::vector<Family>& list) {
  int found = 0;
  for (const Family& f : list) {
    set_num_threads(1);
    const auto before = environment_now();
    const std::string expected = bytes_of(f.run());
    for (const int threads : {2, 3, 7, 1}) {
      set_num_threads(threads);
      if (bytes_of(f.run()) != expected) {
        ++found;
        std::printf("%s, %s, %s: other bits with %d threads than with 1\n", what,
                    sizeof(T) == 4 ? "float32" : "float64", f.name, threads);
      }
    }
    if (environment_now() != before) {
      ++found;
      std::printf("%s, %s: the environment of the caller has changed\n", what, f.name);
    }
  }
  return found;
}

void parallel_loop() {
  set_num_threads(2);
  const Tensor x = full({1 << 20}, 1.5);
  static_cast<void>(sum(x * x));
}

// In a process of its own. `late`: the environment is set after the first parallel loop, otherwise before it.
int check(const Environment& e, bool late) {
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 7);
  tbb::task_arena arena(7);
  int found = 0;
  const auto run = [&] {
    std::fesetenv(FE_DFL_ENV);
    if (late) parallel_loop();
    const auto f64 = families<double>();
    const auto f32 = families<float>();
    e.set();
    const std::string what = std::string(e.name) + (late ? ", set after a loop" : ", set before the first loop");
    found += differences<double>(what.c_str(), f64) + differences<float>(what.c_str(), f32);
  };
  arena.execute(run);  // so that there are seven threads at work
  return found > 0;
}

}  // namespace

int main() {
  int failed = 0, in_effect = 0;
  const auto report = [&](const support::Ending& ending) {
    if (ending != support::Ending{}) {
      ++failed;
      std::printf("a child %s\n", to_string(ending).c_str());
    }
  };
  for (const Environment& e : environments)
    for (const bool late : {false, true}) report(support::in_child([&] { return check(e, late); }));
  // The results must depend on the environment; otherwise nothing was tested.
  for (const Environment& e : environments)
    in_effect += support::in_child([&] {
                   const std::vector<Family> list = families<double>();
                   const std::string before = bytes_of(list[0].run());
                   e.set();
                   return bytes_of(list[0].run()) != before;
                 }) == support::Ending{1, 0};
  const int expected = static_cast<int>(std::size(environments)) - 1;
  if (in_effect != expected) std::printf("%d of %d environments change a product\n", in_effect, expected);
  std::printf("%d children failed\n", failed);
  return failed != 0 || in_effect != expected;
}
