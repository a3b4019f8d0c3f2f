// Jacobians: all rows in one sweep against one gradient() after another on a persistent tape. The best of
// interleaved timings: what the machine does when it is left alone.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <reel/reel.hpp>
#include <vector>

using namespace reel;

namespace {

template <class F>
double milliseconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

template <class A, class B>
void compare(const char* what, const A& rows, const B& together) {
  double slow = 1e300, fast = 1e300;
  for (int i = 0; i < 50; ++i) {
    slow = std::min(slow, milliseconds(rows));
    fast = std::min(fast, milliseconds(together));
  }
  std::printf("%-52s %9.3f ms by rows %9.3f ms together %6.1f times\n", what, slow, fast, slow / fast);
}

// A network of two hidden layers, all `n` wide.
void network(const char* what, std::int64_t n, DType dtype) {
  Generator generator(1);
  const auto weights = [&] { return random_normal(generator, {n, n}, 0, 1 / 16., dtype); };
  const Tensor w[] = {weights(), weights(), weights()}, b = random_normal(generator, {n}, 0, 1, dtype);
  const Tensor x = random_normal(generator, {n}, 0, 1, dtype);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = matmul(tanh(matmul(tanh(matmul(x, w[0]) + b), w[1]) + b), w[2]) + b;
  tape.stop();
  std::vector<Tensor> seeds;
  for (std::int64_t i = 0; i < n; ++i) seeds.push_back(one_hot(i, n, dtype));
  compare(
      what,
      [&] {
        for (const Tensor& g : seeds) tape.gradient(y, x, {.output_gradients = g});
      },
      [&] { tape.jacobian(y, x); });
}

}  // namespace

int main() {
  std::printf("reel %s, %s, %d threads\n", version(), std::string(isa()).c_str(), num_threads());
  network("[256] -> [256], two hidden layers, float64", 256, DType::float64);
  network("[256] -> [256], two hidden layers, float32", 256, DType::float32);
  network("[16] -> [16], two hidden layers, float64", 16, DType::float64);
}
