// linear_solve: the solution of a x = b as one entry, whose inputs are b and the tensors that the operator captures.
// Derivatives are solutions with a and its transpose at the recorded x, so that they can be differentiated.
#include "linalg/linear_solve.hpp"

#include <memory>
#include <reel/forward.hpp>
#include <reel/linalg/iterative.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "gradient/control/composite_entry.hpp"
#include "ops/engine.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

namespace {

constexpr const char* op = "linear_solve";

using SharedSystem = std::shared_ptr<const LinearSystem>;

// v -> a^T v: the vjp of a at zero, since a is linear.
LinearOperator transpose_of(const char* name, const LinearOperator& a, const Tensor& like) {
  return [name, a, shape = like.shape(), dtype = like.dtype()](const Tensor& v) {
    GradientTape tape({.watch_accessed_variables = false});
    const Tensor zero = zeros(shape, dtype);
    tape.watch(zero);
    const Tensor y = product_of(name, a, zero);
    return *tape.gradient(y, zero, {.output_gradients = v, .unconnected_gradients = UnconnectedGradients::zero});
  };
}

SharedSystem transpose(const SharedSystem& system) {
  const LinearSystem& s = *system;
  return std::make_shared<const LinearSystem>(
      LinearSystem{s.name, s.transpose, s.product, s.transposed_solver, s.solver});
}

Tensor solve_recorded(const SharedSystem& system, const Tensor& b);

// The argument is b.
struct RecordedSolve final : ImplicitEntry {
  SharedSystem system;

  explicit RecordedSolve(SharedSystem s) : system(std::move(s)) {}
  // The product with the solution, which depends on what the operator reads.
  Tensor product() const { return product_of(system->name, system->product, result); }

  std::vector<Gradient> vjp(const Tensor& g) const override {
    const ops::FrozenReads same_values = inputs.same_reads();
    const Tensor db = solve_recorded(transpose(system), g);
    std::vector<Gradient> all{Gradient(db)};
    const std::vector<Source> sources = inputs.sources({});
    if (sources.empty()) return all;
    for (Gradient& one : vjp_of(
             sources, [this] { return product(); }, negative(db)))
      all.push_back(std::move(one));
    return all;
  }
  Tensor jvp(std::span<const Tensor> tangents) const override {
    const ops::FrozenReads same_values = inputs.same_reads();
    Tensor b = tangents[0];
    if (const Tensor change = jvp_of([this] { return product(); }, tangents.subspan(1)); change.defined())
      b = b.defined() ? subtract(b, change) : negative(change);
    return b.defined() ? solve_recorded(system, b) : zeros(result.shape(), result.dtype());
  }
};

Tensor solve_recorded(const SharedSystem& system, const Tensor& b) { return solve_system(system, b, system->solver); }

}  // namespace

Tensor product_of(const char* name, const LinearOperator& a, const Tensor& v) {
  Tensor y = a(v);
  if (!y.defined()) fail<ValueError>(name, "the operator returned an empty tensor; did you forget to return a value?");
  if (y.shape() != v.shape())
    fail<ShapeError>(name, "the operator turns shape {} into {}; they must be equal", v.shape(), y.shape());
  if (y.dtype() != v.dtype())
    fail<TypeError>(name, "the operator turns {} into {}; cast its result", v.dtype(), y.dtype());
  return y;
}

std::shared_ptr<const LinearSystem> linear_system(const char* name, const LinearOperator& a, const Tensor& b,
                                                  bool symmetric) {
  if (!a) fail<ValueError>(name, "the operator is empty; pass a function");
  ops::require_defined(name, b, "b");
  if (b.dtype() != DType::float32 && b.dtype() != DType::float64)
    fail<TypeError>(name, "b is {}; it must be float32 or float64: cast it", b.dtype());
  return std::make_shared<const LinearSystem>(LinearSystem{name, a, symmetric ? a : transpose_of(name, a, b), {}, {}});
}
LinearOperator transposed_operator(const char* name, const LinearOperator& a, const Tensor& like) {
  return a ? transpose_of(name, a, like) : LinearOperator();
}

Tensor solve_system(const std::shared_ptr<const LinearSystem>& system, const Tensor& b, const LinearSolver& first) {
  const auto run = [&](const LinearOperator& product, const Tensor& right) {
    Tensor x = first(product, right);
    if (!x.defined() || x.shape() != b.shape() || x.dtype() != b.dtype())
      fail<ShapeError>(system->name, "the solver must return a tensor of the shape and dtype of b, {} of {}", b.shape(),
                       b.dtype());
    return x;
  };
  if (!tape::active()) return run(system->product, b);
  const auto find = [&](std::span<const Tensor> right) {
    const auto multiplied = std::make_shared<bool>(false);
    const LinearOperator product = [system, multiplied](const Tensor& v) {
      *multiplied = true;
      return system->product(v);
    };
    Tensor x = run(product, right[0]);
    // A solver that needs no product, as for b = 0, has not shown what the operator reads.
    if (!*multiplied) static_cast<void>(product_of(system->name, product, zeros(b.shape(), b.dtype())));
    return x;
  };
  return ImplicitEntry::record(op, std::make_shared<RecordedSolve>(system), {b}, find);
}

}  // namespace autodiff

Tensor linear_solve(const LinearOperator& a, const Tensor& b, const LinearSolver& solver, bool symmetric) {
  const tape::OpScope scope;
  if (!solver) fail<ValueError>("linear_solve", "the solver is empty; pass a function");
  autodiff::LinearSystem system = *autodiff::linear_system("linear_solve", a, b, symmetric);
  system.solver = system.transposed_solver = solver;
  return autodiff::solve_system(std::make_shared<const autodiff::LinearSystem>(std::move(system)), b, solver);
}

}  // namespace reel
