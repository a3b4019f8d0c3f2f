// Loops, branches and checkpoints as deferred calls.
#include "gradient/programs/loops.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/programs/body.hpp"
#include "gradient/programs/deferred_loop.hpp"
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

// The branches of cond, or the one body of a checkpoint: bodies with the same arguments, of which one runs once.
class Branches {
 public:
  // `first_adopted`: where the adopted values of the first body begin among the inputs of the deferred call.
  Branches(std::vector<Body> bodies, std::size_t arguments, std::size_t first_adopted, bool keeps)
      : bodies_(std::move(bodies)), arguments_(arguments), keeps_(keeps) {
    for (const Body& body : bodies_) {
      adopted_at_.push_back(first_adopted);
      first_adopted += body.adopted();
    }
    first_captured_ = first_adopted;
  }
  const Body& body(std::size_t chosen) const { return bodies_[chosen]; }
  TensorSpan adopted(std::size_t chosen, TensorSpan x) const {
    return x.subspan(adopted_at_[chosen], bodies_[chosen].adopted());
  }

  void compute(std::size_t chosen, TensorSpan x, TensorSpan outputs, Tensor* token) const {
    const Traced& body = bodies_[chosen].traced();
    const Pullback* p = token ? body.prepared().get() : nullptr;
    const bool keeps = p && keeps_;
    detail::List<Tensor> results(outputs.size() + (keeps ? p->residuals : 0));
    (keeps ? *p->forward : body.executable()).run(inputs(chosen, x), results);
    for (std::size_t k = 0; k < outputs.size(); ++k) loops::copy(results[k], outputs[k]);
    if (!token) return;
    const auto record = std::allocate_shared<RunRecord>(detail::PoolAllocator<RunRecord>());
    record->chosen = chosen;
    if (keeps) record->residuals.assign(results.begin() + static_cast<std::ptrdiff_t>(outputs.size()), results.end());
    *token = program::make_token(record);
  }

  // `captured`: those of the deferred call.
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
            TensorSpan gradients, TensorSpan captured) const {
    const RunRecord& record = *program::held_by<RunRecord>(token);
    detail::List<Tensor> list;
    if (const auto p = bodies_[record.chosen].traced().prepared()) list = gradients_of_body(*p, record, x, cotangents);
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const std::size_t source = list.empty() ? list.size() : source_of(record.chosen, wanted[w], captured);
      if (source < list.size() && list[source].defined())
        loops::copy(list[source], gradients[w]);
      else
        loops::copy(zeros_like(gradients[w]), gradients[w]);
    }
  }

 private:
  // What a run leaves for the gradient.
  struct RunRecord {
    std::size_t chosen = 0;
    detail::List<Tensor> residuals;
  };
  detail::List<Tensor> inputs(std::size_t chosen, TensorSpan x) const {
    detail::List<Tensor> list;
    for (const Tensor& one : x.first(arguments_)) list.push_back(contiguous(one));
    for (const Tensor& one : adopted(chosen, x)) list.push_back(one);
    return list;
  }
  detail::List<Tensor> gradients_of_body(const Pullback& p, const RunRecord& record, TensorSpan x,
                                         TensorSpan cotangents) const {
    detail::List<Tensor> all = inputs(record.chosen, x), residuals = record.residuals;
    if (!keeps_) {
      detail::List<Tensor> results(p.forward->program().results.size());
      p.forward->run(all, results);
      residuals.assign(results.end() - static_cast<std::ptrdiff_t>(p.residuals), results.end());
    }
    for (const std::size_t k : p.seeded) {
      const Tensor& like = bodies_[record.chosen].traced().result(k);
      all.push_back(cotangents[k].defined() ? contiguous(cotangents[k]) : zeros(like.shape(), like.dtype()));
    }
    all.insert(all.end(), residuals.begin(), residuals.end());
    detail::List<Tensor> some(p.backward->program().results.size());
    p.backward->run(all, some);
    return with_gaps(some, p.exists);
  }
  // The index of input i of the call among the sources of the body; none if the body does not read it.
  std::size_t source_of(std::size_t chosen, std::size_t i, TensorSpan captured) const {
    constexpr std::size_t none_of_them = ~std::size_t{0};
    if (i < arguments_) return i;
    const std::size_t at = adopted_at_[chosen], count = bodies_[chosen].adopted();
    if (i < first_captured_) return i >= at && i < at + count ? i - at + arguments_ : none_of_them;
    const auto p = bodies_[chosen].traced().prepared();
    for (std::size_t k = 0; k < p->captured.size(); ++k)
      if (p->captured[k].id() == captured[i - first_captured_].id()) return arguments_ + count + k;
    return none_of_them;
  }

  std::vector<Body> bodies_;
  std::size_t arguments_, first_captured_ = 0;
  bool keeps_;
  std::vector<std::size_t> adopted_at_;
};

// For with_effects: the new values of variables and streams come behind all results.
constexpr std::size_t behind_all_results = ~std::size_t{0};

// Lets the gradient of the call use the traced gradient of its bodies instead of running them under a tape.
void set_gradient(Deferred& d, const std::shared_ptr<const Branches>& branches, bool prepared) {
  if (prepared)
    d.pull = [branches, captured = d.captured](TensorSpan x, const Tensor& token, TensorSpan cotangents,
                                               std::span<const std::size_t> wanted, TensorSpan gradients) {
      branches->pull(x, token, cotangents, wanted, gradients, captured);
    };
}

}  // namespace

std::optional<Tensors> trace_loop(const detail::FlatLoop& loop, TensorSpan initial, TensorSpan xs,
                                  const LoopOptions& options) {
  if (loop.more ? !loop.condition : loop.steps == 0 || (loop.steps <= most_unrolled && !options.compiled)) return {};
  const Tensors examples = abstract_like(initial);
  const std::optional<Body> condition = trace_condition(loop, examples);
  Tensors rows;
  for (const Tensor& x : xs) rows.push_back(like_row(x));
  const Body body = trace_body(loop, examples, rows);
  if (const BodyEffects effects = body.effects(); effects.size() > 0) {
    auto results = trace_loop(with_effects(loop, effects), effects.with_values(loop.name, initial), xs, options);
    if (results) effects.take_values(*results, loop.variables);
    return results;
  }
  if (const Tensors results = body.results(); !same_shapes(initial, TensorSpan(results).first(loop.variables))) {
    if (!loop.more || options.compiled) return {};
    fail<TraceError>(
        loop.name,
        "the body changes the shape of a loop variable, and a program has to know the shape of the result; "
        "keep the shape and say by a number or a mask how much of it counts");
  }
  LoopOptions inner = options;
  inner.compiled = false;
  const Levels levels = Levels::now();
  if (inner.memory_budget > 0 && levels.all > 1)  // the loop with tangents keeps its states at the same time
    inner.memory_budget = std::max<std::int64_t>(1, inner.memory_budget / 2);
  const auto run = std::make_shared<DeferredLoop>(loop, inner, body, condition, xs.size());
  Tensors arguments(initial.begin(), initial.end());
  add_all(arguments, xs);
  const Tensors own = arguments;
  std::vector<bool> followed = body.reveal(own, arguments, run->captured);
  const bool any_followed =
      !run->captured.empty() || std::find(followed.begin(), followed.end(), true) != followed.end();
  for (std::size_t k = 0; k < loop.variables; ++k) followed[k] = is_differentiable(initial[k].dtype());
  if (condition) condition->reveal({}, arguments, run->captured);
  if (any_followed) run->prepare(followed, levels);
  return call_deferred(DeferredLoop::deferred(run, arguments.size()), arguments);
}

namespace {

// Thrown where the body of a loop changes the shape of a variable, so that it cannot be compiled.
struct ChangesShapes {};

}  // namespace

std::optional<Tensors> run_compiled(const detail::FlatLoop& loop, TensorSpan initial, TensorSpan xs,
                                    const LoopOptions& options) {
  if (loop.more ? !loop.condition : loop.steps == 0) return {};
  Tensors arguments(initial.begin(), initial.end());
  add_all(arguments, xs);
  arguments = contiguous_all(arguments);
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
    Tensors all(state.begin(), state.end());
    add_all(all, row);
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
  if (const BodyEffects effects = body.effects(); effects.size() > 0) {
    const detail::FlatFunction pure = with_effects(again, effects, arguments.size(), behind_all_results);
    Tensors results = trace_checkpoint(name, pure, pure, effects.with_values(name, arguments));
    effects.take_values(results, results.size() - effects.size());
    return results;
  }
  auto made = std::make_unique<Deferred>();
  made->name = name;
  Tensors all(arguments.begin(), arguments.end());
  const std::vector<bool> followed = body.reveal(arguments, all, made->captured);
  if (tape::active()) body.traced().prepare(followed);
  made->arguments = all.size();
  made->outputs = kinds_of(body.results());
  made->may_throw = body.may_throw();
  add_part(*made, "body", body);
  const std::vector<bool>& connected = body.connected();
  for (std::size_t k = 0; k < made->outputs.size(); ++k)
    for (std::size_t i = 0; i < made->inputs(); ++i)
      made->connected.push_back(i >= body.inputs() || connected[k * body.inputs() + i]);
  made->run = [body, count = arguments.size()](TensorSpan x) { return body(x.first(count), x.subspan(count)); };
  const auto branches =
      std::make_shared<const Branches>(std::vector<Body>{body}, arguments.size(), arguments.size(), false);
  made->compute = [branches](TensorSpan x, TensorSpan to, Tensor* token) { branches->compute(0, x, to, token); };
  set_gradient(*made, branches, body.traced().prepared() != nullptr);
  return call_deferred(std::move(made), all);
}

}  // namespace reel::autodiff

namespace reel::detail {

using namespace autodiff;

bool is_traced(const Tensor& x) noexcept { return ops::is_abstract(x) && ops::Tracer::current(); }

namespace {

// cond for branches with effects.
Tensors cond_with_effects(const Tensor& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
                          TensorSpan arguments, const BodyEffects& effects) {
  constexpr const char* name = "cond";
  const auto pure = [&](const FlatFunction& f) {
    return with_effects(f, effects, arguments.size(), behind_all_results);
  };
  const Tensors all = effects.with_values(name, arguments);
  Tensors results = detail::traced_cond(predicate, pure(on_true), pure(on_false), all);
  effects.take_values(results, results.size() - effects.size());
  return results;
}

// For each result and input of the conditional call whether the result depends on the input in one of the branches.
// Inputs are `count` arguments, the predicate, values that `yes` adopts, values that `no` adopts, captured tensors.
void connect_branches(Deferred& call, const Body& yes, const Body& no, std::size_t count) {
  const std::vector<bool>&by_yes = yes.connected(), &by_no = no.connected();
  const auto leads = [&](const std::vector<bool>& list, const Body& body, std::size_t k, std::size_t i,
                         std::size_t adopted_at) {
    if (i >= count && (i < adopted_at || i >= adopted_at + body.adopted())) return false;
    return bool(list[k * body.inputs() + (i < count ? i : i - adopted_at + count)]);
  };
  for (std::size_t k = 0; k < call.outputs.size(); ++k)
    for (std::size_t i = 0; i < call.inputs(); ++i)
      call.connected.push_back(i >= call.arguments || leads(by_yes, yes, k, i, count + 1) ||
                               leads(by_no, no, k, i, count + 1 + yes.adopted()));
}

}  // namespace

std::vector<Tensor> traced_cond(const Tensor& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
                                std::span<const Tensor> arguments) {
  constexpr const char* name = "cond";
  check_condition(name, predicate);
  const Body yes(name, on_true, abstract_like(arguments)), no(name, on_false, abstract_like(arguments));
  BodyEffects effects = yes.effects();
  effects.add(no.effects());
  if (effects.size() > 0) return cond_with_effects(predicate, on_true, on_false, arguments, effects);
  const Tensors results = yes.results(), others = no.results();
  if (results.size() != others.size() || !same_shapes(results, others))
    fail<TraceError>(name,
                     "the branches of a traced function give different dtypes or shapes; both results are one value of "
                     "the program: cast or broadcast them");
  auto made = std::make_unique<Deferred>();
  made->name = name;
  Tensors all(arguments.begin(), arguments.end());
  all.push_back(predicate);
  for (const Body* branch : {&yes, &no}) {
    const std::vector<bool> followed = branch->reveal(arguments, all, made->captured);
    if (tape::active()) branch->traced().prepare(followed);
  }
  made->arguments = all.size();
  made->outputs = kinds_of(results);
  made->may_throw = yes.may_throw() || no.may_throw();
  add_part(*made, "first branch", yes);
  add_part(*made, "second branch", no);
  const std::size_t count = arguments.size();
  connect_branches(*made, yes, no, count);
  const auto branches = std::make_shared<const Branches>(std::vector<Body>{yes, no}, count, count + 1, true);
  const auto choose = [count](TensorSpan x) -> std::size_t { return truth(name, x[count]) ? 0 : 1; };
  made->run = [branches, choose, count](TensorSpan x) {
    const std::size_t chosen = choose(x);
    return branches->body(chosen)(x.first(count), branches->adopted(chosen, x));
  };
  made->compute = [branches, choose](TensorSpan x, TensorSpan to, Tensor* token) {
    branches->compute(choose(x), x, to, token);
  };
  set_gradient(*made, branches, yes.traced().prepared() && no.traced().prepared());
  return call_deferred(std::move(made), all);
}

}  // namespace reel::detail
