// Loops, branches and checkpoints as deferred calls.
#include "gradient/programs/loops.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/programs/deferred.hpp"
#include "gradient/programs/traced.hpp"
#include "ops/apply/operation.hpp"
#include "tape/tape.hpp"
#include "tape/variable.hpp"

namespace reel::autodiff {

namespace {

using Tensors = std::vector<Tensor>;
using TensorSpan = std::span<const Tensor>;

// A scan of so few steps is faster unrolled: its instructions fuse with their neighbours.
constexpr std::int64_t most_unrolled = 64;

void append(Tensors& to, TensorSpan more) { to.insert(to.end(), more.begin(), more.end()); }

Tensors contiguous_all(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(contiguous(x));
  return all;
}

// Abstract tensors of these dtypes and shapes, row-major.
Tensors like(TensorSpan list) {
  Tensors all;
  for (const Tensor& x : list) all.push_back(ops::abstract(x.dtype(), x.shape()));
  return all;
}
Tensor like_row(const Tensor& x) {
  Shape shape;
  for (int d = 1; d < x.rank(); ++d) shape.push_back(x.shape()[d]);
  return ops::abstract(x.dtype(), shape);
}

bool same_shapes(TensorSpan a, TensorSpan b) {
  return std::equal(a.begin(), a.end(), b.begin(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape() && x.dtype() == y.dtype(); });
}

// A function that is a program inside the one that is being traced: what it adopts of that are further arguments.
class Body {
 public:
  Body(const char* name, detail::FlatFunction f, TensorSpan examples)
      : traced_(std::make_shared<Traced>(name, std::move(f), examples, TensorSpan(), program::Trace::current())) {}
  Traced& traced() const { return *traced_; }
  Tensors results() const { return traced_->results(); }
  std::size_t adopted() const { return traced_->adopted().size(); }
  bool may_throw() const {
    const auto& list = traced_->program().instructions;
    return std::any_of(list.begin(), list.end(), [](const program::Instruction& i) { return i.may_throw(); });
  }
  /// Adds what it adopts to the arguments of the deferred call, and what it captures that the tapes of the trace follow
  /// to the captured tensors; tells these tapes which variables it reads.
  void reveal(Tensors& arguments, Tensors& captured) const {
    const std::size_t first = arguments.size();
    append(arguments, traced_->adopted());
    program::Trace& trace = *program::Trace::current();
    for (const Tensor& x : traced_->captured()) {
      trace.note(x);
      if (tape::active() && tape::followed(x) &&
          std::none_of(captured.begin(), captured.end(), [&](const Tensor& c) { return c.id() == x.id(); }))
        captured.push_back(x);
    }
    for (std::size_t k = 0; k < traced_->enclosing_variables().size(); ++k) {
      const Tensor value = trace.read(traced_->enclosing_variables()[k]);
      for (std::size_t i = first; i < arguments.size(); ++i)
        if (arguments[i].id() == traced_->enclosing_values()[k].id()) arguments[i] = value;
    }
    if (!tape::active()) return;
    std::vector<bool> followed;
    for (std::size_t i = first; i < arguments.size(); ++i) followed.push_back(tape::followed(arguments[i]));
    traced_->prepare(followed);
  }
  Tensors operator()(TensorSpan arguments, TensorSpan adopted) const {
    const detail::List<Tensor> list = traced_->call(contiguous_all(arguments), adopted);
    return {list.begin(), list.end()};
  }
  /// Whether result k depends on argument i through derivatives; arguments of the body, then what it adopts.
  const std::vector<bool>& connected() const { return traced_->connected(); }
  std::size_t inputs() const { return traced_->program().arguments.size(); }

 private:
  std::shared_ptr<Traced> traced_;
};

std::vector<Deferred::Like> kinds_of(TensorSpan list) {
  std::vector<Deferred::Like> kinds;
  for (const Tensor& x : list) kinds.push_back({x.dtype(), x.shape()});
  return kinds;
}

// ---- Loops

// What a loop as a deferred call consists of: the loop variables, xs, then what body and condition adopt.
struct LaterLoop {
  detail::FlatLoop loop;
  LoopOptions options;
  Body body;
  std::optional<Body> condition;
  std::size_t xs;

  std::size_t body_at() const { return loop.variables + xs; }
  std::size_t condition_at() const { return body_at() + body.adopted(); }

  Tensors operator()(TensorSpan x) const {
    if (condition && xs == 0 && !tape::active()) return run_unseen(x);
    detail::FlatLoop now{.name = loop.name};
    now.variables = loop.variables;
    now.steps = loop.steps;
    now.step = [this, adopted = Tensors(x.begin() + offset(body_at()), x.begin() + offset(condition_at()))](
                   TensorSpan state, TensorSpan row) {
      Tensors all(state.begin(), state.end());
      append(all, row);
      return body(all, adopted);
    };
    if (condition)
      now.more = [this, adopted = Tensors(x.begin() + offset(condition_at()), x.end())](TensorSpan state) {
        return detail::truth(loop.name, (*condition)(state, adopted)[0]);
      };
    return detail::run_loop(now, x.first(loop.variables), x.subspan(loop.variables, xs), options);
  }

  // The same where no tape is active: a while_loop whose lists are made once.
  Tensors run_unseen(TensorSpan x) const {
    const std::size_t n = loop.variables;
    Tensors given = contiguous_all(x.first(n)), asked = given, results(n), answer(1);
    given.insert(given.end(), x.begin() + offset(body_at()), x.begin() + offset(condition_at()));
    asked.insert(asked.end(), x.begin() + offset(condition_at()), x.end());
    for (std::int64_t i = 0; options.max_iterations < 0 || i < options.max_iterations; ++i) {
      for (std::size_t k = 0; k < n; ++k) asked[k] = given[k];
      condition->traced().run_unseen(asked, answer);
      if (!detail::truth(loop.name, answer[0])) break;
      body.traced().run_unseen(given, results);
      for (std::size_t k = 0; k < n; ++k)
        given[k] = results[k].is_contiguous() ? std::move(results[k]) : contiguous(results[k]);
    }
    given.resize(n);
    return given;
  }

  // As Deferred::connected: what a loop variable depends on reaches all that depends on it, iterations later.
  std::vector<bool> connected(std::size_t plain, std::size_t inputs, std::size_t results) const {
    const std::vector<bool>& once = body.connected();
    std::vector<bool> list(results * inputs);
    for (std::size_t k = 0; k < results; ++k) {
      for (std::size_t i = plain; i < inputs; ++i) list[k * inputs + i] = true;  // captured tensors: not known
      if (k < loop.variables) list[k * inputs + k] = true;                       // a loop may have no iterations
      for (std::size_t i = 0; i < body.inputs(); ++i)
        if (once[k * body.inputs() + i]) list[k * inputs + i] = true;
    }
    for (std::size_t round = 0; round < loop.variables; ++round)
      for (std::size_t k = 0; k < results; ++k)
        for (std::size_t j = 0; j < loop.variables; ++j)
          if (list[k * inputs + j])
            for (std::size_t i = 0; i < inputs; ++i)
              if (list[j * inputs + i]) list[k * inputs + i] = true;
    return list;
  }

 private:
  static std::ptrdiff_t offset(std::size_t k) { return static_cast<std::ptrdiff_t>(k); }
};

void check_condition(const char* name, const Tensor& predicate) {
  if (predicate.size() != 1)
    fail<ShapeError>(name, "the condition has shape {}; it must have one element: use all or any", predicate.shape());
}

}  // namespace

std::optional<Tensors> trace_loop(const detail::FlatLoop& loop, TensorSpan initial, TensorSpan xs,
                                  const LoopOptions& options) {
  if (loop.more ? !loop.condition : loop.steps <= most_unrolled) return {};
  Tensors examples = like(initial);
  std::optional<Body> condition;
  if (loop.condition) {
    condition.emplace(loop.name, loop.condition, examples);
    check_condition(loop.name, condition->results()[0]);
  }
  for (const Tensor& x : xs) examples.push_back(like_row(x));
  const Body body(
      loop.name,
      [step = loop.step, variables = loop.variables](TensorSpan x) {
        return step(x.first(variables), x.subspan(variables));
      },
      examples);
  Tensors results = body.results();
  if (!same_shapes(initial, TensorSpan(results).first(loop.variables))) {
    if (!loop.more) return {};
    fail<TraceError>(
        loop.name,
        "the body changes the shape of a loop variable, and a program has to know the shape of the result; "
        "keep the shape and say by a number or a mask how much of it counts");
  }
  for (std::size_t k = loop.variables; k < results.size(); ++k) {
    Shape shape = results[k].shape();
    shape.insert(0, loop.steps);
    results[k] = ops::abstract(results[k].dtype(), shape);
  }
  LoopOptions later = options;
  later.compiled = false;
  auto made = std::make_unique<Deferred>();
  made->name = loop.name;
  Tensors arguments(initial.begin(), initial.end());
  append(arguments, xs);
  body.reveal(arguments, made->captured);
  if (condition) condition->reveal(arguments, made->captured);
  made->arguments = arguments.size();
  made->outputs = kinds_of(results);
  made->may_throw = body.may_throw() || (condition && condition->may_throw());
  auto run = std::make_shared<LaterLoop>(
      LaterLoop{.loop = loop, .options = later, .body = body, .condition = condition, .xs = xs.size()});
  made->connected = run->connected(arguments.size(), made->inputs(), results.size());
  made->run = [run](TensorSpan x) { return (*run)(x); };
  return call_later(std::move(made), arguments);
}

detail::FlatLoop with_compiled_step(const detail::FlatLoop& loop) {
  // By the dtypes, shapes and strides of what a step gets.
  auto programs = std::make_shared<std::map<std::vector<std::int64_t>, std::shared_ptr<Traced>>>();
  detail::FlatLoop compiled = loop;
  compiled.step = [loop, programs](TensorSpan state, TensorSpan row) {
    Tensors all(state.begin(), state.end());
    append(all, row);
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
    const detail::List<Tensor> given = traced->call(all);
    return Tensors(given.begin(), given.end());
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
      like(arguments));
  auto made = std::make_unique<Deferred>();
  made->name = name;
  Tensors all(arguments.begin(), arguments.end());
  body.reveal(all, made->captured);
  made->arguments = all.size();
  made->outputs = kinds_of(body.results());
  made->may_throw = body.may_throw();
  const std::vector<bool>& connected = body.connected();
  for (std::size_t k = 0; k < made->outputs.size(); ++k)
    for (std::size_t i = 0; i < made->inputs(); ++i)
      made->connected.push_back(i >= body.inputs() || connected[k * body.inputs() + i]);
  made->run = [body, count = arguments.size()](TensorSpan x) { return body(x.first(count), x.subspan(count)); };
  return call_later(std::move(made), all);
}

}  // namespace reel::autodiff

namespace reel::detail {

using namespace autodiff;

bool is_traced(const Tensor& x) noexcept { return ops::is_abstract(x) && ops::Tracer::current(); }

std::vector<Tensor> traced_cond(const Tensor& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
                                std::span<const Tensor> arguments) {
  constexpr const char* name = "cond";
  check_condition(name, predicate);
  const Body yes(name, on_true, like(arguments)), no(name, on_false, like(arguments));
  const Tensors results = yes.results(), others = no.results();
  if (results.size() != others.size() || !same_shapes(results, others))
    fail<TraceError>(name,
                     "the branches of a traced function give different dtypes or shapes; both results are one value of "
                     "the program: cast or broadcast them");
  auto made = std::make_unique<Deferred>();
  made->name = name;
  Tensors all(arguments.begin(), arguments.end());
  all.push_back(predicate);
  yes.reveal(all, made->captured);
  no.reveal(all, made->captured);
  made->arguments = all.size();
  made->outputs = kinds_of(results);
  made->may_throw = yes.may_throw() || no.may_throw();
  const std::size_t count = arguments.size();
  const std::vector<bool>&by_yes = yes.connected(), &by_no = no.connected();
  const auto leads = [&](const std::vector<bool>& list, const Body& body, std::size_t k, std::size_t i,
                         std::size_t adopted_at) {
    if (i >= count && (i < adopted_at || i >= adopted_at + body.adopted())) return false;
    return bool(list[k * body.inputs() + (i < count ? i : i - adopted_at + count)]);
  };
  for (std::size_t k = 0; k < results.size(); ++k)
    for (std::size_t i = 0; i < made->inputs(); ++i)
      made->connected.push_back(i >= made->arguments || leads(by_yes, yes, k, i, count + 1) ||
                                leads(by_no, no, k, i, count + 1 + yes.adopted()));
  made->run = [yes, no, count](TensorSpan x) {
    const TensorSpan adopted = x.subspan(count + 1);
    return truth(name, x[count]) ? yes(x.first(count), adopted.first(yes.adopted()))
                                 : no(x.first(count), adopted.subspan(yes.adopted()));
  };
  return call_later(std::move(made), all);
}

}  // namespace reel::detail
