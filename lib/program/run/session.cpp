// Sessions: frames whose operands lie in memory of the caller. From run to run only the data pointers of blocks change.
#include "program/run/session.hpp"

#include <cstring>

#include "program/run/frame.hpp"

namespace reel::program {

std::unique_ptr<Executable::Places> Executable::new_places() const {
  auto places = std::make_unique<Places>();
  places->frame = new_frame();
  Frame& frame = *places->frame;
  const Tensor nowhere = detail::empty(DType::uint8, {0});
  const auto placed = [&](const Tensor& like, std::int64_t offset) {
    Tensor x = laid_out(nowhere, 0, like);
    places->parts.push_back({detail::block(x), offset});
    return x;
  };
  const std::size_t arguments = program_.arguments.size();
  places->held.resize(arguments);
  for (std::size_t k = 0; k < arguments; ++k) {
    places->first.push_back(places->parts.size());
    for (const Index o : bound_) {
      const Operand& operand = program_.operands[o];
      if (operand.value != program_.arguments[k]) continue;
      if (is_token(operand.tensor))
        places->held[k].push_back(o);
      else
        frame.operands[o] = placed(operand.tensor, operand.offset);
    }
  }
  places->first.push_back(places->parts.size());
  for (const Index o : bound_) {
    const Operand& operand = program_.operands[o];
    if (!origin_[operand.value].argument)
      frame.operands[o] = placed(operand.tensor, fresh_offset_[operand.value] + operand.offset);
  }
  for (const std::uint32_t k : made_)
    if (const Index v = outputs_[k]; v != nothing && !is_token(program_.values[v].tensor))
      frame.outputs[k] = placed(program_.values[v].tensor, fresh_offset_[v]);
    else
      places->transient.push_back(k);
  places->first.push_back(places->parts.size());
  const std::lock_guard lock(mutex_);
  places_.reserve(++places_count_);
  return places;
}

Executable::Session::Session(const Executable& program) : program_(program) {
  {
    const std::lock_guard lock(program.mutex_);
    if (!program.places_.empty()) {
      places_ = std::move(program.places_.back());
      program.places_.pop_back();
    }
  }
  if (!places_) places_ = program.new_places();
}

Executable::Session::~Session() {
  Frame& frame = *places_->frame;
  for (const std::vector<Index>& operands : places_->held)
    for (const Index o : operands) frame.operands[o] = {};
  for (const std::uint32_t k : places_->transient) frame.outputs[k] = {};
  program_.forget_tokens(frame);
  const std::lock_guard lock(program_.mutex_);
  program_.places_.push_back(std::move(places_));  // new_places() has reserved room
}

void Executable::Session::set(std::size_t k, std::byte* place) noexcept { places_->move(k, place); }

void Executable::Session::set(std::size_t k, const Tensor& x) {
  for (const Index o : places_->held[k]) places_->frame->operands[o] = x;
  places_->move(k, detail::block(x)->data);
}

void Executable::Session::run(std::byte* memory) {
  Frame& frame = *places_->frame;
  places_->move(program_.program_.arguments.size(), memory);
  for (const std::uint32_t k : places_->transient) frame.outputs[k] = {};  // each run makes its own
  for (const Step& step : program_.steps_) program_.execute(step, frame);
}

const Tensor& Executable::Session::result(std::size_t k) const noexcept {
  return places_->frame->operands[program_.program_.results[k]];
}

Recurrence::Recurrence(const Executable& program, std::span<const Link> links) : bytes_(program.fresh_bytes()) {
  const Program& p = program.program();
  for (const Link& link : links) {
    const Operand& result = p.operands[p.results[link.result]];
    Place place{link, unchanged, 0};
    if (const std::int64_t fresh = program.fresh_offset(result.value); fresh >= 0) {
      place.offset = fresh + result.offset;
    } else if (result.value != p.arguments[link.argument] || !result.whole) {
      place.offset = bytes_;
      place.copied = static_cast<std::size_t>(result.tensor.size()) * item_size(result.tensor.dtype());
      bytes_ += padded_bytes(result.tensor);
    }
    links_.push_back(place);
  }
}

void Recurrence::settle(const Executable::Session& session, std::byte* memory) const noexcept {
  for (const Place& p : links_)
    if (p.copied > 0) std::memcpy(memory + p.offset, session.place(p.link.result), p.copied);
}

void Recurrence::carry(Executable::Session& session, std::byte* memory) const noexcept {
  for (const Place& p : links_)
    if (p.offset != unchanged) session.set(p.link.argument, memory + p.offset);
}

}  // namespace reel::program
