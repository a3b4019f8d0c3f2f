// Loops, branches and checkpoints as deferred calls.
#include "gradient/control/traced_control.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/control/body.hpp"
#include "gradient/control/deferred_loop.hpp"
#include "gradient/control/write.hpp"
#include "loops/loops.hpp"
#include "program/run/token.hpp"
#include "tape/variable.hpp"

namespace reel::autodiff {

namespace {

// Scans of at most this many steps are unrolled, so that their instructions fuse with their neighbours.
constexpr std::int64_t most_unrolled = 64;

Tensor like_row(const Tensor& x) {
  Shape shape;
  for (int d = 1; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  return ops::abstract(x.dtype(), shape);
}

// ---- Bodies that run once

constexpr const char *body_name[] = {"body"}, *branch_names[] = {"first branch", "second branch"};

// The branches of cond, or the one body of a checkpoint: bodies with the same arguments, of which one runs once. Its
// own inputs: the arguments, and the predicate if there is one.
class Branches final : public BodyCall {
 public:
  Branches(const char* called, const std::vector<Body>& bodies, TensorSpan arguments_of_bodies)
      : BodyCall(called, reading_for_rules(bodies, arguments_of_bodies), bodies.size() == 1 ? body_name : branch_names,
                 bodies.size(), arguments_of_bodies.size() + (bodies.size() > 1)) {
    for (const Body& body : bodies_) body.reveal(captured);
    for (Body& body : bodies_) {
      if (!any_tape()) break;
      body.traced().prepare(followed_sources(body, followed_of(arguments_of_bodies)));
      body.set_pullback(body.traced().prepared());
    }
    outputs = abstract_like(bodies_[0].results());
    set_connections();
  }
  Tensors run(TensorSpan x) const override {
    const Body& body = bodies_[choose(x)];
    return body(x.first(body.arguments()), read(x));
  }
  void compute(TensorSpan x, TensorSpan to, Tensor* token) const override {
    const std::size_t b = choose(x);
    const bool keeps = token && keeps_residuals() && bodies_[b].pullback();
    detail::List<Tensor> residuals;
    const detail::List<Tensor> results = results_of(b, x, keeps ? &residuals : nullptr);
    for (std::size_t k = 0; k < to.size(); ++k) loops::copy(results[k], to[k]);
    if (!token) return;
    const auto record = std::allocate_shared<RunRecord>(detail::PoolAllocator<RunRecord>());
    *record = {b, std::move(residuals)};
    *token = program::make_token(record);
  }
  void write(csource::Writer& w, bool keeps) const override {
    const csource::Writer::Instruction own = w.instruction();
    csource::Token token;
    if (keeps && keeps_residuals()) {
      token.arrays.push_back(w.workspace().take(DType::boolean, {}));
      w.statement(csource::cat({token.arrays[0].value(), " = (uint8_t)(", own.inputs[own_ - 1].value(), " != 0)"}));
    }
    write_each(w, own.inputs[own_ - 1], [&](std::size_t b) {
      const Pullback* p = keeps && keeps_residuals() ? bodies_[b].pullback() : nullptr;
      const program::Program& program = p ? p->written_forward() : bodies_[b].traced().simple();
      codegen::Written made =
          codegen::write_program(w, program, arguments_of(b, own.inputs), std::span(own.outputs).first(outputs.size()));
      csource::Token residuals;
      const std::size_t first = program.results.size() - (p ? p->residuals : 0);
      for (std::size_t r = first; r < program.results.size(); ++r) {
        const csource::Array kept = kept_at(kept_rows(w, made.results[r], 1), 0);
        copy_kept(w, made.results[r], kept);
        residuals.arrays.push_back(kept);
      }
      made.release(w);
      csource::Array group;
      group.token = std::make_shared<const csource::Token>(std::move(residuals));
      if (p) token.arrays.push_back(std::move(group));
    });
    if (keeps) w.set_token(outputs.size(), std::move(token));
  }
  void write_pull(csource::Writer& w, std::span<const csource::Array> x, const csource::Token& token,
                  std::span<const csource::Array> cotangents, Numbers wanted,
                  std::span<const csource::Array> gradients) const override {
    write_each(w, keeps_residuals() ? token.arrays[0] : csource::Array(), [&](std::size_t b) {
      const Pullback& p = *bodies_[b].pullback();
      std::vector<csource::Array> all = arguments_of(b, x), residuals;
      codegen::Written again;
      if (keeps_residuals()) {
        residuals = token.arrays[1 + b].token->arrays;
      } else {
        // Its results are those of the first run; the residuals are wanted alone.
        std::vector<bool> read(p.written_forward().results.size() - p.residuals, false);
        read.resize(p.written_forward().results.size(), true);
        again = codegen::write_program(w, p.written_forward(), all, {}, std::move(read));
        residuals.assign(again.results.end() - static_cast<std::ptrdiff_t>(p.residuals), again.results.end());
      }
      for (const std::size_t k : p.seeded)
        all.push_back(cotangents[k].name.empty() ? zero_like(outputs[k]) : cotangents[k]);
      all.insert(all.end(), residuals.begin(), residuals.end());
      std::vector<csource::Array> targets(p.written_backward().results.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        const std::size_t s = source_of(bodies_[b], wanted[k]);
        if (s == none || !p.exists[s])
          w.fill(gradients[k], csource::Writer::zero(gradients[k].dtype));
        else
          targets[static_cast<std::size_t>(
              std::count(p.exists.begin(), p.exists.begin() + static_cast<std::ptrdiff_t>(s), true))] = gradients[k];
      }
      codegen::write_program(w, p.written_backward(), all, targets).release(w);
      again.release(w);
    });
  }
  // Whether all bodies have a gradient.
  bool pulls() const override {
    return std::all_of(bodies_.begin(), bodies_.end(), [](const Body& body) { return body.pullback(); });
  }
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, Numbers wanted,
            TensorSpan gradients) const override {
    const RunRecord& record = *program::held_by<RunRecord>(token);
    const detail::List<Tensor> list = gradients_of_body(record, x, cotangents);
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const std::size_t source = source_of(bodies_[record.chosen], wanted[w]);
      const bool exists = source < list.size() && list[source].defined();
      loops::copy(exists ? list[source] : zeros_like(gradients[w]), gradients[w]);
    }
  }

 private:
  static std::vector<Body> reading_for_rules(std::vector<Body> bodies, TensorSpan arguments_of_bodies) {
    for (Body& body : bodies) body.read_for_rules(followed_of(arguments_of_bodies));
    return bodies;
  }
  // Calls f(0), or f(0) and f(1) in the branches of an if.
  template <class F>
  void write_each(csource::Writer& w, const csource::Array& predicate, const F& f) const {
    if (bodies_.size() == 1) return f(0);
    w.open(csource::cat({"if (", predicate.value(), " != 0)"}));
    f(0);
    w.reopen("else");
    f(1);
    w.close();
  }
  std::vector<csource::Array> arguments_of(std::size_t b, std::span<const csource::Array> x) const {
    std::vector<csource::Array> all(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(bodies_[b].arguments()));
    for (const std::size_t k : bodies_[b].reads()) all.push_back(x[own_ + k]);
    return all;
  }
  // What a run leaves for the gradient.
  struct RunRecord {
    std::size_t chosen = 0;
    detail::List<Tensor> residuals;
  };
  // A checkpoint runs again instead.
  bool keeps_residuals() const { return bodies_.size() > 1; }
  std::size_t choose(TensorSpan x) const { return bodies_.size() == 1 || detail::truth(name, x[own_ - 1]) ? 0 : 1; }
  detail::List<Tensor> inputs_of(std::size_t b, TensorSpan x) const {
    detail::List<Tensor> list;
    for (const Tensor& one : x.first(bodies_[b].arguments())) list.push_back(contiguous(one));
    for (const std::size_t k : bodies_[b].reads()) list.push_back(read(x)[k]);
    return list;
  }
  // The results of a body, and what its gradient needs of this run.
  detail::List<Tensor> results_of(std::size_t b, TensorSpan x, detail::List<Tensor>* residuals) const {
    const Traced& traced = bodies_[b].traced();
    const Pullback* p = bodies_[b].pullback();
    detail::List<Tensor> results(traced.size() + (residuals ? p->residuals : 0));
    (residuals ? *p->forward : traced.executable()).run(inputs_of(b, x), results);
    if (residuals) residuals->assign(results.begin() + static_cast<std::ptrdiff_t>(traced.size()), results.end());
    return results;
  }
  detail::List<Tensor> gradients_of_body(const RunRecord& record, TensorSpan x, TensorSpan cotangents) const {
    const std::size_t b = record.chosen;
    const Pullback& p = *bodies_[b].pullback();
    detail::List<Tensor> all = inputs_of(b, x), residuals = record.residuals;
    if (!keeps_residuals()) results_of(b, x, &residuals);
    for (const std::size_t k : p.seeded) {
      const Tensor& like = outputs[k];
      all.push_back(cotangents[k].defined() ? contiguous(cotangents[k]) : zeros(like.shape(), like.dtype()));
    }
    all.insert(all.end(), residuals.begin(), residuals.end());
    detail::List<Tensor> some(p.backward->program().results.size());
    p.backward->run(all, some);
    return with_gaps(some, p.exists);
  }
};

// The number of iterations of fori_loop, whose condition compares the counter with a constant; negative if it is not
// known. `own`: the variables of the loop without values of effects; the first is the counter.
std::int64_t iterations_of(const detail::FlatLoop& loop, std::span<const Body> bodies, TensorSpan own) {
  if (std::string_view(loop.name) != "fori_loop") return -1;
  const Tensor& counter = own[0];
  if (counter.dtype() != DType::int64 || ops::is_abstract(counter)) return -1;
  for (const program::Value& v : bodies[1].traced().program().values)
    if (v.origin == program::Value::Origin::constant && v.tensor.size() == 1 && v.tensor.dtype() == DType::int64)
      return std::max<std::int64_t>(0, codegen::integer_of(v.tensor) - codegen::integer_of(counter));
  return -1;
}

// `effect_values`: how many of the first variables are values of effects.
std::optional<Tensors> trace_loop_with(std::size_t effect_values, const detail::FlatLoop& loop, TensorSpan initial,
                                       TensorSpan xs, const LoopOptions& options) {
  if (loop.more ? !loop.condition : loop.steps == 0 || (loop.steps <= most_unrolled && !options.compiled)) return {};
  Tensors rows;
  for (const Tensor& x : xs) rows.push_back(like_row(x));
  std::vector<Body> bodies = trace_bodies(loop, abstract_like(initial), rows);
  if (const BodyEffects effects = effects_of(bodies); effects.any())
    return effects.perform(loop.name, [&](TensorSpan values) {
      return trace_loop_with(effect_values + values.size(), with_effects(loop, effects), joined({values, initial}), xs,
                             options);
    });
  if (const Tensors results = bodies[0].results(); !same_kinds(initial, TensorSpan(results).first(loop.variables))) {
    if (!loop.more || options.compiled) return {};
    fail<TraceError>(
        loop.name,
        "the body changes the shape of a loop variable, and a program has to know the shape of the result; "
        "keep the shape and say by a number or a mask how much of it counts");
  }
  const Tensors own = joined({initial, xs});
  std::vector<bool> moving = followed_of(own);
  for (std::size_t k = 0; k < initial.size(); ++k) moving[k] = is_differentiable(initial[k].dtype());
  bodies[0].read_for_rules(std::move(moving));
  LoopOptions inner = options;
  inner.compiled = false;
  if (const std::int64_t count = iterations_of(loop, bodies, initial.subspan(effect_values));
      count >= 0 && (inner.max_iterations < 0 || inner.max_iterations > count))
    inner.max_iterations = count;
  const Levels levels = Levels::now();
  if (inner.memory_budget > 0 && levels.all > 1)  // the loop with tangents keeps its states at the same time
    inner.memory_budget = std::max<std::int64_t>(1, inner.memory_budget / 2);
  const auto run = make_deferred<DeferredLoop>(loop, inner, bodies, xs.size());
  run->prepare(followed_of(own), levels);
  return (*run)(own);
}

}  // namespace

std::optional<Tensors> trace_loop(const detail::FlatLoop& loop, TensorSpan initial, TensorSpan xs,
                                  const LoopOptions& options) {
  return trace_loop_with(0, loop, initial, xs, options);
}

namespace {

// Thrown where the body of a loop changes the shape of a variable, so that it cannot be compiled.
struct ChangesShapes {};

}  // namespace

std::optional<Tensors> run_compiled(const detail::FlatLoop& loop, TensorSpan initial, TensorSpan xs,
                                    const LoopOptions& options) {
  if (loop.more ? !loop.condition : loop.steps == 0) return {};
  const Tensors arguments = contiguous_all(joined({initial, xs}));
  try {
    const auto whole = std::make_shared<Traced>(
        loop.name,
        [loop, options](TensorSpan x) {
          auto results = trace_loop(loop, x.first(loop.variables), x.subspan(loop.variables), options);
          if (!results) throw ChangesShapes();
          return *std::move(results);
        },
        arguments);
    whole->prepare_followed(arguments);
    const detail::List<Tensor> results = whole->call(arguments);
    return Tensors(results.begin(), results.end());
  } catch (const ChangesShapes&) {
    return {};
  }
}

detail::FlatLoop with_compiled_step(const detail::FlatLoop& loop) {
  // Keyed by the dtypes, shapes and strides of the step's arguments.
  auto programs = std::make_shared<std::map<std::vector<std::int64_t>, std::shared_ptr<Traced>>>();
  detail::FlatLoop compiled = loop;
  compiled.step = [loop, programs](TensorSpan state, TensorSpan row) {
    const Tensors all = joined({state, row});
    std::vector<std::int64_t> key;
    for (const Tensor& x : all) {
      const detail::Block* b = detail::block(x);
      key.push_back(static_cast<std::int64_t>(b->dtype));
      key.push_back(b->rank);
      key.insert(key.end(), b->extents(), b->extents() + 2 * b->rank);
    }
    std::shared_ptr<Traced>& traced = (*programs)[key];
    if (!traced)
      traced = std::make_shared<Traced>(
          loop.name,
          [step = loop.step, variables = loop.variables](TensorSpan x) {
            return step(x.first(variables), x.subspan(variables));
          },
          all);
    const detail::List<Tensor> results = traced->call(all);
    return Tensors(results.begin(), results.end());
  };
  return compiled;
}

Tensors trace_checkpoint(const char* name, const detail::FlatFunction& first, const detail::FlatFunction& again,
                         TensorSpan arguments) {
  const Body body(
      name,
      [&first, again, traced = false](TensorSpan x) mutable {
        return std::exchange(traced, true) ? again(x) : first(x);
      },
      abstract_like(arguments));
  const std::vector<Body> bodies{body};
  if (const BodyEffects effects = effects_of(bodies); effects.any())
    return *effects.perform(name, [&, pure = with_effects(again, effects)](TensorSpan values) {
      return trace_checkpoint(name, pure, pure, joined({values, arguments}));
    });
  return (*make_deferred<Branches>(name, bodies, arguments))(arguments);
}

}  // namespace reel::autodiff

namespace reel::detail {

using namespace autodiff;

bool is_traced(const Tensor& x) noexcept { return ops::is_abstract(x) && ops::Tracer::current(); }

std::vector<Tensor> traced_cond(const Tensor& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
                                std::span<const Tensor> arguments) {
  constexpr const char* name = "cond";
  check_condition(name, predicate);
  std::vector<Body> bodies;
  for (const FlatFunction& f : {on_true, on_false}) bodies.emplace_back(name, f, abstract_like(arguments));
  if (const BodyEffects effects = effects_of(bodies); effects.any())
    return *effects.perform(name, [&](TensorSpan values) {
      return traced_cond(predicate, with_effects(on_true, effects), with_effects(on_false, effects),
                         joined({values, arguments}));
    });
  if (!same_kinds(bodies[0].results(), bodies[1].results()))
    fail<TraceError>(name,
                     "the branches of a traced function give different dtypes or shapes; both results are one value of "
                     "the program: cast or broadcast them");
  return (*make_deferred<Branches>(name, bodies, arguments))(joined({arguments, {&predicate, 1}}));
}

}  // namespace reel::detail
