// Loops, branches and checkpoints as deferred calls.
#include "gradient/control/compiled.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/control/body.hpp"
#include "gradient/control/deferred_loop.hpp"
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

// The branches of cond, or the one body of a checkpoint: bodies with the same arguments, of which one runs once. The
// inputs of the deferred call: the arguments, the predicate if there is one, what the bodies read, captured tensors.
class Branches {
 public:
  Branches(std::vector<Body> bodies, TensorSpan arguments, bool has_predicate)
      : bodies_(std::move(bodies)),
        arguments_(arguments.size()),
        reads_at_(arguments.size() + has_predicate),
        keeps_(has_predicate) {
    for (Body& body : bodies_) body.add_to(reads_);
    early_reads_ = reads_.size();
    for (const Body& body : bodies_) body.reveal(captured_);
    if (!tape::active()) return;
    const Tensors read = reads_.values(true);
    for (const Body& body : bodies_) {
      std::vector<bool> followed = followed_of(arguments);
      for (const bool is : followed_of(chosen(read, body.reads()))) followed.push_back(is);
      body.traced().prepare(followed);
      const auto p = body.traced().prepared();
      late_.push_back(p ? reads_.add(p->late_reads) : std::vector<std::size_t>());
      pulls_ = p && (pulls_ || late_.size() == 1);
    }
  }
  // The call, applied to arguments and predicate.
  static Tensors call(const char* name, const std::shared_ptr<const Branches>& all, TensorSpan own) {
    auto made = std::make_unique<Deferred>();
    made->name = name;
    Tensors inputs(own.begin(), own.end());
    add_all(inputs, all->reads_.values(true));
    made->arguments = inputs.size();
    made->late = from(all->reads_.list(), all->early_reads_);
    made->captured = all->captured_;
    made->outputs = kinds_of(all->bodies_[0].results());
    for (const Body& body : all->bodies_) {
      made->may_throw = made->may_throw || body.may_throw();
      add_part(*made,
               all->bodies_.size() == 1    ? "body"
               : &body == &all->bodies_[0] ? "first branch"
                                           : "second branch",
               body);
    }
    for (std::size_t k = 0; k < made->outputs.size(); ++k)
      for (std::size_t i = 0; i < made->inputs(); ++i) made->connected.push_back(all->leads(k, i));
    made->run = [name, all](TensorSpan x) { return all->run(all->choose(name, x), x); };
    made->compute = [name, all](TensorSpan x, TensorSpan to, Tensor* token) {
      all->compute(all->choose(name, x), x, to, token);
    };
    if (all->pulls_)
      made->pull = [all](TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
                         TensorSpan gradients) { all->pull(x, token, cotangents, wanted, gradients); };
    return call_deferred(std::move(made), inputs);
  }

 private:
  // What a run leaves for the gradient.
  struct RunRecord {
    std::size_t chosen = 0;
    detail::List<Tensor> residuals;
  };
  std::size_t choose(const char* name, TensorSpan x) const {
    return bodies_.size() == 1 || detail::truth(name, x[arguments_]) ? 0 : 1;
  }
  TensorSpan read(TensorSpan x) const { return x.subspan(reads_at_, reads_.size()); }
  detail::List<Tensor> inputs(std::size_t body, TensorSpan x) const {
    detail::List<Tensor> list;
    for (const Tensor& one : x.first(arguments_)) list.push_back(contiguous(one));
    for (const std::size_t k : bodies_[body].reads()) list.push_back(read(x)[k]);
    return list;
  }
  Tensors run(std::size_t body, TensorSpan x) const { return bodies_[body](x.first(arguments_), read(x)); }
  void compute(std::size_t body, TensorSpan x, TensorSpan outputs, Tensor* token) const {
    const Traced& traced = bodies_[body].traced();
    const Pullback* p = token ? traced.prepared().get() : nullptr;
    const bool keeps = p && keeps_;
    detail::List<Tensor> results(outputs.size() + (keeps ? p->residuals : 0));
    (keeps ? *p->forward : traced.executable()).run(inputs(body, x), results);
    for (std::size_t k = 0; k < outputs.size(); ++k) loops::copy(results[k], outputs[k]);
    if (!token) return;
    const auto record = std::allocate_shared<RunRecord>(detail::PoolAllocator<RunRecord>());
    record->chosen = body;
    if (keeps) record->residuals.assign(results.begin() + static_cast<std::ptrdiff_t>(outputs.size()), results.end());
    *token = program::make_token(record);
  }
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
            TensorSpan gradients) const {
    const RunRecord& record = *program::held_by<RunRecord>(token);
    detail::List<Tensor> list;
    if (const auto p = bodies_[record.chosen].traced().prepared()) list = gradients_of_body(*p, record, x, cotangents);
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const std::size_t source = source_of(record.chosen, wanted[w]);
      if (source < list.size() && list[source].defined())
        loops::copy(list[source], gradients[w]);
      else
        loops::copy(zeros_like(gradients[w]), gradients[w]);
    }
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
    for (const std::size_t k : late_[record.chosen]) all.push_back(read(x)[k]);
    all.insert(all.end(), residuals.begin(), residuals.end());
    detail::List<Tensor> some(p.backward->program().results.size());
    p.backward->run(all, some);
    return with_gaps(some, p.exists);
  }
  // The number of input i of the call among the sources of the body; none if the body does not read it.
  std::size_t source_of(std::size_t chosen, std::size_t i) const {
    const Body& body = bodies_[chosen];
    if (i < arguments_) return i;
    if (i < reads_at_) return Body::none;  // the predicate
    if (i < reads_at_ + reads_.size()) {
      const std::size_t own = body.own_read(i - reads_at_);
      return own == Body::none ? own : arguments_ + own;
    }
    const auto p = body.traced().prepared();
    if (!p) return Body::none;
    const std::uint64_t id = captured_[i - reads_at_ - reads_.size()].id();
    for (std::size_t k = 0; k < p->captured.size(); ++k)
      if (p->captured[k].id() == id) return body.inputs() + k;
    return Body::none;
  }
  // Whether a derivative leads from input i to output k in one of the bodies; for captured tensors it is assumed.
  bool leads(std::size_t k, std::size_t i) const {
    if (i >= reads_at_ + reads_.size()) return true;
    for (std::size_t b = 0; b < bodies_.size(); ++b)
      if (const std::size_t own = source_of(b, i);
          own != Body::none && bodies_[b].connected()[k * bodies_[b].inputs() + own])
        return true;
    return false;
  }

  std::vector<Body> bodies_;
  Reads reads_;
  Tensors captured_;
  std::size_t arguments_, reads_at_, early_reads_ = 0;
  bool keeps_, pulls_ = false;
  std::vector<std::vector<std::size_t>> late_;  // for each body, the reads of its gradient alone
};

// For with_effects: the new values of variables and streams come behind all results.
constexpr std::size_t behind_all_results = ~std::size_t{0};

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
  std::vector<bool> followed = followed_of(arguments);
  const Tensors read = run->reads.values(true);
  for (const bool is : followed_of(chosen(read, run->body.reads()))) followed.push_back(is);
  run->body.reveal(run->captured);
  const bool any_followed =
      !run->captured.empty() || std::find(followed.begin(), followed.end(), true) != followed.end();
  for (std::size_t k = 0; k < loop.variables; ++k) followed[k] = is_differentiable(initial[k].dtype());
  if (condition) condition->reveal(run->captured);
  if (any_followed) run->prepare(followed, levels);
  add_all(arguments, run->reads.values(true));
  return call_deferred(DeferredLoop::deferred(run), arguments);
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
  const auto branches = std::make_shared<const Branches>(std::vector<Body>{body}, arguments, false);
  return Branches::call(name, branches, arguments);
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
  const auto branches = std::make_shared<const Branches>(std::vector<Body>{yes, no}, arguments, true);
  Tensors own(arguments.begin(), arguments.end());
  own.push_back(predicate);
  return Branches::call(name, branches, own);
}

}  // namespace reel::detail
