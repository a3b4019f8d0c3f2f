// Which mode a Jacobian uses, seen from how often the rules on the path are called; and rules that take a batch.
#include <reel/compile.hpp>
#include <reel/linalg.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <thread>

#include "catch.hpp"

using namespace reel;

namespace {

struct Calls {
  int backward = 0, jvp = 0;
  std::vector<Shape> cotangents;
};

// The product of x^2 and a, [n] to [m], with rules that count their calls. `batched` selects what the vjp takes.
Tensor times(const Tensor& x, const Tensor& a) { return matmul(x * x, a); }

enum class Rules { backward, batched, both, batched_and_jvp };

auto counted(Calls& calls, const Tensor& a, Rules rules) {
  return [&calls, a, rules](const Tensor& x) {
    const auto f = [&calls, a](const Tensor& t) {
      return std::pair(times(t, a), [&calls, a, t](const Tensor& g) {
        ++calls.backward;
        calls.cotangents.push_back(g.shape());
        return 2.0 * t * matmul(g, transpose(a));
      });
    };
    const auto jvp = [&calls, a](const auto& primals, const auto& tangents) {
      ++calls.jvp;
      return matmul(2.0 * std::get<0>(primals) * std::get<0>(tangents), a);
    };
    switch (rules) {
      case Rules::backward:
        return custom_gradient(f)(x);
      case Rules::batched:
        return custom_gradient(f, {.batched = true})(x);
      case Rules::both:
        return custom_gradient(f, jvp)(x);
      default:
        return custom_gradient(f, jvp, {.batched = true})(x);
    }
  };
}

Tensor ramp(const Shape& shape) { return reshape(linspace(-1, 2, shape.elements()), shape); }
double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return max(abs(a - b)).item();
}

}  // namespace

TEST_CASE("jacobian: a rule with a jvp is called once per column where that is cheaper") {
  for (const auto& [n, m, forward] :
       {std::tuple(5, 160, true), std::tuple(5, 10, true), std::tuple(5, 9, false), std::tuple(40, 6, false)}) {
    CAPTURE(n, m);
    const Tensor a = ramp({n, m}), x = ramp({n});
    Calls calls;
    const Tensor j = jacobian(counted(calls, a, Rules::both))(x);
    CHECK(calls.jvp == (forward ? n : 0));
    CHECK(calls.backward == (forward ? 0 : m));
    CHECK(distance(j, jacobian([&](const Tensor& t) { return times(t, a); })(x)) < 1e-12);
  }
}

TEST_CASE("jacobian: eight columns or more of a small function are computed at once") {
  // Entries that a tape of the parameters of f makes of the Jacobian by the rest.
  const auto entries = [](std::int64_t n, std::int64_t m) {
    const Tensor scale = scalar(2.0), a = ramp({n, m});
    GradientTape tape;
    tape.watch(scale);
    static_cast<void>(jacobian([&](const Tensor& x) { return sin(matmul(x * scale, a)); })(ramp({n})));
    return tape.stats().entries;
  };
  CHECK(entries(7, 28) - entries(5, 28) == entries(5, 28) - entries(3, 28));  // one by one
  CHECK(entries(7, 28) > entries(5, 28));
  CHECK(entries(8, 32) == entries(12, 48));
  CHECK(entries(8, 32) < entries(7, 28));
  // Each of more than 2^19 elements in all: one by one, so that memory stays that of a few columns.
  CHECK(entries(8, 1 << 16) == entries(8, 32));
  CHECK(entries(8, 1 << 17) > entries(8, 32));
}

TEST_CASE("jacobian: columns at once of trees, mixed dtypes, unconnected parts, and their derivative") {
  const Tensor x = ramp({2, 5}), y = cast(ramp({3}), DType::float32), a = ramp({10, 30});
  const auto f = [&](const Tensor& s, const Tensor& t, const Tensor& k) {
    const Tensor first = sin(matmul(reshape(s, {-1}) * k, a)) + reshape(t[0], {1});
    return std::vector<Tensor>{reshape(first, {3, 10}), tanh(expand_dims(t, 1) * ramp({40})), t * 2.0f};
  };
  const auto at = [&](const Tensor& k) { return jacobian<0, 1>([&](auto& s, auto& t) { return f(s, t, k); })(x, y); };
  const Tensor k = scalar(0.75);
  const auto found = at(k);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const std::vector<Tensor> targets = f(x, y, k);
  REQUIRE(found.size() == targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto rows = tape.jacobian(targets[i], {x, y}, {.unconnected_gradients = UnconnectedGradients::zero});
    CHECK(std::get<0>(found[i]).dtype() == x.dtype());
    CHECK(std::get<1>(found[i]).dtype() == y.dtype());
    CHECK(distance(std::get<0>(found[i]), rows[0].dense()) < 1e-14);
    CHECK(distance(std::get<1>(found[i]), rows[1].dense()) < 1e-7);
  }
  // By a parameter that the columns depend on, beside differences.
  const auto weighted = [&](const Tensor& scale) {
    const Tensor j = std::get<0>(at(scale)[0]);
    return sum(j * ramp(j.shape()));
  };
  const double slope = grad(weighted)(k).item(), h = 1e-5;
  const double difference = (weighted(k + h).item() - weighted(k - h).item()) / (2 * h);
  CHECK(std::abs(slope - difference) < 1e-8 * std::abs(difference));
}

TEST_CASE("jacobian: columns are not computed at once where a rule depends on the zeros of a cotangent") {
  const Tensor w = ramp({9, 40});
  const auto tall = [&](const Tensor& y) { return matmul(reshape(y, {-1}), w); };
  const auto square_of = [](const Tensor& x) { return reshape(x, {3, 3}); };
  const auto vectors = [&](const Tensor& x) { return tall(eigh(square_of(x)).eigenvectors); };
  const auto left = [&](const Tensor& x) { return tall(svd(square_of(x)).u); };
  // The phases of eigenvectors are arbitrary: reverse mode refuses them.
  const auto phases = [&](const Tensor& x) {
    const Tensor a = square_of(x);
    return tall(real(eigh(make_complex(a + transpose(a), a - transpose(a))).eigenvectors));
  };
  const auto one_by_one = [](const auto& f, const Tensor& x) {
    std::vector<Tensor> columns;
    for (const Tensor& direction : unstack(eye(x.size()))) columns.push_back(jvp(f, x, direction).second);
    return stack(columns, -1).to_vector();
  };
  const Tensor repeated = reshape(eye(3), {-1}), other = ramp({9}) + square(ramp({9}));
  const auto as_one_by_one = [&](const auto& f, const Tensor& x) {
    const std::vector<double> found = jacobian(f)(x).to_vector(), expected = one_by_one(f, x);
    return std::equal(found.begin(), found.end(), expected.begin(), expected.end(),
                      [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
  };
  CHECK(as_one_by_one(vectors, repeated));
  CHECK(as_one_by_one(left, repeated));
  CHECK(as_one_by_one(phases, other));
  CHECK(any(isnan(jacobian(vectors)(repeated))).item<bool>());
  CHECK(any(isnan(jacobian(left)(repeated))).item<bool>());
}

TEST_CASE("jacobian: a rule that takes a batch is called once; with many columns to save, forward mode") {
  const Tensor a = ramp({5, 12}), x = ramp({5}), wide = ramp({5, 80});
  Calls calls;
  const Tensor j = jacobian(counted(calls, a, Rules::batched))(x);
  CHECK(calls.backward == 1);
  REQUIRE(calls.cotangents.size() == 1);
  CHECK(calls.cotangents[0] == Shape{12, 12});
  CHECK(distance(j, jacobian([&](const Tensor& t) { return times(t, a); })(x)) < 1e-12);
  // Without a jvp rows are batched, whatever the shape.
  calls = {};
  static_cast<void>(jacobian(counted(calls, wide, Rules::batched))(x));
  CHECK(calls.backward == 1);
  // With a jvp forward mode is used from four rows per column on, as for ops of the library.
  calls = {};
  static_cast<void>(jacobian(counted(calls, a, Rules::batched_and_jvp))(x));
  CHECK((calls.backward == 1 && calls.jvp == 0));
  calls = {};
  static_cast<void>(jacobian(counted(calls, wide, Rules::batched_and_jvp))(x));
  CHECK((calls.backward == 0 && calls.jvp == 5));
  // One cotangent at a time, and no jvp: once per row.
  calls = {};
  static_cast<void>(jacobian(counted(calls, a, Rules::backward))(x));
  CHECK(calls.backward == 12);
  CHECK(calls.cotangents.front() == Shape{12});
}

TEST_CASE("a rule that takes a batch gets a batch of one from gradient()") {
  const Tensor a = ramp({5, 3}), x = ramp({5});
  Calls calls;
  const auto f = counted(calls, a, Rules::batched);
  const Tensor g = grad([&](const Tensor& t) { return sum(f(t)); })(x);
  REQUIRE(calls.cotangents.size() == 1);
  CHECK(calls.cotangents[0] == Shape{1, 3});
  CHECK(distance(g, grad([&](const Tensor& t) { return sum(times(t, a)); })(x)) < 1e-12);
  // The derivative of the result.
  const Tensor h = hessian([&](const Tensor& t) { return sum(f(t)); })(x);
  CHECK(distance(h, hessian([&](const Tensor& t) { return sum(times(t, a)); })(x)) < 1e-12);
}

TEST_CASE("the largest tensor between source and target limits the rows of a pass; others do not") {
  const Tensor x = scalar(2.0), w = scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(w);
  const auto wide = [](const Tensor& t) { return mean(broadcast_to(t, {std::int64_t{1} << 21})); };  // two rows a pass
  const auto rows_of_passes = [&](const Tensor& factor) {
    std::vector<std::int64_t> rows;
    const Tensor in[] = {factor * ones({6})}, out[] = {in[0] * 2};
    const Tensor y = from_data(out[0].to_vector());
    record_operation("twice", in, {&y, 1},
                     [&](std::span<const Gradient> g) {
                       rows.push_back((*g[0]).shape()[0]);
                       return std::vector<Gradient>{*g[0] * 2};
                     },
                     {}, {.batched = true});
    CHECK(distance(*tape.jacobian(y, x), full({6}, 2 * factor.item() / x.item())) < 1e-13);
    return rows;
  };
  using Rows = std::vector<std::int64_t>;
  CHECK(rows_of_passes(wide(x)) == Rows{2, 2, 2});
  const Tensor off_the_path = wide(x);
  CHECK(rows_of_passes(x) == Rows{6});
  CHECK(rows_of_passes(x * wide(w)) == Rows{6});
}

TEST_CASE("a batched rule whose results lack the batch axis is an error") {
  const auto wrong = custom_gradient(
      [](const Tensor& t) { return std::pair(t * t, [](const Tensor& g) { return sum(g, 0); }); }, {.batched = true});
  const Tensor x = ramp({3});
  CHECK_THROWS_AS(grad([&](const Tensor& t) { return sum(wrong(t)); })(x), ShapeError);
  CHECK_THROWS_AS(jacobian(wrong)(x), ShapeError);
}

TEST_CASE("record_operation: a batched rule, of several inputs and outputs, one of them without a cotangent") {
  const Tensor x = ramp({4}), y = ramp({4}) + 1.0;
  int calls = 0;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(y);
  const Tensor out[] = {x * y, x + y};
  const Tensor made[] = {from_data(out[0].to_vector()), from_data(out[1].to_vector())};
  const Tensor in[] = {x, y};
  record_operation("two", in, made,
                   [&, x, y](std::span<const Gradient> g) {
                     ++calls;
                     const Tensor p = g[0] ? *g[0] : zeros_like(*g[1]), q = g[1] ? *g[1] : zeros_like(*g[0]);
                     return std::vector<Gradient>{p * y + q, p * x + q};
                   },
                   {}, {.batched = true});
  CHECK(distance(*tape.jacobian(made[0], x), diag(y)) == 0);
  CHECK(distance(*tape.jacobian(made[1], y), eye(4)) == 0);
  CHECK(calls == 2);
  const auto [gx, gy] = tape.gradient(std::tuple(made[0], made[1]), std::tuple(x, y));
  CHECK(distance(gx, y + 1.0) == 0);
  CHECK(distance(gy, x + 1.0) == 0);
  CHECK(calls == 3);
}

TEST_CASE("jacobian: reverse mode is used if an override is on the path, since it replaces the vjp only") {
  const Tensor a = ramp({3, 60}), x = ramp({3});
  int replaced = 0;
  const GradientRegistry::OverrideGuard guard("tanh", [&](const RecordedOp&, std::span<const Gradient> g) {
    ++replaced;
    CHECK((*g[0]).shape() == Shape{60});  // of one row, though the library's rule takes many
    return std::vector<Gradient>{g[0]};
  });
  static_cast<void>(jacobian([&](const Tensor& t) { return tanh(matmul(t, a)); })(x));
  CHECK(replaced == 60);
}

TEST_CASE("jacobian: an op off the path does not keep it from forward mode") {
  const Tensor a = ramp({5, 40}), x = ramp({5});
  Calls calls;
  const auto opaque =
      custom_gradient([](const Tensor& t) { return std::pair(t * t, [t](const Tensor& g) { return 2.0 * t * g; }); });
  Tensor aside;
  static_cast<void>(jacobian([&](const Tensor& t) {
    aside = opaque(t);
    return counted(calls, a, Rules::both)(t);
  })(x));
  CHECK(calls.jvp == 5);
  CHECK(calls.backward == 0);
}

TEST_CASE("Jacobians use reverse mode if an op inside a function that is one entry needs it") {
  const auto no_jvp =
      custom_gradient([](const Tensor& t) { return std::pair(t * t, [t](const Tensor& g) { return 2.0 * t * g; }); });
  const auto inside = [&](const Tensor& t) {
    return sum(checkpoint([=](const Tensor& u) { return no_jvp(u); })(t), -1, true) * ramp({60});
  };
  const auto plain = [](const Tensor& t) { return sum(t * t, -1, true) * ramp({60}); };
  const Tensor x = ramp({3}), batch = ramp({7, 3});
  CHECK(distance(jacobian(inside)(x), jacobian(plain)(x)) < 1e-14);
  CHECK(distance(to_dense(sparse_jacobian(inside, jacobian_sparsity(plain, x), {.check = true})(x)),
                 jacobian(plain)(x)) < 1e-14);
  GradientTape tape;
  tape.watch(batch);
  const Tensor y = inside(batch);
  CHECK(distance(*tape.batch_jacobian(y, batch), batch_jacobian(plain)(batch)) < 1e-14);
  CHECK_THROWS_AS(tape.gradient(y, batch), TapeError);  // used up

  const GradientRegistry::OverrideGuard guard(
      "tanh", [](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; });
  const auto identity_rule = jacobian([](const Tensor& t) { return sum(t, -1, true) * ramp({60}); })(x);
  const auto of = [](auto f) { return [f](const Tensor& t) { return sum(f(t), -1, true) * ramp({60}); }; };
  const auto op = [](const Tensor& t) { return tanh(t); };
  CHECK(distance(jacobian(of(checkpoint(op)))(x), identity_rule) < 1e-14);
  CHECK(distance(jacobian(of(compile(op)))(x), identity_rule) < 1e-14);
}

TEST_CASE("batch_jacobian chooses its mode, on a tape and as a wrapper") {
  for (const auto& [n, m, rules, columns] :
       {std::tuple(3, 17, Rules::batched_and_jvp, true), std::tuple(3, 4, Rules::batched_and_jvp, false),
        std::tuple(3, 4, Rules::both, true), std::tuple(3, 17, Rules::batched, false),
        std::tuple(6, 3, Rules::both, false), std::tuple(4, 4, Rules::both, false),
        std::tuple(2, 4, Rules::batched_and_jvp, true), std::tuple(1, 4, Rules::batched_and_jvp, true)}) {
    CAPTURE(n, m);
    constexpr int batch = 7;
    const Tensor a = ramp({n, m}), x = ramp({batch, n});
    Calls calls;
    const auto f = counted(calls, a, rules);
    const auto plain = [&](const Tensor& t) { return times(t, a); };
    const Tensor j = batch_jacobian(f)(x);
    CHECK(j.shape() == Shape{batch, m, n});
    CHECK(calls.jvp == (columns ? n : 0));
    CHECK(calls.backward == (columns ? 0 : rules == Rules::both ? m : 1));
    for (int b = 0; b < batch; ++b) CHECK(distance(j[b], jacobian(plain)(x[b])) < 1e-12);

    calls = {};
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const Gradient g = tape.batch_jacobian(y, x);
    CHECK(distance(g, j) == 0);
    CHECK(calls.jvp == (columns ? n : 0));
    CHECK_THROWS_AS(tape.gradient(y, x), TapeError);  // used up, in either mode
    CHECK_FALSE(tape.active());
  }
}

TEST_CASE("batch_jacobian: what reverse mode alone can do, though columns are fewer") {
  const Tensor x = ramp({3, 1}), none_of = zeros({3, 0}), z = make_complex(x, ones({3, 1}));
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(none_of);
  tape.watch(z);
  // A complex target is an error; the gradient with respect to a complex source is that of reverse mode.
  CHECK_THROWS_AS(tape.batch_jacobian(x * make_complex(ones({3, 5}), ones({3, 5})), x), TypeError);
  const Tensor by_z = *tape.batch_jacobian(real(z * make_complex(ones({3, 5}), ones({3, 5}))), z);
  CHECK(distance(real(by_z), ones({3, 5, 1})) == 0);
  CHECK(distance(imag(by_z), -ones({3, 5, 1})) == 0);
  // No columns.
  const Tensor sums = broadcast_to(sum(none_of, 1, true), {3, 5});
  CHECK((*tape.batch_jacobian(sums, none_of)).shape() == Shape{3, 5, 0});
  // An override replaces the vjp alone.
  const GradientRegistry::OverrideGuard guard(
      "tanh", [](const RecordedOp&, std::span<const Gradient> g) { return std::vector<Gradient>{g[0]}; });
  CHECK(distance(*tape.batch_jacobian(broadcast_to(tanh(x), {3, 5}), x), ones({3, 5, 1})) == 0);
  CHECK(tape.active());
  // Hooks see gradients.
  struct Counting : VSpace {
    mutable int sums = 0;
    Gradient aggregate(std::span<const Gradient> terms) const override { return ++sums, VSpace::aggregate(terms); }
  } space;
  GradientTape hooked({.vspace = &space});
  hooked.watch(x);
  const Tensor y = x * x;
  CHECK(distance(*hooked.batch_jacobian(broadcast_to(y, {3, 5}), x),
                 2.0 * broadcast_to(expand_dims(x, 1), {3, 5, 1})) == 0);
  CHECK(space.sums == 5);
}

TEST_CASE("batch_jacobian by columns leaves a persistent tape on the stack") {
  const Tensor a = ramp({2, 9}), x = ramp({4, 2});
  Calls calls;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  CHECK(tape.batch_jacobian(counted(calls, a, Rules::both)(x), x));
  CHECK(calls.jvp == 2);
  CHECK(tape.active());
}

TEST_CASE("batch_jacobian: dtypes, unconnected sources, derivatives of the result") {
  const Tensor a = ramp({2, 9}), x = ramp({4, 2});
  const auto f = [&](const Tensor& t) { return times(t, cast(a, t.dtype())); };
  CHECK(batch_jacobian(f)(cast(x, DType::float32)).dtype() == DType::float32);
  const Tensor unconnected = batch_jacobian([&](const Tensor&) { return ramp({4, 9}); })(x);
  CHECK(distance(unconnected, zeros({4, 9, 2})) == 0);
  GradientTape tape;
  tape.watch(x);
  CHECK_FALSE(tape.batch_jacobian(ramp({4, 9}), x));
  // The Jacobian is 2 x_i a_ik: the gradient of its sum is 2 sum_k a_ik.
  const Tensor g = grad([&](const Tensor& t) { return sum(batch_jacobian(f)(t)); })(x);
  CHECK(distance(g, broadcast_to(2.0 * sum(a, 1), {4, 2})) < 1e-12);
  CHECK(batch_jacobian<1>([&](double, const Tensor& t) { return f(t); })(1.0, x).shape() == Shape{4, 9, 2});
}

TEST_CASE("jacobian by columns: several targets and parameters; unconnected, empty, other dtypes") {
  const Tensor a = ramp({2, 30}), x = ramp({2}), y = scalar(0.5), empty = zeros({0});
  Calls calls;
  const auto f = [&](const Tensor& p, const Tensor& q, const Tensor& none_of) {
    const Tensor wide = counted(calls, a, Rules::both)(p);
    return std::tuple(wide, q * ramp({30}), cast(wide, DType::float32), sum(none_of) * q);
  };
  const auto [of_wide, of_ramp, of_narrow, of_empty] = jacobian(f)(x, y, empty);
  CHECK(calls.backward == 0);
  CHECK(calls.jvp == 2);  // one for each element that the function reads
  const Tensor expected = transpose(a) * 2.0 * x;
  CHECK(distance(std::get<0>(of_wide), expected) < 1e-12);
  CHECK(distance(std::get<1>(of_wide), zeros({30})) == 0);
  CHECK(std::get<2>(of_wide).shape() == Shape{30, 0});
  CHECK(distance(std::get<0>(of_ramp), zeros({30, 2})) == 0);
  CHECK(distance(std::get<1>(of_ramp), ramp({30})) == 0);
  CHECK(std::get<0>(of_narrow).dtype() == DType::float64);  // the parameter's
  CHECK(distance(std::get<0>(of_narrow), expected) < 1e-5);
  CHECK(std::get<0>(of_empty).shape() == Shape{2});
  CHECK(distance(std::get<1>(of_empty), zeros({})) == 0);
}

TEST_CASE("the functional jacobian refuses complex parameters and ranks beyond the largest") {
  const Tensor z = cast(ramp({2}), DType::complex128),
               deep = ones(Shape(std::vector<std::int64_t>(max_rank / 2 + 1, 1)));
  CHECK_THROWS_WITH(jacobian([](const Tensor& c) { return real(c); })(z),
                    Catch::Contains("complex parameters are not supported"));
  CHECK_THROWS_AS(jacobian([](const Tensor& c) { return exp(c); })(deep), ShapeError);
  CHECK_THROWS_WITH(jacobian([](const Tensor& c) { return exp(c); })(deep), Catch::Contains("flatten them"));
  CHECK_THROWS_WITH(grad([](const Tensor& c) { return cast(sum(c), DType::complex128); })(ramp({2})),
                    Catch::Contains("take abs or the real part"));
  CHECK_THROWS_WITH(hvp([](const Tensor& c) { return sum(c * c); })(ramp({2}), Gradient()),
                    Catch::Contains("leaf 0 of v is none"));
}

TEST_CASE("batch_jacobian by columns: result of another dtype, active tape, jvp without tangent") {
  const Tensor a = ramp({2, 9}), x = ramp({4, 2});
  Calls calls;
  const auto f = counted(calls, a, Rules::both);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f(x), narrow = cast(y, DType::float32);
  tape.stop();
  const Tensor j = *tape.batch_jacobian(y, x);
  CHECK(calls.jvp == 2);
  const Tensor of_narrow = *tape.batch_jacobian(narrow, x);
  CHECK(calls.jvp == 4);
  CHECK(of_narrow.dtype() == DType::float64);
  CHECK(distance(of_narrow, j) < 1e-5);
  CHECK_FALSE(tape.batch_jacobian(y, ramp({4, 1})));  // nothing watched it
  const auto silent = [](const Tensor& v) {
    const Tensor out[] = {ones({4, 9})};
    record_operation(
        "silent", {&v, 1}, out, [](std::span<const Gradient>) { return std::vector<Gradient>(1); },
        [](std::span<const Tensor>) { return std::vector<Tensor>(1); });
    return out[0];
  };
  CHECK(distance(batch_jacobian(silent)(x), zeros({4, 9, 2})) == 0);
}

TEST_CASE("linearize: another thread is refused by the name of the function that was called") {
  const auto linear = linearize([](const Tensor& v) { return v * v; }, scalar(2.0)).second;
  CHECK(linear(1.0).item() == 4.0);
  std::string refused;
  std::thread([&] {
    try {
      static_cast<void>(linear(1.0));
    } catch (const TapeError& e) {
      refused = e.what();
    }
  }).join();
  CHECK_THAT(refused, Catch::StartsWith("linearize: this tape belongs to another thread"));
}
