// What elementwise saves over the same function op by op: forward with and without a tape, and the gradient, on 10^7
// floats that come from memory. Medians; threads as set by REEL_NUM_THREADS. The arguments may give another length.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>
#include <string>
#include <vector>

using namespace reel;

namespace {

// The median time of f in milliseconds.
template <class F>
double milliseconds(F f) {
  using Clock = std::chrono::steady_clock;
  constexpr int samples = 21;
  std::vector<double> times;
  for (int i = 0; i <= samples; ++i) {
    const auto start = Clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  times.erase(times.begin());  // it warms up
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

void print(const char* what, double plain, double fused) {
  std::printf("  %-34s %9.3f ms %9.3f ms   %5.2f times\n", what, plain, fused, plain / fused);
}

template <class F>
void compare(const char* name, F f, const Tensor& x, const Tensor& y, const Tensor& g) {
  const auto plain = [&] { return f(x, y); };
  const auto fused = [&] { return elementwise(f, x, y); };
  const auto taped = [&](const auto& call) {
    return milliseconds([&] {
      GradientTape tape;
      tape.watch(std::vector<Tensor>{x, y});
      call();
    });
  };
  GradientTape tape({.persistent = true});
  tape.watch(std::vector<Tensor>{x, y});
  const Tensor by_op = plain(), in_one = fused();
  tape.stop();
  const auto gradient = [&](const Tensor& z, std::initializer_list<Source> sources) {
    return milliseconds([&] { tape.gradient({z}, sources, {.output_gradients = {g}}); });
  };
  std::printf("%-36s %12s %12s\n", name, "op by op", "elementwise");
  print("forward", milliseconds(plain), milliseconds(fused));
  print("forward, recorded", taped(plain), taped(fused));
  print("gradient by x and y", gradient(by_op, {x, y}), gradient(in_one, {x, y}));
  print("gradient by x", gradient(by_op, {x}), gradient(in_one, {x}));
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 10000000;
  Generator generator(1);
  const auto normal = [&] { return random_normal(generator, {n}, 0, 1, DType::float32); };
  const Tensor x = normal(), y = normal(), g = normal();
  std::printf("reel %s, %s, %d threads, %lld floats\n", version(), std::string(isa()).c_str(), num_threads(),
              static_cast<long long>(n));
  compare(
      "(x * y + x) * y", [](auto a, auto b) { return (a * b + a) * b; }, x, y, g);
  compare(
      "square(x * y) + x", [](auto a, auto b) { return square(a * b) + a; }, x, y, g);
  compare(
      "where(x > 0, x * y, y) + 1.5 x", [](auto a, auto b) { return where(a > 0, a * b, b) + 1.5 * a; }, x, y, g);
  compare(
      "tanh(x * y) + x", [](auto a, auto b) { return tanh(a * b) + a; }, x, y, g);
  compare(
      "exp(x) sin(y) + x y", [](auto a, auto b) { return exp(a) * sin(b) + a * b; }, x, y, g);
}
