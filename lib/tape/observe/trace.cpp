// set_tracing: prints a line per recorded op, and three per called rule.
#include <reel/runtime.hpp>

#include "core/fail.hpp"
#include "tape/tape.hpp"

namespace reel {

namespace {

void print(std::string_view line) {
  const detail::ThreadState& state = *detail::this_thread.state;
  if (state.sink)
    state.sink(line, state.sink_context);
  else
    detail::warn(line);
}

std::string print_list(std::span<const Tensor* const> tensors) {
  std::string text = "[";
  for (const Tensor* x : tensors)
    text += (text.size() > 1 ? ", " : "") + (x && x->defined() ? to_string(*x) : std::string("none"));
  return text + "]";
}

}  // namespace

void set_tracing(bool on) { tape::set_watching(tape::watch_lines, on); }
void set_trace_sink(void (*call)(std::string_view, void*), void* context) {
  detail::ThreadState& state = detail::thread_state();
  state.sink = call;
  state.sink_context = context;
}

namespace tape {

void trace_recorded(const char* name, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs) {
  print(fmt::format("Computed op {} inputs {} outputs {}", name, print_list(inputs), print_list(outputs)));
}

std::vector<std::string> slot_names(const Tape& t) {
  std::vector<std::string> names(t.slots.size());
  std::int64_t index = 0;
  const Arena::Cursor end = t.entries.end();
  for (Arena::Cursor at; const Entry* e = t.entries.step_forward(at, end); ++index)
    for (std::uint32_t k = 0; k < e->outputs; ++k)
      names[e->output(k)] = fmt::format("{}_{}:{}", e->rule->name, index, k);
  for (const auto& [v, slot] : t.variables) names[slot] = v.name();
  std::int64_t unnamed = 0;
  for (std::string& name : names)
    if (name.empty()) name = fmt::format("source_{}", unnamed++);
  return names;
}

void ReplayLines::complete(std::uint32_t slot, const Shape& shape, const char* method) {
  const std::uint32_t terms = std::exchange(terms_[slot], 0);
  if (terms > 1) print(fmt::format("  _AggregatedGrads {} x {} using {}", terms, to_string(shape), method));
}

void ReplayLines::rule_ran(const Record& record, const Entry& e, std::span<const Tensor> g,
                           std::span<const Gradient> dx) const {
  std::vector<Tensor> values;
  std::vector<const Tensor*> inputs, cotangents, gradients;
  values.reserve(record.num_inputs() + dx.size());
  for (std::size_t i = 0; i < record.num_inputs(); ++i) {
    values.push_back(record.has_saved(i) ? record.saved(i) : Tensor());
    inputs.push_back(&values.back());
  }
  std::string in, out;
  for (std::size_t k = 0; k < g.size(); ++k) {
    cotangents.push_back(&g[k]);
    if (g[k].defined())
      in += fmt::format("{}grad({})", in.empty() ? "" : ", ", names_[e.output(static_cast<std::uint32_t>(k))]);
  }
  for (std::size_t i = 0; i < dx.size(); ++i) {
    values.push_back(dx[i] && !dx[i].is_slices() ? dx[i].dense() : Tensor());
    gradients.push_back(&values.back());
    if (dx[i] && record.wanted(i))
      out += fmt::format("{}grad({})", out.empty() ? "" : ", ", names_[e.input(static_cast<std::uint32_t>(i))]);
  }
  print(fmt::format("Gradient for {} inputs {} output_grads {} gradients {}", record.name(), print_list(inputs),
                    print_list(cotangents), print_list(gradients)));
  if (!in.empty()) print("  in  --> " + in);
  if (!out.empty()) print("  out --> " + out);
}

}  // namespace tape

}  // namespace reel
