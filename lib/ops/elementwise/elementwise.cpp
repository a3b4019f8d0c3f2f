// The op elementwise: a program run and recorded as one entry. Its derivative is a program too, run and recorded by the
// same function, which gives every order.
#include <algorithm>
#include <bit>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/word.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/operation.hpp"
#include "ops/apply/table.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/engine.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace ops {

namespace {

using Kind = Derivative::Result::Kind;
void vjp(const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx);
void jvp(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy);
void release(std::span<const std::int64_t> attributes) noexcept;
void retain(std::span<const std::int64_t> attributes) noexcept;

// Attributes: the program, then the bits of the parameters.
const Program& program_of(std::span<const std::int64_t> attributes) {
  return *detail::pointer_of<const Program>(attributes[0]);
}

// Enough for the operands, results and parameters of most programs: such lists need no allocation.
constexpr std::size_t few = 12;
using SourcePointers = detail::ShortList<const Tensor*, few>;
using ResultTensors = detail::ShortList<Tensor, few>;
using Words = detail::ShortList<std::int64_t, few>;

// The parameters: numbers that a call passes to its program.
class CallParameters {
 public:
  explicit CallParameters(Attributes attributes) : values_(attributes.size() - 1) {
    for (std::size_t i = 0; i + 1 < attributes.size(); ++i) values_[i] = std::bit_cast<double>(attributes[1 + i]);
  }
  operator std::span<const double>() noexcept { return values_; }

 private:
  detail::ShortList<double, few> values_;
};

// The inputs have one dtype and broadcast to the shape of the outputs.
void infer(const Call& call, Metas& out) {
  Shape shape = call.input(0).shape();
  for (const Tensor* x : call.inputs.subspan(1)) {
    const detail::Block* b = detail::block(*x);
    if (shape.rank() != b->rank || !std::equal(shape.begin(), shape.end(), b->extents()))
      shape = broadcast_shapes(elementwise_name, shape, b->shape());
  }
  for (std::size_t k = program_of(call.attributes).outputs(); k > 0; --k) out.add(call.input(0).dtype(), shape);
}

void evaluate(const Call& call, Outputs& out) {
  for (std::size_t k = 0; k < out.size(); ++k) static_cast<void>(out[k]);
  const detail::Block* z = detail::block(out[0]);
  program_of(call.attributes)
      .code()
      .run(z->dtype, z->shape(), call.inputs, CallParameters(call.attributes), out.tensors());
}

// The inputs that the derivatives of the program read.
void keep_inputs(const Call& call, std::span<const Tensor*> values) {
  const Program& program = program_of(call.attributes);
  Direction direction{Positions(call.inputs.size()), Positions(program.outputs())};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) direction.wanted.set(i, tape::followed(call.input(i)));
  for (std::size_t k = 0; k < program.outputs(); ++k) direction.seeded.set(k);
  for (const std::int32_t source : program.derivative(direction).sources)
    if (const auto i = static_cast<std::size_t>(source); i < values.size()) values[i] = call.inputs[i];
}

constexpr Primitive program_primitive = {.rule = batched({elementwise_name, vjp, jvp, true, false, release, retain}),
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .keep_inputs = keep_inputs};

}  // namespace

const Primitive& elementwise_primitive() noexcept { return program_primitive; }

void run(const Primitive& op, const Program& program, Inputs in, std::span<const double> parameters, DType dtype,
         const Shape& shape, std::span<Tensor> out) {
  if (out.empty()) return;
  if (in.empty() || unobserved(in)) {
    for (Tensor& z : out) z = detail::empty(dtype, shape);
    return program.code().run(dtype, shape, in, parameters, out);
  }
  Words attributes(1 + parameters.size());
  attributes[0] = detail::word_of(&program);
  for (std::size_t i = 0; i < parameters.size(); ++i) attributes[1 + i] = std::bit_cast<std::int64_t>(parameters[i]);
  apply(op, in, attributes, out);
}

namespace {

// Where a computed result goes.
struct Destination {
  Tensor tensor;
  bool adds = false;
};
// Computes a derivative of a recorded program on elements of `shape`. `seeds` are its cotangents or tangents. Calls
// use(i, kind, result) for each result; `result` is empty if there is none or it is zero. A result that is one of the
// seeds has the shape of that. Unless a tape must record it, target(i) is called for each computed result. It returns
// a tensor of `shape`, a tensor of one element to which the result is summed in the same pass, or a sum of `shape`
// that it is added to.
template <class Target, class Use>
void evaluate(const tape::Record& record, const Derivative& derivative, std::span<const Tensor> seeds,
              const Shape& shape, Target target, Use use) {
  const Program& program = *derivative.program;
  const std::size_t inputs = record.num_inputs();
  const auto source = [&](std::int32_t index) -> const Tensor& {
    const auto i = static_cast<std::size_t>(index);
    return i < inputs ? record.saved(i) : seeds[i - inputs];
  };
  ResultTensors out(program.outputs());
  if (program.outputs() > 0) {
    SourcePointers in(derivative.sources.size());
    for (std::size_t i = 0; i < derivative.sources.size(); ++i) in[i] = &source(derivative.sources[i]);
    if (any_followed(in) || traced(in) || shape.elements() == 0) {
      Words attributes(record.attributes().size());
      std::copy(record.attributes().begin(), record.attributes().end(), attributes.begin());
      attributes[0] = detail::word_of(&program);
      apply(program_primitive, in, attributes, out);
    } else {
      detail::ShortList<loops::Write, few> writes(program.outputs());
      std::size_t k = 0;
      for (std::size_t i = 0; i < derivative.results.size(); ++i) {
        if (derivative.results[i].kind != Kind::output) continue;
        Destination to = target(i);
        out[k] = std::move(to.tensor);
        writes[k++] = to.adds ? loops::Write::sum : loops::Write::place;
      }
      program.code().run(record.output_dtype(), shape, in, CallParameters(record.attributes()), out, writes);
    }
  }
  for (std::size_t i = 0; i < derivative.results.size(); ++i) {
    const auto [kind, index] = derivative.results[i];
    use(i, kind,
        kind == Kind::source   ? source(index)
        : kind == Kind::output ? std::move(out[static_cast<std::size_t>(index)])
                               : Tensor());
  }
}

Positions defined(std::span<const Tensor> tensors) {
  Positions result(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) result.set(i, tensors[i].defined());
  return result;
}

// The cotangent of input i, in its shape: added to the sum so far, if that may be overwritten.
Tensor contribution(const tape::Record& record, std::size_t i, Tensor part) {
  Tensor sum = record.take_sum(i);
  if (!sum.defined()) return part;
  const Tensor* both[] = {&sum, &part};
  loops::pointwise(loop_of<"add">(part.dtype()), both, sum);
  return sum;
}

void vjp(const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx) {
  Direction direction{Positions(dx.size()), defined(g)};
  for (std::size_t i = 0; i < dx.size(); ++i) direction.wanted.set(i, record.wanted(i));
  const Derivative& derivative = program_of(record.attributes()).derivative(direction);
  const Shape shape = std::find_if(g.begin(), g.end(), [](const Tensor& x) { return x.defined(); })->shape();
  Positions added(dx.size());
  const auto target = [&](std::size_t i) -> Destination {
    const Shape own = record.batched(record.shape(i));
    if (own == shape)
      if (Tensor sum = record.take_sum(i); sum.defined()) {
        added.set(i);
        return {std::move(sum), true};
      }
    const bool single = std::all_of(own.begin(), own.end(), [](std::int64_t e) { return e == 1; });
    return {detail::empty(record.output_dtype(), single ? own : shape)};
  };
  evaluate(record, derivative, g, shape, target, [&](std::size_t i, Kind kind, Tensor result) {
    if (!result.defined()) {
      if (kind == Kind::zero) dx[i] = zeros(record.batched(record.shape(i)), record.dtype(i));
    } else if (added[i]) {
      dx[i] = std::move(result);
    } else if (record.fits(result, i)) {
      dx[i] = contribution(record, i, std::move(result));
    } else {
      dx[i] = sum_to(record, result, record.shape(i));
    }
  });
}

// A tangent that depends on smaller operands alone. Where it is computed it has the layout that a run gives it, which
// decides in which order later sums add.
Tensor broadcast_result(Tensor result, Kind kind, const Shape& shape) {
  const bool computed = kind == Kind::output && !followed(result);
  return computed ? contiguous(broadcast_to(result, shape)) : broadcast_to(result, shape);
}

void jvp(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Derivative& derivative = program_of(record.attributes()).derivative({Positions(), defined(dx)});
  const Shape shape = record.output_shape();
  evaluate(
      record, derivative, dx, shape,
      [&](std::size_t) { return Destination{detail::empty(record.output_dtype(), shape)}; },
      [&](std::size_t k, Kind kind, Tensor result) {
        if (result.defined())
          dy[k] = result.shape() == shape ? std::move(result) : broadcast_result(std::move(result), kind, shape);
        else if (kind == Kind::zero)
          dy[k] = zeros(shape, record.output_dtype(k));
      });
}

void release(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).release(); }
void retain(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).retain(); }

}  // namespace

}  // namespace ops

}  // namespace reel
