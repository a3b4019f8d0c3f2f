// Functions recorded as single entries.
#include "gradient/control/composite_entry.hpp"

#include <algorithm>
#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/control/traced_control.hpp"
#include "gradient/gradient.hpp"
#include "gradient/programs/derivative.hpp"
#include "ops/apply/operation.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

Tensors joined(std::initializer_list<TensorSpan> lists) {
  Tensors all;
  for (const TensorSpan list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Tensors contiguous_all(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(contiguous(x));
  return all;
}

Tensors abstract_like(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(ops::abstract(x.dtype(), x.shape()));
  return all;
}

std::vector<Gradient> as_gradients(TensorSpan list) {
  std::vector<Gradient> all;
  for (const Tensor& x : list) all.push_back(x.defined() ? Gradient(x) : Gradient());
  return all;
}

Tensors dense_all(std::span<const Gradient> list) {
  Tensors all;
  for (const Gradient& g : list) all.push_back(g ? g.dense() : Tensor());
  return all;
}

std::size_t Reads::find(const Source& s) const {
  const auto same = [&](const Source& r) {
    if (r.is_variable() != s.is_variable()) return false;
    return s.is_variable() ? r.variable().id() == s.variable().id() : r.tensor().id() == s.tensor().id();
  };
  return static_cast<std::size_t>(std::find_if(list_.begin(), list_.end(), same) - list_.begin());
}

std::vector<std::size_t> Reads::add(std::span<const Source> sources) {
  std::vector<std::size_t> numbers;
  for (const Source& s : sources) {
    numbers.push_back(find(s));
    if (numbers.back() == list_.size()) list_.push_back(s);
  }
  return numbers;
}

Tensors Reads::values(bool row_major) const {
  Tensors all;
  all.reserve(list_.size());
  for (const Source& s : list_) {
    all.push_back(s.is_variable() ? s.variable().read() : s.tensor());
    if (row_major && s.is_variable()) all.back() = contiguous(all.back());
  }
  return all;
}

void Inputs::take(const tape::Capture& capture) {
  std::vector<Source> list(capture.tensors().begin(), capture.tensors().end());
  for (const Variable& v : capture.variables()) list.emplace_back(v);
  reads = Reads(std::move(list));
  for (const Variable& v : capture.constants()) constants.push_back(v);
  constant_values.assign(capture.constant_values().begin(), capture.constant_values().end());
}

bool Inputs::followed(TensorSpan also) const {
  if (!tape::active()) return false;
  const auto any = [](TensorSpan list) {
    return std::any_of(list.begin(), list.end(), [](const Tensor& x) { return tape::followed(x); });
  };
  return any(arguments) || any(read) || any(also);
}

Tensors Inputs::values() {
  read = reads.values();
  return joined({arguments, read});
}

std::vector<Source> Inputs::sources(TensorSpan run_arguments) const {
  std::vector<Source> list(run_arguments.begin(), run_arguments.end());
  for (const Source& s : reads.list()) list.push_back(s);
  return list;
}

ops::FrozenReads frozen_reads(std::span<const Source> sources, TensorSpan values, std::vector<Variable> constants,
                              Tensors constant_values) {
  for (std::size_t k = 0; k < sources.size(); ++k)
    if (sources[k].is_variable()) {
      constants.push_back(sources[k].variable());
      constant_values.push_back(values[k]);
    }
  return {constants, constant_values};
}

namespace {

bool any_active(bool (*is)(const tape::Tape& t)) {
  for (const tape::Tape* t = tape::top(); t; t = t->below)
    if (is(*t)) return true;
  return false;
}

}  // namespace

bool any_reverse() {
  return any_active(
      [](const tape::Tape& t) { return t.kind == tape::Tape::Kind::reverse || t.kind == tape::Tape::Kind::capture; });
}
bool any_forward() {
  return any_active([](const tape::Tape& t) { return t.kind == tape::Tape::Kind::forward; });
}

void watch_differentiable(GradientTape& tape, std::span<const Source> sources) {
  for (const Source& s : sources)
    if (s.is_variable())
      tape.watch(s.variable());
    else if (is_differentiable(s.tensor().dtype()))
      tape.watch(s.tensor());
}

std::vector<Tensor> identities(std::span<const Tensor> tensors) {
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& x : tensors) list.push_back(identity(x));
  return list;
}

std::vector<Tensor> aliases(std::span<const Tensor> tensors) {
  std::vector<Tensor> list;
  list.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    if (ops::Tracer* tracer = ops::Tracer::current()) [[unlikely]]
      tracer->note(x);
    list.push_back(detail::alias(x));
  }
  return list;
}

std::vector<Gradient> pull_on(GradientTape& tape, std::span<const Tensor> targets, std::span<const Gradient> cotangents,
                              std::span<const Source> sources, std::int64_t rows, std::span<const Gradient> sums) {
  std::vector<Target> reached;
  Gradients seeds;
  for (std::size_t k = 0; k < sums.size(); ++k)
    if (sums[k]) {
      const Source& s = sources[sources.size() - sums.size() + k];
      reached.push_back(s.is_variable() ? Target(s.variable()) : Target(s.tensor()));
      seeds.push_back(sums[k]);
    }
  for (std::size_t k = 0; k < targets.size(); ++k)
    if (is_differentiable(targets[k].dtype())) {
      Shape shape = targets[k].shape();
      if (rows) shape.insert(0, rows);
      reached.emplace_back(targets[k]);
      seeds.push_back(cotangents[k] ? cotangents[k] : Gradient(zeros(shape, targets[k].dtype())));
    }
  tape::Tape& t = GradientTapeAccess::get(tape);
  return as_vector(rows ? replay_together(t, reached, sources, std::move(seeds), rows)
                        : replay(t, reached, sources, {.output_gradients = seeds}));
}

std::vector<std::size_t> order_of_cotangents(std::size_t variables, std::size_t results) {
  std::vector<std::size_t> order;
  for (std::size_t k = variables; k < results; ++k) order.push_back(k);
  for (std::size_t k = variables; k-- > 0;) order.push_back(k);
  return order;
}

MovedSources collect_moved(std::span<const Source> sources, std::span<const Tensor> tangents) {
  MovedSources moved;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (tangents[i].defined()) {
      moved.sources.push_back(sources[i]);
      moved.tangents.push_back(tangents[i]);
    }
  return moved;
}

namespace {

// While it lives, a function reads and draws what it did in its first run.
struct RunAgain {
  ops::Draws draws;
  ops::DrawsScope same_numbers{draws, ops::DrawsScope::Mode::replay};
  ops::FrozenReads same_values;
  explicit RunAgain(const Inputs& inputs) : draws(inputs.draws), same_values(inputs.same_reads()) {}
  Tensors operator()(const detail::FlatFunction& f, TensorSpan arguments) {
    const ops::AssignedBefore done(same_values);
    return f(arguments);
  }
};

Tensors select_defined(TensorSpan list) {
  Tensors some;
  for (const Tensor& x : list)
    if (x.defined()) some.push_back(x);
  return some;
}

}  // namespace

Tensors Composite::first_run(TensorSpan arguments, const Run& run) {
  inputs.arguments.assign(arguments.begin(), arguments.end());
  tape::Capture capture;
  const ops::DrawsScope noted(inputs.draws, ops::DrawsScope::Mode::note);
  Tensors results = run(aliases(arguments), capture);
  capture.note(results);  // a result may be a captured tensor itself
  inputs.take(capture);
  return results;
}

Tensors Composite::record(const std::shared_ptr<Composite>& c, TensorSpan results) {
  const Tensors outputs = aliases(results);
  ManyBackward many;
  if (c->like.empty()) many = [c](std::span<const Gradient> g, std::int64_t rows) { return c->pull(g, rows); };
  record_function(
      c->name, c->inputs.values(), outputs, [c](std::span<const Gradient> g) { return c->pull(g, 0); },
      [c](TensorSpan t) { return c->push(t); }, {}, std::move(many));
  return outputs;
}

std::vector<Gradient> Composite::pull(std::span<const Gradient> g, std::int64_t rows) {
  const Tensors seeds = dense_all(g);
  if (!inputs.followed(select_defined(seeds))) return pull_unfollowed(g, rows);
  return like.empty() ? pull_followed(g, rows) : as_gradients(derivative_as_entry(seeds, true));
}

Tensors Composite::push(TensorSpan t) {
  return !like.empty() && inputs.followed(select_defined(t)) ? derivative_as_entry(t, false) : push_again(t);
}

std::vector<Gradient> Composite::pull_again(std::span<const Gradient> g, std::int64_t rows) {
  RunAgain run(inputs);
  GradientTape tape({.watch_accessed_variables = false});
  const Tensors arguments = identities(inputs.arguments);
  const std::vector<Source> sources = inputs.sources(arguments);
  watch_differentiable(tape, sources);
  inputs.reads.values();  // tapes give values ids of their own, which steps of loops have to know as captured
  const Tensors results = run([this](TensorSpan x) { return run_again(x); }, arguments);
  if (results.size() != g.size())
    fail<ValueError>(name, "the function gave {} tensors when it was run again for its derivative, {} before",
                     results.size(), g.size());
  return pull_on(tape, results, g, sources, rows);
}

Tensors Composite::push_again(TensorSpan tangents) {
  RunAgain run(inputs);
  const Tensors arguments = identities(inputs.arguments);
  const MovedSources moved = collect_moved(inputs.sources(arguments), tangents);
  const ForwardAccumulator accumulator(moved.sources, moved.gradients());
  const Tensors results = run([this](TensorSpan x) { return run_again(x); }, arguments);
  std::vector<Gradient> list;
  for (const Tensor& y : results) list.push_back(accumulator.jvp(y));
  return dense_all(list);
}

Tensors Composite::derivative_as_entry(TensorSpan directions, bool pulls) const {
  const auto derive = [c = Composite(*this), pulls](TensorSpan run_arguments, TensorSpan along) {
    Composite here = c;
    here.inputs.arguments.assign(run_arguments.begin(), run_arguments.end());
    return pulls ? dense_all(here.pull_again(as_gradients(along), 0)) : here.push_again(along);
  };
  const ops::FrozenReads same_values = inputs.same_reads();
  return run_recomputed_derivative(name, derive, inputs.arguments, directions,
                                   pulls ? abstract_like(joined({inputs.arguments, inputs.read})) : like);
}

Tensor ImplicitEntry::record(const char* name, const std::shared_ptr<ImplicitEntry>& entry, Tensors arguments,
                             const Find& find) {
  entry->inputs.arguments = std::move(arguments);
  {
    tape::Capture capture;
    // New handles, so that arguments do not count as captured tensors.
    entry->result = detail::alias(find(aliases(entry->inputs.arguments)));
    entry->inputs.take(capture);
  }
  record_function(
      name, entry->inputs.values(), {&entry->result, 1},
      [entry](std::span<const Gradient> g) { return entry->vjp(g[0].dense()); },
      [entry](TensorSpan t) { return Tensors{entry->jvp(t)}; });
  return entry->result;
}

std::vector<Gradient> ImplicitEntry::vjp_of(std::span<const Source> sources, const Callback<Tensor()>& f,
                                            const Tensor& cotangent) {
  if (sources.empty()) return {};
  GradientTape tape({.watch_accessed_variables = false});
  watch_differentiable(tape, sources);
  const Tensor results[] = {f()};
  const Gradient cotangents[] = {Gradient(cotangent)};
  return pull_on(tape, results, cotangents, sources);
}

Tensor ImplicitEntry::jvp_of(const Callback<Tensor()>& f, TensorSpan tangents) const {
  const MovedSources moved = collect_moved(inputs.sources({}), tangents);
  if (moved.sources.empty()) return {};
  const ForwardAccumulator accumulator(moved.sources, moved.gradients());
  const Gradient t = accumulator.jvp(f());
  return t ? t.dense() : Tensor();
}

}  // namespace autodiff

using namespace autodiff;

namespace {

// A function that keeps the record of its ops.
struct RecordedComposite final : Composite {
  using Composite::Composite;
  std::unique_ptr<GradientTape> tape = {};
  Tensors arguments = {}, results = {};  // of the recorded run

  Tensors run(const detail::FlatFunction& first, TensorSpan x, tape::Capture& capture) {
    tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true, .watch_accessed_variables = false});
    arguments.assign(x.begin(), x.end());
    watch_differentiable(*tape, inputs.sources(arguments));
    capture.watch_on(&GradientTapeAccess::get(*tape));
    results = contiguous_all(first(x));
    capture.note(results);
    tape->stop();
    return results;
  }
  std::vector<Gradient> pull_unfollowed(std::span<const Gradient> g, std::int64_t rows) override {
    return pull_on(*tape, results, g, inputs.sources(arguments), rows);
  }
};

}  // namespace

namespace detail {

std::vector<Tensor> composite(const char* name, const FlatFunction& first, FlatFunction again,
                              std::span<const Tensor> arguments, Keep keep) {
  // One instruction whether or not a tape is there: the derivative of a program traces the same instructions.
  if (keep == Keep::inputs && ops::Tracer::current()) return trace_checkpoint(name, first, again, arguments);
  // Results are made contiguous, as in a program: the order in which a sum adds depends on strides.
  if (!any_tape()) return contiguous_all(first(aliases(arguments)));
  if (keep == Keep::inputs) {
    const auto c = std::make_shared<autodiff::Composite>(name, std::move(again));
    return c->record(
        c, c->first_run(arguments, [&](TensorSpan x, const tape::Capture&) { return contiguous_all(first(x)); }));
  }
  const auto c = std::make_shared<RecordedComposite>(name, std::move(again));
  return c->record(
      c, c->first_run(arguments, [&](TensorSpan x, tape::Capture& capture) { return c->run(first, x, capture); }));
}

}  // namespace detail

namespace autodiff {

namespace {

// The last `terms` arguments are replaced by zeros without memory once the tapes know the entry.
Tensors run_recomputed(const char* name, const detail::FlatFunction& f, TensorSpan arguments, std::size_t terms) {
  if (!any_tape()) return f(arguments);
  const auto c = std::make_shared<Composite>(name, f);
  Tensors results = c->first_run(arguments, [&](TensorSpan x, const tape::Capture&) { return f(x); });
  c->like = abstract_like(results);
  results = c->record(c, results);
  const tape::Suspend unrecorded;
  for (Tensor& x : std::span(c->inputs.arguments).last(terms)) x = broadcast_to(zeros({}, x.dtype()), x.shape());
  return results;
}

}  // namespace

Tensors run_recomputed(const char* name, const detail::FlatFunction& f, TensorSpan arguments) {
  return run_recomputed(name, f, arguments, 0);
}

Tensors run_recomputed_derivative(const char* name, const DerivativeFunction& f, TensorSpan arguments,
                                  TensorSpan directions, const Tensors& like, std::size_t terms) {
  const auto exists = std::make_shared<std::vector<bool>>();
  std::vector<bool> given;
  for (const Tensor& d : directions) given.push_back(d.defined());
  const detail::FlatFunction of_defined = [f, like, exists, given, count = arguments.size()](TensorSpan y) {
    Tensors along(given.size());
    for (std::size_t k = 0, next = count; k < given.size(); ++k)
      if (given[k]) along[k] = y[next++];
    const Tensors all = f(y.first(count), along);
    std::vector<Derived> list;
    for (std::size_t i = 0; i < all.size(); ++i) list.push_back({all[i], like[i].dtype(), like[i].shape()});
    return existing(list, *exists);
  };
  Tensors some = run_recomputed(name, of_defined, joined({arguments, select_defined(directions)}),
                                select_defined(directions.last(terms)).size());
  const detail::List<Tensor> list = with_gaps(some, *exists);
  return {list.begin(), list.end()};
}

}  // namespace autodiff

}  // namespace reel
