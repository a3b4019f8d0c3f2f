// Loops as single entries: without a memory budget the whole loop is a composite with its own tape.
#include <algorithm>
#include <memory>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <reel/switch.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "gradient/control/iterations.hpp"
#include "gradient/control/traced_control.hpp"
#include "ops/apply/operation.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

bool goes_on(const detail::FlatLoop& loop, const LoopOptions& o, std::int64_t i, std::span<const Tensor> state) {
  if (!loop.more) return i < loop.steps;
  return (o.max_iterations < 0 || i < o.max_iterations) && loop.more(state);
}

void Outputs::take(Tensors& results, std::size_t variables) {
  columns_.resize(results.size() - variables);
  for (std::size_t k = 0; k < columns_.size(); ++k) columns_[k].push_back(std::move(results[variables + k]));
  results.resize(variables);
}
void Outputs::append_to(Tensors& state, bool joins) const {
  for (const Tensors& column : columns_) state.push_back(joins ? concatenate(column, 0) : stack(column, 0));
}

void separate(Tensors& results, std::size_t variables, std::uint64_t made_since, std::span<const Tensor> before) {
  const auto is = [](const Tensor& x) { return [&x](const Tensor& y) { return y.id() == x.id(); }; };
  const tape::Capture* capture = tape::Capture::innermost();
  const auto outputs = results.begin() + static_cast<std::ptrdiff_t>(variables);
  for (auto x = results.begin(); x != results.end(); ++x) {
    const bool captured =
        (x->id() < made_since && std::none_of(before.begin(), before.end(), is(*x))) || (capture && capture->knows(*x));
    const bool also_output = x < outputs && std::any_of(outputs, results.end(), is(*x));
    if (captured || also_output || std::any_of(x < outputs ? results.begin() : outputs, x, is(*x))) *x = identity(*x);
  }
}

namespace {

// Makes the first `count` tensors contiguous, as the variables of a loop in a program are: the order in which a sum
// adds depends on strides.
Tensors dense(Tensors list, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) list[k] = contiguous(list[k]);
  return list;
}

// A scan without steps still has outputs, of extent 0.
Tensors empty_outputs(const detail::FlatLoop& loop, std::span<const Tensor> state, std::span<const Tensor> xs) {
  const tape::Suspend suspend;
  Tensors zero;
  for (const Tensor& x : xs) zero.push_back(detail::zeros_of_step(x));
  Tensors list(state.begin(), state.end());
  const Tensors results = loop.step(state, zero);
  for (std::size_t k = loop.variables; k < results.size(); ++k) {
    Shape shape{0};
    for (std::int64_t extent : results[k].shape()) shape.push_back(extent);
    list.push_back(zeros(shape, results[k].dtype()));
  }
  return list;
}

}  // namespace

Tensors Repetition::first_step(const detail::FlatLoop& loop, std::int64_t i, TensorSpan state, TensorSpan x) {
  ops::Draws drawn;
  const ops::DrawsScope noted(drawn, ops::DrawsScope::Mode::note);
  Tensors next = dense(loop.step(state, x), loop.variables);
  if (!drawn.empty()) draws[i] = std::move(drawn);
  return next;
}
Tensors Repetition::step_again(const detail::FlatLoop& loop, std::int64_t i, TensorSpan state, TensorSpan x) const {
  const auto found = draws.find(i);
  ops::Draws log = found == draws.end() ? ops::Draws() : found->second;
  const ops::DrawsScope same_numbers(log, ops::DrawsScope::Mode::replay);
  return dense(loop.step(state, x), loop.variables);
}

Tensors run_plainly(const detail::FlatLoop& loop, const LoopOptions& o, Repetition& repetition,
                    std::span<const Tensor> arguments) {
  const auto xs = arguments.subspan(loop.variables);
  Tensors state = contiguous_all(arguments.first(loop.variables));
  if (!loop.more && loop.steps == 0) return empty_outputs(loop, state, xs);
  // One op for all iterations: its derivative is one stack instead of a sum with a term per iteration.
  std::vector<Tensors> columns;
  for (const Tensor& x : xs) columns.push_back(unstack(x, 0));
  Outputs outputs;
  const bool again = repetition.iterations >= 0;
  std::int64_t i = 0;
  for (; again ? i < repetition.iterations : goes_on(loop, o, i, state); ++i) {
    Tensors x;
    for (const Tensors& column : columns) x.push_back(column[static_cast<std::size_t>(i)]);
    const std::uint64_t now = detail::fresh_id();
    Tensors next = again ? repetition.step_again(loop, i, state, x) : repetition.first_step(loop, i, state, x);
    separate(next, loop.variables, now, state);
    state = std::move(next);
    outputs.take(state, loop.variables);
  }
  repetition.iterations = i;
  outputs.append_to(state);
  return state;
}

}  // namespace autodiff

using namespace autodiff;

namespace detail {

std::vector<Tensor> run_loop(const FlatLoop& loop, std::span<const Tensor> initial, std::span<const Tensor> xs,
                             const LoopOptions& options) {
  if (options.memory_budget < 0)
    fail<ValueError>(loop.name, "memory_budget is {}; it must be positive, or 0 for no limit", options.memory_budget);
  if (ops::Tracer::current()) {
    if (auto results = trace_loop(loop, initial, xs, options)) return *std::move(results);
  } else if (options.compiled) {
    if (auto results = run_compiled(loop, initial, xs, options)) return *std::move(results);
    LoopOptions plain = options;
    plain.compiled = false;
    return run_loop(with_compiled_step(loop), initial, xs, plain);
  }
  const Tensors arguments = joined({initial, xs});
  const FlatFunction whole = [loop, options, repetition = Repetition()](std::span<const Tensor> x) mutable {
    return run_plainly(loop, options, repetition, x);
  };
  if (!any_tape() || options.memory_budget == 0 || (!loop.more && loop.steps == 0))
    return composite(loop.name, whole, whole, arguments, Keep::record);
  return run_checkpointed(loop, options, arguments);
}

void check_state(const char* name, std::span<const Tensor> before, std::span<const Tensor> after) {
  if (before.size() != after.size())
    fail<ValueError>(name, "the function turns {} loop variables into {}; it must return as many as it gets",
                     before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].dtype() != after[i].dtype())
      fail<TypeError>(name, "the function turns loop variable {} from {} into {}; cast it", i, before[i].dtype(),
                      after[i].dtype());
}

std::int64_t steps_of(const char* name, std::span<const Tensor> xs) {
  if (xs.empty()) fail<ValueError>(name, "xs holds no tensor; there is nothing to scan over");
  for (const Tensor& x : xs) {
    if (x.rank() == 0) fail<ShapeError>(name, "a tensor of xs has rank 0; axis 0 is what is scanned over");
    if (x.shape()[0] != xs[0].shape()[0])
      fail<ShapeError>(name, "tensors of xs have shapes {} and {}; their first extents must be equal", xs[0].shape(),
                       x.shape());
  }
  return xs[0].shape()[0];
}

Tensor zeros_of_step(const Tensor& x) {
  Shape shape;
  for (int d = 1; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  return zeros(shape, x.dtype());
}

Tensor next_count(const Tensor& i) { return i + 1; }
Tensor counts_below(const Tensor& i, std::int64_t upper) { return i < upper; }

bool truth(const char* name, const Tensor& predicate) {
  if (!predicate.defined()) fail<ValueError>(name, "the condition is an empty tensor");
  if (predicate.size() != 1)
    fail<ShapeError>(name, "the condition has shape {}; it must have one element: use all or any", predicate.shape());
  const tape::Suspend suspend;
  return static_cast<bool>(predicate);
}

void check_branch_index(const Tensor& index) {
  constexpr const char* op = "switch_case";
  if (!index.defined()) fail<ValueError>(op, "the index is an empty tensor");
  if (!is_integer(index.dtype())) fail<TypeError>(op, "the index is {}; it must be an integer", index.dtype());
  if (index.size() != 1) fail<ShapeError>(op, "the index has the shape {}; it must have one element", index.shape());
}
}  // namespace detail

}  // namespace reel