// Recording: an op's entry on each tape that follows one of its inputs, and the reasons why results are not followed.
#include <algorithm>
#include <bit>

#include "core/fail.hpp"
#include "tape/capture.hpp"
#include "tape/tape.hpp"

namespace reel::tape {

[[gnu::cold, gnu::noinline]] void reserve_slots(Tape& t, const char* op, std::size_t more) {
  const std::size_t needed = t.slots.size() + more;
  if (needed >= no_slot) fail<TapeError>(op, "a tape follows at most 2^32 - 2 tensors");
  t.slots.reserve(needed);
}

namespace {

constexpr std::size_t most_unrecorded = 1024;  // reasons that a tape notes

void note_reason(Tape& t, const Tensor& output, UnrecordedReason reason) noexcept {
  if (t.unrecorded.size() >= most_unrecorded) return;
  try {
    t.unrecorded.emplace(detail::block(output)->id, reason);
  } catch (const std::bad_alloc&) {  // the reason is lost, nothing else
  }
}

// Why the inputs do not make `output` followed: a reason noted now, or inherited from an input.
void propagate(Tape& t, std::span<const Tensor* const> inputs, const Tensor& output) noexcept {
  if (t.unrecorded.empty()) return;
  for (const Tensor* x : inputs)
    if (auto found = t.unrecorded.find(detail::block(*x)->id); found != t.unrecorded.end()) {
      note_reason(t, output, found->second);
      return;
    }
}

// Calls f(0), f(1), ... f(count - 1); unrolled if the compiler knows the count.
template <std::size_t Count, class F>
[[gnu::always_inline]] inline void each(F f, std::size_t count = Count) {
  if constexpr (Count == std::dynamic_extent)
    for (std::size_t i = 0; i < count; ++i) f(i);
  else
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(I), ...); }
  (std::make_index_sequence<Count>());
}

// A call to be recorded.
struct Call {
  // The number of inputs, if the compiler knows it.
  static constexpr std::size_t count = std::dynamic_extent;
  const Rule& rule;
  std::span<const Tensor* const> inputs;
  std::span<const Tensor* const> outputs;
  std::span<const Tensor* const> saved;
  std::span<const std::int64_t> attributes;
  const Site* site = nullptr;  // where it was called; null unless lines are noted

  void mark(Tape& t, detail::Block* output, std::uint32_t slot) const noexcept {
    for (detail::Mark& m : output->marks)
      if (rule.user ? m.claim({t.serial, slot}) : m.set({t.serial, slot})) return;
    t.by_id.set(output->id, slot);
  }
  std::size_t kept() const noexcept { return saved.size(); }
  void keep(Tape&, Tensor* to) const noexcept {
    for (const Tensor* x : saved) {
      detail::Block* b = x ? detail::block(*x) : nullptr;
      if (b) detail::retain_saved(b);
      new (to++) Tensor(TensorAccess::adopt(b));
    }
  }
};

// A call with one output, which was just made and is unreachable for other threads. Exactly one tape records it, and
// nothing observes. Bits 0 to 2 of `read` keep inputs, bit 3 keeps the output.
template <std::size_t Count>
struct FreshCall {
  static constexpr std::size_t count = Count;
  static constexpr std::span<const std::int64_t, 0> attributes{};
  const Rule& rule;
  std::span<const Tensor* const, Count> inputs;
  std::array<const Tensor*, 1> outputs;
  unsigned read;

  static void mark(Tape& t, detail::Block* output, std::uint32_t slot) noexcept { output->marks[0] = {t.serial, slot}; }
  std::size_t kept() const noexcept { return static_cast<std::size_t>(std::bit_width(read)); }
  [[gnu::always_inline]] void keep(Tape& t, Tensor* to) const noexcept {
    const auto keep_input = [&](std::size_t i) {
      detail::Block* b = nullptr;
      if (read >> i & 1) t.references.take(b = detail::block(*inputs[i]), i);
      new (to + i) Tensor(TensorAccess::adopt(b));
    };
    const std::size_t size = kept();
    each<Count>([&](std::size_t i) {
      if (i < size) keep_input(i);
    });
    if (size < most_read) return;
    for (std::size_t i = Count; i < most_read - 1; ++i) new (to + i) Tensor;
    detail::Block* b = detail::block(*outputs[0]);
    detail::retain_fresh(b);
    new (to + most_read - 1) Tensor(TensorAccess::adopt(b));
  }
};

// The slots of an op's inputs on one tape.
template <std::size_t Count = std::dynamic_extent>
class InputsOf {
 public:
  // For more inputs only whether any is followed.
  static constexpr std::size_t most = Count == std::dynamic_extent ? 4 : Count;
  /// Whether any is followed.
  [[gnu::always_inline]] bool find(const Tape& t, std::span<const Tensor* const, Count> inputs) noexcept {
    bool any = false;
    each<Count>(
        [&](std::size_t i) {
          const std::uint32_t slot = slot_of(t, *inputs[i]);
          any |= slot != no_slot;
          if constexpr (Count == std::dynamic_extent)
            if (i >= most) return;
          slots_[i] = slot;
        },
        inputs.size());
    return any;
  }
  static std::uint32_t slot_of(const Tape& t, const Tensor& x) noexcept {
    const detail::Block* b = detail::block(x);
    return is_differentiable(b->dtype) ? t.find(b) : no_slot;
  }
  std::uint32_t operator[](std::size_t i) const noexcept { return slots_[i]; }
  [[gnu::always_inline]] void write(const Tape& t, std::span<const Tensor* const, Count> inputs,
                                    std::uint32_t* to) const noexcept {
    if constexpr (Count == std::dynamic_extent)
      if (inputs.size() > most) {
        for (const Tensor* x : inputs) *to++ = slot_of(t, *x);
        return;
      }
    each<Count>([&](std::size_t i) { to[i] = slots_[i]; }, inputs.size());
  }

 private:
  std::uint32_t slots_[most];
};
using Inputs = InputsOf<>;

bool follows_any(const Tape& t, std::span<const Tensor* const> inputs) noexcept { return Inputs().find(t, inputs); }

// Before the slots of the inputs are looked up: dropping entries frees slots.
inline void sweep_if_due(Tape& t) {
  if (t.entries.count() >= t.sweep_at && !t.replaying) [[unlikely]]
    sweep(t);
}

[[gnu::cold, gnu::noinline]] void prepare_site(Tape& t, const Site& site, std::span<const Tensor* const> saved) {
  t.sites.add(site);
  if (watching() & watch_anomalies) note_borrowed(t, saved);
}

// Everything that can throw.
template <class C>
[[gnu::always_inline]] inline void prepare(Tape& t, const C& c) {
  constexpr bool fresh = C::count != std::dynamic_extent;
  if constexpr (!fresh)
    if (c.site) [[unlikely]]
      prepare_site(t, *c.site, c.saved);
  t.entries.reserve(Entry::size_of(c.inputs.size(), c.outputs.size(), c.kept(), c.attributes.size()));
  if (t.slots.capacity() < t.slots.size() + c.outputs.size()) [[unlikely]]
    reserve_slots(t, c.rule.name, c.outputs.size());
  if constexpr (!fresh) {
    if (t.kind == Tape::Kind::forward) [[unlikely]]
      reserve_tangents(t, c.outputs.size());
    t.by_id.reserve(c.outputs.size());  // for outputs whose marks are used by older tapes
  }
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
[[gnu::always_inline]] inline void publish(Tape& t, const C& c, const InputsOf<C::count>& inputs) noexcept {
  constexpr bool fresh = C::count != std::dynamic_extent;
  const std::size_t kept = c.kept();
  Entry* e = t.entries.add(Entry::size_of(c.inputs.size(), c.outputs.size(), kept, c.attributes.size()));
  e->rule = &c.rule;
  e->inputs = static_cast<std::uint32_t>(c.inputs.size());
  e->outputs = static_cast<std::uint32_t>(c.outputs.size());
  e->saved = static_cast<std::uint32_t>(kept);
  e->attributes = static_cast<std::uint32_t>(c.attributes.size());
  inputs.write(t, c.inputs, e->slots());
  std::uint32_t* slots = e->slots() + c.inputs.size();
  for (const Tensor* y : c.outputs) {
    detail::Block* b = detail::block(*y);
    const std::uint32_t at = t.take_slot();
    Slot& slot = t.slots[at];
    slot.id = b->id;
    slot.meta = c.outputs.size() == 1 ? t.last_meta : t.intern(b->dtype, b->extents(), b->rank);
    slot.dead = slot.source = slot.root = slot.variable = false;
    slot.site = 0;
    *slots++ = at;
    c.mark(t, b, at);
  }
  c.keep(t, reinterpret_cast<Tensor*>(e->slots() + (c.inputs.size() + c.outputs.size() + 1) / 2 * 2));
  if constexpr (!fresh) {
    if (!c.attributes.empty()) {
      std::copy(c.attributes.begin(), c.attributes.end(), e->numbers());
      if (c.rule.retain) c.rule.retain(c.attributes);
    }
    if (c.site) [[unlikely]]
      set_site(t, *e, *c.site);
  }
  ++t.seen;
}

constexpr int most_marked = 16;  // tapes that record one op

// The accumulators that follow the op. They are not freed before their turn: a user's jvp may stop or destroy one.
class Forward {
 public:
  Forward() = default;
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;
  ~Forward() {
    while (count_) end_replay(*tapes_[--count_]);
  }
  bool empty() const noexcept { return count_ == 0; }
  void add(Tape& t, const Inputs& inputs) noexcept {
    ++t.replaying;
    inputs_[count_] = inputs;
    tapes_[count_++] = &t;
  }
  /// From the outermost to the innermost.
  void advance(const Call& call) {
    for (int i = count_; i-- > 0;) {
      if (tapes_[i]->status.load() != Tape::Status::on_stack) continue;
      publish(*tapes_[i], call, inputs_[i]);
      if (!tapes_[i]->deferring) tape::advance(*tapes_[i]);
    }
  }

 private:
  Tape* tapes_[most_marked];
  Inputs inputs_[most_marked];
  int count_ = 0;
};

// The general case: nested tapes, accumulators, captures, observers.
[[gnu::noinline]] void record_on_all(Call call) {
  Site site;
  if (watching()) [[unlikely]] {
    observe(call.rule.name, call.inputs, call.outputs);
    site = here();
    call.site = &site;
  }
  Tape* wants[most_marked];
  Inputs inputs[most_marked];
  int count = 0;
  if (Capture* c = Capture::innermost()) [[unlikely]]
    c->note(call.inputs);
  for (Tape *t = top(), *below = nullptr; t; t = below) {
    below = t->below;
    if (reap(t)) continue;
    if (t->recording()) sweep_if_due(*t);
    Inputs found;
    if (!found.find(*t, call.inputs)) {
      for (const Tensor* y : call.outputs) propagate(*t, call.inputs, *y);
    } else if (!t->recording()) {
      if (t->kind == Tape::Kind::forward || t->hidden) continue;
      for (const Tensor* y : call.outputs) note_reason(*t, *y, {Unrecorded::paused, call.rule.name, t->seen, here()});
    } else {
      if (count == most_marked)
        fail<TapeError>(call.rule.name, "more than {} nested tapes record at once", most_marked);
      prepare(*t, call);
      inputs[count] = found;
      wants[count++] = t;
    }
  }
  Forward forward;
  for (int i = 0; i < count; ++i) {
    if (wants[i]->kind == Tape::Kind::reverse)
      publish(*wants[i], call, inputs[i]);
    else if (wants[i]->kind == Tape::Kind::forward)  // the tape that stands for a Capture keeps nothing
      forward.add(*wants[i], inputs[i]);
  }
  if (!forward.empty()) [[unlikely]]
    forward.advance(call);
  if (call.site && count && watching() & watch_lines) [[unlikely]]
    trace_recorded(call.rule.name, call.inputs, call.outputs);
}

// The common case: one tape on the stack, which records, and no observer.
inline bool alone(const Tape* t) noexcept {
  return t && !t->below && t->kind == Tape::Kind::reverse && t->recording() && !watching() && !Capture::innermost() &&
         t->status.load(std::memory_order_acquire) == Tape::Status::on_stack;
}
}  // namespace

void record(const Rule& rule, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs,
            std::span<const Tensor* const> saved, std::span<const std::int64_t> attributes) {
  const Call call{rule, inputs, outputs, saved, attributes};
  Tape* t = top();
  if (!alone(t)) return record_on_all(call);
  sweep_if_due(*t);
  Inputs found;
  if (!found.find(*t, inputs)) {
    for (const Tensor* y : outputs) propagate(*t, inputs, *y);
    return;
  }
  prepare(*t, call);
  publish(*t, call, found);
}

namespace {
[[gnu::noinline]] void record_among(const Rule& rule, std::span<const Tensor* const> inputs, const Tensor& output,
                                    const Reads& reads) {
  unsigned read = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (followed(*inputs[i])) read |= reads[i];
  const Tensor* const out[] = {&output};
  const Tensor* saved[most_read];
  std::size_t count = 0;
  for (; read; read >>= 1, ++count)
    saved[count] = !(read & 1) ? nullptr : count == most_read - 1 ? &output : inputs[count];
  record_on_all({rule, inputs, out, {saved, count}, {}});
}

template <std::size_t Count>
[[gnu::always_inline]] inline void record_alone(Tape& t, const Rule& rule, std::span<const Tensor* const, Count> inputs,
                                                const Tensor& output, const Reads& reads) {
  sweep_if_due(t);
  InputsOf<Count> found;
  if (!found.find(t, inputs)) return propagate(t, inputs, output);
  unsigned read = 0;
  each<Count>([&](std::size_t i) {
    if (found[i] != no_slot) read |= reads[i];
  });
  const FreshCall<Count> call{rule, inputs, {&output}, read};
  prepare(t, call);
  publish(t, call, found);
}
}  // namespace

void record(const Rule& rule, std::span<const Tensor* const> inputs, const Tensor& output, const Reads& reads) {
  Tape* t = top();
  if (!alone(t)) [[unlikely]]
    return record_among(rule, inputs, output, reads);
  if (inputs.size() == 2) return record_alone(*t, rule, inputs.first<2>(), output, reads);
  if (inputs.size() == 1) return record_alone(*t, rule, inputs.first<1>(), output, reads);
  record_alone(*t, rule, inputs.first<3>(), output, reads);
}

bool followed(const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  if (!is_differentiable(b->dtype)) return false;
  for (Tape* t = top(); t; t = t->below)
    if (t->kind == Tape::Kind::capture ? t->capture->hides(b) : t->recording() && t->find(b) != no_slot) return true;
  return false;
}

bool is_known_unrecorded(const Tensor& x) noexcept {
  for (const Tape* t = top(); t; t = t->below)
    if (!t->unrecorded.empty() && t->unrecorded.contains(detail::block(x)->id)) return true;
  return false;
}

void note_unrecorded(const char* name, std::span<const Tensor* const> inputs, const Tensor& output,
                     Unrecorded why) noexcept {
  if (watching()) [[unlikely]] {
    const Tensor* const out[] = {&output};
    observe_time(name, inputs, out);
  }
  for (Tape* t = top(); t; t = t->below) {
    if (t->hidden) continue;
    if (follows_any(*t, inputs))
      note_reason(*t, output, {t->recording() ? why : Unrecorded::paused, name, t->seen, here()});
    else
      propagate(*t, inputs, output);
  }
}

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
