#include "solve/implicit.hpp"

#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "gradient/control/composite_entry.hpp"
#include "linalg/linear_solve.hpp"
#include "ops/engine.hpp"
#include "tape/capture.hpp"

namespace reel::autodiff {

namespace {

// The rules of one entry, whose inputs are what the residual reads.
struct RecordedSolution {
  Equation equation;
  Inputs inputs;
  Tensor x;

  std::shared_ptr<const LinearSystem> system(bool transposed) const {
    const LinearOperator product = jacobian_of(equation, x),
                         transpose = equation.symmetric ? product : transposed_jacobian_of(equation, x);
    LinearSystem s{equation.name, product, transpose, equation.solver, equation.transposed_solver};
    if (transposed) s = {equation.name, transpose, product, equation.transposed_solver, equation.solver};
    return std::make_shared<const LinearSystem>(std::move(s));
  }
  Tensor solve_with(bool transposed, const Tensor& b) const {
    const auto s = system(transposed);
    return solve_system(s, b, s->solver);
  }

  std::vector<Gradient> pull(const Tensor& g) const {
    const std::vector<Source> sources = inputs.sources({});
    if (sources.empty()) return {};
    const ops::FrozenReads same_values = inputs.same_reads();
    const Tensor adjoint = solve_with(true, g);
    GradientTape tape({.watch_accessed_variables = false});
    watch_differentiable(tape, sources);
    const Tensor residuals[] = {residual_of(equation, x)};
    const Gradient cotangents[] = {Gradient(negative(adjoint))};
    return pull_on(tape, residuals, cotangents, sources);
  }
  Tensor push(std::span<const Tensor> tangents) const {
    const MovedSources moved = collect_moved(inputs.sources({}), tangents);
    const ops::FrozenReads same_values = inputs.same_reads();
    Tensor change;
    if (!moved.sources.empty()) {
      const ForwardAccumulator accumulator(moved.sources, moved.gradients());
      const Tensor y = residual_of(equation, x);
      if (const Gradient t = accumulator.jvp(y)) change = t.dense();
    }
    return change.defined() ? solve_with(false, negative(change)) : zeros(x.shape(), x.dtype());
  }
};

}  // namespace

Tensor residual_of(const Equation& e, const Tensor& x) {
  const Tensor y = e.residual(x);
  if (!y.defined())
    fail<ValueError>(e.name, "the function returned an empty tensor; did you forget to return a value?");
  if (y.shape() != x.shape())
    fail<ShapeError>(e.name, "the function turns shape {} into {}; they must be equal", x.shape(), y.shape());
  if (y.dtype() != x.dtype())
    fail<TypeError>(e.name, "the function turns {} into {}; cast its result", x.dtype(), y.dtype());
  return y;
}

LinearOperator jacobian_of(const Equation& e, const Tensor& x) {
  return [e, x](const Tensor& v) {
    const ForwardAccumulator accumulator(x, v);
    const Tensor y = residual_of(e, x);
    return accumulator.jvp(y, UnconnectedGradients::zero).dense();
  };
}
LinearOperator transposed_jacobian_of(const Equation& e, const Tensor& x) {
  return [e, x](const Tensor& v) {
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(x);
    const Tensor y = residual_of(e, x);
    return tape.gradient(y, x, {.output_gradients = v, .unconnected_gradients = UnconnectedGradients::zero}).dense();
  };
}

Tensor implicit_solution(const Equation& e, const Callback<Tensor()>& find) {
  if (!tape::active()) return find();
  const auto entry = std::make_shared<RecordedSolution>();
  entry->equation = e;
  {
    tape::Capture capture;
    entry->x = detail::alias(find());
    entry->inputs.take(capture);
  }
  const std::vector<Tensor> inputs = entry->inputs.values();
  const Tensor outputs[] = {entry->x};
  record_function(
      e.name, inputs, outputs, [entry](std::span<const Gradient> g) { return entry->pull(g[0].dense()); },
      [entry](std::span<const Tensor> t) { return std::vector<Tensor>{entry->push(t)}; });
  return entry->x;
}

}  // namespace reel::autodiff
