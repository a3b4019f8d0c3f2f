// Runs. A frame holds the tensors that instructions read and write. There is one frame per concurrent run; it is made
// once, and bound to the arguments and results of each run.
#include "program/run/executable.hpp"

#include <algorithm>
#include <utility>

#include "core/fail.hpp"
#include "ops/apply/apply.hpp"
#include "ops/product/matmul.hpp"
#include "program/run/frame.hpp"

namespace reel::program {

namespace {

// The outputs that infer announces for an instruction; null unless it is a primitive.
std::unique_ptr<const ops::Metas> infer_outputs(const Program& program, const Instruction& i) {
  if (!i.operation.primitive) return nullptr;
  const Tensor none_given;
  std::vector<const Tensor*> inputs;
  for (const Index o : i.inputs) inputs.push_back(o == nothing ? &none_given : &program.operands[o].tensor);
  auto metas = std::make_unique<ops::Metas>();
  i.operation.primitive->infer({inputs, i.attributes.words()}, *metas);
  return metas;
}

std::vector<bool> used_operands(const Program& program) {
  std::vector<bool> used(program.operands.size());
  for (const Instruction& i : program.instructions)
    for (const Index o : i.inputs)
      if (o != nothing) used[o] = true;
  for (const Index o : program.results) used[o] = true;
  return used;
}

bool is_made_token(const Value& v) { return v.origin == Value::Origin::result && is_token(v.tensor); }

}  // namespace

// Returns a frame at the end of a run, without the tensors of that run, also when the run throws.
class Executable::Lease {
 public:
  Lease(const Executable& owner, bool borrows, KeptFrame* kept)
      : owner_(owner),
        borrows_(borrows),
        kept_(kept),
        frame_(kept && kept->frame_ ? std::exchange(kept->frame_, nullptr)
                                    : owner.latest_.exchange(nullptr, std::memory_order_acquire)) {
    if (frame_) return;
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.frames_.empty()) {
        frame_ = std::move(owner.frames_.back());
        owner.frames_.pop_back();
      }
    }
    if (!frame_) frame_ = owner.new_frame();
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    owner_.unbind(*frame_, borrows_);
    if (kept_) {
      kept_->frame_ = frame_.release();
      return;
    }
    Frame* empty = nullptr;
    if (owner_.latest_.compare_exchange_strong(empty, frame_.get(), std::memory_order_release,
                                               std::memory_order_relaxed)) {
      static_cast<void>(frame_.release());
      return;
    }
    const std::lock_guard lock(owner_.mutex_);
    owner_.frames_.push_back(std::move(frame_));  // new_frame() has reserved room
  }
  Frame& operator*() noexcept { return *frame_; }

 private:
  const Executable& owner_;
  const bool borrows_;
  KeptFrame* const kept_;
  std::unique_ptr<Frame> frame_;
};

void Executable::KeptFrame::reset() noexcept { delete std::exchange(frame_, nullptr); }

Executable::Executable(Program p) : program_(std::move(p)), plan_(plan_memory(program_)) {
  std::uint32_t inputs = 0;
  for (const Instruction& i : program_.instructions) {
    const bool makes_token = i.residuals_wanted && i.operation.primitive->tokens;
    makes_tokens_ |= makes_token;
    steps_.push_back(
        {&i, inputs, static_cast<std::uint32_t>(outputs_.size()), makes_token, infer_outputs(program_, i)});
    inputs += static_cast<std::uint32_t>(i.inputs.size());
    for (const Index v : i.outputs) {
      if (v == nothing || plan_.escapes[v]) made_.push_back(static_cast<std::uint32_t>(outputs_.size()));
      outputs_.push_back(v);
    }
  }
  origin_.resize(program_.values.size());
  for (std::size_t k = 0; k < program_.arguments.size(); ++k) origin_[program_.arguments[k]] = {true, k};
  fresh_offset_.assign(program_.values.size(), -1);
  for (const std::uint32_t k : made_) {
    const Index v = outputs_[k];
    if (v == nothing || is_token(program_.values[v].tensor)) continue;
    origin_[v] = {false, k};
    fresh_.push_back(k);
  }
  apart_.resize(program_.values.size());
  place_fresh();
  find_results();
  find_bound();
}

void Executable::place_fresh() {
  fresh_bytes_[0] = fresh_bytes_[1] = 0;
  for (const std::uint32_t k : fresh_) {
    const Index v = outputs_[k];
    fresh_offset_[v] = fresh_bytes_[apart_[v]];
    fresh_bytes_[apart_[v]] += padded_bytes(program_.values[v].tensor);
  }
}

void Executable::set_apart(std::span<const std::size_t> results) {
  for (const std::size_t k : results) apart_[program_.operands[program_.results[k]].value] = true;
  place_fresh();
}

bool Executable::reads_argument(std::size_t k) const noexcept { return reads_argument_[k]; }

// A result that is a whole computed value is taken from Frame::outputs, the others are operands.
void Executable::find_results() {
  constexpr std::size_t none = ~std::size_t{0};
  std::vector<std::size_t> latest(outputs_.size(), none);  // for each output: the result that takes it, so far
  for (const Index o : program_.results) {
    const Operand& operand = program_.operands[o];
    const Value& value = program_.values[operand.value];
    const bool made = value.origin == Value::Origin::result && !is_token(value.tensor);
    Result result{o, false, value.origin == Value::Origin::constant, false};
    if (made && operand.whole) {
      result.number = static_cast<std::uint32_t>(origin_[operand.value].number);
      result.output = true;
      if (const std::size_t earlier = std::exchange(latest[result.number], results_.size()); earlier != none)
        results_[earlier].moved = false;
      result.moved = true;
    }
    results_.push_back(result);
  }
}

// The operands that runs bind: read by instructions, or results that are no whole computed value.
void Executable::find_bound() {
  std::vector<bool> used(program_.operands.size());
  for (const Step& step : steps_)
    for (const Index o : step.instruction->inputs)
      if (o != nothing) used[o] = true;
  for (const Result& result : results_)
    if (!result.output) used[result.number] = true;
  reads_argument_.resize(program_.arguments.size());
  for (Index o = static_cast<Index>(program_.operands.size()); o-- > 0;) {
    const Index v = program_.operands[o].value;
    const Value& value = program_.values[v];
    if (!used[o] || is_made_token(value) || value.origin == Value::Origin::constant) continue;
    if (plan_.offset[v] != Plan::elsewhere) continue;
    if (origin_[v].argument) reads_argument_[origin_[v].number] = true;
    bound_.push_back({o, origin_[v].argument && program_.operands[o].whole});
    bound_whole_ &= bound_.back().borrowed;
  }
  std::reverse(bound_.begin(), bound_.end());
}
Executable::~Executable() {
  delete latest_.load(std::memory_order_acquire);
  delete latest_session_.load(std::memory_order_acquire);
}

namespace {

const Tensor no_tensor;

}  // namespace

std::unique_ptr<Executable::Frame> Executable::new_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->arena = detail::empty(DType::uint8, {plan_.bytes});
  frame->operands.resize(program_.operands.size());
  const std::vector<bool> used = used_operands(program_);
  for (std::size_t k = 0; k < frame->operands.size(); ++k) {
    if (!used[k]) continue;
    const Operand& o = program_.operands[k];
    if (program_.values[o.value].origin == Value::Origin::constant)
      frame->operands[k] = o.tensor;
    else if (const std::int64_t place = plan_.offset[o.value]; place != Plan::elsewhere)
      frame->operands[k] = laid_out(frame->arena, place + o.offset, o.tensor);
  }
  for (const Step& step : steps_)
    for (const Index o : step.instruction->inputs)
      frame->inputs.push_back(o == nothing ? &no_tensor : &frame->operands[o]);
  for (const Index v : outputs_) {
    const bool in_arena = v != nothing && plan_.offset[v] != Plan::elsewhere;
    frame->outputs.push_back(in_arena ? laid_out(frame->arena, plan_.offset[v], program_.values[v].tensor) : Tensor());
  }
  const std::lock_guard lock(mutex_);
  frames_.reserve(++frame_count_);
  return frame;
}

inline void Executable::allocate_fresh(Frame& frame) const {
  for (const std::uint32_t k : fresh_) {
    const detail::Block* like = detail::block(program_.values[outputs_[k]].tensor);
    frame.outputs[k] = TensorAccess::adopt(detail::new_block(like->dtype, like->extents(), like->rank));
  }
}

void Executable::bind(Frame& frame, std::span<const Tensor> arguments, bool borrows) const {
  allocate_fresh(frame);
  for (const Bound& b : bound_) {
    const Operand& operand = program_.operands[b.operand];
    const Origin& origin = origin_[operand.value];
    Tensor& to = frame.operands[b.operand];
    if (!origin.argument) {
      const Tensor& x = frame.outputs[origin.number];
      to = operand.whole ? x : laid_out(x, operand.offset, operand.tensor);
    } else if (!operand.whole) {
      to = laid_out(arguments[origin.number], operand.offset, operand.tensor);
    } else if (borrows) {
      to = TensorAccess::adopt(detail::block(arguments[origin.number]));
    } else {
      to = arguments[origin.number];
    }
  }
}

// Drops the tensors of a run. Borrowed handles are no references.
inline void Executable::unbind(Frame& frame, bool borrows) const noexcept {
  for (const Bound& b : bound_)
    if (borrows && b.borrowed)
      static_cast<void>(TensorAccess::take(frame.operands[b.operand]));
    else
      frame.operands[b.operand] = {};
  for (const std::uint32_t k : made_) frame.outputs[k] = {};
  forget_tokens(frame);
}

void Executable::hand_over_token(const Step& step, Frame& frame) const {
  for (std::size_t k = 0; k < step.instruction->outputs.size(); ++k) {
    const Index v = step.instruction->outputs[k];
    if (v == nothing || !is_token(program_.values[v].tensor)) continue;
    for (Index o = program_.values[v].operands; o != nothing; o = program_.operands[o].next)
      frame.operands[o] = frame.outputs[step.first_output + k];
  }
}
void Executable::forget_tokens(Frame& frame) const noexcept {
  if (!makes_tokens_) return;
  for (const Step& step : steps_) {
    if (!step.makes_token) continue;
    for (const Index v : step.instruction->outputs) {
      if (v == nothing || !is_token(program_.values[v].tensor)) continue;
      for (Index o = program_.values[v].operands; o != nothing; o = program_.operands[o].next) frame.operands[o] = {};
    }
  }
}

namespace {

// Runs a fused instruction that computes a product: part by part where the product is in a cache. Not inline: other
// instructions would pay for its frame.
[[gnu::noinline]] void run_after_product(const Instruction& i, ops::Inputs inputs, std::span<const Tensor> outputs) {
  struct {
    const Tensor* factors[2];
    ops::Attributes attributes;
    const Tensor& out;
  } const product{{inputs[i.product->input], inputs.back()}, i.attributes.words(), outputs[i.product->output]};
  const auto compute = [](const void* context, const loops::RangeFunction* then) {
    const auto& p = *static_cast<decltype(&product)>(context);
    return ops::matmul_then(p.factors, p.attributes, p.out, then);
  };
  detail::List<const Tensor*> in(inputs.begin(), inputs.end() - 1);
  in[i.product->input] = &product.out;
  const detail::Block* c = detail::block(product.out);
  const loops::Producer producer{compute, &product, c->extents()[c->rank - 1]};
  i.fused->run(c->dtype, *i.shape, in, {}, outputs, i.writes, &producer);
}

}  // namespace

[[gnu::always_inline]] inline void Executable::execute(const Step& step, Frame& frame) const {
  const Instruction& i = *step.instruction;
  const ops::Inputs inputs{frame.inputs.data() + step.first_input, i.inputs.size()};
  Tensor* outputs = frame.outputs.data() + step.first_output;
  if (i.pointwise()) return ops::evaluate_pointwise(i.operation, inputs, *outputs);
  const std::span<const Tensor> out(outputs, i.outputs.size());
  if (i.scalars) return i.scalars->run(inputs, out);
  if (i.fused) {
    if (i.product) [[unlikely]]
      return run_after_product(i, inputs, out);
    return i.fused->run(detail::block(*outputs)->dtype, *i.shape, inputs, {}, out, i.writes);
  }
  ops::Outputs made(*step.metas, inputs, i.residuals_wanted, outputs);
  i.operation.primitive->evaluate({inputs, i.attributes.words()}, made);
  if (step.makes_token) [[unlikely]]
    hand_over_token(step, frame);
}

// An error of an op names the line that called it when it was traced.
void Executable::execute_all(Frame& frame) const {
  const Step* step = steps_.data();
  try {
    for (const Step* const end = step + steps_.size(); step != end; ++step) execute(*step, frame);
  } catch (Error& error) {
    const tape::Site& line = step->instruction->line;
    detail::name_line(error, {line.file, line.line});
    throw;
  }
}

void Executable::run_bound(std::span<const Tensor> arguments, std::span<Tensor> results, bool borrows,
                           KeptFrame* kept) const {
  Lease lease(*this, borrows, kept);
  Frame& frame = *lease;
  bind(frame, arguments, borrows);
  execute_all(frame);
  take_results(frame, results);
}
inline void Executable::take_results(Frame& frame, std::span<Tensor> results) const {
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Result& result = results_[k];
    Tensor& y = result.output ? frame.outputs[result.number] : frame.operands[result.number];
    if (result.moved)
      results[k] = std::move(y);
    else  // a constant is shared by all runs: each result gets a handle of its own
      results[k] = result.constant ? detail::alias(y) : y;
  }
}
void Executable::run(std::span<const Tensor> arguments, std::span<Tensor> results) const {
  run_bound(arguments, results, false, nullptr);
}
void Executable::run_borrowing(std::span<const Tensor> arguments, std::span<Tensor> results, KeptFrame* kept) const {
  run_bound(arguments, results, true, kept);
}

bool Executable::run_again(std::span<const Tensor* const> arguments, std::span<Tensor> results, KeptFrame& kept) const {
  if (!kept.frame_ || !bound_whole_) return false;
  Frame& frame = *kept.frame_;
  struct Unbind {
    const Executable& owner;
    Frame& frame;
    ~Unbind() { owner.unbind(frame, true); }
  } const at_end{*this, frame};
  allocate_fresh(frame);
  for (const Bound& b : bound_) {
    detail::Block* const argument = detail::block(*arguments[origin_[program_.operands[b.operand].value].number]);
    frame.operands[b.operand] = TensorAccess::adopt(argument);
  }
  execute_all(frame);
  take_results(frame, results);
  return true;
}

}  // namespace reel::program
