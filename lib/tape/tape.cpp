// The stack of tapes of a thread; creation, clearing and destruction of tapes.
#include "tape/tape.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/fail.hpp"
#include "tape/observe/timeline.hpp"

namespace reel::tape {

namespace {

// How much memory a cleared tape keeps for reuse.
constexpr std::size_t most_kept_slots = std::size_t{1} << 20, most_kept_metas = 256;
using detail::this_thread;
using detail::thread_state;
using detail::ThreadState;

std::uint64_t hash_of(DType dtype, const std::int64_t* extents, int rank) noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(dtype) * 131 + static_cast<std::uint64_t>(rank) + 1;
  for (int i = 0; i < rank; ++i) h = (h ^ static_cast<std::uint64_t>(extents[i])) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

bool same(const Meta& m, std::uint64_t hash, DType dtype, const std::int64_t* extents, int rank) noexcept {
  return m.hash == hash && m.dtype == dtype && m.rank == rank && std::equal(extents, extents + rank, m.extents);
}

}  // namespace

bool reap(Tape* t) noexcept {
  if (t->status.load(std::memory_order_acquire) != Tape::Status::abandoned || t->replaying) return false;
  pop(t);
  delete t;
  return true;
}

namespace {
// Replaces `old` (or null) at the end of the stack by `last`.
void set_end(Tape*& head, const Tape* old, Tape* last) noexcept {
  Tape** at = &head;
  while (*at && *at != old) at = &(*at)->below;
  *at = last;
}

// Whether ops that no tape follows may run as without an observer. A trace has to see every op.
bool may_hide_observer() noexcept { return !(watching() & watch_program); }
}  // namespace

Suspend::Suspend() {
  ThreadState& state = thread_state();
  top_ = std::exchange(top(), in_rule() && may_hide_observer() ? nullptr : state.observer);
  below_ = std::exchange(state.suspended, this);
}
Suspend::~Suspend() {
  // Tapes that were entered meanwhile and are still active stay, above the restored ones.
  set_end(top(), this_thread.state->observer, top_);
  this_thread.state->suspended = below_;
}

void lay_observer() {
  ThreadState& state = thread_state();
  if (state.observer) return;
  auto* observer = new Tape;
  observer->kind = Tape::Kind::observer;
  observer->paused = 1;
  state.observer = observer;
  set_end(top(), nullptr, observer);
  for (Suspend* h = state.suspended; h; h = h->below_) set_end(h->top_, nullptr, observer);
}

void lift_observer() noexcept {
  ThreadState& state = *this_thread.state;
  if (!state.observer) return;
  set_end(top(), state.observer, nullptr);
  for (Suspend* h = state.suspended; h; h = h->below_) set_end(h->top_, state.observer, nullptr);
  delete std::exchange(state.observer, nullptr);
}

// If only the observer is on the stack, a rule runs fused, as without an observer, unless it is traced.
void RuleScope::enter_watched(const Tape& t, const Entry& e) {
  enter(frame_, t.site_of(e), true);
  if (watching() & watch_times && e.outputs) open_rule(&frame_, t.slots[e.output(0)].id);
  if (may_hide_observer() && top() == this_thread.state->observer) top() = nullptr;
}
void RuleScope::leave_watched() {
  if (watching() & watch_times) close_rule(&frame_);
  leave(frame_);
  Tape* observer = this_thread.state->observer;
  if (observer && !in_rule()) set_end(top(), observer, observer);
}

const Meta* Tape::look_up(DType dtype, const std::int64_t* extents, int rank) {
  const std::uint64_t hash = hash_of(dtype, extents, rank);
  if (!metas.empty())
    for (std::size_t i = hash & (metas.size() - 1); metas[i]; i = (i + 1) & (metas.size() - 1))
      if (same(*metas[i], hash, dtype, extents, rank)) return metas[i];
  if ((meta_count + 1) * 2 > metas.size()) {
    std::vector<Meta*> grown(std::max<std::size_t>(16, 2 * metas.size()));
    for (Meta* m : metas)
      if (m) {
        std::size_t i = m->hash & (grown.size() - 1);
        while (grown[i]) i = (i + 1) & (grown.size() - 1);
        grown[i] = m;
      }
    metas.swap(grown);
  }
  auto* m = static_cast<Meta*>(std::malloc(sizeof(Meta) + 8 * static_cast<std::size_t>(rank)));
  if (!m) throw std::bad_alloc();
  m->hash = hash;
  m->dtype = dtype;
  m->rank = static_cast<std::uint8_t>(rank);
  std::copy(extents, extents + rank, m->extents);
  std::size_t i = hash & (metas.size() - 1);
  while (metas[i]) i = (i + 1) & (metas.size() - 1);
  metas[i] = m;
  ++meta_count;
  return m;
}

std::uint32_t Tape::add_source(std::uint64_t id, DType dtype, const Shape& shape, bool variable) {
  by_id.reserve(1);
  const Meta* meta = intern(dtype, shape.data(), shape.rank());
  slots.reserve(slots.size() + 1);
  const auto slot = static_cast<std::uint32_t>(slots.size());
  slots.add() = {.id = id, .meta = meta, .source = true, .root = true, .variable = variable};
  ++roots;
  by_id.set(id, slot);
  return slot;
}

namespace {
// Destroying a value may clear the tape again: the entries are detached by then, and are not written to.
void clear_entries(Tape& t) noexcept {
  t.references.give_back();
  Arena gone;
  gone.swap(t.entries);
  DeferredRelease released;
  gone.for_each([&](Entry& e) {
    for (std::uint32_t i = 0; i < e.saved; ++i)
      if (detail::Block* b = detail::block(e.values()[i])) released.drop(b, i);
    if (e.attributes) [[unlikely]]
      release_attributes(e);
  });
  released.flush();
  gone.clear(true);
  t.entries.swap(gone);
  t.slots.clear();
  if (t.slots.capacity() > most_kept_slots) t.slots.drop();
  t.free_slots.clear();
  t.by_id.clear();
}
}  // namespace

void Tape::clear() noexcept {
  if (slots.size() != 0) clear_entries(*this);  // each entry has a slot
  roots = 0;
  variables.clear();
  unrecorded.clear();
  sites.clear();
  borrowed.clear();
  tangents.clear();
  if (meta_count > most_kept_metas) drop_metas();  // otherwise the next use of the tape finds its shapes here
  replay_entries = seen = 0;
  deferring = 0;
  ++generation;
  sweep_at = first_sweep;
  used = warned_growth = false;
}

void Tape::drop_metas() noexcept {
  for (Meta* m : metas) std::free(m);
  metas.clear();
  meta_count = 0;
  last_meta = nullptr;
}

void release_attributes(Entry& e) noexcept {
  // Once: what the attributes own may include the rule.
  if (const std::uint32_t count = std::exchange(e.attributes, 0); count && e.rule->release)
    e.rule->release({e.numbers(), count});
}

Tape* make_tape(const TapeOptions& options, Tape::Kind kind) {
  static std::atomic<std::uint32_t> serials{0};
  ThreadState& state = thread_state();
  Tape* t = state.spare_tape_count ? state.spare_tapes[--state.spare_tape_count] : new Tape;
  t->options = options;
  t->kind = kind;
  t->traced = state.tracer != nullptr;
  t->capture = nullptr;
  t->over_tangents = false;
  // 0 means no tape. A serial recurs after 2^32 tapes: marks are checked against the slot's id.
  while ((t->serial = ++serials) == 0) {
  }
  t->thread = detail::this_thread_slot();
  t->paused = t->hidden = t->replaying = 0;
  t->sweep_at = first_sweep;
  return t;
}

void free_tape(Tape* t) noexcept {
  if (t->status.load(std::memory_order_acquire) == Tape::Status::on_stack) {
    if (t->thread != detail::this_thread_slot()) {
      Tape::Status expected = Tape::Status::on_stack;
      if (t->status.compare_exchange_strong(expected, Tape::Status::abandoned)) return;
    } else {
      pop(t);
    }
  }
  if ((t->orphan = t->replaying > 0)) return;
  t->clear();  // may free tapes in turn: an entry's attributes can own one
  ThreadState& state = *this_thread.state;
  if (state.spare_tape_count < (&state == &detail::blank_state ? 0 : ThreadState::most_spare_tapes))
    state.spare_tapes[state.spare_tape_count++] = t;
  else
    delete t;
}

void push(Tape* t) {
  t->below = top();
  t->status.store(Tape::Status::on_stack, std::memory_order_release);
  top() = t;
}

void pop(Tape* t) noexcept {
  const auto take_off = [t](Tape*& head) {
    for (Tape** at = &head; *at; at = &(*at)->below)
      if (*at == t) {
        *at = t->below;
        return true;
      }
    return false;
  };
  if (!take_off(top()))
    for (Suspend* h = this_thread.state->suspended; h && !take_off(h->top_); h = h->below_) {
    }
  t->below = nullptr;
  t->hidden = 0;
  if (t->deferring > 0) drop_deferred(*t);
  Tape::Status expected = Tape::Status::on_stack;
  t->status.compare_exchange_strong(expected, Tape::Status::off);
}

void check_thread(const Tape& t, const char* what) {
  if (t.thread != detail::this_thread_slot())
    fail<TapeError>(what, "this tape belongs to another thread; a tape is used on the thread that made it");
  const bool tracing = detail::this_thread.state->tracer != nullptr;
  if (t.traced && !tracing)
    fail<TraceError>(what, "this tape was made in a function that was traced; use it in that function");
  if (!t.traced && tracing)
    fail<TraceError>(what, "this tape was made outside the function that is traced; make one inside");
}

void watch(Tape& t, const Tensor& x) {
  if (!x.defined()) fail<ValueError>("GradientTape.watch", "the tensor is empty (default-constructed or moved from)");
  const detail::Block* b = detail::block(x);
  if (!is_differentiable(b->dtype)) {
    const std::string_view dtype = name(b->dtype);  // fmt keeps a reference
    detail::warn_some_times(detail::message("GradientTape.watch",
                                            "the dtype of the watched tensor must be floating or complex, got {}",
                                            fmt::make_format_args(dtype)));
  }
  if (const std::uint32_t slot = t.find(b); slot != no_slot) {
    t.slots[slot].source = true;
    return;
  }
  t.add_source(b->id, b->dtype, b->shape());
}

void watch(Tape& t, const Variable& v, DType dtype, const Shape& shape) {
  if (t.by_id.find(v.id()) != no_slot) return;
  if (t.variables.size() == t.variables.capacity()) t.variables.reserve(2 * t.variables.size() + 8);
  const std::uint32_t slot = t.add_source(v.id(), dtype, shape, true);
  t.variables.emplace_back(v, slot);
}
void watch(Tape& t, const Variable& v) { watch(t, v, v.dtype(), v.shape()); }

// A followed result is gone: it can no longer be a target.
namespace {
void note_destroyed_on(Tape* stack, const detail::Block* b) noexcept {
  for (Tape* t = stack; t; t = t->below)
    if (const std::uint32_t slot = t->find(b); slot != no_slot && t->slots[slot].id == b->id) {
      if (t->kind == Tape::Kind::forward && !t->deferring)
        drop_tangent(*t, slot);
      else
        t->slots[slot].dead = true;
    }
}
}  // namespace

[[gnu::noinline]] void note_destroyed(const detail::Block* b) noexcept {
  note_destroyed_on(top(), b);
  for (const Suspend* h = this_thread.state->suspended; h; h = h->below_) [[unlikely]] note_destroyed_on(h->top_, b);
}

namespace {
// Usually there is one tape, and it made the first mark.
void note_marked_destroyed(const detail::Block* b) noexcept {
  Tape* t = top();
  const detail::Mark m = b->marks[0];
  if (t && !t->below && !this_thread.state->suspended && t->kind == Tape::Kind::reverse && m.tape == t->serial &&
      m.slot < t->slots.size()) [[likely]]
    if (Slot& slot = t->slots[m.slot]; slot.id == b->id) {
      slot.dead = true;
      return;
    }
  note_destroyed(b);
}

void end_thread(ThreadState& state) noexcept {
  while (state.spare_tape_count) delete state.spare_tapes[--state.spare_tape_count];
  // The thread ends with tapes on its stack: they are owned elsewhere, or their owner has abandoned them.
  for (Tape* t = top(); t;) {
    Tape* below = t->below;
    if (t->status.exchange(Tape::Status::off) == Tape::Status::abandoned) delete t;
    t = below;
  }
  top() = nullptr;
  state.watching = 0;
  delete std::exchange(state.observer, nullptr);
}

[[maybe_unused]] const bool installed =
    (detail::on_marked_destroyed = note_marked_destroyed, detail::end_tapes = end_thread, true);
}  // namespace

}  // namespace reel::tape
