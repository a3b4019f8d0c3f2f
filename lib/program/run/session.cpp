// Sessions: frames whose operands lie in memory of the caller. From run to run only the data pointers of blocks change.
#include "program/run/session.hpp"

#include <cstring>

#include "program/run/frame.hpp"

namespace reel::program {

std::unique_ptr<Executable::SessionFrame> Executable::new_session_frame() const {
  auto made = std::make_unique<SessionFrame>();
  made->frame = new_frame();
  Frame& frame = *made->frame;
  const Tensor nowhere = detail::empty(DType::uint8, {0});
  const auto placed = [&](const Tensor& like, std::int64_t offset) {
    Tensor x = laid_out(nowhere, 0, like);
    made->parts.push_back({detail::block(x), offset});
    return x;
  };
  const std::size_t arguments = program_.arguments.size();
  made->tokens.resize(arguments);
  for (std::size_t k = 0; k < arguments; ++k) {
    made->first.push_back(made->parts.size());
    for (const auto& [o, last] : bound_) {
      const Operand& operand = program_.operands[o];
      if (operand.value != program_.arguments[k]) continue;
      if (is_token(operand.tensor))
        made->tokens[k].push_back(o);
      else
        frame.operands[o] = placed(operand.tensor, operand.offset);
    }
  }
  made->first.push_back(made->parts.size());
  for (const auto& [o, last] : bound_) {
    const Operand& operand = program_.operands[o];
    if (!origin_[operand.value].argument)
      frame.operands[o] = placed(operand.tensor, fresh_offset_[operand.value] + operand.offset);
  }
  for (const std::uint32_t k : made_)
    if (const Index v = outputs_[k]; v != nothing && !is_token(program_.values[v].tensor))
      frame.outputs[k] = placed(program_.values[v].tensor, fresh_offset_[v]);
    else
      made->transient.push_back(k);
  made->first.push_back(made->parts.size());
  const std::lock_guard lock(mutex_);
  session_frames_.reserve(++session_frame_count_);
  return made;
}

Executable::Session::Session(const Executable& program)
    : program_(program), session_frame_(program.latest_session_.exchange(nullptr, std::memory_order_acquire)) {
  if (session_frame_) return;
  {
    const std::lock_guard lock(program.mutex_);
    if (!program.session_frames_.empty()) {
      session_frame_ = std::move(program.session_frames_.back());
      program.session_frames_.pop_back();
    }
  }
  if (!session_frame_) session_frame_ = program.new_session_frame();
}

Executable::Session::~Session() {
  Frame& frame = *session_frame_->frame;
  for (const std::vector<Index>& operands : session_frame_->tokens)
    for (const Index o : operands) frame.operands[o] = {};
  for (const std::uint32_t k : session_frame_->transient) frame.outputs[k] = {};
  program_.forget_tokens(frame);
  SessionFrame* empty = nullptr;
  if (program_.latest_session_.compare_exchange_strong(empty, session_frame_.get(), std::memory_order_release,
                                                       std::memory_order_relaxed)) {
    static_cast<void>(session_frame_.release());
    return;
  }
  const std::lock_guard lock(program_.mutex_);
  program_.session_frames_.push_back(std::move(session_frame_));  // new_session_frame() has reserved room
}

void Executable::Session::set(std::size_t k, std::byte* place) noexcept { session_frame_->move(k, place); }

void Executable::Session::set(std::size_t k, const Tensor& x) {
  for (const Index o : session_frame_->tokens[k]) session_frame_->frame->operands[o] = x;
  session_frame_->move(k, detail::block(x)->data);
}

void Executable::Session::run(std::byte* memory) {
  Frame& frame = *session_frame_->frame;
  session_frame_->move(program_.program_.arguments.size(), memory);
  for (const std::uint32_t k : session_frame_->transient) frame.outputs[k] = {};  // each run makes its own
  for (const Step& step : program_.steps_) program_.execute(step, frame);
}

const Tensor& Executable::Session::result(std::size_t k) const noexcept {
  const Result& result = program_.results_[k];
  return (result.output ? session_frame_->frame->outputs : session_frame_->frame->operands)[result.number];
}

Recurrence::Recurrence(const Executable& program, std::span<const Link> links) : bytes_(program.fresh_bytes()) {
  const Program& p = program.program();
  for (const Link& link : links) {
    const Operand& result = p.operands[p.results[link.result]];
    Carried carried{link, unchanged, 0};
    if (const std::int64_t fresh = program.fresh_offset(result.value); fresh >= 0) {
      carried.offset = fresh + result.offset;
    } else if (result.value != p.arguments[link.argument] || !result.whole) {
      carried.offset = bytes_;
      carried.copied = static_cast<std::size_t>(result.tensor.size()) * item_size(result.tensor.dtype());
      bytes_ += padded_bytes(result.tensor);
    }
    links_.push_back(carried);
  }
}

void Recurrence::settle(const Executable::Session& session, std::byte* memory) const noexcept {
  for (const Carried& p : links_)
    if (p.copied > 0) std::memcpy(memory + p.offset, session.place(p.link.result), p.copied);
}

void Recurrence::carry(Executable::Session& session, std::byte* memory) const noexcept {
  for (const Carried& p : links_)
    if (p.offset != unchanged) session.set(p.link.argument, memory + p.offset);
}

}  // namespace reel::program
