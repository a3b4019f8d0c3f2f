// 1. Each instruction is written alone, to learn whether it has a form in C and what it costs in native code. It is apt
//    if that is not more than an interpreter needs.
// 2. Apt instructions are divided into groups. A group takes the place of its last member, so it ends where an
//    instruction outside reads from it.
// 3. The groups become C functions of one file, which is compiled and loaded.
#include "codegen/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "codegen/native_object.hpp"
#include "codegen/program.hpp"
#include "core/fail.hpp"
#include "core/word.hpp"
#include "loops/loops.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"

namespace reel::codegen {

namespace {

using csource::Array, csource::Workspace, csource::Writer;
using program::Index, program::Instruction, program::nothing, program::Operand, program::Program, program::Value;

// ---- The instruction

// The native code of a group. Its inputs are whole values; its last output is the workspace.
struct Code {
  Program instructions = {};  // what it replaces
  std::size_t replaced = 0;
  std::int64_t workspace = 0;
  std::shared_ptr<const os::SharedObject> object = {};
  int (*function)(void* const* arrays) = nullptr;
  std::atomic<int> uses{0};
};

const Code& code_of(ops::Attributes words) noexcept { return *detail::pointer_of<const Code>(words[0]); }
void retain(ops::Attributes words) noexcept { ++const_cast<Code&>(code_of(words)).uses; }
void release(ops::Attributes words) noexcept {
  auto& code = const_cast<Code&>(code_of(words));
  if (--code.uses == 0) delete &code;
}

void infer(const ops::Call& call, ops::Metas& out) {
  const Code& code = code_of(call.attributes);
  for (const Index o : code.instructions.results) out.add_like(code.instructions.operands[o].tensor);
  out.add(DType::uint8, {code.workspace});
}

// The values are refused: the instructions themselves throw.
[[gnu::cold, gnu::noinline]] void interpret(const Code& code, const ops::Call& call, ops::Outputs& out) {
  std::vector<Tensor> inputs, results(code.instructions.results.size());
  for (const Tensor* x : call.inputs) inputs.push_back(*x);
  program::Executable(code.instructions).run(inputs, results);
  for (std::size_t k = 0; k < results.size(); ++k) loops::copy(results[k], out[k]);
}

void evaluate(const ops::Call& call, ops::Outputs& out) {
  const Code& code = code_of(call.attributes);
  const std::size_t inputs = call.inputs.size(), outputs = out.size();
  detail::ShortList<void*, 32> arrays(inputs + outputs);
  void** next = arrays.data();
  for (const Tensor* x : call.inputs) *next++ = detail::block(*x)->data;
  for (std::size_t k = 0; k < outputs; ++k) *next++ = detail::block(out[k])->data;
  if (code.function(arrays.data()) != 0) [[unlikely]]
    interpret(code, call, out);
}

constexpr ops::Primitive native_primitive = {
    .rule = {.name = "native", .release = release, .retain = retain}, .infer = infer, .evaluate = evaluate};

// ---- Parts of a program as programs

constexpr std::int64_t most_constant_elements = 64;  // of constants that become part of the source

// Chosen instructions as a program: its arguments are the values that they read from outside.
class Extraction {
 public:
  Extraction(const Program& p, std::span<const std::size_t> members, const std::vector<Index>& uses) : program_(p) {
    std::map<Index, Index> inside;  // how often members read what members compute
    for (const std::size_t m : members) add(p.instructions[m], inside);
    for (const std::size_t m : members)
      for (const Index v : p.instructions[m].outputs)
        if (v != nothing && !program::is_token(p.values[v].tensor) && uses[v] > inside[v]) {
          made.results.push_back(made.whole(value_[v]));
          outputs.push_back(v);
        }
  }
  Program made;
  std::vector<Index> inputs, outputs;  // values of the program

 private:
  void add(const Instruction& i, std::map<Index, Index>& inside) {
    Instruction copy = i;
    for (Index& o : copy.inputs)
      if (o != nothing) {
        const Index v = program_.operands[o].value;
        ++inside[v];
        if (!value_.contains(v)) value_[v] = outside(v);
        o = made.operand(value_[v], program_.operands[o].tensor);
      }
    for (Index& v : copy.outputs)
      if (v != nothing) v = value_[v] = made.add_value(Value::Origin::result, program_.values[v].tensor);
    made.instructions.push_back(std::move(copy));
  }
  Index outside(Index v) {
    const Value& value = program_.values[v];
    const bool in_source = value.origin == Value::Origin::constant && value.tensor.size() <= most_constant_elements;
    const Index own = made.add_value(in_source ? Value::Origin::constant : Value::Origin::argument, value.tensor);
    if (in_source) return own;
    made.arguments.push_back(own);
    inputs.push_back(v);
    return own;
  }
  const Program& program_;
  std::map<Index, Index> value_;  // for values of the program those of `made`
};

// gcc takes half a second for as many. A function that holds a computation and its gradient computes sin once for both.
constexpr std::size_t longest_function = 4000;

// The C function of a program: body of `prefix`, which takes a list of pointers to arguments, results and workspace.
void write_function(Writer& w, const Program& p) {
  w.set_most_statements(longest_function);
  std::vector<Array> arguments, targets;
  const auto add = [&](const char* letter, const char* type, const Tensor& x, std::vector<Array>& list) {
    const std::string name = letter + std::to_string(list.size());
    w.declare(name, fmt::format("{}{} *__restrict", type, csource::type_of(x.dtype())));
    list.push_back(csource::dense_array(name, x.dtype(), x.shape()));
  };
  for (const Index v : p.arguments) add("x", "const ", p.values[v].tensor, arguments);
  for (const Index o : p.results) add("y", "", p.operands[o].tensor, targets);
  for (const DType d : Workspace::types)
    w.declare(Workspace::pointer(d), fmt::format("{} *__restrict", csource::type_of(d)));
  write_program(w, p, arguments, targets).release(w);
}

std::set<std::string> names_of(const Program& p) {
  std::set<std::string> names;
  for (std::size_t k = 0; k < p.arguments.size(); ++k) names.insert("x" + std::to_string(k));
  for (std::size_t k = 0; k < p.results.size(); ++k) names.insert("y" + std::to_string(k));
  return names;
}

std::string text_of(const Writer& w, const Program& p) {
  std::string parameters, arguments, regions;
  std::size_t k = 0;
  const auto add = [&](const char* type, const Tensor& x, const std::string& name) {
    const char* const element = csource::type_of(x.dtype());
    parameters += fmt::format("{}{} *__restrict {}, ", type, element, name);
    arguments += fmt::format("({}{} *)p[{}], ", type, element, k++);
  };
  for (std::size_t i = 0; i < p.arguments.size(); ++i)
    add("const ", p.values[p.arguments[i]].tensor, "x" + std::to_string(i));
  for (std::size_t i = 0; i < p.results.size(); ++i) add("", p.operands[p.results[i]].tensor, "y" + std::to_string(i));
  std::int64_t at = 0;
  for (const DType d : Workspace::types)
    if (const std::int64_t words = w.workspace().words(d); words > 0) {
      regions += fmt::format("  {0} *__restrict const {1} = ({0} *)(workspace + {2});\n", csource::type_of(d),
                             Workspace::pointer(d), 8 * at);
      at += words;
    }
  return fmt::format(
      "{0}{1}{2}static int {3}({4}char *workspace) {{\n{5}{6}  return 0;\n}}\n"
      "REEL_PUBLIC int {3}_run(void *const *p) {{ return {3}({7}(char *)p[{8}]); }}\n\n",
      w.constants(), w.helpers(), w.functions(), w.prefix(), parameters, regions, w.body(), arguments, k);
}

// ---- Which instructions are apt

constexpr double least_gain = 60;              // of a group, in ns: native code has a call of its own
constexpr std::int64_t most_elements = 32767;  // of any array: larger loops use several threads
constexpr std::int64_t most_workspace = std::int64_t{1} << 28;
constexpr std::int64_t few_elements = 16;  // up to here an interpreter gains nothing by fusion

// Sets of numbers that are joined.
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    for (std::size_t k = 0; k < count; ++k) parent_[k] = k;
  }
  std::size_t root(std::size_t k) {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  void join(std::size_t a, std::size_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<std::size_t> parent_;
};

constexpr std::size_t unset = ~std::size_t{0};

class Aptitude {
 public:
  explicit Aptitude(const Program& p)
      : uses(p.count_uses()), program_(p), gain_(p.instructions.size()), maker_(p.values.size(), unset) {
    for (std::size_t i = 0; i < gain_.size(); ++i)
      for (const Index v : p.instructions[i].outputs)
        if (v != nothing) maker_[v] = i;
    for (std::size_t i = 0; i < gain_.size(); ++i) gain_[i] = gain_of(i);
    keep_fused();
    join_tokens();
  }
  /// What native code saves, in ns; negative: the instruction is not apt.
  double gain(std::size_t instruction) const { return gain_[instruction]; }
  void refuse(std::span<const std::size_t> instructions) {
    for (const std::size_t i : instructions) gain_[i] = -1;
  }
  /// Instructions that pass tokens to one another: all of a set are in one group, or none is.
  const std::vector<std::vector<std::size_t>>& token_sets() const { return token_sets_; }
  const std::vector<Index> uses;

 private:
  const Tensor& tensor_of(Index operand) const { return program_.operands[operand].tensor; }
  static bool is_written(const Tensor& x) { return csource::type_of(x.dtype()) && x.size() <= most_elements; }
  bool is_written(const Instruction& i) const {
    return std::all_of(i.inputs.begin(), i.inputs.end(),
                       [&](Index o) { return o == nothing || is_written(tensor_of(o)); }) &&
           std::all_of(i.outputs.begin(), i.outputs.end(),
                       [&](Index v) { return v == nothing || is_written(program_.values[v].tensor); });
  }
  bool is_token(Index value) const { return program::is_token(program_.values[value].tensor); }
  bool passes_token(const Instruction& i) const {
    return std::any_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v != nothing && is_token(v); }) ||
           std::any_of(i.inputs.begin(), i.inputs.end(),
                       [&](Index o) { return o != nothing && is_token(program_.operands[o].value); });
  }
  // What native code of these instructions saves; negative if one has no form in C.
  double written_gain(std::span<const std::size_t> members) const {
    const Extraction part(program_, members, uses);
    Writer w("n", names_of(part.made));
    try {
      write_function(w, part.made);
    } catch (const Error&) {
      return -1;
    }
    return w.workspace().bytes() > most_workspace ? -1 : w.estimate().interpreted - w.estimate().native;
  }
  double gain_of(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    if (passes_token(i)) return -1;  // until join_tokens()
    if (!is_written(i)) return -1;
    const std::size_t one[] = {at};
    if (!i.pointwise() || i.operation.summed || program_.values[i.outputs[0]].tensor.size() != 1)
      return written_gain(one);
    const DType d = program_.values[i.outputs[0]].tensor.dtype();  // scalar operations of one kind have one answer
    const auto [found, added] =
        known_.try_emplace({i.operation.definition, i.operation.operand, d, i.operation.check != nullptr}, -1.);
    if (added) found->second = written_gain(one);
    return found->second;
  }

  // The element count of an operation that fusion may join with others of its shape; 0 for others.
  std::int64_t fused_elements(const Instruction& i) const {
    const bool elementwise = i.pointwise() ? !i.operation.summed : i.operation.primitive->write_c.expression != nullptr;
    return elementwise ? program_.values[i.outputs[0]].tensor.size() : 0;
  }
  // Operations on arrays stay together: an interpreter that runs some of them fuses them with the others.
  void keep_fused() {
    Sets sets(gain_.size());
    const auto is_large = [&](std::size_t i) { return fused_elements(program_.instructions[i]) > few_elements; };
    for (std::size_t i = 0; i < gain_.size(); ++i)
      if (is_large(i))
        for (const Index o : program_.instructions[i].inputs)
          if (const std::size_t from = maker_[program_.operands[o].value];
              from != unset && is_large(from) &&
              fused_elements(program_.instructions[from]) == fused_elements(program_.instructions[i]))
            sets.join(from, i);
    std::vector<bool> refused(gain_.size());
    for (std::size_t i = 0; i < gain_.size(); ++i)
      if (is_large(i) && gain_[i] < 0) refused[sets.root(i)] = true;
    for (std::size_t i = 0; i < gain_.size(); ++i)
      if (is_large(i) && refused[sets.root(i)]) gain_[i] = -1;
  }

  // Tokens that come from outside, or are results, are objects of an interpreter.
  void join_tokens() {
    Sets sets(gain_.size());
    std::vector<std::size_t> passing;
    std::vector<bool> foreign(gain_.size());
    for (std::size_t i = 0; i < gain_.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      if (!passes_token(instruction)) continue;
      passing.push_back(i);
      if (!is_written(instruction)) foreign[i] = true;
      for (const Index o : instruction.inputs) {
        if (o == nothing || !is_token(program_.operands[o].value)) continue;
        const std::size_t from = maker_[program_.operands[o].value];
        if (from == unset)
          foreign[i] = true;
        else
          sets.join(from, i);
      }
    }
    for (const Index o : program_.results)
      if (const Index v = program_.operands[o].value; is_token(v) && maker_[v] != unset) foreign[maker_[v]] = true;
    std::map<std::size_t, std::vector<std::size_t>> by_root;
    for (const std::size_t i : passing) by_root[sets.root(i)].push_back(i);
    for (auto& [root, members] : by_root) {
      const bool apt = std::none_of(members.begin(), members.end(), [&](std::size_t i) { return foreign[i]; });
      const double all = apt ? written_gain(members) : -1;
      if (all < 0) continue;
      for (const std::size_t i : members) gain_[i] = all / static_cast<double>(members.size());
      token_sets_.push_back(std::move(members));
    }
  }

  const Program& program_;
  std::vector<double> gain_;
  std::vector<std::size_t> maker_;  // of each value: the number of its instruction
  std::vector<std::vector<std::size_t>> token_sets_;
  std::map<std::tuple<std::uint16_t, std::int8_t, DType, bool>, double> known_;
};

// ---- Groups

using Group = std::vector<std::size_t>;

// Apt instructions, each in the newest group, which ends where an instruction outside reads from it.
std::vector<Group> divide(const Program& p, const Aptitude& apt) {
  std::vector<Group> groups(1);
  std::vector<std::size_t> group_of(p.values.size(), unset);
  for (std::size_t i = 0; i < p.instructions.size(); ++i) {
    const Instruction& instruction = p.instructions[i];
    const std::size_t open = groups.size() - 1;
    if (apt.gain(i) < 0) {
      if (std::any_of(instruction.inputs.begin(), instruction.inputs.end(),
                      [&](Index o) { return o != nothing && group_of[p.operands[o].value] == open; }))
        groups.emplace_back();
      continue;
    }
    groups.back().push_back(i);
    for (const Index v : instruction.outputs)
      if (v != nothing) group_of[v] = open;
  }
  std::erase_if(groups, [&](const Group& g) {
    double gain = 0;
    for (const std::size_t i : g) gain += apt.gain(i);
    return gain < least_gain;
  });
  return groups;
}

std::vector<Group> groups_of(const Program& p) {
  Aptitude apt(p);
  for (;;) {
    std::vector<Group> groups = divide(p, apt);
    std::vector<std::size_t> number(p.instructions.size(), unset);
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (const std::size_t i : groups[g]) number[i] = g;
    bool whole = true;
    for (const std::vector<std::size_t>& set : apt.token_sets()) {
      const bool together =
          std::all_of(set.begin(), set.end(), [&](std::size_t i) { return number[i] == number[set[0]]; });
      if (together && number[set[0]] != unset) continue;
      whole &= std::all_of(set.begin(), set.end(), [&](std::size_t i) { return number[i] == unset; });
      apt.refuse(set);
    }
    if (whole) return groups;
  }
}

// ---- The file

// A group of a program, and the instruction that takes its place.
struct Replacement {
  Program* program;
  Group members;
  std::vector<Index> inputs, outputs;  // values of the program
  std::unique_ptr<Code> code;
};

// Without a replacement if a group cannot be written after all.
void add_replacements(Program& p, std::vector<Replacement>& list, std::string& file) {
  const std::vector<Index> uses = p.count_uses();
  for (Group& members : groups_of(p)) {
    Extraction part(p, members, uses);
    Writer w(fmt::format("n{}", list.size()), names_of(part.made));
    try {
      write_function(w, part.made);
    } catch (const Error&) {
      continue;
    }
    if (w.workspace().bytes() > most_workspace) continue;
    file += text_of(w, part.made);
    auto code = std::make_unique<Code>();
    code->instructions = std::move(part.made);
    code->replaced = members.size();
    code->workspace = w.workspace().bytes();
    list.push_back({&p, std::move(members), std::move(part.inputs), std::move(part.outputs), std::move(code)});
  }
}

Instruction instruction_of(Replacement& r) {
  Instruction made;
  made.operation = {.name = native_primitive.rule.name, .primitive = &native_primitive};
  for (const Index v : r.inputs) made.inputs.push_back(r.program->whole(v));
  made.outputs = r.outputs;
  made.outputs.push_back(r.program->add_value(Value::Origin::result, ops::abstract(DType::uint8, {r.code->workspace})));
  const std::int64_t words[] = {detail::word_of(r.code.release())};
  made.attributes = {native_primitive.rule, words};
  return made;
}

void replace(std::vector<Replacement>& list, std::span<Program* const> programs) {
  for (Program* const p : programs) {
    std::vector<bool> gone(p->instructions.size());
    for (Replacement& r : list) {
      if (r.program != p) continue;
      for (const std::size_t i : r.members) gone[i] = true;
      gone[r.members.back()] = false;
      p->instructions[r.members.back()] = instruction_of(r);
    }
    std::size_t i = 0;
    std::erase_if(p->instructions, [&](const Instruction&) { return gone[i++]; });
  }
}

constexpr const char* head =
    "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n"
    "#ifdef __cplusplus\n#define REEL_PUBLIC extern \"C\"\n#else\n#define REEL_PUBLIC\n#endif\n\n"
    "REEL_PUBLIC const char reel_native_key[sizeof NATIVE_KEY] = NATIVE_KEY;\n\n";

}  // namespace

void compile_native(std::span<Program* const> programs, const NativeOptions& options) {
  const program::Untraced computing;  // constants are made contiguous
  std::vector<Replacement> list;
  std::string file = head;
  for (Program* const p : programs) add_replacements(*p, list, file);
  if (list.empty()) return;
  try {
    const std::shared_ptr<const os::SharedObject> object = load_native(file, options.flags);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const std::string name = fmt::format("n{}_run", k);
      list[k].code->object = object;
      list[k].code->function = reinterpret_cast<int (*)(void* const*)>(object->find(name.c_str()));
      if (!list[k].code->function) throw os::FileError{name + " is not in the object"};
    }
  } catch (const os::FileError& error) {
    if (!options.warned.exchange(true))
      detail::warn(fmt::format("compile: a function is not compiled to native code, and interpreted: {}", error.text));
    return;
  }
  replace(list, programs);
}

std::size_t native_instructions(const Program& p) {
  std::size_t count = 0;
  for (const Instruction& i : p.instructions)
    if (i.operation.primitive == &native_primitive) count += code_of(i.attributes.words()).replaced;
  return count;
}

}  // namespace reel::codegen
