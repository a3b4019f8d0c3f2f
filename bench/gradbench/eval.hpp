// An eval: functions from JSON to JSON that measure how long they run.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "field.hpp"

namespace gradbench {

struct Evaluation {
  Json output;
  std::vector<std::int64_t> nanoseconds;  // of each run
};
using Function = std::function<Evaluation(const Json& input)>;
using Module = std::map<std::string, Function>;

/// A function of the benchmark. `read` converts the input, a Field, to its argument, and `to_json` converts its result;
/// neither is timed. f runs at least once, at least min_runs times (a field of the input), and until the runs have
/// taken min_seconds.
template <class Read, class F>
Function timed(Read read, F f) {
  return [=](const Json& input) {
    using Clock = std::chrono::steady_clock;
    const Field field(input);
    const std::int64_t min_runs = field.has("min_runs") ? field.at("min_runs").integer(0) : 1;
    const double min_seconds = field.has("min_seconds") ? field.at("min_seconds").number() : 0;
    const auto argument = read(field);
    Evaluation result;
    std::chrono::nanoseconds total{0};
    const std::chrono::duration<double> wanted(min_seconds);
    for (;;) {
      const auto start = Clock::now();
      auto output = f(argument);
      const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
      result.nanoseconds.push_back(time.count());
      total += time;
      if (static_cast<std::int64_t>(result.nanoseconds.size()) < min_runs || total < wanted) continue;
      result.output = to_json(std::move(output));
      return result;
    }
  };
}

}  // namespace gradbench
