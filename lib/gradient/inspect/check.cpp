// The gradient checker. It checks one function h at a time: f itself, then for each further order the gradient of a
// random combination of the previous results. It compares the derivatives of s(x) = <v, h(x)> for a random v.
#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/testing.hpp>

#include "core/fail.hpp"
#include "core/rounding.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/gradient.hpp"

namespace reel {

namespace {

constexpr const char* who = "check_gradients";
using Tensors = std::vector<Tensor>;
using detail::CheckFunction;

struct Precision {
  double tolerance, step, identity;
  int attempts;     // attempts at smaller and smaller steps, before rounding errors dominate
  double rounding;  // relative error of one operation
};
Precision precision_of(DType d) {
  const double rounding = detail::unit_roundoff(d);
  if (d == DType::float64) return {1e-6, 0.02, 1e-8, 6, rounding};
  if (d == DType::float32) return {5e-3, 0.1, 5e-5, 3, rounding};
  return {0.1, 0.25, 0.02, 1, rounding};
}
// For the narrowest floating dtype among the tensors.
Precision precision_of(std::initializer_list<std::span<const Tensor>> lists) {
  Precision narrowest = precision_of(DType::float64);
  for (const std::span<const Tensor> list : lists)
    for (const Tensor& t : list) {
      if (!is_floating(t.dtype())) continue;
      const Precision p = precision_of(t.dtype());
      if (p.rounding > narrowest.rounding) narrowest = p;
    }
  return narrowest;
}

Tensor with_values(const std::vector<double>& values, const Tensor& like) {
  return cast(from_data(values, like.shape()), like.dtype());
}

Tensor random_like(const Tensor& x, std::mt19937_64& engine) {
  std::vector<double> values(static_cast<std::size_t>(x.size()));
  // Bounded away from zero, so that each element counts.
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

// The square root of the sum of (v y)^2: independent rounding errors of y change <v, y> by about this times the
// relative rounding error. With `before`, only over the elements that differ from it.
double length(const Tensors& v, const Tensors& y, const Tensors* before = nullptr) {
  double squares = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (!is_floating(y[k].dtype())) continue;
    const std::vector<double> p = v[k].to_vector(), q = y[k].to_vector();
    const std::vector<double> old = before ? (*before)[k].to_vector() : std::vector<double>(q.size(), NAN);
    for (std::size_t i = 0; i < q.size(); ++i)
      if (q[i] != old[i]) squares += p[i] * q[i] * p[i] * q[i];
  }
  return std::sqrt(squares);
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

// J^T v of h at x, for the floating arguments: zeros if not connected. An empty handle for other arguments.
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
      cotangents.push_back(cast(v[k], y[k].dtype()));
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

// J t for a tangent t of argument k. An empty handle where a result does not depend on it.
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

  // Compares h's derivatives. False if the next order cannot be checked.
  bool run(const CheckFunction& h, int order) {
    h_ = &h;
    order_ = order;
    const Tensors y = h(x_);
    for (const Tensor& result : y)
      if (is_complex(result.dtype())) fail<TypeError>(who, "complex results are not supported; split them");
    if (!same(y, h(x_))) {
      fail_with(fmt::format("order {}: the function gives different results for the same arguments", order));
      return false;
    }
    v_.clear();
    for (const Tensor& result : y) v_.push_back(random_like(result, engine_));
    choose_precision(y);
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
  // s(x + h e), where e is an element or a tangent of argument k.
  struct Line {
    std::size_t argument;
    std::vector<double> at, direction;
    double scale;  // of a step
  };

  void choose_precision(const Tensors& y) {
    precision_ = precision_of({x_, y});
    differences_ = precision_;
    at_ = x_;
    here_ = y;
    if (precision_.rounding > precision_of(DType::float64).rounding) widen(y);
    if (o_.tolerance > 0) {
      precision_.tolerance = o_.tolerance;
      precision_.identity = std::max(precision_.identity, 0.01 * o_.tolerance);
    }
    if (o_.step > 0) differences_.step = o_.step;
  }

  // Computes the differences in float64 if h supports it: it accepts such arguments, all results are float64 then, and
  // they agree with the original ones up to rounding.
  void widen(const Tensors& y) {
    Tensors x = x_, wide;
    for (Tensor& leaf : x)
      if (is_floating(leaf.dtype())) leaf = cast(leaf, DType::float64);
    try {
      wide = (*h_)(x);
    } catch (const std::exception&) {
      return;
    }
    if (wide.size() != y.size()) return;
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (wide[k].shape() != y[k].shape() || is_floating(wide[k].dtype()) != is_floating(y[k].dtype())) return;
      if (!is_floating(y[k].dtype())) continue;
      if (wide[k].dtype() != DType::float64) return;
      const std::vector<double> p = wide[k].to_vector(), q = y[k].to_vector();
      double size = 0, apart = 0;
      for (std::size_t i = 0; i < p.size(); ++i) {
        size = std::max(size, std::abs(q[i]));
        apart = std::max(apart, std::abs(p[i] - q[i]));
      }
      if (!(apart <= precision_.tolerance * size)) return;
    }
    at_ = std::move(x);
    here_ = std::move(wide);
    differences_ = precision_of(DType::float64);
  }

  // The value of s, the actual distance of the rounded argument along the line, and the norm of the results that
  // change.
  struct Sample {
    double distance, value, length;
  };
  Sample sample(const Line& line, double h) {
    std::vector<double> moved = line.at;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += h * line.direction[i];
    Tensors x = at_;
    x[line.argument] = with_values(moved, at_[line.argument]);
    const std::vector<double> rounded = x[line.argument].to_vector();
    double along = 0, norm = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      along += (rounded[i] - line.at[i]) * line.direction[i];
      norm += line.direction[i] * line.direction[i];
    }
    const Tensors y = (*h_)(x);
    return {along / norm, static_cast<double>(dot(v_, y).value), length(v_, y, &here_)};
  }

  struct Slope {
    double value = NAN, error = INFINITY;
    double noise = 0;             // the part of the error that is due to rounding
    double length = 0;            // norm of the results that change along the line
    double change = 0, rest = 0;  // of s over the largest step, and over an eighth of it
    double below = 0, above = 0;  // one-sided slopes
    bool kink = false;
  };

  // Ridders' method: Richardson extrapolation of central differences. It starts from a step small enough to converge
  // and continues while steps are large enough for rounding not to dominate.
  Slope slope(const Line& line) {
    constexpr int levels = 4;  // of the extrapolation: three errors are eliminated
    Slope best;
    const double here = static_cast<double>(dot(v_, here_).value), all = length(v_, here_);
    for (int attempt = 0; attempt < differences_.attempts; ++attempt) {
      double table[levels][levels], below[levels], above[levels], noise = 0;
      double h = differences_.step * line.scale * std::pow(8.0, -attempt);
      for (int i = 0; i < levels; ++i, h /= 2) {
        const Sample up = sample(line, h), down = sample(line, -h);
        for (const double length : {up.length, down.length})
          if (std::isfinite(length)) best.length = std::max(best.length, length);
        // If no result changes, the step may be too small for all of them.
        noise = 4 * differences_.rounding * (best.length > 0 ? best.length : all) / h;
        if (attempt == 0 && i == 0) best.change = std::abs(up.value - down.value);
        if (attempt == 0) best.rest = std::abs(up.value - down.value);
        above[i] = (up.value - here) / up.distance;
        below[i] = (here - down.value) / -down.distance;
        table[i][0] = (up.value - down.value) / (up.distance - down.distance);
        for (int j = 1; j <= i; ++j) {
          table[i][j] = table[i][j - 1] + (table[i][j - 1] - table[i - 1][j - 1]) / (std::pow(4.0, j) - 1);
          const double error =
              noise + std::max(std::abs(table[i][j] - table[i][j - 1]), std::abs(table[i][j] - table[i - 1][j - 1]));
          if (error < best.error) {
            best.value = table[i][j];
            best.error = error;
            best.noise = noise;
          }
        }
      }
      // A kink: the slopes on both sides differ and do not change with the step. A difference due to curvature is
      // proportional to the step, one due to rounding grows as the step shrinks.
      const auto [lowest_below, highest_below] = std::minmax_element(below, below + levels);
      const auto [lowest_above, highest_above] = std::minmax_element(above, above + levels);
      best.below = below[levels - 1];
      best.above = above[levels - 1];
      const double difference = std::abs(best.above - best.below);
      const double size = std::max(std::abs(best.above), std::abs(best.below));
      best.kink = difference > 20 * differences_.tolerance * size && difference > 2 * noise &&
                  4 * std::max(*highest_below - *lowest_below, *highest_above - *lowest_above) < difference;
      if (best.kink) continue;
      if (best.error <= 0.1 * precision_.tolerance * std::abs(best.value) || best.error <= 8 * noise) break;
    }
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
    Noise noise;
    const std::vector<std::size_t> elements = chosen(at.size());
    double size = 0;
    for (const std::size_t i : elements) {
      Line line{k, at, std::vector<double>(at.size()), step_scale(at[i])};
      line.direction[i] = 1;
      slopes[i] = slope(line);
      noise.add(slopes[i], line.scale, differences_.rounding);
      size = std::max({size, std::abs(slopes[i].value), std::abs(g[i])});
    }
    allowance_ = noise.allowance(precision_.rounding);
    double worst = 0;
    std::string text = "no element differs";
    for (const std::size_t i : elements) {
      const Slope& s = slopes[i];
      const double apart = std::abs(s.above - s.below) / size;
      double error = relative(std::abs(g[i] - s.value), size, s.noise + allowance_);
      std::string words = fmt::format("element {}: gradient {:.10g}, differences {:.10g}", i, g[i], s.value);
      if (s.kink && apart > precision_.tolerance) {
        const bool between = g[i] >= std::min(s.below, s.above) - precision_.tolerance * size &&
                             g[i] <= std::max(s.below, s.above) + precision_.tolerance * size;
        report_.notes.push_back(
            fmt::format("order {}: kink at element {} of argument {}: slopes {:.6g} and {:.6g}, "
                        "the gradient there is {:.6g}",
                        order_, i, k, s.below, s.above, g[i]));
        error = o_.allow_kinks && between ? 0 : apart;
        words = fmt::format("element {}: slopes {:.10g} and {:.10g}, gradient {:.10g}", i, s.below, s.above, g[i]);
      }
      if (error <= worst) continue;
      worst = std::isnan(error) ? INFINITY : error;
      text = std::move(words);
    }
    add(CheckMode::reverse, k, worst, worst <= precision_.tolerance, std::move(text));
  }

  static double step_scale(double element) { return std::max(std::abs(element), 0.1); }

  // The error minus what rounding explains, relative to the largest derivative.
  static double relative(double error, double size, double rounding) {
    const double rest = error <= rounding ? 0 : error - rounding;
    return rest == 0 ? 0 : rest / size;
  }

  // All slopes are tiny, and either comparable to their error or due to results that hardly change less over smaller
  // steps: differences cannot tell the derivative from 0, and "the largest derivative" is a rounding error. Then a
  // gradient passes if it is not larger than the slopes found, nor than one that changes the results by their last
  // digits over a step as large as the largest element.
  struct Noise {
    double found = 0, change = 0, rest = 0, length = 0, scale = 0;
    bool tiny = true, uncertain = true;

    void add(const Slope& s, double step_scale, double rounding) {
      const double size = std::abs(s.value);
      tiny = tiny && size * step_scale <= std::sqrt(rounding) * std::max(1.0, s.length);
      uncertain = uncertain && size <= 16 * s.error;
      found = std::max(found, size + s.error);
      change += s.change;
      rest += s.rest;
      length = std::max(length, s.length);
      scale = std::max(scale, step_scale);
    }
    double allowance(double rounding) const {
      return tiny && (uncertain || change <= 4 * rest) ? 2 * found + 16 * rounding * length / scale : 0;
    }
  };

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
    const std::vector<double> direction = t.to_vector();
    long double expected;
    double size = static_cast<double>(forward.scale), tolerance = precision_.tolerance, rounding = 0;
    if (gradient.defined()) {
      const Sum reverse = dot(gradient, t);
      expected = reverse.value;
      size = std::max(size, static_cast<double>(reverse.scale));
      tolerance = precision_.identity;
      for (const double d : direction) rounding += allowance_ * std::abs(d);
    } else {
      const std::vector<double> at = x_[k].to_vector();
      double largest = 0;
      for (const double a : at) largest = std::max(largest, step_scale(a));
      const Slope s = slope({k, at, direction, largest});
      if (s.kink)
        report_.notes.push_back(fmt::format("order {}: kink along a tangent of argument {}: slopes {:.6g} and {:.6g}",
                                            order_, k, s.below, s.above));
      expected = s.value;
      Noise noise;
      noise.add(s, largest, differences_.rounding);
      rounding = s.noise + noise.allowance(precision_.rounding);
    }
    const double error = relative(static_cast<double>(std::abs(expected - forward.value)), size, rounding);
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
  Precision precision_{}, differences_{};
  double allowance_ = 0;   // for derivatives by this argument, when all are 0 up to rounding
  Tensors at_, here_, v_;  // the point, h there, and the cotangents
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
  // A tensor of its own for each leaf, even if one was passed twice.
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
