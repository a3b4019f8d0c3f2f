// Translation of graphs into code for single elements:
// 1. Nodes become ops of the interpreter. Derivatives that are plain arithmetic are written out by their formulas in
//    the pointwise table; other functions are calls of their loops.
// 2. An addition, subtraction or multiplication joins the op that reads its result first, if that is one too.
// 3. Values get places in the file, which they share where their lifetimes are disjoint.
#include "loops/program/scalar.hpp"

#include <cstring>
#include <unordered_map>

#include "core/block.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/table.hpp"

namespace reel::loops {

namespace {

using kernels::index_of;
using kernels::ScalarOp;

constexpr std::int32_t no_value = -1;

ScalarOp offset_by(ScalarOp first, int steps) { return static_cast<ScalarOp>(static_cast<int>(first) + steps); }

// The operands of an op: numbers and masks.
int operand_count(ScalarOp op) {
  switch (op) {
    case ScalarOp::copy:
    case ScalarOp::negative:
    case ScalarOp::absolute:
    case ScalarOp::square_root:
    case ScalarOp::sign:
    case ScalarOp::round_down:
    case ScalarOp::round_up:
    case ScalarOp::truncate:
    case ScalarOp::is_nan:
    case ScalarOp::is_inf:
    case ScalarOp::is_finite:
    case ScalarOp::negation:
    case ScalarOp::call1:
      return 1;
    case ScalarOp::fused:
    case ScalarOp::select:
    case ScalarOp::call3:
      return 3;
    case ScalarOp::choose_equal:
    case ScalarOp::choose_less:
    case ScalarOp::choose_less_equal:
    case ScalarOp::call4:
      return 4;
    case ScalarOp::call5:
      return 5;
    default:
      return op >= ScalarOp::add_add && op <= ScalarOp::multiply_multiply_kept ? 3 : 2;
  }
}
bool is_call(ScalarOp op) { return op >= ScalarOp::call1; }
// The position of an op that may be a part of a pair; -1 for others.
int part_of_pair(ScalarOp op) {
  return op == ScalarOp::add ? 0 : op == ScalarOp::subtract ? 1 : op == ScalarOp::multiply ? 2 : -1;
}

}  // namespace

class ScalarCode::Translation {
 public:
  Translation(ScalarCode& code, const Graph& graph)
      : code_(code), graph_(graph), width_(item_size(code.dtype_)), value_(graph.nodes.size(), no_value) {
    find_used();
    for (std::int32_t i = 0; i < graph.inputs; ++i) value_[static_cast<std::size_t>(i)] = new_value();
    for (std::size_t i = static_cast<std::size_t>(graph.inputs); i < graph.nodes.size(); ++i)
      if (used_[i]) value_[i] = translate(graph.nodes[i]);
    join_pairs();
    place_values();
    write_code();
  }

 private:
  struct Op {
    ScalarOp op;
    bool joined = false;  // it is a part of a later op
    std::int32_t in[node_operands] = {no_value, no_value, no_value, no_value, no_value};
    std::int32_t kept = no_value;  // the value of the first op of a pair that others read too
    std::int32_t to = no_value;
    kernels::Loop loop = nullptr;
  };
  struct Value {
    std::int32_t maker = -1;  // the op, -1 if there is none
    std::int32_t first_reader = -1, readers = 0;
    std::int32_t last_use = -1;
    std::int32_t output = -1;
    std::uint32_t place = 0;
    bool pinned = false;  // its place is not used again
  };

  Value& at(std::int32_t value) { return values_[static_cast<std::size_t>(value)]; }
  Op& op_at(std::int32_t op) { return ops_[static_cast<std::size_t>(op)]; }
  std::int32_t new_value() {
    values_.emplace_back();
    return static_cast<std::int32_t>(values_.size()) - 1;
  }
  std::int32_t of(std::int32_t node) const { return node < 0 ? no_value : value_[static_cast<std::size_t>(node)]; }

  void find_used() {
    used_.resize(graph_.nodes.size());
    for (const std::int32_t x : graph_.outputs) used_[static_cast<std::size_t>(x)] = true;
    for (std::size_t i = graph_.nodes.size(); i-- > static_cast<std::size_t>(graph_.inputs);)
      if (used_[i] && graph_.nodes[i].opcode >= Opcode::value)
        for (const std::int32_t x : graph_.nodes[i].in)
          if (x >= 0) used_[static_cast<std::size_t>(x)] = true;
  }

  // ---- Ops

  [[gnu::noinline]] std::int32_t add(ScalarOp op, std::initializer_list<std::int32_t> in,
                                     kernels::Loop loop = nullptr) {
    const std::int32_t result = new_value();
    at(result).maker = static_cast<std::int32_t>(ops_.size());
    Op made{.op = op, .to = result, .loop = loop};
    std::copy(in.begin(), in.end(), made.in);
    ops_.push_back(made);
    return result;
  }
  [[gnu::noinline]] std::int32_t constant(double number) {
    const auto [known, added] = constants_.try_emplace(std::bit_cast<std::uint64_t>(number));
    if (added) {
      known->second = new_value();
      literals_.emplace_back(known->second, number);
    }
    return known->second;
  }
  std::int32_t translate(const Node& node) {
    switch (node.opcode) {
      case Opcode::parameter: {
        const std::int32_t made = new_value();
        parameters_.emplace_back(made, node.in[0]);
        return made;
      }
      case Opcode::literal:
        return constant(literal_value(node));
      case Opcode::value:
        return value_of(node);
      case Opcode::derivative:
        return derivative_of(node);
      case Opcode::comparison:
        return add(offset_by(ScalarOp::is_equal, node.function), {of(node.in[0]), of(node.in[1])});
      case Opcode::predicate:
        return add(offset_by(ScalarOp::is_nan, node.function), {of(node.in[0])});
      case Opcode::logical:
        if (node.function == static_cast<std::uint16_t>(kernels::Logical::negation))
          return add(ScalarOp::negation, {of(node.in[0])});
        return add(offset_by(ScalarOp::conjunction, node.function), {of(node.in[0]), of(node.in[1])});
      case Opcode::choice:
        return add(offset_by(ScalarOp::choose_equal, node.function),
                   {of(node.in[0]), of(node.in[1]), of(node.in[2]), of(node.in[3])});
      default:
        return add(ScalarOp::select, {of(node.in[0]), of(node.in[1]), of(node.in[2])});
    }
  }
  // A call of the loop of a value or derivative. Operands that it does not read are any value.
  std::int32_t call(const Node& node, kernels::Loop loop) {
    int count = static_cast<int>(node_operands);
    while (count > 1 && node.in[count - 1] < 0) --count;
    const std::int32_t result = add(offset_by(ScalarOp::call1, count - 1), {}, loop);
    Op& made = ops_.back();
    std::int32_t any = no_value;
    for (const std::int32_t x : node.in) any = x >= 0 ? of(x) : any;
    for (int k = 0; k < count; ++k) made.in[k] = node.in[k] >= 0 ? of(node.in[k]) : any;
    return result;
  }
  std::int32_t value_of(const Node& node) {
    const kernels::ScalarEngines& engines = kernels::active<kernels::ScalarEngines>();
    const std::int32_t x = of(node.in[0]), y = of(node.in[1]), w = of(node.in[2]);
    switch (node.function) {
      case index_of<"add">():
        return add(ScalarOp::add, {x, y});
      case index_of<"subtract">():
        return add(ScalarOp::subtract, {x, y});
      case index_of<"multiply">():
        return add(ScalarOp::multiply, {x, y});
      case index_of<"divide">():
        return add(ScalarOp::divide, {x, y});
      case index_of<"negative">():
        return add(ScalarOp::negative, {x});
      case index_of<"square">():
        return add(ScalarOp::multiply, {x, x});
      case index_of<"squared_difference">(): {
        const std::int32_t difference = add(ScalarOp::subtract, {x, y});
        return add(ScalarOp::multiply, {difference, difference});
      }
      case index_of<"reciprocal">():
        return add(ScalarOp::divide, {constant(1), x});
      case index_of<"abs">():
        return add(ScalarOp::absolute, {x});
      case index_of<"sign">():
        return add(ScalarOp::sign, {x});
      case index_of<"sqrt">():
        return add(ScalarOp::square_root, {x});
      case index_of<"rsqrt">():
        return add(ScalarOp::divide, {constant(1), add(ScalarOp::square_root, {x})});
      case index_of<"maximum">():
        if (engines.orders) return add(ScalarOp::greater, {x, y});
        break;
      case index_of<"minimum">():
        if (engines.orders) return add(ScalarOp::lesser, {x, y});
        break;
      case index_of<"floor">():
        if (engines.rounds) return add(ScalarOp::round_down, {x});
        break;
      case index_of<"ceil">():
        if (engines.rounds) return add(ScalarOp::round_up, {x});
        break;
      case index_of<"trunc">():
        if (engines.rounds) return add(ScalarOp::truncate, {x});
        break;
      case index_of<"fma">():
        if (engines.fuses) return add(ScalarOp::fused, {x, y, w});
        break;
      default:
        break;
    }
    return call(node, kernels::pointwise(node.function, code_.dtype_).value);
  }
  std::int32_t multiply(std::int32_t x, std::int32_t y) { return add(ScalarOp::multiply, {x, y}); }
  // The derivative by operand k of a definition: of x, y and the result z, for the cotangent g.
  static constexpr std::uint32_t derivative(std::size_t definition, std::uint32_t k) {
    return static_cast<std::uint32_t>(definition) * 4 + k;
  }
  std::int32_t derivative_of(const Node& node) {
    const std::int32_t g = of(node.in[0]), x = of(node.in[1]), y = of(node.in[2]), z = of(node.in[4]);
    switch (derivative(node.function, node.operand)) {
      case derivative(index_of<"subtract">(), 1):
      case derivative(index_of<"negative">(), 0):
        return add(ScalarOp::negative, {g});
      case derivative(index_of<"multiply">(), 0):
        return multiply(g, y);
      case derivative(index_of<"multiply">(), 1):
        return multiply(g, x);
      case derivative(index_of<"divide">(), 0):
        return add(ScalarOp::divide, {g, y});
      case derivative(index_of<"divide">(), 1): {
        const std::int32_t minus = add(ScalarOp::negative, {g}), ratio = add(ScalarOp::divide, {x, y});
        return add(ScalarOp::divide, {multiply(minus, ratio), y});
      }
      case derivative(index_of<"square">(), 0):
        return multiply(g, multiply(constant(2), x));
      case derivative(index_of<"squared_difference">(), 0):
        return multiply(g, multiply(constant(2), add(ScalarOp::subtract, {x, y})));
      case derivative(index_of<"squared_difference">(), 1):
        return multiply(g, multiply(constant(2), add(ScalarOp::subtract, {y, x})));
      case derivative(index_of<"reciprocal">(), 0):
        return multiply(add(ScalarOp::negative, {g}), multiply(z, z));
      case derivative(index_of<"abs">(), 0):
        return multiply(g, add(ScalarOp::sign, {x}));
      case derivative(index_of<"sqrt">(), 0):
        return add(ScalarOp::divide, {multiply(g, constant(0.5)), z});
      case derivative(index_of<"rsqrt">(), 0):
        return multiply(g, multiply(multiply(constant(-0.5), z), multiply(z, z)));
      case derivative(index_of<"exp">(), 0):
        return multiply(g, z);
      case derivative(index_of<"log">(), 0):
        return add(ScalarOp::divide, {g, x});
      case derivative(index_of<"log1p">(), 0):
        return add(ScalarOp::divide, {g, add(ScalarOp::add, {constant(1), x})});
      case derivative(index_of<"tanh">(), 0):
        return multiply(g, add(ScalarOp::subtract, {constant(1), multiply(z, z)}));
      case derivative(index_of<"sigmoid">(), 0):
        return multiply(g, multiply(z, add(ScalarOp::subtract, {constant(1), z})));
      default:
        return call(node, kernels::pointwise(node.function, code_.dtype_).derivative[node.operand]);
    }
  }

  // ---- Pairs

  void count_readers() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      const int count = operand_count(ops_[i].op);
      for (int k = 0; k < count; ++k) {
        Value& x = at(ops_[i].in[k]);
        if (x.readers++ == 0) x.first_reader = static_cast<std::int32_t>(i);
      }
    }
    for (const std::int32_t x : graph_.outputs) ++at(of(x)).readers;
  }
  // The op that makes operand k of op i, if it can be done just before it; -1 otherwise.
  std::int32_t joinable(std::int32_t i, int k) {
    const Op& op = op_at(i);
    const Value& x = at(op.in[k]);
    if (x.maker < 0 || x.first_reader != i || op.in[0] == op.in[1]) return -1;
    const Op& maker = op_at(x.maker);
    return part_of_pair(maker.op) >= 0 && !maker.joined ? x.maker : -1;
  }
  void join_pairs() {
    count_readers();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(ops_.size()); ++i) {
      const int second = part_of_pair(op_at(i).op);
      if (second < 0) continue;
      const std::int32_t makers[2] = {joinable(i, 0), joinable(i, 1)};
      int k = makers[0] >= 0 ? 0 : 1;
      if (makers[0] >= 0 && makers[1] >= 0 && at(op_at(i).in[0]).readers > at(op_at(i).in[1]).readers) k = 1;
      if (makers[k] < 0) continue;
      Op& op = op_at(i);
      Op& first = op_at(makers[k]);
      const std::int32_t between = op.in[k], other = op.in[1 - k];
      const bool kept = at(between).readers > 1;
      // Add, subtract, subtract from, multiply; the first op is always the left operand.
      const int end = second == 0 ? 0 : second == 2 ? 3 : k == 0 ? 1 : 2;
      op.op = offset_by(kept ? ScalarOp::add_add_kept : ScalarOp::add_add, 4 * part_of_pair(first.op) + end);
      op.in[0] = first.in[0];
      op.in[1] = first.in[1];
      op.in[2] = other;
      op.kept = kept ? between : no_value;
      first.joined = true;
    }
  }

  // ---- Places

  void place_values() {
    const std::size_t inputs = static_cast<std::size_t>(graph_.inputs), outputs = graph_.outputs.size();
    code_.first_output_ = inputs * width_;
    code_.first_constant_ = (inputs + outputs) * width_;
    for (std::size_t i = 0; i < inputs; ++i) at(value_[i]).place = static_cast<std::uint32_t>(i * width_);
    end_ = code_.first_constant_;
    for (const auto& [value, number] : literals_) place_constant(value);
    for (const auto& [value, index] : parameters_) place_constant(value);
    for (std::size_t k = 0; k < outputs; ++k) claim_output(k);
    find_last_uses();
    for (std::size_t i = 0; i < ops_.size(); ++i)
      if (!ops_[i].joined) place_results(static_cast<std::int32_t>(i));
    code_.bytes_ = end_;
  }
  void place_constant(std::int32_t value) {
    at(value).place = take_new();
    at(value).pinned = true;
  }
  std::uint32_t output_place(std::size_t k) const {
    return static_cast<std::uint32_t>(code_.first_output_ + k * width_);
  }
  // A computed value is written to the place of the first output that it is.
  void claim_output(std::size_t k) {
    Value& z = at(of(graph_.outputs[k]));
    if (z.maker < 0) {
      z.pinned = true;  // copied at the end
    } else if (z.output < 0) {
      z.output = static_cast<std::int32_t>(k);
      z.place = output_place(k);
      z.pinned = true;
    }
  }
  void find_last_uses() {
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i].joined) continue;
      const int count = operand_count(ops_[i].op);
      for (int k = 0; k < count; ++k) at(ops_[i].in[k]).last_use = static_cast<std::int32_t>(i);
    }
  }
  std::uint32_t take_new() {
    const auto place = static_cast<std::uint32_t>(end_);
    end_ += width_;
    return place;
  }
  std::uint32_t take() {
    if (free_.empty()) return take_new();
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  // All operands are read before a result is written: it may take the place of one that dies.
  void place_results(std::int32_t i) {
    const Op& op = op_at(i);
    const int count = operand_count(op.op);
    for (int k = 0; k < count; ++k) {
      Value& x = at(op.in[k]);
      if (x.last_use != i || x.pinned) continue;
      free_.push_back(x.place);
      x.pinned = true;  // read twice, released once
    }
    for (const std::int32_t made : {op.kept, op.to})
      if (made >= 0 && at(made).output < 0) at(made).place = take();
  }

  // ---- Code

  [[gnu::noinline]] void label(ScalarOp op) {
    code_.code_.push_back(static_cast<std::uint32_t>(code_.engine_->labels[static_cast<std::size_t>(op)]));
  }
  void write_code() {
    code_.code_.reserve(5 * ops_.size() + 2 * graph_.outputs.size() + 1);
    for (const Op& op : ops_) {
      if (op.joined) continue;
      label(op.op);
      if (is_call(op.op)) {
        std::uint32_t words[2];
        static_assert(sizeof words >= sizeof op.loop);
        std::memcpy(words, &op.loop, sizeof op.loop);
        code_.code_.insert(code_.code_.end(), words, words + 2);
      }
      const int count = operand_count(op.op);
      for (int k = 0; k < count; ++k) code_.code_.push_back(at(op.in[k]).place);
      if (op.kept >= 0) code_.code_.push_back(at(op.kept).place);
      code_.code_.push_back(at(op.to).place);
    }
    for (std::size_t k = 0; k < graph_.outputs.size(); ++k) {
      const Value& z = at(of(graph_.outputs[k]));
      if (z.output == static_cast<std::int32_t>(k)) continue;
      label(ScalarOp::copy);
      code_.code_.push_back(z.place);
      code_.code_.push_back(output_place(k));
    }
    label(ScalarOp::end);
    write_constants();
  }
  void write_constants() {
    code_.constants_.resize(literals_.size() * width_);
    for (std::size_t c = 0; c < literals_.size(); ++c) {
      const double number = literals_[c].second;
      const auto narrow = static_cast<float>(number);
      std::memcpy(code_.constants_.data() + c * width_,
                  width_ == sizeof narrow ? static_cast<const void*>(&narrow) : &number, width_);
    }
    for (const auto& [value, index] : parameters_) code_.parameters_.push_back({at(value).place, index});
  }

  ScalarCode& code_;
  const Graph& graph_;
  const std::size_t width_;          // bytes of a number
  std::vector<bool> used_;           // for each node
  std::vector<std::int32_t> value_;  // for each node
  std::vector<Value> values_;
  std::vector<Op> ops_;
  std::unordered_map<std::uint64_t, std::int32_t> constants_;  // by the bits of literals
  std::vector<std::pair<std::int32_t, double>> literals_;
  std::vector<std::pair<std::int32_t, std::int32_t>> parameters_;  // values and their numbers
  std::vector<std::uint32_t> free_;                                // places
  std::size_t end_ = 0;                                            // bytes of the file so far
};

ScalarCode::ScalarCode(const Graph& graph, DType dtype)
    : engine_(&kernels::active<kernels::ScalarEngines>().of[dtype == DType::float64]), dtype_(dtype) {
  Translation(*this, graph);
}

void ScalarCode::run(std::byte* file, std::span<const double> parameters) const {
  if (!constants_.empty()) std::memcpy(file + first_constant_, constants_.data(), constants_.size());
  for (const Parameter& p : parameters_) {
    const double number = parameters[static_cast<std::size_t>(p.index)];
    const auto narrow = static_cast<float>(number);
    if (dtype_ == DType::float64)
      std::memcpy(file + p.place, &number, sizeof number);
    else
      std::memcpy(file + p.place, &narrow, sizeof narrow);
  }
  engine_->run(code_.data(), file);
}

ScalarFile::ScalarFile(std::size_t bytes) : data_(here_) {
  if (bytes <= sizeof here_) return;
  more_ = detail::empty(DType::uint8, {static_cast<std::int64_t>(bytes)});
  data_ = detail::block(more_)->data;
}

ScalarProgram::ScalarProgram(Graph graph, std::vector<Element> inputs, std::vector<std::int64_t> output_sizes,
                             DType dtype)
    : graph_(std::move(graph)),
      inputs_(std::move(inputs)),
      output_sizes_(std::move(output_sizes)),
      code_(graph_, dtype),
      width_(item_size(dtype)) {
  const std::size_t width = width_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto from = static_cast<std::ptrdiff_t>(inputs_[i].offset) * static_cast<std::ptrdiff_t>(width);
    if (!reads_.empty() && reads_.back().array == inputs_[i].array &&
        reads_.back().from + static_cast<std::ptrdiff_t>(reads_.back().bytes) == from)
      reads_.back().bytes += width;
    else
      reads_.push_back({inputs_[i].array, from, i * width, width});
  }
}

// Masks are words in the first bytes of their places.
void ScalarProgram::copy_masks(const std::byte* from, const Tensor& out) const {
  const detail::Block* to = detail::block(out);
  for (std::int64_t k = 0; k < to->size; ++k, from += width_) {
    std::uint32_t mask;
    std::memcpy(&mask, from, sizeof mask);
    to->data[k] = static_cast<std::byte>(mask);
  }
}

void ScalarProgram::run(std::span<const Tensor* const> in, std::span<const Tensor> out) const {
  ScalarFile memory(code_.bytes());
  std::byte* const file = memory.data();
  for (const Range& r : reads_) {
    const std::byte* from = detail::block(*in[r.array])->data + r.from;
    if (r.bytes == sizeof(double))
      std::memcpy(file + r.to, from, sizeof(double));
    else
      std::memcpy(file + r.to, from, r.bytes);
  }
  code_.run(file, {});
  const std::byte* z = file + code_.first_output();
  for (const Tensor& y : out) {
    const detail::Block* b = detail::block(y);
    const std::size_t bytes = static_cast<std::size_t>(b->size) * width_;
    if (b->dtype == DType::boolean) [[unlikely]]
      copy_masks(z, y);
    else
      std::memcpy(b->data, z, bytes);
    z += bytes;
  }
}

}  // namespace reel::loops
