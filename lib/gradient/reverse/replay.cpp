// Replays: for gradient(), with given cotangents, and for Jacobians, with many rows at once.
#include <algorithm>
#include <reel/final_gradients.hpp>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/reverse/pass.hpp"
#include "gradient/reverse/replayed_tape.hpp"
#include "gradient/reverse/seeds.hpp"
#include "ops/make/identity_rows.hpp"

namespace reel::autodiff {

using tape::no_slot, tape::Tape;

std::uint32_t slot_of(const Tape& t, const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  return is_differentiable(b->dtype) ? t.find(b) : no_slot;
}
std::uint32_t slot_of(const Tape& t, const Source& s) noexcept {
  return s.is_variable() ? t.by_id.find(s.variable().id()) : slot_of(t, s.tensor());
}
std::uint32_t slot_of(const Tape& t, const Target& y) noexcept {
  const std::uint32_t slot = slot_of(t, y.tensor());
  return slot == no_slot && y.variable_id() ? t.by_id.find(y.variable_id()) : slot;
}

void ReplayedTape::warn_of_growth(const char* who) const {
  tape_.warned_growth = true;
  detail::warn(
      fmt::format("{}: an active persistent tape records its own replays: {} entries by now, {} of them forward; call "
                  "stop() first unless you differentiate the gradients",
                  who, tape_.entries.count(), forward_));
}

namespace {

// Joins the gradients of groups of rows, `at_once` in each but the last, `count` in all.
Gradient joined(const Gradients& groups, std::int64_t count, std::int64_t at_once, Shape shape, DType dtype) {
  if (std::none_of(groups.begin(), groups.end(), [](const Gradient& g) { return bool(g); })) return groups.front();
  if (groups.size() == 1) return groups.front();
  shape.insert(0, 0);
  std::vector<Tensor> parts;
  for (const Gradient& g : groups) {
    shape[0] = std::min(at_once, count);
    parts.push_back(g ? g.dense() : zeros(shape, dtype));
    count -= at_once;
  }
  return concatenate(parts);
}

// One replay or several with the same target, on one Pass.
class Replay {
 public:
  Replay(Tape& t, std::span<const Source> sources, const GradientOptions& options)
      : tape_(t),
        space_(t.options.vspace ? *t.options.vspace : default_space()),
        sources_(sources),
        options_(options),
        pass_(t, t.options.vspace, options.aggregation_method),
        slots_(sources.size()) {
    std::size_t roots = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      slots_[i] = slot_of(t, sources[i]);
      if (slots_[i] == no_slot) continue;
      const bool again = pass_.is_varied(slots_[i]);
      repeated_ = repeated_ || again;
      roots += t.slots[slots_[i]].root && !again;
      pass_.flag(slots_[i], varied);
      pass_.flag(slots_[i], requested);
    }
    for (const Source& s : options.stop_gradients.list())
      if (const std::uint32_t slot = slot_of(t, s); slot != no_slot) pass_.flag(slot, stopped);
    if (roots == t.roots && options.stop_gradients.list().empty())
      pass_.mark_all_varied();
    else
      pass_.forwards();
  }

  // Whether the target depends on a source, as far as is known before the walk.
  bool connected(const Target& target) const {
    if (const std::uint32_t slot = slot_of(tape_, target); slot != no_slot) return pass_.is_varied(slot);
    return std::any_of(sources_.begin(), sources_.end(), [&](const Source& s) { return same(s, target); });
  }
  Pass::Largest largest(const Target& target) const { return pass_.largest(slot_of(tape_, target)); }

  // The gradients of the targets for cotangents g. With a batch, both have it as a leading axis, and g may be rows of
  // the identity.
  Gradients run(std::span<const Target> targets, Gradients g, bool use_up, std::int64_t batch = 0,
                tape::IdentityRows identity_rows = {}) {
    assert(pass_.blank());
    Gradients result(sources_.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (const std::uint32_t slot = slot_of(tape_, targets[i]); slot != no_slot) {
        pass_.add_to(slot, std::move(g[i]));
        continue;
      }
      // Not followed by the tape, but it may be a source itself.
      for (std::size_t k = 0; k < sources_.size(); ++k)
        if (same(sources_[k], targets[i])) pass_.add(result[k], Gradient(g[i]));
    }
    g.clear();
    // Before the walk, which may drop entries.
    const std::vector<bool> useful =
        options_.stop_gradients.list().empty() ? std::vector<bool>() : useful_slots(tape_, targets);
    if (final_) [[unlikely]]
      pass_.sweep_back(use_up, final_);
    else
      pass_.sweep_back(use_up, batch, identity_rows);

    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (slots_[k] != no_slot) {
        pass_.finalize_slot(slots_[k], pass_.densifies_results());
        if (Gradient& cotangent = pass_.cotangent(slots_[k]))
          pass_.add(result[k], repeated_ ? Gradient(cotangent) : std::move(cotangent));
      }
      pass_.finalize(result[k]);
      if (result[k]) {
        // The cotangent of a sum is a broadcast view; results must be readable with data().
        if (Tensor& value = GradientAccess::value(result[k]); !result[k].is_slices() && !value.is_contiguous())
          value = contiguous(value);
      } else if (options_.unconnected_gradients == UnconnectedGradients::zero) {
        Shape shape = shape_of(sources_[k]);
        if (batch) shape.insert(0, batch);
        result[k] = space_.zeros(shape, dtype_of_source(sources_[k]));
      } else if (const Reason* reason = slots_[k] == no_slot ? nullptr : pass_.blocked_by(slots_[k])) {
        result[k] = GradientAccess::none(*reason);
      } else {
        const bool stopped = !useful.empty() && slots_[k] != no_slot && useful[slots_[k]];
        result[k] = GradientAccess::none(why_none(tape_, targets, sources_[k], stopped));
      }
    }
    // Clears what no rule has taken, for the next run.
    for (const std::uint32_t slot : slots_)
      if (slot != no_slot) pass_.cotangent(slot) = {};
    for (const Target& y : targets)
      if (const std::uint32_t slot = slot_of(tape_, y); slot != no_slot) pass_.cotangent(slot) = {};
    return result;
  }

  void densify_results() { pass_.densify_results(); }

  // From here on run() without a batch hands each gradient to f when it is final, and flags it in `handed_out`. Other
  // gradients are in its result only.
  [[gnu::cold, gnu::noinline]] void announce(const FinalGradient& f, detail::List<bool>& handed_out) {
    handed_out.resize(sources_.size());
    final_ = [this, &f, &handed_out](std::uint32_t slot) {
      const Gradient& sum = pass_.cotangent(slot);
      if (!sum) return;
      const Gradient result = sum.is_slices() ? sum : Gradient(contiguous(sum.dense()));
      for (std::size_t k = 0; k < sources_.size(); ++k)
        if (slots_[k] == slot) {
          handed_out[k] = true;
          f(k, result);
        }
    };
  }

 private:
  bool same(const Source& s, const Target& y) const {
    if (!is_differentiable(y.tensor().dtype())) return false;
    if (s.is_variable()) return s.variable().id() == y.variable_id();
    return space_.tensor_id(s.tensor()) == space_.tensor_id(y.tensor());
  }

  Tape& tape_;
  const VSpace& space_;
  std::span<const Source> sources_;
  const GradientOptions& options_;
  Pass pass_;
  detail::List<std::uint32_t> slots_;
  bool repeated_ = false;  // several sources have the same slot
  Callback<void(std::uint32_t)> final_;
};

// One replay from these cotangents. With `each`, gradients are handed to it, too.
Gradients replay_from(const char* who, Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                      const GradientOptions& options, Gradients cotangents, const FinalGradient* each,
                      Slices slices = Slices::kept) {
  const ReplayedTape replayed(t);
  Replay replay(t, sources, options);
  if (slices == Slices::densified) replay.densify_results();
  detail::List<bool> handed_out;
  if (each) [[unlikely]]
    replay.announce(*each, handed_out);
  Gradients result = replay.run(targets, std::move(cotangents), replayed.uses_up());
  for (std::size_t k = 0; k < handed_out.size(); ++k)
    if (!handed_out[k]) (*each)(k, result[k]);
  replayed.count_entries(who);
  return result;
}

}  // namespace

void use_up(Tape& t) noexcept {
  auto watched = std::move(t.variables);
  t.clear();
  t.variables = std::move(watched);
  t.used = true;
}

namespace {

// gradient() checks its arguments, and starts with these cotangents.
Gradients replay_checked(Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                         const GradientOptions& options, const char* who, const FinalGradient* each,
                         Slices slices = Slices::kept) {
  check(who, t, targets, sources, options);
  Gradients g;
  {
    const std::int64_t before = t.entries.count();
    const tape::QuietScope unchecked;  // a given gradient that is not finite is reported with the rule that reads it
    g = seeds(who, targets, options, t.options.vspace ? *t.options.vspace : default_space());
    t.replay_entries += t.entries.count() - before;
  }
  return replay_from(who, t, targets, sources, options, std::move(g), each, slices);
}

}  // namespace

Gradients replay(Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                 const GradientOptions& options, const char* who, Slices slices) {
  return replay_checked(t, targets, sources, options, who, nullptr, slices);
}

namespace {

// How many rows of cotangents a batched pass takes at once.
std::int64_t rows_at_once(Pass::Largest largest) {
  // It carries about this many elements per slot: 32 MiB of float64.
  constexpr std::int64_t most_elements = std::int64_t{1} << 22;
  // A rule may need a further axis beside the leading one.
  return largest.rank + 2 > max_rank ? 1 : std::max<std::int64_t>(1, most_elements / largest.elements);
}

// Joins the gradients of groups of rows: run(first, rows, batch) returns those of one, with a leading axis if batch,
// its extent, is not 0.
template <class Run>
Gradients in_groups(std::span<const Source> sources, std::int64_t count, std::int64_t at_once, const Run& run) {
  std::vector<Gradients> parts(sources.size());
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t rows = std::min(count - first, at_once), batch = rows > 1 ? rows : 0;
    Gradients part = run(first, rows, batch);
    for (std::size_t k = 0; k < part.size(); ++k)
      parts[k].push_back(batch || !part[k] ? part[k] : Gradient(expand_dims(part[k].dense(), 0)));
  }
  Gradients result;
  for (std::size_t k = 0; k < parts.size(); ++k)
    result.push_back(joined(parts[k], count, at_once, shape_of(sources[k]), dtype_of_source(sources[k])));
  return result;
}

}  // namespace

Gradients replay_together(Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                          Gradients cotangents, std::int64_t rows) {
  constexpr const char* who = "GradientTape.gradient";
  const GradientOptions options;
  check(who, t, targets, sources, options);
  const ReplayedTape replayed(t);
  Replay replay(t, sources, options);
  Pass::Largest largest;
  for (const Target& y : targets) {
    const Pass::Largest one = replay.largest(y);
    largest = {std::max({largest.elements, one.elements, y.tensor().size()}), std::max(largest.rank, one.rank)};
  }
  const auto run = [&](std::int64_t first, std::int64_t count, std::int64_t batch) {
    Gradients g;
    for (const Gradient& all : cotangents)
      g.push_back(count == rows && batch ? all
                  : batch                ? Gradient(slice(all.dense(), {range(first, first + count)}))
                                         : Gradient(all.dense()[first]));
    return replay.run(targets, std::move(g), replayed.uses_up() && first + count == rows, batch);
  };
  Gradients result = in_groups(sources, rows, rows_at_once(largest), run);
  replayed.count_entries(who);
  return result;
}

namespace {

// The result for cotangents without rows, or that reach no source: one run tells why.
Gradients run_without_rows(Replay& replay, const Target& target, std::span<const Source> sources, bool use_up,
                           std::int64_t count) {
  const Tensor& y = target.tensor();
  Gradients result = replay.run({&target, 1}, {zeros(y.shape(), y.dtype())}, use_up);
  for (std::size_t k = 0; k < result.size(); ++k) {
    Shape shape = shape_of(sources[k]);
    shape.insert(0, count);
    if (result[k]) result[k] = zeros(shape, dtype_of_source(sources[k]));
  }
  return result;
}

// The cotangents of a batch of reverse passes: make(first, rows, batched) returns some of them, along a leading axis if
// `batched`. of_identity: they are rows of the identity, provided that there are as many as target elements.
template <class Make>
struct Seeds {
  std::int64_t count;
  bool of_identity;
  Make make;
};

template <class Make>
Gradients run_in_batches(Replay& replay, const Target& target, std::span<const Source> sources, bool use_up,
                         bool one_by_one, const Seeds<Make>& seeds) {
  const std::int64_t size = target.tensor().size(), count = seeds.count;
  Pass::Largest largest = replay.largest(target);
  largest.elements = std::max(largest.elements, size);
  const auto run = [&](std::int64_t first, std::int64_t rows, std::int64_t batch) {
    const Tensor g = seeds.make(first, rows, batch != 0);
    const tape::IdentityRows identity_rows = {batch && seeds.of_identity && count == size ? g.id() : 0, first};
    return replay.run({&target, 1}, {g}, use_up && first + rows == count, batch, identity_rows);
  };
  return in_groups(sources, count, one_by_one ? 1 : rows_at_once(largest), run);
}

template <class Make>
Gradients replay_seeds(const char* who, Tape& t, const Target& target, std::span<const Source> sources,
                       UnconnectedGradients unconnected, const Seeds<Make>& seeds, ArrangeRows arrange = nullptr) {
  // In place: a batched cotangent is large.
  const GradientOptions options{.unconnected_gradients = unconnected,
                                .aggregation_method = AggregationMethod::accumulate_n};
  check(who, t, {&target, 1}, sources, options);
  if (const DType dtype = target.tensor().dtype(); is_complex(dtype))
    fail<TypeError>(who, "the target is {}; take the derivatives of its real and of its imaginary part", dtype);
  const ReplayedTape replayed(t);
  Replay replay(t, sources, options);
  const bool hooked = t.options.vspace != nullptr;  // hooks expect single gradients
  Gradients result = seeds.count == 0 || !replay.connected(target)
                         ? run_without_rows(replay, target, sources, replayed.uses_up(), seeds.count)
                         : run_in_batches(replay, target, sources, replayed.uses_up(), hooked, seeds);
  if (arrange)
    for (std::size_t k = 0; k < result.size(); ++k)
      if (result[k]) result[k] = arrange(result[k].dense(), target.tensor().shape(), shape_of(sources[k]));
  replayed.count_entries(who);
  return result;
}

}  // namespace

Gradients replay_rows(const char* who, Tape& t, const Target& target, std::span<const Source> sources,
                      UnconnectedGradients unconnected, std::int64_t count, ArrangeRows arrange) {
  const Tensor& y = target.tensor();
  const auto make = [&](std::int64_t first, std::int64_t rows, bool batched) {
    return ops::identity_rows(y.shape(), y.dtype(), batched ? rows : 0, count, first);
  };
  return replay_seeds(who, t, target, sources, unconnected, Seeds<decltype(make)>{count, true, make}, arrange);
}

Gradients replay_batch(const char* who, Tape& t, const Target& target, std::span<const Source> sources,
                       UnconnectedGradients unconnected, const Tensor& cotangents) {
  const auto make = [&](std::int64_t first, std::int64_t rows, bool batched) {
    return batched ? slice(cotangents, {range(first, first + rows)}) : cotangents[first];
  };
  return replay_seeds(who, t, target, sources, unconnected, Seeds<decltype(make)>{cotangents.shape()[0], false, make});
}

}  // namespace reel::autodiff

[[gnu::cold]] void reel::for_each_gradient(GradientTape& tape, const Target& target, std::span<const Source> sources,
                                           const FinalGradient& f, const GradientOptions& options) {
  autodiff::replay_checked(GradientTapeAccess::get(tape), {&target, 1}, sources, options, "for_each_gradient", &f);
}
