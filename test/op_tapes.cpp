// The op table: a tape, an accumulator or an observer does not change what an op computes. Every op has the same bits
// with and without them, for every dtype that it takes, in every layout, for any number of threads, also at special
// values and where an operand is passed as an rvalue whose memory may be reused.
#include <cstring>
#include <limits>

#include "catch.hpp"
#include "core/block.hpp"
#include "loops/loops.hpp"
#include "op_cases.hpp"
#include "solve/rows.hpp"
#include "support/derivatives.hpp"
#include "support/warnings.hpp"
#include "tape/record.hpp"

using namespace reel;
using support::Layout, support::Tensors;

namespace {

using Call = std::function<Tensor(const Tensors&)>;

// Shape, dtype and bytes of a result, or its error.
struct Outcome {
  std::string error;
  std::string type;
  std::vector<std::byte> bytes;
  bool finite = false;
  bool operator==(const Outcome& other) const {
    return error == other.error && type == other.type && bytes == other.bytes;
  }
};

Outcome outcome_of(const Tensor& z) {
  const tape::Suspend unrecorded;  // the queries here are not part of the test
  Outcome o;
  o.type = name(z.dtype()) + std::string(" ") + to_string(z.shape());
  const Tensor held = loops::contiguous(z);
  const std::byte* data = detail::block(held)->data;
  o.bytes.assign(data, data + static_cast<std::size_t>(held.size()) * item_size(held.dtype()));
  o.finite = !is_differentiable(z.dtype()) || all(isfinite(z)).item<bool>();
  return o;
}
Outcome outcome(const Call& f, const Tensors& x) {
  Tensor z;
  try {
    z = f(x);
  } catch (const Error& e) {
    Outcome o;
    o.error = e.what();
    return o;
  }
  return outcome_of(z);
}

Tensors only(const Tensors& x, std::size_t k) { return {x[k]}; }

// Each kind of observation, by name.
struct Setting {
  const char* name;
  Outcome (*run)(const Call& f, const Tensors& x);
};
Tensors floating(const Tensors& x) {
  Tensors result;
  for (const Tensor& one : x)
    if (is_differentiable(one.dtype())) result.push_back(one);
  return result;
}
GradientList tangents_of(const Tensors& x) {
  Tensors t;
  for (const Tensor& one : x) t.push_back(ones_like(one));
  return t;
}
constexpr Setting settings[] = {
    {"a persistent tape",
     [](const Call& f, const Tensors& x) {
       GradientTape tape({.persistent = true});
       tape.watch(x);
       return outcome(f, x);
     }},
    {"a tape for one gradient",
     [](const Call& f, const Tensors& x) {
       GradientTape tape;
       tape.watch(x);
       return outcome(f, x);
     }},
    {"a tape that watches the first operand",
     [](const Call& f, const Tensors& x) {
       GradientTape tape;
       tape.watch(only(x, 0));
       return outcome(f, x);
     }},
    {"a tape that watches the last operand",
     [](const Call& f, const Tensors& x) {
       GradientTape tape;
       tape.watch(only(x, x.size() - 1));
       return outcome(f, x);
     }},
    {"a tape that watches nothing",
     [](const Call& f, const Tensors& x) {
       GradientTape tape;
       return outcome(f, x);
     }},
    {"nested tapes",
     [](const Call& f, const Tensors& x) {
       GradientTape outer({.persistent = true}), middle, inner;
       outer.watch(x);
       inner.watch(x);
       return outcome(f, x);
     }},
    {"an accumulator",
     [](const Call& f, const Tensors& x) {
       const Tensors primals = floating(x);
       if (primals.empty()) return outcome(f, x);
       const ForwardAccumulator accumulator(primals, tangents_of(primals));
       return outcome(f, x);
     }},
    {"a tape and an accumulator",
     [](const Call& f, const Tensors& x) {
       const Tensors primals = floating(x);
       GradientTape tape;
       tape.watch(x);
       if (primals.empty()) return outcome(f, x);
       const ForwardAccumulator accumulator(primals, tangents_of(primals));
       return outcome(f, x);
     }},
    {"a guard against anomalies, and a tape",
     [](const Call& f, const Tensors& x) {
       const AnomalyGuard guard({.check_forward = false});
       GradientTape tape;
       tape.watch(x);
       return outcome(f, x);
     }},
    {"tracing, and a tape",
     [](const Call& f, const Tensors& x) {
       set_tracing(true);
       GradientTape tape;
       tape.watch(x);
       const Outcome o = outcome(f, x);
       set_tracing(false);
       return o;
     }},
};

struct Tally {
  int compared = 0, refused = 0;
  bool leaves_out = false;  // ops may move elements that they later drop, which need not be finite
};

void check(const std::string& what, const Call& f, const Tensors& x, Tally& tally) {
  const Outcome alone = outcome(f, x);
  ++(alone.error.empty() ? tally.compared : tally.refused);
  for (const Setting& setting : settings) {
    const Outcome seen = setting.run(f, x);
    if (seen == alone) continue;
    INFO(what << " under " << setting.name << ": " << seen.error << seen.type << ", alone " << alone.error
              << alone.type);
    CHECK(seen == alone);
  }
  if (!alone.finite || !alone.error.empty()) return;
  const AnomalyGuard guard({.check_backward = false});
  const Outcome guarded = outcome(f, x);
  INFO(what << " under a guard against anomalies: " << guarded.error);
  // A result that the case does not use may be infinite, such as slogdet's logarithm beside the sign.
  CHECK((guarded == alone || guarded.error.find("slogdet: its result 1 is not finite") == 0 ||
         (tally.leaves_out && guarded.error.find("was not finite already") != std::string::npos)));
}

constexpr DType dtypes[] = {DType::boolean,  DType::uint8,   DType::int32,   DType::int64,     DType::float16,
                            DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

Tensors cast_all(const Tensors& x, DType d) {
  Tensors result;
  for (const Tensor& one : x) {
    // Negative integers do not fit unsigned types.
    const Tensor whole = is_differentiable(d) ? one : d == DType::uint8 ? abs(trunc(one)) : trunc(one);
    result.push_back(cast(whole, d));
  }
  return result;
}

// Numbers at which ops take other paths, ordered so that operands of equal shape combine all pairs.
Tensor special(const Shape& shape, std::size_t operand) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double numbers[] = {0., -0., 1., -1., 2., 0.5, inf, -inf, nan, 1e300, -1e300, 1e-310, 1e-200};
  constexpr std::size_t count = std::size(numbers);
  std::vector<double> values(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = numbers[(operand ? i / count * operand + i : i) % count];
  return from_data(values, shape);
}

// In every dtype and layout.
void check_forms(const std::string& what, const Call& f, const Tensors& x, Tally& tally) {
  for (const DType d : dtypes) check(what + " of " + name(d), f, cast_all(x, d), tally);
  for (const Layout layout : support::layouts) {
#ifdef REEL_TEST_SANITIZED  // which take minutes for all; the kernels' loads are tested in test/battery/page_ends.cpp
    if (layout != Layout::contiguous && layout != Layout::stepped) continue;
#endif
    Tensors views;
    for (const Tensor& one : x) views.push_back(laid_out(one, layout));
    check(what + ", " + support::name(layout), f, views, tally);
  }
}

void check_everywhere(const std::string& what, const Call& f, const Tensors& x, Tally& tally) {
  check_forms(what, f, x, tally);
  Tensors numbers;
  for (const Tensor& one : x) numbers.push_back(special(one.shape(), numbers.size()));
  check(what + " at special values", f, numbers, tally);
}

void check_table(std::span<const cases::Shaped> rows, bool leaves_out = false,
                 decltype(check_everywhere)* check_one = check_everywhere) {
  WarningLog quiet;
  Tally tally{.leaves_out = leaves_out};
  for (const cases::Shaped& row : rows)
    for (const std::vector<Shape>& shapes : cases::shapes_of(row)) {
      support::Random random(row.name);
      Tensors x;
      for (const Shape& s : shapes) {
        const Tensor drawn = random.tensor(s, row.domain.low, row.domain.high);
        x.push_back(row.prepare ? row.prepare(drawn, x.size()) : drawn);
      }
      check_one(
          row.name, [&](const Tensors& p) { return row.call(p); }, x, tally);
    }
  CHECK(tally.compared > 4 * static_cast<int>(rows.size()));
}

// Cases large enough to be split among threads.
struct Large {
  const char* name;
  Tensor (*call)(const Tensors& x);
  Shape a, b;
};
const Large large[] = {
    {"multiply", [](const Tensors& x) { return x[0] * x[1]; }, {300, 400}, {400}},
    {"exp", [](const Tensors& x) { return exp(x[0]); }, {300, 400}, {1}},
    {"sum", [](const Tensors& x) { return sum(x[0]); }, {300, 401}, {1}},
    {"sum of columns", [](const Tensors& x) { return sum(x[0], 0); }, {300, 401}, {1}},
    {"mean", [](const Tensors& x) { return mean(x[0], 1); }, {300, 401}, {1}},
    {"var", [](const Tensors& x) { return var(x[0]); }, {300, 401}, {1}},
    {"std", [](const Tensors& x) { return reel::std(x[0], 0); }, {300, 401}, {1}},
    {"norm", [](const Tensors& x) { return norm(x[0]); }, {300, 401}, {1}},
    {"norm, p 3", [](const Tensors& x) { return norm(x[0], 3, 1); }, {300, 401}, {1}},
    {"logsumexp", [](const Tensors& x) { return logsumexp(x[0]); }, {300, 401}, {1}},
    {"softmax", [](const Tensors& x) { return softmax(x[0], 0); }, {300, 401}, {1}},
    {"log_softmax", [](const Tensors& x) { return log_softmax(x[0]); }, {300, 401}, {1}},
    {"cumsum", [](const Tensors& x) { return cumsum(x[0], 0); }, {300, 401}, {1}},
    {"cumprod", [](const Tensors& x) { return cumprod(x[0], 1); }, {300, 401}, {1}},
    {"matmul", [](const Tensors& x) { return matmul(x[0], x[1]); }, {130, 700}, {700, 150}},
    {"matmul with a vector", [](const Tensors& x) { return matmul(x[0], x[1]); }, {300, 700}, {700}},
    {"dot", [](const Tensors& x) { return dot(x[0], x[1]); }, {100000}, {100000}},
    {"layer_norm", [](const Tensors& x) { return layer_norm(x[0], x[1], x[1]); }, {300, 401}, {401}},
    {"batch_norm", [](const Tensors& x) { return batch_norm(x[0], x[1], x[1]).y; }, {300, 401}, {401}},
    {"conv2d", [](const Tensors& x) { return conv2d(x[0], x[1]); }, {4, 8, 30, 30}, {16, 8, 3, 3}},
    {"max_pool2d",
     [](const Tensors& x) {
       return max_pool2d(x[0], {2, 2});
     },
     {8, 16, 30, 30},
     {1}},
    {"gather", [](const Tensors& x) { return gather(x[0], mod(arange(5000), 300)); }, {300, 40}, {1}},
    {"scatter_add",
     [](const Tensors& x) { return scatter_add(x[0], mod(arange(5000), 300), x[1]); },
     {300, 40},
     {5000, 40}},
    {"cholesky",
     [](const Tensors& x) { return cholesky(matmul(x[0], x[0], {.transpose_b = true}) + 20 * eye(60)); },
     {8, 60, 60},
     {1}},
    {"solve", [](const Tensors& x) { return solve(x[0] + 60 * eye(60), x[1]); }, {8, 60, 60}, {60, 5}},
    {"det", [](const Tensors& x) { return det(x[0]); }, {50, 20, 20}, {1}},
    {"slogdet", [](const Tensors& x) { return slogdet(x[0]).logdet; }, {50, 20, 20}, {1}},
};

}  // namespace

TEST_CASE("pointwise ops: the bits are the same under tapes, accumulators and observers") {
  WarningLog quiet;
  Tally tally;
  for (const cases::Pointwise& row : cases::pointwise())
    for (const Shape& shape : {Shape{}, Shape{3, 5}, Shape{173}}) {
      support::Random random(row.name);
      Tensors x;
      for (int i = 0; i < row.arity; ++i) x.push_back(random.tensor(shape, row.domain[i].low, row.domain[i].high));
      check_everywhere(
          row.name, [&](const Tensors& p) { return row.call(p); }, x, tally);
    }
  CHECK(tally.compared > 20 * static_cast<int>(cases::pointwise().size()));
}

TEST_CASE("reductions, scans and normalisations: the same bits under tapes") { check_table(cases::reductions()); }
TEST_CASE("shape and index ops: the same bits under tapes") { check_table(cases::movements()); }
TEST_CASE("ops of headers of their own: the same bits under tapes") {
  for (const cases::Family& family : cases::families()) check_table(family.rows(), true);
}
TEST_CASE("linear algebra: the same bits under tapes") { check_table(cases::linear_algebra()); }
// At special values tangents throw where values do not: there is no solution for them.
TEST_CASE("ops that take a function: the same bits under tapes") { check_table(cases::solutions(), true, check_forms); }
TEST_CASE("normalisations and losses: the same bits under tapes") { check_table(cases::networks()); }

TEST_CASE("large operands: the same bits under tapes, for any number of threads") {
  WarningLog quiet;
  const int before = num_threads();
  for (const Large& row : large)
    for (const DType d : {DType::float64, DType::float32}) {
      support::Random random(row.name);
      const Tensors x{cast(random.tensor(row.a), d), cast(random.tensor(row.b), d)};
      const Call f = [&](const Tensors& p) { return row.call(p); };
      std::vector<Outcome> each;
      for (const int threads : {1, 2, 5}) {
        set_num_threads(threads);
        Tally tally;
        check(std::string(row.name) + ", " + std::to_string(threads) + " threads", f, x, tally);
        CHECK(tally.compared == 1);
        each.push_back(outcome(f, x));
        CHECK(each.back() == each.front());
      }
    }
  set_num_threads(before);
}

namespace {

struct Unary {
  const char* name;
  Tensor (*call)(const Operand&);
};
struct Binary {
  const char* name;
  Tensor (*call)(const Operand&, const Operand&);
};
constexpr Unary unary[] = {
    {"negative", negative}, {"square", square}, {"abs", abs},   {"sign", sign},     {"reciprocal", reciprocal},
    {"sqrt", sqrt},         {"rsqrt", rsqrt},   {"cbrt", cbrt}, {"exp", exp},       {"exp2", exp2},
    {"expm1", expm1},       {"log", log},       {"log2", log2}, {"log10", log10},   {"log1p", log1p},
    {"sin", sin},           {"cos", cos},       {"tan", tan},   {"arcsin", arcsin}, {"arccos", arccos},
    {"arctan", arctan},     {"sinh", sinh},     {"cosh", cosh}, {"tanh", tanh},     {"arcsinh", arcsinh},
    {"arctanh", arctanh},   {"erf", erf},       {"erfc", erfc}, {"lgamma", lgamma}, {"sigmoid", sigmoid},
    {"softplus", softplus}, {"relu", relu},     {"selu", selu}, {"gelu", gelu},     {"silu", silu},
    {"softsign", softsign}, {"floor", floor},   {"ceil", ceil}, {"round", round},   {"trunc", trunc},
};
constexpr Binary binary[] = {
    {"add", add},         {"subtract", subtract}, {"multiply", multiply},   {"divide", divide},
    {"power", power},     {"mod", mod},           {"hypot", hypot},         {"maximum", maximum},
    {"minimum", minimum}, {"arctan2", arctan2},   {"logaddexp", logaddexp}, {"squared_difference", squared_difference},
};

// The value and gradients of f at recorded copies of x, which f may pass on as rvalues.
struct Pulled {
  Outcome value;
  std::vector<Outcome> gradients;
};
template <class F>
Pulled pulled(const F& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x);
  Tensors copies;
  for (const Tensor& one : x) copies.push_back(one * 1.0);
  const Tensor z = f(copies);
  Pulled p{outcome_of(z), {}};
  for (const Gradient& g : tape.gradient(square(z), x, {.unconnected_gradients = UnconnectedGradients::zero}))
    p.gradients.push_back(outcome_of(g.dense()));
  return p;
}
template <class Kept, class Given>
void check_given(const char* what, const Kept& kept, const Given& given, const Tensors& x) {
  INFO(what);
  const auto copies = [&] {
    Tensors fresh;
    for (const Tensor& one : x) fresh.push_back(from_data(one.to_vector(), one.shape()));
    return fresh;
  };
  Tensors alone = copies();
  const Outcome value = outcome_of(kept(alone));
  alone = copies();
  CHECK(outcome_of(given(alone)) == value);
  {  // under a tape that follows neither operand
    GradientTape tape;
    Tensors fresh = copies();
    CHECK(outcome_of(given(fresh)) == value);
  }
  const Pulled a = pulled(kept, x), b = pulled(given, x);
  CHECK(a.value == value);
  CHECK(b.value == value);
  CHECK(a.gradients == b.gradients);
}

}  // namespace

TEST_CASE("an operand passed as an rvalue gives the same bits and gradients as an lvalue") {
  for (const Shape& shape : {Shape{7}, Shape{3, 50}}) {
    support::Random random("handed over");
    const Tensors x{random.tensor(shape, 0.1, 0.9), random.tensor(shape, 0.1, 0.9)};
    for (const Unary& op : unary)
      check_given(
          op.name, [&](Tensors& p) { return op.call(p[0]); }, [&](Tensors& p) { return op.call(std::move(p[0])); },
          {x[0]});
    for (const Binary& op : binary) {
      const auto kept = [&](Tensors& p) { return op.call(p[0], p[1]); };
      check_given(
          op.name, kept, [&](Tensors& p) { return op.call(std::move(p[0]), p[1]); }, x);
      check_given(
          op.name, kept, [&](Tensors& p) { return op.call(p[0], std::move(p[1])); }, x);
      check_given(
          op.name, kept, [&](Tensors& p) { return op.call(std::move(p[0]), std::move(p[1])); }, x);
    }
  }
}

TEST_CASE("det of badly scaled and of singular matrices: the same bits under tapes") {
  WarningLog quiet;
  Tally tally;
  const Call f = [](const Tensors& x) { return det(x[0]); };
  const double scales[][3] = {{1e200, 1e200, 1e-300},
                              {1e-200, 1e-200, 1e300},
                              {1e150, 1e150, 1e150},
                              {1e-120, 1e-120, 1e-120},
                              {1, 1e-8, 1e-16},
                              {2, 0, 3},
                              {0, 0, 0},
                              {1e200, 1e200, 0}};
  for (const auto& s : scales)
    for (const DType d : {DType::float64, DType::float32}) {
      if (d == DType::float32 && s[0] > 1e30) continue;
      const Tensor a = cast(diag(tensor({s[0], s[1], s[2]})), d);
      check("det", f, {a}, tally);
      check("det of a batch", f, {stack({a, cast(eye(3), d), a})}, tally);
    }
  support::Random random("det");
  for (const std::int64_t n : {3, 4, 6}) check("det", f, {matmul(random.tensor({n, 2}), random.tensor({2, n}))}, tally);
  CHECK(tally.refused == 0);
}
