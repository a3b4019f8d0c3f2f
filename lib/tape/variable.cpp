// Variable: a reference-counted state with a lock around its value. A read under a tape gives that tape an alias from
// the value's id to the variable. If the value was read before, it first gets a fresh id, so that earlier handles stay
// unwatched.
#include <algorithm>
#include <atomic>
#include <thread>

#include "core/fail.hpp"
#include "tape/capture.hpp"
#include "tape/tape.hpp"

namespace reel {

struct Variable::State {
  std::atomic<int> uses{1};
  std::atomic<bool> locked{false};
  Tensor value;
  const Shape shape;  // immutable, so read without the lock
  const DType dtype;
  std::string name;
  bool trainable;
  std::uint64_t id;
  std::atomic<bool> abandoned{false};
  Variable number;  // of the optimiser that the variable belongs to, if any
  bool stands_in = false;
  std::atomic<bool> identified{false};
};

namespace {

std::atomic<std::uint64_t> next_variable{1};  // thread part 0: never a tensor's id

// Several variables are locked by ascending id.
void acquire(std::atomic<bool>& flag) noexcept {
  while (flag.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
}
void release(std::atomic<bool>& flag) noexcept { flag.store(false, std::memory_order_release); }

class Lock {
 public:
  explicit Lock(std::atomic<bool>& flag) noexcept : flag_(flag) { acquire(flag_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { release(flag_); }

 private:
  std::atomic<bool>& flag_;
};

[[noreturn, gnu::cold]] void fail_stands_in(const std::string& name) {
  fail<TraceError>("compile",
                   "variable '{}' is a parameter of a function while that is traced, and was kept; keep the variable "
                   "that is passed, or use the parameter in the function alone",
                   name);
}

}  // namespace

Variable::State* VariableAccess::make(Tensor value, std::string name, bool trainable) {
  const Shape shape = value.shape();
  const DType dtype = value.dtype();
  return new Variable::State{{1}, {false}, std::move(value), shape, dtype, std::move(name), trainable, next_variable++,
                             {},  {}};
}
Variable VariableAccess::stand_in(const Variable& v, Tensor value) {
  Variable made(make(std::move(value), v.state_->name, v.trainable()));
  made.state_->stands_in = true;
  return made;
}
bool VariableAccess::stands_in(const Variable& v) noexcept { return v.state_->stands_in; }
bool VariableAccess::identified(const Variable& v) noexcept { return v.state_->identified; }
std::uint64_t VariableAccess::state_key(const Variable& v) {
  if (v.state_->stands_in) [[unlikely]] {
    v.state_->identified = true;
    fail<TraceError>("compile", "state is kept of variable '{}', which is a parameter of the traced function",
                     v.state_->name);
  }
  return v.id();
}
// Parameters are constructed in the order of what they stand for, but behind everything else.
void VariableAccess::note_order(std::span<const Variable> list) noexcept {
  if (std::all_of(list.begin(), list.end(), stands_in)) return;
  for (const Variable& v : list)
    if (stands_in(v)) v.state_->identified = true;
}
std::uint64_t VariableAccess::next_id() noexcept { return next_variable.load(std::memory_order_relaxed); }
void VariableAccess::abandon(const Variable& number) noexcept { number.state_->abandoned = true; }
void VariableAccess::belongs_to(const Variable& state, const Variable& number) {
  Variable::State*& to = state.state_->number.state_;
  if (to) return;
  to = number.state_;
  ++to->uses;
}
bool VariableAccess::abandoned(const Variable& v) noexcept {
  const Variable::State* number = v.state_->number.state_;
  return v.state_->abandoned || (number && number->abandoned);
}
Variable::Variable(const Variable& other) noexcept : state_(other.state_) {
  if (state_) ++state_->uses;
}
Variable::Variable(Variable&& other) noexcept : state_(other.state_) {
  if (state_) ++state_->uses;  // a moved-from variable keeps its state: variables are never empty
}
Variable::~Variable() {
  if (state_ && --state_->uses == 0) delete state_;
}

Shape Variable::shape() const { return state_->shape; }
DType Variable::dtype() const { return state_->dtype; }
int Variable::rank() const { return shape().rank(); }
std::int64_t Variable::size() const { return shape().elements(); }
const std::string& Variable::name() const noexcept {
  if (state_->stands_in) state_->identified = true;
  return state_->name;
}
bool Variable::trainable() const noexcept { return state_->trainable; }
std::uint64_t Variable::id() const noexcept { return state_->id; }

namespace {
// If a Capture hides a tape that would follow this read, the value gets an id that stands for this read alone.
void note_captured(const Variable& v, Tensor& value) {
  tape::Capture* c = tape::Capture::innermost();
  if (!c) return;
  if (!is_differentiable(value.dtype()) || !c->would_follow(v)) return c->note_constant(v, value);
  if (!detail::held_once(detail::block(value))) value = detail::alias(value);
  c->note(v, detail::block(value)->id);
  if (c->watcher()) watch(*c->watcher(), v, value.dtype(), value.shape());
}
}  // namespace

Tensor VariableAccess::read(const Variable& v) {
  if (v.state_->stands_in) [[unlikely]]
    fail_stands_in(v.state_->name);
  const Lock lock(v.state_->locked);
  if (tape::active()) on_read(v, v.state_->value);
  return v.state_->value;
}

void VariableAccess::on_read(const Variable& v, Tensor& value) {
  note_captured(v, value);
  const auto follows = [&](tape::Tape& t) {
    if (!t.recording() || !is_differentiable(value.dtype())) return false;
    if (t.by_id.find(v.id()) == tape::no_slot) {
      if (!v.trainable() || !t.options.watch_accessed_variables) return false;
      watch(t, v, value.dtype(), value.shape());
    }
    return true;
  };
  bool stale = false;
  for (tape::Tape* t = tape::top(); t; t = t->below)
    if (follows(*t)) stale |= t->by_id.find(detail::block(value)->id) != t->by_id.find(v.id());
  if (!stale) return;
  // An id from before the tape may be in use: it stays unwatched. Tapes that follow the value, but not the variable,
  // follow it under the new id too.
  Tensor before;
  if (!detail::held_once(detail::block(value))) before = std::exchange(value, detail::alias(value));
  for (tape::Tape* t = tape::top(); t; t = t->below) {
    std::uint32_t slot = tape::no_slot;
    if (follows(*t))
      slot = t->by_id.find(v.id());
    else if (before.defined() && t->recording())
      slot = t->find(detail::block(before));
    if (slot == tape::no_slot) continue;
    t->by_id.reserve(1);
    t->by_id.set(detail::block(value)->id, slot);
    t->slots[slot].variable = true;  // the slot has several ids
  }
}

// A value that somebody holds keeps its memory: another assign has given the variable other memory.
bool VariableAccess::exchange(std::span<const Variable> variables, std::span<const Tensor> read,
                              std::span<Tensor> values) noexcept {
  for (const Variable& v : variables) acquire(v.state_->locked);
  bool unchanged = true;
  for (std::size_t k = 0; k < variables.size(); ++k)
    if (const detail::Block* b = detail::block(read[k]))
      unchanged = unchanged && detail::block(variables[k].state_->value)->data == b->data;
  for (std::size_t k = 0; unchanged && k < variables.size(); ++k) std::swap(variables[k].state_->value, values[k]);
  for (const Variable& v : variables) release(v.state_->locked);
  return unchanged;
}

void VariableAccess::modify(const Variable& v, void (*change)(void* context, Tensor& value), void* context) {
  if (v.state_->stands_in) [[unlikely]]
    fail_stands_in(v.state_->name);
  const Lock lock(v.state_->locked);
  change(context, v.state_->value);
}

}  // namespace reel
