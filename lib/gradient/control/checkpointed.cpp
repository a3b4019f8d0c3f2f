// Loops with a memory budget. The entry keeps the loop variables of a few iterations, at a stride that doubles whenever
// there are too many, and the reverse pass fills the gaps by binomial checkpointing. A gradient that a tape follows is
// made of entries, each for a part of the loop.
#include <algorithm>
#include <memory>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>

#include "core/block.hpp"
#include "gradient/control/iterations.hpp"
#include "gradient/gradient.hpp"
#include "loops/loops.hpp"
#include "ops/apply/operation.hpp"
#include "program/run/checkpoints.hpp"
#include "tape/capture.hpp"

namespace reel::autodiff {

namespace {

// The inputs of iteration i, unrecorded.
Tensors at(std::span<const Tensor> xs, std::int64_t i) {
  Tensors list;
  list.reserve(xs.size());
  for (const Tensor& x : xs) list.push_back(x[i]);
  return list;
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
  std::vector<Gradient> pull_followed(std::span<const Gradient> g, std::int64_t rows) override;

 private:
  friend class PartsBack;
  Tensors sizing_step(tape::Capture& capture, TensorSpan state, TensorSpan x);
  Parts parts() const;
  static std::int64_t length_of_parts(const Parts& parts, std::int64_t count) {
    return std::max(parts.leaf, (count + parts.fan_out - 1) / parts.fan_out);
  }
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

// Copies results that are parts of larger blocks, which they would keep alive. Values of a trace have no elements.
void release_blocks(tape::Capture& capture, Tensors& results) {
  capture.note(results);
  for (Tensor& y : results) {
    const detail::Block* b = detail::block(y);
    if (!(b->flags & detail::view_flag) || b->abstract()) continue;
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

// The gradients of an input that is read part by part, zeros where there is none; no tensors if no part has one.
template <class ShapeOf>
Tensors of_parts(std::span<const Gradient> parts, DType dtype, std::int64_t rows, const ShapeOf& shape_of) {
  Tensors list;
  if (!is_differentiable(dtype) || std::none_of(parts.begin(), parts.end(), [](const Gradient& d) { return bool(d); }))
    return list;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Shape shape = shape_of(k);
    if (rows) shape.insert(0, rows);
    list.push_back(parts[k] ? parts[k].dense() : zeros(shape, dtype));
  }
  return list;
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
    for (std::size_t k = 0; k < of_rows_.size(); ++k) {
      Shape shape = c_.xs()[k].shape();
      shape.erase(0);
      const Tensors list = of_parts(of_rows_[k], c_.xs()[k].dtype(), rows_, [&](std::size_t) { return shape; });
      all.push_back(list.empty() ? Gradient() : Gradient(stack(list, rows_ ? 1 : 0)));
    }
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
  const Checkpointed& c_;
  std::size_t variables_;
  std::int64_t rows_;
  std::vector<Gradient> carried_;  // of the variables
  Tensors of_outputs_;
  std::vector<std::vector<Gradient>> of_rows_;  // of each of xs, by iterations
  std::vector<Gradient> shared_;                // of what is read
  ops::FrozenReads same_values_;
};

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
  const std::int64_t length = leaf ? 1 : length_of_parts(parts, count);
  Outputs outputs;
  for (std::int64_t from = 0; from < count; from += length) {
    const std::int64_t begin = first + from, steps = std::min(length, count - from);
    if (leaf) {
      const std::uint64_t now = detail::fresh_id();
      Tensors next = repetition.step_again(loop, begin, state, at(rows, from));
      separate(next, loop.variables, now, state);
      state = std::move(next);
    } else {
      for (const Tensor& column : rows) state.push_back(slice(column, {range(from, from + steps)}));
      const auto part = [c = shared_from_this(), parts, begin, steps](TensorSpan y) {
        return c->run_parts(parts, begin, steps, y);
      };
      state = run_recomputed(name, part, state);
    }
    outputs.take(state, loop.variables);
  }
  outputs.append_to(state, !leaf);
  return state;
}

// The same walk as recorded ops: part by part, each part an entry of the tapes that follow it, whose gradient is
// another such walk. What is read has the sum of the parts behind as a further argument of a part, so that terms are
// added in the order of WalkBack.
class PartsBack {
 public:
  PartsBack(std::shared_ptr<const Checkpointed> c, std::int64_t rows)
      : c_(std::move(c)), parts_(c_->parts()), rows_(rows) {}
  // From cotangents of the results of `count` iterations from `first` on to those of x, and of what is read.
  std::vector<Gradient> pull(std::int64_t first, std::int64_t count, TensorSpan x, std::span<const Gradient> g,
                             std::span<const Gradient> sums) const {
    const ops::FrozenReads same_values = c_->inputs.same_reads();
    return count <= parts_.leaf ? pull_leaf(first, count, x, g, sums) : pull_parts(first, count, x, g, sums);
  }

 private:
  // The results of these iterations.
  Tensors run(std::int64_t first, std::int64_t count, TensorSpan x) const {
    ops::FrozenReads same_values = c_->inputs.same_reads();
    const ops::AssignedBefore done(same_values);
    c_->inputs.reads.values();  // as in Composite::pull_again
    return c_->run_parts(parts_, first, count, x);
  }
  std::vector<Gradient> pull_leaf(std::int64_t first, std::int64_t count, TensorSpan x, std::span<const Gradient> g,
                                  std::span<const Gradient> sums) const {
    GradientTape tape({.watch_accessed_variables = false});
    const Tensors own = identities(x);
    const std::vector<Source> sources = c_->inputs.sources(own);
    watch_differentiable(tape, sources);
    const Tensors results = run(first, count, own);
    Tensors targets;
    std::vector<Gradient> seeds;
    for (const std::size_t k : order_of_cotangents(c_->loop.variables, results.size())) {
      targets.push_back(results[k]);
      seeds.push_back(g[k]);
    }
    return pull_on(tape, targets, seeds, sources, rows_, sums);
  }
  std::vector<Gradient> pull_parts(std::int64_t first, std::int64_t count, TensorSpan x, std::span<const Gradient> g,
                                   std::span<const Gradient> sums) const {
    const std::size_t variables = c_->loop.variables;
    const std::int64_t length = c_->length_of_parts(parts_, count);
    std::vector<Tensors> starts;  // the arguments of each part
    Tensors state(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(variables));
    for (std::int64_t from = 0; from < count; from += length) {
      const std::int64_t steps = std::min(length, count - from);
      starts.push_back(std::move(state));
      for (const Tensor& all : x.subspan(variables)) starts.back().push_back(slice(all, {range(from, from + steps)}));
      if (from + steps == count) break;
      const auto part = [*this, begin = first + from, steps](TensorSpan y) { return run(begin, steps, y); };
      state = run_recomputed(c_->name, part, starts.back());
      state.resize(variables);
    }
    std::vector<Gradient> carried(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(variables)),
        shared(sums.begin(), sums.end());
    std::vector<std::vector<Gradient>> of_rows(x.size() - variables, std::vector<Gradient>(starts.size()));
    for (std::size_t k = starts.size(); k-- > 0;) {
      const std::int64_t from = static_cast<std::int64_t>(k) * length, steps = std::min(length, count - from);
      std::vector<Gradient> all = carried;
      for (const Gradient& one : g.subspan(variables)) all.push_back(of_outputs(one, from, from + steps));
      const std::vector<Gradient> d = pull_entry(first + from, steps, starts[k], all, shared);
      auto next = d.begin();
      for (Gradient& by : carried) by = *next++;
      for (std::vector<Gradient>& list : of_rows) list[k] = *next++;
      shared.assign(next, d.end());
    }
    for (std::size_t r = 0; r < of_rows.size(); ++r) {
      const auto shape_of = [&](std::size_t k) { return starts[k][variables + r].shape(); };
      const Tensors list = of_parts(of_rows[r], x[variables + r].dtype(), rows_, shape_of);
      carried.push_back(list.empty() ? Gradient() : Gradient(concatenate(list, rows_ ? 1 : 0)));
    }
    carried.insert(carried.end(), shared.begin(), shared.end());
    return carried;
  }
  Gradient of_outputs(const Gradient& all, std::int64_t begin, std::int64_t end) const {
    if (!all) return {};
    return Gradient(rows_ ? slice(all.dense(), {range(0, rows_), range(begin, end)})
                          : slice(all.dense(), {range(begin, end)}));
  }
  // A part as an entry, which does not keep the sums.
  std::vector<Gradient> pull_entry(std::int64_t first, std::int64_t count, TensorSpan x, std::span<const Gradient> g,
                                   std::span<const Gradient> sums) const {
    const auto part = [*this, first, count, results = g.size()](TensorSpan y, TensorSpan along) {
      const std::vector<Gradient> all = as_gradients(along);
      return dense_all(pull(first, count, y, std::span(all).first(results), std::span(all).subspan(results)));
    };
    Tensors like = abstract_like(joined({x, c_->inputs.read}));
    for (Tensor& one : like)
      if (Shape shape = one.shape(); rows_) {
        shape.insert(0, rows_);
        one = ops::abstract(one.dtype(), shape);
      }
    return as_gradients(
        run_recomputed_derivative(c_->name, part, x, joined({dense_all(g), dense_all(sums)}), like, sums.size()));
  }

  std::shared_ptr<const Checkpointed> c_;
  Parts parts_;
  std::int64_t rows_;
};

std::vector<Gradient> Checkpointed::pull_unfollowed(std::span<const Gradient> g, std::int64_t rows) {
  return WalkBack(*this, g, rows).run();
}
std::vector<Gradient> Checkpointed::pull_followed(std::span<const Gradient> g, std::int64_t rows) {
  return PartsBack(shared_from_this(), rows)
      .pull(0, repetition.iterations, inputs.arguments, g, std::vector<Gradient>(inputs.reads.size()));
}

Tensors Checkpointed::run_again(TensorSpan arguments) {
  if (!any_reverse()) return run_plainly(loop, options, repetition, arguments);
  return run_parts(parts(), 0, repetition.iterations, arguments);
}

}  // namespace

Tensors run_checkpointed(const detail::FlatLoop& loop, const LoopOptions& options, TensorSpan arguments) {
  const auto c = std::make_shared<Checkpointed>(loop, options);
  return Checkpointed::record(
      c, c->first_run(arguments, [&](TensorSpan x, tape::Capture& capture) { return c->forward(x, capture); }));
}

}  // namespace reel::autodiff
