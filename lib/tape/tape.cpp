// The stack of tapes of a thread, and recording.
#include "tape/tape.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "core/fail.hpp"
#include "tape/capture.hpp"

namespace reel::tape {

constinit thread_local Tape* top = nullptr;

namespace {

constexpr std::size_t most_taints = 1024;
// What a cleared tape keeps for its next use.
constexpr std::size_t most_kept_slots = std::size_t{1} << 20, most_kept_metas = 256;
// Stacks hidden by a Suspend, the newest first, so that a tape can be taken off wherever it is.
constinit thread_local Suspend* hidden = nullptr;
// Below all stacks while something looks on: records nothing, but makes active() true.
constinit thread_local Tape* observer = nullptr;

// A few cleared tapes, so that a step of training allocates none.
struct Cache {
  static constexpr int most = 4;
  Tape* tapes[most] = {};
  int count = 0;
  bool* gone = nullptr;
  ~Cache() {
    *gone = true;
    while (count) delete tapes[--count];
    // The thread ends with tapes on its stack: they live on elsewhere, or their owner has given them up.
    for (Tape* t = top; t;) {
      Tape* below = t->below;
      if (t->place.exchange(Tape::Place::off) == Tape::Place::abandoned) delete t;
      t = below;
    }
    top = nullptr;
    watching = 0;
    delete std::exchange(observer, nullptr);
  }
};
constinit thread_local bool cache_gone = false;
Cache& cache() {
  thread_local Cache c;
  c.gone = &cache_gone;
  return c;
}

std::uint64_t hash_of(DType dtype, const std::int64_t* extents, int rank) noexcept {
  std::uint64_t h = static_cast<std::uint64_t>(dtype) * 131 + static_cast<std::uint64_t>(rank) + 1;
  for (int i = 0; i < rank; ++i) h = (h ^ static_cast<std::uint64_t>(extents[i])) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

bool same(const Meta& m, std::uint64_t hash, DType dtype, const std::int64_t* extents, int rank) noexcept {
  return m.hash == hash && m.dtype == dtype && m.rank == rank && std::equal(extents, extents + rank, m.extents);
}

// Frees the tapes that another thread gave up; true if `t` was one.
bool reap(Tape* t) noexcept {
  if (t->place.load(std::memory_order_acquire) != Tape::Place::abandoned || t->replaying) return false;
  pop(t);
  delete t;
  return true;
}

void note_taint(Tape& t, const Tensor& output, Taint taint) noexcept {
  if (t.taints.size() >= most_taints) return;
  try {
    t.taints.emplace(detail::block(output)->id, taint);
  } catch (const std::bad_alloc&) {  // a reason less, nothing else
  }
}

// What keeps the inputs from making `output` followed: a cut now, or one further back.
void propagate(Tape& t, std::span<const Tensor* const> inputs, const Tensor& output) noexcept {
  if (t.taints.empty()) return;
  for (const Tensor* x : inputs)
    if (auto found = t.taints.find(detail::block(*x)->id); found != t.taints.end()) {
      note_taint(t, output, found->second);
      return;
    }
}

void mark(Tape& t, detail::Block* output, std::uint32_t slot) noexcept {
  for (detail::Mark& m : output->marks)
    if (m.tape == 0) {
      m = {t.serial, slot};
      return;
    }
  t.by_id.set(output->id, slot);
}

// Of an op with one output and without attributes the compiler knows as much.
template <std::size_t Outputs = std::dynamic_extent, std::size_t Attributes = std::dynamic_extent>
struct CallOf {
  // Whether one tape alone records it, and its output was made by the library just now: nobody else has it yet.
  static constexpr bool fresh = Outputs == 1;
  const Rule& rule;
  std::span<const Tensor* const> inputs;
  std::span<const Tensor* const, Outputs> outputs;
  std::span<const Tensor* const> saved;
  std::span<const std::int64_t, Attributes> attributes;
  const Site* site = nullptr;  // where it was called, null while nothing looks on
};
using Call = CallOf<>;

// The slots of an op's inputs on one tape.
class Inputs {
 public:
  static constexpr std::size_t most = 4;  // of more inputs only whether any is followed
  /// Whether any is followed.
  bool find(const Tape& t, std::span<const Tensor* const> inputs) noexcept {
    bool any = false;
    std::uint32_t* at = slots_;
    for (const Tensor* x : inputs) {
      const std::uint32_t slot = slot_of(t, *x);
      any |= slot != no_slot;
      if (at != slots_ + most) *at++ = slot;
    }
    return any;
  }
  static std::uint32_t slot_of(const Tape& t, const Tensor& x) noexcept {
    const detail::Block* b = detail::block(x);
    return is_differentiable(b->dtype) ? t.find(b) : no_slot;
  }
  std::uint32_t operator[](std::size_t i) const noexcept { return slots_[i]; }
  std::uint32_t* write(const Tape& t, std::span<const Tensor* const> inputs, std::uint32_t* to) const noexcept {
    if (inputs.size() <= most)
      for (std::size_t i = 0; i < inputs.size(); ++i) *to++ = slots_[i];
    else
      for (const Tensor* x : inputs) *to++ = slot_of(t, *x);
    return to;
  }

 private:
  std::uint32_t slots_[most];
};

bool follows_any(const Tape& t, std::span<const Tensor* const> inputs) noexcept { return Inputs().find(t, inputs); }

[[gnu::cold, gnu::noinline]] void prepare_site(Tape& t, const Site& site, std::span<const Tensor* const> saved) {
  t.sites.add(site);
  if (watching & watch_anomalies) note_borrowed(t, saved);
}

[[gnu::cold, gnu::noinline]] void sweep_before(Tape& t, std::span<const Tensor* const> inputs, Inputs& found) {
  sweep(t);
  found.find(t, inputs);
}

// All that can throw.
template <class C>
[[gnu::always_inline]] inline void prepare(Tape& t, const C& c, Inputs& inputs) {
  if (t.entries.count() >= t.sweep_at && !t.replaying) [[unlikely]]
    sweep_before(t, c.inputs, inputs);
  if (c.site) [[unlikely]]
    prepare_site(t, *c.site, c.saved);
  if (t.slots.size() + c.outputs.size() >= no_slot) [[unlikely]]
    fail<TapeError>(c.rule.name, "a tape follows at most 2^32 - 2 tensors");
  t.entries.reserve(Entry::size_of(c.inputs.size(), c.outputs.size(), c.saved.size(), c.attributes.size()));
  if (t.slots.capacity() < t.slots.size() + c.outputs.size()) [[unlikely]]
    t.slots.reserve(std::max<std::size_t>(64, 2 * t.slots.size() + c.outputs.size()));
  if (t.kind == Tape::Kind::forward) [[unlikely]]
    reserve_tangents(t, c.outputs.size());
  t.by_id.reserve(c.outputs.size());  // for outputs whose marks older tapes have taken
  for (const Tensor* y : c.outputs) {
    const detail::Block* b = detail::block(*y);
    t.intern(b->dtype, b->extents(), b->rank);
  }
}

[[gnu::cold, gnu::noinline]] void set_site(Tape& t, const Entry& e, const Site& site) noexcept {
  const std::uint32_t number = t.sites.find(site);
  for (std::uint32_t k = 0; k < e.outputs; ++k) t.slots[e.output(k)].site = number;
}

template <class C>
[[gnu::always_inline]] inline void publish(Tape& t, const C& c, const Inputs& inputs) noexcept {
  Entry* e = t.entries.add(Entry::size_of(c.inputs.size(), c.outputs.size(), c.saved.size(), c.attributes.size()));
  e->rule = &c.rule;
  e->inputs = static_cast<std::uint32_t>(c.inputs.size());
  e->outputs = static_cast<std::uint32_t>(c.outputs.size());
  e->saved = static_cast<std::uint32_t>(c.saved.size());
  e->attributes = static_cast<std::uint32_t>(c.attributes.size());
  std::uint32_t* slots = inputs.write(t, c.inputs, e->slots());
  for (const Tensor* y : c.outputs) {
    detail::Block* b = detail::block(*y);
    std::uint32_t at;
    if (t.free_slots.empty()) [[likely]] {
      at = static_cast<std::uint32_t>(t.slots.size());
      t.slots.add();
    } else {
      at = t.free_slots.back();
      t.free_slots.pop_back();
    }
    Slot& slot = t.slots[at];
    slot.id = b->id;
    slot.meta = c.outputs.size() == 1 ? t.last_meta : t.intern(b->dtype, b->extents(), b->rank);
    slot.dead = slot.source = slot.root = false;
    slot.site = 0;
    *slots++ = at;
    mark(t, b, at);
  }
  Tensor* values = e->values();
  for (std::size_t i = 0; i < c.saved.size(); ++i) {
    detail::Block* b = c.saved[i] ? detail::block(*c.saved[i]) : nullptr;
    if (!b) {
    } else if (C::fresh && c.saved[i] == c.outputs[0]) {
      detail::retain_fresh(b);
    } else if (C::fresh) {
      t.stock.take(b, i);
    } else {
      detail::retain_saved(b);
    }
    new (values++) Tensor(TensorAccess::adopt(b));
  }
  if (!c.attributes.empty()) {
    std::copy(c.attributes.begin(), c.attributes.end(), e->numbers());
    if (c.rule.retain) c.rule.retain(c.attributes);
  }
  if (c.site) [[unlikely]]
    set_site(t, *e, *c.site);
  ++t.seen;
}

// With tapes inside one another, accumulators, captures, or something that looks on.
[[gnu::noinline]] void record_on_all(Call call) {
  Site site;
  if (watching) [[unlikely]] {
    observe(call.rule.name, call.inputs, call.outputs);
    site = here();
    call.site = &site;
  }
  constexpr int most_marked = 16;
  Tape* wants[most_marked];
  Inputs inputs[most_marked];
  int count = 0;
  if (Capture* c = Capture::innermost()) [[unlikely]]
    c->note(call.inputs);
  for (Tape *t = top, *below = nullptr; t; t = below) {
    below = t->below;
    if (reap(t)) continue;
    Inputs found;
    if (!found.find(*t, call.inputs)) {
      for (const Tensor* y : call.outputs) propagate(*t, call.inputs, *y);
    } else if (!t->recording()) {
      if (t->kind == Tape::Kind::forward || t->hidden) continue;
      for (const Tensor* y : call.outputs) note_taint(*t, *y, {Cut::paused, call.rule.name, t->seen, here()});
    } else {
      if (count == most_marked)
        fail<TapeError>(call.rule.name, "more than {} nested tapes record at once", most_marked);
      prepare(*t, call, found);
      inputs[count] = found;
      wants[count++] = t;
    }
  }
  bool forward = false;
  for (int i = 0; i < count; ++i) {
    if (wants[i]->kind == Tape::Kind::reverse)
      publish(*wants[i], call, inputs[i]);
    else
      forward = true;
  }
  if (forward) [[unlikely]]
    for (int i = count; i-- > 0;)  // the outermost first
      if (wants[i]->kind == Tape::Kind::forward) {
        publish(*wants[i], call, inputs[i]);
        advance(*wants[i]);
      }
  if (call.site && count && watching & watch_lines) [[unlikely]]
    trace_recorded(call.rule.name, call.inputs, call.outputs);
}

}  // namespace

Tape* innermost() noexcept {
  for (Tape* t = top; t; t = t->below)
    if (t->kind == Tape::Kind::reverse) return t;
  return nullptr;
}

bool followed(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  if (!is_differentiable(b->dtype)) return false;
  for (Tape* t = top; t; t = t->below)
    if (t->kind == Tape::Kind::capture ? t->capture->hides(b) : t->recording() && t->find(b) != no_slot) return true;
  return false;
}

bool cut_off(const Tensor& x) noexcept {
  for (const Tape* t = top; t; t = t->below)
    if (!t->taints.empty() && t->taints.contains(detail::block(x)->id)) return true;
  return false;
}

namespace {
// The common case: one tape on the stack, which records, and nothing looks on.
inline bool alone(const Tape* t) noexcept {
  return t && !t->below && t->kind == Tape::Kind::reverse && t->recording() && !watching && !newest_capture &&
         t->place.load(std::memory_order_acquire) == Tape::Place::on_stack;
}
}  // namespace

void record(const Rule& rule, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs,
            std::span<const Tensor* const> saved, std::span<const std::int64_t> attributes) {
  const Call call{rule, inputs, outputs, saved, attributes};
  Tape* t = top;
  if (!alone(t)) return record_on_all(call);
  Inputs found;
  if (!found.find(*t, inputs)) {
    for (const Tensor* y : outputs) propagate(*t, inputs, *y);
    return;
  }
  prepare(*t, call, found);
  publish(*t, call, found);
}

void record(const Rule& rule, std::span<const Tensor* const> inputs, const Tensor& output, const Reads& reads) {
  const Tensor* const out[] = {&output};
  Tape* t = top;
  const bool is_alone = alone(t);
  Inputs found;
  if (is_alone && !found.find(*t, inputs)) return propagate(*t, inputs, output);
  unsigned read = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_alone ? found[i] != no_slot : followed(*inputs[i])) read |= reads[i];
  const Tensor* saved[most_read];
  std::size_t count = 0;
  for (; read; read >>= 1, ++count)
    saved[count] = !(read & 1) ? nullptr : count == most_read - 1 ? &output : inputs[count];
  if (!is_alone) return record_on_all({rule, inputs, out, {saved, count}, {}});
  const CallOf<1, 0> call{rule, inputs, out, {saved, count}, {}};
  prepare(*t, call, found);
  publish(*t, call, found);
}

void note_cut(const char* name, std::span<const Tensor* const> inputs, const Tensor& output, Cut why) noexcept {
  if (watching) [[unlikely]] {
    const Tensor* const out[] = {&output};
    observe_time(name, inputs, out);
  }
  for (Tape* t = top; t; t = t->below) {
    if (t->hidden) continue;
    if (follows_any(*t, inputs))
      note_taint(*t, output, {t->recording() ? why : Cut::paused, name, t->seen, here()});
    else
      propagate(*t, inputs, output);
  }
}

namespace {
// Puts `last` in place of `old` (or of null) at the end of the stack.
void set_end(Tape*& head, const Tape* old, Tape* last) noexcept {
  Tape** at = &head;
  while (*at && *at != old) at = &(*at)->below;
  *at = last;
}
}  // namespace

Suspend::Suspend() noexcept
    : top_(std::exchange(top, observer && !in_rule() ? observer : nullptr)), below_(std::exchange(hidden, this)) {}
Suspend::~Suspend() {
  // Tapes that were entered meanwhile and are still active go on, above the others.
  set_end(top, observer, top_);
  hidden = below_;
}

void lay_observer() {
  if (observer || cache_gone) return;
  static_cast<void>(cache());  // frees it when the thread ends
  observer = new Tape;
  observer->kind = Tape::Kind::observer;
  observer->paused = 1;
  set_end(top, nullptr, observer);
  for (Suspend* h = hidden; h; h = h->below_) set_end(h->top_, nullptr, observer);
}

void lift_observer() noexcept {
  if (!observer) return;
  set_end(top, observer, nullptr);
  for (Suspend* h = hidden; h; h = h->below_) set_end(h->top_, observer, nullptr);
  delete std::exchange(observer, nullptr);
}

// With no tape but the observer on the stack a rule runs fused, as it does when nothing looks on.
void RuleScope::enter_watched(const Tape& t, const Entry& e) {
  enter(frame_, t.site_of(e), true);
  if (top == observer) top = nullptr;
}
void RuleScope::leave_watched() {
  leave(frame_);
  if (observer && !in_rule()) set_end(top, observer, observer);
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

std::uint32_t Tape::add_source(std::uint64_t id, DType dtype, const Shape& shape) {
  by_id.reserve(1);
  const Meta* meta = intern(dtype, shape.data(), shape.rank());
  if (slots.size() == slots.capacity()) slots.reserve(std::max<std::size_t>(64, 2 * slots.size()));
  const auto slot = static_cast<std::uint32_t>(slots.size());
  slots.add() = {.id = id, .meta = meta, .source = true, .root = true};
  ++roots;
  by_id.set(id, slot);
  return slot;
}

void Tape::clear() noexcept {
  stock.give_back();
  entries.for_each([](Entry& e) { release(e); });
  entries.clear(true);
  slots.clear();
  roots = 0;
  if (slots.capacity() > most_kept_slots) slots.drop();
  free_slots.clear();
  by_id.clear();
  variables.clear();
  taints.clear();
  sites.clear();
  borrowed.clear();
  tangents.clear();
  if (meta_count > most_kept_metas) drop_metas();  // else the next use of the tape finds its shapes here
  replay_entries = seen = 0;
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
  // Once: the rule may go with what the attributes own.
  if (const std::uint32_t count = std::exchange(e.attributes, 0); count && e.rule->release)
    e.rule->release({e.numbers(), count});
}

Tape* make_tape(const TapeOptions& options, Tape::Kind kind) {
  static std::atomic<std::uint32_t> serials{0};
  Tape* t = !cache_gone && cache().count ? cache().tapes[--cache().count] : new Tape;
  t->options = options;
  t->kind = kind;
  t->capture = nullptr;
  // 0 stands for no tape. A serial may come again after 2^32 tapes: a mark is checked against the slot's id.
  while ((t->serial = ++serials) == 0) {
  }
  t->thread = detail::this_thread_slot();
  t->paused = t->hidden = t->replaying = 0;
  t->sweep_at = first_sweep;
  return t;
}

void free_tape(Tape* t) noexcept {
  if (t->place.load(std::memory_order_acquire) == Tape::Place::on_stack) {
    if (t->thread != detail::this_thread_slot()) {
      Tape::Place expected = Tape::Place::on_stack;
      if (t->place.compare_exchange_strong(expected, Tape::Place::abandoned)) return;
    } else {
      pop(t);
    }
  }
  if ((t->orphan = t->replaying > 0)) return;
  if (cache_gone) {
    delete t;
    return;
  }
  t->clear();  // may free tapes in its turn: what an entry owns can hold one
  Cache& c = cache();
  if (c.count == Cache::most)
    delete t;
  else
    c.tapes[c.count++] = t;
}

void push(Tape* t) {
  t->below = top;
  t->place = Tape::Place::on_stack;
  top = t;
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
  if (!take_off(top))
    for (Suspend* h = hidden; h && !take_off(h->top_); h = h->below_) {
    }
  t->below = nullptr;
  t->hidden = 0;
  Tape::Place expected = Tape::Place::on_stack;
  t->place.compare_exchange_strong(expected, Tape::Place::off);
}

void check_thread(const Tape& t, const char* what) {
  if (t.thread != detail::this_thread_slot())
    fail<TapeError>(what, "this tape belongs to another thread; a tape is used on the thread that made it");
}

void watch(Tape& t, const Tensor& x) {
  if (!x.defined()) fail<ValueError>("GradientTape.watch", "the tensor is empty (default-constructed or moved from)");
  const detail::Block* b = detail::block(x);
  if (!is_differentiable(b->dtype))
    detail::warn_some_times(detail::message("GradientTape.watch",
                                            "the dtype of the watched tensor must be floating or complex, got {}",
                                            fmt::make_format_args(name(b->dtype))));
  if (const std::uint32_t slot = t.find(b); slot != no_slot) {
    t.slots[slot].source = true;
    return;
  }
  t.add_source(b->id, b->dtype, b->shape());
}

void watch(Tape& t, const Variable& v, DType dtype, const Shape& shape) {
  if (t.by_id.find(v.id()) != no_slot) return;
  t.variables.reserve(t.variables.size() + 1);
  const std::uint32_t slot = t.add_source(v.id(), dtype, shape);
  t.variables.emplace_back(v, slot);
}
void watch(Tape& t, const Variable& v) { watch(t, v, v.dtype(), v.shape()); }

// A followed result is gone: nobody can name it as a target any more.
namespace {
inline void note_destroyed_on(Tape* stack, const detail::Block* b) noexcept {
  for (Tape* t = stack; t; t = t->below)
    if (const std::uint32_t slot = t->find(b); slot != no_slot && t->slots[slot].id == b->id) {
      if (t->kind == Tape::Kind::forward)
        drop_tangent(*t, slot);
      else
        t->slots[slot].dead = true;
    }
}
}  // namespace

void note_destroyed(const detail::Block* b) noexcept {
  note_destroyed_on(top, b);
  for (const Suspend* h = hidden; h; h = h->below_) [[unlikely]] note_destroyed_on(h->top_, b);
}

namespace {
[[maybe_unused]] const bool installed = (detail::on_marked_destroyed = note_destroyed, true);
}  // namespace

std::size_t Record::num_inputs() const noexcept { return entry_.inputs; }
std::size_t Record::num_outputs() const noexcept { return entry_.outputs; }
Shape Record::shape(std::size_t i) const { return tape_.slots[entry_.input(i)].meta->shape(); }
DType Record::dtype(std::size_t i) const { return tape_.slots[entry_.input(i)].meta->dtype; }
Shape Record::output_shape(std::size_t k) const { return tape_.slots[entry_.output(k)].meta->shape(); }
DType Record::output_dtype(std::size_t k) const { return tape_.slots[entry_.output(k)].meta->dtype; }
const char* Record::name() const noexcept { return entry_.rule->name; }
Site Record::site() const noexcept { return tape_.site_of(entry_); }
std::span<const std::int64_t> Record::attributes() const noexcept { return {entry_.numbers(), entry_.attributes}; }
void Record::not_saved(std::size_t k) const {
  fail<ValueError>(name(), "its rule reads value {}, which the tape did not keep", k);
}

}  // namespace reel::tape
