// The op elementwise: operands made ready, the program run, recorded as one entry. Its derivative is a program too, run
// and recorded by the same function: hence every order.
#include <algorithm>
#include <bit>
#include <reel/elementwise.hpp>
#include <reel/ops/make.hpp>

#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/apply/operation.hpp"
#include "ops/apply/table.hpp"
#include "ops/elementwise/program.hpp"
#include "ops/elementwise/trace.hpp"
#include "ops/engine.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* elementwise_name = "elementwise";

using Kind = Derivative::Result::Kind;
void vjp(const tape::Record& record, std::span<const Tensor> g, std::span<Gradient> dx);
void jvp(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy);
void release(std::span<const std::int64_t> attributes) noexcept;
void retain(std::span<const std::int64_t> attributes) noexcept;

// Attributes: the program, then the bits of the parameters.
const Program& program_of(std::span<const std::int64_t> attributes) {
  return *std::bit_cast<const Program*>(attributes[0]);
}

// As many operands, results and parameters as most programs have: lists of them need no memory.
constexpr std::size_t few = 12;
using SourcePointers = detail::ShortList<const Tensor*, few>;
using ResultTensors = detail::ShortList<Tensor, few>;
using Words = detail::ShortList<std::int64_t, few>;

// The numbers that a call gives its program, which the graph does not hold.
class CallParameters {
 public:
  explicit CallParameters(Attributes attributes) : values_(attributes.size() - 1) {
    for (std::size_t i = 0; i + 1 < attributes.size(); ++i) values_[i] = std::bit_cast<double>(attributes[1 + i]);
  }
  operator std::span<const double>() noexcept { return values_; }

 private:
  detail::ShortList<double, few> values_;
};

// The inputs have one dtype, and broadcast to the shape of the outputs.
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
  program_of(call.attributes)
      .code()
      .run(out.meta(0).dtype, out.meta(0).shape, call.inputs, CallParameters(call.attributes), out.tensors());
}

// What the derivatives of the program read of its inputs.
void keep_inputs(const Call& call, std::span<const Tensor*> values) {
  const Program& program = program_of(call.attributes);
  Direction direction{Positions(call.inputs.size()), Positions(program.outputs())};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) direction.wanted.set(i, tape::followed(call.input(i)));
  for (std::size_t k = 0; k < program.outputs(); ++k) direction.given.set(k);
  for (const std::int32_t source : program.derivative(direction).sources)
    if (const auto i = static_cast<std::size_t>(source); i < values.size()) values[i] = call.inputs[i];
}

constexpr Primitive program_primitive = {.rule = batched({elementwise_name, vjp, jvp, true, false, release, retain}),
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .keep_inputs = keep_inputs};

// A call of a user's function, recorded.
void run(const Program& program, Inputs in, std::span<const double> parameters, DType dtype, const Shape& shape,
         std::span<Tensor> out) {
  if (out.empty()) return;
  if (in.empty()) {
    for (Tensor& z : out) z = detail::empty(dtype, shape);
    return program.code().run(dtype, shape, in, parameters, out);
  }
  Words attributes(1 + parameters.size());
  attributes[0] = std::bit_cast<std::int64_t>(&program);
  for (std::size_t i = 0; i < parameters.size(); ++i) attributes[1 + i] = std::bit_cast<std::int64_t>(parameters[i]);
  apply(program_primitive, in, attributes, out);
}

// A derivative of a recorded program in elements of `shape`, `given` its cotangents or tangents: calls
// use(i, kind, result) for each of the results, which is empty where there is none or it is zero. One that is a
// cotangent or tangent as it is has that one's shape. Unless a tape is to record it, target(i) is called for each that
// is computed: a tensor of `shape`, or of a single element, to which it is summed on the way; or a sum of `shape` that
// it is added to.
struct Place {
  Tensor to;
  bool adds = false;
};
template <class Target, class Use>
void evaluate(const tape::Record& record, const Derivative& derivative, std::span<const Tensor> given,
              const Shape& shape, Target target, Use use) {
  const Program& program = *derivative.program;
  const std::size_t inputs = record.num_inputs();
  const auto source = [&](std::int32_t index) -> const Tensor& {
    const auto i = static_cast<std::size_t>(index);
    return i < inputs ? record.saved(i) : given[i - inputs];
  };
  ResultTensors out(program.outputs());
  if (program.outputs() > 0) {
    SourcePointers in(derivative.sources.size());
    for (std::size_t i = 0; i < derivative.sources.size(); ++i) in[i] = &source(derivative.sources[i]);
    if (any_followed(in) || traced(in) || shape.elements() == 0) {
      Words attributes(record.attributes().size());
      std::copy(record.attributes().begin(), record.attributes().end(), attributes.begin());
      attributes[0] = std::bit_cast<std::int64_t>(&program);
      apply(program_primitive, in, attributes, out);
    } else {
      detail::ShortList<std::uint8_t, few> adds(program.outputs());
      std::size_t k = 0;
      for (std::size_t i = 0; i < derivative.results.size(); ++i) {
        if (derivative.results[i].kind != Kind::output) continue;
        Place place = target(i);
        out[k] = std::move(place.to);
        adds[k++] = place.adds ? 1 : 0;
      }
      program.code().run(record.output_dtype(), shape, in, CallParameters(record.attributes()), out, adds);
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

// The cotangent of input i, of its shape: added to what has arrived for it, if that may be written to.
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
  const auto target = [&](std::size_t i) -> Place {
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

void jvp(const tape::Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) {
  const Derivative& derivative = program_of(record.attributes()).derivative({Positions(), defined(dx)});
  const Shape shape = record.output_shape();
  evaluate(
      record, derivative, dx, shape, [&](std::size_t) { return Place{detail::empty(record.output_dtype(), shape)}; },
      [&](std::size_t k, Kind kind, Tensor result) {
        if (result.defined())
          dy[k] = result.shape() == shape ? std::move(result) : broadcast_to(result, shape);
        else if (kind == Kind::zero)
          dy[k] = zeros(shape, record.output_dtype(k));
      });
}

void release(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).release(); }
void retain(std::span<const std::int64_t> attributes) noexcept { program_of(attributes).retain(); }

}  // namespace

}  // namespace ops

// What a call works with, its memory kept for the next one.
struct detail::LaneProgram::State {
  // What a function did when it was last called.
  struct Slot {
    const void* site = nullptr;
    std::uint32_t users = 0;  // calls that follow the log: it stays as it is
    ops::Log log;
  };
  // Of a thread. A function finds its slot by its address; two that meet there take turns.
  struct Recent {
    static constexpr std::size_t most = 64;
    Slot slots[most];
    State* spare = nullptr;
    ~Recent() { delete spare; }
  };
  // Null before the thread's first call.
  static Recent* recent() noexcept { return static_cast<Recent*>(this_thread.state->lane_programs); }
  static Recent& find_recent() {
    if (Recent* r = recent()) return *r;
    ThreadState& state = thread_state();
    auto* made = new Recent;
    state.lane_programs = made;
    return *made;
  }
  static void end_thread(ThreadState& state) noexcept {
    delete static_cast<Recent*>(std::exchange(state.lane_programs, nullptr));
  }
  static const bool installed;

  ops::Trace trace{ops::Trace::Numbers::parameters};
  std::vector<std::int32_t> arguments;  // nodes
  std::vector<const Tensor*> inputs;
  std::vector<Tensor> cast;  // those of the inputs that had to be
  Shape shape;
  DType dtype = DType::float64;
  const void* site = nullptr;
  Slot* slot = nullptr;
  bool follows = false;  // the slot's log

  static State* take() {
    Recent& r = find_recent();
    return r.spare ? std::exchange(r.spare, nullptr) : new State;
  }
  void begin(const void* function) {
    site = function;
    slot = &find_recent().slots[reinterpret_cast<std::uintptr_t>(site) * 0x9e3779b97f4a7c15u >> 58];
    follows = slot->site == site && slot->log.program;
    if (follows) ++slot->users;
    trace.begin(inputs.size(), follows ? &slot->log : nullptr, true);
  }
  void end() noexcept {
    trace.end();
    if (follows) --slot->users;
    follows = false;
  }
  // Keeps what this call did for the next one.
  void remember(const ops::Shared& program) {
    if (slot->users > (follows ? 1u : 0u)) return;
    if (follows) --slot->users;
    follows = false;
    slot->site = site;
    slot->log = trace.take_log();
    slot->log.program = program;
  }
};

const bool detail::LaneProgram::State::installed = (detail::end_lane_programs = end_thread, true);

detail::LaneProgram::LaneProgram(const void* site, std::span<const Operand* const> arguments) : state_(State::take()) {
  try {
    State& s = *state_;
    s.dtype = ops::floating_of(ops::common_dtype(ops::elementwise_name, arguments));
    if (s.dtype != DType::float32 && s.dtype != DType::float64)
      fail<TypeError>(ops::elementwise_name, "is not defined for {}; cast the arguments to float32 or float64 first",
                      s.dtype);
    s.inputs.reserve(arguments.size());
    s.cast.reserve(arguments.size());  // so that they stay where they are
    s.shape = {};
    for (const Operand* x : arguments) {
      if (!x->is_tensor()) continue;
      const Tensor& own = x->tensor();
      s.inputs.push_back(detail::block(own)->dtype == s.dtype ? &own
                                                              : &s.cast.emplace_back(ops::cast_to(own, s.dtype)));
      const Block* b = detail::block(own);
      if (s.shape.rank() != b->rank || !std::equal(s.shape.begin(), s.shape.end(), b->extents()))
        s.shape = s.inputs.size() == 1 ? b->shape() : ops::broadcast_shapes(ops::elementwise_name, s.shape, b->shape());
    }
    s.begin(site);
    s.arguments.reserve(arguments.size());
    std::int32_t next = 0;
    for (const Operand* x : arguments) s.arguments.push_back(x->is_tensor() ? next++ : s.trace.number(x->floating()));
  } catch (...) {
    state_->end();
    delete state_;
    throw;
  }
}

detail::LaneProgram::~LaneProgram() {
  state_->end();
  state_->inputs.clear();
  state_->cast.clear();
  state_->arguments.clear();
  if (State::Recent* r = State::recent(); r && !r->spare)
    r->spare = state_;
  else
    delete state_;
}

Lane detail::LaneProgram::argument(std::size_t i) const noexcept { return state_->trace.lane(state_->arguments[i]); }

void detail::LaneProgram::run(std::span<const Lane> outputs, Tensor* results) {
  State& s = *state_;
  const ops::Program* program = s.trace.repeated(outputs);
  ops::Shared found;
  if (!program) {
    loops::Graph& graph = s.trace.graph();
    for (const Lane& x : outputs) graph.outputs.push_back(s.trace.node(x));
    found = ops::find_program(graph);
    program = &*found;
    s.remember(found);
  }
  ops::run(*program, s.inputs, s.trace.parameters(), s.dtype, s.shape, {results, outputs.size()});
}

}  // namespace reel
