// Runs a program in two or three ways and compares results, variables, generators and live tensors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "interpreter.hpp"

namespace random_state {

using reel::ForwardAccumulator;
using reel::GradientTape;

namespace {

// Derivatives of derivatives of the program's scalar result. Each level is the derivative of the level below, summed
// over its sources times a direction.
class Runner {
 public:
  Runner(const Program& p, const Plan& plan, const Environment& e) : p_(p), plan_(plan), e_(e) {
    if (plan.way == Way::whole)
      compiled_.emplace(Inside{this}, reel::CompileOptions{.check = plan.check ? 3 : 0, .native = plan.native});
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  /// Element 0 is the scalar; the others are all that the level computes.
  Tensors level(int k, const Tensors& x, Generator& g) const {
    if (compiled_ && k == plan_.inside) return (*compiled_)(x, g);
    return traced(k, x, g);
  }

 private:
  struct Inside {
    const Runner* runner;
    Tensors operator()(const Tensors& x, Generator& g) const { return runner->traced(runner->plan_.inside, x, g); }
  };

  Tensors traced(int k, const Tensors& x, Generator& g) const {
    if (k == 0) return value(x, g);
    const Level& l = plan_.levels[static_cast<std::size_t>(k - 1)];
    return l.forward ? forward(k, l, x, g) : reverse(k, l, x, g);
  }
  Tensors value(const Tensors& x, Generator& g) const {
    Scope scope{&e_, &g, {}};
    scope.values.emplace(captured, e_.captured);
    Tensors results{Tensor()};
    Tensor total = reel::scalar(0.0);
    for (const Tensor& y : run(p_.body, scope, x)) {
      const int k = static_cast<int>(results.size());
      total = total + reel::sum(numbers(y.shape(), 60 + k) * y + 0.3 * reel::square(y));
      results.push_back(y);
    }
    results[0] = total;
    return results;
  }

  using Tree = std::tuple<Tensors, std::vector<Variable>>;
  struct List {
    Tree sources;
    Tensors directions;
  };
  // The distinct sources of a level.
  List sources(int k, const Level& l, const Tensors& x) const {
    List list;
    auto& [tensors, variables] = list.sources;
    const auto direct = [&](const auto& source, int number) {
      list.directions.push_back(direction(k, number, source.shape()));
    };
    if (l.sources & by_arguments)
      for (std::size_t i = 0; i < x.size() - (p_.twice ? 1 : 0); ++i) {
        tensors.push_back(x[i]);
        direct(x[i], static_cast<int>(i));
      }
    if (l.sources & by_captured) {
      tensors.push_back(e_.captured);
      direct(e_.captured, 30);
    }
    if (l.sources & by_variables)
      for (std::size_t i = 0; i < e_.variables.size(); ++i)
        if (e_.variables[i].trainable()) {
          variables.push_back(e_.variables[i]);
          direct(e_.variables[i], 10 + static_cast<int>(i));
        }
    return list;
  }
  static Tensors contracted(const Tensors& g, const Tensors& directions) {
    Tensor total = reel::sum(g[0] * directions[0]);
    for (std::size_t i = 1; i < g.size(); ++i) total = total + reel::sum(g[i] * directions[i]);
    Tensors all{total};
    all.insert(all.end(), g.begin(), g.end());
    return all;
  }

  Tensors reverse(int k, const Level& l, const Tensors& x, Generator& g) const {
    const List list = sources(k, l, x);
    if (l.style == 2 && l.sources == by_arguments && !p_.twice)
      return contracted(reel::grad([&](const Tensors& t) { return level(k - 1, t, g)[0]; })(x), list.directions);
    GradientTape tape({.persistent = l.style == 1 || l.style == 3});
    tape.watch(std::get<0>(list.sources));
    const Tensor y = level(k - 1, x, g)[0];
    reel::GradientOptions options{.unconnected_gradients = reel::UnconnectedGradients::zero};
    Tensors dense;
    if (l.style == 5) {  // many rows at once
      const Tensor factors = reel::linspace(0.5, 1.5, k == 1 ? 13 : 3);
      reel::for_each_leaf(tape.jacobian(y * factors, list.sources, {reel::UnconnectedGradients::zero}),
                          [&](const reel::Gradient& one) { dense.push_back(reel::mean(one.dense(), 0)); });
    } else if (l.style == 4) {
      for (const reel::Gradient& one : reel::gradients(tape, y, list.sources, options)) dense.push_back(one.dense());
    } else {
      if (l.style == 3) tape.stop();
      if (l.style == 1) tape.gradient(y, list.sources, options);
      reel::for_each_leaf(tape.gradient(y, list.sources, options),
                          [&](const reel::Gradient& one) { dense.push_back(one.dense()); });
    }
    return contracted(dense, list.directions);
  }

  Tensors forward(int k, const Level& l, const Tensors& x, Generator& g) const {
    const List list = sources(k, l, x);
    const auto f = [&](const Tensors& t) { return level(k - 1, t, g); };
    if (l.sources == by_arguments && !p_.twice && l.style == 1) return reel::jvp(f, x, list.directions).second;
    if (l.sources == by_arguments && !p_.twice && l.style == 2) return reel::linearize(f, x).second(list.directions);
    const ForwardAccumulator accumulator(list.sources, list.directions);
    const Tensors y = f(x);
    Tensors tangents;
    for (const Tensor& t : y) tangents.push_back(accumulator.jvp(t, reel::UnconnectedGradients::zero).dense());
    return tangents;
  }

  const Program& p_;
  const Plan& plan_;
  const Environment& e_;
  std::optional<reel::Compiled<Inside>> compiled_;
};

using Numbers = std::vector<double>;
/// What a run leaves: results and state after each of three calls, or an error.
struct Outcome {
  std::vector<std::vector<Numbers>> results, state;
  std::string error;
  std::int64_t leaked = 0, assigns = 0;
};

Tensors inputs(const Program& p, int call) {
  Tensors x;
  for (int i = 0; i < p.arguments; ++i)
    x.push_back(p.twice && i > 0 && i + 1 == p.arguments
                    ? x[0]
                    : numbers({p.n}, 1 + 17 * call + 5 * i + static_cast<int>(p.seed % 7)));
  return x;
}

// Error messages without numbers.
std::string without_digits(const std::string& text) {
  std::string r;
  for (const char c : text)
    if (c < '0' || c > '9') r += c;
  return r;
}

void three_calls(const Program& p, const Plan& plan, Outcome& o, double nudge) {
  Environment e(p, plan.way);
  const Runner runner(p, plan, e);
  Generator generator(5);
  for (int call = 0; call < 3; ++call) {
    Tensors x = inputs(p, call);
    if (nudge != 0)
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = p.twice && i > 0 && i + 1 == x.size() ? x[0] : x[i] * (1 + nudge);
    std::vector<Numbers> results, state;
    for (const Tensor& y : runner.level(static_cast<int>(plan.levels.size()), x, generator))
      results.push_back(y.to_vector());
    for (const Variable& v : e.variables) state.push_back(v.read().to_vector());
    state.push_back({static_cast<double>(generator.position())});
    o.results.push_back(std::move(results));
    o.state.push_back(std::move(state));
  }
  o.assigns = e.assigns;
}

Outcome run_plan(const Program& p, const Plan& plan, double nudge = 0) {
  Outcome o;
  const std::int64_t before = reel::memory_stats().live_tensors;
  try {
    three_calls(p, plan, o, nudge);
  } catch (const std::exception& e) {
    o.error = e.what();
    if (o.error.empty()) o.error = "an exception without a message";
  }
  o.leaked = reel::memory_stats().live_tensors - before;
  return o;
}

double largest(const std::vector<Numbers>& all) {
  double scale = 1;
  for (const Numbers& list : all)
    for (const double x : list)
      if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  return scale;
}
std::string shown(const Numbers& x) {
  std::string text = "{";
  char one[40];
  for (const double number : x) {
    std::snprintf(one, sizeof one, "%s%.17g", text.size() > 1 ? ", " : "", number);
    text += one;
  }
  return text + "}";
}

// How two numbers may differ.
enum class Same : std::uint8_t { bits, equal, close };

/// The first difference of two lists of results, or of state. Where `nudged` is given, results may differ by a multiple
/// of their change with the last digits of the arguments.
std::string difference(const char* category, Same how, const std::vector<std::vector<Numbers>>& expected,
                       const std::vector<std::vector<Numbers>>& got, double tolerance = 1e-9,
                       const std::vector<std::vector<Numbers>>* nudged = nullptr) {
  for (std::size_t call = 0; call < expected.size(); ++call) {
    const double scale = largest(expected[call]);
    for (std::size_t k = 0; k < expected[call].size(); ++k) {
      const Numbers &a = expected[call][k], &b = got[call][k];
      bool same = a.size() == b.size();
      for (std::size_t i = 0; same && i < a.size(); ++i) {
        if (std::isnan(a[i]) && std::isnan(b[i])) continue;
        const double slack = nudged ? 1e4 * std::abs((*nudged)[call][k][i] - a[i]) : 0;
        same = how == Same::bits    ? std::memcmp(&a[i], &b[i], sizeof a[i]) == 0
               : how == Same::equal ? a[i] == b[i]
                                    : a[i] == b[i] || std::abs(a[i] - b[i]) <= tolerance * scale + slack;
      }
      if (!same)
        return std::string(category) + ": call " + std::to_string(call) + ", " + std::to_string(k) + ": expected " +
               shown(a) + ", got " + shown(b);
    }
  }
  return {};
}

/// The scalar of the level below at sources moved by t along the directions of level k. Assigned values move with
/// their variables only.
double moved(const Program& p, const Plan& plan, AssignLog& log, double t) {
  const int k = static_cast<int>(plan.levels.size());
  const Level& l = plan.levels.back();
  Environment e(p, Way::plain);
  log.next = 0;
  e.log = &log;
  e.direction = k;
  e.shift = l.sources & by_variables ? t : 0;
  for (std::size_t i = 0; i < e.variables.size(); ++i)
    if (e.shift != 0 && e.variables[i].trainable())
      e.variables[i].assign(e.variables[i].read() +
                            e.shift * direction(k, 10 + static_cast<int>(i), e.variables[i].shape()));
  if (l.sources & by_captured) e.captured = e.captured + t * direction(k, 30, e.captured.shape());
  Tensors x = inputs(p, 0);
  if (l.sources & by_arguments)
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = p.twice && i > 0 && i + 1 == x.size() ? x[0] : x[i] + t * direction(k, static_cast<int>(i), x[i].shape());
  const Runner runner(p, plan, e);
  Generator generator(5);
  return runner.level(k - 1, x, generator)[0].item();
}

// The plain run against central differences of the level below.
std::string against_differences_of(const Program& p, Plan plan, double expected) {
  plan.way = Way::plain;
  AssignLog log;
  moved(p, plan, log, 0);
  log.replay = true;
  double last = NAN;
  for (const double h : {1e-3, 2.5e-4, 6e-5, 1.5e-5}) {
    const double f1 = moved(p, plan, log, h), f2 = moved(p, plan, log, -h);
    const double f3 = moved(p, plan, log, 2 * h), f4 = moved(p, plan, log, -2 * h);
    const double slope = (8 * (f1 - f2) - (f3 - f4)) / (12 * h);
    const double scale = std::max({1.0, std::abs(expected), std::abs(f1), std::abs(slope)});
    const double error = std::abs(slope - expected);
    if (!std::isfinite(slope) || error <= 1e-6 * scale) return {};
    if (std::abs(slope - last) <
        std::min(0.01 * error, 1e-5 * scale))  // the differences have converged, to something else
      return "central differences: expected " + std::to_string(slope) + ", got " + std::to_string(expected);
    last = slope;
  }
  return {};
}

/// The same, unless moved inputs lead to another branch, which assigns other variables than the log has.
std::string against_differences(const Program& p, const Plan& plan, double expected) {
  try {
    return against_differences_of(p, plan, expected);
  } catch (const OtherBranch&) {
    return {};
  }
}

// Errors of compiled functions that are no faults: of effects in bodies that derivatives run again.
const char* const refusals[] = {"a derivative runs again; assign and draw outside",
                                "by a function that also reads it and is run again"};

std::string compare(const Program& p, const Plan& plan, const Outcome& expected, const Outcome& got, bool bits) {
  for (const char* refusal : refusals)
    if (got.error.find(refusal) != std::string::npos) return {};
  if (!got.error.empty()) return "threw " + without_digits(got.error).substr(0, 70) + ": " + got.error;
  if (expected.results[0].size() != got.results[0].size()) return "number of results:";
  std::string found = difference("results", Same::close, expected.results, got.results);
  if (found.empty()) found = difference("state", Same::close, expected.state, got.state);
  if (!found.empty()) {
    Plan plain = plan;
    plain.way = Way::plain;
    const Outcome nudged = run_plan(p, plain, 1e-13);
    if (!nudged.error.empty()) return found;
    found = difference("results", Same::close, expected.results, got.results, 1e-9, &nudged.results);
    if (found.empty()) found = difference("state", Same::close, expected.state, got.state, 1e-9, &nudged.state);
  }
  if (found.empty() && bits) found = difference("bits", Same::equal, expected.results, got.results);
  if (found.empty() && bits) found = difference("bits of the state", Same::equal, expected.state, got.state);
  if (found.empty() && bits && !plan.same_zeros && !may_be_none(p.body))
    found = difference("signs of zeros", Same::bits, expected.results, got.results);
  if (found.empty() && got.leaked) found = "live tensors: " + std::to_string(got.leaked);
  return found;
}

}  // namespace

std::string check(const Program& p, const Plan& plan) {
  Plan other = plan;
  other.way = Way::plain;
  const Outcome plain = run_plan(p, other);
  if (!plain.error.empty()) return "refused " + plain.error;
  for (const auto& call : plain.results)
    for (const Numbers& y : call)
      for (const double x : y)
        if (!std::isfinite(x) || std::abs(x) > 1e8) return {};
  other.levels.clear();
  const Outcome values = run_plan(p, other);
  std::string found = difference("state after a derivative", Same::close, values.state, plain.state, 1e-12);
  if (!found.empty()) return found;
  if (plain.leaked) return "live tensors of the plain run: " + std::to_string(plain.leaked);
  if (!plan.levels.empty()) found = against_differences(p, plan, plain.results[0][0][0]);
  if (!found.empty()) return found;
  other = plan;
  other.way = Way::recorded;
  const Outcome recorded = run_plan(p, other);
  found = compare(p, plan, plain, recorded, false);  // sums of gradients have another order there
  if (!found.empty()) return "op by op, " + found;
  if (plan.way == Way::recorded || !recorded.error.empty()) return {};
  const Outcome got = run_plan(p, plan);
  const bool whole = plan.way == Way::whole && plan.inside == static_cast<int>(plan.levels.size());
  found = compare(p, plan, whole ? recorded : plain, got, whole && !plan.native && !rounds(p, plan));
  return found.empty() ? found : (plan.way == Way::whole ? "compiled, " : "compiled parts, ") + found;
}

}  // namespace random_state
