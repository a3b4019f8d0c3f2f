// The entry of a function among the entries of its ops. On each tape:
// 1. It stands behind the last op that made one of its inputs, such as the value of a variable that the function read.
// 2. Its outputs keep their slots. The ops that made them get unused slots instead, so that no cotangent reaches them.
// 3. Ops in front of it that read an output read the unused slot.
#include "tape/function_scope.hpp"

#include <algorithm>

#include "tape/capture.hpp"

namespace reel::tape {

namespace {

template <class F>
void for_each_on_stack(const F& f) {
  for (Tape *t = top(), *below = nullptr; t; t = below) {
    below = t->below;
    f(*t);
  }
}

// The slot of an output that an op of this tape has made.
std::uint32_t slot_made(const Tape& t, const Tensor& y) noexcept {
  const std::uint32_t s = t.find(detail::block(y));
  return s == no_slot || t.slots[s].root ? no_slot : s;
}

// The entry of a function on one tape: first everything that can throw, then insert().
class Insertion {
 public:
  Insertion(Tape& t, Arena::Cursor begin, const Rule& rule, std::span<const Tensor* const> inputs,
            std::span<const Tensor* const> outputs, std::span<const std::int64_t> attributes, const Site* site)
      : tape_(t), rule_(rule), outputs_(outputs), attributes_(attributes), site_(site) {
    for (const Tensor* x : inputs)
      inputs_.push_back(is_differentiable(x->dtype()) ? t.find(detail::block(*x)) : no_slot);
    for (const Tensor* y : outputs) slots_.push_back(slot_made(t, *y));
    for (std::size_t k = 0; k < slots_.size(); ++k)
      if (slots_[k] != no_slot) made_.push_back({slots_[k], no_slot});
    std::sort(made_.begin(), made_.end());
    begin_ = at_ = begin;
  }
  /// Whether the tape follows an input, or an output as that of an op.
  bool needed() const noexcept {
    return !made_.empty() || std::any_of(inputs_.begin(), inputs_.end(), [](std::uint32_t s) { return s != no_slot; });
  }
  void prepare() {
    find_position();
    if (site_) tape_.sites.add(*site_);
    tape_.entries.reserve_at(at_, bytes());
    reserve_slots(tape_, rule_.name, outputs_.size());
    if (tape_.kind == Tape::Kind::forward) reserve_tangents(tape_, outputs_.size());
    tape_.by_id.reserve(outputs_.size());
    for (const Tensor* y : outputs_) meta_of(*y);
  }
  bool reverse() const noexcept { return tape_.kind == Tape::Kind::reverse; }
  void insert() noexcept {
    rename();
    Entry* e = tape_.entries.insert(at_, bytes());
    e->rule = &rule_;
    e->inputs = static_cast<std::uint32_t>(inputs_.size());
    e->outputs = static_cast<std::uint32_t>(outputs_.size());
    e->saved = 0;
    e->attributes = static_cast<std::uint32_t>(attributes_.size());
    std::copy(inputs_.begin(), inputs_.end(), e->slots());
    for (std::size_t k = 0; k < outputs_.size(); ++k) e->slots()[inputs_.size() + k] = follow(k);
    std::copy(attributes_.begin(), attributes_.end(), e->numbers());
    if (rule_.retain) rule_.retain(attributes_);
    ++tape_.seen;
  }

 private:
  using Renamed = std::pair<std::uint32_t, std::uint32_t>;  // the slot of an output, and the unused one of its maker

  std::size_t bytes() const noexcept { return Entry::size_of(inputs_.size(), outputs_.size(), 0, attributes_.size()); }
  const Meta* meta_of(const Tensor& y) const {
    const detail::Block* b = detail::block(y);
    return tape_.intern(b->dtype, b->extents(), b->rank);
  }
  void find_position() {
    std::vector<std::uint32_t> sorted(inputs_);
    std::sort(sorted.begin(), sorted.end());
    const Arena::Cursor end = tape_.entries.end();
    for (Arena::Cursor at = begin_; const Entry* e = tape_.entries.step_forward(at, end);)
      for (std::uint32_t k = 0; k < e->outputs; ++k)
        if (std::binary_search(sorted.begin(), sorted.end(), e->output(k))) at_ = at;
  }
  void rename(std::uint32_t& slot) noexcept {
    const auto found = std::lower_bound(made_.begin(), made_.end(), Renamed{slot, 0});
    if (found == made_.end() || found->first != slot) return;
    if (found->second == no_slot) {
      found->second = tape_.take_slot();
      tape_.slots[found->second] = {.id = 0, .meta = tape_.slots[slot].meta, .dead = true};
    }
    slot = found->second;
  }
  void rename() noexcept {
    if (made_.empty()) return;
    for (Arena::Cursor at = begin_; Entry* e = tape_.entries.step_forward(at, at_);)
      for (std::uint32_t i = 0; i < e->inputs + e->outputs; ++i) rename(e->slots()[i]);
    const Arena::Cursor end = tape_.entries.end();
    for (Arena::Cursor at = at_; Entry* e = tape_.entries.step_forward(at, end);)
      for (std::uint32_t k = 0; k < e->outputs; ++k) rename(e->slots()[e->inputs + k]);
  }
  std::uint32_t follow(std::size_t k) noexcept {
    detail::Block* b = detail::block(*outputs_[k]);
    std::uint32_t slot = slots_[k];
    if (slot == no_slot) {
      slot = tape_.take_slot();
      tape_.slots[slot] = {.id = b->id, .meta = meta_of(*outputs_[k])};
      const detail::Mark mark{tape_.serial, slot};
      if (std::none_of(std::begin(b->marks), std::end(b->marks), [&](detail::Mark& m) { return m.claim(mark); }))
        tape_.by_id.set(b->id, slot);
    }
    if (site_) tape_.slots[slot].site = tape_.sites.find(*site_);
    return slot;
  }

  Tape& tape_;
  const Rule& rule_;
  std::span<const Tensor* const> outputs_;
  std::span<const std::int64_t> attributes_;
  const Site* site_;
  std::vector<std::uint32_t> inputs_, slots_;  // no_slot where not followed
  std::vector<Renamed> made_;                  // sorted
  Arena::Cursor begin_, at_;
};

}  // namespace

bool may_differentiate_twice() noexcept {
  const Capture* capture = Capture::innermost();
  int reverse = 0, forward = 0;
  bool persistent = false;
  for (const Tape* t = top(); t; t = t->below) {
    if (!t->recording()) continue;
    reverse += t->kind == Tape::Kind::reverse;
    forward += t->kind == Tape::Kind::forward;
    persistent |= t->kind == Tape::Kind::reverse && t->options.persistent && !(capture && capture->watcher() == t);
  }
  return persistent || reverse > 1 || (reverse && (forward || detail::this_thread.state->tracer));
}

FunctionScope::FunctionScope() {
  for_each_on_stack([this](Tape& t) {
    const bool defers = t.kind == Tape::Kind::forward;
    if (t.recording() && (defers || t.kind == Tape::Kind::reverse))
      members_.push_back({&t, t.serial, t.generation, t.entries.end(), defers});
  });
  for (const Member& m : members_)
    if (m.defers) ++m.tape->deferring;
}

FunctionScope::~FunctionScope() {
  for_each_on_stack([this](Tape& t) {
    const Member* m = find(t);
    if (m && m->defers && t.deferring > 0 && --t.deferring == 0) drop_deferred(t);
  });
}

FunctionScope::Member* FunctionScope::find(const Tape& t) noexcept {
  for (Member& m : members_)
    if (m.tape == &t && m.serial == t.serial) return &m;
  return nullptr;
}

void FunctionScope::record(const Rule& rule, std::span<const Tensor* const> inputs,
                           std::span<const Tensor* const> outputs, std::span<std::int64_t> attributes,
                           std::size_t over_reverse) {
  Site site;
  const bool watched = watching() != 0;
  if (watched) [[unlikely]] {
    observe(rule.name, inputs, outputs);
    site = here();
  }
  if (Capture* c = Capture::innermost()) c->note(inputs);
  std::vector<Insertion> insertions;
  for_each_on_stack([&](Tape& t) {
    const Member* m = find(t);
    if (!m || reap(&t) || !t.recording()) return;
    // Entries that moved or are gone: the function's are among those that are left.
    const Arena::Cursor begin = m->generation == t.generation ? m->begin : Arena::Cursor{};
    Insertion insertion(t, begin, rule, inputs, outputs, attributes, watched ? &site : nullptr);
    if (insertion.needed()) insertions.push_back(std::move(insertion));
  });
  for (Insertion& i : insertions) i.prepare();
  bool inside = Capture::in_forward_over_reverse();
  for (Insertion& i : insertions) {
    attributes[over_reverse] = inside;
    i.insert();
    inside |= i.reverse();
  }
  if (watched && !insertions.empty() && watching() & watch_lines) [[unlikely]]
    trace_recorded(rule.name, inputs, outputs);
  take_tangents(rule);
}

// From the outermost accumulator to the innermost, so that these find the tangents of those around them. A rule may
// destroy an accumulator.
void FunctionScope::take_tangents(const Rule& rule) {
  for (auto m = members_.rbegin(); m != members_.rend(); ++m) {
    if (!m->defers) continue;
    m->defers = false;
    for_each_on_stack([&](Tape& t) {
      if (&t == m->tape && t.serial == m->serial && t.deferring > 0 && --t.deferring == 0) advance_deferred(t, rule);
    });
  }
}

}  // namespace reel::tape
