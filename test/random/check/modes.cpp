// Runs a program through the library's derivatives and compares with the interpreter's.

#include "modes.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <reel/compile.hpp>
#include <sstream>

#include "problem.hpp"

namespace random_programs {

namespace {

using reel::Gradient;
using reel::GradientTape;
using reel::Tensor;

std::map<std::string, std::int64_t>& counted() {
  static std::map<std::string, std::int64_t> map;
  return map;
}

// ---- Comparison.

struct Differs {
  std::string message;
};

// Whether a number is infinite because the expected value is out of its dtype's range.
bool overflowed(double value, const Jet& expected, DType dtype) {
  const bool wide = dtype == DType::float64 || dtype == DType::complex128;
  const double greatest = dtype == DType::float16 ? 65504 : wide ? 1.7e308 : 3.3e38;
  return std::isinf(value) && std::signbit(value) == std::signbit(expected.v[0]) &&
         static_cast<double>(std::fabs(expected.v[0])) + expected.e[0] >= greatest;
}

std::vector<Complex> elements_of(const Tensor& t) {
  const Tensor x = reel::is_complex(t.dtype()) ? reel::cast(t, DType::complex128) : reel::cast(t, DType::float64);
  std::vector<Complex> list;
  if (reel::is_complex(t.dtype()))
    for (const auto& c : x.to_vector<std::complex<double>>()) list.push_back(c);
  else
    for (const double v : x.to_vector()) list.emplace_back(v);
  return list;
}

void compare(const std::string& what, const Tensor& got, const Array& expected) {
  std::ostringstream out;
  out.precision(12);
  if (got.dtype() != expected.dtype)
    out << what << ": dtype " << reel::name(got.dtype()) << ", expected " << reel::name(expected.dtype);
  else if (got.shape() != reel::Shape(expected.shape))
    out << what << ": shape " << reel::to_string(got.shape()) << ", expected "
        << reel::to_string(reel::Shape(expected.shape));
  if (!out.str().empty()) throw Differs{out.str()};
  const std::vector<Complex> list = elements_of(got);
  round_like(expected.dtype);
  const double unit = Jet::unit;
  bool good = true;
  double worst = 0, difference = 0, largest = 0;
  for (const Num& n : expected.data)
    for (const Jet* j : {&n.re, &n.im}) {
      if (j == &n.re || reel::is_complex(expected.dtype))
        largest = std::max(largest, static_cast<double>(std::fabs(j->v[0])));
    }
  std::size_t at = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    for (const bool imaginary : {false, true}) {
      if (imaginary && !reel::is_complex(expected.dtype)) break;
      const Jet& e = imaginary ? expected.data[i].im : expected.data[i].re;
      const double value = imaginary ? list[i].imag() : list[i].real();
      const double size = static_cast<double>(std::fabs(e.v[0]));
      const double tolerance = 64 * e.e[0] + 8 * unit * (size + largest) + 1e-30;
      if (!std::isfinite(tolerance) || tolerance > 0.1 * (1 + size)) continue;  // ill-conditioned: not compared
      const double off = static_cast<double>(std::fabs(static_cast<Real>(value) - e.v[0]));
      if (off <= tolerance || overflowed(value, e, expected.dtype)) continue;
      if (good || off / tolerance > worst) worst = off / tolerance, at = i, difference = off;
      good = false;
    }
  if (good) return;
  out << "element " << at << " is off by " << difference << ", " << worst << " times what is allowed; ";
  out << what << ":\n  obtained";
  for (const Complex& c : list)
    out << ' ' << (reel::is_complex(expected.dtype) ? "" : "") << c.real()
        << (c.imag() != 0 ? "+" + std::to_string(c.imag()) + "i" : "");
  out << "\n  expected";
  for (const Num& n : expected.data) {
    out << ' ' << static_cast<double>(n.re.v[0]);
    if (reel::is_complex(expected.dtype)) out << '+' << static_cast<double>(n.im.v[0]) << 'i';
  }
  out << "\n  error   ";
  for (const Num& n : expected.data) out << ' ' << n.re.e[0];
  throw Differs{out.str()};
}
void compare(const std::string& what, const Tensors& got, const std::vector<Array>& expected) {
  if (got.size() != expected.size()) throw Differs{what + ": wrong number of results"};
  for (std::size_t i = 0; i < got.size(); ++i) compare(what + " " + std::to_string(i), got[i], expected[i]);
}
/// None stands for zeros.
Tensor dense(const Gradient& g, const Tensor& like) { return g ? g.dense() : reel::zeros_like(like); }

// ---- Derivatives by the library.

// The program in the form that is compiled: its real floating results times a number argument of value 1.
struct Scaled {
  const Program* program;
  template <class N>
  Tensors operator()(const Tensors& x, const N& one) const {
    Tensors results = execute(*program, x);
    for (Tensor& y : results)
      if (reel::is_floating(y.dtype())) y = y * one;
    return results;
  }
};

class Run {
 public:
  Run(const Program& p, const Plan& plan, const Problem& problem)
      : p_(p),
        plan_(plan),
        problem_(problem),
        compiled_(reel::compile(Scaled{&p_})),
        w_(problem.tensors(problem.y(), problem.cotangents())) {
    for (int k = 0; k < 3; ++k) d_.push_back(problem.tensors(problem.x(), problem.direction(k)));
  }

  Tensors program(const Tensors& x) const {
    return plan_.compile == Compile::function ? compiled_(x, 1.) : execute(p_, x);
  }
  /// f(x), or what the second run of its program gives.
  template <class F>
  auto whole(const F& f, const Tensors& x) const {
    if (plan_.compile != Compile::derivative) return f(x);
    const auto compiled = reel::compile(f);
    static_cast<void>(compiled(x));
    return compiled(x);
  }

  /// Level k: the program, differentiated by the first k letters of the word.
  Tensors level(std::size_t k, const Tensors& x) {
    if (k == 0) return program(x);
    std::size_t reversed = 0;  // letters R below
    for (std::size_t i = 0; i + 1 < k; ++i) reversed += plan_.word[i] == 'R';
    const auto inner = [this, k](const Tensors& xs) { return level(k - 1, xs); };
    const auto digit = static_cast<int>(plan_.style >> (8 * k) & 255);
    const Tensors& w = reversed ? d_[k - 1] : w_;
    if (x.size() == 1 && digit & 4)
      return alone(inner, x[0], plan_.word[k - 1] == 'F' ? d_[k - 1] : w, plan_.word[k - 1] == 'F', digit);
    if (plan_.word[k - 1] == 'F') return forward(inner, x, d_[k - 1], digit);
    return reverse(inner, x, w, digit);
  }

  Tensor weighted(const Tensors& y, const Tensors& w) const {
    Tensor total;
    for (std::size_t i = 0; i < y.size(); ++i) {
      Tensor term =
          reel::is_complex(y[i].dtype()) ? reel::sum(reel::real(reel::conj(w[i]) * y[i])) : reel::sum(w[i] * y[i]);
      total = total.defined() ? total + term : term;
    }
    return total;
  }

  /// The same for one source that is not a list.
  template <class F>
  Tensors alone(const F& f, const Tensor& x, const Tensors& v, bool ahead, int digit) const {
    count("one tensor");
    const auto g = [&](const Tensor& t) { return f(Tensors{t}); };
    if (ahead) return digit & 1 ? reel::jvp(g, x, v[0]).second : reel::linearize(g, x).second(v[0]);
    if (digit & 1) return {reel::grad([&](const Tensor& t) { return weighted(g(t), v); })(x)};
    GradientTape tape;
    tape.watch(x);
    const Tensors y = g(x);
    return {dense(tape.gradient(y, x, {.output_gradients = v}), x)};
  }

  template <class F>
  Tensors forward(const F& f, const Tensors& x, const Tensors& d, int digit) const {
    switch (digit % 4) {
      case 0:
        count("jvp");
        return reel::jvp(f, x, d).second;
      case 1: {
        count("linearize");
        const auto linear = reel::linearize(f, x).second;
        if (digit & 16) linear(x);
        return linear(d);
      }
      default: {
        count("ForwardAccumulator");
        const reel::ForwardAccumulator accumulator(x, d);
        const Tensors y = f(x);
        Tensors r;
        for (const Tensor& t : y) r.push_back(dense(accumulator.jvp(t), t));
        return r;
      }
    }
  }

  template <class F>
  Tensors reverse(const F& f, const Tensors& x, const Tensors& w, int digit) const {
    const auto loss = [&](const Tensors& xs) { return weighted(f(xs), w); };
    switch (digit % 8) {
      case 0:
        count("grad");
        return reel::grad(loss)(x);
      case 1:
        count("value_and_grad");
        return reel::value_and_grad(loss)(x).second;
      case 2: {
        count("make_vjp");
        const auto vjp = reel::make_vjp(f)(x).second;
        if ((digit & 16) && !complex_numbers) vjp();
        return filled(vjp(w), x);
      }
      case 3: {
        count("gradients");
        GradientTape tape;
        tape.watch(x);
        const Tensors y = f(x);
        return filled(reel::gradients(y, x, {.output_gradients = w}), x);
      }
      case 4:
        count("gradients_function");
        return filled(reel::gradients_function(f)(x, reel::dy(w)), x);
      default: {
        static const reel::VSpace plain;
        count("GradientTape");
        const bool persistent = digit & 8, twice = digit & 16;
        GradientTape tape({.persistent = persistent, .vspace = digit & 64 ? &plain : nullptr});
        tape.watch(x);
        const Tensors y = f(x);
        if (persistent && (digit & 32)) tape.stop();
        reel::GradientOptions options;
        options.output_gradients = w;
        options.aggregation_method = static_cast<reel::AggregationMethod>(digit % 3);
        if (digit & 128) options.unconnected_gradients = reel::UnconnectedGradients::zero;
        count("aggregation " + std::to_string(digit % 3));
        if (persistent) count("persistent");
        if (persistent && twice) tape.gradient(y, x, options);
        const std::vector<Gradient> g = tape.gradient(y, x, options);
        return filled(g, x);
      }
    }
  }
  static Tensors filled(const std::vector<Gradient>& g, const Tensors& x) {
    Tensors r;
    for (std::size_t i = 0; i < g.size(); ++i) r.push_back(dense(g[i], x[i]));
    return r;
  }
  static void count(const std::string& what) { ++counted()[what]; }

  void run();

 private:
  void word(const Tensors& x);
  void tapped(const Tensors& x);
  bool follows(const Tensors& x, std::size_t i) const;
  void matrices(const Tensors& x);
  void batches(const Tensors& x);
  void variables(const Tensors& x);
  void implicit(const Tensors& x);
  void second_order(const Tensors& x);

  const Program& p_;
  const Plan& plan_;
  const Problem& problem_;
  reel::Compiled<Scaled> compiled_;
  Tensors w_;
  std::vector<Tensors> d_;
};

void Run::word(const Tensors& x) {
  std::vector<Direction> d;
  bool reversed = false, last_is_gradient = false;
  // Each letter F, and each R except the first, adds a direction. The last R leaves the gradient, whose direction is a
  // unit vector.
  for (std::size_t k = 0; k < plan_.word.size(); ++k) {
    const bool r = plan_.word[k] == 'R';
    if (!r || reversed) d.push_back(problem_.direction(static_cast<int>(k)));
    reversed = reversed || r;
    last_is_gradient = reversed;
  }
  const Tensors got = whole([this](const Tensors& xs) { return level(plan_.word.size(), xs); }, x);
  compare("derivative " + plan_.word, got, last_is_gradient ? problem_.gradients(d) : problem_.tangents(d));
}

// Whether a tape follows output i. It does not follow results of statistics alone, which have no gradient.
bool Run::follows(const Tensors& x, std::size_t i) const {
  GradientTape tape;
  tape.watch(x);
  const std::vector<Gradient> g = tape.gradient({execute(p_, x)[i]}, x, {.output_gradients = {w_[i]}});
  return std::any_of(g.begin(), g.end(), [](const Gradient& one) { return bool(one); });
}

// One tape, with an intermediate value as another source or as a constant.
void Run::tapped(const Tensors& x) {
  for (std::size_t i = 0; i < p_.outputs.size(); ++i)
    if (p_.outputs[i] == plan_.tap && !follows(x, i)) throw Unfit();
  GradientTape tape;
  tape.watch(x);
  const Tensors y = execute(p_, x);
  Tensors sources = x;
  reel::GradientOptions options;
  options.output_gradients = w_;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (p_.outputs[i] == plan_.tap && sources.size() == x.size()) sources.push_back(y[i]);
    if (p_.outputs[i] == plan_.cut) options.stop_gradients = {y[i]};
  }
  const std::vector<Gradient> g = tape.gradient(y, sources, options);
  count(plan_.tap >= 0 ? "intermediate source" : "stop_gradients");
  const std::vector<Array> expected = problem_.gradients({});
  for (std::size_t i = 0; i < x.size(); ++i)
    compare("gradient by source " + std::to_string(i), dense(g[i], x[i]), expected[i]);
  if (plan_.tap >= 0) compare("gradient by value", g[x.size()].dense(), problem_.tap_gradient(plan_.tap));
}

void Run::matrices(const Tensors& x) {
  if (plan_.way == Way::hessian) {
    const auto f = [this](const Tensors& xs) { return weighted(program(xs), w_); };
    const std::vector<Tensors> h = whole(reel::hessian(f), x);
    const auto expected = problem_.matrix(true);
    for (std::size_t i = 0; i < h.size(); ++i) compare("hessian " + std::to_string(i), h[i], expected[i]);
  } else if (plan_.way == Way::jacobian) {
    const std::vector<Tensors> j = whole(reel::jacobian([this](const Tensors& xs) { return program(xs); }), x);
    const auto expected = problem_.matrix(false);
    for (std::size_t i = 0; i < j.size(); ++i) compare("jacobian " + std::to_string(i), j[i], expected[i]);
  } else {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensors y = execute(p_, x);
    const auto expected = problem_.matrix(false);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::vector<Gradient> j =
          tape.jacobian(y[i], x, {.unconnected_gradients = reel::UnconnectedGradients::zero});
      for (std::size_t k = 0; k < x.size(); ++k) compare("tape.jacobian", j[k].dense(), expected[i][k]);
    }
  }
}

// Only for results whose rows depend on the same rows of the source: otherwise batch_jacobian is undefined.
void Run::batches(const Tensors& x) {
  const auto all = problem_.matrix(false);
  for (std::size_t i = 0; i < problem_.y().size(); ++i)
    for (std::size_t k = 0; k < x.size(); ++k) {
      const Array &y = problem_.y()[i], &s = problem_.x()[k], &full = all[i][k];
      if (y.rank() == 0 || s.rank() == 0 || y.shape[0] != s.shape[0] || y.size() == 0 || s.size() == 0) continue;
      Jet::count = 1;
      const std::int64_t b = y.shape[0], rest = y.size() / b, inner = s.size() / b;
      Extents shape = y.shape;
      shape.insert(shape.end(), s.shape.begin() + 1, s.shape.end());
      Array expected(s.dtype, shape);
      bool meaningful = true;
      const Exactly guard;
      for (std::int64_t r = 0; r < rest; ++r)
        for (std::int64_t from = 0; from < b; ++from)
          for (std::int64_t to = 0; to < b; ++to)
            for (std::int64_t c = 0; c < inner; ++c) {
              const Num& element = full[(to * rest + r) * s.size() + from * inner + c];
              Num& of_row = expected[(from * rest + r) * inner + c];
              Num& of_column = expected[(to * rest + r) * inner + c];
              meaningful = meaningful && (from == to || (element.re.v[0] == 0 && element.im.v[0] == 0));
              // Reverse mode sums over the rows of the result, forward mode over those of the source: what is zero but
              // for rounding is part of it.
              of_row += element;
              if (from != to) of_column += element;
            }
      if (!meaningful) continue;
      GradientTape tape;
      tape.watch(x);
      const Tensors out = execute(p_, x);
      const Gradient j = tape.batch_jacobian(out[i], x[k], {.unconnected_gradients = reel::UnconnectedGradients::zero});
      compare("batch_jacobian", j.dense(), expected);
    }
}

// Variables as sources: all reads count, also those after an assignment. Or one tape under an accumulator.
void Run::variables(const Tensors& x) {
  std::vector<reel::Variable> list;
  for (const Tensor& t : x) list.emplace_back(t);
  if (plan_.style % 4 == 0) {
    count("variables forward");
    const reel::ForwardAccumulator accumulator(list, d_[0]);
    const Tensors y = execute(p_, x, list);
    Tensors got;
    for (const Tensor& t : y) got.push_back(dense(accumulator.jvp(t), t));
    return compare("tangents of variables", got, problem_.tangents({problem_.direction(0)}));
  }
  const bool again = plan_.style % 4 == 1;
  std::vector<Array> expected = problem_.gradients({});
  GradientTape tape;
  Tensors y = execute(p_, x, list), w = w_;
  for (const reel::Variable& v : list) v.assign_add(reel::ones_like(v));
  if (again) {
    count("variables assigned between uses");
    for (const reel::Variable& v : list) v.assign_sub(reel::ones_like(v));
    for (std::size_t i = 0; i < x.size(); ++i) list[i].assign(x[i] * 1);
    for (const Tensor& t : execute(p_, x, list)) y.push_back(t);
    w.insert(w.end(), w_.begin(), w_.end());
    Jet::count = 1;
    for (Array& g : expected)
      for (Num& n : g.data) {
        round_like(g.dtype);
        n = complex_numbers ? Num(n.re + n.re, n.im + n.im) : Num(n.re + n.re);
      }
  }
  compare("gradient by variables", filled(tape.gradient(y, list, {.output_gradients = w}), x), expected);
}

void Run::implicit(const Tensors& x) {
  std::vector<reel::Variable> list;
  for (const Tensor& t : x) list.emplace_back(t);
  const auto f = [&] { return weighted(execute(p_, x, list), w_); };
  bool read = false;  // by a statement or as an output
  std::vector<bool> reads(static_cast<std::size_t>(p_.values()));
  for (const Statement& s : p_.statements)
    for (const Arg& a : s.args)
      if (a.kind == Arg::value) reads[static_cast<std::size_t>(a.index)] = true;
  for (const int o : p_.outputs) reads[static_cast<std::size_t>(o)] = true;
  for (const Statement& s : p_.statements)
    read = read || (s.role == Role::source && reads[static_cast<std::size_t>(s.first)]);
  if (!read) return;  // an error
  const auto pairs = reel::implicit_grad(f)();
  const std::vector<Array> expected = problem_.gradients({});
  for (std::size_t i = 0; i < list.size(); ++i) {
    Tensor g = reel::zeros_like(x[i]);
    for (const auto& [gradient, variable] : pairs)
      if (variable == list[i] && gradient) g = gradient.dense();
    compare("implicit gradient", g, expected[i]);
  }
}

// Two derivatives by one tape, or by the functions that take the innermost one.
void Run::second_order(const Tensors& x) {
  GradientTape tape({.persistent = true});
  tape.watch(x);
  if (plan_.way == Way::same_tape) {
    const Tensors y = execute(p_, x);
    const bool free = plan_.style & 1;
    const std::vector<Gradient> first =
        free ? reel::gradients(y, x, {.output_gradients = w_}) : tape.gradient(y, x, {.output_gradients = w_});
    for (const Gradient& g : first)
      if (!g && g.why_none().empty()) throw Differs{"a gradient is none without a reason"};
    const Tensor s = weighted(filled(first, x), d_[0]);
    tape.stop();
    return compare("second gradient of one tape", filled(tape.gradient(s, x), x),
                   problem_.gradients({problem_.direction(0)}));
  }
  const Tensor loss = weighted(execute(p_, x), w_);
  if (plan_.way == Way::hessian_vector_product)
    return compare("hessian_vector_product", filled(reel::hessian_vector_product(loss, x, d_[0]), x),
                   problem_.gradients({problem_.direction(0)}));
  const std::vector<Gradient> h = reel::hessians(loss, x);
  const auto expected = problem_.matrix(true);
  for (std::size_t i = 0; i < x.size(); ++i) compare("hessians", h[i].dense(), expected[i][i]);
}

void Run::run() {
  const Tensors x = problem_.source_tensors();
  count(std::string("way ") + name_of(plan_.way));
  if (plan_.way == Way::word) count("word " + plan_.word);
  if (plan_.compile == Compile::function) count("compiled function");
  if (plan_.compile == Compile::derivative) count("compiled derivative");
  switch (plan_.way) {
    case Way::value:
      return compare("value", whole([this](const Tensors& xs) { return program(xs); }, x), problem_.y());
    case Way::word:
      return plan_.tap >= 0 || plan_.cut >= 0 ? tapped(x) : word(x);
    case Way::hvp: {
      const auto f = [this](const Tensors& xs) { return weighted(program(xs), w_); };
      return compare("hvp", reel::hvp(f)(x, d_[0]), problem_.gradients({problem_.direction(0)}));
    }
    case Way::batch_jacobian:
      return batches(x);
    case Way::variables:
      return variables(x);
    case Way::implicit:
      return implicit(x);
    case Way::same_tape:
    case Way::hessians:
    case Way::hessian_vector_product:
      return second_order(x);
    default:
      return matrices(x);
  }
}

}  // namespace

const char* name_of(Way way) {
  static const char* const names[] = {"value",          "word",      "jacobian", "tape_jacobian",
                                      "batch_jacobian", "hessian",   "hvp",      "variables",
                                      "implicit",       "same_tape", "hessians", "hessian_vector_product"};
  return names[static_cast<int>(way)];
}
const std::vector<std::pair<std::string, std::int64_t>>& mode_counts() {
  static std::vector<std::pair<std::string, std::int64_t>> list;
  list.assign(counted().begin(), counted().end());
  return list;
}
std::string text_of(const Plan& plan) {
  std::ostringstream out;
  if (plan.special) out << "special operands, ";
  out << name_of(plan.way) << ' ' << plan.word << " style " << std::hex << plan.style << " directions " << plan.seed;
  if (plan.tap >= 0) out << " source v" << std::dec << plan.tap;
  if (plan.cut >= 0) out << " constant v" << std::dec << plan.cut;
  if (plan.anomaly) out << " AnomalyGuard";
  if (plan.compile == Compile::function) out << " of a compiled function";
  if (plan.compile == Compile::derivative) out << " compiled";
  return out.str();
}

Plan random_plan(const Program& p, std::uint64_t seed) {
  Random random(seed ^ 0x5bd1e995);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  Plan plan;
  plan.style = random(), plan.seed = random();
  plan.anomaly = below(12) == 0;
  bool complex_source = false, complex = false;
  for (const Statement* s : p.inputs(Role::source)) complex_source = complex_source || reel::is_complex(s->dtype);
  complex = complex_numbers;
  static const std::vector<std::string> words = {"R",   "R",   "R",   "F",   "F",   "RR",  "RF",  "FR", "FF",
                                                 "RRR", "RRF", "RFR", "FRR", "RFF", "FRF", "FFR", "FFF"};
  static const Way ways[] = {Way::jacobian, Way::tape_jacobian, Way::batch_jacobian,        Way::hessian,
                             Way::hvp,      Way::hessians,      Way::hessian_vector_product};
  static const Way any[] = {Way::variables, Way::variables, Way::implicit, Way::same_tape};  // with complex numbers too
  const auto r = below(100);
  plan.way = r < 5 ? Way::value : r < 62 ? Way::word : r < 78 ? any[below(4)] : complex ? Way::word : ways[below(7)];
  if (plan.way == Way::word) {
    plan.word = words[below(words.size())];
    static const std::vector<std::string> whole = {"add", "multiply", "subtract", "tanh", "sin",
                                                   "exp", "square",   "matmul",   "sum"};
    const int last = p.outputs.back();
    if (plan.word == "R" && p.outputs.size() > 1 && below(2))
      for (const Statement& s : p.statements)
        if (dependent(p)[static_cast<std::size_t>(last)] && s.role == Role::none && s.first == last && s.results == 1 &&
            std::count(whole.begin(), whole.end(), s.op->name))
          (below(2) ? plan.tap : plan.cut) = last;
  }
  if (plan.tap < 0 && plan.cut < 0)
    plan.compile = static_cast<Compile>(std::max<std::int64_t>(0, static_cast<std::int64_t>(below(4)) - 1));
  return plan;
}

Outcome check(const Program& p, const Plan& plan) {
  if (plan.special) return check_ways(p, plan);
  try {
    const Problem problem(p, plan);
    Run run(p, plan, problem);
    if (plan.anomaly && problem.bodies_are_tame()) {
      Run::count("AnomalyGuard");
      const reel::AnomalyGuard guard({.infinity = false});
      run.run();
    } else {
      run.run();
    }
    return {};
  } catch (const Differs& d) {
    return {Outcome::differs, d.message};
  } catch (const Ambiguous&) {
    return {Outcome::skipped, "ambiguous"};
  } catch (const Unfit&) {
    return {Outcome::skipped, "unfit"};
  } catch (const reel::TraceError&) {
    Run::count("not traceable");
    return {Outcome::skipped, "not traceable"};
  } catch (const std::exception& e) {
    return {Outcome::threw, e.what()};
  }
}

}  // namespace random_programs
