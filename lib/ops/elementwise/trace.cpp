// Functions of Lanes: each adds a node to the trace of its operands.
#include "ops/elementwise/trace.hpp"

#include <atomic>
#include <cstring>

#include "core/fail.hpp"
#include "core/thread.hpp"
#include "kernels/table.hpp"

namespace reel {

namespace ops {

namespace {

constexpr const char* op_name = "elementwise";
constexpr std::size_t least_table = 64;  // entries of the hash table of nodes
constinit std::atomic<std::uint32_t> serials{0};

std::uint32_t next_serial() {
  std::uint32_t serial = 0;
  while (serial == 0) serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;  // 0 is no trace
  return serial;
}

[[noreturn, gnu::cold]] void fail_foreign() {
  fail<ValueError>(op_name,
                   "a Lane is used outside the call that made it; compute with lanes inside their own function only, "
                   "and return what is needed later");
}

}  // namespace

std::uint64_t hash(const loops::Node& node) noexcept {
  std::uint64_t words[sizeof(loops::Node) / 8], h = 0;
  static_assert(std::has_unique_object_representations_v<loops::Node> && sizeof words == sizeof node);
  std::memcpy(words, &node, sizeof node);
  for (const std::uint64_t word : words) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
  }
  return h;
}

void Trace::begin(std::size_t inputs, const Log* expected, bool logs) {
  const auto count = static_cast<std::int32_t>(inputs);
  parameters_.clear();
  logs_ = logs;
  at_ = 0;
  expected_ = expected && expected->inputs == count ? expected : nullptr;
  if (!expected_) build(count);
  serial_ = next_serial();
  detail::ThreadState& state = detail::thread_state();
  below_ = state.lane_trace;
  state.lane_trace = this;
}

void Trace::end() noexcept {
  if (serial_ == 0) return;
  detail::this_thread.state->lane_trace = below_;
  serial_ = 0;
  expected_ = nullptr;
}

// An empty graph.
void Trace::build(std::int32_t inputs) {
  table_.assign(least_table, -1);
  graph_.inputs = inputs;
  graph_.nodes.clear();
  graph_.outputs.clear();
  graph_.nodes.reserve(std::max<std::size_t>(2 * static_cast<std::size_t>(inputs), least_table / 2));
  log_.inputs = inputs;
  log_.calls.clear();
  log_.results.clear();
  for (std::int32_t i = 0; i < inputs; ++i) {
    loops::Node node{loops::Opcode::input};
    node.in[0] = i;
    intern(node);
  }
}

// From here on the graph is built: first what was followed of the log.
void Trace::leave_log() {
  const Log& log = *expected_;
  expected_ = nullptr;
  build(log.inputs);
  for (std::size_t i = 0; i < at_; ++i) add_new(log.calls[i]);
}

const Program* Trace::repeated(std::span<const Lane> outputs) const {
  if (!expected_ || at_ != expected_->calls.size() || outputs.size() != expected_->outputs.size()) return nullptr;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (node(outputs[k]) != expected_->outputs[k]) return nullptr;
  return &*expected_->program;
}

Log Trace::take_log() {
  log_.outputs = graph_.outputs;
  return std::move(log_);
}

Trace& Trace::of(std::uint32_t serial) {
  Trace* const newest = detail::this_thread.state->lane_trace;
  if (!newest || newest->serial_ != serial) fail_foreign();
  return *newest;
}

std::int32_t Trace::add_new(const loops::Node& node) {
  const std::int32_t result = intern(node);
  if (logs_) {
    log_.calls.push_back(node);
    log_.results.push_back(result);
  }
  return result;
}

std::int32_t Trace::intern(const loops::Node& node) {
  if (2 * graph_.nodes.size() >= table_.size()) grow();
  const std::size_t last = table_.size() - 1;
  std::size_t at = hash(node) & last;
  for (; table_[at] >= 0; at = (at + 1) & last)
    if (graph_.nodes[static_cast<std::size_t>(table_[at])] == node) return table_[at];
  graph_.nodes.push_back(node);
  return table_[at] = static_cast<std::int32_t>(graph_.nodes.size() - 1);
}

void Trace::grow() {
  std::vector<std::int32_t> larger(2 * table_.size(), -1);
  for (const std::int32_t i : table_) {
    if (i < 0) continue;
    std::size_t at = hash(graph_.nodes[static_cast<std::size_t>(i)]) & (larger.size() - 1);
    while (larger[at] >= 0) at = (at + 1) & (larger.size() - 1);
    larger[at] = i;
  }
  table_.swap(larger);
}

std::int32_t Trace::number(double value) {
  if (numbers_ == Numbers::literals) return add(loops::literal(value));
  loops::Node node{loops::Opcode::parameter};
  node.in[0] = static_cast<std::int32_t>(parameters_.size());
  parameters_.push_back(value);
  return add(node);
}

std::int32_t Trace::node(const Lane& x) const {
  if (LaneAccess::trace(x) != serial_) fail_foreign();
  return LaneAccess::node(x);
}

std::int32_t Trace::operand(const detail::LaneOperand& x) { return x.is_lane() ? node(x.lane()) : number(x.number()); }

namespace {

// The public enumerations of lanes and those of the kernels are listed apart: a public header includes no kernel. Those
// that belong together have the same name, whatever their order.

// Parses the enumerator's name from the compiler's text: "... F = reel::detail::LaneFunction::add]" or "...::add; ...".
// Empty if no enumerator has this value: "... F = (reel::detail::LaneFunction)200]".
template <auto F>
consteval std::string_view name_of() {
  constexpr std::string_view all = __PRETTY_FUNCTION__, start = "F = ";
  const std::string_view value = all.substr(all.find(start) + start.size());
  const std::string_view whole = value.substr(0, value.find_first_of(";]"));
  return whole.starts_with("(") ? std::string_view() : whole.substr(whole.rfind(':') + 1);
}
static_assert(name_of<detail::LaneFunction::add>() == "add" && name_of<kernels::Logical::negation>() == "negation");

// The value of the enumerator of E with this name; -1 if there is none.
template <class E>
consteval std::int16_t find_enumerator(std::string_view name) {
  return [name]<std::size_t... V>(std::index_sequence<V...>) {
    std::int16_t found = -1;
    static_cast<void>(((name_of<static_cast<E>(V)>() == name && (found = V, true)) || ...));
    return found;
  }
  (std::make_index_sequence<16>());
}

// What a node holds for an enumerator.
struct NodeFunction {
  loops::Opcode opcode;
  std::int16_t function;
};
template <auto F>
consteval NodeFunction node_function() {
  constexpr std::string_view name = name_of<F>();
  if constexpr (std::is_same_v<decltype(F), detail::LaneFunction>) {
    constexpr std::size_t index = kernels::table::detail::find(kernels::table::definitions, name);
    return {loops::Opcode::value, index < kernels::table::size ? static_cast<std::int16_t>(index) : std::int16_t{-1}};
  } else if constexpr (std::is_same_v<decltype(F), detail::LaneLogic>) {
    return {loops::Opcode::logical, find_enumerator<kernels::Logical>(name)};
  } else {
    constexpr std::int16_t comparison = find_enumerator<kernels::Comparison>(name);
    if (comparison >= 0) return {loops::Opcode::comparison, comparison};
    return {loops::Opcode::predicate, find_enumerator<kernels::Predicate>(name)};
  }
}
// One for each enumerator of E.
template <class E, std::size_t Count>
constexpr auto node_functions = []<std::size_t... F>(std::index_sequence<F...>) {
  static_assert(name_of<static_cast<E>(Count)>().empty(), "an enumerator is missing");
  static_assert(((node_function<static_cast<E>(F)>().function >= 0) && ...),
                "the kernels have no function of this name");
  return std::array<NodeFunction, Count>{node_function<static_cast<E>(F)>()...};
}
(std::make_index_sequence<Count>());

// The table has definitions without a public function besides: lib/ops/derivatives.hpp.
#define REEL_COUNT(name, arity) +1
constexpr std::size_t lane_function_count = 0 REEL_POINTWISE_FUNCTIONS(REEL_COUNT) REEL_NORMAL_FUNCTIONS(REEL_COUNT);
#undef REEL_COUNT
NodeFunction node_of(detail::LaneFunction f) {
  return node_functions<detail::LaneFunction, lane_function_count>[static_cast<std::size_t>(f)];
}
NodeFunction node_of(detail::LaneTest f) { return node_functions<detail::LaneTest, 9>[static_cast<std::size_t>(f)]; }
NodeFunction node_of(detail::LaneLogic f) { return node_functions<detail::LaneLogic, 4>[static_cast<std::size_t>(f)]; }

Trace& trace_of(std::initializer_list<detail::LaneOperand> operands) {
  for (const detail::LaneOperand& x : operands)
    if (x.is_lane()) return Trace::of(LaneAccess::trace(x.lane()));
  fail_foreign();
}

std::int32_t add(Trace& trace, const NodeFunction& f, std::initializer_list<detail::LaneOperand> operands) {
  loops::Node node{f.opcode};
  node.function = static_cast<std::uint16_t>(f.function);
  std::size_t k = 0;
  for (const detail::LaneOperand& x : operands) node.in[k++] = trace.operand(x);
  return trace.add(node);
}

// The node of a mask of the trace.
std::int32_t mask_node(const LaneMask& x) {
  static_cast<void>(Trace::of(LaneAccess::trace(x)));
  return LaneAccess::node(x);
}

}  // namespace
}  // namespace ops

using namespace ops;

Lane detail::call(LaneFunction function, std::initializer_list<LaneOperand> operands) {
  if (function == LaneFunction::elu && !operands.begin()[1].is_lane() && operands.begin()[1].number() < 0)
    fail<ValueError>("elu", "alpha must not be negative");
  Trace& trace = trace_of(operands);
  return trace.lane(add(trace, node_of(function), operands));
}

Lane logistic(const Lane& x) {
  Trace& trace = Trace::of(LaneAccess::trace(x));
  return trace.lane(add(trace, {loops::Opcode::value, kernels::index_of<"logistic">()}, {x}));
}

LaneMask detail::test(LaneTest condition, std::initializer_list<LaneOperand> operands) {
  Trace& trace = trace_of(operands);
  return trace.mask(add(trace, node_of(condition), operands));
}

LaneMask detail::combine(LaneLogic logic, std::initializer_list<LaneMask> operands) {
  Trace& trace = Trace::of(LaneAccess::trace(*operands.begin()));
  const NodeFunction f = node_of(logic);
  loops::Node node{f.opcode};
  node.function = static_cast<std::uint16_t>(f.function);
  std::size_t k = 0;
  for (const LaneMask& x : operands) node.in[k++] = mask_node(x);
  return trace.mask(trace.add(node));
}

Lane detail::choose(const LaneMask& condition, const LaneOperand& x, const LaneOperand& y) {
  Trace& trace = Trace::of(LaneAccess::trace(condition));
  loops::Node node{loops::Opcode::select};
  node.in[0] = mask_node(condition);
  node.in[1] = trace.operand(x);
  node.in[2] = trace.operand(y);
  return trace.lane(trace.add(node));
}

}  // namespace reel
