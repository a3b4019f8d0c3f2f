// Programs at zeros of both signs, infinities, NaN and numbers near the ends of the range. The interpreter knows no
// values there. What holds is that all ways of running a program agree: with and without a tape, op by op and compiled,
// in the bits of their results or in the kind of their error.
#include <algorithm>
#include <bit>
#include <complex>
#include <limits>
#include <reel/compile.hpp>
#include <sstream>
#include <typeinfo>

#include "modes.hpp"

namespace random_programs {

namespace {

using reel::Gradient;
using reel::GradientTape;
using reel::Tensor;
using Tensors = std::vector<Tensor>;

double special_number(Random& random, DType dtype) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const bool wide = dtype == DType::float64 || dtype == DType::complex128;
  const double tiny = wide ? 1e-310 : 1e-40, small = wide ? 1e-160 : 1e-22, large = wide ? 1e160 : 1e22,
               huge = wide ? 1e308 : 1e38;
  const double list[] = {0., -0., 0., -0., 1., -1., inf, -inf, nan, tiny, -tiny, small, -small, large, -large, huge};
  return list[random() % std::size(list)];
}

// What a way of running gives: values, or an error of the library.
struct Result {
  Tensors values;
  std::string error;  // the name of its type
};

template <class F>
Result result_of(const F& f) {
  try {
    return {f(), {}};
  } catch (const reel::TraceError&) {
    throw;
  } catch (const reel::Error& e) {
    return {{}, typeid(e).name()};
  }
}

std::vector<double> numbers_of(const Tensor& t) {
  if (!reel::is_complex(t.dtype())) return reel::cast(t, DType::float64).to_vector();
  std::vector<double> list;
  for (const std::complex<double>& c : reel::cast(t, DType::complex128).to_vector<std::complex<double>>())
    list.insert(list.end(), {c.real(), c.imag()});
  return list;
}

bool same_number(double a, double b) {
  return (a != a && b != b) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// How two results differ; empty if they do not.
std::string difference(const Result& a, const Result& b) {
  if (a.error != b.error) return "error '" + a.error + "' or '" + b.error + "'";
  if (a.values.size() != b.values.size()) return "numbers of results";
  std::ostringstream out;
  out.precision(17);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const Tensor &x = a.values[i], &y = b.values[i];
    if (x.dtype() != y.dtype() || x.shape() != y.shape()) return "dtype or shape of result " + std::to_string(i);
    const std::vector<double> p = numbers_of(x), q = numbers_of(y);
    for (std::size_t k = 0; k < p.size(); ++k) {
      if (same_number(p[k], q[k])) continue;
      out << "result " << i << ", number " << k << ": " << p[k] << " or " << q[k];
      return out.str();
    }
  }
  return {};
}

class Ways {
 public:
  Ways(const Program& p, const Plan& plan) : p_(p), random_(plan.seed) {
    for (const Statement* s : p.inputs(Role::source)) x_.push_back(tensor_of(*s));
    for (const Tensor& x : x_) direction_.push_back(drawn(x));
  }
  // The first disagreement; empty if there is none.
  std::string disagreement() {
    const Result plain = result_of([&] { return execute(p_, x_); });
    const auto taped = [&] {
      GradientTape tape({.persistent = true});
      tape.watch(x_);
      return execute(p_, x_);
    };
    if (std::string d = difference(plain, result_of(taped)); !d.empty()) return "value with or without a tape: " + d;
    for (const Tensor& y : plain.values) cotangents_.push_back(drawn(y));
    std::string d = op_by_op_or_compiled("value", [this](const Tensors& x) { return execute(p_, x); });
    if (d.empty() && plain.error.empty() && !has_bodies()) {
      d = op_by_op_or_compiled("gradient", [this](const Tensors& x) { return gradient(x); });
      if (d.empty()) d = op_by_op_or_compiled("tangent", [this](const Tensors& x) { return tangent(x); });
      if (d.empty()) d = op_by_op_or_compiled("second gradient", [this](const Tensors& x) { return second(x); });
    }
    return d;
  }

 private:
  // A loop or branch that has not run leaves its operands without a gradient. A compiled one does not know that before
  // it runs, and gives zeros, whose products with infinities are NaN: only values are compared.
  bool has_bodies() const {
    return std::ranges::any_of(p_.statements,
                               [](const Statement& s) { return !s.bodies.empty() && s.op->name != "elementwise"; });
  }
  template <class F>
  std::string op_by_op_or_compiled(const std::string& what, const F& f) const {
    const auto compiled = reel::compile(f);
    const Result once = result_of([&] { return f(x_); });
    for (int run = 0; run < 2; ++run)
      if (std::string d = difference(once, result_of([&] { return compiled(x_); })); !d.empty())
        return what + " op by op or compiled: " + d;
    return {};
  }
  Tensors gradient(const Tensors& x) const {
    GradientTape tape;
    tape.watch(x);
    const Tensors y = execute(p_, x);
    const std::vector<Gradient> g = tape.gradient(y, x, {.output_gradients = cotangents_});
    return filled(g, x);
  }
  Tensors tangent(const Tensors& x) const {
    return reel::jvp([this](const Tensors& xs) { return execute(p_, xs); }, x, direction_).second;
  }
  Tensors second(const Tensors& x) const {
    GradientTape tape;
    tape.watch(x);
    const std::vector<Gradient> g = tape.gradient(gradient(x), x, {.output_gradients = direction_});
    return filled(g, x);
  }
  static Tensors filled(const std::vector<Gradient>& g, const Tensors& x) {
    Tensors list;
    for (std::size_t i = 0; i < g.size(); ++i) list.push_back(g[i] ? g[i].dense() : reel::zeros_like(x[i]));
    return list;
  }
  // A cotangent or direction like t; one number in four is special.
  Tensor drawn(const Tensor& t) {
    Statement s;
    s.dtype = t.dtype();
    for (const std::int64_t n : t.shape()) s.shape.push_back(n);
    const auto number = [&] {
      return random_() % 4 == 0 ? special_number(random_, s.dtype)
                                : 0.25 * static_cast<double>(static_cast<int>(random_() % 13) - 6);
    };
    for (std::int64_t i = 0; i < t.size(); ++i) {
      s.data.push_back(number());
      if (reel::is_complex(s.dtype)) s.imaginary.push_back(number());
    }
    return tensor_of(s);
  }

  const Program& p_;
  Random random_;
  Tensors x_, cotangents_, direction_;
};

}  // namespace

void make_operands_special(Program& p, std::uint64_t seed) {
  Random random(seed ^ 0x2545f491);
  const auto one_in = 2 + random() % 8;
  for (Statement& s : p.statements) {
    if (s.role != Role::source && s.role != Role::constant) continue;
    if (!is_real_floating(s.dtype) && !reel::is_complex(s.dtype)) continue;
    for (std::vector<double>* part : {&s.data, &s.imaginary})
      for (double& v : *part)
        if (random() % one_in == 0) v = special_number(random, s.dtype);
  }
}

Outcome check_ways(const Program& p, const Plan& plan) {
  try {
    const std::string d = Ways(p, plan).disagreement();
    return d.empty() ? Outcome() : Outcome{Outcome::differs, d};
  } catch (const reel::TraceError&) {
    return {Outcome::skipped, "not traceable"};
  } catch (const std::exception& e) {
    return {Outcome::threw, e.what()};
  }
}

}  // namespace random_programs
