// generate_c: loops and branches are kept as loops and branches of C, with their gradients.
#include <reel/codegen.hpp>
#include <reel/control.hpp>
#include <reel/functions.hpp>
#include <reel/nn.hpp>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/generated_c.hpp"

using namespace reel;
using support::Tensors;

namespace {

struct Case {
  const char* name;
  Tensors (*function)(const Tensors& x);
  Tensors inputs;
};

Tensor scalar_of(double x) { return scalar(x); }
Tensor wave(const Shape& s) { return reshape(sin(1.3 * arange(s.elements()) + 0.4), s); }

// A planar quadrotor by scan.
Tensor rollout(const Tensor& thrusts) {
  const auto step = [](const std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>& s, const Tensor& u) {
    const auto& [x, z, angle, vx, vz, spin, cost] = s;
    const Tensor left = u(0), right = u(1), thrust = left + right;
    const Tensor vx1 = vx - 0.02 * (thrust * sin(angle)), vz1 = vz + 0.02 * (thrust * cos(angle) - 9.81);
    const Tensor spin1 = spin + 0.02 * (4. * (left - right)), x1 = x + 0.02 * vx1, z1 = z + 0.02 * vz1;
    const Tensor angle1 = angle + 0.02 * spin1;
    return std::pair(
        std::tuple(x1, z1, angle1, vx1, vz1, spin1, cost + square(x1 - 1.) + square(z1 - 1.) + 0.1 * square(angle1)),
        x1);
  };
  const Tensor o = scalar_of(0);
  const auto [last, path] = scan(step, std::tuple(o, o, o, o, o, o, o), thrusts, {.compiled = true});
  return std::get<6>(last) + 0.01 * sum(path);
}

// Rows of a matrix in turn, with a matrix that all steps read.
Tensor recurrent(const Tensor& rows, const Tensor& weights) {
  const auto step = [weights](const Tensor& h, const Tensor& x) {
    const Tensor next = tanh(matmul(h, weights) + x);
    return std::pair(next, sum(square(next)));
  };
  const auto [last, costs] = scan(step, zeros({3}, DType::float64), rows, {.compiled = true});
  return sum(last) + sum(costs);
}

// Newton's method for the square root: a loop of unknown length.
Tensor root(const Tensor& x) {
  return while_loop([x](const Tensor& y) { return greater(abs(square(y) - x), 1e-13); },
                    [x](const Tensor& y) { return 0.5 * (y + x / y); }, x, {.max_iterations = 50});
}

// Two variables that change places.
Tensor swapping(const Tensor& x) {
  const auto step = [](const Tensor&, const std::pair<Tensor, Tensor>& s) {
    return std::pair(s.second, s.first + 0.5 * sin(s.second));
  };
  const auto last = fori_loop(0, 7, step, std::pair(x, 2. * x), {.compiled = true});
  return sum(last.first * last.second);
}

Tensor branch(const Tensor& x) {
  return cond(
      greater(sum(x), 0.), [](const Tensor& y) { return sum(exp(y) * y); }, [](const Tensor& y) { return sum(sin(y)); },
      x);
}

Tensor nested(const Tensor& x) {
  const auto outer = [](const Tensor& s, const Tensor& row) {
    const auto inner = [row](const Tensor& v) { return 0.9 * v + 0.1 * tanh(row * v); };
    const Tensor y = while_loop([](const Tensor& v) { return greater(sum(square(v)), 0.5); }, inner, s + row,
                                {.max_iterations = 40});
    return std::pair(y, sum(y));
  };
  const auto [last, sums] = scan(outer, zeros({2}, DType::float64), x, {.compiled = true});
  return sum(sums) + sum(square(last));
}

// Under a budget that a tenth of the steps fill: some are computed again.
Tensor budgeted(const Tensor& rows, const Tensor& weights) {
  const auto step = [weights](const Tensor& h, const Tensor& x) {
    const Tensor next = tanh(matmul(h, weights) + x);
    return std::pair(next, sum(square(next)));
  };
  const auto [last, costs] = scan(step, zeros({3}, DType::float64), rows, {.memory_budget = 500, .compiled = true});
  return sum(last) + sum(costs);
}
Tensor budgeted_root(const Tensor& x) {
  return while_loop([x](const Tensor& y) { return greater(abs(square(y) - x), 1e-13); },
                    [x](const Tensor& y) { return 0.5 * (y + x / y); }, x,
                    {.memory_budget = 100, .max_iterations = 50});
}
Tensor budgeted_nest(const Tensor& x) {
  const auto outer = [x](const Tensor& i, const Tensor& s) {
    const auto inner = [x](const Tensor&, const Tensor& v) { return 0.9 * v + 0.1 * tanh(x * v); };
    return fori_loop(0, 5, inner, s + cast(i, DType::float64), {.memory_budget = 60, .compiled = true});
  };
  return sum(fori_loop(3, 20, outer, x, {.memory_budget = 200, .compiled = true}));
}

// More statements than a function of C has.
Tensor long_chain(const Tensor& x) {
  Tensor y = x;
  for (int k = 0; k < 260; ++k) y = 1.01 * sin(y);
  return y;
}

std::vector<Case> all_cases() {
  const Tensor u = 5. + 0.1 * wave({50, 2});
  return {
      {"scan of scalars", [](const Tensors& x) { return Tensors{rollout(x[0])}; }, {u}},
      {"scan of scalars, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(rollout)(x[0]);
         return Tensors{y, g};
       },
       {u}},
      {"scan with weights, gradients",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad<0, 1>(recurrent)(x[0], x[1]);
         return Tensors{y, std::get<0>(g), std::get<1>(g)};
       },
       {wave({6, 3}), wave({3, 3})}},
      {"while_loop, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(root)(x[0]);
         return Tensors{y, g};
       },
       {scalar_of(2.5)}},
      {"fori_loop that swaps, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(swapping)(x[0]);
         return Tensors{y, g};
       },
       {wave({4})}},
      {"cond, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(branch)(x[0]);
         auto [z, h] = value_and_grad(branch)(-x[0]);
         return Tensors{y, g, z, h};
       },
       {wave({3})}},
      {"branches and checkpoints with broadcast cotangents and transposed operands",
       [](const Tensors& x) {
         const auto f = [](const Tensor& y) {
           const Tensor a = cond(
               greater(sum(y), 0.), [](const Tensor& z) { return square(z) * sin(z); },
               [](const Tensor& z) { return 2. * z; }, transpose(y));
           return sum(a) * y(0, 1) + sum(recompute_grad([](const Tensor& z) { return z * cos(z); })(transpose(y)));
         };
         auto [y, g] = value_and_grad(f)(x[0]);
         return Tensors{y, g};
       },
       {wave({2, 3})}},
      {"while_loop in scan, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(nested)(x[0]);
         return Tensors{y, g};
       },
       {wave({5, 2})}},
      {"scan under a memory budget, gradients",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad<0, 1>(budgeted)(x[0], x[1]);
         return Tensors{y, std::get<0>(g), std::get<1>(g)};
       },
       {wave({61, 3}), wave({3, 3})}},
      {"while_loop under a memory budget, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(budgeted_root)(x[0]);
         return Tensors{y, g};
       },
       {scalar_of(2.5)}},
      {"fori_loop in fori_loop under memory budgets, gradient",
       [](const Tensors& x) {
         auto [y, g] = value_and_grad(budgeted_nest)(x[0]);
         return Tensors{y, g};
       },
       {wave({4})}},
      {"loops, branches and checkpoints on views",
       [](const Tensors& x) {
         const auto f = [](const Tensor& m) {
           const Tensor across = diagonal(m), back = flip(m(0), {0}), turned = transpose(m);
           const auto body = [](const Tensor& v) { return square(v) + 0.1 * v; };
           const auto step = [&](const Tensor& s, const Tensor& row) { return std::pair(s * 0.5 + row, sum(row * s)); };
           const auto [last, sums] = scan(step, back, turned, {.compiled = true});
           const Tensor some = cond(greater(sum(across), -100.), body, body, across);
           const Tensor kept = recompute_grad(body)(back);
           const Tensor looped = fori_loop(
               0, 3, [](const Tensor&, const Tensor& v) { return sin(v); }, across);
           return sum(last) + sum(sums) + sum(some * some) + sum(kept * across) + sum(looped * back);
         };
         auto [y, g] = value_and_grad(f)(x[0]);
         return Tensors{y, g};
       },
       {wave({3, 3})}},
      {"branches, checkpoints and loops that capture parts of a matrix with gaps",
       [](const Tensors& x) {
         const auto f = [](const Tensor& m) {
           const Tensor all = tanh(m), even = all(ellipsis, range_from(0, 2)),
                        odd = all(range_from(-1, -1), range_from(1, 2));
           const auto use = [even, odd](const Tensor& z) { return z * 0.5 + sin(even) * odd + even[0]; };
           const Tensor a = cond(
               greater(sum(m), 0.), use, [odd](const Tensor& z) { return z * odd; }, even);
           const Tensor b = fori_loop(0, 2, [use](const Tensor&, const Tensor& z) { return recompute_grad(use)(z); },
                                      odd, {.compiled = true});
           return sum(a * b);
         };
         auto [y, g] = value_and_grad(f)(x[0]);
         return Tensors{y, g};
       },
       {wave({3, 4})}},
      {"a number that the last of several functions computes, twice a result",
       [](const Tensors& x) {
         const Tensor y = long_chain(x[0]);
         return Tensors{y, y, reshape(y, {1})};
       },
       {scalar_of(0.7)}},
      {"a number that the last of several functions of a body computes",
       [](const Tensors& x) {
         return Tensors{
             fori_loop(0, 3, [](const Tensor&, const Tensor& y) { return long_chain(y); }, x[0], {.compiled = true})};
       },
       {scalar_of(0.7)}},
      {"Hessian-vector product of a scan",
       [](const Tensors& x) {
         return Tensors{grad([&](const Tensor& v) { return sum(grad(rollout)(v) * x[1]); })(x[0])};
       },
       {u, wave({50, 2})}},
      {"Hessians of scans",
       [](const Tensors& x) {
         const auto by_weights = [](const Tensor& w) { return recurrent(wave({4, 3}), w); };
         return Tensors{hessian(rollout)(x[0]), hessian(by_weights)(x[1])};
       },
       {wave({20, 2}), 0.3 * wave({3, 3})}},
      {"Hessians of a while_loop and of a recurrent layer",
       [](const Tensors& x) {
         const auto roots = [](const Tensor& v) { return sum(square(root(v(0)))) * v(1); };
         const auto layer = [](const Tensor& w) { return sum(square(gru(wave({20, 1, 2}), w, wave({6, 2})).state)); };
         return Tensors{hessian(roots)(x[0]), hessian(layer)(x[1])};
       },
       {tensor({2., 3.}), wave({6, 2})}},
  };
}

}  // namespace

TEST_CASE("generate_c: loops and branches, with gradients") {
  support::GeneratedC file;
  const std::vector<Case> cases = all_cases();
  std::vector<Tensors> right;
  for (const Case& c : cases) {
    INFO(c.name);
    right.push_back(c.function(c.inputs));
    const auto f = [&](const std::vector<Tensor>& x) { return c.function(x); };
    const CSource source = generate_c(f, {.name = file.next_name()}, c.inputs);
    file.add(source, c.inputs, right.back());
    CHECK(source.stats().statements < 700);  // loops are kept
  }
  const std::string said = file.load("gcc -O1 -std=c99 -pedantic -Wall -Wextra -Wconversion -Werror");
  INFO(said.substr(0, 4000));
  REQUIRE(said.empty());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    int status = 0;
    const Tensors got = file.call(k, cases[k].inputs, status);
    INFO(cases[k].name);
    CHECK(status == 0);
    for (std::size_t r = 0; r < got.size(); ++r) {
      INFO("result " << r << ": " << got[r] << "\nright: " << right[k][r]);
      CHECK(allclose(got[r], right[k][r], {.rtol = 1e-12, .atol = 1e-12}));
    }
  }
}

TEST_CASE("generate_c: a memory budget bounds the workspace") {
  const auto bytes = [](std::int64_t budget) {
    const auto cost = [budget](const Tensor& x) {
      const auto step = [](const Tensor&, const Tensor& s) { return sin(s) * s; };
      return sum(fori_loop(0, 1000, step, x, {.memory_budget = budget, .compiled = true}));
    };
    return generate_c(grad(cost), {.name = "f"}, wave({10})).stats().workspace_bytes;
  };
  CHECK(bytes(0) > 2 * 80 * 1000);
  CHECK(bytes(1 << 20) == bytes(0));
  CHECK(bytes(10000) < 80 * 2 * 64);  // twice the root of 1000 states and records
}

TEST_CASE("generate_c: the gradient of a loop of unknown length needs max_iterations") {
  const auto halve = [](const Tensor& x) {
    return while_loop([](const Tensor& y) { return greater(y, 1.); }, [](const Tensor& y) { return 0.5 * y; }, x);
  };
  CHECK_NOTHROW(generate_c(halve, {.name = "f"}, scalar(9.)));
  CHECK_THROWS_WITH(generate_c(grad(halve), {.name = "f"}, scalar(9.)), Catch::Contains("set max_iterations"));
}

TEST_CASE("generate_c: the gradient of a loop with constant bounds whose body assigns a variable") {
  const Variable count(scalar(0.));
  const auto f = [count](const Tensor& x) {
    const auto step = [own = count](const Tensor&, const Tensor& s) mutable {
      own.assign(own + 1.);
      return sin(s) * s;
    };
    return fori_loop(0, 3, step, x);
  };
  CHECK_NOTHROW(generate_c(grad(f), {.name = "f"}, scalar(0.9)));
}

TEST_CASE("generate_c: a loop whose gradient keeps complex numbers is refused by name") {
  const auto f = [](const Tensor& x) {
    const auto step = [](const Tensor& c, const Tensor& row) {
      const Tensor y = real(exp(make_complex(row * (1. + c), cos(row))));
      return std::pair(c * 0.9 + mean(tanh(y)), y);
    };
    const auto [last, rows] = scan(step, scalar(0.5), x * wave({30, 40}), {.compiled = true});
    return last + sum(rows);
  };
  CHECK_THROWS_WITH(generate_c(grad(f), {.name = "f"}, wave({30, 40})), Catch::Contains("make_complex"));
}
