// Loops as single entries. Without a memory budget the whole loop is a composite with its own tape. With a budget, the
// entry keeps the loop variables of a few iterations, at a stride that doubles whenever there are too many, and the
// reverse pass fills the gaps by binomial checkpointing.
#include <algorithm>
#include <map>
#include <memory>
#include <reel/control.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>
#include <reel/switch.hpp>

#include "core/block.hpp"
#include "core/fail.hpp"
#include "gradient/control/compiled.hpp"
#include "gradient/control/composite.hpp"
#include "gradient/gradient.hpp"
#include "loops/loops.hpp"
#include "ops/apply/operation.hpp"
#include "program/run/checkpoints.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

namespace {

// The inputs of iteration i, unrecorded.
Tensors at(std::span<const Tensor> xs, std::int64_t i) {
  Tensors list;
  list.reserve(xs.size());
  for (const Tensor& x : xs) list.push_back(x[i]);
  return list;
}

bool goes_on(const detail::FlatLoop& loop, const LoopOptions& o, std::int64_t i, std::span<const Tensor> state) {
  if (!loop.more) return i < loop.steps;
  return (o.max_iterations < 0 || i < o.max_iterations) && loop.more(state);
}

// Collects the outputs of the iterations and stacks them at the end.
class Outputs {
 public:
  // Takes the outputs, which follow the loop variables in the result of a step.
  void take(Tensors& results, std::size_t variables) {
    columns_.resize(results.size() - variables);
    for (std::size_t k = 0; k < columns_.size(); ++k) columns_[k].push_back(std::move(results[variables + k]));
    results.resize(variables);
  }
  // `joins`: they are stacks already.
  void append_to(Tensors& state, bool joins = false) const {
    for (const Tensors& column : columns_) state.push_back(joins ? concatenate(column, 0) : stack(column, 0));
  }

 private:
  std::vector<Tensors> columns_;
};

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

// Gives results of a step handles of their own where they are captured tensors, or one tensor stands for several: each
// variable is a parameter of the next step, as in a program. `made_since`: the tensors of the step have larger ids;
// those before it that it passes on are parameters already.
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

// Makes the first `count` tensors contiguous, as the variables of a loop in a program are: the order in which a sum
// adds depends on strides.
Tensors dense(Tensors list, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) list[k] = contiguous(list[k]);
  return list;
}

// What a repeated run for the derivative must reproduce: the number of iterations, and their draws. The condition,
// which may have drawn in between, is not run again.
struct Repetition {
  std::int64_t iterations = -1;              // negative before the first run
  std::map<std::int64_t, ops::Draws> draws;  // for iterations that draw

  Tensors first_step(const detail::FlatLoop& loop, std::int64_t i, std::span<const Tensor> state,
                     std::span<const Tensor> x) {
    ops::Draws drawn;
    const ops::DrawsScope noted(drawn, ops::DrawsScope::Mode::note);
    Tensors next = dense(loop.step(state, x), loop.variables);
    if (!drawn.empty()) draws[i] = std::move(drawn);
    return next;
  }
  Tensors step_again(const detail::FlatLoop& loop, std::int64_t i, std::span<const Tensor> state,
                     std::span<const Tensor> x) const {
    const auto found = draws.find(i);
    ops::Draws log = found == draws.end() ? ops::Draws() : found->second;
    const ops::DrawsScope same_numbers(log, ops::DrawsScope::Mode::replay);
    return dense(loop.step(state, x), loop.variables);
  }
};

// Runs the loop op by op; for the derivative as many iterations as the first time, whatever the condition would say
// now.
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

// The memory that keeping the state of one iteration takes.
std::int64_t kept_bytes(std::span<const Tensor> state) {
  auto sum = static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(Tensors) + state.size_bytes());
  for (const Tensor& x : state) sum += detail::pool_bytes(detail::block(x));
  return sum;
}

// How a loop is divided for derivatives that are differentiated: up to `leaf` iterations are recorded one by one;
// longer ranges are divided into `fan_out` parts, each an entry.
struct Parts {
  std::int64_t leaf, fan_out;
};

// A loop as one entry that keeps the states at checkpoints, as many as its memory budget allows.
struct Checkpointed final : Composite, std::enable_shared_from_this<Checkpointed> {
  detail::FlatLoop loop;
  LoopOptions options;
  Repetition repetition = {};
  program::Checkpoints<Tensors> kept = {};
  std::int64_t state_bytes = 1, step_bytes = 1;  // of the loop variables, of the record of one iteration

  Checkpointed(const detail::FlatLoop& l, const LoopOptions& o) : Composite(l.name, {}), loop(l), options(o) {}
  TensorSpan xs() const { return TensorSpan(inputs.arguments).subspan(loop.variables); }
  Tensors forward(TensorSpan arguments, tape::Capture& capture);
  Tensors run_again(TensorSpan arguments) override;
  std::vector<Gradient> pull_unfollowed(std::span<const Gradient> g, std::int64_t rows) override;

 private:
  Tensors sizing_step(tape::Capture& capture, TensorSpan state, TensorSpan x);
  Parts parts() const;
  Tensors run_parts(const Parts& parts, std::int64_t first, std::int64_t count, TensorSpan x) const;
};

// Runs the first iteration under a tape to measure its record: this decides how many states fit the budget beside it
// and the cotangents.
Tensors Checkpointed::sizing_step(tape::Capture& capture, TensorSpan state, TensorSpan x) {
  GradientTape probe;
  watch_differentiable(probe, std::vector<Source>(state.begin(), state.end()));
  capture.watch_on(&GradientTapeAccess::get(probe));
  Tensors next = repetition.first_step(loop, 0, state, x);
  capture.watch_on(nullptr);
  const TapeStats stats = probe.stats();
  const std::int64_t one = kept_bytes(std::span<const Tensor>(next).first(loop.variables));
  state_bytes = one;
  step_bytes = std::max<std::int64_t>(1, stats.saved_bytes + stats.entry_bytes);
  const std::int64_t left = options.memory_budget - stats.saved_bytes - stats.entry_bytes - 2 * one;
  kept.limit(static_cast<std::size_t>(std::max<std::int64_t>(2, left / one)));
  return next;
}

// Copies results that are parts of larger blocks, which they would keep alive.
void release_blocks(tape::Capture& capture, Tensors& results) {
  capture.note(results);
  for (Tensor& y : results) {
    const detail::Block* b = detail::block(y);
    if (!(b->flags & detail::view_flag)) continue;
    const auto* base = static_cast<const detail::Block*>(b->base);
    if (y.size() >= base->size) continue;
    const Tensor own = detail::empty(y.dtype(), y.shape());
    loops::copy(y, own);
    y = own;
  }
}

Tensors Checkpointed::forward(TensorSpan arguments, tape::Capture& capture) {
  const auto inputs_at = arguments.subspan(loop.variables);
  Tensors state = contiguous_all(arguments.first(loop.variables));
  std::int64_t i = 0;
  Outputs outputs;
  for (; goes_on(loop, options, i, state); ++i) {
    const Tensors x = at(inputs_at, i);
    Tensors next = i == 0 ? sizing_step(capture, state, x) : repetition.first_step(loop, i, state, x);
    kept.offer(i, state);
    release_blocks(capture, next);
    state = std::move(next);
    outputs.take(state, loop.variables);
  }
  repetition.iterations = i;
  outputs.append_to(state);
  return state;
}

// The walk back over the iterations, from cotangents of the results.
class WalkBack {
 public:
  // `rows`: how many cotangents there are along a leading axis, or 0, as for pull_on.
  WalkBack(const Checkpointed& c, std::span<const Gradient> g, std::int64_t rows)
      : c_(c),
        variables_(c.loop.variables),
        rows_(rows),
        carried_(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(variables_)),
        of_outputs_(dense_all(g.subspan(variables_))),
        of_rows_(c.xs().size(), std::vector<Gradient>(static_cast<std::size_t>(c.repetition.iterations))),
        shared_(c.inputs.reads.size()),
        same_values_(c.inputs.same_reads()) {}
  std::vector<Gradient> run() {
    program::Checkpoints<Tensors> states = c_.kept;
    const auto advance = [&](std::int64_t i, const Tensors& state) {
      Tensors next = step_again(i, state, at(c_.xs(), i));
      next.resize(variables_);
      return next;
    };
    program::walk_back(
        c_.repetition.iterations, [&](std::int64_t i) { return states.before(i, advance); },
        [&](std::int64_t i, const Tensors& state) { pull(i, state); });
    std::vector<Gradient> all = std::move(carried_);
    for (std::size_t k = 0; k < of_rows_.size(); ++k) all.push_back(stacked(of_rows_[k], c_.xs()[k]));
    all.insert(all.end(), shared_.begin(), shared_.end());
    return all;
  }

 private:
  Tensors step_again(std::int64_t i, TensorSpan state, TensorSpan x) {
    const ops::AssignedBefore done(same_values_);
    return c_.repetition.step_again(c_.loop, i, state, x);
  }
  // From cotangents of the results of iteration i to those of its variables, its rows, and all that is read; terms of
  // the latter are added.
  void pull(std::int64_t i, const Tensors& state) {
    GradientTape tape({.watch_accessed_variables = false});
    const Tensors x = identities(joined({state, at(c_.xs(), i)}));
    const std::vector<Source> sources = c_.inputs.sources(x);
    watch_differentiable(tape, sources);
    const Tensors results = step_again(i, TensorSpan(x).first(variables_), TensorSpan(x).subspan(variables_));
    Tensors targets;
    std::vector<Gradient> seeds;
    for (const std::size_t k : order_of_cotangents(variables_, results.size())) {
      targets.push_back(results[k]);
      seeds.push_back(k < variables_ ? carried_[k] : of_output(k - variables_, i));
    }
    const std::vector<Gradient> d = pull_on(tape, targets, seeds, sources, rows_, shared_);
    auto next = d.begin();
    for (Gradient& by : carried_) by = *next++;
    for (std::vector<Gradient>& all : of_rows_) all[static_cast<std::size_t>(i)] = *next++;
    shared_.assign(next, d.end());
  }
  Gradient of_output(std::size_t k, std::int64_t i) const {
    const Tensor& all = of_outputs_[k];
    if (!all.defined()) return {};
    return Gradient(rows_ ? squeeze(slice(all, {range(0, rows_), range(i, i + 1)}), 1) : all[i]);
  }
  // The gradient of an input that is read step by step; none counts as zeros, unless no step has one.
  Gradient stacked(std::span<const Gradient> steps, const Tensor& x) const {
    if (!is_differentiable(x.dtype()) ||
        std::none_of(steps.begin(), steps.end(), [](const Gradient& d) { return bool(d); }))
      return {};
    const int axis = rows_ ? 1 : 0;  // of the steps
    Shape shape = x.shape();
    if (rows_) shape.insert(0, rows_);
    shape.erase(axis);
    Tensors parts;
    for (const Gradient& d : steps) parts.push_back(d ? d.dense() : zeros(shape, x.dtype()));
    return Gradient(stack(parts, axis));
  }

  const Checkpointed& c_;
  std::size_t variables_;
  std::int64_t rows_;
  std::vector<Gradient> carried_;  // of the variables
  Tensors of_outputs_;
  std::vector<std::vector<Gradient>> of_rows_;  // of each of xs, by iterations
  std::vector<Gradient> shared_;                // of what is read
  ops::FrozenReads same_values_;
};

std::vector<Gradient> Checkpointed::pull_unfollowed(std::span<const Gradient> g, std::int64_t rows) {
  return WalkBack(*this, g, rows).run();
}

// Half of the budget is for iterations that are recorded together, by both tapes and with the cotangents; the other
// half is for what entries around them keep.
Parts Checkpointed::parts() const {
  constexpr std::int64_t records = 6, kept_states = 3;  // per iteration; per entry: a state and two cotangents
  const std::int64_t half = options.memory_budget / 2;
  const std::int64_t leaf = std::max<std::int64_t>(1, half / (records * step_bytes));
  const std::int64_t most = std::max<std::int64_t>(2, half / (kept_states * state_bytes));
  for (std::int64_t levels = 1;; ++levels) {
    const std::int64_t fan_out = std::max<std::int64_t>(2, most / levels);
    std::int64_t reach = leaf;
    for (std::int64_t l = 0; l < levels && reach < repetition.iterations; ++l) reach *= fan_out;
    if (reach >= repetition.iterations) return {leaf, fan_out};
  }
}

// `count` iterations from `first` on; x: the loop variables, then the rows of these iterations.
Tensors Checkpointed::run_parts(const Parts& parts, std::int64_t first, std::int64_t count, TensorSpan x) const {
  Tensors state(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(loop.variables));
  const TensorSpan rows = x.subspan(loop.variables);
  const bool leaf = count <= parts.leaf;
  const std::int64_t length = leaf ? 1 : std::max(parts.leaf, (count + parts.fan_out - 1) / parts.fan_out);
  Outputs outputs;
  for (std::int64_t from = 0; from < count; from += length) {
    const std::int64_t begin = first + from, steps = std::min(length, count - from);
    if (leaf) {
      state = repetition.step_again(loop, begin, state, at(rows, from));
    } else {
      for (const Tensor& column : rows) state.push_back(slice(column, {range(from, from + steps)}));
      const auto part = [c = shared_from_this(), parts, begin, steps](TensorSpan y) {
        return c->run_parts(parts, begin, steps, y);
      };
      state = recomputed(name, part, state);
    }
    outputs.take(state, loop.variables);
  }
  outputs.append_to(state, !leaf);
  return state;
}

Tensors Checkpointed::run_again(TensorSpan arguments) {
  if (!any_reverse()) return run_plainly(loop, options, repetition, arguments);
  return run_parts(parts(), 0, repetition.iterations, arguments);
}

}  // namespace

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
  const auto c = std::make_shared<Checkpointed>(loop, options);
  return Checkpointed::record(
      c, c->first_run(arguments, [&](TensorSpan x, tape::Capture& capture) { return c->forward(x, capture); }));
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
