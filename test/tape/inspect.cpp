// Inspection of a tape: statistics by op, the graph, the plan of a replay, trace lines, the Chrome trace.
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <reel/linalg/iterative.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "support/warnings.hpp"
#include "tape/record.hpp"
#ifndef _WIN32
#include "support/child.hpp"
#endif

using namespace reel;
using Catch::Contains;

namespace {

struct Lines {
  std::vector<std::string> texts;
  Lines() {
    set_trace_sink([](std::string_view line, void* self) { static_cast<Lines*>(self)->texts.emplace_back(line); },
                   this);
    set_tracing(true);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    set_tracing(false);
    set_trace_sink(nullptr);
  }
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Whether the text is one JSON value: a recogniser of the grammar.
class Json {
 public:
  explicit Json(const std::string& text) : at_(text.c_str()) {}
  bool whole() { return value() && (space(), *at_ == 0); }

 private:
  void space() {
    while (std::isspace(static_cast<unsigned char>(*at_))) ++at_;
  }
  bool take(char c) {
    space();
    return *at_ == c && ++at_;
  }
  bool string() {
    if (!take('"')) return false;
    for (; *at_ && *at_ != '"'; ++at_)
      if (static_cast<unsigned char>(*at_) < 0x20 || (*at_ == '\\' && !*++at_)) return false;
    return take('"');
  }
  bool number() {
    char* end;
    std::strtod(at_, &end);
    return end != at_ && (at_ = end);
  }
  template <class Item>
  bool list(char close, Item item) {
    if (take(close)) return true;
    do
      if (!item()) return false;
    while (take(','));
    return take(close);
  }
  bool value() {
    if (take('{')) return list('}', [&] { return string() && take(':') && value(); });
    if (take('[')) return list(']', [&] { return value(); });
    space();
    return *at_ == '"' ? string() : number();
  }
  const char* at_;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::filesystem::path scratch(const char* name) {
  return std::filesystem::temp_directory_path() / (name + std::to_string(getpid()) + ".json");
}

// Layers of a network on a persistent or single-use tape. The caller holds only the parameters and the loss.
Tensor network(const std::vector<Variable>& w, const Tensor& x) {
  Tensor h = x;
  for (const Variable& layer : w) h = tanh(matmul(h, layer));
  return mean(square(h));
}
std::vector<Variable> layers(std::int64_t width, int count) {
  std::vector<Variable> w;
  for (int i = 0; i < count; ++i) w.emplace_back(full({width, width}, 0.01), "w" + std::to_string(i));
  return w;
}

// Peak memory of a gradient over what is live without the tape's own values.
struct Peak {
  double planned, measured;
};
template <class F, class S>
Peak peak_of(F f, const S& sources) {
  GradientTape tape;
  const Tensor loss = f(tape);
  const ReplayPlan plan = tape.plan(loss, sources);
  std::int64_t released = 0;
  for (const PlannedEntry& e : plan.entries) released += e.released_bytes;
  const std::int64_t live = memory_stats().live_bytes;
  reset_peak_bytes();
  const auto g = tape.gradient(loss, sources);
  return {static_cast<double>(plan.peak_bytes), static_cast<double>(memory_stats().peak_bytes - live + released)};
}

}  // namespace

TEST_CASE("stats: entries and saved bytes by op, in order of bytes") {
  const Tensor x = linspace(0.1, 1.0, 100);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(exp(x) * x + exp(x));
  const TapeStats s = tape.stats();
  REQUIRE(s.by_op.size() == 4);
  CHECK(s.by_op[0].name == "exp");
  CHECK(s.by_op[0].entries == 2);
  CHECK(s.by_op[0].saved_bytes == 1600);
  CHECK(s.by_op[1].name == "multiply");
  CHECK(s.by_op[1].saved_bytes == 1600);
  CHECK(s.by_op[2].name == "add");
  CHECK(s.by_op[2].saved_bytes == 0);
  CHECK(s.by_op[3].name == "sum");
  std::int64_t entries = 0, bytes = 0;
  for (const OpStats& op : s.by_op) {
    entries += op.entries;
    bytes += op.saved_bytes;
  }
  CHECK(entries == s.entries);
  CHECK(bytes == s.saved_bytes);
}

TEST_CASE("to_dot: a node per op and source, an edge per tensor; restriction to targets; reproducible") {
  const Variable w(ones({3, 2}), "the \"w\"");
  const Tensor x = ones({4, 3});
  GradientTape tape;
  tape.watch(x);
  const Tensor h = matmul(x, w);
  const Tensor y = sum(h * h), other = exp(x);
  const std::string all = tape.to_dot();
  CHECK_THAT(all, Catch::StartsWith("digraph tape {\n") && Catch::EndsWith("}\n"));
  CHECK(count(all, "lightblue") == 2);
  CHECK_THAT(all, Contains("label=\"the \\\"w\\\"\""));
  CHECK_THAT(all, Contains("op0 [label=\"matmul\\n144 bytes saved\"]"));  // 3 x 2 and 4 x 3 doubles
  CHECK_THAT(all, Contains("op1 [label=\"multiply\\n128 bytes saved\"]"));
  CHECK_THAT(all, Contains("op3 [label=\"exp\\n"));
  CHECK(count(all, "op0 -> op1 [label=\"float64 [4, 2]\"]") == 2);
  CHECK(count(all, " -> ") == 6);  // x and w to matmul, twice h, to sum, x to exp
  CHECK(tape.to_dot() == all);
  const std::string part = tape.to_dot(y);
  CHECK(count(part, "exp") == 0);
  CHECK_THAT(part, Contains("op2 -> target0 [label=\"float64 []\"]"));
  CHECK(count(part, " -> ") == 6);
}

TEST_CASE("to_dot, explain and why_none give the line of an op's call if it is known") {
  set_source_locations(true);
  const Tensor x = ones({2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const int line = __LINE__ + 1;
  const Tensor y = stop_gradient(exp(x));
  set_source_locations(false);
  const std::string at = std::string(__FILE__) + ":" + std::to_string(line);
  CHECK_THAT(tape.to_dot(), Contains(at));
  CHECK(tape.gradient(y, x).why_none() ==
        "the path ends at stop_gradient (before op 1 on the tape, called at " + at + ")");
  CHECK_THAT(tape.explain(y, x), Contains(at));
  const Tensor z = exp(x);
  CHECK(count(tape.to_dot(), __FILE__) == 1);
}

TEST_CASE("plan: lists the rules that run, in order") {
  const Variable w(ones({2, 2}), "w");
  const Tensor x = ones({3, 2}), constant = ones({3, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor h = tanh(matmul(x, w));
  const Tensor unused = exp(h), side = sin(x);
  const Tensor y = sum(h * h + constant * side);
  tape.stop();
  std::vector<std::string> ran, planned;
  {
    Lines lines;
    static_cast<void>(tape.gradient(y, w, {.stop_gradients = constant}));
    for (const std::string& text : lines.texts)
      if (text.starts_with("Gradient for ")) ran.push_back(text.substr(13, text.find(' ', 13) - 13));
  }
  const ReplayPlan plan = tape.plan(y, w, {.stop_gradients = constant});
  for (const PlannedEntry& e : plan.entries) planned.push_back(e.name);
  CHECK(planned == std::vector<std::string>{"sum", "add", "multiply", "tanh", "matmul"});
  CHECK(ran == planned);
  CHECK(plan.entries.back().index == 0);
  CHECK(plan.entries.back().gradient_bytes == 32);
  CHECK(plan.entries.back().released_bytes == 0);  // the tape is persistent
  CHECK_THAT(to_string(plan), Contains("matmul (op 0 on the tape): 32 bytes of gradients") && Contains("peak: "));
  std::ostringstream shown;
  shown << plan << StopReason::exact << ", " << IterativeStop::breakdown;
  CHECK(shown.str() == to_string(plan) + to_string(StopReason::exact) + ", breakdown");
  std::ostringstream stats;
  stats << tape.stats();
  CHECK_THAT(stats.str(),
             Contains(" entries of ") && Contains(" saved tensors of ") && Contains("\nmatmul: 1 entries, "));
  CHECK(tape.plan(y, {w, x}).entries.size() == 7);
  CHECK(tape.plan(unused, w).entries.size() == 3);
  CHECK(tape.plan(h, w, {.stop_gradients = h}).entries.empty());
  CHECK_THROWS_AS(tape.plan(Tensor(), w), ValueError);
}

// The documented tolerance is a quarter above or below, for models whose rules make their own gradients and no other
// tensors.
TEST_CASE("plan: the peak is that of the default VSpace") {
  const auto near = [](const Peak& p) {
    INFO("planned " << p.planned << ", measured " << p.measured);
    CHECK(p.planned > 0.75 * p.measured);
    CHECK(p.planned < 1.25 * p.measured);
  };
  const std::int64_t n = 1 << 18;
  const Tensor x = linspace(0.1, 1.0, n);
  near(peak_of(
      [&](GradientTape& tape) {
        tape.watch(x);
        Tensor h = x;
        for (int i = 0; i < 10; ++i) h = sin(h);
        return sum(h);
      },
      x));
  const std::vector<Variable> deep = layers(256, 6);
  near(peak_of([&](GradientTape&) { return network(deep, full({1024, 256}, 0.5)); }, deep));
  const Variable w(full({512, 64}, 0.01), "w"), b(zeros({64}), "b");
  near(peak_of(
      [&](GradientTape&) {
        return mean(log_softmax(matmul(full({4096, 512}, 0.1), w) + b));
      },
      std::vector<Variable>{w, b}));
}

TEST_CASE("S16, S112: trace lines go to the sink and name sums of gradients") {
  const Variable w(scalar(3.0), "w");
  const Tensor x = scalar(2.0);
  WarningLog warnings;
  Lines lines;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * w + x;
  CHECK(lines.texts.size() == 2);
  CHECK_THAT(lines.texts[0], Catch::StartsWith("Computed op multiply inputs [") && Contains("] outputs ["));
  static_cast<void>(tape.gradient(y, {x, w}, {.aggregation_method = AggregationMethod::add_n}));
  const std::vector<std::string> replay(lines.texts.begin() + 2, lines.texts.end());
  REQUIRE(replay.size() == 7);
  CHECK_THAT(replay[0], Catch::StartsWith("Gradient for add inputs [") && Contains("] output_grads [1. float64 []] "));
  CHECK(replay[1] == "  in  --> grad(add_1:0)");
  CHECK(replay[2] == "  out --> grad(multiply_0:0), grad(source_0)");
  CHECK_THAT(replay[3], Catch::StartsWith("Gradient for multiply "));
  CHECK(replay[4] == "  in  --> grad(multiply_0:0)");
  CHECK(replay[5] == "  out --> grad(source_0), grad(w)");
  CHECK(replay[6] == "  _AggregatedGrads 2 x [] using add_n");
  CHECK(warnings.texts.empty());
}

TEST_CASE("S112: the aggregation method is named; a stopped op leaves no lines") {
  const Tensor x = ones({3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor h = exp(x);
  const Tensor y = h * h;
  Lines lines;
  tape.stop();
  static_cast<void>(tape.gradient(y, x, {.aggregation_method = AggregationMethod::tree}));
  CHECK(std::count(lines.texts.begin(), lines.texts.end(), "  _AggregatedGrads 2 x [3] using tree") == 1);
  lines.texts.clear();
  static_cast<void>(tape.gradient(y, x, {.stop_gradients = h}));
  for (const std::string& text : lines.texts) CHECK_THAT(text, !Contains("Gradient for exp"));
}

TEST_CASE("the Chrome trace is JSON with an event per op and rule, with shapes and lines") {
  const std::filesystem::path path = scratch("reel_trace");
  const Tensor x = ones({2, 3});
  int line;
  {
    const ChromeTraceGuard guard(path.string());
    CHECK_THROWS_AS(ChromeTraceGuard(path.string()), TapeError);
    GradientTape tape;
    tape.watch(x);
    line = __LINE__ + 1;
    const Tensor y = sum(exp(x));
    const Tensor out[] = {ones({})};
    record_operation("a \"quoted\\ op\n", {&y, 1}, out,
                     [](std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; });
    static_cast<void>(tape.gradient(out[0], x));
  }
  const Tensor untraced = exp(x);
  const std::string text = read(path);
  std::filesystem::remove(path);
  CHECK(Json(text).whole());
  const auto event = [&](const std::string& name, const std::string& category) {
    return count(text, "\"name\": \"" + name + "\", \"cat\": \"" + category + "\"");
  };
  for (const char* category : {"forward", "backward"}) {
    CHECK(event("exp", category) == 1);
    CHECK(event("sum", category) == 1);
    CHECK(event("a \\\"quoted\\\\ op\\u000a", category) == 1);
  }
  CHECK_THAT(text, Contains("\"ph\": \"X\"") && Contains("\"ts\": 0.000") && Contains("\"dur\": "));
  CHECK_THAT(text, Contains("{\"inputs\": \"float64 [2, 3]\", \"outputs\": \"float64 []\", \"location\": \"" +
                            std::string(__FILE__) + ":" + std::to_string(line) + "\"}"));
  CHECK_THROWS_AS(ChromeTraceGuard("/nowhere/at/all.json"), IoError);
  CHECK_FALSE(std::filesystem::exists(path));
}

#ifndef _WIN32  // processes, started by a POSIX shell
TEST_CASE("REEL_TRACE traces a whole process, including threads that have ended") {
  if (std::getenv("REEL_TEST_TRACED")) {  // the traced process: this test, run again below
    const Tensor x = ones({5});
    std::thread([&] {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = tanh(x);
      static_cast<void>(tape.gradient(y, x));
    }).join();
    static_cast<void>(exp(x));
    return;
  }
  const std::filesystem::path path = scratch("reel_process");
  const std::string command = "REEL_TEST_TRACED=1 REEL_TRACE='" + path.string() + "' " + support::own_program() +
                              " 'REEL_TRACE traces a whole process*' > /dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string text = read(path);
  std::filesystem::remove(path);
  CHECK(Json(text).whole());
  CHECK(count(text, "\"name\": \"tanh\", \"cat\": \"forward\"") == 1);
  CHECK(count(text, "\"name\": \"tanh\", \"cat\": \"backward\"") == 1);
  CHECK(count(text, "\"name\": \"exp\", \"cat\": \"forward\"") == 1);
  CHECK(count(text, "\"tid\": 1,") < count(text, "\"tid\": "));
}

TEST_CASE("a trace ends at REEL_TRACE_LIMIT megabytes, as a whole file that counts what it lacks") {
  if (std::getenv("REEL_TEST_TRACED")) {
    for (int i = 0; i < 200; ++i) static_cast<void>(exp(ones({5})));
    return;
  }
  const std::filesystem::path path = scratch("reel_limit");
  const std::string command = "REEL_TEST_TRACED=1 REEL_TRACE_LIMIT=0.01 REEL_TRACE='" + path.string() + "' " +
                              support::own_program() + " 'a trace ends at*' > /dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  const std::string text = read(path);
  std::filesystem::remove(path);
  CHECK(Json(text).whole());
  CHECK(text.size() <= 10000);
  const std::size_t written = count(text, "\"ph\": \"X\""), at = text.find("\"events left out\": ");
  CHECK(written > 20);
  REQUIRE(at != std::string::npos);
  CHECK(written + std::stoul(text.substr(text.find(":", at) + 1)) >= 400);
}
#endif

TEST_CASE("to_dot: watched results, constants, ops of several results, unconnected targets") {
  const Variable w(ones({2}), "back\\slash");
  const Tensor x = ones({2}), constant = full({2}, 3.0);
  GradientTape tape;
  tape.watch(x);
  const Tensor h = x * w;
  tape.watch(h);
  const Tensor product = h * constant;
  const Tensor parts[] = {ones({2}), zeros({2})};
  record_operation("pair", {&product, 1}, parts, [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  const Tensor aside = exp(x);
  const std::string all = tape.to_dot();
  CHECK_THAT(all, Contains("label=\"back\\\\slash\""));
  CHECK(count(all, "lightblue") == 3);  // x, w and h
  CHECK(count(all, " [style=dashed];\n") == 1);
  CHECK(count(all, "op0 -> source") == 1);
  CHECK(count(all, " -> op1 ") == 1);  // the constant has no edge
  for (const Tensor& part : parts) {
    const std::string of_part = tape.to_dot(part);
    CHECK_THAT(of_part, Contains("op2 [label=\"pair\\n") && Contains("op2 -> target0 ") && !Contains("exp"));
    CHECK(count(of_part, "lightblue") == 3);
  }
  const std::string nothing = tape.to_dot(constant);
  CHECK(count(nothing, "label") == 0);
  CHECK(count(nothing, "target0") == 0);
}

TEST_CASE("plan: stopped results, partly used results, tensors that are not on the tape") {
  const Tensor x = ones({4}), constant = full({4}, 3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor h = exp(x);
  const Tensor parts[] = {full({4}, 1.0), full({4}, 2.0)};
  record_operation("pair", {&h, 1}, parts, [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  const Tensor y = sum(parts[0]);
  tape.stop();
  const auto names = [&](const ReplayPlan& plan) {
    std::vector<std::string> list;
    for (const PlannedEntry& e : plan.entries) list.push_back(e.name);
    return list;
  };
  using Names = std::vector<std::string>;
  CHECK(names(tape.plan(y, x)) == Names{"sum", "pair", "exp"});
  CHECK(names(tape.plan(y, x, {.stop_gradients = parts[0]})) == Names{});
  CHECK(names(tape.plan(y, x, {.stop_gradients = parts[1]})) == Names{"sum", "pair", "exp"});
  CHECK(names(tape.plan(y, x, {.stop_gradients = constant})) == Names{"sum", "pair", "exp"});
  CHECK(names(tape.plan(y, parts[0])) == Names{"sum"});
  CHECK(tape.plan(y, constant).entries.empty());
  CHECK(tape.plan(constant, x).entries.empty());
  // A source on the way keeps its gradient: 32 bytes more are live when exp is reached.
  const auto live_at_exp = [&](const ReplayPlan& plan) { return plan.entries.back().live_bytes; };
  CHECK(live_at_exp(tape.plan(y, {x, h})) == live_at_exp(tape.plan(y, x)));
  CHECK(live_at_exp(tape.plan(y, {x, parts[0]})) == live_at_exp(tape.plan(y, x)) + 32);
}

TEST_CASE("trace lines: missing cotangents, slices, and rules without gradients") {
  const Tensor x = ones({4, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor rows = gather(x, tensor<std::int64_t>({1, 1}));
  const Tensor parts[] = {full({2, 2}, 1.0), full({2, 2}, 2.0)};
  record_operation("pair", {&rows, 1}, parts, [](std::span<const Gradient> g) { return std::vector{g[1]}; });
  const Tensor blind = full({2, 2}, 4.0);
  record_operation("blind", {&rows, 1}, {&blind, 1},
                   [](std::span<const Gradient>) { return std::vector<Gradient>(1); });
  tape.stop();
  Lines lines;
  CHECK(tape.gradient(parts[1], x).is_slices());
  const auto line = [&](const std::string& part) {
    return std::count_if(lines.texts.begin(), lines.texts.end(),
                         [&](const std::string& text) { return text.find(part) != std::string::npos; });
  };
  CHECK(line("Gradient for pair inputs [none] output_grads [none, ") == 1);
  CHECK(line("  in  --> grad(pair_1:1)") == 1);
  CHECK(line("  in  --> grad(pair_1:0)") == 0);
  CHECK(line("Gradient for gather inputs [") == 1);
  CHECK(line("] gradients [none]") == 1);  // slices are no tensor
  CHECK(line("  out --> grad(source_0)") == 1);
  lines.texts.clear();
  CHECK_FALSE(tape.gradient(blind, x));
  CHECK(line("Gradient for blind") == 1);
  CHECK(line("  out --> ") == 0);
}

TEST_CASE("the Chrome trace: tangents, slices, missing gradients, no events") {
  const std::filesystem::path path = scratch("reel_modes");
  const auto traced = [&](const auto& f) {
    {
      const ChromeTraceGuard guard(path.string());
      f();
    }
    const std::string text = read(path);
    std::filesystem::remove(path);
    CHECK(Json(text).whole());
    return text;
  };
  const Tensor x = scalar(0.5), ramp = linspace(0.0, 1.0, 9), table = ones({4, 2});
  const std::string pushed =
      traced([&] { static_cast<void>(jacobian([&](const Tensor& t) { return tanh(t * ramp); })(x)); });
  CHECK(count(pushed, "\"name\": \"tanh\", \"cat\": \"tangent\"") == 1);  // one column in place of nine rows
  CHECK(count(pushed, "\"name\": \"tanh\", \"cat\": \"backward\"") == 0);
  const std::string carried = traced([&] {
    const ForwardAccumulator accumulator(x, ones({}));
    static_cast<void>(exp(x));
  });
  CHECK(count(carried, "\"name\": \"exp\", \"cat\": \"tangent\"") == 1);
  const std::string sparse = traced([&] {
    GradientTape tape;
    tape.watch(table);
    const Tensor rows = gather(table, tensor<std::int64_t>({1, 3}));
    const Tensor blind = full({2, 2}, 4.0);
    record_operation("blind", {&rows, 1}, {&blind, 1},
                     [](std::span<const Gradient>) { return std::vector<Gradient>(1); });
    CHECK(tape.gradient(rows + blind, table).is_slices());
  });
  CHECK_THAT(sparse, Contains("\"name\": \"gather\", \"cat\": \"backward\"") &&
                         Contains("\"inputs\": \"float64 [2, 2]\", \"outputs\": \"none\""));
  CHECK(count(traced([] {}), "\"name\"") == 0);
}

TEST_CASE("a Chrome trace that cannot be written is a warning") {
  if (!std::filesystem::exists("/dev/full")) return;
  const WarningLog warnings;
  {
    const ChromeTraceGuard guard("/dev/full");
    static_cast<void>(exp(ones({3})));
  }
  REQUIRE(warnings.texts.size() == 1);
  CHECK_THAT(warnings.texts[0], Contains("ChromeTraceGuard: the trace could not be written whole"));
  CHECK_FALSE(tape::active());
}
