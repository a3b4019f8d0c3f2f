// Forward accumulators. An accumulator is a tape that keeps no entries: it calls the jvp of each entry immediately, and
// keeps the tangents of its outputs for as long as these live. In a FunctionScope it waits until the function's own
// entry stands among them.
// Nesting: the ops of a jvp are ordinary ops. The tapes and accumulators outside this one record and follow them. This
// accumulator and those inside it do not see them, so no tangents are confused, and inner tapes keep nothing of them.
// The outermost accumulator goes first, so that the inner ones' tangents can find its tangents.
#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "tape/observe/tangents.hpp"
#include "tape/tape.hpp"

namespace reel::tape {

namespace {

std::size_t inside(const Tape& accumulator) noexcept {
  std::size_t count = 1;
  for (const Tape* t = top(); t != &accumulator; t = t->below) ++count;
  return count;
}

// Hides an accumulator and every tape inside it while its jvp runs.
class Hide {
 public:
  explicit Hide(const Tape& accumulator) : hidden_(inside(accumulator)) {
    Tape* t = top();
    for (Tape*& h : hidden_) {
      h = t;
      ++t->hidden;
      t = t->below;
    }
  }
  Hide(const Hide&) = delete;
  Hide& operator=(const Hide&) = delete;
  ~Hide() {
    // It may have left and re-entered the stack meanwhile: then it is no longer hidden.
    for (Tape* t = top(); t; t = t->below)
      if (t->hidden && std::find(hidden_.begin(), hidden_.end(), t) != hidden_.end()) --t->hidden;
  }

 private:
  detail::ShortList<Tape*, 4> hidden_;
};

// Outputs without a tangent are not followed. The entry is dropped in any case.
struct Finish {
  Tape& tape;
  Entry& entry;
  ~Finish() {
    for (std::uint32_t k = 0; k < entry.outputs; ++k)
      if (!tape.tangents[entry.output(k)].defined()) drop_tangent(tape, entry.output(k));
    release(entry);
    tape.entries.clear(true);
  }
};

// The same for deferred entries. Tensors that were destroyed meanwhile lose their slots, too.
struct FinishDeferred {
  Tape& tape;
  ~FinishDeferred() {
    tape.entries.for_each([this](const Entry& e) {
      for (std::uint32_t k = 0; k < e.outputs; ++k)
        if (!tape.slots[e.output(k)].id || !tape.tangents[e.output(k)].defined()) tape.slots[e.output(k)].dead = true;
    });
    tape.deferring = 0;  // from here on destroyed tensors lose their slots at once
    for (std::uint32_t s = 0; s < tape.slots.size(); ++s)
      if (tape.slots[s].dead) drop_tangent(tape, s);
    Arena done;
    done.swap(tape.entries);
    done.for_each([](Entry& e) { release(e); });
  }
};

void check_fits(const Rule& rule, const Record& record, std::size_t k, const Tensor& dy) {
  detail::require_known(rule.name, dy);
  if (dy.shape() != record.output_shape(k))
    fail<ShapeError>(rule.name, "its jvp gave output {} of shape {} a tangent of shape {}", k, record.output_shape(k),
                     dy.shape());
  if (dy.dtype() != record.output_dtype(k))
    fail<TypeError>(rule.name, "its jvp gave output {} of dtype {} a tangent of dtype {}", k, record.output_dtype(k),
                    dy.dtype());
}

}  // namespace

void fail_unknown(const char* op) {
  fail<NotDifferentiable>(op,
                          "the tangent of a value is not known: an op without a jvp made it in a function with a "
                          "gradient of its own");
}

void check_tangents(const Rule& rule, const Record& record, std::span<const Tensor> dy) {
#ifdef NDEBUG
  if (!rule.user) return;
#endif
  for (std::size_t k = 0; k < dy.size(); ++k)
    if (dy[k].defined()) check_fits(rule, record, k, dy[k]);
}

void reserve_tangents(Tape& t, std::size_t more) {
  const std::size_t most = std::max<std::size_t>(64, t.slots.size() + more);
  if (t.tangents.capacity() < most) t.tangents.reserve(2 * most);
  if (t.free_slots.capacity() < t.tangents.capacity()) t.free_slots.reserve(t.tangents.capacity());
}

void drop_tangent(Tape& t, std::uint32_t slot) noexcept {
  const Tensor gone = std::move(t.tangents[slot]);  // last: destroying it may drop its own tangents
  t.slots[slot] = {};
  t.free_slots.push_back(slot);
}

namespace {

// Takes the tangents along one entry. Tensors without a tangent have a slot only while their entries wait.
template <bool Deferred>
[[gnu::always_inline]] inline void push_along(Tape& t, Entry& e) {
  detail::ShortList<Tensor, 4> dx(e.inputs), dy(e.outputs);
  static_assert(sizeof(bool) == sizeof(char));
  detail::ShortList<char, 16> wanted(e.inputs);
  bool any = !Deferred;
  for (std::uint32_t i = 0; i < e.inputs; ++i)
    if (const std::uint32_t s = e.input(i); s != no_slot && (!Deferred || t.tangents[s].defined())) {
      dx[i] = t.tangents[s];
      if (is_unknown(dx[i])) [[unlikely]]
        fail_unknown(e.rule->name);
      wanted[i] = true;
      any = true;
    }
  if (!any) return;
  if (!e.rule->jvp) fail<NotDifferentiable>(e.rule->name, "it has no jvp: forward mode cannot pass it");
  const Record record(t, e, reinterpret_cast<const bool*>(wanted.data()));
  {
    const RuleScope scope(t, e);
    e.rule->jvp(record, dx, dy);
    if (watching()) [[unlikely]]
      observe_jvp(record, dx, dy);
  }
  check_tangents(*e.rule, record, dy);
  for (std::uint32_t k = 0; k < e.outputs; ++k) t.tangents[e.output(k)] = std::move(dy[k]);
}

}  // namespace

void advance(Tape& t) {
  Arena::Cursor at = t.entries.end();
  Entry& e = *t.entries.step_back(at);
  t.tangents.resize(t.slots.size());
  const Replaying kept(t);  // a user's jvp may destroy the accumulator
  const Finish finish{t, e};
  const Hide hide(t);
  push_along<false>(t, e);
}

namespace {
// A boolean stands for the tangent of what an op without a jvp has made in a function: most are never asked for.
void set_unknown(Tape& t, const Entry& e) {
  for (std::uint32_t k = 0; k < e.outputs; ++k) t.tangents[e.output(k)] = detail::empty(DType::boolean, {});
}
}  // namespace

void advance_deferred(Tape& t, const Rule& function) {
  t.tangents.resize(t.slots.size());
  t.deferring = -1;
  const Replaying kept(t);
  const FinishDeferred finish{t};
  const Hide hide(t);
  detail::List<char> live(static_cast<std::size_t>(t.entries.count()));
  find_live(t, live);
  std::size_t index = 0;
  const Arena::Cursor end = t.entries.end();
  for (Arena::Cursor at; Entry* e = t.entries.step_forward(at, end);)
    if (!live[index++]) {
      continue;
    } else if (e->rule == &function) {
      push_along<true>(t, *e);
    } else {
      try {
        push_along<true>(t, *e);
      } catch (const NotDifferentiable&) {
        set_unknown(t, *e);
      }
    }
}

void drop_deferred(Tape& t) noexcept {
  t.tangents.resize(t.slots.size());  // reserved with the slots
  const FinishDeferred finish{t};
}

}  // namespace reel::tape
