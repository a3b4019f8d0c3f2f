// What a program may set before its first op, and what the library leaves unchanged: the instruction set, OpenBLAS's
// core type and threads, the environment. Each case runs in a process of its own.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <reel/reel.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

extern "C" {
extern char** environ;
void openblas_set_num_threads(int count);
int openblas_get_num_threads();
char* openblas_get_corename();
}

using namespace reel;

namespace {

int mistakes = 0;
void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++mistakes;
  std::printf("not so: %s\n", what.c_str());
}
template <class F>
bool is_value_error(const F& f, const char* part) {
  try {
    f();
  } catch (const ValueError& e) {
    if (std::strstr(e.what(), part)) return true;
    std::printf("the message is: %s\n", e.what());
  }
  return false;
}
void use() { static_cast<void>((scalar(1.0) + 2.0).item()); }

// ---- the instruction set

void pinned_sets() {
  int supported = 0;
  for (const char* name : {REEL_KNOWN_ISAS}) {
    const support::Ending e = support::in_child([&] {
      try {
        set_isa(name);
      } catch (const ValueError& error) {
        return std::strstr(error.what(), "scalar") ? 2 : 3;  // it names what there is
      }
      use();
      return isa() == name ? 0 : 1;
    });
    expect(e.signal == 0 && (e.status == 0 || e.status == 2), std::string("set_isa ") + name + " " + to_string(e));
    supported += e.status == 0;
  }
  expect(supported > 0, "this machine has an instruction set");
}
void a_set_before_the_first_op() {
  const std::string best(isa());
  expect(is_value_error([] { set_isa("sse9"); }, "'sse9'"), "an unknown set is refused");
  expect(is_value_error([] { set_num_threads(0); }, "at least 1"), "no thread is too few");
  expect(isa() == best, "a refused set changes nothing");
  set_isa("scalar");
  expect(isa() == "scalar", "isa() names the pinned set");
  use();
  expect(is_value_error([] { set_isa("scalar"); }, "before the first tensor"), "after the first op it is too late");
  expect(isa() == "scalar", "and changes nothing");
}
void a_set_after_a_tape() {
  const GradientTape tape;
  expect(is_value_error([] { set_isa("scalar"); }, "before the first tensor"), "after the first tape it is too late");
}
void a_set_in_place_of_a_wrong_one() {  // with REEL_ISA=nonsense
  expect(is_value_error([] { set_isa("sse9"); }, "'sse9'"), "set_isa reports its own argument first");
  expect(is_value_error([] { isa(); }, "REEL_ISA"), "a wrong REEL_ISA is reported");
  expect(is_value_error(use, "REEL_ISA"), "by the first op as well");
  set_isa("scalar");
  use();
  expect(isa() == "scalar", "set_isa wins over REEL_ISA");
}

// ---- OpenBLAS

// Sums of 300 terms per element, several tiles, and factorisations, whose bits threads of OpenBLAS would change.
std::string products() {
  std::string bits;
  const std::int64_t n = 700;
  std::vector<double> numbers(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * 7919 % 10007) / 10007.0 - 0.3;
  const Tensor a = reshape(from_data(numbers), {n, n}), b = cast(a, DType::float32);
  const Tensor spd = matmul(a, transpose(a)) + eye(n) * 30.0;
  for (const Tensor& x : {matmul(a, a), cast(matmul(b, b), DType::float64), spd, cholesky(spd), inverse(spd),
                          solve(spd, slice(a, {all, range(0, 3)})), matmul(a, slice(a, {all, 0}))}) {
    const Tensor y = contiguous(x);
    bits.append(reinterpret_cast<const char*>(y.data<double>().data()), y.data<double>().size_bytes());
  }
  return bits;
}
void threads_of_the_host() {
  const std::string expected = products();
  for (const int count : {2, 4, 1, 3}) {
    openblas_set_num_threads(count);
    expect(products() == expected, "the same bits after the host gave OpenBLAS " + std::to_string(count) + " threads");
    expect(openblas_get_num_threads() == 1, "OpenBLAS has one thread after a product");
  }
}

#if defined(__x86_64__) && defined(__linux__)
std::vector<std::string> environment() {
  std::vector<std::string> list;
  for (char** v = environ; v && *v; ++v) list.emplace_back(*v);
  return list;
}

// With OPENBLAS_CORETYPE=Prescott while OpenBLAS was loaded: as if it did not know the processor.
void tuning() {
  unsetenv("OPENBLAS_CORETYPE");
  char** const block = environ;
  const std::vector<std::string> before = environment();
  const std::string core = openblas_get_corename();
  expect(core == "Prescott", "loading the library leaves OpenBLAS's core type alone: " + core);
  const BlasTuning t = tune_blas();
  expect(t.before == core && t.now == openblas_get_corename() && !t.reason.empty(), "it says what it changed");
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    expect(t.now == "SkylakeX", "the core type of a processor with AVX-512: " + std::string(t.now));
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    expect(t.now == "Haswell", "the core type of a processor with AVX2: " + std::string(t.now));
  else
    expect(t.now == t.before, "an old processor keeps what it has");
  expect(environment() == before && environ != nullptr, "the environment is what it was");
  static_cast<void>(block);
  const BlasTuning again = tune_blas();
  expect(again.before == t.now && again.now == t.now, "a second call changes nothing");
  const std::string bits = products();
  threads_of_the_host();
  expect(products() == bits, "and the products keep their bits");
}
void tuning_beside_a_thread() {
  unsetenv("OPENBLAS_CORETYPE");
  bool stop = false;
  std::thread other([&] {
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) std::this_thread::yield();
  });
  const BlasTuning t = tune_blas();
  expect(t.now == "Prescott" && t.reason.find("first thing in main") != std::string_view::npos,
         "beside another thread it changes nothing and says why");
  __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
  other.join();
}
void tuning_that_the_user_forbids() {  // OPENBLAS_CORETYPE stays
  const BlasTuning t = tune_blas();
  expect(t.now == "Prescott" && t.reason.find("OPENBLAS_CORETYPE") != std::string_view::npos,
         "OPENBLAS_CORETYPE has the last word");
}
#endif

struct Case {
  const char* name;
  void (*run)();
  const char* variable = nullptr;  // of the environment in which the program starts
  const char* value = nullptr;
};
constexpr Case cases[] = {
    {"pinned sets", pinned_sets},
    {"a set before the first op", a_set_before_the_first_op},
    {"a set after a tape", a_set_after_a_tape},
    {"a set in place of a wrong one", a_set_in_place_of_a_wrong_one, "REEL_ISA", "nonsense"},
    {"threads of the host", threads_of_the_host},
#if defined(__x86_64__) && defined(__linux__)
    {"tuning", tuning, "OPENBLAS_CORETYPE", "Prescott"},
    {"tuning beside a thread", tuning_beside_a_thread, "OPENBLAS_CORETYPE", "Prescott"},
    {"tuning that the user forbids", tuning_that_the_user_forbids, "OPENBLAS_CORETYPE", "Prescott"},
#endif
};

}  // namespace

// Without arguments: each case in a new process, with its variable.
int main(int argc, char** argv) {
  if (argc > 1) {
    cases[std::atoi(argv[1])].run();
    return mistakes != 0;
  }
  int failed = 0;
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const support::Ending e = support::in_child([&] {
      if (cases[i].variable) setenv(cases[i].variable, cases[i].value, 1);
      const std::string command = "exec " + support::own_program() + " " + std::to_string(i);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      return 97;
    });
    const bool passed = e == support::Ending{};
    failed += !passed;
    std::printf("%s: %s\n", cases[i].name, passed ? "passed" : to_string(e).c_str());
  }
  return failed != 0;
}
