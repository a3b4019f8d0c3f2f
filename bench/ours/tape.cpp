// What tapes cost: entries by their number, replays, nesting, forward mode, tapes of several threads.
#include <thread>

#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

Tensor chain(Tensor y, const Tensor& c, std::int64_t length) {
  for (std::int64_t i = 0; i < length; ++i) y = y * c;
  return y;
}

const Tensor& one() {
  static const Tensor x = tensor<float>({1.5});
  return x;
}
const Tensor& factor() {
  static const Tensor c = tensor<float>({1.0000001});
  return c;
}

// Bytes of a tape with that many entries, including the values that it keeps.
Extra bytes_per_entry(std::int64_t length) {
  GradientTape tape;
  tape.watch(one());
  const Tensor y = chain(one(), factor(), length);
  const TapeStats stats = tape.stats();
  const auto each = [&](std::int64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(stats.entries); };
  return {{"bytes_per_entry", each(stats.entry_bytes)}, {"saved_bytes_per_entry", each(stats.saved_bytes)}};
}

// A sum of squares, the function of the orders: four entries.
Tensor small(const Tensor& x) { return sum(square(tanh(x * factor()))); }

// The derivative by x of the given order, by that many nested tapes.
Tensor derivative(const Tensor& x, int order) {
  if (!order) return small(x);
  GradientTape tape;
  tape.watch(x);
  return sum(*tape.gradient(derivative(x, order - 1), x));
}

// As many threads as the driver allows libraries; each with a tape of its own, ops on one thread.
Body independent(int count) {
  return {[count] {
    std::vector<std::thread> threads;
    const auto work = [] {
      for (int i = 0; i < 100; ++i)
        gradient([](const Tensor& x) { return chain(x, factor(), 1000); }, tensor<float>({1.5}));
    };
    for (int i = 1; i < count; ++i) threads.emplace_back(work);
    work();
    for (std::thread& t : threads) t.join();
  }};
}

}  // namespace

std::vector<Case> tape_cases() {
  std::vector<Case> cases;
  const auto per_op = [&](const std::string& name, double count, std::function<Body()> make,
                          const char* unit = "entry") {
    cases.push_back({.name = "tape: " + name, .make = std::move(make), .unit_count = count, .unit = unit});
  };
  for (const auto& [count, text] : {std::pair(1000, "1e3"), {100000, "1e5"}, {10000000, "1e7"}}) {
    const std::int64_t length = count;
    per_op("record, entries = " + std::string(text), count, [length] {
      Body made = body([length] {
        GradientTape tape;
        tape.watch(one());
        return chain(one(), factor(), length);
      });
      made.extra = [length] { return bytes_per_entry(length); };
      return made;
    });
    per_op("record + gradient, entries = " + std::string(text), count, [length] {
      return body([length] { return gradient([=](const Tensor& x) { return chain(x, factor(), length); }, one()); });
    });
  }
  per_op("replay of a persistent tape, entries = 1e3", 1000, [] {
    const auto tape = std::make_shared<GradientTape>(TapeOptions{.persistent = true});
    tape->watch(one());
    const Tensor y = chain(one(), factor(), 1000);
    tape->stop();
    return body([=] { return tape->gradient(y, one()); });
  });
  per_op("forward mode, 1000 x mul on [1]", 1000, [] {
    return body([] {
      ForwardAccumulator accumulator(one(), ones({1}, DType::float32));
      return accumulator.jvp(chain(one(), factor(), 1000));
    });
  });
  for (const int order : {1, 2, 3})
    per_op(
        "order " + std::to_string(order) + " of sum(square(tanh(x*c))) on [1], nested tapes", 1,
        [order] { return body([order] { return derivative(one(), order); }); }, "run");
  for (const int count : {1, 2})
    per_op(std::to_string(count) + " independent tapes, each 100 x 1000 mul on [1], record + gradient", count * 1e5,
           [count] { return independent(count); });
  return cases;
}

}  // namespace bench
