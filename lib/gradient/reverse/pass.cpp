// The two walks of a reverse pass.
#include "gradient/reverse/pass.hpp"

#include <algorithm>
#include <reel/ops/make.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"

namespace reel::autodiff {

using tape::Arena, tape::Entry, tape::no_slot, tape::Tape;

namespace {

const char* name_of(AggregationMethod method) noexcept {
  return method == AggregationMethod::tree           ? "tree"
         : method == AggregationMethod::accumulate_n ? "accumulate_n"
                                                     : "add_n";
}

// The rows of a Jacobian as one tensor: zeros for none, none if all are.
Gradient stacked(const Gradients& rows, const Shape& shape, DType dtype) {
  if (std::none_of(rows.begin(), rows.end(), [](const Gradient& row) { return bool(row); })) return rows.front();
  std::vector<Tensor> parts;
  for (const Gradient& row : rows) parts.push_back(row ? row.dense() : zeros(shape, dtype));
  return stack(parts);
}

// What a user's rule gave, against the input it is for.
void verify(const tape::Record& r, std::size_t i, const Gradient& d) {
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

}  // namespace

const VSpace& default_space() noexcept {
  static const VSpace& space = *new VSpace;  // never destroyed: a static object may replay in its destructor
  return space;
}

Pass::Pass(Tape& t, const VSpace* space, AggregationMethod method)
    : tape_(t), space_(space ? *space : default_space()), sums_(space, space_, method), method_(name_of(method)) {
  ++tape_.replaying;
  flags_.resize(t.slots.size());
  cells_.resize(t.slots.size());
  end_ = t.entries.end();
  if (tape::watching & tape::watch_lines) [[unlikely]]
    lines_ = std::make_unique<tape::ReplayLines>(t);
}

void Pass::forwards() {
  for (Arena::Place at; const Entry* e = tape_.entries.step_forward(at, end_);) {
    bool any = false;
    for (std::uint32_t i = 0; i < e->inputs; ++i) any |= e->input(i) != no_slot && flags_[e->input(i)] & fed;
    if (!any) continue;
    for (std::uint32_t k = 0; k < e->outputs; ++k)
      if (!(flags_[e->output(k)] & stopped)) flag(e->output(k), fed);
  }
}

Pass::Widest Pass::widest(std::uint32_t target) const {
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

void Pass::backwards(bool use_up, std::int64_t batch, tape::Units units) {
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

bool Pass::reached(const Entry& e) const {
  for (std::uint32_t k = 0; k < e.outputs; ++k) {
    const std::uint32_t s = e.output(k);
    if (cells_[s] && !(flags_[s] & stopped) && flags_[s] & fed) return true;
  }
  return false;
}

void Pass::pass_on_reason(const Entry& e) {
  const Reason* reason = nullptr;
  for (std::uint32_t k = 0; k < e.outputs && !reason; ++k) reason = kept_back(e.output(k));
  if (!reason) return;
  const Reason copy = *reason;
  for (std::uint32_t i = 0; i < e.inputs; ++i)
    if (e.input(i) != no_slot && flags_[e.input(i)] & fed) cuts_.emplace(e.input(i), copy);
}

// The rule, or what replaces it.
[[gnu::always_inline]] inline void Pass::pull(const tape::Record& record, const Entry& e, const Override* replaced,
                                              std::span<const Tensor> g, std::span<Gradient> dx) {
  {
    const tape::RuleScope scope(tape_, e);
    if (replaced)
      call_override(*replaced, tape_, record, e, g, dx);
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

void Pass::call(const Entry& e) {
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
  if (any && e.rule->add_into && adds_in_place(e)) {
    e.rule->add_into(record, GradientAccess::value(cells_[e.output(0)]), GradientAccess::value(cells_[e.input(0)]));
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

bool Pass::adds_in_place(const Entry& e) {
  const Gradient &g = cells_[e.output(0)], &sum = cells_[e.input(0)];
  if (flags_[e.output(0)] & stopped || !g || g.is_slices() || !sum || sum.is_slices()) return false;
  if (!sums_.plain() || tape::watching || find_override(e.rule->name)) return false;
  return !tape::active() || !(tape::followed(g.dense()) || tape::followed(sum.dense()));
}

[[gnu::noinline]] void Pass::pull_each(const tape::Record& record, const Entry& e, const Override* replaced) {
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

void Pass::settle(const Entry& e) {
  for (Tensor& g : g_) g = {};
  for (std::uint32_t k = 0; k < e.outputs; ++k)
    if (!(flags_[e.output(k)] & requested)) cells_[e.output(k)] = {};
}

}  // namespace reel::autodiff
