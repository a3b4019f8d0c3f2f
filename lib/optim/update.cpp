// Updates of optimisers whatever their formula: of other dtypes, of rows, and as elementwise operations, which have a
// form in C.
#include "optim/update.hpp"

#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "csource/writer.hpp"
#include "ops/index/indices.hpp"

namespace reel::optim {

namespace {

// float16 and bfloat16 as float32. Complex numbers as pairs of real ones, each updated by its own square, as in
// PyTorch: the square of a complex gradient would turn the step.
Tensor as_computed(const Tensor& x) { return is_complex(x.dtype()) ? loops::pairs_of(x) : cast(x, DType::float32); }

}  // namespace

void update_converted(const loops::Code& code, std::span<Tensor> to, std::span<const Tensor* const> in,
                      std::span<const double> numbers) {
  const tape::Suspend suspended;
  detail::List<Tensor> converted, fresh;
  detail::List<const Tensor*> operands;
  for (const Tensor* x : in) converted.push_back(as_computed(*x));
  for (const Tensor& x : converted) operands.push_back(&x);
  const DType dtype = converted.back().dtype();
  const Shape shape = converted.back().shape();
  for (std::size_t j = 0; j < to.size(); ++j) fresh.push_back(detail::empty(dtype, shape));
  code.run(dtype, shape, operands, numbers, fresh);
  for (std::size_t j = 0; j < to.size(); ++j) {
    if (!to[j].defined()) to[j] = detail::empty(in[j]->dtype(), in[j]->shape());
    if (is_complex(to[j].dtype()))
      loops::copy(fresh[j], loops::pairs_of(to[j]));
    else
      loops::copy(cast(fresh[j], to[j].dtype()), to[j]);
  }
}

void update_rows(const loops::Code& code, const ops::Call& call, ops::Outputs& out, std::size_t states,
                 std::span<const double> numbers) {
  const Tensor &indices = call.inputs[call.inputs.size() - 2][0], &values = *call.inputs.back();
  const ops::Rows gradient = ops::distinct_rows({indices, values});
  const bool all = gradient.values.shape() == values.shape();
  std::array<Tensor, most_states> room;  // no list: a step in place takes no memory
  std::array<const Tensor*, most_states + 1> operands;
  const std::span<Tensor> changed = std::span(room).first(states);
  const std::span<const Tensor*> in = std::span(operands).first(states + 1);
  for (std::size_t j = 0; j < states; ++j) {
    ops::copy_to_output(call, out, j);
    changed[j] = all ? out[out.size() - states + j] : detail::empty(call.input(j).dtype(), gradient.values.shape());
    loops::take_rows(out[j], gradient.indices, changed[j]);
    in[j] = &changed[j];
  }
  in[states] = &gradient.values;
  const DType dtype = gradient.values.dtype();
  if (fuses(dtype))
    code.run(dtype, gradient.values.shape(), in, numbers, changed);
  else
    update_converted(code, changed, in, numbers);
  for (std::size_t j = 0; j < states; ++j) loops::put_rows(changed[j], gradient.indices, out[j]);
}

namespace {

// An option, in its domain. Attributes: the address of its name, the domain.
void infer_option(const ops::Call& call, ops::Metas& out) { out.add_like(call.input(0)); }
void evaluate_option(const ops::Call& call, ops::Outputs& out) {
  const char* const name = reinterpret_cast<const char*>(static_cast<std::intptr_t>(call.attribute(0)));
  require_option("step", name, *detail::mutable_data<double>(call.input(0)),
                 static_cast<OptionDomain>(call.attribute(1)));
  loops::copy(call.input(0), out[0]);
}
std::string write_option(const ops::Call& call, csource::Writer& w, std::span<const std::string> x) {
  struct Refusal {
    const char *condition, *why;
  };
  constexpr Refusal refusals[] = {{"!(? >= 0.0) || isinf(?)", " must be finite and not negative"},
                                  {"!(? >= 0.0 && ? < 1.0)", " must lie in [0, 1)"},
                                  {"!(? >= 0.0)", " must not be negative"}};
  const Refusal& one = refusals[call.attribute(1)];
  const char* const name = reinterpret_cast<const char*>(static_cast<std::intptr_t>(call.attribute(0)));
  w.refuse_if(csource::filled(one.condition, "?", {x[0]}), csource::cat({name, one.why}));
  return x[0];
}
constexpr ops::Primitive option_primitive = {.rule = {.name = "step"},
                                             .infer = infer_option,
                                             .evaluate = evaluate_option,
                                             .effects = ops::may_throw,
                                             .write_c = write_option};

// The options as they are read, each of which is refused outside of its domain.
std::vector<Tensor> checked_options(std::span<const Variable> all, std::span<const char* const> options) {
  std::vector<Tensor> x;
  for (const Variable& v : all.last(options.size())) x.push_back(v.read());
  LaneOptions lanes;
  OptimizerAccess::for_each_option(lanes, [&](std::string_view name, Lane&, OptionDomain domain) {
    for (std::size_t k = 0; k < options.size(); ++k)
      if (options[k] == name && domain != OptionDomain::choice)
        x[k] = ops::apply(option_primitive, {&x[k]},
                          ops::words(reinterpret_cast<std::intptr_t>(options[k]), static_cast<std::int64_t>(domain)));
  });
  return x;
}

// The graph of the numbers, from the options and the number of the step.
loops::Graph trace_numbers(const ComposedUpdate& update, std::span<const char* const> options) {
  ops::Trace trace(options.size() + 1, ops::Trace::Numbers::literals);
  LaneOptions lanes;
  OptimizerAccess::for_each_option(lanes, [&](std::string_view name, Lane& lane, OptionDomain) {
    const auto at = std::find(options.begin(), options.end(), name);
    if (at != options.end()) lane = trace.lane(static_cast<std::int32_t>(at - options.begin()));
  });
  std::vector<Lane> numbers(update.count);
  update.numbers(lanes, trace.lane(static_cast<std::int32_t>(options.size())), numbers.data());
  for (const Lane& one : numbers) trace.graph().outputs.push_back(trace.node(one));
  return trace.graph();
}

void run(loops::Graph graph, std::span<const Tensor> x, DType dtype, const Shape& shape, std::span<Tensor> y) {
  const ops::Shared program(new ops::Program(std::move(graph)));
  std::vector<const Tensor*> inputs;
  for (const Tensor& one : x) inputs.push_back(&one);
  ops::run(ops::elementwise_primitive(), *program, inputs, {}, dtype, shape, y);
}

}  // namespace

void run_composed(const ComposedUpdate& update, std::span<const Variable> all, std::span<const char* const> options,
                  const Tensor& gradient, const Tensor* indices) {
  const std::span<const Variable> own = all.first(update.states);
  std::vector<Tensor> x = checked_options(all, options), states, numbers(update.count), fresh(update.states);
  const Shape shape = own[0].shape();
  const auto scatter = [&](const Tensor& rows, const Shape& to) {
    Shape full = rows.shape();
    full[0] = shape[0];
    return reshape(ops::scatter_rows(rows, *indices, full, 0), to);
  };
  const Tensor dense = indices ? scatter(gradient, shape) : gradient;
  Tensor step = scalar(std::int64_t{0});
  if (update.counts_steps) step = all[update.states].read() + 1;
  x.push_back(cast(step, DType::float64));
  run(trace_numbers(update, options), x, DType::float64, {}, numbers);
  for (const Variable& v : own) states.push_back(v.read());
  states.push_back(dense);
  for (const Tensor& number : numbers) states.push_back(cast(number, dense.dtype()));
  run(update.formula(true), states, dense.dtype(), dense.shape(), fresh);
  if (indices) {
    Shape column = shape;  // one element for each row
    for (int d = 1; d < column.rank(); ++d) column[d] = 1;
    const Tensor changes = greater(scatter(ones({indices->size()}), column), 0.);
    for (std::size_t j = 0; j < own.size(); ++j) fresh[j] = where(changes, fresh[j], states[j]);
  }
  for (std::size_t j = 0; j < own.size(); ++j) own[j].assign(fresh[j]);
  if (update.counts_steps) all[update.states].assign(step);
}

}  // namespace reel::optim
