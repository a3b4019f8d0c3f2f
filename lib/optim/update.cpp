// Updates of optimisers whatever their formula: of other dtypes, of rows, and as elementwise operations, which have a
// form in C.
#include "optim/update.hpp"

#include <reel/ops/pointwise.hpp>

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
                  const Tensor& gradient) {
  const std::span<const Variable> own = all.first(update.states);
  std::vector<Tensor> x, states, numbers(update.count), fresh(update.states);
  for (const Variable& v : all.last(options.size())) x.push_back(v.read());
  Tensor step = scalar(std::int64_t{0});
  if (update.counts_steps) step = all[update.states].read() + 1;
  x.push_back(cast(step, DType::float64));
  run(trace_numbers(update, options), x, DType::float64, {}, numbers);
  for (const Variable& v : own) states.push_back(v.read());
  states.push_back(gradient);
  for (const Tensor& number : numbers) states.push_back(cast(number, gradient.dtype()));
  run(update.formula(true), states, gradient.dtype(), gradient.shape(), fresh);
  for (std::size_t j = 0; j < own.size(); ++j) own[j].assign(fresh[j]);
  if (update.counts_steps) all[update.states].assign(step);
}

}  // namespace reel::optim
