// Functions of <reel/nn/sequence.hpp> where the op table does not reach: many blocks, masks, ends, bits for every
// number of threads, memory, entries on tapes, errors.
#include <cmath>
#include <reel/nn/sequence.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/bits.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

using Tensors = support::Tensors;
using Real = long double;
using Reals = std::vector<Real>;

Reals reals(const Tensor& x) {
  const Doubles all = x.to_vector();
  return {all.begin(), all.end()};
}
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Attention of one matrix by the definition, and the gradients for the cotangent g. The reference of the rows has no
// gradients, and would take a hundred times as long at the sizes below.
struct Attended {
  Reals y, dq, dk, dv;
};
template <class F>
Attended attended(const Tensor& tq, const Tensor& tk, const Tensor& tv, const Tensor& tg, Real scale, const F& more) {
  const std::int64_t rows = tq.shape()[0], width = tq.shape()[1], keys = tk.shape()[0], values = tv.shape()[1];
  const Reals q = reals(tq), k = reals(tk), v = reals(tv), g = reals(tg);
  Attended a{Reals(at(rows * values)), Reals(q.size()), Reals(k.size()), Reals(v.size())};
  for (std::int64_t i = 0; i < rows; ++i) {
    Reals p(at(keys)), slope(at(keys));
    Real most = -std::numeric_limits<Real>::infinity(), sum = 0, product = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      for (std::int64_t e = 0; e < width; ++e) p[at(j)] += q[at(i * width + e)] * k[at(j * width + e)] * scale;
      p[at(j)] += more(i, j);
      most = std::max(most, p[at(j)]);
    }
    if (std::isinf(most)) continue;
    for (Real& s : p) sum += s = std::exp(s - most);
    for (std::int64_t j = 0; j < keys; ++j) {
      p[at(j)] /= sum;
      for (std::int64_t e = 0; e < values; ++e) {
        a.y[at(i * values + e)] += p[at(j)] * v[at(j * values + e)];
        a.dv[at(j * values + e)] += p[at(j)] * g[at(i * values + e)];
        slope[at(j)] += g[at(i * values + e)] * v[at(j * values + e)];
      }
      product += p[at(j)] * slope[at(j)];
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      const Real d = p[at(j)] * (slope[at(j)] - product) * scale;
      for (std::int64_t e = 0; e < width; ++e) {
        a.dq[at(i * width + e)] += d * k[at(j * width + e)];
        a.dk[at(j * width + e)] += d * q[at(i * width + e)];
      }
    }
  }
  return a;
}
void check_near(const Tensor& got, const Reals& expected, Real tolerance) {
  const Reals x = reals(got);
  REQUIRE(x.size() == expected.size());
  Real worst = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real error = std::abs(x[i] - expected[i]);
    worst = error <= worst ? worst : error;
    size = std::max(size, std::abs(expected[i]));
  }
  INFO("error " << static_cast<double>(worst) << " of " << static_cast<double>(size));
  CHECK(worst <= tolerance * size);
}
constexpr Real excluded = -std::numeric_limits<Real>::infinity();
// A mask with blocks that are all true or all false, and queries without keys.
bool allowed(std::int64_t i, std::int64_t j) {
  return i != 3 && i != 140 && (j / 130 != 1 || i % 2 == 0) && (i * j) % 7 != 1;
}
Tensor allowed_keys(std::int64_t rows, std::int64_t keys) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < keys; ++j) all.push_back(allowed(i, j));
  return greater(from_data(all, {rows, keys}), 0);
}

}  // namespace

TEST_CASE("attention: many blocks agree with the definition in long double") {
  constexpr std::int64_t rows = 150, keys = 290, width = 20, values = 12;
  for (const DType dtype : {DType::float64, DType::float32})
    for (int which = 0; which < 4; ++which) {
      INFO(dtype << ", case " << which);
      Random random("attention" + std::to_string(which));
      // Scores up to 50: the running maximum changes from block to block.
      const Tensor q = cast(random.tensor({rows, width}, -3, 3), dtype),
                   k = cast(random.tensor({keys, width}, -3, 3), dtype), v = cast(random.tensor({keys, values}), dtype),
                   g = cast(random.tensor({rows, values}), dtype);
      AttentionOptions options{.causal = which % 2 == 1, .scale = 0.7};
      if (which == 1) options.mask = allowed_keys(rows, keys);
      if (which >= 2) options.mask = where(allowed_keys(rows, keys), 0.25, -inf);
      const auto more = [&](std::int64_t i, std::int64_t j) {
        const bool seen = (which == 0 || allowed(i, j)) && (!options.causal || j <= i);
        return seen ? (which >= 2 ? 0.25L : 0) : excluded;
      };
      const Attended expected = attended(q, k, v, g, 0.7L, more);
      const Real unit = dtype == DType::float64 ? 1e-13L : 5e-5L;
      GradientTape tape;
      for (const Tensor* x : {&q, &k, &v}) tape.watch(*x);
      const Tensor y = attention(q, k, v, options);
      check_near(y, expected.y, unit);
      const auto d = tape.gradient(y, {q, k, v}, {.output_gradients = {g}});
      check_near(d[0].dense(), expected.dq, unit);
      check_near(d[1].dense(), expected.dk, unit);
      check_near(d[2].dense(), expected.dv, unit);
    }
}

TEST_CASE("attention: a query without keys gives 0 and has no gradient, whatever its scores") {
  const Tensor q = tensor({{1, 2}, {3, inf}, {5, 6}}), k = ones({3, 2}), v = tensor({{1, 2}, {3, 4}, {5, 6}});
  const Tensor mask = greater(tensor({{1, 1, 0}, {0, 0, 0}, {0, 0, 1}}), 0);
  for (const Tensor& m : {mask, where(mask, 0.0, -inf)}) {
    const AttentionOptions options{.mask = m};
    GradientTape tape;
    for (const Tensor* x : {&q, &k, &v}) tape.watch(*x);
    const Tensor y = attention(q, k, v, options);
    CHECK(y.to_vector() == Doubles{2, 3, 0, 0, 5, 6});
    CHECK(tape.stats().entries == 1);
    const auto d = tape.gradient(y, {q, k, v});
    CHECK(d[0].dense().to_vector() == Doubles{0, 0, 0, 0, 0, 0});
    check_near(d[2].dense(), {0.5, 0.5, 0.5, 0.5, 1, 1}, 1e-15L);
    const auto second = [&](const Tensor& t) {
      GradientTape inner;
      inner.watch(t);
      return sum(square(*inner.gradient(sum(square(attention(v, t, v, options))), t)));
    };
    CHECK(std::isfinite(sum(gradient_at(second, k)).item()));
  }
  // No keys at all, and no queries.
  CHECK(attention(ones({2, 3}), ones({0, 3}), ones({0, 2})).to_vector() == Doubles{0, 0, 0, 0});
  CHECK(attention(ones({0, 3}), ones({2, 3}), ones({2, 4})).shape() == Shape{0, 4});
  CHECK(attention(ones({2, 1, 3}), ones({2, 3, 3}), tensor({{1}, {qnan}, {3}})).shape() == Shape{2, 1, 1});
  // Without elements in q and k all scores are 0.
  CHECK(attention(ones({1, 0}), ones({2, 0}), tensor({{1}, {3}})).to_vector() == Doubles{2});
}

TEST_CASE("batched Jacobians of attention, lstm and gru are the gradients row by row") {
  Random random("carried together");
  const auto compare = [](const auto& f, const Tensors& x) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x);
    tape.stop();
    const auto together = tape.jacobian(y, x);
    for (const std::int64_t n : {0, 15, 16, 20}) {
      const auto one = tape.gradient(y, x, {.output_gradients = {one_hot(full({}, n, DType::int64), y.size())}});
      for (std::size_t k = 0; k < x.size(); ++k) {
        INFO("cotangent " << n << ", operand " << k);
        CHECK(difference({together[k].dense()[n]}, {one[k].dense()}).error < 1e-14);
      }
    }
  };
  // 21 numbers that depend on all elements of y.
  const auto summary = [&](const Tensor& y, const Tensor& weights) { return matmul(weights, reshape(y, {-1})); };
  const auto cotangents = [&](std::int64_t size) { return random.tensor({21, size}); };
  for (const std::int64_t batch : {2, 5}) {
    const Tensor weights = cotangents(batch * 131 * 3), mask = allowed_keys(131, 140);
    const auto f = [&](const Tensors& x) {
      return summary(attention(x[0], x[1], x[2], {.mask = mask, .causal = batch == 2}), weights);
    };
    compare(f, {random.tensor({batch, 131, 4}), random.tensor({140, 4}), random.tensor({1, 140, 3})});
  }
  const Tensor x = random.tensor({4, 3, 2}), state = random.tensor({3, 5});
  const Tensor of_lstm = cotangents(90), of_gru = cotangents(75);
  const auto all = [](const Tensor& a, const Tensor& b) { return concatenate({flatten(a), flatten(b)}); };
  compare(
      [&](const Tensors& t) {
        const Lstm y = lstm(t[0], t[1], t[2], {.input_bias = t[3], .hidden_bias = t[3], .state = t[4], .cell = t[4]});
        return summary(all(all(y.output, y.state), y.cell), of_lstm);
      },
      {x, random.tensor({20, 2}), random.tensor({20, 5}), random.tensor({20}), state});
  compare(
      [&](const Tensors& t) {
        const Gru y = gru(t[0], t[1], t[2], {.input_bias = t[3], .hidden_bias = t[3], .state = t[4]});
        return summary(all(y.output, y.state), of_gru);
      },
      {x, random.tensor({15, 2}), random.tensor({15, 5}), random.tensor({15}), state});
}

TEST_CASE("attention: same bits for every number of threads and for all strides") {
  Random random("attention threads");
  const Tensor q = cast(random.tensor({3, 300, 16}), DType::float32),
               k = cast(random.tensor({3, 260, 16}), DType::float32),
               v = cast(random.tensor({3, 260, 8}), DType::float32);
  // The gradient of three matrices runs by blocks, that of nine by matrices.
  const auto all = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    GradientTape tape;
    for (const Tensor* x : {&a, &b, &c}) tape.watch(*x);
    const Tensor y = attention(a, b, c, {.causal = true});
    const auto d = tape.gradient(sum(square(y)), {a, b, c});
    return Tensors{y, d[0].dense(), d[1].dense(), d[2].dense()};
  };
  const int before = num_threads();
  set_num_threads(1);
  const Tensors one = all(q, k, v);
  const auto thrice = [](const Tensor& x) { return concatenate({x, x, x}, 0); };
  const Tensors nine = all(thrice(q), thrice(k), thrice(v));
  const Tensors strided =
      all(laid_out(q, Layout::transposed), laid_out(k, Layout::stepped), laid_out(v, Layout::flipped));
  set_num_threads(4);
  const Tensors four = all(q, k, v);
  set_num_threads(before);
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(i);
    CHECK(same_bits(one[i], four[i]));
    CHECK(same_bits(one[i], slice(nine[i], {range(3, 6)})));
    CHECK(same_bits(one[i], strided[i]));
  }
}

TEST_CASE("attention: memory does not grow with the number of scores") {
  constexpr std::int64_t n = 2048;
  const Tensor q = ones({n, 8}, DType::float32), k = ones({n, 8}, DType::float32), v = ones({n, 8}, DType::float32);
  const std::int64_t before = memory_stats().live_bytes;
  reset_peak_bytes();
  const Tensor d = gradient_at([&](const Tensor& x) { return attention(q, x, v); }, k);
  const std::int64_t most = memory_stats().peak_bytes - before;
  INFO(most);
  CHECK(most < n * n * 4 / 4);
}

TEST_CASE("attention: errors and dtypes") {
  const Tensor q = ones({3, 4}), k = ones({5, 4}), v = ones({5, 2});
  for (const DType d : {DType::float16, DType::bfloat16, DType::float32})
    CHECK(attention(cast(q, d), cast(k, d), cast(v, d), {.mask = ones({3, 5})}).dtype() == d);
  CHECK(attention(ones({3, 4}, DType::int32), k, v).dtype() == DType::float64);
  CHECK_THROWS_WITH(attention(q, ones({5, 3}), v), Catch::Contains("attention: q has shape [3, 4], k [5, 3]"));
  CHECK_THROWS_WITH(attention(q, k, ones({4, 2})), Catch::Contains("a value for each key"));
  CHECK_THROWS_AS(attention(ones({4}), k, v), ShapeError);
  CHECK_THROWS_AS(attention(ones({2, 3, 4}), ones({3, 5, 4}), v), ShapeError);
  CHECK_THROWS_AS(attention(q, k, ones({5, 2}, DType::complex64)), TypeError);
  CHECK_THROWS_WITH(attention(q, k, v, {.mask = ones({3, 4})}), Catch::Contains("the mask has shape [3, 4]"));
  CHECK_THROWS_AS(attention(q, k, v, {.mask = ones({2, 3, 5})}), ShapeError);
  CHECK_THROWS_WITH(attention(q, k, v, {.mask = ones({3, 5}, DType::int64)}), Catch::Contains("the mask is int64"));
}

TEST_CASE("rope: far positions, offsets, errors") {
  // Angles of float32 would be wrong by 0.008 here.
  const Tensor x = tensor({{1, 0}});
  const Doubles far = rope(cast(x, DType::float32), 123456.75).to_vector();
  CHECK(std::abs(far[0] - std::cos(123456.75)) < 1e-7);
  CHECK(std::abs(far[1] - std::sin(123456.75)) < 1e-7);
  const Tensor rows = reshape(arange(24.0), {3, 2, 4});
  const Tensor last = rope(slice(rows, {ellipsis, range(1, 2), range_from(0)}), 8);
  CHECK(same_bits(contiguous(slice(rope(rows, 7), {ellipsis, range(1, 2), range_from(0)})), last));
  CHECK(same_bits(rope(rows, scalar(7)), rope(rows, tensor({7, 8}))));
  // Products of queries and keys depend on the difference of their positions alone.
  const Tensor a = tensor({{0.3, -1, 2, 0.7}}), b = tensor({{1, 0.2, -0.4, 1.5}});
  CHECK(std::abs(sum(rope(a, 3) * rope(b, 10)).item() - sum(rope(a, 103) * rope(b, 110)).item()) < 1e-12);
  CHECK_THROWS_WITH(rope(ones({2, 3}), 0), Catch::Contains("rope: x has shape [2, 3]"));
  CHECK_THROWS_AS(rope(ones({4}), 0), ShapeError);
  CHECK_THROWS_AS(rope(ones({2, 4}), ones({3})), ShapeError);
  CHECK_THROWS_AS(rope(ones({2, 4}), ones({3, 2})), ShapeError);
  CHECK_THROWS_AS(rope(ones({2, 4}), 0, {.base = 0}), ValueError);
  CHECK_THROWS_AS(rope(ones({2, 4}, DType::complex64), 0), TypeError);
  CHECK_THROWS_AS(rope(ones({2, 4}), ones({2}, DType::complex64)), TypeError);
}

TEST_CASE("lstm and gru: one entry, the gradient of each operand against central differences of a long sequence") {
  Random random("recurrent");
  constexpr std::int64_t steps = 6, batch = 3, inputs = 4, width = 5;
  for (const bool is_lstm : {true, false}) {
    INFO((is_lstm ? "lstm" : "gru"));
    const std::int64_t gates = is_lstm ? 4 * width : 3 * width;
    const Tensors x = {random.tensor({steps, batch, inputs}),
                       random.tensor({gates, inputs}),
                       random.tensor({gates, width}),
                       random.tensor({gates}),
                       random.tensor({gates}),
                       random.tensor({batch, width}),
                       random.tensor({batch, width})};
    const Tensor w = random.tensor({steps, batch, width}), v = random.tensor({batch, width});
    const auto run = [&](const Tensors& t) {
      RecurrentOptions options{t[3], t[4], t[5], is_lstm ? t[6] : Tensor()};
      if (is_lstm) {
        const Lstm y = lstm(t[0], t[1], t[2], options);
        return Tensors{y.output, y.state, y.cell};
      }
      const Gru y = gru(t[0], t[1], t[2], options);
      return Tensors{y.output, y.state};
    };
    const auto loss = [&](const Tensors& t) {
      const Tensors y = run(t);
      const Tensor first = sum(y[0] * w) + sum(square(y[1]) * v);
      return is_lstm ? first + sum(exp(y[2]) * v) : first;
    };
    {
      GradientTape tape;
      for (const Tensor& t : x) tape.watch(t);
      static_cast<void>(run(x));
      CHECK(tape.stats().entries == 1);
    }
    GradientTape tape;
    for (const Tensor& t : x) tape.watch(t);
    const Tensor value = loss(x);
    const std::vector<Gradient> d = tape.gradient(value, x);
    for (std::size_t k = 0; k < (is_lstm ? 7u : 6u); ++k) {
      INFO("operand " << k);
      const Tensor along = random.tensor(x[k].shape());
      Tensors up = x, down = x;
      up[k] = x[k] + 1e-5 * along;
      down[k] = x[k] - 1e-5 * along;
      const double slope = (loss(up).item() - loss(down).item()) / 2e-5, got = sum(d[k].dense() * along).item();
      CHECK(std::abs(slope - got) < 1e-8 * (1 + std::abs(slope)));
    }
    // The gradient as recorded ops is that of the loops.
    GradientTape outer({.persistent = true});
    for (const Tensor& t : x) outer.watch(t);
    GradientTape inner;
    for (const Tensor& t : x) inner.watch(t);
    const std::vector<Gradient> recorded = inner.gradient(loss(x), x);
    for (std::size_t k = 0; k < (is_lstm ? 7u : 6u); ++k)
      CHECK(difference({recorded[k].dense()}, {d[k].dense()}).error < 1e-13);
  }
}

TEST_CASE("lstm and gru: a sequence in two parts, no steps, single outputs, threads, errors") {
  Random random("recurrent parts");
  const Tensor x = random.tensor({5, 2, 3}), wi = random.tensor({8, 3}), wh = random.tensor({8, 2}),
               b = random.tensor({8});
  const Lstm whole = lstm(x, wi, wh, {.hidden_bias = b});
  const Lstm first = lstm(slice(x, {range(0, 2)}), wi, wh, {.hidden_bias = b});
  const Lstm rest = lstm(slice(x, {range(2, 5)}), wi, wh, {.hidden_bias = b, .state = first.state, .cell = first.cell});
  CHECK(same_bits(whole.output, concatenate({first.output, rest.output})));
  CHECK(same_bits(whole.state, rest.state));
  CHECK(same_bits(whole.cell, rest.cell));
  CHECK(same_bits(whole.state, contiguous(slice(whole.output, {4}))));
  const Tensor wi3 = slice(wi, {range(0, 6)}), wh3 = slice(wh, {range(0, 6)});
  const Gru all = gru(x, wi3, wh3), head = gru(slice(x, {range(0, 2)}), wi3, wh3),
            tail = gru(slice(x, {range(2, 5)}), wi3, wh3, {.state = head.state});
  CHECK(same_bits(all.output, concatenate({head.output, tail.output})));
  CHECK(same_bits(all.state, tail.state));

  const Tensor h = random.tensor({2, 2}), c = random.tensor({2, 2});
  const Lstm no_steps = lstm(zeros({0, 2, 3}), wi, wh, {.state = h, .cell = c});
  CHECK(no_steps.output.shape() == Shape{0, 2, 2});
  CHECK(same_bits(no_steps.state, h));
  CHECK(same_bits(no_steps.cell, c));
  CHECK(same_bits(gru(zeros({0, 2, 3}), wi3, wh3, {.state = h}).state, h));
  const auto of_nothing = [&](const Tensor& w) { return lstm(zeros({0, 2, 3}), w, wh, {.state = h}).output; };
  CHECK(gradient_at(of_nothing, wi).to_vector() == Doubles(24));
  const auto by_bias = [&](const Tensor& w) { return lstm(zeros({0, 2, 3}), wi, wh, {.input_bias = w}).output; };
  CHECK(gradient_at(by_bias, ones({8})).to_vector() == Doubles(8));
  CHECK(lstm(zeros({3, 0, 3}), wi, wh).output.shape() == Shape{3, 0, 2});
  CHECK(gradient_at(
            [&](const Tensor& w) {
              return gru(zeros({3, 0, 3}), w, wh3).output;
            },
            wi3)
            .to_vector() == Doubles(18));

  // One of the results alone.
  for (int which = 0; which < 3; ++which) {
    const auto one = [&](const Tensors& t) {
      const Lstm y = lstm(t[0], t[1], t[2]);
      return Tensors{which == 0 ? y.output : which == 1 ? y.state : y.cell};
    };
    const Tensors operands = {x, wi, wh}, t = random.like(operands), v = random.like(one(operands));
    const Dot forward = inner(push(one, operands, t), v), back = inner(t, pull(one, operands, v));
    CHECK(std::abs(static_cast<double>(forward.value - back.value)) < 1e-13);
  }

  const Tensor long_x = cast(random.tensor({4, 300, 64}), DType::float32),
               w = cast(random.tensor({256, 64}), DType::float32);
  const auto everything = [&] {
    GradientTape tape;
    tape.watch(w);
    const Tensor y = lstm(long_x, w, w).output,
                 z = gru(long_x, slice(w, {range(0, 192)}), slice(w, {range(0, 192)})).output;
    return Tensors{y, z, *tape.gradient(sum(square(y)) + sum(square(z)), w)};
  };
  const int before = num_threads();
  set_num_threads(1);
  const Tensors one = everything();
  set_num_threads(3);
  const Tensors three = everything();
  set_num_threads(before);
  for (std::size_t k = 0; k < 3; ++k) CHECK(same_bits(one[k], three[k]));

  CHECK(lstm(cast(x, DType::float16), wi, wh).cell.dtype() == DType::float64);
  CHECK(gru(cast(x, DType::float16), cast(wi3, DType::float16), cast(wh3, DType::float16)).state.dtype() ==
        DType::float16);
  CHECK_THROWS_WITH(lstm(ones({2, 3}), wi, wh),
                    Catch::Contains("lstm: x has shape [2, 3]; it must be [steps, batch, inputs]"));
  CHECK_THROWS_WITH(lstm(x, wi, wh3), Catch::Contains("hidden_weight has shape [6, 2]; it must be [4 H, H]"));
  CHECK_THROWS_WITH(gru(x, wi, wh3), Catch::Contains("gru: input_weight has shape [8, 3]; it must be [6, 3]"));
  CHECK_THROWS_WITH(lstm(x, wi, wh, {.input_bias = ones({2})}),
                    Catch::Contains("input_bias has shape [2]; it must be [8]"));
  CHECK_THROWS_AS(lstm(x, wi, wh, {.state = ones({1, 2})}), ShapeError);
  CHECK_THROWS_AS(lstm(x, wi, wh, {.cell = ones({2, 2}, DType::complex64)}), TypeError);
  CHECK_THROWS_AS(gru(x, wi3, wh3, {.cell = ones({2, 2})}), ValueError);
}

TEST_CASE("ctc_loss: targets that cannot be aligned, ends of the range, errors") {
  const auto ints = [](const std::vector<std::int64_t>& x) { return from_data(x); };
  const Tensor x = log_softmax(tensor({{{1, 2, 3}, {0, 1, 0}}, {{0.5, 0, 1}, {2, 0, 1}}, {{1, 1, 0}, {0, 0, 1}}}));
  const Tensor targets = from_data(std::vector<std::int64_t>{1, 1, 2, 0}, {2, 2});
  const auto loss = [&](const Tensor& t, const std::vector<std::int64_t>& steps,
                        const std::vector<std::int64_t>& labels,
                        bool zero) { return ctc_loss(t, targets, ints(steps), ints(labels), {.zero_infinity = zero}); };
  // Two equal labels take three steps.
  CHECK(loss(x, {2, 3}, {2, 1}, false).to_vector()[0] == inf);
  CHECK(loss(x, {2, 3}, {2, 1}, true).to_vector()[0] == 0);
  CHECK(loss(x, {0, 0}, {0, 1}, false).to_vector() == Doubles{0, inf});
  for (const bool zero : {false, true}) {
    const auto f = [&](const Tensor& t) { return loss(t, {2, 3}, {2, 1}, zero); };
    const Doubles d = slope_at(f, x);
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t c = 0; c < 3; ++c) CHECK(d[t * 6 + c] == 0);
    const auto slope = [&](const Tensor& t) { return gradient_at(f, t); };
    CHECK(difference({slope(x)}, {gradient_of([&](const Tensors& t) { return Tensors{f(t[0])}; }, {ones({2})})({x})[0]})
              .error == 0);
    const auto squares = [&](const Tensor& t) {
      GradientTape tape;
      tape.watch(t);
      return sum(square(*tape.gradient(f(t), t)));
    };
    for (const double v : slope_at(squares, x)) CHECK(std::isfinite(v));
  }
  // A class of probability 0.
  const Tensor certain = tensor({{{-inf, 0, -inf}}, {{0, -inf, -inf}}});
  const auto one = [&](const Tensor& t) { return ctc_loss(t, reshape(ints({1}), {1, 1}), ints({2}), ints({1})); };
  CHECK(one(certain).to_vector() == Doubles{0});
  CHECK(slope_at(one, certain) == Doubles{0, -1, 0, -1, 0, 0});
  CHECK(std::isnan(one(certain * qnan).to_vector()[0]));
  // Paths of probability e^-2000, e^-2000 and e^-4000.
  const Tensor rare = tensor({{{0, -2000}}, {{0, -2000}}});
  CHECK(one(rare).item() == 2000 - std::log(2.0));
  for (const double v : slope_at(one, rare)) CHECK(std::abs(v + 0.5) < 1e-12);  // logarithms are rounded at 2000
  // Steps behind the length are not read.
  CHECK(slope_at([&](const Tensor& t) { return loss(t, {3, 1}, {1, 1}, false); }, x)[9] == 0);
  // Long and certain: no underflow. float32 is computed in float64.
  const Tensor far = full({2000, 1, 5}, -50.0), label = reshape(ints({3}), {1, 1});
  const double expected = 2000 * 50 - std::log(2000. * 2001 / 2);  // blanks, then the label, then blanks
  CHECK(std::abs(ctc_loss(far, label, ints({2000}), ints({1})).item() - expected) < 1e-9);
  CHECK(ctc_loss(cast(far, DType::float32), label, ints({2000}), ints({1})).item() == static_cast<float>(expected));
  CHECK(ctc_loss(zeros({0, 2, 3}), targets, ints({0, 0}), ints({0, 0})).to_vector() == Doubles{0, 0});
  CHECK(ctc_loss(zeros({3, 0, 3}), zeros({0, 2}, DType::int64), zeros({0}, DType::int64), zeros({0}, DType::int64))
            .shape() == Shape{0});
  {
    GradientTape tape;
    tape.watch(x);
    static_cast<void>(loss(x, {3, 3}, {1, 1}, false));
    CHECK(tape.stats().entries == 1);
  }
  CHECK(ctc_loss(cast(x, DType::int32), targets, ints({3, 3}), ints({1, 1})).dtype() == DType::float64);
  CHECK_THROWS_WITH(loss(x, {4, 3}, {1, 1}, false), Catch::Contains("input length 4 of example 0 is out of range"));
  CHECK_THROWS_WITH(loss(x, {3, 3}, {1, -1}, false), Catch::Contains("target length -1 of example 1"));
  CHECK_THROWS_AS(loss(x, {3, 3}, {1, 2}, false), IndexError);  // label 0, the blank
  CHECK_THROWS_WITH(ctc_loss(x, full({2, 1}, 3, DType::int64), ints({3, 3}), ints({1, 1})), Catch::Contains("label 3"));
  CHECK_THROWS_AS(ctc_loss(x, targets, ints({3, 3}), ints({1, 1}), {.blank = 3}), ValueError);
  CHECK_THROWS_AS(ctc_loss(x, ones({2, 2}), ints({3, 3}), ints({1, 1})), TypeError);
  CHECK_THROWS_AS(ctc_loss(x, ints({1, 2}), ints({3, 3}), ints({1, 1})), ShapeError);
  CHECK_THROWS_AS(ctc_loss(x, targets, ints({3}), ints({1, 1})), ShapeError);
  CHECK_THROWS_AS(ctc_loss(zeros({2, 3}), targets, ints({3, 3}), ints({1, 1})), ShapeError);
}

TEST_CASE("attention: a mask that only an outer tape follows, and axes that values and mask alone have") {
  support::Random random("followed masks");
  const Tensor q = random.tensor({3, 4}), k = random.tensor({5, 4}), v = random.tensor({2, 5, 2}),
               mask = random.tensor({2, 3, 5}), g = random.tensor({2, 3, 2});
  // By the ops that attention is made of.
  const auto by_ops = [](const Tensors& x) {
    return Tensors{matmul(softmax(matmul(x[0], transpose(x[1])) * 0.5 + x[3], -1), x[2])};
  };
  const auto fused = [](const Tensors& x) { return Tensors{attention(x[0], x[1], x[2], {.mask = x[3]})}; };
  const auto slope_by_mask = [&](const Function& f) {
    GradientTape outer;
    outer.watch(mask);
    Tensor total = scalar(0.0);
    for (const Tensor& one : {q, k, v}) {
      GradientTape inner;
      inner.watch(one);
      const Tensor y = f({q, k, v, mask})[0];
      total = total + sum(square(*inner.gradient(y, one, {.output_gradients = g})));
    }
    return *outer.gradient(total, mask);
  };
  CHECK(difference({slope_by_mask(fused)}, {slope_by_mask(by_ops)}).error < 1e-13);
  const Tensors x{q, k, v, mask}, t = random.like(x);
  CHECK(difference(fused(x), by_ops(x)).error < 1e-14);
  CHECK(difference(push(fused, x, t), push(by_ops, x, t)).error < 1e-13);
  CHECK(difference(pull(fused, x, {g}), pull(by_ops, x, {g})).error < 1e-13);
  const Function slopes = gradient_of(fused, {g}), expected = gradient_of(by_ops, {g});
  CHECK(difference(push(slopes, x, t), push(expected, x, t)).error < 1e-12);
}

TEST_CASE("attention: second derivatives where values and a boolean mask have axes that queries and keys lack") {
  support::Random random("boolean masks");
  const Tensors x{random.tensor({3, 4}), random.tensor({5, 4}), random.tensor({2, 5, 2})}, t = random.like(x);
  const Tensor mask = greater(random.tensor({2, 3, 5}), -0.5), g = random.tensor({2, 3, 2});
  const Function fused = [&](const Tensors& a) { return Tensors{attention(a[0], a[1], a[2], {.mask = mask})}; };
  const Function by_ops = [&](const Tensors& a) {
    const Tensor scores = matmul(a[0], transpose(a[1])) * 0.5;
    return Tensors{matmul(softmax(where(mask, scores, -1e300), -1), a[2])};
  };
  CHECK(difference(push(fused, x, t), push(by_ops, x, t)).error < 1e-13);
  for (const bool forward : {false, true}) {
    const Function slopes = gradient_of(fused, {g}), expected = gradient_of(by_ops, {g});
    const Tensors got = forward ? push(slopes, x, t) : pull(slopes, x, t);
    CHECK(difference(got, forward ? push(expected, x, t) : pull(expected, x, t)).error < 1e-12);
  }
}

TEST_CASE("gru: the second derivative by its output alone") {
  support::Random random("output alone");
  const Tensor wi = random.tensor({6, 3}), wh = random.tensor({6, 2}), t = random.tensor({4, 2, 3});
  const auto by_both = [&](const Tensor& x) {
    const auto [output, state] = gru(x, wi, wh);
    return sum(square(output)) + sum(state * 0);
  };
  const auto by_output = [&](const Tensor& x) { return sum(square(gru(x, wi, wh).output)); };
  CHECK(difference({hvp(by_output)(t, t)}, {hvp(by_both)(t, t)}).error < 1e-13);
}

TEST_CASE("lstm and gru: recorded derivatives of no steps have the operands' shapes") {
  const auto check = [](auto f, std::int64_t gates) {
    const Tensors x{zeros({0, 2, 3}), ones({2 * gates, 3}), ones({2 * gates, 2}), ones({2, 2})};
    GradientTape outer;
    outer.watch(x);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(square(f(x[0], x[1], x[2], RecurrentOptions{.state = x[3]}).state));
    const std::vector<Gradient> d = tape.gradient(y, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(i);
      CHECK(array_equal(d[i], i == 3 ? 2 * x[3] : zeros_like(x[i])));
    }
  };
  check([](const auto&... x) { return lstm(x...); }, 4);
  check([](const auto&... x) { return gru(x...); }, 3);
}

TEST_CASE("ctc_loss: derivatives that are recorded, of none and of one step, and of infinite cotangents") {
  const auto ints = [](const std::vector<std::int64_t>& x) { return from_data(x); };
  const Tensor targets = from_data(std::vector<std::int64_t>{1, 2}, {2, 1});
  for (const std::int64_t steps : {0, 1, 2}) {
    CAPTURE(steps);
    const Tensor x = log_softmax(reshape(arange(0.0, static_cast<double>(6 * steps)) * 0.3, {steps, 2, 3}));
    const auto f = [&](const Tensor& a) {
      return ctc_loss(a, targets, ints({steps, steps}), ints({std::min<std::int64_t>(steps, 1), 0}));
    };
    Tensor recorded;
    {
      GradientTape outer;
      outer.watch(x);
      recorded = gradient_at(f, x);
    }
    CHECK(recorded.shape() == x.shape());
    CHECK(difference({recorded}, {gradient_at(f, x)}).error < 1e-15);
  }
  // Two labels in one step cannot be: a loss of infinity, whose derivative is 0 for every cotangent.
  const Tensor x = log_softmax(tensor({{{1, 2, 3}, {0, 1, 0}}}));
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ctc_loss(x, from_data(std::vector<std::int64_t>{1, 2, 1, 2}, {2, 2}), ints({1, 1}), ints({2, 1}));
  const Tensor d = *tape.gradient(y, x, {.output_gradients = tensor({inf, 1.0})});
  CHECK(d.to_vector() == Doubles{0, 0, 0, 0, -1, 0});
}

TEST_CASE("attention and ctc_loss: derivatives of large scores are those of the same scores less a constant") {
  // Scores whose differences are exact: 2^20 and a little more in float32.
  const Tensor values = tensor({{1}, {2}, {4}}), near = tensor({{0}, {1}, {-2}});
  const auto f = [](const Tensor& k, const Tensor& v) {
    return sum(attention(ones({2, 1}, k.dtype()), k, v, {.scale = 1.}) * cast(tensor({{1}, {-3}}), k.dtype()));
  };
  for (const DType d : {DType::float64, DType::float32}) {
    const double at = d == DType::float64 ? 0x1p49 : 0x1p20, eps = d == DType::float64 ? 1e-14 : 1e-5;
    const Tensor k = cast(near + at, d), v = cast(values, d);
    const auto of_keys = [&](const Tensor& t) { return f(t, v); };
    const auto of_near = [&](const Tensor& t) { return f(t, values); };
    CHECK(largest(cast(grad(of_keys)(k), DType::float64) - grad(of_near)(near)) < eps);
    CHECK(largest(cast(hvp(of_keys)(k, v), DType::float64) - hvp(of_near)(near, values)) < eps);
    CHECK(largest(cast(grad([&](const Tensor& t) { return f(k, t); })(v), DType::float64) -
                  grad([&](const Tensor& t) { return f(near, t); })(values)) < eps);
  }
  const Tensor logits = sin(reshape(arange(0., 60.), {6, 2, 5})), labels = tensor<std::int64_t>({{1, 2}, {3, 3}});
  const auto loss = [&](const Tensor& t) {
    return sum(ctc_loss(t, labels, tensor<std::int64_t>({6, 5}), tensor<std::int64_t>({2, 2})));
  };
  for (const DType d : {DType::float64, DType::float32}) {
    // Multiples of 1/8 beside 2^20, or 2^45.
    const double at = d == DType::float64 ? 0x1p45 : 0x1p20, eps = d == DType::float64 ? 1e-13 : 1e-5;
    const Tensor x = cast(round(8 * logits) / 8 + at, d), same = cast(x, DType::float64) - at, g = grad(loss)(x);
    CHECK(largest(cast(g, DType::float64) - grad(loss)(same)) < eps);
    CHECK(largest(cast(sum(g, {1, 2}), DType::float64) + tensor({2, 2, 2, 2, 2, 1})) < 10 * eps);
    CHECK(largest(cast(hvp(loss)(x, cos(x)), DType::float64) - hvp(loss)(same, cast(cos(x), DType::float64))) <
          10 * eps);
  }
}
