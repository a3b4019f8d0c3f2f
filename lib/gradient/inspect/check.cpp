// The gradient checker. One function h at a time: f itself, then for each further order the gradient of a random
// combination of the results before. Of h, the derivative of s(x) = <v, h(x)> is compared, v random.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/testing.hpp>

#include "core/fail.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/gradient.hpp"

namespace reel {

namespace {

constexpr const char* who = "check_gradients";
using Tensors = std::vector<Tensor>;
using detail::CheckFunction;

struct Precision {
  double tolerance, step, identity;
  int attempts;  // at ever smaller steps, before rounding errors take over
};
Precision precision_of(DType d) {
  if (d == DType::float64) return {1e-6, 0.02, 1e-8, 6};
  if (d == DType::float32) return {5e-3, 0.1, 5e-5, 3};
  return {0.1, 0.25, 0.02, 1};
}

Tensor with_values(const std::vector<double>& values, const Tensor& like) {
  return cast(from_data(values, like.shape()), like.dtype());
}

Tensor random_like(const Tensor& x, std::mt19937_64& engine) {
  std::vector<double> values(static_cast<std::size_t>(x.size()));
  // Away from zero, so that each element counts.
  for (double& v : values) v = (0.5 + static_cast<double>(engine() >> 11) * 0x1p-54) * (engine() & 1 ? 1 : -1);
  return with_values(values, x);
}

struct Sum {
  long double value = 0, scale = 0;
};
Sum dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> p = a.to_vector(), q = b.to_vector();
  Sum s;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const long double product = static_cast<long double>(p[i]) * q[i];
    s.value += product;
    s.scale += std::abs(product);
  }
  return s;
}
Sum dot(const Tensors& a, const Tensors& b) {
  Sum s;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!is_floating(a[k].dtype())) continue;
    const Sum part = dot(a[k], b[k]);
    s.value += part.value;
    s.scale += part.scale;
  }
  return s;
}

bool same(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].shape() != b[k].shape() || a[k].dtype() != b[k].dtype()) return false;
    const std::vector<double> p = a[k].to_vector(), q = b[k].to_vector();
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p[i] != q[i] && !(std::isnan(p[i]) && std::isnan(q[i]))) return false;
  }
  return true;
}

// J^T v of h at x, by the floating arguments; zeros where not connected, an empty handle for the others.
Tensors pull(const CheckFunction& h, std::span<const Tensor> x, const Tensors& v) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Source> sources;
  for (const Tensor& leaf : x)
    if (is_floating(leaf.dtype())) {
      tape.watch(leaf);
      sources.emplace_back(leaf);
    }
  const Tensors y = h(x);
  std::vector<Target> targets;
  std::vector<Tensor> cotangents;
  for (std::size_t k = 0; k < y.size(); ++k)
    if (is_floating(y[k].dtype())) {
      targets.emplace_back(y[k]);
      cotangents.push_back(v[k]);
    }
  const autodiff::Gradients g =
      autodiff::replay(GradientTapeAccess::get(tape), targets, sources,
                       {.output_gradients = cotangents, .unconnected_gradients = UnconnectedGradients::zero});
  Tensors result(x.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (is_floating(x[i].dtype())) result[i] = g[next++].dense();
  return result;
}

// J t, t the tangent of argument k; an empty handle where a result does not depend on it.
Tensors push(const CheckFunction& h, std::span<const Tensor> x, std::size_t k, const Tensor& t) {
  GradientTape tape({.persistent = true, .watch_accessed_variables = false});
  tape.watch(x[k]);
  const Tensors y = h(x);
  tape.stop();
  const Source source(x[k]);
  return autodiff::pushforward(GradientTapeAccess::get(tape), {&source, 1}, {&t, 1}, y);
}

class Check {
 public:
  Check(const Tensors& x, const CheckOptions& o, CheckReport& report)
      : x_(x), o_(o), report_(report), engine_(o.seed) {}

  // Compares h's derivatives; false if the next order has no point.
  bool run(const CheckFunction& h, int order) {
    h_ = &h;
    order_ = order;
    const Tensors y = h(x_);
    if (!same(y, h(x_))) {
      fail_with(fmt::format("order {}: the function gives different results for the same arguments", order));
      return false;
    }
    choose_precision(y);
    v_.clear();
    for (const Tensor& result : y) {
      if (is_complex(result.dtype())) fail<TypeError>(who, "complex results are not supported; split them");
      v_.push_back(random_like(result, engine_));
    }
    const bool reverse = o_.modes != CheckMode::forward;
    const Tensors g = reverse ? pull(h, x_, v_) : Tensors(x_.size());
    for (std::size_t k = 0; k < x_.size(); ++k) {
      if (!is_floating(x_[k].dtype()) || x_[k].size() == 0) continue;
      if (reverse) compare_reverse(k, g[k]);
      if (o_.modes != CheckMode::reverse) compare_forward(k, g[k]);
    }
    return true;
  }

  Tensors random_weights(const Tensors& y) {
    Tensors w;
    for (const Tensor& result : y) w.push_back(random_like(result, engine_));
    return w;
  }

 private:
  // s(x + h e): along an element or a tangent of argument k.
  struct Line {
    std::size_t argument;
    std::vector<double> at, direction;
    double scale;  // of a step
  };

  void choose_precision(const Tensors& y) {
    precision_ = precision_of(DType::float64);
    const auto widen = [&](const Tensor& t) {
      if (!is_floating(t.dtype())) return;
      const Precision p = precision_of(t.dtype());
      if (p.tolerance > precision_.tolerance) precision_ = p;
    };
    std::for_each(x_.begin(), x_.end(), widen);
    std::for_each(y.begin(), y.end(), widen);
    if (o_.tolerance > 0) {
      precision_.tolerance = o_.tolerance;
      precision_.identity = std::max(precision_.identity, 0.01 * o_.tolerance);
    }
    if (o_.step > 0) precision_.step = o_.step;
  }

  // The value of s, and how far along the line the rounded argument really is.
  struct Sample {
    double distance, value;
  };
  Sample sample(const Line& line, double h) {
    std::vector<double> moved = line.at;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += h * line.direction[i];
    Tensors x = x_;
    x[line.argument] = with_values(moved, x_[line.argument]);
    const std::vector<double> rounded = x[line.argument].to_vector();
    double along = 0, norm = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      along += (rounded[i] - line.at[i]) * line.direction[i];
      norm += line.direction[i] * line.direction[i];
    }
    return {along / norm, static_cast<double>(dot(v_, (*h_)(x)).value)};
  }

  struct Slope {
    double value = NAN, error = INFINITY;
    double below = 0, above = 0;  // one-sided
    bool kink = false;
  };

  // Ridders' method: Richardson's extrapolation of central differences, from a step small enough that it settles.
  Slope slope(const Line& line) {
    Slope best;
    const double here = sample(line, 0).value;
    double first = 0;
    bool apart = false;
    for (int attempt = 0; attempt < precision_.attempts; ++attempt) {
      constexpr int levels = 4;
      double table[levels][levels], below = 0, above = 0, h = precision_.step * line.scale * std::pow(8.0, -attempt);
      for (int i = 0; i < levels; ++i, h /= 2) {
        const Sample up = sample(line, h), down = sample(line, -h);
        above = (up.value - here) / up.distance;
        below = (here - down.value) / -down.distance;
        table[i][0] = (up.value - down.value) / (up.distance - down.distance);
        for (int j = 1; j <= i; ++j) {
          table[i][j] = table[i][j - 1] + (table[i][j - 1] - table[i - 1][j - 1]) / (std::pow(4.0, j) - 1);
          const double error =
              std::max(std::abs(table[i][j] - table[i][j - 1]), std::abs(table[i][j] - table[i - 1][j - 1]));
          if (error < best.error) {
            best.value = table[i][j];
            best.error = error;
          }
        }
      }
      // Where the slopes on both sides differ, and go on to at ever smaller steps, they are two.
      const double difference = std::abs(above - below), size = std::max(std::abs(above), std::abs(below));
      if (attempt == 0) first = difference;
      apart = difference > 20 * precision_.tolerance * size && difference > 0.5 * first;
      best.below = below;
      best.above = above;
      if (!apart && best.error <= 0.1 * precision_.tolerance * std::abs(best.value)) break;
    }
    best.kink = apart;
    return best;
  }

  void add(CheckMode mode, std::size_t argument, double error, bool passed, std::string worst) {
    report_.worst_error = std::isnan(error) ? INFINITY : std::max(report_.worst_error, error);
    report_.passed = report_.passed && passed;
    report_.entries.push_back({order_, mode, argument, error, passed, std::move(worst)});
  }
  void fail_with(std::string note) {
    report_.passed = false;
    report_.notes.push_back(std::move(note));
  }

  std::vector<std::size_t> chosen(std::size_t size) {
    std::vector<std::size_t> all(size);
    for (std::size_t i = 0; i < size; ++i) all[i] = i;
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, o_.elements));
    if (size <= most) return all;
    std::shuffle(all.begin(), all.end(), engine_);
    all.resize(most);
    std::sort(all.begin(), all.end());
    return all;
  }

  void compare_reverse(std::size_t k, const Tensor& gradient) {
    const std::vector<double> g = gradient.to_vector(), at = x_[k].to_vector();
    std::vector<Slope> slopes(at.size());
    const std::vector<std::size_t> elements = chosen(at.size());
    double size = 0;
    for (const std::size_t i : elements) {
      Line line{k, at, std::vector<double>(at.size()), std::max(std::abs(at[i]), 0.1)};
      line.direction[i] = 1;
      slopes[i] = slope(line);
      size = std::max({size, std::abs(slopes[i].value), std::abs(g[i])});
    }
    double worst = 0;
    std::string text = "no element differs";
    for (const std::size_t i : elements) {
      const Slope& s = slopes[i];
      double error = std::abs(g[i] - s.value) / size;
      if (size == 0 && s.value == 0) error = 0;
      if (s.kink) {
        const bool between = g[i] >= std::min(s.below, s.above) - precision_.tolerance * size &&
                             g[i] <= std::max(s.below, s.above) + precision_.tolerance * size;
        report_.notes.push_back(
            fmt::format("order {}: kink at element {} of argument {}: slopes {:.6g} and {:.6g}, "
                        "the gradient there is {:.6g}",
                        order_, i, k, s.below, s.above, g[i]));
        error = o_.allow_kinks && between ? 0 : std::abs(s.above - s.below) / size;
      }
      if (error <= worst) continue;
      worst = std::isnan(error) ? INFINITY : error;
      text = fmt::format("element {}: gradient {:.10g}, differences {:.10g}", i, g[i], s.value);
    }
    add(CheckMode::reverse, k, worst, worst <= precision_.tolerance, std::move(text));
  }

  void compare_forward(std::size_t k, const Tensor& gradient) {
    const Tensor t = random_like(x_[k], engine_);
    Tensors pushed;
    try {
      pushed = push(*h_, x_, k, t);
    } catch (const NotDifferentiable& e) {
      report_.notes.push_back(fmt::format("order {}: argument {}: no forward mode: {}", order_, k, e.what()));
      if (o_.modes == CheckMode::forward) add(CheckMode::forward, k, INFINITY, false, e.what());
      return;
    }
    Sum forward;
    for (std::size_t i = 0; i < pushed.size(); ++i)
      if (pushed[i].defined() && is_floating(pushed[i].dtype())) {
        const Sum part = dot(v_[i], pushed[i]);
        forward.value += part.value;
        forward.scale += part.scale;
      }
    long double expected, size = forward.scale;
    double tolerance = precision_.tolerance;
    if (gradient.defined()) {
      const Sum reverse = dot(gradient, t);
      expected = reverse.value;
      size = std::max(size, reverse.scale);
      tolerance = precision_.identity;
    } else {
      const std::vector<double> at = x_[k].to_vector();
      double largest = 0.1;
      for (const double a : at) largest = std::max(largest, std::abs(a));
      const Slope s = slope({k, at, t.to_vector(), largest});
      if (s.kink)
        report_.notes.push_back(fmt::format("order {}: kink along a tangent of argument {}: slopes {:.6g} and {:.6g}",
                                            order_, k, s.below, s.above));
      expected = s.value;
    }
    const double error = size == 0 ? static_cast<double>(std::abs(expected - forward.value))
                                   : static_cast<double>(std::abs(expected - forward.value) / size);
    add(CheckMode::forward, k, error, error <= tolerance,
        fmt::format("<v, J t> is {:.10g}, {} {:.10g}", static_cast<double>(forward.value),
                    gradient.defined() ? "<J^T v, t>" : "differences", static_cast<double>(expected)));
  }

  const Tensors& x_;
  const CheckOptions& o_;
  CheckReport& report_;
  std::mt19937_64 engine_;
  const CheckFunction* h_ = nullptr;
  int order_ = 0;
  Precision precision_{};
  Tensors v_;
};

}  // namespace

CheckReport detail::check(const CheckFunction& f, const std::vector<Tensor>& x, const CheckOptions& options) {
  if (options.order < 1) fail<ValueError>(who, "order is {}; it must be 1 or more", options.order);
  bool any = false;
  for (const Tensor& leaf : x) {
    if (!leaf.defined()) fail<ValueError>(who, "an argument is empty (default-constructed or moved from)");
    if (is_complex(leaf.dtype())) fail<TypeError>(who, "complex arguments are not supported; use real ones");
    any |= is_floating(leaf.dtype());
  }
  if (!any) fail<TypeError>(who, "no argument is floating: there is nothing to differentiate by");
  // Each leaf a tensor of its own, even where one was given twice.
  std::vector<Tensor> leaves;
  for (const Tensor& leaf : x) leaves.push_back(alias(leaf));
  CheckReport report;
  Check check(leaves, options, report);
  CheckFunction h = f;
  for (int order = 1; order <= options.order; ++order) {
    if (!check.run(h, order) || order == options.order) break;
    h = [h, w = check.random_weights(h(leaves))](std::span<const Tensor> at) {
      Tensors g;
      for (Tensor& part : pull(h, at, w))
        if (part.defined()) g.push_back(std::move(part));
      return g;
    };
  }
  return report;
}

std::string to_string(const CheckReport& r) {
  std::string text = fmt::format("{}, the largest error is {:.3g}", r.passed ? "passed" : "failed", r.worst_error);
  for (const CheckEntry& e : r.entries)
    text += fmt::format("\n  order {}, {} mode, argument {}: {}, error {:.3g} ({})", e.order,
                        e.mode == CheckMode::reverse ? "reverse" : "forward", e.argument,
                        e.passed ? "passed" : "failed", e.error, e.worst);
  for (const std::string& note : r.notes) text += "\n  " + note;
  return text;
}
std::ostream& operator<<(std::ostream& out, const CheckReport& r) { return out << to_string(r); }

}  // namespace reel
