// Memory does not grow: training steps, tapes, gradients of one persistent tape, threads that start and end, and an
// exception in each step. soak [SCALE]: 1 is the long form (100 000 steps, a million tapes, 10 000 gradients, 5000
// threads). After a warm-up, live tensors, live bytes and the memory that the pool took from the system must not grow.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <reel/elementwise.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <stdexcept>
#include <string>
#include <thread>

using namespace reel;

namespace {

struct Model {
  Variable hidden{full({8, 16}, 0.1), "hidden"}, bias{zeros({16}), "bias"}, head{full({16, 3}, 0.1), "head"};
  auto leaves() { return std::tie(hidden, bias, head); }
};

const Tensor inputs = sin(reshape(arange(0.0, 64.0), {8, 8})), labels = cast(mod(arange(8), 3), DType::int64);

Tensor loss_of(const Model& m) {
  return mean(sparse_softmax_cross_entropy(matmul(tanh(matmul(inputs, m.hidden) + m.bias), m.head), labels));
}

void training_step() {
  static Model model;
  static Adam adam({.learning_rate = 1e-3});
  GradientTape tape;
  const Tensor loss = loss_of(model);
  adam.step(tape.gradient(loss, model), model);
}

void nested_tapes() {
  const Tensor x = scalar(0.5);
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Gradient g = inner.gradient(tanh(x * x), x);
  static_cast<void>(outer.gradient(g, x));
}

void gradient_of_one_tape() {
  static const Tensor x = tensor({0.5, 0.25, 2.});
  static GradientTape& tape = *new GradientTape({.persistent = true});
  static const Tensor y = [] {
    tape.watch(x);
    Tensor result = sum(exp(x) * gather(x, tensor<std::int64_t>({0, 2, 2})));
    tape.stop();
    return result;
  }();
  static_cast<void>(tape.gradient(y, x));
}

void thread_with_a_tape() {
  std::thread([] {
    training_step();
    elementwise([](auto a) { return a * tanh(a); }, inputs);
  }).join();
}

struct Thrown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void exception_in_a_step() {
  const Tensor x = tensor({1., 2.});
  const auto raise = custom_gradient(
      [](const Tensor& a) { return std::pair(a * 2, [](const Tensor&) -> Tensor { throw Thrown("rule"); }); });
  try {
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(tape.gradient(raise(x * x), x));
    std::abort();
  } catch (const Thrown&) {
  }
  try {
    matmul(x, ones({3}));
    std::abort();
  } catch (const ShapeError&) {
  }
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// An emulator's own memory counts as this process's, and qemu-user (7.2) keeps some 280 KiB of every thread that ended.
const bool emulated = std::getenv("REEL_TEST_EMULATOR") != nullptr;

// Runs f `count` times. Afterwards live tensors and bytes must be those after the warm-up.
bool flat(const char* what, std::int64_t count, const std::function<void()>& f) {
  for (std::int64_t i = 0; i < count / 10 + 10; ++i) f();
  const MemoryStats before = memory_stats();
  const std::int64_t resident = resident_bytes();
  for (std::int64_t i = 0; i < count; ++i) f();
  const MemoryStats after = memory_stats();
  const std::int64_t grown = resident_bytes() - resident;
  const bool good = after.live_tensors == before.live_tensors && after.live_bytes == before.live_bytes &&
                    after.pool_misses == before.pool_misses && (emulated || grown <= (std::int64_t{1} << 20));
  std::printf("%-22s %8lld times: live tensors %+lld, live bytes %+lld, pool misses %+lld, resident bytes %+lld%s\n",
              what, static_cast<long long>(count), static_cast<long long>(after.live_tensors - before.live_tensors),
              static_cast<long long>(after.live_bytes - before.live_bytes),
              static_cast<long long>(after.pool_misses - before.pool_misses), static_cast<long long>(grown),
              good ? "" : "  GROWS");
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const double scale = argc > 1 ? std::atof(argv[1]) : 0.01;
  const auto times = [scale](double count) { return static_cast<std::int64_t>(count * scale); };
  bool good = true;
  good &= flat("training steps", times(1e5), training_step);
  good &= flat("tapes", times(1e6), nested_tapes);
  good &= flat("gradients of one tape", times(1e4), gradient_of_one_tape);
  good &= flat("exceptions", times(1e5), exception_in_a_step);
  good &= flat("threads", times(5e3), thread_with_a_tape);
  return good ? 0 : 1;
}
