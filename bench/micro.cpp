// Micro benchmarks: what recording and replaying cost per op, and what the kernels reach. Prints a table and, with
// --json FILE, the same as JSON. Medians of `samples` timings after a warm-up; threads as set by REEL_NUM_THREADS.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <reel/reel.hpp>
#include <string>
#include <vector>

using namespace reel;

namespace {

struct Result {
  std::string name, unit;
  double median;
};
std::vector<Result> results;

// The median time of f in nanoseconds, divided by `per`. Each timing repeats f until it has taken a millisecond.
template <class F>
void measure(const char* name, const char* unit, double per, F f) {
  using Clock = std::chrono::steady_clock;
  constexpr int samples = 31;
  int repeats = 1;
  const auto time = [&] {
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) f();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  while (time() < 1e6) repeats *= 2;
  std::vector<double> times;
  for (int i = 0; i < samples; ++i) times.push_back(time() / repeats / per);
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  results.push_back({name, unit, times[samples / 2]});
  std::printf("%-58s %10.3f %s\n", name, results.back().median, unit);
}

Tensor chain(Tensor y, const Tensor& c, int length) {
  for (int i = 0; i < length; ++i) y = y * c;
  return y;
}

template <class F>
Tensor gradient(F f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return *tape.gradient(f(x), x);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("reel %s, %s, %d threads\n", version(), std::string(isa()).c_str(), num_threads());
  const Tensor x = tensor<float>({1.5}), c = tensor<float>({1.0001});
  constexpr int length = 1000;
  measure("1000 x multiply on [1], no tape", "ns/op", length, [&] { chain(x, c, length); });
  measure("1000 x multiply on [1], recording", "ns/op", length, [&] {
    GradientTape tape;
    tape.watch(x);
    chain(x, c, length);
  });
  measure("1000 x multiply on [1], record and gradient", "ns/op", length,
          [&] { gradient([&](const Tensor& t) { return chain(t, c, length); }, x); });
  measure("1000 x tanh on [1], record and gradient", "ns/op", length, [&] {
    gradient(
        [](Tensor y) {
          for (int i = 0; i < length; ++i) y = tanh(y);
          return y;
        },
        x);
  });
  for (const std::int64_t n : {1000, 100000, 10000000}) {
    Generator generator(1);
    const Tensor a = random_normal(generator, {n}, 0, 1, DType::float32),
                 b = random_normal(generator, {n}, 0, 1, DType::float32);
    const std::string size = ", n = " + std::to_string(n);
    measure(("gradient of sum(tanh(x * y) + x)" + size).c_str(), "ns/elem", static_cast<double>(n),
            [&] { gradient([&](const Tensor& t) { return sum(tanh(t * b) + t); }, a); });
    measure(("tanh" + size).c_str(), "ns/elem", static_cast<double>(n), [&] { tanh(a); });
    measure(("sum" + size).c_str(), "ns/elem", static_cast<double>(n), [&] { sum(a); });
  }
  {
    Generator generator(2);
    const Tensor m = random_normal(generator, {1024, 1024}, 0, 1, DType::float32);
    const Tensor bias = random_normal(generator, {1024}, 0, 1, DType::float32);
    measure("sum((x + b)^2), [1024, 1024] + [1024], gradient", "us", 1000,
            [&] { gradient([&](const Tensor& t) { return sum(square(m + t)); }, bias); });
    measure("logsumexp over rows [1024, 1024], gradient", "us", 1000,
            [&] { gradient([](const Tensor& t) { return sum(logsumexp(t, 1)); }, m); });
    measure("log_softmax over rows [1024, 1024], gradient", "us", 1000,
            [&] { gradient([](const Tensor& t) { return sum(square(log_softmax(t))); }, m); });
    measure("sum(transpose(x) * x) [1024, 1024], gradient", "us", 1000,
            [&] { gradient([](const Tensor& t) { return sum(transpose(t) * t); }, m); });
    const Tensor small = random_normal(generator, {32, 32}, 0, 1, DType::float32);
    measure("sum(matmul) 32^3, gradient", "us", 1000,
            [&] { gradient([&](const Tensor& t) { return sum(matmul(t, small)); }, small); });
  }
  for (int i = 1; i + 1 < argc; ++i)
    if (!std::strcmp(argv[i], "--json")) {
      std::ofstream json(argv[i + 1]);
      json << "{\"version\": \"" << version() << "\", \"isa\": \"" << isa() << "\", \"threads\": " << num_threads()
           << ", \"results\": [";
      for (std::size_t k = 0; k < results.size(); ++k)
        json << (k ? ",\n" : "\n") << "  {\"name\": \"" << results[k].name << "\", \"unit\": \"" << results[k].unit
             << "\", \"median\": " << results[k].median << "}";
      json << "\n]}\n";
    }
}
