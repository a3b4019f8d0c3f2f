// Jacobians through loops, branches and checkpoints: many rows of cotangents at once, against one row at a time.
#include <functional>
#include <reel/compile.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/scans.hpp>
#include <reel/reel.hpp>
#include <reel/switch.hpp>

#include "catch.hpp"
#include "compile/check_close.hpp"
#include "support/ramp.hpp"

using namespace reel;

namespace {

using Function = std::function<Tensor(const Tensor&)>;

Tensor row_by_row(const Function& f, const Tensor& x) {
  std::vector<Tensor> rows;
  const Tensor y = f(x);
  for (std::int64_t k = 0; k < y.size(); ++k)
    rows.push_back(grad([&](const Tensor& v) { return reshape(f(v), {-1})[k]; })(x));
  Shape shape = y.shape();
  for (const std::int64_t extent : x.shape()) shape.push_back(extent);
  return reshape(stack(rows), shape);
}

// Functions of a vector of 3, by loops with these options. Bodies own what they capture: derivatives run them again.
std::vector<Function> functions(const LoopOptions& options) {
  const Tensor w = support::ramp({3, 3}, -.6);
  const auto step = [w](const Tensor& s, const Tensor& x) { return tanh(matmul(w * x[0], s)) + x * .5; };
  return {
      [=](const Tensor& x) {
        return fori_loop(
            0, 5, [=](const Tensor&, const Tensor& s) { return step(s, x); }, x, options);
      },
      [=](const Tensor& x) {
        return std::get<1>(while_loop([](const Tensor& i, const Tensor&) { return less(i, 5); },
                                      [=](const Tensor& i, const Tensor& s) { return std::tuple(i + 1, step(s, x)); },
                                      std::tuple(scalar(std::int64_t{0}), x), options));
      },
      [=](const Tensor& x) {
        const auto [last, ys] = scan(
            [](const Tensor& s, const Tensor& v) {
              const Tensor next = sin(s) * v + s;
              return std::pair(next, next * next);
            },
            x, stack({x, x * x, x + 1., x * 2.}), options);
        return concatenate({expand_dims(last, 0), ys});
      },
      [=](const Tensor& x) {  // outputs of which some have no cotangent
        return scan([](const Tensor& s, const Tensor& v) { return std::pair(s * v, std::pair(s + v, s - v)); }, x,
                    stack({x, x * x}), options)
            .second.first;
      },
      [=](const Tensor& x) {  // a branch and a nested loop
        return fori_loop(
            0, 4,
            [=](const Tensor& i, const Tensor& s) {
              return cond(
                  less(i, 2), [=] { return step(s, x); },
                  [=] {
                    return fori_loop(
                        0, 2, [=](const Tensor&, const Tensor& t) { return sin(t * x); }, s);
                  });
            },
            x, options);
      },
      [=](const Tensor& x) {
        return fori_loop(
            0, 3,
            [=](const Tensor&, const Tensor& s) {
              return recompute_grad([=](const Tensor& t) { return step(t, t); })(s);
            },
            x, options);
      },
  };
}

constexpr LoopOptions kinds[] = {{},
                                 {.memory_budget = 1},
                                 {.memory_budget = 600},
                                 {.memory_budget = 100000},
                                 {.compiled = true},
                                 {.memory_budget = 600, .compiled = true}};

}  // namespace

TEST_CASE("Jacobians through loops are those of rows one by one, in every order", "[once]") {
  const Tensor x = support::ramp({3}, .2);
  for (const LoopOptions& options : kinds) {
    const std::vector<Function> list = functions(options);
    for (std::size_t k = 0; k < list.size(); ++k) {
      CAPTURE(options.memory_budget, options.compiled, k);
      const Function& f = list[k];
      const Function by_rows = [&](const Tensor& v) { return row_by_row(f, v); };
      check_close(jacobian(f)(x), by_rows(x));
      check_close(jacobian(jacobian(f))(x), row_by_row(by_rows, x));
      const auto total = [&](const Tensor& v) { return sum(square(f(v))); };
      check_close(hessian(total)(x), row_by_row(grad(total), x));
    }
  }
}

TEST_CASE("Jacobians of many rows through compiled loops are those of rows one by one") {
  const Tensor x = support::ramp({3}, .2);
  const std::vector<Function> plain = functions({}), with_option = functions({.compiled = true}),
                              with_budget = functions({.memory_budget = 600, .compiled = true});
  for (std::size_t k = 0; k < plain.size(); ++k)
    for (const Function& f : {Function(compile(plain[k])), with_option[k], with_budget[k]}) {
      CAPTURE(k);
      const auto many = [](const Function& g) {  // at least 15 results
        return [g](const Tensor& v) {
          const Tensor y = reshape(g(v), {-1});
          return concatenate({y, y * 2., sin(y), cos(y), y * y});
        };
      };
      const auto rows = [&](const Tensor& v) {
        GradientTape tape;
        tape.watch(v);
        const Tensor y = many(f)(v);
        return tape.jacobian(y, v).dense();
      };
      check_close(rows(x), row_by_row(many(plain[k]), x));
      check_close(grad([&](const Tensor& v) { return sum(square(rows(identity(v)))); })(x),
                  grad([&](const Tensor& v) { return sum(square(row_by_row(many(plain[k]), v))); })(x));
    }
}

TEST_CASE("forward Jacobians through loops are those of rows one by one") {
  for (const LoopOptions& options : kinds) {
    const std::vector<Function> list = functions(options);
    for (std::size_t k = 0; k < list.size(); ++k) {
      CAPTURE(options.memory_budget, options.compiled, k);
      // 12 results of one parameter: by columns.
      const Function f = [&](const Tensor& p) {
        const Tensor y = reshape(list[k](support::ramp({3}, .2) * p), {-1});
        return concatenate({y, y * p, sin(y), cos(y)});
      };
      check_close(jacobian(f)(tensor({.8})), row_by_row(f, tensor({.8})));
    }
  }
}

TEST_CASE("the rules in the body of a loop or a checkpoint run once for all rows of a Jacobian") {
  const Tensor x = support::ramp({3}, .2);
  int calls = 0;
  const auto doubled = [&](bool batched) {
    return custom_gradient(
        [&](const Tensor& v) {
          return std::pair(sin(v), [&, v](const Tensor& dy) {
            ++calls;
            return dy * cos(v);
          });
        },
        {.batched = batched});
  };
  for (const bool batched : {true, false})
    for (const LoopOptions& options : {LoopOptions{}, LoopOptions{.memory_budget = 600}}) {
      CAPTURE(batched, options.memory_budget);
      const auto f = doubled(batched);
      const auto loop = [&](const Tensor& v) {
        return fori_loop(
            0, 4, [&](const Tensor&, const Tensor& s) { return f(s); }, v, options);
      };
      calls = 0;
      const Tensor j = jacobian(loop)(x);
      CHECK(calls == (batched ? 4 : 12));
      check_close(j, row_by_row(loop, x));
      const auto again = recompute_grad([&](const Tensor& v) { return f(v); });
      calls = 0;
      check_close(jacobian(again)(x), diag(cos(x)));
      CHECK(calls == (batched ? 1 : 3));
    }
}

TEST_CASE("a Jacobian through a loop takes as many rows at once as the tensors of its body allow") {
  // 2^21 elements in the body: two rows at a time.
  const Tensor x = support::ramp({5}, .2);
  for (const LoopOptions& options : {LoopOptions{}, LoopOptions{.memory_budget = 100000000}}) {
    const auto loop = [&](const Tensor& v) {
      return fori_loop(
          0, 1, [](const Tensor&, const Tensor& s) { return s * mean(broadcast_to(sum(s * s), {1 << 21}) * 2.); }, v,
          options);
    };
    check_close(jacobian(loop)(x), row_by_row(loop, x));
  }
}

TEST_CASE("Jacobians through a loop that draws and reads a variable: all rows have the same draws") {
  const Tensor x = support::ramp({3}, .2);
  const Variable scale(support::ramp({3}, .5));
  for (const LoopOptions& options : {LoopOptions{}, LoopOptions{.memory_budget = 600}}) {
    Generator generator(7);
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = fori_loop(
        0, 5,
        [&](const Tensor&, const Tensor& s) {
          return sin(s) * scale + s * random_uniform(generator, {3}, 0, 1, s.dtype());
        },
        x, options);
    tape.stop();
    const auto of_row = [&](std::int64_t k, const auto& source) {
      return tape.gradient(y, source, {.output_gradients = one_hot(k, 3, y.dtype())}).dense();
    };
    check_close(tape.jacobian(y, x).dense(), stack({of_row(0, x), of_row(1, x), of_row(2, x)}));
    check_close(tape.jacobian(y, scale).dense(), stack({of_row(0, scale), of_row(1, scale), of_row(2, scale)}));
  }
}

TEST_CASE("Jacobians through a loop over a tensor without elements, and through one without iterations") {
  for (const std::int64_t n : {0, 3})
    for (const std::int64_t steps : {0, 2}) {
      const auto loop = [steps](const Tensor& v) {
        return fori_loop(
            0, steps, [](const Tensor&, const Tensor& s) { return s * s; }, v);
      };
      const Tensor x = full({n}, 2.);
      check_close(jacobian(loop)(x), diag(steps == 0 ? ones({n}, x.dtype()) : x * x * x * 4));
    }
}

TEST_CASE("Jacobians through a switch, a tree of combinations and recurrent networks are those of rows one by one") {
  const Tensor x = support::ramp({3}, .2), weights = support::ramp({12, 3}, .3), hidden = support::ramp({12, 3}, -.4);
  const auto chosen = [](const Tensor& index, const Tensor& v) {
    const auto first = [](const Tensor& t) { return sin(t) * t; };
    const auto second = [](const Tensor& t) { return exp(t) + sum(t); };
    return switch_case(index, std::tuple(first, second), v);
  };
  const Function functions[] = {
      [=](const Tensor& v) { return chosen(scalar(std::int64_t{1}), v) * chosen(scalar(std::int64_t{0}), v); },
      [=](const Tensor& v) {
        return fori_loop(
            0, 4, [=](const Tensor& i, const Tensor& s) { return chosen(floor_divide(i, 2), s) * .4 + s; }, v);
      },
      [](const Tensor& v) {
        return associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, outer(v, sin(v)) + 1.);
      },
      [=](const Tensor& v) {
        return lstm(reshape(outer(v, v + .5), {3, 1, 3}), weights, hidden).output;
      },
      [=](const Tensor& v) {
        return gru(reshape(outer(v, v + .5), {3, 1, 3}), weights(range(0, 9)), hidden(range(0, 9))).output;
      }};
  for (const Function& f : functions) {
    CAPTURE(&f - functions);
    check_close(jacobian(f)(x), row_by_row(f, x));
    const Function compiled = compile(f);
    check_close(jacobian(compiled)(x), row_by_row(f, x));
    const Function by_rows = [&](const Tensor& v) { return row_by_row(f, v); };
    check_close(jacobian(jacobian(f))(x), row_by_row(by_rows, x));
  }
}

TEST_CASE("Jacobians of each example through loops are blocks of the whole Jacobian") {
  const Tensor x = support::ramp({4, 3}, .2);
  for (const LoopOptions& options : kinds) {
    CAPTURE(options.memory_budget, options.compiled);
    const auto f = [&](const Tensor& v) {
      return fori_loop(
          0, 5, [](const Tensor&, const Tensor& s) { return tanh(s) * sum(s, {-1}, true) + s * .5; }, v, options);
    };
    const Tensor blocks = batch_jacobian(f)(x), whole = jacobian(f)(x);
    for (std::int64_t k = 0; k < 4; ++k) check_close(blocks[k], whole(k, all, k));
  }
}
