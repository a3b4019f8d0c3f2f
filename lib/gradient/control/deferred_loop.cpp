// Loops as deferred calls: runs, and gradients by a walk back over the steps. Tangents come from a second loop, whose
// further variables are the tangents of the first.
#include "gradient/control/deferred_loop.hpp"

#include <reel/ops/make.hpp>

#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "program/run/token.hpp"

namespace reel::autodiff {

namespace {

std::ptrdiff_t offset(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }

}  // namespace

DeferredLoop::DeferredLoop(const detail::FlatLoop& l, const LoopOptions& o, const Body& b, const std::optional<Body>& c,
                           std::size_t columns)
    : loop(l),
      options(o),
      body(b),
      condition(c),
      xs(columns),
      reads(add_reads()),
      early_reads(reads.size()),
      program(shape(), programs()) {}

Reads DeferredLoop::add_reads() {
  Reads all;
  body.add_to(all);
  if (condition) condition->add_to(all);
  return all;
}

program::Loop::Shape DeferredLoop::shape() const {
  return {.variables = loop.variables,
          .rows = xs,
          .step_reads = {body.reads().begin(), body.reads().end()},
          .condition_reads = condition ? std::vector<std::size_t>(condition->reads().begin(), condition->reads().end())
                                       : std::vector<std::size_t>(),
          .outputs = body.results().size() - loop.variables,
          .steps = loop.steps,
          .most_steps = options.max_iterations,
          .memory_budget = options.memory_budget};
}
program::Loop::Programs DeferredLoop::programs() const {
  return {&body.traced().executable(), condition ? &condition->traced().executable() : nullptr};
}

Tensors DeferredLoop::results() const {
  Tensors list = body.results();
  for (std::size_t k = loop.variables; k < list.size(); ++k) {
    Shape stacked = list[k].shape();
    stacked.insert(0, loop.steps);
    list[k] = ops::abstract(list[k].dtype(), stacked);
  }
  return list;
}

std::size_t DeferredLoop::source_of(std::size_t input) const {
  if (input < reads_at()) return input;
  if (input >= arguments()) return captured_sources[input - arguments()];
  const std::size_t own = body.own_read(input - reads_at());
  return own == Body::none ? own : reads_at() + own;
}

Tensors DeferredLoop::operator()(TensorSpan x) const {
  const Tensors read(x.begin() + offset(reads_at()), x.begin() + offset(arguments()));
  detail::FlatLoop now{.name = loop.name};
  now.variables = loop.variables;
  now.steps = loop.steps;
  now.step = [this, read](TensorSpan state, TensorSpan row) {
    Tensors all(state.begin(), state.end());
    add_all(all, row);
    return body(all, read);
  };
  if (condition)
    now.more = [this, read](TensorSpan state) { return detail::truth(loop.name, (*condition)(state, read)[0]); };
  return detail::run_loop(now, x.first(loop.variables), x.subspan(loop.variables, xs), options);
}

void DeferredLoop::compute(TensorSpan x, TensorSpan outputs, Tensor* token) const {
  if (!token) return program.run(x, outputs, nullptr);
  const auto record = std::allocate_shared<program::LoopRecord>(detail::PoolAllocator<program::LoopRecord>());
  program.run(x, outputs, record.get());
  *token = program::make_token(record);
}

void DeferredLoop::pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
                        TensorSpan gradients) const {
  detail::List<std::size_t> sources;
  detail::List<Tensor> written;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t source = source_of(wanted[k]);
    if (source == Body::none)
      loops::copy(zeros_like(gradients[k]), gradients[k]);
    else {
      sources.push_back(source);
      written.push_back(gradients[k]);
    }
  }
  program.pull(x, *program::held_by<program::LoopRecord>(token), cotangents, sources, written);
}

// The gradient of the step, for the walk back.
void DeferredLoop::set_gradient(std::shared_ptr<const Pullback> p) {
  for (const Tensor& x : captured) {
    const auto at =
        std::find_if(p->captured.begin(), p->captured.end(), [&](const Tensor& c) { return c.id() == x.id(); });
    captured_sources.push_back(
        at == p->captured.end() ? Body::none : body.inputs() + static_cast<std::size_t>(at - p->captured.begin()));
  }
  program.set_gradient({.forward = p->forward.get(),
                        .backward = p->backward.get(),
                        .seeded = p->seeded,
                        .exists = p->exists,
                        .summed = p->summed,
                        .late_reads = reads.add(p->late_reads),
                        .residuals = p->residuals});
  pullback = std::move(p);
}

// As Deferred::connected. Dependencies close over iterations: a variable depends on all that the variables it reads
// depend on.
std::vector<bool> DeferredLoop::connected(std::size_t inputs, std::size_t results) const {
  const std::vector<bool>& once = body.connected();
  std::vector<bool> list(results * inputs);
  for (std::size_t k = 0; k < results; ++k) {
    for (std::size_t i = arguments(); i < inputs; ++i)
      list[k * inputs + i] = true;                        // captured tensors: not known, so assumed
    if (k < loop.variables) list[k * inputs + k] = true;  // a loop may have no iterations
    for (std::size_t i = 0; i < arguments(); ++i)
      if (const std::size_t own = source_of(i); own != Body::none && once[k * body.inputs() + own])
        list[k * inputs + i] = true;
  }
  for (std::size_t round = 0; round < loop.variables; ++round)
    for (std::size_t k = 0; k < results; ++k)
      for (std::size_t j = 0; j < loop.variables; ++j)
        if (list[k * inputs + j])
          for (std::size_t i = 0; i < inputs; ++i)
            if (list[j * inputs + i]) list[k * inputs + i] = true;
  return list;
}

std::unique_ptr<Deferred> DeferredLoop::deferred(const std::shared_ptr<const DeferredLoop>& run) {
  auto made = std::make_unique<Deferred>();
  made->name = run->loop.name;
  made->arguments = run->arguments();
  made->late = from(run->reads.list(), run->early_reads);
  made->captured = run->captured;
  made->outputs = kinds_of(run->results());
  made->may_throw = run->body.may_throw() || (run->condition && run->condition->may_throw());
  if (run->condition) add_part(*made, "condition", *run->condition);
  add_part(*made, "body", run->body);
  made->connected = run->connected(made->inputs(), made->outputs.size());
  made->run = [run](TensorSpan x) { return (*run)(x); };
  made->compute = [run](TensorSpan x, TensorSpan outputs, Tensor* token) { run->compute(x, outputs, token); };
  if (run->pullback)
    made->pull = [run](TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
                       TensorSpan gradients) { run->pull(x, token, cotangents, wanted, gradients); };
  if (run->tangents) made->with_tangents = [run](TensorSpan x, TensorSpan along) { return run->push(x, along); };
  return made;
}

Levels Levels::now() {
  Levels levels;
  for (const tape::Tape* t = tape::top(); t; t = t->below) {
    levels.all += t->kind != tape::Tape::Kind::observer;
    levels.forward += t->kind == tape::Tape::Kind::forward;
  }
  return levels;
}

// ---- Tangents

namespace {

// Finds the inputs of the loop that may have tangents, in the order variables, rows, shared. Returns the index of each
// among the sources of the body.
std::vector<std::size_t> find_sources(const DeferredLoop& of, const std::vector<bool>& followed,
                                      LoopWithTangents& found) {
  std::vector<std::size_t> sources;
  const Tensors variables = of.body.results();
  for (std::size_t i = 0; i < of.body.inputs(); ++i) {
    const bool is_variable = i < of.loop.variables;
    if (is_variable ? !is_differentiable(variables[i].dtype()) : !followed[i]) continue;
    if (i < of.reads_at())
      (is_variable ? found.variables : found.rows).push_back(i);
    else
      found.shared.push_back(of.reads_at() + of.body.reads()[i - of.reads_at()]);
    sources.push_back(i);
  }
  const Tensors by = of.body.traced().followed_captured();
  for (std::size_t k = 0; k < by.size(); ++k)
    for (std::size_t c = 0; c < of.captured.size(); ++c)
      if (of.captured[c].id() == by[k].id()) {
        found.shared.push_back(of.arguments() + c);
        sources.push_back(of.body.inputs() + k);
      }
  return sources;
}

// Abstract tensors like the inputs with these indices, in the shapes that the body gets: rows without their first axis.
Tensors examples_of(const DeferredLoop& of, std::span<const std::size_t> numbers) {
  const program::Program& p = of.body.traced().program();
  Tensors list;
  for (const std::size_t i : numbers)
    list.push_back(i < of.arguments() ? p.values[p.arguments[of.source_of(i)]].tensor
                                      : of.captured[i - of.arguments()]);
  return abstract_like(list);
}

// The loop whose step also carries tangents.
detail::FlatLoop flat_with_tangents(const DeferredLoop& of, const LoopWithTangents& t, detail::FlatFunction step) {
  detail::FlatLoop with = of.loop;
  const std::size_t n = of.loop.variables, rows = of.xs, moving = t.variables.size(), all = of.body.results().size();
  with.variables = n + moving + t.shared.size();
  if (of.loop.condition)
    with.condition = [condition = of.loop.condition, n](TensorSpan x) { return condition(x.first(n)); };
  with.step = [step = std::move(step), n, rows, moving, all](TensorSpan state, TensorSpan row) {
    const TensorSpan shared = state.subspan(n + moving);
    Tensors x(state.begin(), state.begin() + offset(n));
    for (const TensorSpan more : {row.first(rows), state.subspan(n, moving), row.subspan(rows), shared})
      add_all(x, more);
    const Tensors made = step(x);
    const TensorSpan y(made);
    Tensors results;
    for (const TensorSpan more :
         {y.first(n), y.subspan(all, moving), shared, y.subspan(n, all - n), y.subspan(all + moving)})
      add_all(results, more);
    return results;
  };
  return with;
}

std::shared_ptr<const LoopWithTangents> trace_tangents(const DeferredLoop& of, const std::vector<bool>& followed,
                                                       const Levels& levels) {
  auto made = std::make_shared<LoopWithTangents>();
  const std::vector<std::size_t> sources = find_sources(of, followed, *made);
  const detail::FlatLoop loop = flat_with_tangents(of, *made, of.body.traced().with_tangents(followed, sources));
  std::vector<std::size_t> numbers(of.reads_at());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  const Tensors plain = examples_of(of, numbers);
  Tensors variables(plain.begin(), plain.begin() + offset(of.loop.variables));
  Tensors rows(plain.begin() + offset(of.loop.variables), plain.end());
  add_all(variables, examples_of(of, made->variables));
  add_all(variables, examples_of(of, made->shared));
  add_all(rows, examples_of(of, made->rows));
  const std::optional<Body> condition = trace_condition(loop, variables);
  const auto run =
      std::make_shared<DeferredLoop>(loop, of.options, trace_body(loop, variables, rows), condition, rows.size());
  std::vector<bool> all_followed;
  for (const Tensor& x : variables) all_followed.push_back(is_differentiable(x.dtype()));
  for (std::size_t k = 0; k < rows.size(); ++k) all_followed.push_back(k >= of.xs || followed[of.loop.variables + k]);
  const Tensors read = run->reads.values(true);
  for (const bool is : followed_of(chosen(read, run->body.reads()))) all_followed.push_back(is);
  run->body.reveal(run->captured);
  if (condition) condition->reveal(run->captured);
  run->prepare(all_followed, levels);
  made->loop = run;
  return made;
}

// The results of the loop, and then their tangents, among those of the loop with tangents, y: variables, tangents of
// variables and of shared arguments, outputs, tangents of outputs. Results that are not differentiable have none.
Tensors results_and_tangents(const DeferredLoop& d, TensorSpan y) {
  const LoopWithTangents& t = *d.tangents;
  const Tensors like = d.results();
  const std::size_t n = d.loop.variables, moving = t.variables.size(), outputs_at = n + moving + t.shared.size();
  const std::size_t outputs = like.size() - n;
  Tensors list;
  add_all(list, y.first(n));
  add_all(list, y.subspan(outputs_at, outputs));
  std::size_t variable = n, output = outputs_at + outputs;
  for (std::size_t k = 0; k < like.size(); ++k) {
    const bool has = is_differentiable(like[k].dtype());
    list.push_back(has ? y[k < n ? variable++ : output++] : Tensor());
  }
  return list;
}
}  // namespace

void DeferredLoop::prepare(const std::vector<bool>& followed, const Levels& levels) {
  if (auto p = body.traced().prepare_step(followed, loop.variables)) set_gradient(std::move(p));
  if (!levels.need_tangents()) return;
  tangents = trace_tangents(*this, followed, levels.without_one());
  reads.add(tangents->loop->reads.list());
}

std::optional<Tensors> DeferredLoop::push(TensorSpan x, TensorSpan along) const {
  const LoopWithTangents& t = *tangents;
  std::vector<bool> moves(along.size());
  for (const auto* numbers : {&t.variables, &t.rows, &t.shared})
    for (const std::size_t i : *numbers) moves[i] = true;
  for (std::size_t i = 0; i < along.size(); ++i)
    if (along[i].defined() && !moves[i] && source_of(i) != Body::none) return {};
  Tensors all(x.begin(), x.begin() + offset(loop.variables));
  const auto add = [&](std::span<const std::size_t> numbers) {
    for (const std::size_t i : numbers) {
      const Tensor& like = i < x.size() ? x[i] : captured[i - x.size()];
      all.push_back(along[i].defined() ? along[i] : zeros(like.shape(), like.dtype()));
    }
  };
  add(t.variables);
  add(t.shared);
  add_all(all, x.subspan(loop.variables, xs));
  add(t.rows);
  for (const Source& s : t.loop->reads.list()) all.push_back(x[reads_at() + reads.find(s)]);
  return results_and_tangents(*this, call_deferred(deferred(t.loop), all));
}

// ---- Tracing

void check_condition(const char* name, const Tensor& predicate) {
  if (predicate.size() != 1)
    fail<ShapeError>(name, "the condition has shape {}; it must have one element: use all or any", predicate.shape());
}

std::optional<Body> trace_condition(const detail::FlatLoop& loop, TensorSpan variables) {
  std::optional<Body> condition;
  if (!loop.condition) return condition;
  condition.emplace(loop.name, loop.condition, variables);
  check_condition(loop.name, condition->results()[0]);
  if (condition->effects().size() > 0)
    fail<TraceError>(loop.name,
                     "its condition assigns a variable or draws random numbers; do so in the body, and make what the "
                     "condition needs of it a loop variable");
  return condition;
}

Body trace_body(const detail::FlatLoop& loop, TensorSpan variables, TensorSpan rows) {
  Tensors examples(variables.begin(), variables.end());
  add_all(examples, rows);
  return Body(
      loop.name,
      [step = loop.step, count = loop.variables](TensorSpan x) {
        return contiguous_all(step(x.first(count), x.subspan(count)));
      },
      examples);
}

}  // namespace reel::autodiff
