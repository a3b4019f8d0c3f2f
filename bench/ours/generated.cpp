// What generate_c gives, beside code written by hand: the time of a rollout's value and gradient, its bytes of machine
// code, the time to generate and compile it, and that of 30 000 straight operations. Prints the rows of
// bench/README.md, section "Generated C". Not a part of bench/run, because it calls a C compiler.
//
// Usage: bench_generated [COMPILER], a command with its flags; gcc -O2 -fno-math-errno -march=native if there is none.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <reel/codegen.hpp>
#include <reel/control.hpp>
#include <reel/reel.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "../peers/rollout.hpp"

using reel::Tensor;

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// ---- A planar quadrotor over 50 steps, as in peers/rollout.hpp

using State = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
State step_from(const State& s, const Tensor& u) {
  const auto& [x, z, angle, vx, vz, spin, cost] = s;
  const Tensor left = u(0), right = u(1), thrust = left + right;
  const Tensor vx1 = vx - 0.02 * (thrust * sin(angle)), vz1 = vz + 0.02 * (thrust * cos(angle) - 9.81);
  const Tensor spin1 = spin + 0.02 * (4. * (left - right)), x1 = x + 0.02 * vx1, z1 = z + 0.02 * vz1;
  const Tensor angle1 = angle + 0.02 * spin1;
  return {x1, z1, angle1, vx1, vz1, spin1, cost + square(x1 - 1.) + square(z1 - 1.) + 0.1 * square(angle1)};
}
State start() {
  const Tensor o = reel::scalar(0.);
  return {o, o, o, o, o, o, o};
}
Tensor by_scan(const Tensor& thrusts) {
  const auto step = [](const State& s, const Tensor& u) { return std::pair(step_from(s, u), reel::scalar(0.)); };
  return std::get<6>(scan(step, start(), thrusts, {.compiled = true}).first);
}
Tensor unrolled(const Tensor& thrusts) {
  State s = start();
  for (std::int64_t k = 0; k < 50; ++k) s = step_from(s, thrusts(k));
  return std::get<6>(s);
}

// ---- Compiling

struct Built {
  void* function = nullptr;
  double generate = 0, compile = 0;  // seconds
  long text = 0;                     // bytes
  reel::CodegenStats stats = {};
};

std::string folder, compiler = "gcc -O2 -std=c99 -fno-math-errno -march=native";

long text_of(const std::string& object) {
  FILE* const size = popen(("size " + object + " | tail -1").c_str(), "r");
  long text = 0;
  if (!size || std::fscanf(size, "%ld", &text) != 1) text = -1;
  if (size) pclose(size);
  return text;
}

template <class F>
Built build(const std::string& name, const F& f, const Tensor& x) {
  Built b;
  auto begin = Clock::now();
  const reel::CSource c = reel::generate_c(f, {.name = name}, x);
  c.write(folder);
  b.generate = seconds_since(begin);
  b.stats = c.stats();
  const std::string file = folder + "/" + name;
  begin = Clock::now();
  if (std::system((compiler + " -fPIC -c " + file + ".c -o " + file + ".o").c_str()) != 0) std::exit(1);
  b.compile = seconds_since(begin);
  b.text = text_of(file + ".o");
  if (std::system((compiler + " -shared " + file + ".o -lm -o " + file + ".so").c_str()) != 0) std::exit(1);
  void* const library = dlopen((file + ".so").c_str(), RTLD_NOW);
  b.function = library ? dlsym(library, name.c_str()) : nullptr;
  if (!b.function) std::exit(1);
  return b;
}

// The lowest decile of 60 samples of about 0.2 ms each, of each function in turn: microseconds.
std::vector<double> times(const std::vector<std::function<void()>>& functions) {
  constexpr int samples = 60, calls = 200;
  std::vector<std::vector<double>> all(functions.size());
  for (int s = 0; s < samples; ++s)
    for (std::size_t k = 0; k < functions.size(); ++k) {
      const auto begin = Clock::now();
      for (int c = 0; c < calls; ++c) functions[k]();
      all[k].push_back(1e6 * seconds_since(begin) / calls);
    }
  std::vector<double> low;
  for (auto& list : all) {
    std::sort(list.begin(), list.end());
    low.push_back(list[samples / 10]);
  }
  return low;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) compiler = argv[1];
  std::string pattern = (std::filesystem::temp_directory_path() / "bench_generated_XXXXXX").string();
  folder = mkdtemp(pattern.data());
  const Tensor thrusts = 5. + 0.1 * reel::reshape(sin(reel::arange(100)), {50, 2});
  const std::vector<double> input = thrusts.to_vector();
  const Built loops = build("by_scan", reel::value_and_grad(by_scan), thrusts);
  const Built straight = build("unrolled", reel::value_and_grad(unrolled), thrusts);
  const Built hessian = build(
      "curvature", [](const Tensor& x) { return reel::hessian(unrolled)(x); }, thrusts);
  const auto long_chain = [](const Tensor& x) {
    Tensor y = x(0), z = x(1);
    for (int k = 0; k < 10000; ++k) {
      const Tensor next = (0.5 + 1e-6 * k) * y + z * y;  // no two functions of the code are equal
      z = y;
      y = next;
    }
    return y;
  };
  const Built chain = build("chain", long_chain, reel::tensor({0.3, 0.4}));

  using Function = int (*)(const double*, double*, double*, void*);
  double cost = 0, gradient[100], right[100];
  std::vector<double> work(100000);
  const auto call = [&](const Built& b) {
    const auto f = reinterpret_cast<Function>(b.function);
    return [&, f] { f(input.data(), &cost, gradient, work.data()); };
  };
  double sum = 0;
  const std::vector<double> t =
      times({[&] { sum += bench::rollout_by_hand(input.data(), right); }, call(loops), call(straight)});
  for (int k = 0; k < 100; ++k)
    if (!(std::abs(gradient[k] - right[k]) <= 1e-9 * std::abs(right[k]))) return std::puts("gradients differ"), 1;
  std::printf("%s\n\n| program | time | by hand | ratio | text | generate | compile | operations |\n",
              compiler.c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  const auto row = [&](const char* name, const Built& b, double time) {
    if (time > 0)
      std::printf("| %s | %.2f us | %.2f us | %.2f |", name, time, t[0], time / t[0]);
    else
      std::printf("| %s | | | |", name);
    std::printf(" %ld B | %.0f ms | %.0f ms | %.0f |\n", b.text, 1e3 * b.generate, 1e3 * b.compile, b.stats.flops);
  };
  row("rollout by `scan`, value and gradient", loops, t[1]);
  row("rollout unrolled, value and gradient", straight, t[2]);
  row("rollout unrolled, Hessian", hessian, 0);
  row("30 000 operations, straight", chain, 0);
  std::filesystem::remove_all(folder);
  return 0;
}
