// The op table as programs: a function traced on abstract tensors, with the gradients that it takes on the way, gives
// the bits of the function run op by op, at the operands it was traced with and at others.
#include <map>
#include <reel/elementwise.hpp>
#include <set>

#include "catch.hpp"
#include "op_cases.hpp"
#include "op_operands.hpp"
#include "program/passes/passes.hpp"
#include "program/run/executable.hpp"
#include "support/warnings.hpp"
#include "traced.hpp"

using namespace reel;
using support::cast_all, support::laid_out_all, support::same_bits, support::traced;
using support::Layout, support::Tensors;

namespace {

using Function = std::function<Tensors(const Tensors&)>;

Tensors run(const program::Executable& executable, const Tensors& x) {
  Tensors results(executable.program().results.size());
  executable.run(x, results);
  return results;
}

using Value = std::function<Tensor(const Tensors&)>;

void add_gradients(const Value& f, const Tensors& x, Tensors& results) {
  GradientTape tape;
  tape.watch(x);
  for (const Gradient& g : tape.gradient(f(x), x))
    if (g) results.push_back(*g);
}
void add_tangent(const Value& f, const Tensors& x, Tensors& results) {
  Tensors primals;
  for (const Tensor& one : x)
    if (is_differentiable(one.dtype())) primals.push_back(one);
  const ForwardAccumulator accumulator(primals, primals);
  if (const Gradient t = accumulator.jvp(f(x))) results.push_back(*t);
}
// The value of f, its gradients and, unless `few`, those of its sum, and its tangent; those that exist. The cotangent
// of the sum is a repeated 1.
Function with_derivatives(Value f, bool few) {
  return [f = std::move(f), few](const Tensors& x) {
    Tensors results{f(x)};
    if (!is_differentiable(results[0].dtype()) || is_complex(results[0].dtype())) return results;
    add_gradients(f, x, results);
    if (few) return results;
    add_gradients([&](const Tensors& y) { return sum(f(y)); }, x, results);
    add_tangent(f, x, results);
    return results;
  };
}

struct Tally {
  std::set<std::string> operations;
  int programs = 0, compared = 0, fused = 0;
};

// The stride along an axis of extent 1 means nothing.
bool same_strides(const Tensor& a, const Tensor& b) {
  for (int d = 0; d < a.rank(); ++d)
    if (a.shape()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  return true;
}

// Runs the program twice at each of the operands, so that the second run sees the state that the first leaves.
void check_runs(const std::string& what, const Function& f, const program::Executable& executable,
                const std::vector<Tensors>& operands, Tally& tally) {
  for (int round = 0; round < 2; ++round)
    for (const Tensors& x : operands) {
      Tensors expected;
      try {
        expected = f(x);
      } catch (const Error&) {
        continue;  // not for these values
      }
      const Tensors got = run(executable, x);
      REQUIRE(got.size() == expected.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        INFO(what << ": result " << k);
        CHECK(same_bits(got[k], expected[k]));
        CHECK(same_strides(got[k], expected[k]));
        ++tally.compared;
      }
    }
}

void check(const std::string& what, const Value& value, const std::vector<Tensors>& operands, bool few, Tally& tally) {
  const Function f = with_derivatives(value, few);
  try {
    static_cast<void>(f(operands[0]));
  } catch (const Error&) {
    return;  // not for this dtype
  }
  INFO(what);
  program::Program program = traced(f, operands[0]);
  for (const program::Instruction& i : program.instructions) tally.operations.insert(i.operation.name);
  check_runs(what + ", as traced", f, program::Executable(program), operands, tally);
  program::optimize(program);
  for (const program::Instruction& i : program.instructions) tally.fused += i.fused != nullptr;
  check_runs(what + ", optimised", f, program::Executable(std::move(program)), operands, tally);
  ++tally.programs;
}

void check_everywhere(const std::string& name, const Value& f, const Tensors& x, const Tensors& others, Tally& tally) {
  for (const DType d : {DType::int32, DType::float16, DType::float32, DType::float64, DType::complex128})
    check(name + " of " + reel::name(d), f, {cast_all(x, d), cast_all(others, d)}, true, tally);
  for (const Layout layout : support::layouts)
    check(name + ", " + support::name(layout), f, {laid_out_all(x, layout), laid_out_all(others, layout)}, false,
          tally);
}

void check_table(std::span<const cases::Shaped> rows, std::size_t operations) {
  WarningLog quiet;
  Tally tally;
  for (const cases::Shaped& row : rows) {
    if (row.flags & cases::by_values) continue;
    support::for_drawn_operands(row, [&](const Tensors& x, const Tensors& others) {
      check_everywhere(
          row.name, [&](const Tensors& p) { return row.call(p); }, x, others, tally);
    });
  }
  CHECK(tally.operations.size() >= operations);
  CHECK(tally.programs > static_cast<int>(rows.size()));
  CHECK(tally.compared > 4 * tally.programs);
}

}  // namespace

TEST_CASE("reductions, scans and normalisations: programs give the bits of ops") {
  check_table(cases::reductions(), 20);
}
TEST_CASE("shape and index ops: programs give the bits of ops") { check_table(cases::movements(), 17); }
TEST_CASE("ops of headers of their own: programs give the bits of ops") {
  for (const cases::Family& family : cases::families()) check_table(family.rows(), 3);
}
TEST_CASE("linear algebra: programs give the bits of ops") { check_table(cases::linear_algebra(), 20); }
TEST_CASE("neural networks: programs give the bits of ops") { check_table(cases::networks(), 20); }

TEST_CASE("pointwise ops: programs give the bits of ops") {
  WarningLog quiet;
  Tally tally;
  for (const cases::Pointwise& row : cases::pointwise()) {
    support::Random random(row.name);
    for (const Shape& shape : {Shape{}, Shape{3, 5}, Shape{70, 40}, Shape{5, 3}}) {
      const bool broadcasts = shape.rank() == 2 && shape[0] != 5;
      Tensors x, others;
      for (Tensors* list : {&x, &others})
        for (int i = 0; i < row.arity; ++i)
          list->push_back(
              random.tensor(i == 1 && broadcasts ? Shape{shape[1]} : shape, row.domain[i].low, row.domain[i].high));
      check_everywhere(
          row.name, [&](const Tensors& p) { return row.call(p); }, x, others, tally);
    }
  }
  CHECK(tally.programs > 10 * static_cast<int>(cases::pointwise().size()));
  CHECK(tally.fused > 0);
}
