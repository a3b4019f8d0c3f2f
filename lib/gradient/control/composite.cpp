// Functions recorded as single entries.
#include "gradient/control/composite.hpp"

#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>
#include <reel/registry.hpp>

#include "core/fail.hpp"
#include "gradient/control/compiled.hpp"
#include "gradient/gradient.hpp"
#include "ops/apply/operation.hpp"
#include "tape/capture.hpp"

namespace reel {

namespace autodiff {

void Inputs::take(const tape::Capture& capture) {
  captured.assign(capture.tensors().begin(), capture.tensors().end());
  for (const Variable& v : capture.variables()) variables.push_back(v);
  for (const Variable& v : capture.constants()) constants.push_back(v);
  constant_values.assign(capture.constant_values().begin(), capture.constant_values().end());
}

bool Inputs::followed(std::span<const Tensor> also) const {
  if (!tape::active()) return false;
  using List = std::span<const Tensor>;
  for (const List list : {List(arguments), List(captured), List(read), also})
    for (const Tensor& x : list)
      if (tape::followed(x)) return true;
  return false;
}

std::vector<Tensor> Inputs::values() {
  read.clear();
  for (const Variable& v : variables) read.push_back(v.read());
  std::vector<Tensor> list(arguments);
  list.insert(list.end(), captured.begin(), captured.end());
  list.insert(list.end(), read.begin(), read.end());
  return list;
}

std::vector<Source> Inputs::sources(std::span<const Tensor> run_arguments) const {
  std::vector<Source> list(run_arguments.begin(), run_arguments.end());
  for (const Tensor& x : captured) list.emplace_back(x);
  for (const Variable& v : variables) list.emplace_back(v);
  return list;
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

namespace {
std::vector<Tensor> run_again(const detail::FlatFunction& f, const Inputs& inputs, std::span<const Tensor> arguments) {
  const ops::AssignedBefore done(inputs.variables, inputs.constants);
  return f(arguments);
}
void check_results(const char* name, std::size_t found, std::size_t expected) {
  if (found != expected)
    fail<ValueError>(name, "the function gave {} tensors when it was run again for its derivative, {} before", found,
                     expected);
}
}  // namespace

std::vector<Gradient> pull_again(const char* name, const detail::FlatFunction& f, const Inputs& inputs,
                                 std::span<const Gradient> cotangents, std::int64_t rows) {
  ops::Draws draws = inputs.draws;
  const ops::DrawsScope same_numbers(draws, ops::DrawsScope::Mode::replay);
  const ops::FrozenReads same_constants(inputs.constants, inputs.constant_values);
  const ops::FrozenReads same_values(inputs.variables, inputs.read);
  GradientTape tape({.watch_accessed_variables = false});
  const std::vector<Tensor> arguments = identities(inputs.arguments);
  const std::vector<Source> sources = inputs.sources(arguments);
  watch_differentiable(tape, sources);
  const std::vector<Tensor> results = run_again(f, inputs, arguments);
  check_results(name, results.size(), cotangents.size());
  return pull_on(tape, results, cotangents, sources, rows);
}

MovedSources moved_sources(std::span<const Source> sources, std::span<const Tensor> tangents) {
  MovedSources moved;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (tangents[i].defined()) {
      moved.sources.push_back(sources[i]);
      moved.tangents.push_back(tangents[i]);
    }
  return moved;
}

std::vector<Tensor> push_again(const detail::FlatFunction& f, const Inputs& inputs, std::span<const Tensor> tangents) {
  ops::Draws draws = inputs.draws;
  const ops::DrawsScope same_numbers(draws, ops::DrawsScope::Mode::replay);
  const ops::FrozenReads same_constants(inputs.constants, inputs.constant_values);
  const ops::FrozenReads same_values(inputs.variables, inputs.read);
  const std::vector<Tensor> arguments = identities(inputs.arguments);
  const MovedSources moved = moved_sources(inputs.sources(arguments), tangents);
  const ForwardAccumulator accumulator(moved.sources, moved.gradients());
  const std::vector<Tensor> results = run_again(f, inputs, arguments);
  std::vector<Tensor> list;
  for (const Tensor& y : results)
    if (const Gradient t = accumulator.jvp(y))
      list.push_back(t.dense());
    else
      list.emplace_back();
  return list;
}

namespace {

// The defined elements of a list. The first run of a function decides which are defined; an element that is empty in a
// later run is zero.
std::vector<Tensor> without_gaps(std::span<const Tensor> list, std::vector<bool>& exists,
                                 std::span<const Tensor> like) {
  if (exists.empty())
    for (const Tensor& x : list) exists.push_back(x.defined());
  std::vector<Tensor> some;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (exists[i]) some.push_back(list[i].defined() ? list[i] : zeros(like[i].shape(), like[i].dtype()));
  return some;
}

// Shared by the rules of one entry.
struct CompositeRun {
  const char* name;
  detail::FlatFunction again;
  Inputs inputs;
  bool recomputed = false;        // a derivative that is differentiated is an entry, too
  std::vector<Tensor> like = {};  // in that case: abstract results
  // With Keep::record, the tape of the function, its arguments and its results.
  std::unique_ptr<GradientTape> tape = {};
  std::vector<Tensor> run_arguments = {}, run_results = {};

  // `rows`: see pull_on; 0 if a derivative that is differentiated is an entry.
  std::vector<Gradient> pull(std::span<const Gradient> g, std::int64_t rows = 0) {
    std::vector<Tensor> seeds;
    for (const Gradient& d : g)
      if (d) seeds.push_back(d.dense());
    const bool followed = inputs.followed(seeds);
    if (recomputed && followed) return pull_as_entry(g);
    if (!tape || followed) return pull_again(name, again, inputs, g, rows);
    return pull_on(*tape, run_results, g, inputs.sources(run_arguments), rows);
  }
  std::vector<Tensor> push(std::span<const Tensor> t) {
    std::vector<Tensor> defined;
    for (const Tensor& one : t)
      if (one.defined()) defined.push_back(one);
    return recomputed && inputs.followed(defined) ? push_as_entry(t) : push_again(again, inputs, t);
  }

 private:
  // The derivative `compute` along given directions, as an entry whose arguments are the function's and the directions,
  // and whose results have these shapes.
  using Compute = Callback<std::vector<Tensor>(const Inputs& at, std::span<const Tensor> directions)>;
  std::vector<Tensor> derivative_as_entry(std::span<const Tensor> directions, const Compute& compute,
                                          const std::vector<Tensor>& shapes) const {
    const std::size_t count = inputs.arguments.size();
    std::vector<Tensor> x(inputs.arguments);
    std::vector<bool> given;
    for (const Tensor& d : directions) {
      given.push_back(d.defined());
      if (d.defined()) x.push_back(d);
    }
    const auto exists = std::make_shared<std::vector<bool>>();
    const detail::FlatFunction f = [compute, shapes, exists, given, count, at = inputs](std::span<const Tensor> y) {
      Inputs here = at;
      here.arguments.assign(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count));
      std::vector<Tensor> all(given.size());
      std::size_t next = count;
      for (std::size_t k = 0; k < given.size(); ++k)
        if (given[k]) all[k] = y[next++];
      return without_gaps(compute(here, all), *exists, shapes);
    };
    const ops::FrozenReads same_constants(inputs.constants, inputs.constant_values);
    const ops::FrozenReads same_values(inputs.variables, inputs.read);
    const std::vector<Tensor> some = autodiff::recomputed(name, f, x);
    std::vector<Tensor> list(exists->size());
    for (std::size_t i = 0, next = 0; i < list.size(); ++i)
      if ((*exists)[i]) list[i] = some[next++];
    return list;
  }
  std::vector<Gradient> pull_as_entry(std::span<const Gradient> g) const {
    std::vector<Tensor> seeds;
    for (const Gradient& d : g) seeds.push_back(d ? d.dense() : Tensor());
    std::vector<Tensor> shapes;
    for (const std::vector<Tensor>* list : {&inputs.arguments, &inputs.captured, &inputs.read})
      for (const Tensor& x : *list) shapes.push_back(ops::abstract(x.dtype(), x.shape()));
    const auto compute = [called = name, f = again](const Inputs& at, std::span<const Tensor> directions) {
      std::vector<Gradient> cotangents;
      for (const Tensor& d : directions) cotangents.push_back(d.defined() ? Gradient(d) : Gradient());
      std::vector<Tensor> list;
      for (const Gradient& d : pull_again(called, f, at, cotangents)) list.push_back(d ? d.dense() : Tensor());
      return list;
    };
    std::vector<Gradient> result;
    for (const Tensor& d : derivative_as_entry(seeds, compute, shapes))
      result.push_back(d.defined() ? Gradient(d) : Gradient());
    return result;
  }
  std::vector<Tensor> push_as_entry(std::span<const Tensor> t) const {
    const auto compute = [f = again](const Inputs& at, std::span<const Tensor> directions) {
      return push_again(f, at, directions);
    };
    return derivative_as_entry(t, compute, like);
  }
};

// Records the run of a function, whose arguments and read values are inputs of the entry.
std::vector<Tensor> record_run(const std::shared_ptr<CompositeRun>& c, std::span<const Tensor> results) {
  const std::vector<Tensor> outputs = aliases(results);
  ManyBackward many;
  if (!c->recomputed) many = [c](std::span<const Gradient> g, std::int64_t rows) { return c->pull(g, rows); };
  record_function(
      c->name, c->inputs.values(), outputs, [c](std::span<const Gradient> g) { return c->pull(g); },
      [c](std::span<const Tensor> t) { return c->push(t); }, {}, std::move(many));
  return outputs;
}

}  // namespace

}  // namespace autodiff

using namespace autodiff;

namespace detail {

std::vector<Tensor> composite(const char* name, const FlatFunction& first, FlatFunction again,
                              std::span<const Tensor> arguments, Keep keep) {
  // Results are made contiguous, as in a program: the order in which a sum adds depends on strides.
  const auto run = [&](std::span<const Tensor> x) {
    std::vector<Tensor> results = first(x);
    for (Tensor& y : results) y = contiguous(y);
    return results;
  };
  if (!tape::active()) return run(aliases(arguments));
  if (keep == Keep::inputs && ops::Tracer::current()) return trace_checkpoint(name, first, again, arguments);
  auto c = std::make_shared<CompositeRun>();
  c->name = name;
  c->again = std::move(again);
  c->inputs.arguments.assign(arguments.begin(), arguments.end());
  std::vector<Tensor> results;
  {
    tape::Capture capture;
    const ops::DrawsScope noted(c->inputs.draws, ops::DrawsScope::Mode::note);
    c->run_arguments = aliases(arguments);
    if (keep == Keep::record) {
      c->tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true, .watch_accessed_variables = false});
      watch_differentiable(*c->tape, c->inputs.sources(c->run_arguments));
      capture.watch_on(&GradientTapeAccess::get(*c->tape));
    }
    results = run(c->run_arguments);
    capture.note(results);  // a result may be a captured tensor itself
    if (c->tape) c->tape->stop();
    c->inputs.take(capture);
  }
  if (c->tape)
    c->run_results = results;
  else
    c->run_arguments.clear();
  return record_run(c, results);
}

}  // namespace detail

namespace autodiff {

std::vector<Tensor> recomputed(const char* name, const detail::FlatFunction& f, std::span<const Tensor> arguments) {
  if (!tape::active()) return f(arguments);
  const auto c = std::make_shared<CompositeRun>();
  c->name = name;
  c->again = f;
  c->recomputed = true;
  c->inputs.arguments.assign(arguments.begin(), arguments.end());
  std::vector<Tensor> results;
  {
    tape::Capture capture;
    const ops::DrawsScope noted(c->inputs.draws, ops::DrawsScope::Mode::note);
    results = f(aliases(arguments));
    capture.note(results);  // a result may be a captured tensor itself
    c->inputs.take(capture);
  }
  for (const Tensor& y : results) c->like.push_back(ops::abstract(y.dtype(), y.shape()));
  return record_run(c, results);
}

}  // namespace autodiff

}  // namespace reel
