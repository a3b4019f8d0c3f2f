// Sessions: frames whose operands lie in memory of the caller. From run to run only the data pointers of blocks change.
#include "program/run/session.hpp"

#include <algorithm>
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
  std::vector<std::vector<Index>> operands(arguments);  // of each argument
  for (const Bound& b : bound_)
    if (const Origin& origin = origin_[program_.operands[b.operand].value]; origin.argument)
      operands[origin.number].push_back(b.operand);
  for (std::size_t k = 0; k < arguments; ++k) {
    made->first.push_back(made->parts.size());
    for (const Index o : operands[k]) {
      const Operand& operand = program_.operands[o];
      if (is_token(operand.tensor))
        made->tokens[k].push_back(o);
      else
        frame.operands[o] = placed(operand.tensor, operand.offset);
    }
  }
  for (const bool apart : {false, true}) {
    made->first.push_back(made->parts.size());
    for (const auto& [o, last] : bound_) {
      const Operand& operand = program_.operands[o];
      if (!origin_[operand.value].argument && apart_[operand.value] == apart)
        frame.operands[o] = placed(operand.tensor, fresh_offset_[operand.value] + operand.offset);
    }
    for (const std::uint32_t k : fresh_)
      if (const Index v = outputs_[k]; apart_[v] == apart)
        frame.outputs[k] = placed(program_.values[v].tensor, fresh_offset_[v]);
  }
  for (const std::uint32_t k : made_)
    if (const Index v = outputs_[k]; v == nothing || is_token(program_.values[v].tensor)) made->transient.push_back(k);
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

void Executable::Session::run(const Memory& memory) {
  Frame& frame = *session_frame_->frame;
  const std::size_t arguments = program_.program_.arguments.size();
  if (memory.results) session_frame_->move(arguments, memory.results);
  if (memory.apart) session_frame_->move(arguments + 1, memory.apart);
  for (const std::uint32_t k : session_frame_->transient) frame.outputs[k] = {};  // each run makes its own
  program_.execute_all(frame);
}

const Tensor& Executable::Session::result(std::size_t k) const noexcept {
  const Result& result = program_.results_[k];
  return (result.output ? session_frame_->frame->outputs : session_frame_->frame->operands)[result.number];
}

Recurrence::Recurrence(const Executable& program, std::span<const Link> links, bool passes) {
  const Program& p = program.program();
  for (std::size_t k = 0; k < links.size(); ++k) {
    const Operand& result = p.operands[p.results[links[k].result]];
    Carried carried{.link = links[k], .from = passed_from(p, links, k)};
    if (!passes && carried.from != k) carried.from = none;
    if (carried.made() && program.fresh_offset(result.value) < 0)
      carried.copied = static_cast<std::size_t>(result.tensor.size()) * item_size(result.tensor.dtype());
    links_.push_back(carried);
  }
  order_passed(program);
  place(program);
}

// Copies one of each cycle, and orders those that are passed on.
void Recurrence::order_passed(const Executable& program) {
  const Program& p = program.program();
  const auto distance = [&](std::size_t k) {  // to the one that is made or unchanged
    std::size_t steps = 0;
    for (; !links_[k].made() && links_[k].from != k && steps <= links_.size(); ++steps) k = links_[k].from;
    return steps;
  };
  for (Carried& c : links_)
    if (distance(static_cast<std::size_t>(&c - links_.data())) > links_.size()) {
      const Tensor& x = p.operands[p.results[c.link.result]].tensor;
      c.from = none;
      c.copied = static_cast<std::size_t>(x.size()) * item_size(x.dtype());
    }
  for (std::size_t k = 0; k < links_.size(); ++k) {
    depth_ = std::max(depth_, distance(k));
    if (distance(k) > 0) passed_.push_back(k);
  }
  std::sort(passed_.begin(), passed_.end(), [&](std::size_t a, std::size_t b) { return distance(a) > distance(b); });
}

// The link whose argument, as a whole, is the result of link k; none if there is no such.
std::size_t Recurrence::passed_from(const Program& p, std::span<const Link> links, std::size_t k) const {
  const Operand& result = p.operands[p.results[links[k].result]];
  for (std::size_t j = 0; result.whole && j < links.size(); ++j)
    if (p.arguments[links[j].argument] == result.value) return j;
  return none;
}

void Recurrence::place(const Executable& program) {
  const Program& p = program.program();
  for (const bool apart : {false, true}) bytes_[apart] = program.fresh_bytes(apart);
  copies_ = std::any_of(links_.begin(), links_.end(), [](const Carried& c) { return c.copied > 0; });
  for (Carried& c : links_) {
    if (!c.made()) continue;
    const Operand& result = p.operands[p.results[c.link.result]];
    if (c.copied == 0) {
      c.apart = program.is_apart(result.value);
      c.offset = program.fresh_offset(result.value) + result.offset;
    } else {
      c.offset = bytes_[c.apart];
      bytes_[c.apart] += padded_bytes(result.tensor);
    }
  }
}

void Recurrence::set_apart(const Executable& program, const std::vector<bool>& links) {
  for (std::size_t k = 0; k < links_.size(); ++k) links_[k].apart = links[k];
  place(program);
}

void Recurrence::copy_results(const Executable::Session& session, const Memory& memory) const noexcept {
  for (const Carried& c : links_)
    if (c.copied > 0) std::memcpy(memory.part(c.apart) + c.offset, session.place(c.link.result), c.copied);
}

void Recurrence::advance(Executable::Session& session, std::span<std::byte*> places,
                         const Memory& memory) const noexcept {
  const auto move = [&](std::size_t k, std::byte* place) {
    places[k] = place;
    session.set(links_[k].link.argument, place);
  };
  for (const std::size_t k : passed_) move(k, places[links_[k].from]);
  for (std::size_t k = 0; k < links_.size(); ++k)
    if (std::byte* place = settled(k, memory)) move(k, place);
}

void Recurrence::carry(Executable::Session& session, const Memory& memory) const noexcept {
  for (std::size_t k = 0; k < links_.size(); ++k)
    if (links_[k].made()) session.set(links_[k].link.argument, settled(k, memory));
}

}  // namespace reel::program
