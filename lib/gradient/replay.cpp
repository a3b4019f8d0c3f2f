// The reverse pass. In two walks over the entries, without recursion: forwards, to find what the sources feed;
// backwards, to call the rules of what a gradient reaches.
//
//   cells[slot] holds the gradient that has arrived for a slot so far. Targets seed their cells. Backwards, an entry
//   whose outputs have gradients hands them to its rule, and the rule's results are added to the cells of its inputs.
//   Since recording order is a topological order, a cell is complete when its entry is met. The terms of a cell arrive
//   in the reverse order of recording; Sums adds them.
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/gradient.hpp"
#include "gradient/sums.hpp"

namespace reel::autodiff {

namespace {

using tape::Arena, tape::Entry, tape::no_slot, tape::Tape;

const VSpace default_space;

enum Flag : std::uint8_t { fed = 1, stopped = 2, requested = 4 };

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

void check(const char* op, const Tape& t, std::span<const Target> targets, std::span<const Source> sources,
           const GradientOptions& o) {
  check_thread(t, op);
  if (t.used)
    fail<TapeError>(
        op,
        "GradientTape.gradient can only be called once on a tape that is not persistent; make it persistent "
        "(TapeOptions.persistent) to call it again");
  if (o.unconnected_gradients > UnconnectedGradients::zero)
    fail<ValueError>(op, "Unknown value for unconnected_gradients: {}", static_cast<int>(o.unconnected_gradients));
  if (o.aggregation_method > AggregationMethod::accumulate_n)
    fail<ValueError>(op, "Invalid aggregation_method specified {}.", static_cast<int>(o.aggregation_method));
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!targets[i].tensor().defined())
      fail<ValueError>(op, "target {} is empty (default-constructed or moved from)", i);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].is_variable() && !sources[i].tensor().defined())
      fail<ValueError>(op, "source {} is empty (default-constructed or moved from)", i);
  const std::size_t given = o.output_gradients.list().size();
  if (o.output_gradients.given() && !o.output_gradients.is_number() && given != targets.size())
    fail<ValueError>(op, "Passed {} grad_ys for {} ys: output_gradients needs one entry for each target", given,
                     targets.size());
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

class Pass {
 public:
  Pass(Tape& t, const VSpace* space, AggregationMethod method)
      : tape_(t), space_(space ? *space : default_space), sums_(space, space_, method) {
    ++tape_.replaying;
    flags_.resize(t.slots.size());
    cells_.resize(t.slots.size());
    end_ = t.entries.end();
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  ~Pass() { --tape_.replaying; }

  void flag(std::uint32_t slot, Flag f) { flags_[slot] = static_cast<std::uint8_t>(flags_[slot] | f); }
  Gradient& cell(std::uint32_t slot) { return cells_[slot]; }
  const std::string& undifferentiable() const { return undifferentiable_; }

  void add(Gradient& cell, Gradient g) { sums_.add(cell, std::move(g)); }
  void finish(Gradient& cell) { sums_.finish(cell); }

  void forwards() {
    for (Arena::Place at; const Entry* e = tape_.entries.step_forward(at, end_);) {
      bool any = false;
      for (std::uint32_t i = 0; i < e->inputs; ++i) any |= e->input(i) != no_slot && flags_[e->input(i)] & fed;
      if (!any) continue;
      for (std::uint32_t k = 0; k < e->outputs; ++k)
        if (!(flags_[e->output(k)] & stopped)) flag(e->output(k), fed);
    }
  }

  void backwards(bool use_up) {
    Arena::Place at = end_;
    while (Entry* e = tape_.entries.step_back(at)) {
      if (reached(*e)) call(*e);
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

  void call(const Entry& e) {
    bool small[16];
    std::vector<char> large(e.inputs > 16 ? e.inputs : 0);
    bool* wanted = e.inputs > 16 ? reinterpret_cast<bool*>(large.data()) : small;
    bool any = false;
    for (std::uint32_t i = 0; i < e.inputs; ++i) any |= wanted[i] = e.input(i) != no_slot && flags_[e.input(i)] & fed;
    const tape::Record record(tape_, e, wanted);
    for (std::uint32_t k = 0; k < e.outputs; ++k) finish(cells_[e.output(k)]);
    if (any && e.rule->slices && cells_[e.output(0)].is_slices() && !find_override(e.rule->name))
      if (Gradient d = e.rule->slices(record, cells_[e.output(0)].slices())) {
        add(cells_[e.input(0)], std::move(d));
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
        g_[k] = space_.zeros(record.output_shape(k), record.output_dtype(k));
      }
    }
    if (any) {
      dx_.resize(e.inputs);
      const Override* replaced = find_override(e.rule->name);
      if (replaced)
        call_override(*replaced, record, e, g_, dx_);
      else
        e.rule->vjp(record, g_, dx_);
      if (tape::tracing) [[unlikely]]
        trace_replayed(record, g_, dx_);
      for (std::uint32_t i = 0; i < e.inputs; ++i) {
        Gradient d = std::move(dx_[i]);
        if (!wanted[i]) continue;
        if (!d) {
          if (d.reason() == WhyNone::not_differentiable) undifferentiable_ = e.rule->name;
          continue;
        }
        if (e.rule->user || replaced) verify(record, i, d);
        add(cells_[e.input(i)], std::move(d));
      }
    }
    settle(e);
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
  std::vector<std::uint8_t> flags_;
  std::vector<Gradient> cells_;
  Arena::Place end_;
  std::vector<Tensor> g_;
  std::vector<Gradient> dx_;
  std::string undifferentiable_;
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

// Whatever happens, a tape that is not persistent is used up afterwards and holds nothing.
struct UseUp {
  Tape* tape;
  ~UseUp() {
    if (!tape) return;
    tape->clear();
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

std::vector<Gradient> replay(Tape& t, std::span<const Target> targets, std::span<const Source> sources,
                             const GradientOptions& options, const char* op) {
  check(op, t, targets, sources, options);
  const VSpace& space = t.options.vspace ? *t.options.vspace : default_space;
  const bool use_up = !t.options.persistent;
  std::vector<Gradient> g;
  {
    const std::int64_t before = t.entries.count();
    g = seeds(op, targets, options, space);
    t.replay_entries += t.entries.count() - before;
  }
  if (use_up && t.place == Tape::Place::on_stack) pop(&t);
  const std::int64_t before = t.entries.count();
  UseUp guard{use_up ? &t : nullptr};
  std::vector<Gradient> result(sources.size());
  Pass pass(t, t.options.vspace, options.aggregation_method);

  std::vector<std::uint32_t> slots(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    slots[i] = slot_of(t, sources[i]);
    if (slots[i] == no_slot) continue;
    pass.flag(slots[i], fed);
    pass.flag(slots[i], requested);
  }
  for (const Source& s : options.stop_gradients.list())
    if (const std::uint32_t slot = slot_of(t, s); slot != no_slot) pass.flag(slot, stopped);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (const std::uint32_t slot = slot_of(t, targets[i].tensor()); slot != no_slot) {
      pass.add(pass.cell(slot), g[i]);
      continue;
    }
    // Not on the tape, but perhaps a source itself.
    for (std::size_t k = 0; k < sources.size(); ++k)
      if (!sources[k].is_variable() && is_differentiable(targets[i].tensor().dtype()) &&
          space.tensor_id(sources[k].tensor()) == space.tensor_id(targets[i].tensor()))
        pass.add(result[k], g[i]);
  }
  g.clear();
  pass.forwards();
  pass.backwards(use_up);

  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (slots[k] != no_slot) {
      pass.finish(pass.cell(slots[k]));
      if (Gradient& cell = pass.cell(slots[k])) pass.add(result[k], cell);
    }
    pass.finish(result[k]);
    if (result[k]) {
      // The cotangent of a sum is a broadcast view; what is handed out can be read with data().
      if (Tensor& value = GradientAccess::value(result[k]); !result[k].is_slices() && !value.is_contiguous())
        value = contiguous(value);
      continue;
    }
    if (options.unconnected_gradients == UnconnectedGradients::zero) {
      const Source& s = sources[k];
      result[k] = s.is_variable() ? space.zeros(s.variable().shape(), s.variable().dtype())
                                  : space.zeros(s.tensor().shape(), s.tensor().dtype());
    } else if (!pass.undifferentiable().empty()) {
      result[k] = GradientAccess::none({WhyNone::not_differentiable, pass.undifferentiable(), 0});
    } else {
      result[k] = GradientAccess::none(why_none(t, targets, sources[k]));
    }
  }
  if (!use_up) warn_of_growth(t, t.entries.count() - before);
  return result;
}

}  // namespace reel::autodiff
