// The reverse pass. In two walks over the entries, without recursion: forwards, to find what the sources feed;
// backwards, to call the rules of what a gradient reaches.
//
//   cells[slot] holds the gradient that has arrived for a slot so far. Targets seed their cells. Backwards, an entry
//   whose outputs have gradients hands them to its rule, and the rule's results are added to the cells of its inputs.
//   Since recording order is a topological order, a cell is complete when its entry is met. The terms of a cell arrive
//   in the reverse order of recording; Sums adds them.
//
// A batched sweep carries the cotangents of many rows of a Jacobian at once, as a leading axis of every cell. A rule
// that does not take such cotangents is called once for each, and its results are stacked: for that entry alone.
#include <algorithm>
#include <memory>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "gradient/reverse/sums.hpp"

namespace reel::autodiff {

namespace {

using tape::Arena, tape::Entry, tape::no_slot, tape::Tape;
using Gradients = std::vector<Gradient>;

const VSpace default_space;

enum Flag : std::uint8_t { fed = 1, stopped = 2, requested = 4 };

const char* name_of(AggregationMethod method) noexcept {
  return method == AggregationMethod::tree           ? "tree"
         : method == AggregationMethod::accumulate_n ? "accumulate_n"
                                                     : "add_n";
}

std::string label(std::size_t i, const Tensor& y) { return fmt::format("{} of shape {}", i, to_string(y.shape())); }

// The cotangent of target i: given, or ones.
Gradient seed(const char* op, std::size_t i, const Tensor& y, const Gradient* given, const VSpace& space) {
  const bool complex = is_complex(y.dtype());
  if (!given || !*given) {
    if (complex)
      fail<TypeError>(op,
                      "Gradients of complex tensors must set grad_ys (y.dtype = {}): give output_gradients for target "
                      "{}, or take its real part or abs",
                      y.dtype(), label(i, y));
    return space.ones(y.shape(), y.dtype());
  }
  const bool slices = given->is_slices();
  IndexedSlices g = slices ? given->slices() : IndexedSlices{given->dense(), {}, {}};
  if (y.dtype() == DType::boolean)
    fail<TypeError>(op, "Tensor {} with type {} must be numeric to obtain a default gradient", label(i, y), y.dtype());
  if (!complex && (g.dtype() == DType::boolean || is_complex(g.dtype())))
    fail<TypeError>(
        op, "Gradient type {} generated for real or integer-valued tensor {} with type {} must be real or integer",
        g.dtype(), label(i, y), y.dtype());
  if (complex && !is_complex(g.dtype()))
    fail<TypeError>(op, "Gradient type {} generated for complex-valued tensor {} with type {} must be complex",
                    g.dtype(), label(i, y), y.dtype());
  if (const Shape shape = slices ? g.dense_shape : g.values.shape(); shape != y.shape())
    fail<ShapeError>(op, "an output gradient of shape {} does not fit target {}", shape, label(i, y));
  if (g.dtype() == y.dtype()) {
    g.values = identity(g.values);
  } else {
    detail::warn(fmt::format("{}: an output gradient of dtype {} is cast to {}, the target's", op, name(g.dtype()),
                             name(y.dtype())));
    g.values = cast(g.values, y.dtype());
  }
  if (!slices) return g.values;
  g.indices = identity(g.indices);
  return g;
}

// What replay_rows carries: cotangents first, first + 1, ... `batch` of them, on a leading axis (none for 0, which
// stands for one).
Tensor unit_seeds(const Tensor& y, std::int64_t count, std::int64_t first, std::int64_t batch) {
  Shape shape = y.shape();
  if (batch) shape.insert(0, batch);
  const Tensor g = detail::empty(DType::float64, shape);
  auto* at = detail::mutable_data<double>(g);
  std::fill_n(at, g.size(), 0.0);
  for (std::int64_t row = first; row < first + std::max<std::int64_t>(1, batch); ++row, at += y.size())
    for (std::int64_t i = row; i < y.size(); i += count) at[i] = 1;
  return y.dtype() == DType::float64 ? g : cast(g, y.dtype());
}

std::vector<Gradient> seeds(const char* op, std::span<const Target> targets, const GradientOptions& o,
                            const VSpace& space) {
  std::vector<Gradient> result;
  result.reserve(targets.size());
  const auto list = o.output_gradients.list();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& y = targets[i].tensor();
    if (o.output_gradients.is_number())
      result.push_back(full(y.shape(), o.output_gradients.number(), y.dtype()));
    else
      result.push_back(seed(op, i, y, list.empty() ? nullptr : &list[i], space));
  }
  return result;
}

// The rows of a Jacobian as one tensor: zeros for none, none if all are.
Gradient stacked(const Gradients& rows, const Shape& shape, DType dtype) {
  if (std::none_of(rows.begin(), rows.end(), [](const Gradient& row) { return bool(row); })) return rows.front();
  std::vector<Tensor> parts;
  for (const Gradient& row : rows) parts.push_back(row ? row.dense() : zeros(shape, dtype));
  return stack(parts);
}

// The same for groups of rows, `at_once` of them in each but the last, `count` in all.
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

class Pass {
 public:
  Pass(Tape& t, const VSpace* space, AggregationMethod method)
      : tape_(t), space_(space ? *space : default_space), sums_(space, space_, method), method_(name_of(method)) {
    ++tape_.replaying;
    flags_.resize(t.slots.size());
    cells_.resize(t.slots.size());
    end_ = t.entries.end();
    if (tape::watching & tape::watch_lines) [[unlikely]]
      lines_ = std::make_unique<tape::ReplayLines>(t);
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() { --tape_.replaying; }

  bool is_fed(std::uint32_t slot) const { return flags_[slot] & fed; }
  void flag(std::uint32_t slot, Flag f) { flags_[slot] = static_cast<std::uint8_t>(flags_[slot] | f); }
  Gradient& cell(std::uint32_t slot) { return cells_[slot]; }
  // Why no gradient came through to the slot; null when no rule kept one back.
  const Reason* kept_back(std::uint32_t slot) const {
    const auto found = cuts_.find(slot);
    return found == cuts_.end() ? nullptr : &found->second;
  }

  void add(Gradient& cell, Gradient g) { sums_.add(cell, std::move(g)); }
  void finish(Gradient& cell) { sums_.finish(cell); }
  // The same for the cell of a slot.
  void add_to(std::uint32_t slot, Gradient g) {
    if (lines_) [[unlikely]]
      lines_->arrived(slot);
    add(cells_[slot], std::move(g));
  }
  void finish_slot(std::uint32_t slot) {
    finish(cells_[slot]);
    if (lines_ && cells_[slot]) [[unlikely]]
      lines_->complete(slot, tape_.slots[slot].meta->shape(), method_);
  }

  void forwards() {
    for (Arena::Place at; const Entry* e = tape_.entries.step_forward(at, end_);) {
      bool any = false;
      for (std::uint32_t i = 0; i < e->inputs; ++i) any |= e->input(i) != no_slot && flags_[e->input(i)] & fed;
      if (!any) continue;
      for (std::uint32_t k = 0; k < e->outputs; ++k)
        if (!(flags_[e->output(k)] & stopped)) flag(e->output(k), fed);
    }
  }

  // The largest of what lies between the sources and the target: it decides how many cotangents are carried at once.
  struct Widest {
    std::int64_t elements = 1;
    int rank = 0;
  };
  Widest widest(std::uint32_t target) const {
    Widest w;
    std::vector<char> reached(flags_.size());
    const auto reach = [&](std::uint32_t slot) {
      if (reached[slot] || !(flags_[slot] & fed)) return;
      reached[slot] = 1;
      const Shape shape = tape_.slots[slot].meta->shape();
      w = {std::max(w.elements, shape.elements()), std::max(w.rank, shape.rank())};
    };
    if (target != no_slot) reach(target);
    for (Arena::Place at = end_; const Entry* e = tape_.entries.step_back(at);) {
      bool any = false;
      for (std::uint32_t k = 0; k < e->outputs; ++k) any |= reached[e->output(k)] && !(flags_[e->output(k)] & stopped);
      for (std::uint32_t i = 0; any && i < e->inputs; ++i)
        if (e->input(i) != no_slot) reach(e->input(i));
    }
    return w;
  }

  // With a batch, cells hold that many cotangents.
  void backwards(bool use_up, std::int64_t batch, tape::Units units) {
    batch_ = batch;
    units_ = units;
    Arena::Place at = end_;
    index_ = tape_.entries.count();
    while (Entry* e = tape_.entries.step_back(at)) {
      --index_;
      if (reached(*e))
        call(*e);
      else if (!cuts_.empty()) [[unlikely]]
        pass_on_reason(*e);
      if (use_up) {
        release(*e);
        tape_.entries.release_after(at);
      }
    }
  }

 private:
  bool reached(const Entry& e) const {
    for (std::uint32_t k = 0; k < e.outputs; ++k) {
      const std::uint32_t s = e.output(k);
      if (cells_[s] && !(flags_[s] & stopped) && flags_[s] & fed) return true;
    }
    return false;
  }

  // No gradient reaches the entry: if a rule kept it back, its inputs get none for the same reason.
  void pass_on_reason(const Entry& e) {
    const Reason* reason = nullptr;
    for (std::uint32_t k = 0; k < e.outputs && !reason; ++k) reason = kept_back(e.output(k));
    if (!reason) return;
    const Reason copy = *reason;
    for (std::uint32_t i = 0; i < e.inputs; ++i)
      if (e.input(i) != no_slot && flags_[e.input(i)] & fed) cuts_.emplace(e.input(i), copy);
  }

  void call(const Entry& e) {
    bool small[16];
    std::vector<char> large(e.inputs > 16 ? e.inputs : 0);
    bool* wanted = e.inputs > 16 ? reinterpret_cast<bool*>(large.data()) : small;
    bool any = false;
    for (std::uint32_t i = 0; i < e.inputs; ++i) any |= wanted[i] = e.input(i) != no_slot && flags_[e.input(i)] & fed;
    const tape::Record record(tape_, e, wanted, batch_, units_);
    for (std::uint32_t k = 0; k < e.outputs; ++k) finish_slot(e.output(k));
    if (any && e.rule->slices && cells_[e.output(0)].is_slices() && !find_override(e.rule->name))
      if (Gradient d = e.rule->slices(record, cells_[e.output(0)].slices())) {
        if (tape::watching) [[unlikely]]
          observe_vjp(record, {}, {&d, 1});
        add_to(e.input(0), std::move(d));
        return settle(e);
      }
    g_.resize(e.outputs);
    for (std::uint32_t k = 0; k < e.outputs; ++k) {
      const std::uint32_t s = e.output(k);
      Gradient& cell = cells_[s];
      if (cell && !(flags_[s] & stopped)) {
        // The last reader of a cell takes it, so that a rule may write into it.
        g_[k] = cell.is_slices()        ? cell.dense()
                : flags_[s] & requested ? GradientAccess::value(cell)
                                        : std::move(GradientAccess::value(cell));
      } else if (!e.rule->accepts_none && is_differentiable(record.output_dtype(k))) {
        g_[k] = space_.zeros(record.led(record.output_shape(k)), record.output_dtype(k));
      }
    }
    if (any) {
      dx_.resize(e.inputs);
      const Override* replaced = find_override(e.rule->name);
      if (batch_ && (!e.rule->batched || replaced)) [[unlikely]]
        pull_each({tape_, e, wanted}, e, replaced);
      else
        pull(record, e, replaced, g_, dx_);
      for (std::uint32_t i = 0; i < e.inputs; ++i) {
        Gradient d = std::move(dx_[i]);
        if (!wanted[i]) continue;
        if (!d) {
          cuts_.emplace(e.input(i), Reason{d.reason(), e.rule->name, index_, record.site()});
          continue;
        }
        add_to(e.input(i), std::move(d));
      }
    }
    settle(e);
  }

  // The rule, or what replaces it.
  [[gnu::always_inline]] void pull(const tape::Record& record, const Entry& e, const Override* replaced,
                                   std::span<const Tensor> g, std::span<Gradient> dx) {
    {
      const tape::RuleScope scope(tape_, e);
      if (replaced)
        call_override(*replaced, record, e, g, dx);
      else
        e.rule->vjp(record, g, dx);
      if (tape::watching) [[unlikely]]
        observe_vjp(record, g, dx);
    }
    if (lines_) [[unlikely]]
      lines_->rule_ran(record, e, g, dx);
    if (!e.rule->user && !replaced) return;
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (record.wanted(i) && dx[i]) verify(record, i, dx[i]);
  }

  // The same for each cotangent of a batch.
  [[gnu::noinline]] void pull_each(const tape::Record& record, const Entry& e, const Override* replaced) {
    std::vector<Gradients> rows(e.inputs);
    std::vector<Tensor> g(e.outputs);
    Gradients dx(e.inputs);
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::size_t k = 0; k < g.size(); ++k) g[k] = g_[k].defined() ? g_[k][b] : Tensor();
      pull(record, e, replaced, g, dx);
      for (std::size_t i = 0; i < dx.size(); ++i)
        if (record.wanted(i)) rows[i].push_back(std::exchange(dx[i], {}));
    }
    for (std::size_t i = 0; i < dx.size(); ++i)
      if (record.wanted(i)) dx_[i] = stacked(rows[i], record.shape(i), record.dtype(i));
  }

  void settle(const Entry& e) {
    for (Tensor& g : g_) g = {};
    for (std::uint32_t k = 0; k < e.outputs; ++k)
      if (!(flags_[e.output(k)] & requested)) cells_[e.output(k)] = {};
  }

  static void verify(const tape::Record& r, std::size_t i, const Gradient& d) {
    const DType dtype = d.is_slices() ? d.slices().values.dtype() : d.dense().dtype();
    if (dtype != r.dtype(i))
      fail<ValueError>(r.name(), "Gradient type {} generated for op {} does not match input type {}", dtype, r.name(),
                       r.dtype(i));
    const Shape shape = d.is_slices() ? d.slices().dense_shape : d.dense().shape();
    if (shape != r.shape(i))
      fail<ShapeError>(
          r.name(),
          "Incompatible shapes between op input and calculated input gradient.  Forward operation: {}.  Input "
          "index: {}. Original input shape: {}.  Calculated input gradient shape: {}",
          r.name(), i, r.shape(i), shape);
  }

  Tape& tape_;
  const VSpace& space_;
  Sums sums_;
  const char* method_;
  std::vector<std::uint8_t> flags_;
  std::vector<Gradient> cells_;
  Arena::Place end_;
  std::int64_t batch_ = 0;
  tape::Units units_;
  std::vector<Tensor> g_;
  Gradients dx_;
  std::int64_t index_ = 0;  // of the entry on the tape
  std::unordered_map<std::uint32_t, Reason> cuts_;
  std::unique_ptr<tape::ReplayLines> lines_;  // while tracing
};

void warn_of_growth(Tape& t, std::int64_t added) {
  t.replay_entries += added;
  const std::int64_t forward = t.entries.count() - t.replay_entries;
  if (t.warned_growth || t.replay_entries <= 8 * forward) return;
  t.warned_growth = true;
  detail::warn(
      fmt::format("{}: an active persistent tape records its own replays: {} entries by now, {} of them forward; call "
                  "stop() before gradient() unless you differentiate the gradients",
                  "GradientTape.gradient", t.entries.count(), forward));
}

// Whatever happens, a tape that is not persistent is used up afterwards and holds nothing but the list of what it
// watched.
struct UseUp {
  Tape* tape;
  ~UseUp() {
    if (!tape) return;
    auto watched = std::move(tape->variables);
    tape->clear();
    tape->variables = std::move(watched);
    tape->used = true;
  }
};

}  // namespace

std::uint32_t slot_of(const Tape& t, const Tensor& x) noexcept {
  const detail::Block* b = detail::block(x);
  return is_differentiable(b->dtype) ? t.find(b) : no_slot;
}
std::uint32_t slot_of(const Tape& t, const Source& s) noexcept {
  return s.is_variable() ? t.by_id.find(s.variable().id()) : slot_of(t, s.tensor());
}

namespace {

// One replay, or several of the same target: what is asked of it, on the pass that answers.
class Replay {
 public:
  Replay(Tape& t, std::span<const Source> sources, const GradientOptions& options)
      : tape_(t),
        space_(t.options.vspace ? *t.options.vspace : default_space),
        sources_(sources),
        options_(options),
        pass_(t, t.options.vspace, options.aggregation_method),
        slots_(sources.size()) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      slots_[i] = slot_of(t, sources[i]);
      if (slots_[i] == no_slot) continue;
      pass_.flag(slots_[i], fed);
      pass_.flag(slots_[i], requested);
    }
    for (const Source& s : options.stop_gradients.list())
      if (const std::uint32_t slot = slot_of(t, s); slot != no_slot) pass_.flag(slot, stopped);
    pass_.forwards();
  }

  // Whether the target depends on a source, as far as can be told before.
  bool connected(const Target& target) const {
    if (const std::uint32_t slot = slot_of(tape_, target.tensor()); slot != no_slot) return pass_.is_fed(slot);
    return std::any_of(sources_.begin(), sources_.end(), [&](const Source& s) { return same(s, target); });
  }
  Pass::Widest widest(const Target& target) const { return pass_.widest(slot_of(tape_, target.tensor())); }

  // The gradients of the targets for cotangents g; with a batch, both have it as a leading axis, and g may be units.
  Gradients run(std::span<const Target> targets, Gradients g, bool use_up, std::int64_t batch = 0,
                tape::Units units = {}) {
    Gradients result(sources_.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (const std::uint32_t slot = slot_of(tape_, targets[i].tensor()); slot != no_slot) {
        pass_.add_to(slot, std::move(g[i]));
        continue;
      }
      // Not on the tape, but perhaps a source itself.
      for (std::size_t k = 0; k < sources_.size(); ++k)
        if (same(sources_[k], targets[i])) pass_.add(result[k], g[i]);
    }
    g.clear();
    pass_.backwards(use_up, batch, units);

    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (slots_[k] != no_slot) {
        pass_.finish_slot(slots_[k]);
        if (Gradient& cell = pass_.cell(slots_[k])) pass_.add(result[k], cell);
      }
      pass_.finish(result[k]);
      if (result[k]) {
        // The cotangent of a sum is a broadcast view; what is handed out can be read with data().
        if (Tensor& value = GradientAccess::value(result[k]); !result[k].is_slices() && !value.is_contiguous())
          value = contiguous(value);
      } else if (options_.unconnected_gradients == UnconnectedGradients::zero) {
        Shape shape = shape_of(sources_[k]);
        if (batch) shape.insert(0, batch);
        result[k] = space_.zeros(shape, dtype_of(sources_[k]));
      } else if (const Reason* reason = slots_[k] == no_slot ? nullptr : pass_.kept_back(slots_[k])) {
        result[k] = GradientAccess::none(*reason);
      } else {
        result[k] = GradientAccess::none(why_none(tape_, targets, sources_[k], options_.stop_gradients.list()));
      }
    }
    // What no rule has taken: nothing is left for the next run.
    for (const std::uint32_t slot : slots_)
      if (slot != no_slot) pass_.cell(slot) = {};
    for (const Target& y : targets)
      if (const std::uint32_t slot = slot_of(tape_, y.tensor()); slot != no_slot) pass_.cell(slot) = {};
    return result;
  }

 private:
  bool same(const Source& s, const Target& y) const {
    return !s.is_variable() && is_differentiable(y.tensor().dtype()) &&
           space_.tensor_id(s.tensor()) == space_.tensor_id(y.tensor());
  }

  Tape& tape_;
  const VSpace& space_;
  std::span<const Source> sources_;
  const GradientOptions& options_;
  Pass pass_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

void check(const char* who, const Tape& t, std::span<const Target> targets, std::span<const Source> sources,
           const GradientOptions& o) {
  check_thread(t, who);
  if (t.used)
    fail<TapeError>(fmt::format("{} can only be called once", who),
                    "this tape is not persistent; make it so (TapeOptions.persistent) to call it again");
  if (t.replaying && !t.options.persistent)
    fail<TapeError>(who,
                    "called from within a gradient function of this tape; make it persistent (TapeOptions.persistent)");
  if (o.unconnected_gradients > UnconnectedGradients::zero)
    fail<ValueError>(who, "Unknown value for unconnected_gradients: {}", static_cast<int>(o.unconnected_gradients));
  if (o.aggregation_method > AggregationMethod::accumulate_n)
    fail<ValueError>(who, "Invalid aggregation_method specified {}.", static_cast<int>(o.aggregation_method));
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!targets[i].tensor().defined())
      fail<ValueError>(who, "target {} is empty (default-constructed or moved from)", i);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].is_variable() && !sources[i].tensor().defined())
      fail<ValueError>(who, "source {} is empty (default-constructed or moved from)", i);
  const std::size_t given = o.output_gradients.list().size();
  if (o.output_gradients.given() && !o.output_gradients.is_number() && given != targets.size())
    fail<ValueError>(who, "Passed {} grad_ys for {} ys: output_gradients needs one entry for each target", given,
                     targets.size());
}

std::vector<Gradient> replay(Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                             const GradientOptions& options, const char* who) {
  check(who, t, targets, sources, options);
  const bool use_up = !t.options.persistent;
  Gradients g;
  {
    const std::int64_t before = t.entries.count();
    const tape::QuietScope unchecked;  // a given gradient that is not finite is for the rules to name
    g = seeds(who, targets, options, t.options.vspace ? *t.options.vspace : default_space);
    t.replay_entries += t.entries.count() - before;
  }
  if (use_up && t.place == Tape::Place::on_stack) pop(&t);
  const std::int64_t before = t.entries.count();
  const tape::Replaying replaying(t);
  UseUp guard{use_up ? &t : nullptr};
  Gradients result = Replay(t, sources, options).run(targets, std::move(g), use_up);
  if (!use_up) warn_of_growth(t, t.entries.count() - before);
  return result;
}

std::vector<Gradient> replay_rows(const char* who, Tape& t, const Target& target, std::span<const Source> sources,
                                  UnconnectedGradients unconnected, std::int64_t count) {
  // A sweep holds about this many elements per cell: 32 MiB of float64.
  constexpr std::int64_t most_elements = std::int64_t{1} << 22;
  // In place: a cell holds many cotangents.
  const GradientOptions options{.unconnected_gradients = unconnected,
                                .aggregation_method = AggregationMethod::accumulate_n};
  check(who, t, {&target, 1}, sources, options);
  const Tensor& y = target.tensor();
  if (is_complex(y.dtype()))
    fail<TypeError>(who, "the target is {}; take the derivatives of its real and of its imaginary part", y.dtype());
  const bool use_up = !t.options.persistent;
  if (use_up && t.place == Tape::Place::on_stack) pop(&t);
  const std::int64_t before = t.entries.count();
  const tape::Replaying replaying(t);
  UseUp guard{use_up ? &t : nullptr};
  Replay replay(t, sources, options);
  if (count == 0 || !replay.connected(target)) {  // no rows, or all alike: one run tells which are none
    Gradients result = replay.run({&target, 1}, {zeros(y.shape(), y.dtype())}, use_up);
    for (std::size_t k = 0; k < result.size(); ++k) {
      Shape shape = shape_of(sources[k]);
      shape.insert(0, count);
      if (result[k]) result[k] = zeros(shape, dtype_of(sources[k]));
    }
    return result;
  }
  const auto [elements, rank] = replay.widest(target);
  // Hooks are made for gradients, not for many at once; a rule may need an axis of its own beside the leading one.
  const bool one_by_one = t.options.vspace || rank + 2 > max_rank;
  const std::int64_t at_once = one_by_one ? 1 : std::max<std::int64_t>(1, most_elements / std::max(elements, y.size()));
  std::vector<Gradients> parts(sources.size());
  for (std::int64_t first = 0; first < count; first += at_once) {
    const std::int64_t rows = std::min(count - first, at_once), batch = rows > 1 ? rows : 0;
    const Tensor seed = unit_seeds(y, count, first, batch);
    const tape::Units units = {batch && count == y.size() ? seed.id() : 0, first};
    Gradients part = replay.run({&target, 1}, {seed}, use_up && first + rows == count, batch, units);
    for (std::size_t k = 0; k < part.size(); ++k)
      parts[k].push_back(batch || !part[k] ? part[k] : expand_dims(part[k].dense(), 0));
  }
  Gradients result;
  for (std::size_t k = 0; k < parts.size(); ++k)
    result.push_back(joined(parts[k], count, at_once, shape_of(sources[k]), dtype_of(sources[k])));
  if (!use_up) warn_of_growth(t, t.entries.count() - before);
  return result;
}

}  // namespace reel::autodiff
