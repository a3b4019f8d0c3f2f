// Observation: where an op was called, whether the results of ops and rules are finite, whether borrowed memory has
// changed.
#include "tape/observe/observe.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/fail.hpp"
#include "core/visit.hpp"
#include "tape/observe/timeline.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace tape {

namespace {

const AnomalyOptions& anomalies() noexcept { return detail::this_thread.state->anomalies; }
// The op or rule that runs now; null if none does.
const Frame* innermost_frame() noexcept { return detail::this_thread.state->frame; }

// The elements of a tensor that are not finite: their number, and the first one.
struct NonFinite {
  std::int64_t count = 0, first = 0;
  double value = 0;
  explicit operator bool() const noexcept { return count != 0; }
};

bool bad(double v) noexcept { return anomalies().infinity ? !std::isfinite(v) : std::isnan(v); }
double real(float16 v) noexcept { return static_cast<float>(v); }
double real(bfloat16 v) noexcept { return static_cast<float>(v); }
double real(float v) noexcept { return v; }
double real(double v) noexcept { return v; }

// Elements in row-major order, whatever the strides; an element consists of `parts` numbers.
template <class T>
NonFinite scan(const detail::Block& b, int parts) {
  NonFinite found;
  std::int64_t index[max_rank] = {}, offset = 0;
  for (std::int64_t i = 0; i < b.size; ++i) {
    T value[2];
    std::memcpy(value, b.data + offset * parts * static_cast<std::int64_t>(sizeof(T)),
                static_cast<std::size_t>(parts) * sizeof(T));
    for (int p = 0; p < parts; ++p)
      if (const double v = real(value[p]); bad(v)) {
        if (found.count++ == 0) found = {1, i, v};
        break;
      }
    for (int axis = b.rank; axis-- > 0;) {
      offset += b.strides()[axis];
      if (++index[axis] < b.extents()[axis]) break;
      offset -= index[axis] * b.strides()[axis];
      index[axis] = 0;
    }
  }
  return found;
}

NonFinite non_finite_in(const Tensor& x) {
  if (!x.defined() || detail::block(x)->abstract()) return {};
  const detail::Block& b = *detail::block(x);
  return visit(b.dtype, [&]<class T>() -> NonFinite {
    if constexpr (is_complex(dtype_of<T>))
      return scan<decltype(T::re)>(b, 2);
    else if constexpr (is_floating(dtype_of<T>))
      return scan<T>(b, 1);
    else
      return {};
  });
}

std::string index_of(const Tensor& x, std::int64_t flat) {
  const Shape shape = x.shape();
  Shape index = shape;
  for (int axis = shape.rank(); axis-- > 0; flat /= shape[axis]) index[axis] = flat % shape[axis];
  return to_string(index);
}

std::string non_finite_text(const Tensor& x, const NonFinite& f) {
  return fmt::format("{}, {} of {} elements, the first at {} ({})", describe(x), f.count, x.size(),
                     index_of(x, f.first), f.value);
}

// Describes the inputs of an op or rule for a message: their shapes, and which are not finite.
template <class Values>
std::string values_text(std::string_view what, const Values& values) {
  std::string shapes, origins;
  std::size_t i = 0;
  for (const Tensor* x : values) {
    shapes += fmt::format("{}{} {}", i ? ", " : "", i, x && x->defined() ? describe(*x) : "none");
    if (const NonFinite f = x ? non_finite_in(*x) : NonFinite{})
      origins += fmt::format("; the origin: {} {} was not finite already ({})", what, i, non_finite_text(*x, f));
    ++i;
  }
  return fmt::format("{}s: {}{}", what, shapes.empty() ? "none" : shapes, origins);
}

std::vector<const Tensor*> pointers(std::span<const Tensor> list) {
  std::vector<const Tensor*> p;
  for (const Tensor& x : list) p.push_back(&x);
  return p;
}

// The message names the line of the op, not that of the gradient or tangent that was asked for.
[[noreturn, gnu::cold]] void fail_rule(const Record& r, std::string_view what, std::size_t i, const Tensor& value,
                                       const NonFinite& f, std::string_view value_kind,
                                       std::span<const Tensor> values) {
  fail_without_line<ValueError>(r.name(), "the {} {} that its rule gives is not finite: {}; {}{}", what, i,
                                non_finite_text(value, f), values_text(value_kind, pointers(values)),
                                to_string(r.site(), "; the op was called at "));
}

// FNV-1a on words of eight bytes.
std::uint64_t sum_of(const detail::Block& b) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(b.size) * item_size(b.dtype);
  std::uint64_t h = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < bytes; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, b.data + i, std::min<std::size_t>(8, bytes - i));
    h = (h ^ word) * 0x100000001b3u;
    h ^= h >> 29;
  }
  return h;
}

// The block of borrowed memory behind b; null if the library owns the memory.
const detail::Block* find_borrowed(const detail::Block* b) noexcept {
  while (b && b->flags & detail::view_flag) b = static_cast<const detail::Block*>(b->base);
  return b && b->flags & detail::borrowed_flag ? b : nullptr;
}

}  // namespace

std::string describe(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", name(x.dtype()), to_string(x.shape())) : "none";
}

std::string to_string(const Site& site, std::string_view before) {
  return site.file ? fmt::format("{}{}:{}", before, site.file, site.line) : std::string();
}

std::uint32_t Sites::add(const Site& site) {
  if (!site.file) return 0;
  const auto number = static_cast<std::uint32_t>(list_.size() + 1);
  const auto [at, added] = numbers_.emplace(site, number);
  if (added) try {
      list_.push_back(site);
    } catch (...) {
      numbers_.erase(at);
      throw;
    }
  return at->second;
}
std::uint32_t Sites::find(const Site& site) const noexcept {
  const auto at = numbers_.find(site);
  return at == numbers_.end() ? 0 : at->second;
}
void Sites::clear() noexcept {
  list_.clear();
  numbers_.clear();
}

void set_watching(Watching what, bool on) {
  constexpr int all_ops = watch_anomalies | watch_times | watch_program | keep_observer;
  const int next = on ? watching() | what : watching() & ~what;
  if (next == watching()) return;
  detail::ThreadState& state = detail::thread_state();
  if (!(next & ~watch_error)) state.frame = nullptr;  // open frames end without notice
  if (next & all_ops)
    lay_observer();
  else
    lift_observer();
  state.watching = static_cast<std::uint8_t>(next);
}

void enter(Frame& f, const Site& site, bool rule) {
  detail::ThreadState& state = detail::thread_state();
  if (state.watching & watch_error) detail::forget_error();
  if (!state.watching) return;
  const Frame* outer = state.frame;
  f = {site.file, site.line, rule, state.watching & watch_times ? now() : 0, state.frame};
  if (outer && !rule) {
    f.rule = outer->rule;
    if (outer->file || outer->rule) {
      f.file = outer->file;
      f.line = outer->line;
    }
  }
  state.frame = &f;
}
void leave(const Frame& f) noexcept {
  detail::ThreadState& state = *detail::this_thread.state;
  if (state.frame == &f) state.frame = f.outer;
}
void leave(const Frame& f, const Operand* operand) noexcept {
  leave(f);
  if (watching() & watch_error && operand) detail::give_line(operand->file(), operand->line());
}
Site here() noexcept {
  const Frame* f = innermost_frame();
  return f ? Site{f->file, f->line} : Site{};
}
bool in_rule() noexcept {
  const Frame* f = innermost_frame();
  return f && f->rule;
}

void observe_time(const char* name, std::span<const Tensor* const> inputs,
                  std::span<const Tensor* const> outputs) noexcept {
  if (!(watching() & watch_times)) return;
  Frame* f = detail::this_thread.state->frame;
  add_event(name, in_rule() ? "backward" : "forward", f ? f->start : now(), here(), inputs, outputs);
  if (f) f->start = now();
}

void observe(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) {
  observe_time(name, inputs, outputs);
  if (!(watching() & watch_anomalies) || !anomalies().check_forward || in_rule()) return;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (const NonFinite f = non_finite_in(*outputs[k]))
      fail<ValueError>(name, "its result{} is not finite: {}; {}{}", outputs.size() > 1 ? fmt::format(" {}", k) : "",
                       non_finite_text(*outputs[k], f), values_text("input", inputs),
                       to_string(here(), "; called at "));
}

void observe_vjp(const Record& r, std::span<const Tensor> g, std::span<const Gradient> dx) {
  if (watching() & watch_times) {
    std::vector<Tensor> tensors;
    for (const Gradient& d : dx) tensors.push_back(!d ? Tensor() : d.is_slices() ? d.slices().values : d.dense());
    add_rule_event(r.name(), innermost_frame() ? innermost_frame()->start : now(), r.site(), pointers(g),
                   pointers(tensors));
  }
  if (!(watching() & watch_anomalies) || !anomalies().check_backward) return;
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (!dx[i] || !r.wanted(i)) continue;
    const Tensor value = dx[i].is_slices() ? dx[i].slices().values : dx[i].dense();
    if (const NonFinite f = non_finite_in(value)) fail_rule(r, "gradient for input", i, value, f, "cotangent", g);
  }
}

void observe_jvp(const Record& r, std::span<const Tensor> t, std::span<const Tensor> dy) {
  if (watching() & watch_times)
    add_event(r.name(), "tangent", innermost_frame() ? innermost_frame()->start : now(), r.site(), pointers(t),
              pointers(dy));
  if (!(watching() & watch_anomalies) || !anomalies().check_backward) return;
  for (std::size_t k = 0; k < dy.size(); ++k)
    if (const NonFinite f = non_finite_in(dy[k])) fail_rule(r, "tangent of output", k, dy[k], f, "tangent", t);
}

void note_borrowed(Tape& t, std::span<const Tensor* const> saved) {
  for (const Tensor* x : saved)
    if (const detail::Block* b = x ? find_borrowed(detail::block(*x)) : nullptr)
      if (const auto [at, added] = t.borrowed.try_emplace(b->id); added) at->second = sum_of(*b);
}

void check_borrowed(const Tape& t, const Entry& e) {
  for (std::uint32_t i = 0; i < e.saved; ++i) {
    const detail::Block* b = find_borrowed(e.block(i));
    const auto noted = b ? t.borrowed.find(b->id) : t.borrowed.end();
    if (noted == t.borrowed.end() || noted->second == sum_of(*b)) continue;
    fail<ValueError>(
        e.rule->name,
        "the borrowed memory behind its saved value {} ({} {}) has changed since it was recorded; leave it "
        "as it is until the tape is done, or copy it with from_data{}",
        i, b->dtype, b->shape(), to_string(t.site_of(e), "; the op was called at "));
  }
}

}  // namespace tape

AnomalyGuard::AnomalyGuard(const AnomalyOptions& options)
    : outer_(detail::thread_state().anomalies), nested_((tape::watching() & tape::watch_anomalies) != 0) {
  if (detail::this_thread.state->tracer)
    detail::fail<TraceError>("AnomalyGuard",
                             "it is made in a function that is traced, where nothing is computed, and would see "
                             "nothing; make it around the call of the compiled function");
  tape::set_watching(tape::watch_anomalies, true);
  detail::this_thread.state->anomalies = options;
}
AnomalyGuard::~AnomalyGuard() {
  detail::this_thread.state->anomalies = outer_;
  if (!nested_) tape::set_watching(tape::watch_anomalies, false);
}

void set_source_locations(bool on) { tape::set_watching(tape::watch_sites, on); }

}  // namespace reel
