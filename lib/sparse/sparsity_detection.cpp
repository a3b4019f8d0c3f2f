// Sparsity patterns of derivatives, by a trace: what a function would compute, without numbers.
#include <algorithm>
#include <limits>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "program/passes/passes.hpp"
#include "program/trace.hpp"
#include "sparse/patterns.hpp"
#include "sparse/sparsity.hpp"

namespace reel {

namespace autodiff {

namespace {

struct TracedFunction {
  program::Program program;
  std::int64_t results = 0;    // number of elements of the result
  bool has_user_rule = false;  // on the path from the argument: the derivative is whatever the rule says
};

TracedFunction trace(const char* op, const TensorFunction& f, const Tensor& x) {
  TracedFunction traced;
  program::Trace trace(op);
  const Tensor argument = trace.argument(x);
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(argument);
  const Tensor y = f(argument);
  detail::require_result(op, y);
  GradientTapeAccess::get(tape).entries.for_each([&](const tape::Entry& e) {
    traced.has_user_rule = traced.has_user_rule || e.rule->user || find_override(e.rule->name);
  });
  traced.results = y.size();
  traced.program = trace.finish({&y, 1});
  return traced;
}

CompressedRows full(std::int64_t rows, std::int64_t columns) {
  CompressedRows all{columns, {0}, {}};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) all.columns.push_back(j);
    all.starts.push_back(static_cast<std::int64_t>(all.columns.size()));
  }
  return all;
}

CompressedRows detect(const char* op, const TensorFunction& f, const Tensor& strided) {
  constexpr std::int64_t most_places = std::int64_t{1} << 28;  // elements of the dense pattern
  if (!is_floating(strided.dtype()))
    fail<TypeError>(op, "x is {}, must be real and floating; cast it", strided.dtype());
  const Tensor x = contiguous(strided);
  TracedFunction traced = trace(op, f, x);
  program::IndexRows found;
  if (!traced.has_user_rule) {
    program::drop_unused(traced.program);
    program::fold_constants(traced.program, std::numeric_limits<std::int64_t>::max());
    found = program::sparsity(traced.program);
  }
  const bool dense = traced.has_user_rule || found.uniform;
  if (dense && traced.results > most_places / std::max<std::int64_t>(x.size(), 1))
    fail<ValueError>(op, "the pattern has more than 2^28 places; give one, or take products (linearize, make_vjp)");
  if (dense) return full(traced.results, x.size());
  return {x.size(), std::move(found.starts), std::move(found.indices)};
}

}  // namespace

}  // namespace autodiff

SparsityPattern jacobian_sparsity(const TensorFunction& f, const Tensor& x) {
  return autodiff::to_pattern(autodiff::detect("jacobian_sparsity", f, x));
}

SparsityPattern detail::gradient_sparsity(const TensorFunction& gradient, const Tensor& x) {
  return autodiff::to_pattern(autodiff::detect("hessian_sparsity", gradient, x));
}

}  // namespace reel
