// Deferred calls as primitives. Their only attribute is the address of the Deferred.
#include "gradient/control/deferred_call.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <reel/control.hpp>
#include <reel/forward.hpp>
#include <reel/ops/make.hpp>

#include "core/fail.hpp"
#include "core/word.hpp"
#include "gradient/programs/derivative.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

void Deferred::compute(TensorSpan x, TensorSpan to, Tensor*) const {
  const Tensors results = run(x);
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k].shape() != outputs[k].shape())
      fail<ShapeError>(name, "result {} has shape {}; when it was traced it had {}", k, results[k].shape(),
                       outputs[k].shape());
    loops::copy(results[k], to[k]);
  }
}

void Deferred::write(csource::Writer& w, bool) const {
  detail::fail<TraceError>(
      "generate_c",
      "{} has no form in C here: a derivative that runs it again under a tape; take derivatives of "
      "lower order, or compute it outside of the function",
      w.instruction().name);
}

std::optional<Tensors> Deferred::jvp(TensorSpan x, TensorSpan tangents) const {
  if (!pushes(tangents)) return {};
  const Tensors all = with_tangents(x, tangents);
  return Tensors(all.begin() + static_cast<std::ptrdiff_t>(outputs.size()), all.end());
}

namespace {

const Deferred& deferred_of(std::span<const std::int64_t> attributes) {
  return *detail::pointer_of<const Deferred>(attributes[0]);
}
void retain(std::span<const std::int64_t> attributes) noexcept { ++deferred_of(attributes).uses; }
void release(std::span<const std::int64_t> attributes) noexcept { deferred_of(attributes).release(); }

// A derivative of a call, as a call. Its arguments: those of the call, the cotangents or tangents `seeded`, the token
// of the call if there is one.
class Derivative final : public Deferred {
 public:
  enum class Kind { gradient, tangent };
  // `wanted`: inputs of the call that get a gradient, or outputs that get a tangent. `rows`: of each cotangent, or 0.
  Derivative(const Deferred& of, Kind kind, bool has_token, std::vector<std::size_t> seeded,
             std::vector<std::size_t> wanted, std::int64_t rows)
      : Deferred(of.name),
        of_(&of, [](const Deferred* d) { d->release(); }),
        kind_(kind),
        has_token_(has_token),
        seeded_(std::move(seeded)),
        wanted_(std::move(wanted)),
        rows_(rows) {
    ++of.uses;
    arguments = of.arguments + seeded_.size() + has_token;
    captured = of.captured;
    has_rules = of.has_rules;
    derives = true;
    connected = Connections(wanted_.size(), inputs());
    for (std::size_t k = 0; k < wanted_.size(); ++k) add_connections(k);
  }

  Tensors run(TensorSpan x) const override;
  void compute(TensorSpan x, TensorSpan to, Tensor* token) const override;
  std::optional<Tensors> jvp(TensorSpan x, TensorSpan tangents) const override;
  std::optional<Tensors> vjp(TensorSpan x, TensorSpan cotangents) const override;
  void write(csource::Writer& w, bool keeps) const override;

 private:
  TensorSpan directions(TensorSpan x) const { return x.subspan(of_->arguments, seeded_.size()); }
  Differentiated differentiated(detail::FlatFunction f) const {
    return {.f = std::move(f),
            .arguments = of_->arguments,
            .reads = {},
            .captured = of_->captured,
            .wanted = {},
            .seeded = {}};
  }
  void add_connections(std::size_t row);
  // The Hessian of a function with rules of its own is not that of its tangents.
  bool can_pull_tangents() const { return !has_rules && kind_ == Kind::gradient && has_token_ && !rows_; }
  // Both derivatives of a gradient by one gradient: tangents of the call are linear in those of its inputs, so the
  // gradient of the inner product of cotangents and tangents is its tangent and, the Hessian being symmetric, its
  // gradient (Pearlmutter 1994). `along`: tangents of inputs of the call; `of_outputs`, `of_tangents`: cotangents of
  // its outputs and of their tangents. Returns outputs, tangents, and gradients by all inputs.
  Pulled pull_tangents(TensorSpan x, TensorSpan along, TensorSpan of_outputs, TensorSpan of_tangents) const;
  // The list with gaps, one entry per output of the call.
  Tensors spread_seeds(TensorSpan list) const {
    Tensors all(of_->outputs.size());
    for (std::size_t k = 0; k < seeded_.size(); ++k) all[seeded_[k]] = list[k];
    return all;
  }

  std::shared_ptr<const Deferred> of_;
  Kind kind_;
  bool has_token_;
  std::vector<std::size_t> seeded_, wanted_;
  std::int64_t rows_;
};

void Derivative::add_connections(std::size_t row) {
  const bool is_gradient = kind_ == Kind::gradient;
  const std::size_t to = wanted_[row];
  // Whether input i and `to` share an output: then the derivative for `to` depends on input i.
  const auto meets = [&](std::size_t i) {
    if (has_rules) return true;
    if (!is_gradient) return of_->leads(to, i);
    return std::any_of(seeded_.begin(), seeded_.end(),
                       [&](std::size_t k) { return of_->leads(k, to) && of_->leads(k, i); });
  };
  std::size_t column = 0;
  const auto add = [&](bool leads) {
    if (leads) connected.set(row, column);
    ++column;
  };
  for (std::size_t i = 0; i < of_->arguments; ++i) add(meets(i));
  for (const std::size_t k : seeded_) add(is_gradient ? of_->leads(k, to) : of_->leads(to, k));
  if (has_token_) add(false);
  for (std::size_t i = of_->arguments; i < of_->inputs(); ++i) add(meets(i));
}

// New handles for the arguments: a tensor that was passed twice is two sources. Derivatives read late variables from
// them.
struct OwnArguments {
  Tensors list;
  ops::FrozenReads late;
  OwnArguments(const Deferred& d, TensorSpan x)
      : list(identities(x.first(d.arguments))), late(frozen_reads(d.late, TensorSpan(list).last(d.late.size()))) {}
};

Tensors Derivative::run(TensorSpan x) const {
  const OwnArguments own(*of_, x);
  Differentiated what = differentiated([this](TensorSpan y) { return of_->run(y); });
  what.seeded = seeded_;
  what.rows = rows_;
  const bool is_gradient = kind_ == Kind::gradient;
  if (is_gradient) {
    what.wanted.resize(of_->inputs());
    for (const std::size_t i : wanted_) what.wanted[i] = true;
  }
  const std::vector<Derived> all = (is_gradient ? gradients_of : tangents_of)(what, joined({own.list, directions(x)}));
  Tensors list;
  for (const std::size_t k : wanted_) list.push_back(all[k].or_zeros());
  return list;
}

// With fewer rows of cotangents, a prepared gradient for each takes less time than running the function again under a
// tape that pulls all at once. Measured on loops of 100 steps with 4 to 64 variables.
constexpr std::int64_t fewest_rows_at_once = 12;

void Derivative::compute(TensorSpan x, TensorSpan to, Tensor* token) const {
  if (!has_token_ || kind_ == Kind::tangent || rows_ >= fewest_rows_at_once) return Deferred::compute(x, to, token);
  for (std::int64_t row = 0; row < std::max<std::int64_t>(1, rows_); ++row) {
    const auto of_row = [&](const Tensor& all) { return rows_ ? all[row] : all; };
    detail::List<Tensor> cotangents(of_->outputs.size()), written;
    for (std::size_t k = 0; k < seeded_.size(); ++k) cotangents[seeded_[k]] = of_row(directions(x)[k]);
    for (const Tensor& all : to) written.push_back(of_row(all));
    of_->pull(x.first(of_->arguments), x[of_->arguments + seeded_.size()], cotangents, wanted_, written);
  }
}

// Many cotangents are a loop over their rows.
void Derivative::write(csource::Writer& w, bool keeps) const {
  if (!has_token_ || kind_ == Kind::tangent) return Deferred::write(w, keeps);
  const csource::Writer::Instruction own = w.instruction();
  const csource::Blocks nest(w);
  const csource::Index r = rows_ ? w.loop(rows_) : csource::Index();
  const auto of_row = [&](const csource::Array& all) { return rows_ ? csource::row(all, r) : all; };
  std::vector<csource::Array> cotangents(of_->outputs.size()), gradients;
  for (std::size_t k = 0; k < seeded_.size(); ++k) cotangents[seeded_[k]] = of_row(own.inputs[of_->arguments + k]);
  for (const csource::Array& y : own.outputs) gradients.push_back(of_row(y));
  of_->write_pull(w, std::span(own.inputs).first(of_->arguments), *own.inputs[of_->arguments + seeded_.size()].token,
                  cotangents, wanted_, gradients);
}

Pulled Derivative::pull_tangents(TensorSpan x, TensorSpan along, TensorSpan of_outputs, TensorSpan of_tangents) const {
  const Deferred& d = *of_;
  const OwnArguments own(d, x);
  Tensors given = own.list;
  Differentiated what = differentiated([&](TensorSpan y) { return d.with_tangents(y, along); });
  what.over_tangents = true;
  for (const Tensor& one : joined({x.first(d.arguments), d.captured}))
    what.wanted.push_back(is_differentiable(one.dtype()));
  for (std::size_t k = 0; k < d.outputs.size(); ++k)
    for (const bool is_tangent : {false, true})
      if (const Tensor& g = (is_tangent ? of_tangents : of_outputs)[k];
          g.defined() && is_differentiable(d.outputs[k].dtype())) {
        what.seeded.push_back(k + (is_tangent ? d.outputs.size() : 0));
        given.push_back(g);
      }
  return compute_vjp(what, given);
}

std::optional<Tensors> Derivative::jvp(TensorSpan x, TensorSpan t) const {
  const Tensors along = joined({t.first(of_->arguments), t.last(of_->captured.size())});
  if (!can_pull_tangents() || !of_->pushes(along)) return {};
  const Pulled pulled = pull_tangents(x, along, spread_seeds(directions(t)), spread_seeds(directions(x)));
  Tensors list;
  for (const std::size_t i : wanted_) list.push_back(pulled.gradients[i].or_zeros());
  return list;
}

std::optional<Tensors> Derivative::vjp(TensorSpan x, TensorSpan g) const {
  if (!can_pull_tangents()) return {};
  Tensors along(of_->inputs());
  for (std::size_t k = 0; k < wanted_.size(); ++k) along[wanted_[k]] = g[k];
  if (!of_->pushes(along)) return {};
  const Pulled pulled = pull_tangents(x, along, Tensors(of_->outputs.size()), spread_seeds(directions(x)));
  Tensors list;
  for (const Derived& d : pulled.gradients) list.push_back(d.value);
  Tensors of_directions;
  for (const std::size_t k : seeded_) of_directions.push_back(pulled.results[of_->outputs.size() + k]);
  of_directions.emplace_back();  // for the token
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(of_->arguments), of_directions.begin(), of_directions.end());
  return list;
}

// ---- The primitive

void infer(const ops::Call& call, ops::Metas& out) {
  const Deferred& d = deferred_of(call.attributes);
  for (const Tensor& like : d.outputs) out.add_like(like);
  if (d.pulls()) out.add(DType::int64, {1});
}

void evaluate(const ops::Call& call, ops::Outputs& out) {
  const Deferred& d = deferred_of(call.attributes);
  const program::Untraced computing;
  detail::List<Tensor> arguments, made;
  for (const Tensor* x : call.inputs.first(d.arguments)) arguments.push_back(*x);
  for (std::size_t k = 0; k < d.outputs.size(); ++k) made.push_back(out[k]);
  Tensor token;
  const bool keeps = d.pulls() && out.residuals_wanted();
  d.compute(arguments, made, keeps ? &token : nullptr);
  if (keeps) out.set(made.size(), std::move(token));
}

void write(const ops::Call& call, csource::Writer& w) {
  const Deferred& d = deferred_of(call.attributes);
  d.write(w, d.pulls() && w.wanted(d.outputs.size()));
}

void keep_inputs(const ops::Call& call, std::span<const Tensor*> values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = call.inputs[i];
}

Tensors saved_arguments(const tape::Record& r, const Deferred& d) {
  Tensors all;
  for (std::size_t i = 0; i < d.arguments; ++i) all.push_back(r.saved(i));
  return all;
}

// A derivative along the defined tensors of the list.
Tensors derivative(const tape::Record& r, Derivative::Kind kind, TensorSpan list,
                   const std::vector<std::size_t>& wanted) {
  const Deferred& d = deferred_of(r.attributes());
  std::vector<std::size_t> seeded;
  Tensors arguments = saved_arguments(r, d);
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k].defined()) {
      seeded.push_back(k);
      arguments.push_back(list[k]);
    }
  const bool has_token = r.has_saved(d.inputs());
  if (has_token) arguments.push_back(r.saved(d.inputs()));
  const auto made = make_deferred<Derivative>(d, kind, has_token, std::move(seeded), wanted, r.batch_size());
  for (const std::size_t k : wanted)
    made->outputs.push_back(kind == Derivative::Kind::gradient ? ops::abstract(r.dtype(k), r.batched(r.shape(k)))
                                                               : d.outputs[k]);
  return call_deferred(*made, arguments);
}

// A further owner of d.
std::shared_ptr<const Deferred> share(const Deferred& d) {
  ++d.uses;
  return {&d, [](const Deferred* one) { one->release(); }};
}

// The gradients of a call for many cotangents at once, one row of them after the other.
class GradientRows {
 public:
  GradientRows(const tape::Record& r, const Deferred& d, TensorSpan g)
      : of_(share(d)), x_(saved_arguments(r, d)), outputs_(g.size()) {
    for (std::size_t k = 0; k < outputs_; ++k)
      if (g[k].defined()) seeded_.push_back(k);
  }
  // The gradients that exist, for a row of the defined cotangents; none if the call has no gradient.
  Tensors gradients(TensorSpan row) {
    Tensors g(outputs_), made;
    for (std::size_t k = 0; k < row.size(); ++k) g[seeded_[k]] = row[k];
    if (const auto all = of_->vjp(x_, g)) {
      exists_.clear();
      for (const Tensor& gradient : *all) {
        exists_.push_back(gradient.defined());
        if (gradient.defined()) made.push_back(gradient);
      }
    }
    return made;
  }
  // By inputs, from those that exist; none before there was a gradient.
  std::optional<Tensors> by_inputs(TensorSpan existing) const {
    if (exists_.empty()) return {};
    Tensors list;
    std::size_t next = 0;
    for (const bool exists : exists_) list.push_back(exists ? existing[next++] : Tensor());
    return list;
  }

 private:
  std::shared_ptr<const Deferred> of_;
  Tensors x_;
  std::size_t outputs_;
  std::vector<std::size_t> seeded_;  // the outputs with cotangents
  std::vector<bool> exists_;         // the gradients by inputs
};

// The gradient of a gradient for many cotangents at once, as a loop over them: what becomes C cannot run a call again
// under a tape. None if the call is no gradient, or has no tangents.
[[gnu::cold]] std::optional<Tensors> pull_rows(const tape::Record& r, const Deferred& d, TensorSpan g) {
  if (!program::Trace::composing() || !d.derives) return {};
  const auto rows = std::make_shared<GradientRows>(r, d, g);
  Tensors cotangents;
  for (const Tensor& one : g)
    if (one.defined()) cotangents.push_back(one);
  detail::FlatLoop loop{.name = "scan"};
  loop.steps = r.batch_size();
  loop.step = [rows](TensorSpan, TensorSpan row) { return rows->gradients(row); };
  return rows->by_inputs(detail::run_loop(loop, {}, cotangents, {.compiled = true}));
}

void vjp(const tape::Record& r, TensorSpan g, std::span<Gradient> dx) {
  const Deferred& d = deferred_of(r.attributes());
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < d.inputs(); ++i) {
    bool leads = false;
    for (std::size_t k = 0; k < g.size(); ++k) leads = leads || (g[k].defined() && d.leads(k, i));
    if (leads && r.wanted(i)) wanted.push_back(i);
  }
  if (wanted.empty()) return;
  if (auto all = r.batch_rank() ? pull_rows(r, d, g) : d.vjp(saved_arguments(r, d), g)) {
    for (const std::size_t i : wanted)
      dx[i] = Gradient((*all)[i].defined() ? std::move((*all)[i]) : zeros(r.batched(r.shape(i)), r.dtype(i)));
    return;
  }
  Tensors list = derivative(r, Derivative::Kind::gradient, g, wanted);
  for (std::size_t k = 0; k < wanted.size(); ++k) dx[wanted[k]] = Gradient(std::move(list[k]));
}

void jvp(const tape::Record& r, TensorSpan dx, std::span<Tensor> dy) {
  const Deferred& d = deferred_of(r.attributes());
  std::vector<std::size_t> wanted;
  for (std::size_t k = 0; k < dy.size(); ++k) {
    bool leads = false;
    for (std::size_t i = 0; i < d.inputs(); ++i) leads = leads || (dx[i].defined() && d.leads(k, i));
    if (leads) wanted.push_back(k);
  }
  if (wanted.empty()) return;
  if (auto all = d.jvp(saved_arguments(r, d), dx)) {
    for (const std::size_t k : wanted) dy[k] = std::move((*all)[k]);
    return;
  }
  Tensors list = derivative(r, Derivative::Kind::tangent, dx, wanted);
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
          .tokens = tokens > 0,
          .write_c = write};
}
constexpr std::array function_names{"while_loop", "fori_loop", "scan", "cond", "recompute_grad", "checkpoint"};
constexpr std::array primitives = [] {  // for each function: quiet or throwing, without or with a token
  std::array<std::array<ops::Primitive, 4>, function_names.size()> all{};
  for (std::size_t k = 0; k < all.size(); ++k)
    for (std::uint8_t kind = 0; kind < 4; ++kind)
      all[k][kind] = named(function_names[k], kind & 1 ? std::uint8_t{ops::may_throw} : std::uint8_t{0}, kind >> 1);
  return all;
}();

const ops::Primitive& primitive_of(const Deferred& d) {
  std::size_t k = 0;
  while (k + 1 < function_names.size() && std::strcmp(function_names[k], d.name) != 0) ++k;
  return primitives[k][d.may_throw + 2 * d.pulls()];
}

}  // namespace

Tensors call_deferred(const Deferred& d, TensorSpan arguments) {
  std::vector<const Tensor*> inputs;
  for (const TensorSpan list : {arguments, TensorSpan(d.captured)})
    for (const Tensor& x : list) inputs.push_back(&x);
  Tensors outputs(d.outputs.size());
  const std::int64_t attributes[] = {detail::word_of(&d)};
  ops::apply(primitive_of(d), inputs, attributes, outputs);
  return outputs;
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

Connections connections(const program::Program& p) {
  const std::size_t inputs = p.arguments.size();
  Connections leads(p.values.size(), inputs);  // from arguments to values
  const auto carries = [&](program::Index v) { return is_differentiable(p.values[v].tensor.dtype()); };
  for (std::size_t i = 0; i < inputs; ++i)
    if (carries(p.arguments[i])) leads.set(p.arguments[i], i);
  for (const program::Instruction& i : p.instructions) {
    const Deferred* d = deferred_of(i);
    for (std::size_t k = 0; k < i.outputs.size(); ++k) {
      const program::Index v = i.outputs[k];
      if (v == program::nothing || !carries(v)) continue;
      for (std::size_t n = 0; n < i.inputs.size(); ++n)
        if (const program::Index o = i.inputs[n]; o != program::nothing && (!d || d->leads(k, n)))
          leads.add(v, leads, p.operands[o].value);
    }
  }
  // Arguments may be views of one tensor: a value derived from one is found by the memory of the other.
  std::map<const detail::Block*, std::size_t> first_of;
  std::vector<std::size_t> first;  // for each argument, the first with its memory
  for (const program::Index v : p.arguments) {
    const detail::Block* b = detail::block(p.values[v].tensor);
    const auto* memory = b->flags & detail::view_flag ? static_cast<const detail::Block*>(b->base) : b;
    first.push_back(first_of.try_emplace(memory, first.size()).first->second);
  }
  Connections all(p.results.size(), inputs);
  for (std::size_t k = 0; k < p.results.size(); ++k) {
    std::vector<bool> reached(inputs);
    for (std::size_t i = 0; i < inputs; ++i)
      if (leads(p.operands[p.results[k]].value, i)) reached[first[i]] = true;
    for (std::size_t i = 0; i < inputs; ++i)
      if (reached[first[i]]) all.set(k, i);
  }
  return all;
}

std::vector<bool> depend_on_derivatives(const program::Program& p) {
  std::vector<bool> values(p.values.size()), results;
  for (const program::Instruction& i : p.instructions) {
    const Deferred* d = deferred_of(i);
    const bool depends = (d && d->derives) || std::any_of(i.inputs.begin(), i.inputs.end(), [&](program::Index o) {
                           return o != program::nothing && values[p.operands[o].value];
                         });
    for (const program::Index v : i.outputs)
      if (v != program::nothing) values[v] = depends;
  }
  for (const program::Index o : p.results) results.push_back(values[p.operands[o].value]);
  return results;
}

}  // namespace reel::autodiff
