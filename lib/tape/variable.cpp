// Variable: a counted state with a lock around its value. A read under a tape gives that tape an alias from the
// value's id to the variable; a value that someone read before gets a fresh id first, so that the old handle stays
// what it was: unwatched.
#include <algorithm>
#include <atomic>
#include <optional>
#include <ostream>
#include <thread>

#include "core/fail.hpp"
#include "tape/capture.hpp"
#include "tape/tape.hpp"

namespace reel {

struct Variable::State {
  std::atomic<int> uses{1};
  std::atomic<bool> locked{false};
  Tensor value;
  const Shape shape;  // never change, so they are read without the lock
  const DType dtype;
  std::string name;
  bool trainable;
  std::uint64_t id;
};

namespace {

std::atomic<std::uint64_t> next_variable{1};  // thread part 0: never a tensor's id

class Lock {
 public:
  explicit Lock(std::atomic<bool>& flag) noexcept : flag_(flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { flag_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& flag_;
};

void check_defined(const Tensor& x, const char* op, const std::string& name) {
  if (!x.defined()) fail<ValueError>(op, "the value for variable '{}' is empty", name);
}

// A function that is run again reads what it read before: an assignment would be lost on it, and happen twice.
void check_runs_once(const char* op, const Variable& v) {
  if (FrozenReads::find(v))
    fail<TapeError>(op,
                    "variable '{}' is assigned by a function that also reads it and is run again for its derivative "
                    "(recompute_grad, while_loop, scan); return the new value instead",
                    v.name());
}

void check_fits(const char* op, const std::string& name, const Tensor& old, const Tensor& value) {
  if (value.dtype() != old.dtype())
    fail<TypeError>(op, "variable '{}' is {}, the value is {}; cast it", name, old.dtype(), value.dtype());
  if (value.shape() != old.shape())
    fail<ShapeError>(op, "variable '{}' has shape {}, the value {}", name, old.shape(), value.shape());
}

}  // namespace

Variable::Variable(const Tensor& initial, std::string name, bool trainable) : state_(nullptr) {
  check_defined(initial, "Variable", name);
  Tensor value = detail::alias(initial);
  state_ = new State{{1},       {false},        std::move(value), initial.shape(), initial.dtype(), std::move(name),
                     trainable, next_variable++};
}
Variable::Variable(const Variable& other) noexcept : state_(other.state_) {
  if (state_) ++state_->uses;
}
Variable::Variable(Variable&& other) noexcept : state_(other.state_) {
  if (state_) ++state_->uses;  // a moved-from variable stays itself: there is no empty one
}
Variable::~Variable() {
  if (state_ && --state_->uses == 0) delete state_;
}

Shape Variable::shape() const { return state_->shape; }
DType Variable::dtype() const { return state_->dtype; }
int Variable::rank() const { return shape().rank(); }
std::int64_t Variable::size() const { return shape().elements(); }
const std::string& Variable::name() const noexcept { return state_->name; }
bool Variable::trainable() const noexcept { return state_->trainable; }
std::uint64_t Variable::id() const noexcept { return state_->id; }

FrozenReads::FrozenReads(std::span<const Variable> variables, std::span<const Tensor> values)
    : below_(detail::thread_state().frozen) {
  values_.reserve(variables.size());
  for (std::size_t i = 0; i < variables.size(); ++i) values_.emplace_back(variables[i].id(), values[i]);
  std::stable_sort(values_.begin(), values_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  detail::this_thread.state->frozen = this;
}
FrozenReads::~FrozenReads() { detail::this_thread.state->frozen = below_; }
Tensor* FrozenReads::find(const Variable& variable) noexcept {
  for (FrozenReads* f = detail::this_thread.state->frozen; f; f = f->below_) {
    const auto at = std::lower_bound(f->values_.begin(), f->values_.end(), variable.id(),
                                     [](const auto& entry, std::uint64_t id) { return entry.first < id; });
    if (at != f->values_.end() && at->first == variable.id()) return &at->second;
  }
  return nullptr;
}

Tensor Variable::read() const {
  if (detail::this_thread.state->frozen) [[unlikely]]
    if (Tensor* value = FrozenReads::find(*this)) {
      if (tape::active()) VariableAccess::on_read(*this, *value);
      return *value;
    }
  const Lock lock(state_->locked);
  if (tape::active()) VariableAccess::on_read(*this, state_->value);
  return state_->value;
}

namespace {
// A Capture that hides a tape which would follow this read: the value gets an id that stands for the read alone.
void note_captured(const Variable& v, Tensor& value) {
  tape::Capture* c = tape::Capture::innermost();
  if (!c) return;
  if (!is_differentiable(value.dtype()) || !c->would_follow(v)) return c->note_constant(v, value);
  if (!detail::held_once(detail::block(value))) value = detail::alias(value);
  c->note(v, detail::block(value)->id);
  if (c->watcher()) watch(*c->watcher(), v, value.dtype(), value.shape());
}
}  // namespace

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
  // Someone may hold this id from before the tape: it stays theirs, unwatched.
  if (!detail::held_once(detail::block(value))) value = detail::alias(value);
  for (tape::Tape* t = tape::top(); t; t = t->below)
    if (follows(*t)) {
      t->by_id.reserve(1);
      t->by_id.set(detail::block(value)->id, t->by_id.find(v.id()));
    }
}

void VariableAccess::update(const Variable& v, const char* op, Tensor (*combine)(Tensor&&, const Tensor&),
                            const Tensor& delta) {
  check_defined(delta, op, v.name());
  check_runs_once(op, v);
  const tape::Suspend suspend;
  const Lock lock(v.state_->locked);
  check_fits(op, v.name(), v.state_->value, delta);
  v.state_->value = combine(std::move(v.state_->value), delta);
}

void VariableAccess::modify(const Variable& v, const char* op, void (*change)(void* context, Tensor& value),
                            void* context) {
  check_runs_once(op, v);
  std::optional<tape::Suspend> suspend;  // costs as much as all else here, so only where a tape is active
  if (tape::active()) suspend.emplace();
  const Lock lock(v.state_->locked);
  change(context, v.state_->value);
}

void Variable::assign(const Tensor& value, const char* file, int line) const {
  const Operand caller(0, file, line);
  const tape::OpScope scope(caller);
  check_defined(value, "Variable.assign", state_->name);
  check_runs_once("Variable.assign", *this);
  Tensor fresh = detail::alias(value);
  const Lock lock(state_->locked);
  check_fits("Variable.assign", state_->name, state_->value, value);
  std::swap(state_->value, fresh);
}

std::string to_string(const Variable& v) { return "Variable '" + v.name() + "' " + to_string(v.read()); }
std::ostream& operator<<(std::ostream& out, const Variable& v) { return out << to_string(v); }

}  // namespace reel
