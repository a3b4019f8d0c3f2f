// Loops as deferred calls: runs, and gradients by a walk back over the steps. Tangents come from a second loop, whose
// further variables are the tangents of the first.
#include "gradient/control/deferred_loop.hpp"

#include <algorithm>
#include <reel/ops/make.hpp>

#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "program/run/token.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

namespace {

constexpr const char* body_names[] = {"body", "condition"};

}  // namespace

Levels Levels::now() {
  Levels levels;
  for (const tape::Tape* t = tape::top(); t; t = t->below) {
    levels.all += t->kind != tape::Tape::Kind::observer;
    levels.forward += t->kind == tape::Tape::Kind::forward;
  }
  return levels;
}

DeferredLoop::DeferredLoop(const detail::FlatLoop& loop, const LoopOptions& options, const std::vector<Body>& bodies,
                           std::size_t xs)
    : BodyCall(loop.name, bodies, body_names, 1, loop.variables + xs),
      loop_(loop),
      options_(options),
      xs_(xs),
      program_(shape(), programs()) {
  outputs = step().results();
  for (std::size_t k = loop.variables; k < outputs.size(); ++k) {
    Shape stacked = outputs[k].shape();
    stacked.insert(0, loop.steps);
    outputs[k] = ops::abstract(outputs[k].dtype(), stacked);
  }
}

program::Loop::Shape DeferredLoop::shape() const {
  std::vector<std::size_t> reads[2];
  for (std::size_t b = 0; b < bodies_.size(); ++b)
    reads[b].assign(bodies_[b].reads().begin(), bodies_[b].reads().end());
  return {.variables = loop_.variables,
          .rows = xs_,
          .step_reads = reads[0],
          .condition_reads = reads[1],
          .outputs = step().results().size() - loop_.variables,
          .steps = loop_.steps,
          .most_steps = options_.max_iterations,
          .memory_budget = options_.memory_budget};
}
program::Loop::Programs DeferredLoop::programs() const {
  return {&step().traced().executable(), bodies_.size() > 1 ? &bodies_[1].traced().executable() : nullptr};
}

Tensors DeferredLoop::run(TensorSpan x) const {
  detail::FlatLoop now{.name = name};
  now.variables = loop_.variables;
  now.steps = loop_.steps;
  const Tensors list(read(x).begin(), read(x).end());
  now.step = [this, list](TensorSpan state, TensorSpan row) { return step()(joined({state, row}), list); };
  if (bodies_.size() > 1)
    now.more = [this, list](TensorSpan state) { return detail::truth(name, bodies_[1](state, list)[0]); };
  return detail::run_loop(now, x.first(loop_.variables), x.subspan(loop_.variables, xs_), options_);
}

void DeferredLoop::compute(TensorSpan x, TensorSpan to, Tensor* token) const {
  if (!token) return program_.run(x, to, nullptr);
  const auto record = std::allocate_shared<program::LoopRecord>(detail::PoolAllocator<program::LoopRecord>());
  program_.run(x, to, record.get());
  *token = program::make_token(record);
}

void DeferredLoop::pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, Numbers wanted,
                        TensorSpan gradients) const {
  detail::List<std::size_t> sources;
  detail::List<Tensor> written;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::size_t source = source_of(step(), wanted[k]);
    if (source == none) {
      loops::copy(zeros_like(gradients[k]), gradients[k]);
      continue;
    }
    sources.push_back(source);
    written.push_back(gradients[k]);
  }
  program_.pull(x, *program::held_by<program::LoopRecord>(token), cotangents, sources, written);
}

// ---- Preparation

void DeferredLoop::prepare(const std::vector<bool>& followed, const Levels& levels) {
  std::vector<bool> sources = followed_sources(step(), followed);
  step().reveal(captured);
  const bool any = !captured.empty() || std::find(sources.begin(), sources.end(), true) != sources.end();
  for (std::size_t k = 0; k < loop_.variables; ++k) sources[k] = is_differentiable(outputs[k].dtype());
  if (bodies_.size() > 1) bodies_[1].reveal(captured);
  if (any) {
    set_gradient(step().traced().prepare_step(sources, loop_.variables));
    if (levels.need_tangents()) trace_tangents(sources, levels.without_one());
  }
  set_connections();
  close_connections();
}

// The gradient of the step, for the walk back.
void DeferredLoop::set_gradient(const std::shared_ptr<const Pullback>& p) {
  bodies_[0].set_pullback(p);
  if (p)
    program_.set_gradient({.forward = p->forward.get(),
                           .backward = p->backward.get(),
                           .seeded = p->seeded,
                           .exists = p->exists,
                           .summed = p->summed,
                           .residuals = p->residuals});
}

// Dependencies close over iterations: a variable depends on all that the variables it reads depend on. A loop with a
// condition may have no iterations.
void DeferredLoop::close_connections() {
  for (std::size_t k = 0; loop_.more && k < loop_.variables; ++k) connected.set(k, k);
  for (bool grows = true; std::exchange(grows, false);)
    for (std::size_t k = 0; k < outputs.size(); ++k)
      for (std::size_t j = 0; j < loop_.variables; ++j)
        if (connected(k, j)) grows |= connected.add(k, connected, j);
}

// ---- Tangents

// Finds the sources of the step that may have tangents. Returns them in the order variables, rows, shared.
std::vector<std::size_t> DeferredLoop::find_moved(const std::vector<bool>& followed) {
  for (std::size_t s = 0; s < step().inputs(); ++s)
    if (followed[s]) (s < loop_.variables ? moved_.variables : s < own_ ? moved_.rows : moved_.shared).push_back(s);
  for (std::size_t k = 0; k < step().captured().size(); ++k) moved_.shared.push_back(step().inputs() + k);
  std::vector<std::size_t> all(moved_.variables);
  for (const auto* more : {&moved_.rows, &moved_.shared}) all.insert(all.end(), more->begin(), more->end());
  return all;
}

// Abstract tensors like these sources of the step.
Tensors DeferredLoop::examples(std::span<const std::size_t> sources) const {
  const program::Program& p = step().traced().program();
  Tensors list;
  for (const std::size_t s : sources)
    list.push_back(s < step().inputs() ? p.values[p.arguments[s]].tensor : step().captured()[s - step().inputs()]);
  return abstract_like(list);
}

// `step`: with tangents behind its arguments and results.
detail::FlatLoop DeferredLoop::loop_with_tangents(const detail::FlatFunction& step) const {
  detail::FlatLoop with = loop_;
  const std::size_t n = loop_.variables, rows = xs_, moving = moved_.variables.size(), all = outputs.size();
  with.variables = n + moving + moved_.shared.size();
  if (loop_.condition)
    with.condition = [condition = loop_.condition, n](TensorSpan x) { return condition(x.first(n)); };
  with.step = [step, n, rows, moving, all](TensorSpan state, TensorSpan row) {
    const TensorSpan shared = state.subspan(n + moving);
    const Tensors made =
        step(joined({state.first(n), row.first(rows), state.subspan(n, moving), row.subspan(rows), shared}));
    const TensorSpan y(made);
    return joined({y.first(n), y.subspan(all, moving), shared, y.subspan(n, all - n), y.subspan(all + moving)});
  };
  return with;
}

void DeferredLoop::trace_tangents(const std::vector<bool>& followed, const Levels& levels) {
  const std::vector<std::size_t> moved = find_moved(followed);
  const detail::FlatLoop loop = loop_with_tangents(step().traced().with_tangents(followed, moved));
  std::vector<std::size_t> own(own_);
  for (std::size_t s = 0; s < own_; ++s) own[s] = s;
  const Tensors plain = examples(own);
  const Tensors variables =
      joined({TensorSpan(plain).first(loop_.variables), examples(moved_.variables), examples(moved_.shared)});
  const Tensors rows = joined({TensorSpan(plain).subspan(loop_.variables), examples(moved_.rows)});
  std::vector<bool> all_followed;
  for (const Tensor& x : variables) all_followed.push_back(is_differentiable(x.dtype()));
  for (std::size_t k = 0; k < rows.size(); ++k) all_followed.push_back(k >= xs_ || followed[loop_.variables + k]);
  std::vector<Body> bodies = trace_bodies(loop, variables, rows);
  bodies[0].read_for_rules(all_followed);
  const auto run = make_deferred<DeferredLoop>(loop, options_, bodies, rows.size());
  run->derives = true;
  run->prepare(all_followed, levels);
  reads_.add(run->reads_.list());
  tangents_ = run;
}

bool DeferredLoop::pushes(TensorSpan along) const {
  if (!tangents_) return false;
  std::vector<bool> moves(step().inputs() + step().captured().size());
  for (const auto* sources : {&moved_.variables, &moved_.rows, &moved_.shared})
    for (const std::size_t s : *sources) moves[s] = true;
  for (std::size_t i = 0; i < along.size(); ++i)
    if (const std::size_t s = source_of(step(), i); along[i].defined() && s != none && !moves[s]) return false;
  return true;
}

Tensors DeferredLoop::with_tangents(TensorSpan x, TensorSpan along) const {
  std::vector<std::size_t> input_of(step().inputs() + step().captured().size());
  for (std::size_t i = 0; i < inputs(); ++i)
    if (const std::size_t s = source_of(step(), i); s != none) input_of[s] = i;
  const auto tangents_of = [&](std::span<const std::size_t> sources) {
    Tensors list;
    for (const std::size_t s : sources) {
      const std::size_t i = input_of[s];
      const Tensor& like = i < arguments ? x[i] : captured[i - arguments];
      list.push_back(along[i].defined() ? along[i] : zeros(like.shape(), like.dtype()));
    }
    return list;
  };
  Tensors read_by_tangents;
  for (const Source& s : tangents_->reads_.list()) read_by_tangents.push_back(x[own_ + reads_.find(s)]);
  return results_and_tangents(call_deferred(
      *tangents_, joined({x.first(loop_.variables), tangents_of(moved_.variables), tangents_of(moved_.shared),
                          x.subspan(loop_.variables, xs_), tangents_of(moved_.rows), read_by_tangents})));
}

// The results, and then their tangents, among those of the loop with tangents. Results that are not differentiable have
// none.
Tensors DeferredLoop::results_and_tangents(TensorSpan y) const {
  const std::size_t n = loop_.variables, moving = moved_.variables.size(), count = outputs.size() - n;
  const std::size_t outputs_at = n + moving + moved_.shared.size();
  Tensors list = joined({y.first(n), y.subspan(outputs_at, count)});
  std::size_t variable = n, output = outputs_at + count;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const bool has = is_differentiable(outputs[k].dtype());
    list.push_back(has ? y[k < n ? variable++ : output++] : Tensor());
  }
  return list;
}

// ---- Tracing

void check_condition(const char* name, const Tensor& predicate) {
  if (predicate.size() != 1)
    fail<ShapeError>(name, "the condition has shape {}; it must have one element: use all or any", predicate.shape());
}

std::vector<Body> trace_bodies(const detail::FlatLoop& loop, TensorSpan variables, TensorSpan rows) {
  std::vector<Body> condition, bodies;
  if (loop.condition) {
    const Body& traced = condition.emplace_back(loop.name, loop.condition, variables);
    check_condition(loop.name, traced.results()[0]);
    if (effects_of({&traced, 1}).any())
      fail<TraceError>(loop.name,
                       "its condition assigns a variable or draws random numbers; do so in the body, and make what the "
                       "condition needs of it a loop variable");
  }
  const auto step = [step = loop.step, count = loop.variables](TensorSpan x) {
    return contiguous_all(step(x.first(count), x.subspan(count)));
  };
  bodies.emplace_back(loop.name, step, joined({variables, rows}));
  bodies.insert(bodies.end(), condition.begin(), condition.end());
  return bodies;
}

}  // namespace reel::autodiff
