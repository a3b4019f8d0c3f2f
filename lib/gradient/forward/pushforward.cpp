// The forward pass. A first walk, backwards, marks what the targets depend on. Then, in recording order, each marked
// entry with a tangent at an input hands its inputs' tangents to its jvp.
#include "gradient/forward/pushforward.hpp"

#include <algorithm>
#include <memory>
#include <reel/ops/pointwise.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "tape/observe/tangents.hpp"

namespace reel::autodiff {

namespace {

using tape::Arena, tape::Entry, tape::no_slot, tape::Tape;

// For each slot, whether a target depends on it.
std::vector<char> find_needed(const Tape& t, std::span<const Tensor> targets) {
  std::vector<char> marked(t.slots.size());
  for (const Tensor& y : targets)
    if (const std::uint32_t s = slot_of(t, y); s != no_slot) marked[s] = 1;
  for (Arena::Cursor at = t.entries.end(); const Entry* e = t.entries.step_back(at);) {
    bool any = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k) any |= marked[e->output(k)] != 0;
    for (std::uint32_t i = 0; any && i < e->inputs; ++i)
      if (e->input(i) != no_slot) marked[e->input(i)] = 1;
  }
  return marked;
}

template <class Marks>
bool any_output(const Entry& e, const Marks& marks) {
  for (std::uint32_t k = 0; k < e.outputs; ++k)
    if (marks[e.output(k)]) return true;
  return false;
}

// A source that is also the output of an op may have a tangent from both.
void accumulate(Tensor& sum, Tensor part) {
  if (part.defined()) sum = sum.defined() ? add(sum, part) : std::move(part);
}

}  // namespace

std::vector<Tensor> pushforward(Tape& t, std::span<const Source> sources, std::span<const Tensor> tangents,
                                std::span<const Tensor> targets) {
  const tape::Replaying replaying(t);  // ops recorded on this tape meanwhile do not trigger a sweep
  const Arena::Cursor end = t.entries.end();
  const std::vector<char> marked = find_needed(t, targets);
  std::vector<Tensor> tangent_of(t.slots.size());
  std::vector<Tensor> result(targets.size());
  for (std::size_t i = 0; i < sources.size(); ++i) accumulate(tangent_of[slot_of(t, sources[i])], tangents[i]);

  std::vector<Tensor> dx, dy;
  std::vector<char> wanted;
  for (Arena::Cursor at; const Entry* e = t.entries.step_forward(at, end);) {
    if (!any_output(*e, marked)) continue;
    dx.assign(e->inputs, {});
    wanted.assign(e->inputs, 0);
    bool any = false;
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (const std::uint32_t s = e->input(i); s != no_slot && tangent_of[s].defined()) {
        dx[i] = tangent_of[s];
        wanted[i] = 1;
        any = true;
      }
    if (!any) continue;
    if (!e->rule->jvp) fail<NotDifferentiable>(e->rule->name, "it has no jvp: forward mode cannot pass it");
    dy.assign(e->outputs, {});
    static_assert(sizeof(bool) == sizeof(char));
    const tape::Record record(t, *e, reinterpret_cast<const bool*>(wanted.data()));
    {
      const tape::RuleScope scope(t, *e);
      e->rule->jvp(record, dx, dy);
      if (tape::watching()) [[unlikely]]
        observe_jvp(record, dx, dy);
    }
    tape::check_tangents(*e->rule, record, dy);
    for (std::uint32_t k = 0; k < e->outputs; ++k) accumulate(tangent_of[e->output(k)], std::move(dy[k]));
  }

  for (std::size_t k = 0; k < targets.size(); ++k)
    if (const std::uint32_t s = slot_of(t, targets[k]); s != no_slot) accumulate(result[k], tangent_of[s]);
  return result;
}

Path path_between(Tape& t, std::span<const Source> sources, std::span<const Tensor> targets) {
  const std::vector<char> marked = find_needed(t, targets);
  std::vector<char> varied(t.slots.size());
  for (const Source& x : sources)
    if (const std::uint32_t s = slot_of(t, x); s != no_slot) varied[s] = 1;
  Path path;
  const Arena::Cursor end = t.entries.end();
  for (Arena::Cursor at; const Entry* e = t.entries.step_forward(at, end);) {
    if (!any_output(*e, marked)) continue;
    bool any = false;
    for (std::uint32_t i = 0; i < e->inputs; ++i) any |= e->input(i) != no_slot && varied[e->input(i)];
    if (!any) continue;
    // An entry that owns something may be a function of many ops: any override may be for one of them.
    path.can_push =
        path.can_push && has_jvp(*e) && !(overrides() && (e->rule->release || find_override(e->rule->name)));
    path.one_by_one |= e->rule->user && !e->rule->batched;
    path.linear = path.linear && !e->rule->user && !e->rule->release && !e->rule->depends_on_zeros;
    path.largest = std::max(path.largest, e->rule->inner_elements);
    for (std::uint32_t k = 0; k < e->outputs; ++k) {
      varied[e->output(k)] = 1;
      path.largest = std::max(path.largest, t.slots[e->output(k)].meta->shape().elements());
    }
  }
  for (const Tensor& y : targets)
    if (const std::uint32_t s = slot_of(t, y); s != no_slot) path.connected |= varied[s] != 0;
  return path;
}

}  // namespace reel::autodiff
