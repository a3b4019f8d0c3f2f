// Deferred calls as primitives. Their only attribute is the address of the Deferred.
#include "gradient/control/deferred.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>

#include "core/fail.hpp"
#include "gradient/control/composite.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "program/trace.hpp"
#include "tape/tape.hpp"

namespace reel::autodiff {

namespace {

using Reference = std::shared_ptr<const Deferred>;  // owns one of Deferred::uses

const Deferred& deferred_of(std::span<const std::int64_t> attributes) {
  return *std::bit_cast<const Deferred*>(attributes[0]);
}
void retain(std::span<const std::int64_t> attributes) noexcept { ++deferred_of(attributes).uses; }
void release(const Deferred* d) noexcept {
  if (--d->uses == 0) delete d;
}
void release(std::span<const std::int64_t> attributes) noexcept { release(&deferred_of(attributes)); }
Reference hold(const Deferred& d) {
  ++d.uses;
  return {&d, [](const Deferred* p) { release(p); }};
}

void infer(const ops::Call& call, ops::Metas& out) {
  const Deferred& d = deferred_of(call.attributes);
  for (const Deferred::Like& like : d.outputs) out.add(like.dtype, like.shape);
  if (d.pull) out.add(DType::int64, {1});
}

void evaluate(const ops::Call& call, ops::Outputs& out) {
  const Deferred& d = deferred_of(call.attributes);
  const program::Untraced computing;
  detail::List<Tensor> arguments;
  for (const Tensor* x : call.inputs.first(d.arguments)) arguments.push_back(*x);
  if (d.compute) {
    detail::List<Tensor> made;
    for (std::size_t k = 0; k < d.outputs.size(); ++k) made.push_back(out[k]);
    Tensor token;
    const bool keeps = d.pull && out.residuals_wanted();
    d.compute(arguments, made, keeps ? &token : nullptr);
    if (keeps) out.set(made.size(), std::move(token));
    return;
  }
  const std::vector<Tensor> results = d.run(arguments);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].shape() != d.outputs[k].shape)
      fail<ShapeError>(d.name, "result {} has shape {}; when it was traced it had {}", k, results[k].shape(),
                       d.outputs[k].shape);
    loops::copy(results[k], out[k]);
  }
}

void keep_inputs(const ops::Call& call, std::span<const Tensor*> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = call.inputs[i];
}

std::vector<Tensor> saved_arguments(const tape::Record& r, const Deferred& d) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < d.arguments; ++i) all.push_back(r.saved(i));
  return all;
}

// The arguments of the recorded call, then the defined tensors of the list, then the token of the call if there is one.
std::vector<Tensor> saved_and(const tape::Record& r, const Deferred& d, std::span<const Tensor> list) {
  std::vector<Tensor> all = saved_arguments(r, d);
  for (const Tensor& x : list)
    if (x.defined()) all.push_back(x);
  if (r.has_saved(d.inputs())) all.push_back(r.saved(d.inputs()));
  return all;
}

// New handles for the arguments: a tensor that was passed twice is two sources. Derivatives read late variables from
// them.
struct OwnArguments {
  std::vector<Tensor> arguments;
  ops::FrozenReads late;
  OwnArguments(const Deferred& d, std::span<const Tensor> x)
      : arguments(identities(x.first(d.arguments))), late(late_reads(d, arguments)) {}
  static ops::FrozenReads late_reads(const Deferred& d, std::span<const Tensor> x) {
    std::vector<Variable> variables;
    std::vector<Tensor> values;
    for (std::size_t k = 0; k < d.late.size(); ++k)
      if (d.late[k].is_variable()) {
        variables.push_back(d.late[k].variable());
        values.push_back(x[x.size() - d.late.size() + k]);
      }
    return {variables, values};
  }
  Source source(const Deferred& d, std::size_t i) const {
    return Source(i < d.arguments ? arguments[i] : d.captured[i - d.arguments]);
  }
};

std::vector<Tensor> gradients(const Deferred& d, std::span<const Tensor> x, std::span<const std::size_t> seeded,
                              std::span<const std::size_t> wanted, std::int64_t rows) {
  GradientTape tape({.watch_accessed_variables = false});
  const OwnArguments own(d, x);
  std::vector<Source> by;
  for (const std::size_t i : wanted) by.push_back(own.source(d, i));
  watch_differentiable(tape, by);
  const std::vector<Tensor> results = d.run(own.arguments);
  std::vector<Tensor> targets;
  std::vector<Gradient> seeds;
  for (std::size_t k = 0; k < seeded.size(); ++k) {
    targets.push_back(results[seeded[k]]);
    seeds.emplace_back(x[d.arguments + k]);
  }
  std::vector<Tensor> list;
  for (const Gradient& g : pull_on(tape, targets, seeds, by, rows)) {
    const Tensor& like = by[list.size()].tensor();
    Shape shape = like.shape();
    if (rows) shape.insert(0, rows);
    list.push_back(g ? g.dense() : zeros(shape, like.dtype()));
  }
  return list;
}

std::vector<Tensor> tangents(const Deferred& d, std::span<const Tensor> x, std::span<const std::size_t> seeded,
                             std::span<const std::size_t> wanted, std::int64_t) {
  const OwnArguments own(d, x);
  std::vector<Source> moved;
  std::vector<Gradient> along;
  for (std::size_t k = 0; k < seeded.size(); ++k) {
    moved.push_back(own.source(d, seeded[k]));
    along.emplace_back(x[d.arguments + k]);
  }
  const ForwardAccumulator accumulator(moved, along);
  const std::vector<Tensor> results = d.run(own.arguments);
  std::vector<Tensor> list;
  for (const std::size_t k : wanted) {
    const Gradient t = accumulator.jvp(results[k]);
    list.push_back(t ? t.dense() : zeros_like(results[k]));
  }
  return list;
}

// The gradient of a call, whose arguments are followed by the cotangents of the outputs `seeded` and by the token.
// Tangents of the call are linear in those of its inputs. So the gradient of the inner product of cotangents and
// tangents gives both derivatives of the gradient: its tangent and, the Hessian being symmetric, its gradient
// (Pearlmutter 1994).
struct GradientCall {
  Reference of;
  std::vector<std::size_t> seeded, asked;

  std::span<const Tensor> arguments(std::span<const Tensor> x) const { return x.first(of->arguments); }

  // For all inputs of the call that was differentiated.
  struct Through {
    std::vector<Tensor> tangents, gradients;
  };
  // `along`: tangents of those inputs; `of_outputs`, `of_tangents`: cotangents of the outputs and of their tangents.
  std::optional<Through> through(std::span<const Tensor> x, std::span<const Tensor> along,
                                 std::span<const Tensor> of_outputs, std::span<const Tensor> of_tangents) const {
    const Deferred& d = *of;
    GradientTape tape({.watch_accessed_variables = false});
    GradientTapeAccess::get(tape).over_tangents = true;
    const OwnArguments own(d, x);
    std::vector<Source> by;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < d.inputs(); ++i) {
      const Source source = own.source(d, i);
      if (!is_differentiable(source.tensor().dtype())) continue;
      by.push_back(source);
      numbers.push_back(i);
    }
    watch_differentiable(tape, by);
    const auto made = d.with_tangents(own.arguments, along);
    if (!made) return {};
    Through result{{made->begin() + static_cast<std::ptrdiff_t>(d.outputs.size()), made->end()}, {}};
    std::vector<Tensor> targets;
    std::vector<Gradient> seeds;
    const auto add = [&](const Tensor& y, const Tensor& g) {
      if (!y.defined() || !g.defined()) return;
      targets.push_back(y);
      seeds.emplace_back(g);
    };
    for (std::size_t k = 0; k < d.outputs.size(); ++k) {
      add((*made)[k], of_outputs[k]);
      add(result.tangents[k], of_tangents[k]);
    }
    result.gradients.resize(d.inputs());
    const std::vector<Gradient> list = pull_on(tape, targets, seeds, by);
    for (std::size_t k = 0; k < list.size(); ++k)
      result.gradients[numbers[k]] = list[k] ? list[k].dense() : zeros_like(by[k].tensor());
    return result;
  }
  // The cotangents, one entry per output, empty where there is none.
  std::vector<Tensor> in_place(std::span<const Tensor> passed) const {
    std::vector<Tensor> all(of->outputs.size());
    for (std::size_t k = 0; k < seeded.size(); ++k) all[seeded[k]] = passed[k];
    return all;
  }

  std::optional<std::vector<Tensor>> jvp(std::span<const Tensor> x, std::span<const Tensor> t) const {
    const Deferred& d = *of;
    std::vector<Tensor> along(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(d.arguments));
    along.insert(along.end(), t.end() - static_cast<std::ptrdiff_t>(d.captured.size()), t.end());
    const auto found = through(arguments(x), along, in_place(t.subspan(d.arguments, seeded.size())),
                               in_place(x.subspan(d.arguments, seeded.size())));
    if (!found) return {};
    std::vector<Tensor> list;
    for (const std::size_t i : asked) list.push_back(found->gradients[i]);
    return list;
  }
  std::optional<std::vector<Tensor>> vjp(std::span<const Tensor> x, std::span<const Tensor> g) const {
    const Deferred& d = *of;
    std::vector<Tensor> along(d.inputs());
    for (std::size_t k = 0; k < asked.size(); ++k) along[asked[k]] = g[k];
    const auto found = through(arguments(x), along, std::vector<Tensor>(d.outputs.size()),
                               in_place(x.subspan(d.arguments, seeded.size())));
    if (!found) return {};
    std::vector<Tensor> list(found->gradients.begin(),
                             found->gradients.begin() + static_cast<std::ptrdiff_t>(d.arguments));
    for (const std::size_t k : seeded) list.push_back(found->tangents[k]);
    list.emplace_back();  // for the token
    list.insert(list.end(), found->gradients.begin() + static_cast<std::ptrdiff_t>(d.arguments),
                found->gradients.end());
    return list;
  }
};

using DerivativeFunction = std::vector<Tensor> (*)(const Deferred& d, std::span<const Tensor> x,
                                                   std::span<const std::size_t> seeded,
                                                   std::span<const std::size_t> wanted, std::int64_t rows);

// With fewer rows of cotangents, a prepared gradient for each takes less time than running the function again under a
// tape that pulls all at once. Measured on loops of 100 steps with 4 to 64 variables.
constexpr std::int64_t fewest_rows_at_once = 12;

// Writes the gradients of a call that has left a token, the last of x.
void pull(const Deferred& d, std::span<const Tensor> x, std::span<const std::size_t> seeded,
          std::span<const std::size_t> wanted, std::int64_t rows, std::span<const Tensor> to) {
  if (rows >= fewest_rows_at_once) {
    const std::vector<Tensor> list = gradients(d, x, seeded, wanted, rows);
    for (std::size_t k = 0; k < to.size(); ++k) loops::copy(list[k], to[k]);
    return;
  }
  for (std::int64_t row = 0; row < std::max<std::int64_t>(1, rows); ++row) {
    const auto of_row = [&](const Tensor& all) { return rows ? all[row] : all; };
    detail::List<Tensor> cotangents(d.outputs.size()), written;
    for (std::size_t k = 0; k < seeded.size(); ++k) cotangents[seeded[k]] = of_row(x[d.arguments + k]);
    for (const Tensor& all : to) written.push_back(of_row(all));
    d.pull(x.first(d.arguments), x[d.arguments + seeded.size()], cotangents, wanted, written);
  }
}

// Whether a derivative leads from input i to output k.
bool leads_to(const Deferred& d, std::size_t k, std::size_t i) {
  return is_differentiable(d.outputs[k].dtype) && d.connected[k * d.inputs() + i];
}

// A derivative as a deferred call on the arguments and the cotangents or tangents in the list.
std::vector<Tensor> derivative(const tape::Record& r, const Deferred& d, DerivativeFunction function,
                               std::span<const Tensor> list, std::span<const std::size_t> wanted,
                               std::vector<Deferred::Like> outputs) {
  std::vector<std::size_t> seeded;
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].defined()) seeded.push_back(k);
  auto made = std::make_unique<Deferred>();
  made->name = d.name;
  const bool has_token = r.has_saved(d.inputs());
  made->arguments = d.arguments + seeded.size() + (has_token ? 1 : 0);
  made->captured = d.captured;
  made->outputs = std::move(outputs);
  const std::vector<std::size_t> asked(wanted.begin(), wanted.end());
  const std::int64_t rows = r.batch_size();
  made->run = [of = hold(d), function, seeded, asked, rows](std::span<const Tensor> x) {
    return function(*of, x, seeded, asked, rows);
  };
  if (has_token && function == gradients)
    made->compute = [of = hold(d), seeded, asked, rows](std::span<const Tensor> x, std::span<const Tensor> to,
                                                        Tensor*) { pull(*of, x, seeded, asked, rows, to); };
  if (has_token && function == gradients && d.with_tangents && d.late.empty() && !rows) {
    const GradientCall call{hold(d), seeded, asked};
    made->jvp = [call](std::span<const Tensor> x, std::span<const Tensor> t) { return call.jvp(x, t); };
    made->vjp = [call](std::span<const Tensor> x, std::span<const Tensor> g) { return call.vjp(x, g); };
  }
  const bool pulls = function == gradients;
  for (const std::size_t to : wanted) {
    // Whether input i and `to` share an output: then the derivative for `to` depends on input i.
    const auto meets = [&](std::size_t i) {
      if (i < d.arguments && i + d.late.size() >= d.arguments) return true;
      for (std::size_t k = 0; k < d.outputs.size(); ++k) {
        const bool counts = pulls ? list[k].defined() && leads_to(d, k, to) : k == to;
        if (counts && leads_to(d, k, i)) return true;
      }
      return false;
    };
    for (std::size_t i = 0; i < d.arguments; ++i) made->connected.push_back(meets(i));
    for (const std::size_t k : seeded) made->connected.push_back(pulls ? leads_to(d, k, to) : leads_to(d, to, k));
    if (has_token) made->connected.push_back(false);
    for (std::size_t i = d.arguments; i < d.inputs(); ++i) made->connected.push_back(meets(i));
  }
  return call_deferred(std::move(made), saved_and(r, d, list));
}

void vjp(const tape::Record& r, std::span<const Tensor> g, std::span<Gradient> dx) {
  const Deferred& d = deferred_of(r.attributes());
  std::vector<std::size_t> wanted;
  std::vector<Deferred::Like> outputs;
  for (std::size_t i = 0; i < d.inputs(); ++i) {
    bool leads = false;
    for (std::size_t k = 0; k < g.size(); ++k) leads = leads || (g[k].defined() && leads_to(d, k, i));
    if (!leads || !r.wanted(i)) continue;
    wanted.push_back(i);
    outputs.push_back({r.dtype(i), r.batched(r.shape(i))});
  }
  if (wanted.empty()) return;
  if (d.vjp && !r.batch_rank())
    if (std::optional<std::vector<Tensor>> all = d.vjp(saved_arguments(r, d), g)) {
      for (const std::size_t i : wanted)
        dx[i] = Gradient((*all)[i].defined() ? std::move((*all)[i]) : zeros(r.shape(i), r.dtype(i)));
      return;
    }
  std::vector<Tensor> list = derivative(r, d, gradients, g, wanted, std::move(outputs));
  for (std::size_t k = 0; k < wanted.size(); ++k) dx[wanted[k]] = Gradient(std::move(list[k]));
}

void jvp(const tape::Record& r, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Deferred& d = deferred_of(r.attributes());
  std::vector<std::size_t> wanted;
  std::vector<Deferred::Like> outputs;
  for (std::size_t k = 0; k < dy.size(); ++k) {
    bool leads = false;
    for (std::size_t i = 0; i < d.inputs(); ++i) leads = leads || (dx[i].defined() && leads_to(d, k, i));
    if (!leads) continue;
    wanted.push_back(k);
    outputs.push_back(d.outputs[k]);
  }
  if (wanted.empty()) return;
  std::optional<std::vector<Tensor>> all;
  if (d.jvp)
    all = d.jvp(saved_arguments(r, d), dx);
  else if (d.with_tangents)
    if ((all = d.with_tangents(saved_arguments(r, d), dx)))
      all->erase(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(d.outputs.size()));
  if (all) {
    for (const std::size_t k : wanted) dy[k] = std::move((*all)[k]);
    return;
  }
  std::vector<Tensor> list = derivative(r, d, tangents, dx, wanted, std::move(outputs));
  for (std::size_t k = 0; k < wanted.size(); ++k) dy[wanted[k]] = std::move(list[k]);
}

constexpr ops::Primitive named(const char* name, std::uint8_t effects, std::uint8_t tokens) {
  return {.rule = {.name = name,
                   .vjp = vjp,
                   .jvp = jvp,
                   .accepts_none = true,
                   .release = release,
                   .retain = retain,
                   .batched = true},
          .infer = infer,
          .evaluate = evaluate,
          .keep_inputs = keep_inputs,
          .residuals = tokens,
          .effects = effects,
          .tokens = tokens > 0};
}
constexpr std::array function_names{"while_loop", "fori_loop", "scan", "cond", "recompute_grad", "checkpoint"};
constexpr auto with_effects(std::uint8_t effects, std::uint8_t tokens) {
  std::array<ops::Primitive, function_names.size()> list{};
  for (std::size_t k = 0; k < function_names.size(); ++k) list[k] = named(function_names[k], effects, tokens);
  return list;
}
constexpr std::array quiet = with_effects(0, 0), throwing = with_effects(ops::may_throw, 0),
                     quiet_with_token = with_effects(0, 1), throwing_with_token = with_effects(ops::may_throw, 1);

const ops::Primitive& primitive_of(const Deferred& d) {
  std::size_t k = 0;
  while (k + 1 < function_names.size() && std::strcmp(function_names[k], d.name) != 0) ++k;
  if (d.pull) return d.may_throw ? throwing_with_token[k] : quiet_with_token[k];
  return d.may_throw ? throwing[k] : quiet[k];
}

// The outputs, reordered so that differentiable ones come first: a call is recorded for its first output.
std::vector<std::size_t> floats_first(const Deferred& d) {
  std::vector<std::size_t> order(d.outputs.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t k) { return is_differentiable(d.outputs[k].dtype); });
  return order;
}

// Reorders the outputs of the call.
void reorder(Deferred& d, const std::vector<std::size_t>& order) {
  std::vector<Deferred::Like> outputs;
  std::vector<bool> connected;
  for (const std::size_t k : order) {
    outputs.push_back(d.outputs[k]);
    for (std::size_t i = 0; i < d.inputs(); ++i) connected.push_back(d.connected[k * d.inputs() + i]);
  }
  d.outputs = std::move(outputs);
  d.connected = std::move(connected);
  d.run = [run = d.run, order](std::span<const Tensor> x) {
    const std::vector<Tensor> before = run(x);
    std::vector<Tensor> results;
    for (const std::size_t k : order) results.push_back(before[k]);
    return results;
  };
  const auto in_place = [order](std::span<const Tensor> list) {
    detail::List<Tensor> all(list.size());
    for (std::size_t k = 0; k < order.size(); ++k) all[order[k]] = list[k];
    return all;
  };
  if (d.compute)
    d.compute = [compute = d.compute, in_place](std::span<const Tensor> x, std::span<const Tensor> to, Tensor* token) {
      compute(x, in_place(to), token);
    };
  if (d.pull)
    d.pull = [pull = d.pull, in_place](std::span<const Tensor> x, const Tensor& token,
                                       std::span<const Tensor> cotangents, std::span<const std::size_t> wanted,
                                       std::span<const Tensor> gradients) {
      pull(x, token, in_place(cotangents), wanted, gradients);
    };
  if (d.with_tangents)
    d.with_tangents = [with = d.with_tangents, order](std::span<const Tensor> x, std::span<const Tensor> along) {
      const std::optional<std::vector<Tensor>> before = with(x, along);
      std::optional<std::vector<Tensor>> all;
      if (!before) return all;
      all.emplace();
      for (const std::size_t first : {std::size_t{0}, order.size()})
        for (const std::size_t k : order) all->push_back((*before)[first + k]);
      return all;
    };
}

}  // namespace

std::vector<Tensor> call_deferred(std::unique_ptr<Deferred> deferred, std::span<const Tensor> arguments) {
  const std::vector<std::size_t> order = floats_first(*deferred);
  if (!std::is_sorted(order.begin(), order.end())) reorder(*deferred, order);
  const Reference owner(deferred.release(), [](const Deferred* p) { release(p); });
  std::vector<const Tensor*> inputs;
  for (const Tensor& x : arguments) inputs.push_back(&x);
  for (const Tensor& x : owner->captured) inputs.push_back(&x);
  std::vector<Tensor> outputs(order.size()), results(order.size());
  const std::int64_t attributes[] = {std::bit_cast<std::int64_t>(owner.get())};
  ops::apply(primitive_of(*owner), inputs, attributes, outputs);
  for (std::size_t k = 0; k < order.size(); ++k) results[order[k]] = std::move(outputs[k]);
  return results;
}

namespace {

// The call of an instruction; null for other instructions.
const Deferred* deferred_of(const program::Instruction& i) {
  const bool is = i.operation.primitive && i.operation.primitive->evaluate == evaluate;
  return is ? &deferred_of(i.attributes.words()) : nullptr;
}

}  // namespace

std::span<const Deferred::Part> parts_of(const program::Instruction& i) {
  const Deferred* d = deferred_of(i);
  return d ? d->parts : std::span<const Deferred::Part>();
}

std::vector<bool> connections(const program::Program& p) {
  const std::size_t inputs = p.arguments.size();
  std::vector<std::vector<bool>> leads(
      p.values.size(), std::vector<bool>(inputs));  // [value][argument]: whether a derivative leads there
  const auto carries = [&](program::Index v) { return is_differentiable(p.values[v].tensor.dtype()); };
  for (std::size_t i = 0; i < inputs; ++i) leads[p.arguments[i]][i] = carries(p.arguments[i]);
  for (const program::Instruction& i : p.instructions) {
    const Deferred* d = deferred_of(i);
    for (std::size_t k = 0; k < i.outputs.size(); ++k) {
      const program::Index v = i.outputs[k];
      if (v == program::nothing || !carries(v)) continue;
      for (std::size_t n = 0; n < i.inputs.size(); ++n) {
        const program::Index o = i.inputs[n];
        if (o == program::nothing || (d && !leads_to(*d, k, n))) continue;
        for (std::size_t a = 0; a < inputs; ++a)
          if (leads[p.operands[o].value][a]) leads[v][a] = true;
      }
    }
  }
  // Arguments may be views of one tensor: a value derived from one is found by the memory of the other.
  const auto memory = [&](std::size_t i) {
    const detail::Block* b = detail::block(p.values[p.arguments[i]].tensor);
    return b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
  };
  std::vector<bool> list;
  for (const program::Index o : p.results) {
    const std::vector<bool>& from = leads[p.operands[o].value];
    for (std::size_t i = 0; i < inputs; ++i) {
      bool leads_here = from[i];
      for (std::size_t k = 0; !leads_here && k < inputs; ++k) leads_here = from[k] && memory(k) == memory(i);
      list.push_back(leads_here);
    }
  }
  return list;
}

}  // namespace reel::autodiff
