// The op elementwise: operands made ready, the program run, recorded as one entry. Its derivative is a program too, run
// and recorded by the same function: hence every order.
#include <algorithm>
#include <bit>
#include <reel/elementwise.hpp>
#include <reel/ops/make.hpp>

#include "ops/elementwise/program.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/engine.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* who = "elementwise";

using Kind = Derivative::Result::Kind;
extern const tape::Rule rule;

// Attributes: the program, then the bits of the parameters.
const Program& program_of(std::span<const std::int64_t> attributes) {
  return *std::bit_cast<const Program*>(attributes[0]);
}
std::vector<double> parameters_of(std::span<const std::int64_t> attributes) {
  std::vector<double> parameters;
  parameters.reserve(attributes.size() - 1);
  for (const std::int64_t bits : attributes.subspan(1)) parameters.push_back(std::bit_cast<double>(bits));
  return parameters;
}

bool any_followed(std::span<const Tensor* const> in) {
  return tape::active() && std::any_of(in.begin(), in.end(), [](const Tensor* x) { return tape::followed(*x); });
}

void record_program(const Program& program, std::span<const Tensor* const> in, std::span<const double> parameters,
                    std::span<const Tensor> out) {
  std::vector<const Tensor*> outputs, saved;
  std::vector<std::int64_t> attributes{std::bit_cast<std::int64_t>(&program)};
  outputs.reserve(out.size());
  for (const Tensor& z : out) outputs.push_back(&z);
  for (const double p : parameters) attributes.push_back(std::bit_cast<std::int64_t>(p));
  Direction direction{{}, std::vector<bool>(out.size(), true)};
  direction.wanted.reserve(in.size());
  for (const Tensor* x : in) direction.wanted.push_back(tape::followed(*x));
  if (any_followed(in)) {
    saved.resize(in.size());
    for (const std::int32_t source : program.derivative(direction).sources)
      if (const auto i = static_cast<std::size_t>(source); i < in.size()) saved[i] = in[i];
  }
  tape::record(rule, in, outputs, saved, attributes);
}

// Runs the program and has the active tapes record it.
std::vector<Tensor> evaluate(const Program& program, std::span<const Tensor* const> in,
                             std::span<const double> parameters, DType dtype, const Shape& shape) {
  std::vector<Tensor> out;
  if (program.outputs() == 0) return out;
  out.reserve(program.outputs());
  for (std::size_t k = 0; k < program.outputs(); ++k) out.push_back(detail::empty(dtype, shape));
  program.code().run(dtype, shape, in, parameters, out);
  if (tape::active() && !in.empty()) record_program(program, in, parameters, out);
  return out;
}

// A derivative of a recorded program in elements of `shape`, `given` its cotangents or tangents: each of the results,
// empty where there is none or it is zero, of which `results` tells. One that is a cotangent or tangent as it is has
// that one's shape. One for which target(i) has a single element is summed on the way, unless a tape is to record it.
template <class Target>
std::vector<Tensor> evaluate(const tape::Record& record, const Derivative& derivative, std::span<const Tensor> given,
                             const Shape& shape, Target target) {
  const Program& program = *derivative.program;
  const std::size_t inputs = record.num_inputs();
  const auto source = [&](std::int32_t index) {
    const auto i = static_cast<std::size_t>(index);
    return i < inputs ? record.saved(i) : given[i - inputs];
  };
  std::vector<Tensor> held;
  held.reserve(derivative.sources.size());
  for (const std::int32_t index : derivative.sources) held.push_back(source(index));
  std::vector<const Tensor*> in;
  in.reserve(held.size());
  for (const Tensor& x : held) in.push_back(&x);
  const std::vector<double> parameters = parameters_of(record.attributes());
  const DType dtype = record.output_dtype();
  std::vector<Tensor> results(derivative.results.size()), out;
  if (program.outputs() == 0 || shape.elements() == 0 || any_followed(in)) {
    out = evaluate(program, in, parameters, dtype, shape);
  } else {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (derivative.results[i].kind == Kind::output) {
        const Shape own = target(i);
        out.push_back(detail::empty(dtype, own.elements() == 1 ? own : shape));
      }
    program.code().run(dtype, shape, in, parameters, out);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto [kind, index] = derivative.results[i];
    if (kind == Kind::source) results[i] = source(index);
    if (kind == Kind::output) results[i] = out[static_cast<std::size_t>(index)];
  }
  return results;
}

std::vector<bool> defined(std::span<const Tensor> tensors) {
  std::vector<bool> result;
  result.reserve(tensors.size());
  for (const Tensor& x : tensors) result.push_back(x.defined());
  return result;
}

void pull(const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx) {
  Direction direction{{}, defined(g)};
  direction.wanted.reserve(dx.size());
  for (std::size_t i = 0; i < dx.size(); ++i) direction.wanted.push_back(record.wanted(i));
  const Derivative& derivative = program_of(record.attributes()).derivative(direction);
  const Shape shape = std::find_if(g.begin(), g.end(), [](const Tensor& x) { return x.defined(); })->shape();
  const std::vector<Tensor> results =
      evaluate(record, derivative, g, shape, [&](std::size_t i) { return record.led(record.shape(i)); });
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (results[i].defined())
      dx[i] = sum_to(record, results[i], record.shape(i));
    else if (derivative.results[i].kind == Kind::zero)
      dx[i] = zeros(record.led(record.shape(i)), record.dtype(i));
  }
}

void push(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Derivative& derivative = program_of(record.attributes()).derivative({{}, defined(dx)});
  const Shape shape = record.output_shape();
  const std::vector<Tensor> results = evaluate(record, derivative, dx, shape, [&](std::size_t) { return shape; });
  for (std::size_t k = 0; k < dy.size(); ++k)
    if (results[k].defined()) dy[k] = results[k].shape() == shape ? results[k] : broadcast_to(results[k], shape);
}

void release(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).release(); }
void retain(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).retain(); }

constexpr tape::Rule rule = batched({who, pull, push, true, false, release, retain});

}  // namespace

}  // namespace ops

struct detail::LaneProgram::State {
  ops::Trace trace;
  std::vector<std::int32_t> arguments;  // nodes
  std::vector<Tensor> inputs;
  Shape shape;
  DType dtype;
};

detail::LaneProgram::LaneProgram(std::span<const Operand* const> arguments) {
  DType dtype = ops::common_dtype(ops::who, arguments);
  dtype = ops::floating_of(dtype);
  if (dtype != DType::float32 && dtype != DType::float64)
    fail<TypeError>(ops::who, "is not defined for {}; cast the arguments to float32 or float64 first", dtype);
  std::vector<Tensor> inputs;
  inputs.reserve(arguments.size());
  Shape shape;
  for (const Operand* x : arguments) {
    if (!x->is_tensor()) continue;
    inputs.push_back(ops::cast_to(x->tensor(), dtype));
    shape = inputs.size() == 1 ? inputs[0].shape() : ops::broadcast_shapes(ops::who, shape, inputs.back().shape());
  }
  const std::size_t count = inputs.size();
  state_ = new State{{count, ops::Trace::Numbers::parameters}, {}, std::move(inputs), shape, dtype};
  state_->arguments.reserve(arguments.size());
  std::int32_t next = 0;
  for (const Operand* x : arguments)
    state_->arguments.push_back(x->is_tensor() ? next++ : state_->trace.number(x->floating()));
}

detail::LaneProgram::~LaneProgram() { delete state_; }

Lane detail::LaneProgram::argument(std::size_t i) const noexcept { return state_->trace.lane(state_->arguments[i]); }

void detail::LaneProgram::run(std::span<const Lane> outputs, Tensor* results) {
  loops::Graph& graph = state_->trace.graph();
  graph.outputs.reserve(outputs.size());
  for (const Lane& x : outputs) graph.outputs.push_back(state_->trace.node(x));
  std::vector<const Tensor*> in;
  in.reserve(state_->inputs.size());
  for (const Tensor& x : state_->inputs) in.push_back(&x);
  std::vector<Tensor> made =
      ops::evaluate(*ops::find_program(graph), in, state_->trace.parameters(), state_->dtype, state_->shape);
  std::move(made.begin(), made.end(), results);
}

}  // namespace reel
