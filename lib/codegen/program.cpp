// The plan of a program's C: units, which are scalar operations, loops over elements, and statements of primitives; the
// functions that hold them; and the place of each value.
#include "codegen/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "codegen/blocks.hpp"
#include "codegen/pointwise.hpp"
#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "ops/elementwise/program.hpp"

namespace reel::codegen {

namespace {

using csource::Array, csource::Writer;
using program::Index, program::Instruction, program::nothing, program::Operand, program::Program, program::Value;

constexpr std::size_t none = ~std::size_t{0};
const detail::Block* block_of(const Program& p, Index operand) { return detail::block(p.operands[operand].tensor); }

const ops::Program* lanes_of(const Instruction& i) {
  const ops::Primitive* p = i.operation.primitive;
  return p && p->evaluate == ops::elementwise_primitive().evaluate
             ? reinterpret_cast<const ops::Program*>(static_cast<std::intptr_t>(i.attributes.words()[0]))
             : nullptr;
}

// Whether each element of the outputs depends on one element of each input.
bool is_elementwise(const Instruction& i) {
  if (!i.operation.primitive) return !i.operation.summed;
  return lanes_of(i) || i.operation.primitive->write_c.expression;
}

// A value that the derivative formula of an instruction computes, and that exists: cos(x) beside the gradient of
// sin(x).
struct Shared {
  std::size_t node;  // of the formula
  Index operand;
};
using SharedValues = std::vector<std::vector<Shared>>;  // of each instruction

// Instructions that are written together: elementwise ones of a shape, or a single one.
struct Unit {
  std::vector<std::size_t> members;
  bool elementwise = false;
  Shape shape = {};  // of the elements
  std::size_t function = 0;
};

// Divides instructions into units, in the order in which they can run. An elementwise instruction joins the newest unit
// of its shape that nobody has read from yet.
class Division {
 public:
  Division(const Program& p, const std::vector<bool>& needed, const SharedValues& shared)
      : program_(p), shared_(shared), unit_of_(p.values.size(), none) {
    for (std::size_t at = 0; at < p.instructions.size(); ++at)
      if (needed[at]) place(at);
    std::stable_sort(units_.begin(), units_.end(),
                     [](const Unit& a, const Unit& b) { return a.members.back() < b.members.back(); });
  }
  std::vector<Unit>& units() { return units_; }

 private:
  void close_read(std::size_t at, std::size_t own) {
    const auto close = [&](Index o) {
      if (const std::size_t u = unit_of_[program_.operands[o].value]; u != none && u != own) open_[u] = false;
    };
    for (const Index o : program_.instructions[at].inputs)
      if (o != nothing) close(o);
    for (const Shared& one : shared_[at]) close(one.operand);
  }
  bool reads_other_elements(const Instruction& i, std::size_t unit) const {
    return std::any_of(i.inputs.begin(), i.inputs.end(), [&](Index o) {
      return o != nothing && unit_of_[program_.operands[o].value] == unit && !program_.operands[o].whole;
    });
  }
  void place(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    const bool elementwise = is_elementwise(i);
    Shape shape;
    std::size_t unit = units_.size();
    if (elementwise) {
      shape = program_.values[i.outputs[0]].tensor.shape();
      const bool loops = shape.elements() != 1;
      if (const auto newest = newest_.find({shape.begin(), shape.end()}); loops && newest != newest_.end())
        if (open_[newest->second] && !reads_other_elements(i, newest->second)) unit = newest->second;
      if (loops) newest_[{shape.begin(), shape.end()}] = unit;
    }
    close_read(at, unit);
    if (unit == units_.size()) {
      units_.push_back({{}, elementwise, shape});
      open_.push_back(true);
    }
    units_[unit].members.push_back(at);
    for (const Index v : i.outputs)
      if (v != nothing) unit_of_[v] = unit;
  }

  const Program& program_;
  const SharedValues& shared_;
  std::vector<Unit> units_;
  std::vector<bool> open_;
  std::vector<std::size_t> unit_of_;  // of each value
  std::map<std::vector<std::int64_t>, std::size_t> newest_;
};

// The instructions that the wanted results depend on, and those that may refuse their operands.
std::vector<bool> needed_by(const Program& p, const std::vector<bool>& wanted) {
  std::vector<bool> values(p.values.size()), instructions(p.instructions.size());
  for (std::size_t k = 0; k < p.results.size(); ++k)
    if (wanted[k]) values[p.operands[p.results[k]].value] = true;
  for (std::size_t at = instructions.size(); at-- > 0;) {
    const Instruction& i = p.instructions[at];
    instructions[at] = i.may_throw() || std::any_of(i.outputs.begin(), i.outputs.end(),
                                                    [&](Index v) { return v != nothing && values[v]; });
    for (const Index o : i.inputs)
      if (instructions[at] && o != nothing) values[p.operands[o].value] = true;
  }
  return instructions;
}

// Functions of one operand that instructions or relations give, found in the formulas of derivatives.
SharedValues find_shared(const Program& p, const std::vector<bool>& needed, std::span<const Relation> relations) {
  std::map<std::pair<std::size_t, Index>, Index> known;  // by definition and value of the operand
  std::vector<Index> operand_of(p.values.size(), nothing);
  for (std::size_t o = 0; o < p.operands.size(); ++o)
    if (p.operands[o].whole) operand_of[p.operands[o].value] = static_cast<Index>(o);
  for (const Relation& r : relations) known[{r.definition, p.arguments[r.x]}] = p.arguments[r.y];
  SharedValues shared(p.instructions.size());
  for (std::size_t at = 0; at < p.instructions.size(); ++at) {
    const Instruction& i = p.instructions[at];
    const ops::Operation& o = i.operation;
    if (!needed[at] || o.primitive || o.summed) continue;
    if (o.operand == ops::Operation::value) {
      if (i.inputs.size() == 1 && p.operands[i.inputs[0]].whole)
        known.try_emplace({o.definition, p.operands[i.inputs[0]].value}, i.outputs[0]);
      continue;
    }
    const loops::Graph& formula = ops::formula_of(o.definition, static_cast<std::size_t>(o.operand));
    const std::vector<bool> computed = needed_nodes(formula);
    for (std::size_t n = 0; n < formula.nodes.size(); ++n) {
      const loops::Node& node = formula.nodes[n];
      if (!computed[n] || node.opcode != loops::Opcode::value || node.in[0] < 0 || node.in[1] >= 0) continue;
      const loops::Node& from = formula.nodes[static_cast<std::size_t>(node.in[0])];
      if (from.opcode != loops::Opcode::input || static_cast<std::size_t>(from.in[0]) >= i.inputs.size()) continue;
      const Operand& x = p.operands[i.inputs[static_cast<std::size_t>(from.in[0])]];
      const auto found = known.find({node.function, x.value});
      if (found == known.end() || !x.whole || operand_of[found->second] == nothing) continue;
      if (p.values[found->second].tensor.shape() == p.values[i.outputs[0]].tensor.shape())
        shared[at].push_back({n, operand_of[found->second]});
    }
  }
  return shared;
}

// An estimate of the statements of an instruction.
std::size_t statements_of(const Instruction& i) {
  constexpr std::size_t of_primitive = 8;
  if (const ops::Program* lanes = lanes_of(i)) return lanes->graph().nodes.size();
  if (i.operation.primitive) return i.operation.primitive->write_c.expression ? 1 : of_primitive;
  if (i.operation.operand == ops::Operation::value) return 1;
  return ops::formula_of(i.operation.definition, static_cast<std::size_t>(i.operation.operand)).nodes.size() -
         loops::node_operands;
}

// Gives the workspace of an array back, or that of what a token stands for.
void release_place(Writer& w, const Array& x) {
  if (!x.token) return w.workspace().give_back(x);
  for (const Array& one : x.token->arrays) release_place(w, one);
}

class ProgramWriter {
 public:
  ProgramWriter(Writer& w, const Program& p, std::span<const Array> arguments, std::span<const Array> targets,
                std::vector<bool> wanted, std::span<const Relation> relations)
      : w_(w),
        p_(p),
        wanted_(std::move(wanted)),
        needed_(needed_by(p, wanted_)),
        shared_(find_shared(p, needed_, relations)),
        units_(std::move(Division(p, needed_, shared_).units())),
        values_(p.values.size()) {
    check();
    for (std::size_t k = 0; k < arguments.size(); ++k) set_argument(p.arguments[k], arguments[k]);
    for (std::size_t v = 0; v < p.values.size(); ++v)
      if (p.values[v].origin == Value::Origin::constant && csource::type_of(p.values[v].tensor.dtype()))
        values_[v].place = w.constant(loops::contiguous(p.values[v].tensor));
    cut();
    find_uses();
    set_targets(targets);
  }

  Written write(std::span<const Array> targets) {
    std::size_t function = none;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      if (several_ && units_[u].function != function) {
        if (function != none) w_.close_function();
        w_.open_function();
      }
      function = units_[u].function;
      write_unit(u);
    }
    if (several_) {
      w_.close_function();
      function = none;  // its variables end with it
    }
    Written written;
    for (std::size_t k = 0; k < p_.results.size(); ++k) {
      if (!wanted_[k]) {
        written.results.emplace_back();
        continue;
      }
      const Operand& o = p_.operands[p_.results[k]];
      const Array x = array_of(p_.results[k], function);
      const bool aimed = k < targets.size() && !targets[k].name.empty();
      if (aimed && values_[o.value].target != k) w_.copy(x, targets[k]);
      written.results.push_back(aimed ? targets[k] : x);
    }
    for (ValueState& v : values_)
      if (v.taken) written.taken.push_back(v.place);
    written.taken.insert(written.taken.end(), copies_.begin(), copies_.end());
    return written;
  }

 private:
  struct ValueState {
    Array place = {};        // where functions find it
    std::string local = {};  // a variable that holds it, in function `function`
    std::size_t function = none;
    std::size_t last_use = 0;   // the unit; that behind the last one for results
    bool read = false;          // certainly: others than elementwise operations may need a shape alone
    bool leaves = false;        // is read in another function, or is a result
    std::size_t target = none;  // the result in whose memory it is computed
    bool taken = false;         // its place is workspace that is to be given back
  };

  // What an instruction reads.
  std::vector<Index> operands_of(std::size_t m) const {
    std::vector<Index> list;
    for (const Index o : p_.instructions[m].inputs)
      if (o != nothing) list.push_back(o);
    for (const Shared& one : shared_[m]) list.push_back(one.operand);
    return list;
  }

  std::string line_of(const Instruction& i) const {
    const std::string line = tape::to_string(i.line, " (");
    return i.operation.name + (line.empty() ? line : line + ")");
  }

  // Operands are views of an argument in the layout that it was traced with: an array of another one is copied. Views
  // of one memory may be operands of each other's values, so one of the same layout is not.
  void set_argument(Index value, const Array& x) {
    const detail::Block* b = block_of_value(value);
    const Shape strides(b->strides(), static_cast<std::size_t>(b->rank));
    if (x.token || x.single || x.size() == 0 || has_strides(x, strides)) {
      values_[value].place = x;
    } else if (b->contiguous()) {
      take_place(value, x.shape);
      w_.copy(x, values_[value].place);
    } else {
      std::int64_t first = 0, last = 0;  // relative to element 0
      for (std::size_t d = 0; d < strides.size(); ++d) {
        const std::int64_t way = (x.shape.begin()[d] - 1) * strides.begin()[d];
        (way < 0 ? first : last) += way;
      }
      copies_.push_back(w_.workspace().take(x.dtype, {last - first + 1}));
      values_[value].place = csource::view(copies_.back(), csource::Index(-first), x.shape, strides);
      w_.copy(x, values_[value].place);
    }
  }
  const detail::Block* block_of_value(Index value) const { return detail::block(p_.values[value].tensor); }
  static bool has_strides(const Array& x, const Shape& strides) {
    for (std::size_t d = 0; d < strides.size(); ++d)
      if (x.shape.begin()[d] != 1 && x.strides.begin()[d] != strides.begin()[d]) return false;
    return true;
  }

  // Before anything is written.
  void check() const {
    for (const Instruction& i : p_.instructions) {
      const ops::Primitive* p = i.operation.primitive;
      if (p && !lanes_of(i) && !p->write_c.expression && !p->write_c.statements)
        detail::fail<TraceError>(
            "generate_c", "{} has no form in C; compute it outside of the function and pass the result as an argument",
            line_of(i));
      for (const Index o : i.inputs)
        if (o != nothing && !csource::type_of(p_.operands[o].tensor.dtype()))
          detail::fail<TypeError>("generate_c", "{} reads {}, which has no type in C; cast it to float32 or float64",
                                  line_of(i), p_.operands[o].tensor.dtype());
      for (const Index v : i.outputs)
        if (v != nothing && !program::is_token(p_.values[v].tensor) && !csource::type_of(p_.values[v].tensor.dtype()))
          detail::fail<TypeError>("generate_c",
                                  "{} computes {}, which has no type in C; cast its operands to float32 or "
                                  "float64",
                                  line_of(i), p_.values[v].tensor.dtype());
    }
  }

  // Divides the units into functions.
  void cut() {
    std::size_t function = 0, statements = 0;
    for (Unit& u : units_) {
      std::size_t own = 0;
      for (const std::size_t m : u.members) own += statements_of(p_.instructions[m]);
      if (statements > 0 && statements + own > w_.most_statements()) {
        ++function;
        statements = 0;
      }
      statements += own;
      u.function = function;
    }
    several_ = function > 0;
  }

  void find_uses() {
    std::vector<std::size_t> made(p_.values.size(), none);
    for (std::size_t u = 0; u < units_.size(); ++u)
      for (const std::size_t m : units_[u].members) {
        for (const Index v : p_.instructions[m].outputs)
          if (v != nothing) {
            made[v] = units_[u].function;
            values_[v].last_use = u;
          }
        for (const Index o : operands_of(m)) {
          const Index v = p_.operands[o].value;
          values_[v].read |= units_[u].elementwise && units_[u].shape.elements() != 0;
          values_[v].last_use = std::max(values_[v].last_use, u);
          values_[v].leaves |= made[v] != none && made[v] != units_[u].function;
        }
      }
    for (std::size_t k = 0; k < p_.results.size(); ++k) {
      if (!wanted_[k]) continue;
      const Index o = p_.results[k];
      values_[p_.operands[o].value].read = true;
      values_[p_.operands[o].value].last_use = units_.size();
      values_[p_.operands[o].value].leaves |= several_;
    }
  }

  // Results that are computed where they go.
  void set_targets(std::span<const Array> targets) {
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const Operand& o = p_.operands[p_.results[k]];
      ValueState& v = values_[o.value];
      const bool apt = !targets[k].name.empty() && p_.values[o.value].origin == Value::Origin::result && o.whole &&
                       detail::block(o.tensor)->contiguous() && v.target == none && targets[k].dense();
      if (!apt) continue;
      v.target = k;
      v.place = targets[k];
    }
  }

  Array array_of(Index operand, std::size_t function) const {
    const Operand& o = p_.operands[operand];
    const ValueState& v = values_[o.value];
    if (v.place.token) return v.place;
    const detail::Block* b = detail::block(o.tensor);
    // A constant that is a view is written as a dense array; program/trace.cpp reads such constants whole.
    if (const Value& value = p_.values[o.value];
        value.origin == Value::Origin::constant && !detail::block(value.tensor)->contiguous()) {
      if (!o.whole) detail::fail<TraceError>("generate_c", "part of a constant that is itself a view has no form in C");
      return v.place;
    }
    const Shape shape = b->shape(), strides(b->strides(), static_cast<std::size_t>(b->rank));
    if (!v.local.empty() && v.function == function) return csource::single_value(v.local, b->dtype, shape);
    if (v.place.single) return csource::single_value(v.place.name, b->dtype, shape);
    const csource::Index offset(o.offset / static_cast<std::int64_t>(item_size(b->dtype)));
    return csource::view(v.place, offset, shape, strides);
  }

  void write_unit(std::size_t u) {
    const Unit& unit = units_[u];
    const Instruction& last = p_.instructions[unit.members.back()];
    Writer::Instruction outer = w_.exchange({{}, {}, line_of(last)});
    const std::size_t temporaries = w_.temporaries();
    const Counts before{w_.flops(), w_.calls(), w_.estimate().interpreted};
    if (!unit.elementwise)
      write_statements(u, last);
    else if (unit.shape.elements() == 1)
      write_scalars(u, unit.members.back());
    else if (unit.shape.elements() > 1)
      write_elements(u);
    w_.free_temporaries(temporaries);
    w_.exchange(std::move(outer));
    estimate(unit, before);
    for (const std::size_t m : unit.members) {
      for (const Index o : operands_of(m)) give_back(p_.operands[o].value, u);
      for (const Index v : p_.instructions[m].outputs)
        if (v != nothing) give_back(v, u);
    }
  }

  struct Counts {
    double flops, calls, interpreted;
  };
  // The costs in ns were measured on Zen 4.
  void estimate(const Unit& unit, const Counts& before) {
    constexpr double per_scalar = 7, per_step = 15, per_loop = 30, per_primitive = 60;  // of the interpreter
    constexpr double kernel_flop = 0.1, kernel_call = 1, product_flop = 0.05;           // of vector kernels
    constexpr double flop = 0.3, vector_flop = 0.1, call = 8;                           // of native code
    const double flops = w_.flops() - before.flops, calls = w_.calls() - before.calls;
    Writer::Estimate& e = w_.estimate();
    double steps = 0;
    for (const std::size_t m : unit.members) steps += static_cast<double>(statements_of(p_.instructions[m]));
    if (!unit.elementwise) {
      const bool has_bodies = e.interpreted > before.interpreted;  // which are counted already
      e.interpreted +=
          w_.multiplicity() * per_primitive + (has_bodies ? 0 : flops * product_flop + calls * kernel_call);
      e.native += has_bodies ? 0 : flops * flop + calls * call;
    } else if (unit.shape.elements() == 1) {
      e.interpreted += w_.multiplicity() * per_scalar * steps + calls * call;
      e.native += w_.multiplicity() * flop * steps + calls * call;
    } else {
      e.interpreted += w_.multiplicity() * (per_loop + per_step * steps) + flops * kernel_flop + calls * kernel_call;
      e.native += flops * vector_flop + calls * call;
    }
  }

  void give_back(Index value, std::size_t u) {
    ValueState& v = values_[value];
    if (!v.taken || v.last_use > u) return;
    release_place(w_, v.place);
    v.taken = false;
  }

  void take_place(Index value, const Shape& shape) {
    ValueState& v = values_[value];
    if (!v.place.name.empty()) return;
    v.place = w_.workspace().take(p_.values[value].tensor.dtype(), shape);
    v.taken = true;
  }

  // ---- Primitives

  void write_statements(std::size_t u, const Instruction& i) {
    Writer::Instruction now{{}, {}, line_of(i)};
    static const Tensor empty;
    std::vector<const Tensor*> inputs;
    for (const Index o : i.inputs) {
      now.inputs.push_back(o == nothing ? Array() : array_of(o, units_[u].function));
      inputs.push_back(o == nothing ? &empty : &p_.operands[o].tensor);
    }
    bool any = false;
    for (const Index v : i.outputs) {
      now.outputs.push_back(v == nothing ? unwanted(i, inputs, now.outputs.size()) : output(v, u));
      any |= v != nothing && (p_.values[v].tensor.size() != 0 || program::is_token(p_.values[v].tensor));
    }
    if (!any && !i.may_throw()) return;
    const std::vector<Array> outputs = now.outputs;
    Writer::Instruction outer = w_.exchange(std::move(now));
    if (i.operation.primitive)
      i.operation.primitive->write_c.statements({inputs, i.attributes.words()}, w_);
    else
      write_summed(i, outputs[0]);
    now = w_.exchange(std::move(outer));
    for (std::size_t k = 0; k < i.outputs.size(); ++k)
      if (now.outputs[k].token) {
        values_[i.outputs[k]].place = now.outputs[k];
        values_[i.outputs[k]].taken = true;
      }
  }

  // An output that nobody reads has no name, but a shape.
  static Array unwanted(const Instruction& i, std::span<const Tensor* const> inputs, std::size_t k) {
    Array y;
    if (!i.operation.primitive) return y;
    ops::Metas metas;
    i.operation.primitive->infer({inputs, i.attributes.words()}, metas);
    y.dtype = metas[k].dtype;
    y.shape = metas[k].shape;
    return y;
  }

  // A variable for one element that only this function reads, workspace otherwise.
  Array output(Index value, std::size_t u) {
    ValueState& v = values_[value];
    const Tensor& like = p_.values[value].tensor;
    if (program::is_token(like)) return csource::single_value("token", like.dtype(), like.shape());
    if (like.size() == 1 && !v.leaves && v.place.name.empty()) {
      v.local = w_.variable(like.dtype(), zero_of(like.dtype()));
      v.function = units_[u].function;
      w_.statement("(void)" + v.local);  // what reads it may need its shape alone
      return csource::single_value(v.local, like.dtype(), like.shape());
    }
    take_place(value, like.shape());
    return v.place;
  }
  static std::string zero_of(DType d) {
    return is_differentiable(d) ? csource::literal(0.0, d) : csource::literal(std::int64_t{0}, d);
  }

  // A derivative in the shape of its cotangent, summed down to the output's.
  void write_summed(const Instruction& i, const Array& y) {
    const ops::Operation& o = i.operation;
    const Shape full = block_of(p_, i.inputs[0])->shape();
    std::vector<Array> x;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) x.push_back(csource::broadcast(w_.input(k), full));
    const int lead = full.rank() - y.rank();
    Shape over;
    std::vector<int> axes;
    for (int d = 0; d < full.rank(); ++d)
      if (d < lead || y.shape.begin()[d - lead] != full.begin()[d]) {
        over.push_back(full.begin()[d]);
        axes.push_back(d);
      }
    const csource::Blocks nest(w_);
    const std::vector<csource::Index> at = w_.loops(y.shape);
    const std::string s = w_.sum(y.dtype, over, [&](std::span<const csource::Index> inner) {
      std::vector<csource::Index> position(full.size());
      for (std::size_t d = 0; d < at.size(); ++d) position[d + static_cast<std::size_t>(lead)] = at[d];
      for (std::size_t k = 0; k < axes.size(); ++k) position[static_cast<std::size_t>(axes[k])] = inner[k];
      std::vector<std::string> elements;
      for (const Array& one : x) elements.push_back(one.at(position));
      return pointwise_derivative(w_, o.definition, static_cast<std::size_t>(o.operand), y.dtype, elements);
    });
    w_.store(y, at, s);
  }

  // ---- Elementwise operations

  // The values of the outputs at one element. Those that nobody reads are mentioned, which keeps compilers silent.
  std::vector<std::string> elements_of(const Instruction& i, std::span<const std::string> x, const KnownNodes& known) {
    std::vector<std::string> y = computed(i, x, known);
    for (std::size_t k = 0; k < y.size(); ++k)
      if (i.outputs[k] == nothing || !values_[i.outputs[k]].read) w_.statement("(void)" + y[k]);
    return y;
  }
  std::vector<std::string> computed(const Instruction& i, std::span<const std::string> x, const KnownNodes& known) {
    const ops::Operation& o = i.operation;
    const DType d = p_.values[i.outputs[0]].tensor.dtype();
    if (const ops::Program* lanes = lanes_of(i)) {
      std::vector<double> parameters;
      for (const std::int64_t word : i.attributes.words().subspan(1)) parameters.push_back(std::bit_cast<double>(word));
      return write_graph(w_, lanes->graph(), d, x, parameters);
    }
    if (o.primitive) {
      std::vector<const Tensor*> inputs;
      for (const Index k : i.inputs) inputs.push_back(&p_.operands[k].tensor);
      return {w_.let(d, o.primitive->write_c.expression({inputs, i.attributes.words()}, w_, x))};
    }
    if (o.operand == ops::Operation::value) {
      if (o.check) {
        std::string why;
        const std::string condition = refused_operands(o.definition, d, x, why);
        if (!condition.empty()) w_.refuse_if(condition, why);
      }
      return {w_.let(d, pointwise_value(w_, o.definition, d, x))};
    }
    return {pointwise_derivative(w_, o.definition, static_cast<std::size_t>(o.operand), d, x, known)};
  }

  void write_scalars(std::size_t u, std::size_t m) {
    const Instruction& i = p_.instructions[m];
    std::vector<std::string> x;
    for (const Index o : i.inputs) x.push_back(array_of(o, units_[u].function).value());
    KnownNodes known;
    for (const Shared& one : shared_[m])
      known.emplace_back(one.node, array_of(one.operand, units_[u].function).value());
    const std::vector<std::string> y = elements_of(i, x, known);
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (i.outputs[k] == nothing) continue;
      ValueState& v = values_[i.outputs[k]];
      v.local = y[k];
      v.function = units_[u].function;
      if (!v.leaves && v.target == none) continue;
      take_place(i.outputs[k], p_.values[i.outputs[k]].tensor.shape());
      w_.statement(fmt::format("{} = {}", v.place.value(), y[k]));
    }
  }

  // Arrays that a loop over elements reads and writes.
  struct Elements {
    std::vector<Index> loaded, stored;  // operands; values
    std::vector<Array> arrays;          // of them, in this order
  };

  // An input that nobody reads afterwards, element by element, hands its place to the output.
  bool take_over(Index value, std::size_t u, const Elements& e, std::vector<bool>& handed) {
    ValueState& to = values_[value];
    const Tensor& like = p_.values[value].tensor;
    for (std::size_t k = 0; k < e.loaded.size(); ++k) {
      const Operand& o = p_.operands[e.loaded[k]];
      ValueState& from = values_[o.value];
      const bool once = std::count_if(e.loaded.begin(), e.loaded.end(),
                                      [&](Index x) { return p_.operands[x].value == o.value; }) == 1;
      if (handed[k] || !once || !o.whole || !from.taken || from.last_use != u || o.tensor.dtype() != like.dtype() ||
          o.tensor.shape() != like.shape())
        continue;
      handed[k] = true;
      to.place = from.place;
      to.taken = true;
      from.taken = false;
      return true;
    }
    return false;
  }

  Elements find_elements(std::size_t u) {
    const Unit& unit = units_[u];
    Elements e;
    std::vector<bool> made(p_.values.size());
    for (const std::size_t m : unit.members) {
      for (const Index o : operands_of(m))
        if (!made[p_.operands[o].value] && std::find(e.loaded.begin(), e.loaded.end(), o) == e.loaded.end())
          e.loaded.push_back(o);
      for (const Index v : p_.instructions[m].outputs)
        if (v != nothing) made[v] = true;
    }
    for (const Index o : e.loaded) e.arrays.push_back(csource::broadcast(array_of(o, unit.function), unit.shape));
    std::vector<bool> handed(e.loaded.size());
    for (const std::size_t m : unit.members)
      for (const Index v : p_.instructions[m].outputs) {
        if (v == nothing || (values_[v].last_use == u && values_[v].target == none)) continue;
        if (values_[v].place.name.empty() && !take_over(v, u, e, handed)) take_place(v, unit.shape);
        e.stored.push_back(v);
      }
    for (const Index v : e.stored) e.arrays.push_back(values_[v].place);
    return e;
  }

  void write_elements(std::size_t u) {
    const Unit& unit = units_[u];
    Elements e = find_elements(u);
    Shape shape = unit.shape;
    csource::merge_axes(shape, e.arrays);
    std::vector<std::string> loaded(e.loaded.size());
    const auto is_invariant = [&](const Array& x) {
      return std::all_of(x.strides.begin(), x.strides.end(), [](std::int64_t s) { return s == 0; });
    };
    const std::vector<csource::Index> first(shape.size());
    const csource::Blocks block(w_);
    for (std::size_t k = 0; k < loaded.size(); ++k)
      if (is_invariant(e.arrays[k]))
        loaded[k] = e.arrays[k].single ? e.arrays[k].name : w_.let(e.arrays[k].dtype, e.arrays[k].at(first));
    const csource::Blocks nest(w_);
    std::vector<csource::Index> at = w_.loops(Shape(shape.data(), shape.size() - 1));
    const Writer::Position start = w_.position();
    ElementLoop loop{w_.index_name(), shape.begin()[shape.rank() - 1], {}, reads_stored(e)};
    csource::Definitions defined;
    {
      const csource::Blocks inner(w_);
      at.push_back(w_.loop(loop.extent));
      w_.list_definitions(&defined);
      for (std::size_t k = 0; k < loaded.size(); ++k)
        if (loaded[k].empty()) loaded[k] = w_.let(e.arrays[k].dtype, e.arrays[k].at(at));
      std::map<Index, std::string> made = write_members(u, e, loaded);
      w_.list_definitions(nullptr);
      for (std::size_t k = 0; k < e.stored.size(); ++k) {
        const Array& y = e.arrays[e.loaded.size() + k];
        loop.stores.emplace_back(y.at(at), made[e.stored[k]]);
        w_.store(y, at, made[e.stored[k]]);
      }
    }
    if (!gains_by_blocks(w_, defined, loop)) return;
    w_.rewind(start);
    write_in_blocks(w_, defined, loop);
  }
  // Whether it may store to an array that it reads.
  static bool reads_stored(const Elements& e) {
    const auto are_apart = [](const Array& x, const Array& y) {
      if (x.single || x.name != y.name) return true;
      if (!x.dense() || !y.dense() || !x.offset.is_constant() || !y.offset.is_constant()) return false;
      const std::int64_t at = x.offset.constant() - y.offset.constant();
      return at >= y.size() || -at >= x.size();
    };
    for (std::size_t k = e.loaded.size(); k < e.arrays.size(); ++k)
      for (std::size_t j = 0; j < e.loaded.size(); ++j)
        if (!are_apart(e.arrays[j], e.arrays[k])) return true;
    return false;
  }
  // The values of all outputs at an element.
  std::map<Index, std::string> write_members(std::size_t u, const Elements& e, std::span<const std::string> loaded) {
    const Unit& unit = units_[u];
    std::map<Index, std::string> made;
    for (const std::size_t m : unit.members) {
      const Instruction& i = p_.instructions[m];
      const auto element = [&](Index o) {
        const auto own = made.find(p_.operands[o].value);
        return own != made.end() ? own->second
                                 : loaded[static_cast<std::size_t>(std::find(e.loaded.begin(), e.loaded.end(), o) -
                                                                   e.loaded.begin())];
      };
      std::vector<std::string> x;
      for (const Index o : i.inputs) x.push_back(element(o));
      KnownNodes known;
      for (const Shared& one : shared_[m]) known.emplace_back(one.node, element(one.operand));
      const std::vector<std::string> y = elements_of(i, x, known);
      for (std::size_t k = 0; k < y.size(); ++k)
        if (i.outputs[k] != nothing) made[i.outputs[k]] = y[k];
    }
    return made;
  }

  Writer& w_;
  const Program& p_;
  std::vector<bool> wanted_;  // of the results
  std::vector<bool> needed_;  // of the instructions
  SharedValues shared_;
  std::vector<Unit> units_;
  std::vector<ValueState> values_;
  std::vector<Array> copies_;  // of arguments
  bool several_ = false;       // functions
};

}  // namespace

std::int64_t integer_of(const Tensor& x) { return *reinterpret_cast<const std::int64_t*>(detail::block(x)->data); }

void Written::release(Writer& w) {
  for (const Array& x : taken) release_place(w, x);
  taken.clear();
}

Written write_program(Writer& w, const Program& program, std::span<const Array> arguments,
                      std::span<const Array> targets, std::vector<bool> wanted, std::span<const Relation> relations) {
  wanted.resize(program.results.size(), true);
  return ProgramWriter(w, program, arguments, targets, std::move(wanted), relations).write(targets);
}

}  // namespace reel::codegen
