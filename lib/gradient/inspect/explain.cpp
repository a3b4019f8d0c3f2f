// Why a gradient is none, and how a target depends on a source, in words.
#include <algorithm>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"

namespace reel::autodiff {

namespace {

using tape::Arena, tape::Unrecorded, tape::Entry, tape::no_slot, tape::UnrecordedReason, tape::Tape;

Reason reason_of(const UnrecordedReason& t) {
  const WhyNone why = t.why == Unrecorded::integer   ? WhyNone::integer_dtype
                      : t.why == Unrecorded::stopped ? WhyNone::stop_gradient
                                                     : WhyNone::paused;
  return {why, t.op, t.index, t.site};
}

// Why the tape does not follow x; `unmarked` if it recorded no reason.
Reason why_unfollowed(const Tape& t, const Tensor& x, WhyNone unmarked) {
  if (auto found = t.unrecorded.find(x.id()); found != t.unrecorded.end()) return reason_of(found->second);
  if (!is_differentiable(x.dtype())) return {WhyNone::integer_dtype};
  if (detail::thread_of(x.id()) != t.thread) return {WhyNone::other_thread};
  return {unmarked};
}

std::string label(const Source& s, std::size_t i) {
  return s.is_variable() && !s.variable().name().empty() ? fmt::format("variable '{}'", s.variable().name())
                                                         : fmt::format("source {}", i);
}

std::vector<std::uint32_t> followed(const Tape& t, std::span<const Target> targets) {
  std::vector<std::uint32_t> slots;
  for (const Target& y : targets)
    if (const std::uint32_t s = slot_of(t, y); s != no_slot) slots.push_back(s);
  return slots;
}

// The names of the ops between a slot and the targets, in recording order; empty if there is no path.
std::vector<std::string> path(const Tape& t, std::uint32_t from, std::span<const std::uint32_t> targets) {
  std::vector<bool> varied(t.slots.size()), leads(t.slots.size());
  varied[from] = true;
  const Arena::Cursor end = t.entries.end();
  for (Arena::Cursor at; const Entry* e = t.entries.step_forward(at, end);) {
    bool any = false;
    for (std::uint32_t i = 0; i < e->inputs; ++i) any |= e->input(i) != no_slot && varied[e->input(i)];
    for (std::uint32_t k = 0; any && k < e->outputs; ++k) varied[e->output(k)] = true;
  }
  for (std::uint32_t s : targets) leads[s] = true;
  std::vector<std::string> names;
  for (Arena::Cursor at = end; const Entry* e = t.entries.step_back(at);) {
    bool on_path = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k) on_path |= varied[e->output(k)] && leads[e->output(k)];
    if (!on_path) continue;
    bool from_source = false;
    for (std::uint32_t i = 0; i < e->inputs; ++i)
      if (e->input(i) != no_slot && varied[e->input(i)]) leads[e->input(i)] = from_source = true;
    if (from_source) names.emplace_back(e->rule->name);
  }
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<bool> useful_slots(const Tape& t, std::span<const Target> targets) {
  std::vector<bool> useful(t.slots.size());
  for (const std::uint32_t s : followed(t, targets)) useful[s] = true;
  for (Arena::Cursor at = t.entries.end(); const Entry* e = t.entries.step_back(at);) {
    bool any = false;
    for (std::uint32_t k = 0; k < e->outputs; ++k) any |= useful[e->output(k)];
    for (std::uint32_t i = 0; any && i < e->inputs; ++i)
      if (e->input(i) != no_slot) useful[e->input(i)] = true;
  }
  return useful;
}

Reason why_none(const Tape& t, std::span<const Target> targets, const Source& source, bool stopped) {
  if (t.used) return {WhyNone::used_tape};
  if (slot_of(t, source) == no_slot) {
    if (!source.is_variable()) return why_unfollowed(t, source.tensor(), WhyNone::never_watched);
    const Variable& v = source.variable();
    if (!is_differentiable(v.dtype())) return {WhyNone::integer_dtype};
    if (!v.trainable() || !t.options.watch_accessed_variables) return {WhyNone::never_watched, v.name()};
    return {WhyNone::read_before_tape, source.variable().name()};
  }
  if (stopped) return {WhyNone::stop_gradient, "stop_gradients, an option of gradient()", -1};
  Reason first{WhyNone::not_connected};
  for (const Target& y : targets) {
    if (slot_of(t, y) != no_slot) {
      // A followed target that does not depend on the source; mentions paths that were cut.
      first = {WhyNone::not_connected};
      const UnrecordedReason* earliest = nullptr;
      for (const auto& [id, found] : t.unrecorded)
        if (!earliest || found.index < earliest->index) earliest = &found;
      if (earliest) first = {WhyNone::not_connected, earliest->op, earliest->index, earliest->site};
      return first;
    }
    if (first.why == WhyNone::not_connected) first = why_unfollowed(t, y.tensor(), WhyNone::target_unwatched);
  }
  return first;
}

std::string explain(const Tape& t, std::span<const Target> targets, std::span<const Source> sources) {
  const auto defined = [](const auto& x) { return x.tensor().defined(); };
  if (!std::all_of(targets.begin(), targets.end(), defined) ||
      !std::all_of(sources.begin(), sources.end(), [&](const Source& x) { return x.is_variable() || defined(x); }))
    fail<ValueError>("GradientTape.explain", "a target or source is empty (default-constructed or moved from)");
  if (t.used) return describe({WhyNone::used_tape});
  const std::vector<std::uint32_t> ends = followed(t, targets);
  std::string text;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i) text += '\n';
    text += label(sources[i], i) + ": ";
    const std::uint32_t slot = slot_of(t, sources[i]);
    const std::vector<std::string> names = slot == no_slot ? std::vector<std::string>() : path(t, slot, ends);
    const bool itself = slot != no_slot && std::find(ends.begin(), ends.end(), slot) != ends.end();
    if (names.empty() && !itself) {
      text += "no gradient: " + describe(why_none(t, targets, sources[i]));
      continue;
    }
    if (names.empty()) {
      text += "is the target itself";
      continue;
    }
    constexpr std::size_t shown = 12;  // ops
    text += fmt::format("connected through {} recorded op{}: ", names.size(), names.size() == 1 ? "" : "s");
    for (std::size_t k = 0; k < std::min(shown, names.size()); ++k) text += (k ? ", " : "") + names[k];
    if (names.size() > shown) text += ", ...";
  }
  return text;
}

}  // namespace reel::autodiff
