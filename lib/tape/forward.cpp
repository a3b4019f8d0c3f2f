// Forward accumulators. An accumulator is a tape that, instead of keeping an entry, calls the entry's jvp at once and
// keeps the tangents of its outputs for as long as these live.
//
// Nesting. The ops of a jvp are ordinary ops: the tapes and accumulators outside this one record and follow them. This
// accumulator and what is inside it do not see them, so no tangent is ever taken for another's, and a tape inside keeps
// nothing of them. The outermost accumulator takes its step first, so that the inner ones' tangents find theirs.
#include <algorithm>
#include <vector>

#include "core/fail.hpp"
#include "tape/tape.hpp"

namespace reel::tape {

namespace {

// Hides an accumulator and every tape inside it while its jvp runs.
class Hide {
 public:
  explicit Hide(const Tape& accumulator) {
    std::size_t count = 1;
    for (const Tape* t = top; t != &accumulator; t = t->below) ++count;
    hidden_.reserve(count);
    for (Tape* t = top; count > 0; t = t->below, --count) {
      hidden_.push_back(t);
      ++t->hidden;
    }
  }
  Hide(const Hide&) = delete;
  Hide& operator=(const Hide&) = delete;
  ~Hide() {
    // One may have left the stack in the meantime, and come back: it is not hidden any more.
    for (Tape* t = top; t; t = t->below)
      if (t->hidden && std::find(hidden_.begin(), hidden_.end(), t) != hidden_.end()) --t->hidden;
  }

 private:
  std::vector<Tape*> hidden_;
};

// Outputs that got no tangent are not followed; the entry goes whatever happens.
struct Finish {
  Tape& tape;
  Entry& entry;
  ~Finish() {
    for (std::uint32_t k = 0; k < entry.outputs; ++k)
      if (!tape.tangents[entry.output(k)].defined()) drop_tangent(tape, entry.output(k));
    release(entry);
    tape.entries.clear(true);
    tape.dx.clear();
    tape.dy.clear();
  }
};

void check_fits(const Rule& rule, const Record& record, std::size_t k, const Tensor& dy) {
  if (dy.shape() != record.output_shape(k))
    fail<ShapeError>(rule.name, "its jvp gave output {} of shape {} a tangent of shape {}", k, record.output_shape(k),
                     dy.shape());
  if (dy.dtype() != record.output_dtype(k))
    fail<TypeError>(rule.name, "its jvp gave output {} of dtype {} a tangent of dtype {}", k, record.output_dtype(k),
                    dy.dtype());
}

}  // namespace

void reserve_tangents(Tape& t, std::size_t more) {
  const std::size_t most = std::max<std::size_t>(64, t.slots.size() + more);
  if (t.tangents.capacity() < most) t.tangents.reserve(2 * most);
  if (t.free_slots.capacity() < t.tangents.capacity()) t.free_slots.reserve(t.tangents.capacity());
}

void drop_tangent(Tape& t, std::uint32_t slot) noexcept {
  const Tensor gone = std::move(t.tangents[slot]);  // its own tangents may go with it: last
  t.slots[slot] = {};
  t.free_slots.push_back(slot);
}

void advance(Tape& t) {
  Arena::Place at = t.entries.end();
  Entry& e = *t.entries.step_back(at);
  t.tangents.resize(t.slots.size());
  const Replaying kept(t);  // a user's jvp may destroy the accumulator
  const Finish finish{t, e};
  const Hide hide(t);
  t.dx.resize(e.inputs);
  t.dy.resize(e.outputs);
  bool small[16] = {};
  std::vector<char> large(e.inputs > std::size(small) ? e.inputs : 0);
  bool* wanted = large.empty() ? small : reinterpret_cast<bool*>(large.data());
  static_assert(sizeof(bool) == sizeof(char));
  for (std::uint32_t i = 0; i < e.inputs; ++i)
    if (const std::uint32_t s = e.input(i); s != no_slot) {
      t.dx[i] = t.tangents[s];
      wanted[i] = t.dx[i].defined();
    }
  if (!e.rule->jvp) fail<NotDifferentiable>(e.rule->name, "it has no jvp: forward mode cannot pass it");
  const Record record(t, e, wanted);
  {
    const RuleScope scope(t, e);
    e.rule->jvp(record, t.dx, t.dy);
    if (watching) [[unlikely]]
      observe_jvp(record, t.dx, t.dy);
  }
  for (std::uint32_t k = 0; k < e.outputs; ++k) {
    if (!t.dy[k].defined()) continue;
    if (e.rule->user) check_fits(*e.rule, record, k, t.dy[k]);
    t.tangents[e.output(k)] = std::move(t.dy[k]);
  }
}

}  // namespace reel::tape
