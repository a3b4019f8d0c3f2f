// For valgrind: memory that ended threads, and the process itself, leave behind must be reachable.
#include <reel/elementwise.hpp>
#include <reel/reel.hpp>
#include <thread>
#include <vector>

using namespace reel;

int main() {
  bool right = true;
  Tensor kept;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&right, &kept, t] {
        const Tensor x = linspace(0, 1, 1000);
        std::vector<Tensor> many;
        for (std::int64_t i = 1; i < 200; ++i) many.push_back(zeros({i * 40}));
        GradientTape tape;
        tape.watch(x);
        const Tensor y = elementwise([](auto a) { return a * a; }, x);
        if (tape.gradient(y, x).dense().shape() != x.shape()) right = false;
        if (t == 0) kept = x;
      });
    for (std::thread& t : threads) t.join();
  }
  return right && kept.size() == 1000 ? 0 : 1;
}
