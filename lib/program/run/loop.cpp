// Loops of programs. The variables of a step lie in the memory of steps before it. What no gradient reads lies in
// memory of a few steps that take turns.
#include "program/run/loop.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <reel/ops/shape.hpp>

#include "loops/make/fill.hpp"

namespace reel::program {

namespace {

constexpr std::size_t none = ~std::size_t{0};

std::byte* data(const Tensor& x) noexcept { return detail::block(x)->data; }
std::size_t bytes_of(const Tensor& x) noexcept { return static_cast<std::size_t>(x.size()) * item_size(x.dtype()); }
// Bytes of one of the tensors stacked in x.
std::size_t row_bytes(const Tensor& x) noexcept {
  const std::int64_t rows = x.shape()[0];
  return rows == 0 ? 0 : bytes_of(x) / static_cast<std::size_t>(rows);
}
std::byte* row(const Tensor& x, std::int64_t i) noexcept {
  return data(x) + static_cast<std::size_t>(i) * row_bytes(x);
}
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
Tensor memory_of(std::int64_t bytes) { return detail::empty(DType::uint8, {bytes}); }
Tensor zero_memory(std::size_t bytes) {
  Tensor x = memory_of(static_cast<std::int64_t>(bytes));
  if (bytes > 0) std::memset(data(x), 0, bytes);
  return x;
}

}  // namespace

// The inputs of the loop, as sessions get them.
class Loop::Inputs {
 public:
  Inputs(const Shape& shape, std::span<const Tensor> x) : read_(x.subspan(shape.variables + shape.rows)) {
    for (const Tensor& one : x.first(shape.variables)) initial_.push_back(contiguous(one));
    for (const Tensor& one : x.subspan(shape.variables, shape.rows)) rows_.push_back(contiguous(one));
  }
  const Tensor& initial(std::size_t k) const noexcept { return initial_[k]; }
  void set_initial(Executable::Session& session) const noexcept {
    for (std::size_t k = 0; k < initial_.size(); ++k) session.set(k, initial_[k]);
  }
  /// Binds those that are read, with these numbers, from argument `first` on.
  void set_read(Executable::Session& session, std::size_t first, std::span<const std::size_t> numbers) const {
    for (std::size_t k = 0; k < numbers.size(); ++k) session.set(first + k, read_[numbers[k]]);
  }
  void set_rows(Executable::Session& session, std::int64_t i) const noexcept {
    for (std::size_t k = 0; k < rows_.size(); ++k) session.set(initial_.size() + k, row(rows_[k], i));
  }

 private:
  detail::List<Tensor> initial_, rows_;
  std::span<const Tensor> read_;
};

// Decides before each step whether there is one: by the condition's program, or by a number of steps.
class Loop::Condition {
 public:
  Condition(const Loop& loop, const Inputs& in) : shape_(loop.shape_) {
    if (!loop.programs_.condition) return;
    session_.emplace(*loop.programs_.condition);
    in.set_initial(*session_);
    in.set_read(*session_, shape_.variables, shape_.condition_reads);
    result_ = memory_of(loop.programs_.condition->fresh_bytes());
  }
  bool holds(std::int64_t i) {
    if (!session_) return i < shape_.steps;
    if (shape_.most_steps >= 0 && i >= shape_.most_steps) return false;
    session_->run({data(result_)});
    return static_cast<bool>(session_->result(0));
  }
  void set(std::span<std::byte* const> variables) {
    for (std::size_t k = 0; session_ && k < variables.size(); ++k) session_->set(k, variables[k]);
  }

 private:
  const Shape& shape_;
  std::optional<Executable::Session> session_;
  Tensor result_;  // memory
};

// Memory that steps use in turns.
class Loop::Turns {
 public:
  explicit Turns(std::int64_t bytes, std::size_t count = 2) : bytes_(bytes), turns_(count) {}
  std::byte* next() {
    if (bytes_ == 0) return nullptr;
    Tensor& x = turns_[at_];
    if (++at_ == turns_.size()) at_ = 0;
    if (!x.defined()) x = memory_of(bytes_);
    return data(x);
  }

 private:
  std::int64_t bytes_;
  detail::List<Tensor> turns_;
  std::size_t at_ = 0;
};

// The memory of all steps, one after another.
class Loop::Kept {
 public:
  explicit Kept(std::int64_t bytes) : bytes_(bytes) {}
  std::byte* next() {
    if (free_ == 0) grow();
    --free_;
    steps_.push_back(place_);
    place_ += bytes_;
    return steps_.back();
  }
  void leave(LoopRecord& record) {
    record.memory = std::move(kept_);
    record.steps = std::move(steps_);
  }

 private:
  static constexpr std::int64_t most_chunk_bytes =
      256 * 1024;  // of several steps; a larger step has a chunk of its own
  [[gnu::noinline]] void grow() {
    free_ = chunk_;
    chunk_ = std::min<std::int64_t>(2 * chunk_,
                                    std::max<std::int64_t>(1, most_chunk_bytes / std::max<std::int64_t>(bytes_, 1)));
    kept_.push_back(memory_of(free_ * bytes_));
    place_ = data(kept_.back());
  }
  std::int64_t bytes_;
  detail::List<Tensor> kept_;
  detail::List<std::byte*> steps_;
  std::int64_t chunk_ = 1, free_ = 0;  // in steps
  std::byte* place_ = nullptr;
};

std::vector<Recurrence::Link> Loop::links() const {
  std::vector<Recurrence::Link> list;
  for (std::size_t k = 0; k < shape_.variables; ++k) list.push_back({k, k});
  return list;
}

void Loop::run(std::span<const Tensor> inputs, std::span<const Tensor> results, LoopRecord* record) const {
  const bool keeps = record && shape_.memory_budget == 0, checkpoints = record && !keeps;
  const Recurrence& recurrence = keeps ? backward_->forward : checkpoints ? step_ : run_;
  const Inputs in(shape_, inputs);
  Executable::Session step(keeps ? *backward_->programs.forward : *programs_.step);
  in.set_initial(step);
  in.set_read(step, shape_.variables + shape_.rows, shape_.step_reads);
  Condition condition(*this, in);
  if (checkpoints) record->checkpoints.limit(most_checkpoints());
  Turns turns(recurrence.bytes(), recurrence.depth() + 2);
  Kept kept(recurrence.bytes(true));
  Tensor last, before_last;     // the memory of steps with checkpoints; a step reads that of the one before it
  detail::List<std::byte*> at;  // for each variable
  for (std::size_t k = 0; k < shape_.variables; ++k) at.push_back(data(in.initial(k)));
  std::int64_t i = 0;
  for (; condition.holds(i); ++i) {
    if (checkpoints) {
      record->checkpoints.offer(i, last);
      before_last = std::exchange(last, memory_of(recurrence.bytes()));
    }
    const Executable::Session::Memory here{checkpoints ? data(last) : turns.next(), keeps ? kept.next() : nullptr};
    in.set_rows(step, i);
    step.run(here);
    for (std::size_t k = shape_.variables; k < results.size(); ++k)
      copy_bytes(row(results[k], i), step.place(k), row_bytes(results[k]));
    recurrence.settle(step, here);
    recurrence.advance(step, at, here);
    condition.set(at);
    if (keeps)
      for (const std::size_t r : backward_->tokens) record->tokens.push_back(step.result(r));
  }
  if (record) {
    record->iterations = i;
    kept.leave(*record);
  }
  for (std::size_t k = 0; k < shape_.variables; ++k) copy_bytes(data(results[k]), at[k], bytes_of(results[k]));
}

// ---- Gradients

void Loop::set_gradient(Gradient gradient) {
  Backward b{.programs = std::move(gradient), .forward = {}, .back = {}};
  b.forward = Recurrence(*b.programs.forward, links(), shape_.memory_budget == 0);
  const Program &forward = b.programs.forward->program(), &backward = b.programs.backward->program();
  std::size_t argument = shape_.variables + shape_.rows + shape_.step_reads.size(), result = 0;
  b.cotangent_of.assign(shape_.variables + shape_.outputs, none);
  for (const std::size_t k : b.programs.seeded) b.cotangent_of[k] = argument++;
  std::vector<std::size_t> sum_of(b.programs.exists.size(), none);
  for (const std::size_t s : b.programs.summed) sum_of[s] = argument++;
  std::vector<Recurrence::Link> links;
  for (std::size_t s = 0; s < b.programs.exists.size(); ++s) {
    b.result_of.push_back(b.programs.exists[s] ? result++ : none);
    const std::size_t to = s < shape_.variables ? b.cotangent_of[s] : sum_of[s];
    if (b.result_of[s] == none || to == none) continue;
    links.push_back({b.result_of[s], to});
    b.linked.push_back(s);
  }
  b.back = Recurrence(*b.programs.backward, links, false);
  const std::size_t own = forward.results.size() - b.programs.residuals;
  for (std::size_t r = 0; r < b.programs.residuals; ++r) {
    const Operand& residual = forward.operands[forward.results[own + r]];
    b.residuals.push_back({argument++, is_token(residual.tensor) ? -1 : 0});
    if (is_token(residual.tensor)) b.tokens.push_back(own + r);
  }
  for (const Index v : backward.arguments) b.most_bytes = std::max(b.most_bytes, bytes_of(backward.values[v].tensor));
  for (std::size_t k = 0; k < shape_.variables; ++k)
    if (b.programs.backward->reads_argument(k)) b.read.push_back(k);
  set_apart(b, shape_.variables);
  for (std::size_t r = 0; r < b.programs.residuals; ++r)
    if (b.residuals[r].offset >= 0)
      b.residuals[r].offset = b.programs.forward->fresh_offset(forward.operands[forward.results[own + r]].value);
  backward_ = std::move(b);
}

// What the backward program reads is placed apart from the rest: residuals, and variables after a step.
void Loop::set_apart(Backward& b, std::size_t variables) {
  std::vector<bool> links(variables);
  for (const std::size_t k : b.read)
    if (const auto found = b.forward.find_maker(k, variables + 1); found.made) links[found.link] = true;
  std::vector<std::size_t> results;
  const std::size_t all = b.programs.forward->program().results.size();
  for (std::size_t r = all - b.programs.residuals; r < all; ++r) results.push_back(r);
  for (std::size_t k = 0; k < variables; ++k)
    if (links[k] && !b.forward.copies(k)) results.push_back(k);
  b.programs.forward->set_apart(results);
  b.forward.set_apart(*b.programs.forward, links);
}

std::size_t Loop::most_checkpoints() const noexcept {
  constexpr std::int64_t handle_bytes = 128;  // header of a block, and its handle
  const std::int64_t one = step_.bytes() + handle_bytes;
  const std::int64_t left = shape_.memory_budget - backward_->forward.bytes() - backward_->forward.bytes(true) -
                            2 * backward_->back.bytes() - 2 * one;
  return static_cast<std::size_t>(std::max<std::int64_t>(2, left / one));
}

// Walks back over the steps.
class Loop::Back {
 public:
  Back(const Loop& loop, std::span<const Tensor> inputs, const LoopRecord& record, std::span<const Tensor> cotangents)
      : loop_(loop),
        b_(*loop.backward_),
        record_(record),
        checkpoints_(record.checkpoints),
        in_(loop.shape_, inputs),
        session_(*b_.programs.backward),
        zeros_(zero_memory(b_.most_bytes)),
        at_(b_.programs.exists.size(), data(zeros_)) {
    in_.set_initial(session_);
    const std::size_t reads_at = loop.shape_.variables + loop.shape_.rows;
    in_.set_read(session_, reads_at, loop.shape_.step_reads);
    for (std::size_t k = 0; k < cotangents.size(); ++k) {
      cotangents_.push_back(cotangents[k].defined() ? contiguous(cotangents[k]) : Tensor());
      if (k >= loop.shape_.variables || b_.cotangent_of[k] == none) continue;
      if (cotangents_[k].defined()) at_[k] = data(cotangents_[k]);
      session_.set(b_.cotangent_of[k], at_[k]);
    }
    if (loop.shape_.memory_budget == 0) return;
    again_.emplace(*b_.programs.forward);
    advance_.emplace(*loop.programs_.step);
    for (Executable::Session* s : {&*again_, &*advance_}) {
      in_.set_initial(*s);
      in_.set_read(*s, reads_at, loop.shape_.step_reads);
    }
    again_memory_ = memory_of(b_.forward.bytes());
    again_apart_ = memory_of(b_.forward.bytes(true));
  }

  void run(std::span<const std::size_t> wanted, std::span<const Tensor> gradients) {
    const Shape& shape = loop_.shape_;
    const auto is_row = [&](std::size_t s) { return s >= shape.variables && s < shape.variables + shape.rows; };
    begin_sums(wanted, gradients);
    const auto pull = [&](std::int64_t i, std::byte* left) {
      bind_step(i, left);
      const Executable::Session::Memory here{turns_.next()};
      session_.run(here);
      for (std::size_t w = 0; w < wanted.size(); ++w)
        if (is_row(wanted[w]) && b_.result_of[wanted[w]] != none)
          copy_bytes(row(gradients[w], i), session_.place(b_.result_of[wanted[w]]), row_bytes(gradients[w]));
      hand_back(here);
    };
    walk_back(
        record_.iterations, [&](std::int64_t i) { return before(i); }, pull);
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      const std::size_t s = wanted[w], bytes = bytes_of(gradients[w]);
      if (bytes > 0 && at_[s] == data(gradients[w]))  // a sum without terms
        std::memset(at_[s], 0, bytes);
      else if (!is_row(s))
        copy_bytes(data(gradients[w]), at_[s], bytes);
      else if (b_.result_of[s] == none && bytes > 0)
        std::memset(data(gradients[w]), 0, bytes);
    }
  }

 private:
  // Sums begin with a zero that has no effect on the bits of the first term. Those that are wanted begin in the memory
  // of the results.
  void begin_sums(std::span<const std::size_t> wanted, std::span<const Tensor> gradients) {
    for (std::size_t k = 0; k < b_.linked.size(); ++k) {
      if (b_.linked[k] < loop_.shape_.variables) continue;
      const auto at = std::find(wanted.begin(), wanted.end(), b_.linked[k]) - wanted.begin();
      if (at < std::ssize(wanted)) {
        const Tensor& sum = gradients[static_cast<std::size_t>(at)];
        loops::fill_additive_identity(sum);
        at_[b_.linked[k]] = data(sum);
      }
      session_.set(b_.back.argument(k), at_[b_.linked[k]]);
    }
  }
  // Binds the variables of step i. Returns the memory that it has left, of this run or the first.
  std::byte* before(std::int64_t i) {
    if (again_) {
      before_ = checkpoints_.before(i, [&](std::int64_t k, const Tensor& state) { return advance(k, state); });
      for (Executable::Session* s : {&*again_, &session_}) begin_at(*s, before_, loop_.step_);
      in_.set_rows(*again_, i);
      again_->run({data(again_memory_), data(again_apart_)});
      return data(again_apart_);
    }
    const auto at = static_cast<std::size_t>(i);
    for (const std::size_t k : b_.read) {
      const auto [link, back, made] = b_.forward.find_maker(k, at);
      if (made)
        session_.set(k, b_.forward.settled(link, {nullptr, record_.steps[at - back]}));
      else
        session_.set(k, in_.initial(link));
    }
    return record_.steps[at];
  }
  // Binds the other arguments of step i.
  void bind_step(std::int64_t i, std::byte* left) {
    in_.set_rows(session_, i);
    std::size_t token = 0;
    for (const Residual& r : b_.residuals)
      if (r.offset >= 0)
        session_.set(r.argument, left + r.offset);
      else
        session_.set(r.argument, token_of(static_cast<std::size_t>(i), token++));
    for (std::size_t k = loop_.shape_.variables; k < cotangents_.size(); ++k)
      if (b_.cotangent_of[k] != none)
        session_.set(b_.cotangent_of[k], cotangents_[k].defined() ? row(cotangents_[k], i) : data(zeros_));
  }
  const Tensor& token_of(std::size_t step, std::size_t token) const noexcept {
    return again_ ? again_->result(b_.tokens[token]) : record_.tokens[step * b_.tokens.size() + token];
  }
  // The variables of step i: in the memory of the step before it, or the initial ones.
  void begin_at(Executable::Session& session, const Tensor& memory, const Recurrence& recurrence) const {
    if (memory.defined())
      recurrence.carry(session, {data(memory)});
    else
      in_.set_initial(session);
  }
  Tensor advance(std::int64_t k, const Tensor& state) {
    begin_at(*advance_, state, loop_.step_);
    in_.set_rows(*advance_, k);
    Tensor next = memory_of(loop_.step_.bytes());
    advance_->run({data(next)});
    loop_.step_.settle(*advance_, {data(next)});
    return next;
  }
  // The cotangents of the variables before this step become those of the previous step's results.
  void hand_back(const Executable::Session::Memory& here) {
    b_.back.settle(session_, here);
    b_.back.carry(session_, here);
    for (std::size_t k = 0; k < b_.linked.size(); ++k)
      if (std::byte* place = b_.back.settled(k, here)) at_[b_.linked[k]] = place;
    for (std::size_t k = 0; k < loop_.shape_.variables; ++k)
      if (b_.cotangent_of[k] != none && b_.result_of[k] == none) {
        at_[k] = data(zeros_);
        session_.set(b_.cotangent_of[k], at_[k]);
      }
  }

  const Loop& loop_;
  const Backward& b_;
  const LoopRecord& record_;
  Checkpoints<Tensor> checkpoints_;
  const Inputs in_;
  Executable::Session session_;
  std::optional<Executable::Session> again_, advance_;  // under a memory budget
  Tensor again_memory_, again_apart_, before_;
  const Tensor zeros_;
  detail::List<Tensor> cotangents_;
  detail::List<std::byte*> at_;  // the cotangent of each source so far
  Turns turns_{b_.back.bytes()};
};

void Loop::pull(std::span<const Tensor> inputs, const LoopRecord& record, std::span<const Tensor> cotangents,
                std::span<const std::size_t> wanted, std::span<const Tensor> gradients) const {
  Back(*this, inputs, record, cotangents).run(wanted, gradients);
}

}  // namespace reel::program
