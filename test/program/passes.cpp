// Passes over programs, each alone, and the memory that runs are planned to take.
#include "program/passes/passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <thread>

#include "catch.hpp"
#include "traced.hpp"

using namespace reel;
using program::Program;
using support::names, support::same_bits, support::Tensors, support::traced;

namespace {

using Function = support::TensorsFunction;

void check_results(const Program& program, Function f, const Tensors& x) {
  support::check_run(program::Executable(program), f, x);
}

using Names = std::vector<std::string>;
const Tensors row{linspace(-1, 2, 7), linspace(3, 4, 7)};
const Tensor constant = linspace(0, 1, 7);

}  // namespace

TEST_CASE("programs: unused instructions are removed") {
  const Function f = [](const Tensors& x) {
    const Tensor unused = exp(x[0]) * 2.;
    return Tensors{x[0] + x[1]};
  };
  Program program = traced(f, row);
  CHECK(program.instructions.size() == 3);
  program::drop_unused(program);
  CHECK(names(program) == Names{"add"});
  check_results(program, f, row);
}

TEST_CASE("programs: instructions that may throw are kept") {
  const Function f = [](const Tensors& x) {
    const Tensor unused = gather(x[0], cast(x[1], DType::int64)) * 2.;
    return Tensors{x[0] + x[1]};
  };
  Program program = traced(f, row);
  program::optimize(program);
  const program::Executable executable(program);
  Tensors results(1);
  executable.run(Tensors{row[0], zeros({7})}, results);
  CHECK(same_bits(results[0], row[0] + zeros({7})));
  CHECK_THROWS_AS(executable.run(Tensors{row[0], full({7}, 7.)}, results), IndexError);
}

TEST_CASE("programs: an unused cast is kept if it may throw; equal casts are merged") {
  for (int from = 0; from < 10; ++from)
    for (int to = 0; to < 10; ++to) {
      INFO(name(static_cast<DType>(from)) << " to " << name(static_cast<DType>(to)));
      // The least number of each type, or NaN, which casts to some integer types refuse.
      const Tensor least = cast(is_differentiable(static_cast<DType>(from)) ? scalar(std::nan("")) : scalar(INT64_MIN),
                                static_cast<DType>(from));
      bool throws = false;
      try {
        cast(least, static_cast<DType>(to));
      } catch (const ValueError&) {
        throws = true;
      }
      program::Trace trace("test");
      const Tensor x = trace.argument(least);
      if (from != to) cast(x, static_cast<DType>(to));
      Program program = trace.finish(Tensors{x});
      program::drop_unused(program);
      CHECK(names(program) == (throws ? Names{"cast"} : Names{}));
    }
  const Function f = [](const Tensors& x) { return Tensors{cast(x[0], DType::float32) * cast(x[0], DType::float32)}; };
  Program program = traced(f, row);
  program::share_equal(program);
  program::drop_unused(program);
  CHECK(names(program) == Names{"cast", "multiply"});
  check_results(program, f, row);
}

TEST_CASE("programs: equal expressions are merged, different ones are not") {
  const Function f = [](const Tensors& x) {
    const Tensor a = x[0] * x[1], b = x[0] * x[1];
    return Tensors{exp(a) + exp(b), sum(x[0], 0) + sum(x[0], 0, true), reshape(a, {1, 7}) - reshape(b, {1, 7}),
                   x[1] * x[0]};
  };
  Program program = traced(f, row);
  program::share_equal(program);
  program::drop_unused(program);
  CHECK(names(program) == Names{"multiply", "exp", "add", "sum", "sum", "add", "subtract", "multiply"});
  check_results(program, f, row);
}

TEST_CASE("programs: equal constants are merged") {
  const Function f = [](const Tensors& x) { return Tensors{x[0] * 2. + x[0] * 2., x[0] * -0. + x[0] * 0.}; };
  Program program = traced(f, row);
  program::share_equal(program);
  program::drop_unused(program);
  CHECK(names(program) == Names{"multiply", "add", "multiply", "multiply", "add"});
  check_results(program, f, row);
}

TEST_CASE("programs: expressions of constants are folded unless they throw") {
  const Function f = [](const Tensors& x) {
    return Tensors{x[0] * (exp(scalar(2.)) + 1.), reshape(ones({7}) * 3., {7, 1}) * x[0]};
  };
  Program program = traced(f, row);
  program::fold_constants(program);
  CHECK(names(program) == Names{"multiply", "multiply"});
  check_results(program, f, row);
  Program failing = traced(
      [](const Tensors& x) { return Tensors{x[0] + cast(floor_divide(scalar(1), scalar(0)), DType::float64)}; }, row);
  program::fold_constants(failing);
  CHECK(names(failing).front() == "floor_divide");
  Tensors results(1);
  CHECK_THROWS_AS(program::Executable(failing).run(row, results), ValueError);
  Program large = traced([](const Tensors& x) { return Tensors{zeros({3000}) + 1. + x[0][0]}; }, row);
  const std::size_t before = large.instructions.size();
  program::fold_constants(large);
  CHECK(large.instructions.size() == before);
}

TEST_CASE("programs: a sum of zero-padded parts becomes one instruction") {
  const auto gradient = [](const Tensors& x) {
    GradientTape tape;
    tape.watch(x[0]);
    const Tensor y =
        sum(slice(x[0], {range(0, 5)}) * slice(x[0], {range(1, 6)})) + sum(square(slice(x[0], {range(2, 7)})));
    return Tensors{*tape.gradient(y, x[0])};
  };
  const auto by_columns = [](const Tensors& x) {
    const Tensor m = reshape(concatenate({x[0], x[1]}), {2, 7});
    GradientTape tape;
    tape.watch(m);
    return Tensors{*tape.gradient(sum(exp(slice(m, {all, range(0, 7, 2)}))) + sum(sin(slice(m, {1}))), m)};
  };
  for (const Function f : {Function(gradient), Function(by_columns)}) {
    Program p = traced(f, row);
    const auto count = [&](const char* name) {
      const Names list = names(p);
      return std::count(list.begin(), list.end(), name);
    };
    REQUIRE(count("place") > 1);
    const auto sums = count("add"), places = count("place");
    program::join_places(p);
    CHECK(count("place") == 1);
    CHECK(count("add") == sums - places + 1);
    check_results(p, f, row);
  }
  // Not merged if a part has another reader or the sum has another term.
  const auto other = [](const Tensors& x) {
    GradientTape tape({.persistent = true});
    tape.watch(x[0]);
    const Tensor a = sum(exp(slice(x[0], {range(0, 3)}))), b = sum(exp(slice(x[0], {range(2, 7)}))),
                 c = sum(square(x[0]));
    return Tensors{*tape.gradient(a, x[0]), *tape.gradient(a + b, x[0]), *tape.gradient(a + c, x[0])};
  };
  Program p = traced(other, row);
  program::share_equal(p);
  program::join_places(p);
  check_results(p, other, row);
}

TEST_CASE("programs: pointwise neighbours of one shape are fused") {
  const Function f = [](const Tensors& x) { return Tensors{exp(x[0] * x[1]) - sin(x[1]) / 3.}; };
  Program program = traced(f, row);
  CHECK(program.instructions.size() == 5);
  program::fuse_pointwise(program);
  CHECK(names(program) == Names{"fused"});
  check_results(program, f, row);
}

TEST_CASE("programs: a value with other readers is an output of the fused pass and precedes them") {
  const Function f = [](const Tensors& x) {
    const Tensor a = x[0] * x[1], total = sum(a);  // total closes the pass that computes a
    const Tensor b = a + total, c = exp(b) * a;
    return Tensors{c, a, broadcast_to(total, {3})};
  };
  Program program = traced(f, row);
  program::fuse_pointwise(program);
  CHECK(names(program) == Names{"multiply", "sum", "fused"});
  check_results(program, f, row);
}

TEST_CASE("programs: a large sum is fused with its terms and keeps its bits") {
  const Function total = [](const Tensors& x) { return Tensors{sum(sin(x[0]) * x[1] + .25), exp(x[0]) * x[1]}; };
  const Function average = [](const Tensors& x) { return Tensors{sqrt(mean(square(x[0] - x[1])))}; };
  const Function many = [](const Tensors& x) {  // so many registers that blocks are short
    Tensors live;
    for (int i = 0; i < 28; ++i) live.push_back(x[0] * (i + 1.));
    Tensor y = live[0];
    for (const Tensor& z : live) y = y + z;
    return Tensors{sum(y, {0, 1}, true), sum(square(x[1]))};
  };
  const auto check = [](Function f, const Tensors& x, std::size_t passes) {
    Program program = traced(f, x);
    const std::size_t before = program.instructions.size();
    program::fuse_pointwise(program);
    CHECK(program.instructions.size() == passes);
    CHECK(before > passes);
    const int usual = num_threads();
    for (const int threads : {1, 2}) {
      set_num_threads(threads);
      check_results(program, f, x);
    }
    set_num_threads(usual);
  };
  const auto noise = [](const Shape& shape, DType d) {
    Generator g(17);
    return random_normal(g, shape, 0., 1., d);
  };
  for (const DType d : {DType::float32, DType::float64})
    for (const Shape& shape :
         {Shape{1, 65537}, Shape{300, 401}, Shape{512, 256}, Shape{2, 300000}, Shape{1100, 1000}}) {
      const Tensor x = noise(shape, d), y = noise(shape, d) * 3.f;
      const std::int64_t rows = shape[0], columns = shape[1];
      check(total, {x, y}, 1);
      check(average, {x, y}, 2);  // the other divides, and takes the root
      check(many, {x, y}, 1);
      check(total, {x, noise({columns}, d)}, 1);
      check(total, {x, noise({rows, 1}, d)}, 1);
      check(average, {transpose(noise({columns, rows}, d)), y}, 2);
      check(total, {slice(noise({rows, 2 * columns}, d), {all, range(0, columns)}), y}, 1);
    }
}

TEST_CASE("programs: small sums, sums over some axes and sums of terms with other readers are not fused") {
  const Tensor x = linspace(-1, 2, 70000), y = linspace(3, 4, 70000);
  const auto check = [&](Function f, const Tensors& at, const Names& passes) {
    Program program = traced(f, at);
    program::fuse_pointwise(program);
    CHECK(names(program) == passes);
    check_results(program, f, at);
  };
  check([](const Tensors& z) { return Tensors{sum(exp(z[0]) * z[1])}; }, row, {"fused", "sum"});
  check([](const Tensors& z) { return Tensors{mean(exp(z[0]) * z[1])}; }, row, {"fused", "mean"});
  check([](const Tensors& z) { return Tensors{sum(exp(z[0]) * z[1], {0})}; },
        {reshape(x, {70, 1000}), reshape(y, {70, 1000})}, {"fused", "sum"});
  check(
      [](const Tensors& z) {
        const Tensor a = exp(z[0]) * z[1];
        return Tensors{sum(a), a};
      },
      {x, y}, {"fused", "sum"});
  // Instructions that read the sum are placed after the fused instruction.
  check(
      [](const Tensors& z) {
        const Tensor a = exp(z[0]) * z[1], s = sum(a), b = z[0] * s;
        return Tensors{s, b + z[1]};
      },
      {x, y}, {"fused", "fused"});
  const Function one = [](const Tensors& z) { return Tensors{sum(exp(z[0]))}; };
  check(one, {x, y}, {"fused"});
  Program program = traced(one, {x, y});
  CHECK(program::Executable(program).bytes() >= 70000 * 8);
  program::fuse_pointwise(program);
  CHECK(program::Executable(program).bytes() == 0);
  check([](const Tensors& z) { return Tensors{sum(z[0]), mean(z[1])}; }, {x, y}, {"sum", "mean"});
}

TEST_CASE("programs: fused operands that repeat along rows keep the bits at every length of a row") {
  const Function f = [](const Tensors& x) { return Tensors{maximum(x[0] * x[1] + x[2], x[3]) - x[1]}; };
  const int usual = num_threads();
  for (const DType d : {DType::float32, DType::float64})
    for (const std::int64_t columns : {3, 64, 100, 127, 128, 129, 255, 256, 257, 300}) {
      Generator g(5);
      const Tensor x = random_normal(g, {400, columns}, 0., 1., d), bias = random_normal(g, {columns}, 0., 1., d);
      const Tensor reversed = flip(random_normal(g, {columns}, 0., 1., d)), least = cast(scalar(-1.), d);
      const Tensor column = random_normal(g, {400, 1}, 0., 1., d);
      for (const int threads : {1, 2}) {
        set_num_threads(threads);
        for (const Tensors& at : {Tensors{x, bias, reversed, least}, Tensors{x, bias, bias, column}}) {
          Program program = traced(f, at);
          program::fuse_pointwise(program);
          CHECK(names(program) == Names{"fused"});
          check_results(program, f, at);
        }
      }
    }
  set_num_threads(usual);
}

TEST_CASE("programs: views, other dtypes and other shapes are not fused") {
  const Function f = [](const Tensors& x) {
    const Tensor a = exp(x[0]), turned = flip(a), b = a + turned;
    const Tensor half = cast(b, DType::float32) * 2.f;
    return Tensors{b * 2., half, sin(b[0]) + 1.};
  };
  Program program = traced(f, row);
  program::fuse_pointwise(program);
  check_results(program, f, row);
  for (const program::Instruction& i : program.instructions)
    if (i.fused) CHECK(i.outputs.size() == 1);
}

TEST_CASE("programs: values with disjoint lifetimes share memory") {
  // Each square is unused after the next one: without fusion, one place holds them all.
  const Function chain = [](const Tensors& x) {
    Tensor y = x[0];
    for (int i = 0; i < 6; ++i) y = square(y);
    return Tensors{sum(y)};
  };
  const Tensors large{linspace(0, 1, 1024)};
  const program::Executable in_place(traced(chain, large));
  CHECK(in_place.bytes() == 8192);
  check_results(in_place.program(), chain, large);
  // Reductions do not write in place: two places at a time.
  const Function sums = [](const Tensors& x) {
    Tensor y = x[0] * 2.;
    for (int i = 0; i < 6; ++i) y = cumsum(y, 0);
    return Tensors{sum(y)};
  };
  CHECK(program::Executable(traced(sums, large)).bytes() == 2 * 8192);
  // Values that outlive the run have memory of their own.
  const Function all = [](const Tensors& x) { return Tensors{x[0] * 2., x[0] * 3., slice(x[0] * 4., {range(2, 5)})}; };
  CHECK(program::Executable(traced(all, large)).bytes() == 0);
  check_results(traced(all, large), all, large);
}

TEST_CASE("programs: results that are arguments, constants or views of them") {
  const Function f = [](const Tensors& x) {
    return Tensors{x[0], constant, flip(x[1]), slice(constant, {range(1, 3)}), zeros({0, 3}), x[0] + zeros({7})};
  };
  const Program program = traced(f, row);
  check_results(program, f, row);
  const program::Executable executable(program);
  Tensors first(6), second(6);
  executable.run(row, first);
  executable.run(row, second);
  CHECK(first[0].id() == row[0].id());
  CHECK(first[1].id() != second[1].id());
  CHECK(first[5].id() != second[5].id());
}

TEST_CASE("programs: arguments may be empty, strided, or the same tensor twice") {
  const Function f = [](const Tensors& x) { return Tensors{sum(x[0] * x[1], 0), exp(x[0]) - x[1]}; };
  const Tensor turned = transpose(reshape(linspace(0, 1, 12), {3, 4}));
  for (const Tensors& x :
       {Tensors{zeros({0, 3}), zeros({0, 3})}, Tensors{turned, turned}, Tensors{flip(turned), turned}}) {
    Program program = traced(f, x);
    check_results(program, f, x);
    program::optimize(program);
    check_results(program, f, x);
  }
}

TEST_CASE("programs: several threads run one program at once") {
  const Function f = [](const Tensors& x) { return Tensors{sum(exp(x[0]) * x[1]), tanh(x[0]) + 1.}; };
  Program program = traced(f, row);
  program::optimize(program);
  const program::Executable executable(std::move(program));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Tensors x{linspace(-1, t, 7), linspace(3, 4, 7)}, expected = f(x);
      for (int i = 0; i < 200; ++i) {
        Tensors results(2);
        executable.run(x, results);
        wrong += !same_bits(results[0], expected[0]) || !same_bits(results[1], expected[1]);
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
