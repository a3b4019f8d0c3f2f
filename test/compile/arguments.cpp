// Arguments of compiled functions: numbers that are inputs, numbers that are part of the signature, generators; the
// warning that names what varies; the type of a compiled object by its signature.
#include <cmath>
#include <memory>
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"
#include "support/ramp.hpp"
#include "support/warnings.hpp"

using namespace reel;
using Catch::Contains;
using support::ramp, support::same_bits;

TEST_CASE("compiled numbers: for auto and Operand they are inputs, for arithmetic parameters part of the signature") {
  const auto by_auto = compile([](const Tensor& x, auto a) { return x * a + 1; });
  const auto by_operand = compile([](const Tensor& x, const Operand& a) { return x * a + 1; });
  const auto by_value = compile([](const Tensor& x, double a) { return x * a + 1; });
  const Tensor x = support::ramp({5});
  for (const double a : {0.25, -3.0, 1e-3}) {
    CHECK(same_bits(by_auto(x, a), x * a + 1));
    CHECK(same_bits(by_operand(x, a), x * a + 1));
    CHECK(same_bits(by_value(x, a), x * a + 1));
  }
  CHECK(by_auto.stats().traces == 1);
  CHECK(by_operand.stats().traces == 1);
  CHECK(by_value.stats().traces == 3);
  CHECK(same_bits(by_auto(x, 2), x * 2 + 1));  // an integer is of another dtype
  CHECK(by_auto.stats().traces == 2);
}

TEST_CASE("compiled numbers: promoted like literals beside tensors") {
  for (const DType d : {DType::boolean, DType::uint8, DType::int32, DType::int64, DType::float16, DType::float32,
                        DType::float64, DType::complex64, DType::complex128}) {
    const Tensor x = cast(arange(4), d), y = cast(arange(4), d);
    const auto check = [&](auto number) {
      INFO(name(d));
      const auto f = [](const Tensor& a, const Tensor& b, auto n) {
        return std::tuple(a + n, n * b, maximum(cast(a, DType::float32), n),
                          where(less(cast(b, DType::float64), n), b, n));
      };
      const auto got = compile(f)(x, y, number);
      const auto expected = f(x, y, number);
      CHECK(same_bits(std::get<0>(got), std::get<0>(expected)));
      CHECK(same_bits(std::get<1>(got), std::get<1>(expected)));
      CHECK(same_bits(std::get<2>(got), std::get<2>(expected)));
      CHECK(same_bits(std::get<3>(got), std::get<3>(expected)));
    };
    check(3);
    check(0.1);
    check(true);
  }
}

TEST_CASE("compiled numbers: arithmetic among them stays weak") {
  const auto f = [](const Tensor& x, auto rate, auto steps) {
    return x * (1 - rate) + (rate * 2. - rate / 3.) * x - (-rate) * x * (steps + 1) * (2 * steps) * (rate + rate);
  };
  const Tensor x = cast(support::ramp({7}), DType::float32);
  const Tensor y = compile(f)(x, 0.3, 4);
  CHECK(y.dtype() == DType::float32);
  CHECK(same_bits(y, f(x, 0.3, 4)));
  CHECK_THROWS_AS(compile([](const Tensor& a, auto n) { return a * (n / 2); })(x, 3), TypeError);
}

TEST_CASE("compiled numbers: gradients with respect to tensors, around and inside the compiled function") {
  const auto f = compile([](const Tensor& x, auto a) { return sum(exp(x * a)); });
  const Tensor x = support::ramp({5});
  for (const double a : {0.5, 0.7}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x, a);
    CHECK(max(abs(*tape.gradient(y, x) - exp(x * a) * a)).item() < 1e-14);
  }
  CHECK(f.stats().traces == 1);
  const auto outer = compile([&](const Tensor& z, auto a) { return f(z, a * 2.) + f(z, 0.25); });
  for (const double a : {0.5, 0.7}) CHECK(same_bits(outer(x, a), sum(exp(x * (a * 2.))) + sum(exp(x * 0.25))));
  CHECK(outer.stats().traces == 1);
}

TEST_CASE("compiled optimisers: a changing learning rate and saved state give the bits of eager steps") {
  const Tensor x = support::ramp({16, 3}), y = sum(x, 1);
  const auto train = [&](auto& optimizer, bool compiled, const auto& rate_of, int steps) {
    Variable w(support::ramp({3}, .3), "w");
    const auto body = [&](const Tensor& a, const Tensor& b) {
      GradientTape tape;
      const Tensor loss = mean(square(matmul(a, w) - b));
      optimizer.step(tape.gradient(loss, w), w);
      return loss;
    };
    const auto program = compile(body);
    std::vector<Tensor> losses;
    for (int i = 0; i < steps; ++i) {
      optimizer.options.learning_rate = rate_of(i);
      losses.push_back(compiled ? program(x, y) : body(x, y));
    }
    if (compiled) CHECK(program.stats().traces == 1);
    losses.push_back(w.read());
    return losses;
  };
  const auto halved = [](int i) { return i < 50 ? 0.05 : 0.01; };
  const auto check = [&](auto make) {
    auto one = make(), two = make();
    const auto eager = train(one, false, halved, 100), compiled = train(two, true, halved, 100);
    for (std::size_t i = 0; i < eager.size(); ++i) CHECK(same_bits(eager[i], compiled[i]));
  };
  check([] { return Adam({.learning_rate = 0.05}); });
  check([] { return SGD({.learning_rate = 0.05}); });
  check([] { return SGD({.learning_rate = 0.05, .momentum = 0.9}); });
  check([] { return SGD({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}); });
}

TEST_CASE("compiled generators: bound at each call and advanced as by the eager function") {
  const auto f = [](Generator& g, const Tensor& x) {
    const Tensor a = random_normal(g, {3, 2}), unused = random_uniform(g, {5}), b = random_normal(g, {3, 2});
    return std::tuple(a * x, b, random_bernoulli(g, {7}, .3), random_permutation(g, 9), random_categorical(g, x, 4),
                      random_integers(g, {5}, -3, 3), random_truncated_normal(g, {2}, 1, 2, DType::float32));
  };
  const auto compiled = compile(f);
  const Tensor x = support::ramp({3, 2});
  Generator one(7), two(7);
  for (int i = 0; i < 3; ++i) {
    if (i == 2) {
      one = Generator(8);
      two = Generator(8);
      one.take(5);
      two.take(5);
    }
    const auto expected = f(one, x), got = compiled(two, x);
    CHECK(one.position() == two.position());
    CHECK(same_bits(std::get<0>(got), std::get<0>(expected)));
    CHECK(same_bits(std::get<1>(got), std::get<1>(expected)));
    CHECK(same_bits(std::get<2>(got), std::get<2>(expected)));
    CHECK(same_bits(std::get<3>(got), std::get<3>(expected)));
    CHECK(same_bits(std::get<4>(got), std::get<4>(expected)));
    CHECK(same_bits(std::get<5>(got), std::get<5>(expected)));
  }
  CHECK(compiled.stats().traces == 1);
}

TEST_CASE("compiled generators: the same generator may be passed for two parameters") {
  const auto f = [](Generator& g, Generator& h) {
    const Tensor a = random_uniform(g, {3});
    const Tensor b = random_uniform(h, {3});
    return std::pair(a - b, random_uniform(g, {2}));
  };
  const auto compiled = compile(f);
  const auto check = [&](bool same) {
    Generator a(1), b(2), c(1), d(2);
    const auto expected = f(a, same ? a : b), got = compiled(c, same ? c : d);
    CHECK(same_bits(got.first, expected.first));
    CHECK(same_bits(got.second, expected.second));
    CHECK(a.position() == c.position());
    CHECK(b.position() == d.position());
  };
  check(false);
  check(true);
  check(false);
  CHECK(compiled.stats().signatures == 2);
}

TEST_CASE("compiled generators: derivatives use the numbers that the call drew") {
  const auto noisy = [](const Tensor& x, Generator& g) { return sum(x * x * random_normal(g, {6})); };
  const auto compiled = compile(noisy);
  const Tensor x = support::ramp({6});
  const auto gradient = [&](const auto& f, Generator& g) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x, g);
    g.take(3);
    const Tensor first = *tape.gradient(y, x);
    CHECK(same_bits(*tape.gradient(y, x), first));
    return first;
  };
  Generator a(3), b(3);
  for (int i = 0; i < 3; ++i) CHECK(max(abs(gradient(noisy, a) - gradient(compiled, b))).item() < 1e-14);
  // Recomputed parts draw the same numbers again.
  const auto kept = [](const Tensor& y, Generator& g) {
    return sum(fori_loop(
        3, [&](std::int64_t, const Tensor& c) { return c * random_uniform(g, {6}); }, y));
  };
  const auto whole = [&](const auto& f, Generator& g) {
    return f(
        [&](const Tensor& y, Generator& h) {
          GradientTape tape;
          tape.watch(y);
          const Tensor z = kept(y, h);
          return *tape.gradient(z, y);
        },
        g);
  };
  const auto eager = [&](const auto& f, Generator& g) { return f(x, g); };
  const auto program = [&](const auto& f, Generator& g) { return compile(f)(x, g); };
  Generator c(4), d(4);
  CHECK(max(abs(whole(eager, c) - whole(program, d))).item() < 1e-14);
  CHECK(c.position() == d.position());
}

TEST_CASE("compiled generators: drawing from a captured one is an error that does not advance it") {
  Generator g(1);
  const auto f = compile([&](const Tensor& x) { return x + random_uniform(g, {}); });
  CHECK_THROWS_WITH(f(scalar(1.)), Catch::Contains("Generator&"));
  CHECK(g.position() == 0);
}

TEST_CASE("compiled signatures: the warning about evictions names the argument that varies") {
  const auto message = [](const auto& call) {
    WarningLog log;
    call();
    REQUIRE(log.texts.size() == 1);
    return log.texts[0];
  };
  CHECK_THAT(
      message([] {
        const auto f = compile([](const Tensor& x, double a) { return x * a; });
        for (int i = 0; i < 66; ++i) f(scalar(1.), double(i));
      }),
      Catch::Contains("argument 2 (double) took 65 values: take it as auto") && Catch::Contains("64 signatures"));
  CHECK_THAT(message([] {
               const auto f = compile([](bool flip, const Tensor& x) { return flip ? x : -x; }, {.max_signatures = 3});
               for (int i = 1; i < 5; ++i) f(i % 2 == 0, zeros({i}));
             }),
             Catch::Contains("argument 2 (Tensor) took 4 shapes"));
  CHECK_THAT(message([] {
               const auto f = compile([](const Tensor& x) { return x * 2; }, {.max_signatures = 1});
               f(zeros({2}));
               f(zeros({2}, DType::float32));
             }),
             Catch::Contains("argument 1 (Tensor) took 2 dtypes"));
  CHECK_THAT(message([] {
               const auto f = compile([](const Tensor& x) { return x * 2; }, {.max_signatures = 1});
               f(zeros({2, 2}));
               f(transpose(zeros({2, 2})));
             }),
             Catch::Contains("argument 1 (Tensor) took 2 layouts"));
  CHECK_THAT(message([] {
               const auto f = compile([](const std::vector<Tensor>& list) { return list[0]; }, {.max_signatures = 1});
               f(std::vector{ones({2})});
               f(std::vector{ones({2}), ones({2})});
             }),
             Catch::Contains("argument 1 (tree) took 2 structures"));
  CHECK_THAT(message([] {
               struct Model {
                 Variable w{scalar(1.)};
                 auto leaves() { return std::tie(w); }
               };
               const auto f = compile([](const Model& m) { return m.w * 2; }, {.max_signatures = 1});
               f(Model());
               f(Model());  // no other program
               f(Model{Variable(ones({2}))});
             }),
             Catch::Contains("argument 1 (tree) took 2 structures"));
}

TEST_CASE("compiled arguments: one program serves all variables of a shape, read at each call") {
  const Variable a(ramp({3}), "a"), b(ramp({3}, 0.5), "b"), captured(ramp({3}, 0.2), "captured");
  const auto f = compile([captured](const Tensor& v, const Tensor& w) { return sum(v * v * w * captured); });
  const auto gradient = [](const auto& call, const Variable& x) {
    GradientTape tape;
    return *tape.gradient(call(), x);
  };
  const auto expected = [&](const Variable& v, const Variable& w) { return sum(v * v * w * captured); };
  const std::pair<const Variable&, const Variable&> pairs[] = {{a, b}, {b, a}, {a, a}, {captured, b}, {a, captured}};
  for (const auto& pair : pairs) {
    const Variable &v = pair.first, &w = pair.second;
    CHECK(same_bits(f(v, w), expected(v, w)));
    for (const Variable& x : {a, b, captured}) {
      const auto by_call = [&] { return f(v, w) + sum(x) * 0; };
      const auto plain = [&] { return expected(v, w) + sum(x) * 0; };
      CHECK(max(abs(gradient(by_call, x) - gradient(plain, x))).item() < 1e-14);
    }
    a.assign(a * 1.5);
  }
  CHECK(f.stats().traces == 1);
}

TEST_CASE("compiled objects: a type by signature, for members and containers") {
  struct Trainer {
    Variable w{zeros({3}), "w"};
    Compiled<Tensor(const Tensor&, const Tensor&)> step;
  };
  Trainer trainer;
  CHECK(!trainer.step);
  CHECK_THROWS_AS(trainer.step(ones({3}), ones({3})), ValueError);
  CHECK(trainer.step.stats().signatures == 0);
  const auto step = [](const Variable& w) {
    return [w](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor loss = sum(square(x * w - y));
      w.assign_sub(0.1 * *tape.gradient(loss, w));
      return loss;
    };
  };
  trainer.step = compile(step(trainer.w));
  REQUIRE(bool(trainer.step));
  const Variable twin(zeros({3}));
  const Tensor x = ramp({3}), y = ones({3});
  for (int i = 0; i < 3; ++i) CHECK(same_bits(trainer.step(x, y), step(twin)(x, y)));
  CHECK(same_bits(trainer.w.read(), twin.read()));
  const auto copy = trainer.step;  // shares the program
  static_cast<void>(copy(x, y));
  CHECK(trainer.step.stats().traces == 1);
  CHECK_THAT(copy.to_dot(), Contains("digraph"));
  // Numbers and generators are passed as by a direct call; nothing may be returned.
  Compiled<Tensor(double, const Tensor&, Generator&)> scaled =
      compile([](double a, const Tensor& t, Generator& g) { return a * t + random_uniform(g, {3}); });
  Generator one(7), same(7);
  CHECK(same_bits(scaled(2, x, one), 2 * x + random_uniform(same, {3})));
  CHECK(one.position() == same.position());
  static_cast<void>(scaled(3, x, one));
  CHECK(scaled.stats().traces == 2);
  Compiled<void(const Tensor&)> assigns = compile([w = twin](const Tensor& t) { w.assign(t); });
  assigns(x);
  CHECK(same_bits(twin.read(), x));
  const std::vector<Compiled<Tensor(const Tensor&)>> list{compile([](const Tensor& t) { return exp(t); }),
                                                          compile([](const Tensor& t) { return sin(t); })};
  CHECK(same_bits(list[1](x), sin(x)));
}
