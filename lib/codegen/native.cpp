// 1. Each instruction is written alone, to learn whether it has a form in C and what it costs in native code. It is apt
//    if that is not more than an interpreter needs.
// 2. Apt instructions are divided into groups. A group takes the place of its last member, so it ends where an
//    instruction outside reads from it.
// 3. The groups become C functions of one file, which is compiled and loaded.
#include "codegen/native.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "codegen/native_code.hpp"
#include "core/fail.hpp"
#include "loops/loops.hpp"
#include "program/trace.hpp"

namespace reel::codegen {

namespace {

using program::Index, program::Instruction, program::nothing, program::Operand, program::Program, program::Value;

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
  /// `passed`: tokens that pass to another program, or, with plans, come from one.
  Aptitude(const Program& p, const std::vector<Index>& passed, TokenPlans plans_of_passed)
      : uses(p.count_uses()),
        plans(std::move(plans_of_passed)),
        program_(p),
        passed_(passed),
        gain_(p.instructions.size()),
        maker_(p.values.size(), unset) {
    for (std::size_t i = 0; i < gain_.size(); ++i)
      for (const Index v : p.instructions[i].outputs)
        if (v != nothing) maker_[v] = i;
    for (std::size_t i = 0; i < gain_.size(); ++i) gain_[i] = gain_of(i);
    keep_fused();
    join_tokens();
  }
  /// What native code saves, in ns; negative: the instruction is not apt.
  double gain(std::size_t instruction) const { return gain_[instruction]; }
  /// Instructions that pass tokens to one another: all of a set are in one group, or none is.
  struct TokenSet {
    std::vector<std::size_t> members;
    std::vector<std::size_t> passed = {};  // of the tokens that pass from or to another program: numbers
    bool refused = false;
  };
  void refuse(TokenSet& set) {
    for (const std::size_t i : set.members) gain_[i] = -1;
    set.refused = true;
  }
  std::vector<TokenSet>& token_sets() { return token_sets_; }
  /// The set that makes or reads a passed token; null if none may.
  TokenSet* set_of_passed(std::size_t number) {
    for (TokenSet& set : token_sets_)
      if (std::find(set.passed.begin(), set.passed.end(), number) != set.passed.end()) return &set;
    return nullptr;
  }
  const std::vector<Index> uses;
  TokenPlans plans;

 private:
  const Tensor& tensor_of(Index operand) const { return program_.operands[operand].tensor; }
  static bool is_written(const Tensor& x) { return csource::type_of(x.dtype()) && x.size() <= most_elements; }
  // Whether int32_t counts the elements between those of the operand and the first one of its value.
  bool is_near(Index operand) const {
    constexpr std::int64_t most = std::int64_t{1} << 31;
    const Operand& o = program_.operands[operand];
    const detail::Block* b = detail::block(o.tensor);
    std::int64_t reach = std::abs(o.offset) / static_cast<std::int64_t>(item_size(b->dtype));
    for (int d = 0; d < b->rank; ++d)
      if (b->extents()[d] > 1) reach += (b->extents()[d] - 1) * std::abs(b->strides()[d]);
    return reach < most;
  }
  bool is_written(const Instruction& i) const {
    return std::all_of(i.inputs.begin(), i.inputs.end(),
                       [&](Index o) { return o == nothing || (is_written(tensor_of(o)) && is_near(o)); }) &&
           std::all_of(i.outputs.begin(), i.outputs.end(),
                       [&](Index v) { return v == nothing || is_written(program_.values[v].tensor); });
  }
  bool is_token(Index value) const { return program::is_token(program_.values[value].tensor); }
  bool passes_token(const Instruction& i) const {
    return std::any_of(i.outputs.begin(), i.outputs.end(), [&](Index v) { return v != nothing && is_token(v); }) ||
           std::any_of(i.inputs.begin(), i.inputs.end(),
                       [&](Index o) { return o != nothing && is_token(program_.operands[o].value); });
  }
  // Factors with pivots are laid out by LAPACK here and by rows in C: who makes them must be who reads them.
  bool passes_pivots(const Instruction& i) const {
    const ops::Primitive* const primitive = i.operation.primitive;
    const auto is_pivots = [](const Tensor& x) { return x.dtype() == DType::int32 && x.rank() > 0; };
    return primitive && !primitive->write_c.expression &&
           (std::any_of(i.inputs.begin(), i.inputs.end(),
                        [&](Index o) { return o != nothing && is_pivots(tensor_of(o)); }) ||
            std::any_of(i.outputs.begin(), i.outputs.end(),
                        [&](Index v) { return v != nothing && is_pivots(program_.values[v].tensor); }));
  }
  // What native code of these instructions saves; negative if one has no form in C.
  double written_gain(std::span<const std::size_t> members) {
    try {
      NativeFunction f("n", Extraction(program_, members, uses), plans);
      const csource::Writer::Estimate& e = f.writer.estimate();
      return f.writer.workspace().bytes() > most_workspace ? -1 : e.interpreted - e.native;
    } catch (const Error&) {
      return -1;
    }
  }
  double gain_of(std::size_t at) {
    const Instruction& i = program_.instructions[at];
    if (passes_token(i)) return -1;  // until join_tokens()
    if (!is_written(i) || passes_pivots(i)) return -1;
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
        if (from != unset)
          sets.join(from, i);
        else if (!plans.contains(program_.operands[o].value))
          foreign[i] = true;
      }
    }
    for (const Index o : program_.results)
      if (const Index v = program_.operands[o].value; is_token(v) && maker_[v] != unset && number_of(v) == unset)
        foreign[maker_[v]] = true;
    join_readers(sets);
    std::map<std::size_t, TokenSet> by_root;
    for (const std::size_t i : passing) by_root[sets.root(i)].members.push_back(i);
    for (auto& [root, set] : by_root) {
      const std::vector<std::size_t>& members = set.members;
      const bool apt = std::none_of(members.begin(), members.end(), [&](std::size_t i) { return foreign[i]; });
      const double all = apt ? written_gain(members) : -1;
      if (all < 0) continue;
      for (const std::size_t i : members) gain_[i] = all / static_cast<double>(members.size());
      add_passed(set);
      token_sets_.push_back(std::move(set));
    }
  }
  std::size_t number_of(Index value) const {
    const auto at = std::find(passed_.begin(), passed_.end(), value);
    return at == passed_.end() ? unset : static_cast<std::size_t>(at - passed_.begin());
  }
  // All that read a token of another program are in one set.
  void join_readers(Sets& sets) {
    std::map<Index, std::size_t> first;
    for (std::size_t i = 0; i < gain_.size(); ++i)
      for (const Index o : program_.instructions[i].inputs)
        if (o != nothing && number_of(program_.operands[o].value) != unset)
          sets.join(first.try_emplace(program_.operands[o].value, i).first->second, i);
  }
  void add_passed(TokenSet& set) const {
    const auto add = [&](Index value) {
      if (const std::size_t number = number_of(value);
          number != unset && std::find(set.passed.begin(), set.passed.end(), number) == set.passed.end())
        set.passed.push_back(number);
    };
    for (const std::size_t i : set.members) {
      for (const Index o : program_.instructions[i].inputs)
        if (o != nothing) add(program_.operands[o].value);
      for (const Index v : program_.instructions[i].outputs)
        if (v != nothing) add(v);
    }
  }

  const Program& program_;
  const std::vector<Index>& passed_;
  std::vector<double> gain_;
  std::vector<std::size_t> maker_;  // of each value: the number of its instruction
  std::vector<TokenSet> token_sets_;
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

// Whether each set of tokens is in one group; refuses those that are not.
bool are_together(const Program& p, const std::vector<Group>& groups, Aptitude& apt) {
  std::vector<std::size_t> number(p.instructions.size(), unset);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t i : groups[g]) number[i] = g;
  bool all = true;
  for (Aptitude::TokenSet& set : apt.token_sets()) {
    const std::size_t first = number[set.members[0]];
    const bool together =
        std::all_of(set.members.begin(), set.members.end(), [&](std::size_t i) { return number[i] == first; });
    if (set.refused || (together && first != unset)) continue;
    apt.refuse(set);
    all = false;
  }
  return all;
}

// The token of one program, which the other one reads, is an object of the interpreter in both or in neither.
bool agree(Aptitude& a, Aptitude& b, std::size_t passed) {
  bool all = true;
  for (std::size_t t = 0; t < passed; ++t) {
    Aptitude::TokenSet *const left = a.set_of_passed(t), *const right = b.set_of_passed(t);
    const bool both = left && right && !left->refused && !right->refused;
    for (Aptitude* const side : {&a, &b})
      if (Aptitude::TokenSet* const set = side == &a ? left : right; set && !both && !set->refused) {
        side->refuse(*set);
        all = false;
      }
  }
  return all;
}

// ---- The file

// A group of a program, and the instruction that takes its place.
struct Replacement {
  Program* program;
  Group members;
  std::vector<Index> inputs, outputs;  // values of the program
  std::unique_ptr<NativeCode> code;
};

class File {
 public:
  File() = default;
  // `plans`: of tokens that other programs of the file pass to this one. Those that it passes on are added. False if it
  // cannot be written after all.
  bool add(Program& p, std::span<const Group> groups, TokenPlans& plans) {
    const std::vector<Index> uses = p.count_uses();
    try {
      for (const Group& members : groups) {
        Extraction part(p, members, uses);
        const NativeFunction f(fmt::format("n{}", list_.size()), part, plans);
        if (f.writer.workspace().bytes() > most_workspace) return false;
        text_ += f.text();
        std::unique_ptr<NativeCode> code(new NativeCode{std::move(part.made), members.size(), f.outputs(),
                                                        f.writer.refusals(), f.reads_tokens(), f.leaves_tokens()});
        list_.push_back({&p, members, std::move(part.inputs), std::move(part.outputs), std::move(code)});
      }
    } catch (const Error&) {
      return false;
    }
    return true;
  }
  bool empty() const { return list_.empty(); }
  void load(const NativeOptions& options) {
    const std::shared_ptr<const os::SharedObject> object = load_native(text_, options.flags);
    for (std::size_t k = 0; k < list_.size(); ++k) {
      const std::string name = fmt::format("n{}_run", k);
      list_[k].code->object = object;
      list_[k].code->function = reinterpret_cast<int (*)(void* const*)>(object->find(name.c_str()));
      if (!list_[k].code->function) throw os::FileError{name + " is not in the object"};
    }
  }
  void replace_in(Program& p) {
    std::vector<bool> gone(p.instructions.size());
    for (Replacement& r : list_) {
      if (r.program != &p) continue;
      for (const std::size_t i : r.members) gone[i] = true;
      gone[r.members.back()] = false;
      const Tensor workspace = ops::abstract(DType::uint8, r.code->outputs.back().second);
      Instruction made = native_instruction(std::move(r.code));
      for (const Index v : r.inputs) made.inputs.push_back(p.whole(v));
      made.outputs = std::move(r.outputs);
      made.outputs.push_back(p.add_value(Value::Origin::result, workspace));
      p.instructions[r.members.back()] = std::move(made);
    }
    std::size_t i = 0;
    std::erase_if(p.instructions, [&](const Instruction&) { return gone[i++]; });
  }

 private:
  std::vector<Replacement> list_;
  std::string text_ =
      "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n"
      "#ifdef __cplusplus\n#define REEL_PUBLIC extern \"C\"\n#else\n#define REEL_PUBLIC\n#endif\n\n"
      "REEL_PUBLIC const char reel_native_key[sizeof NATIVE_KEY] = NATIVE_KEY;\n\n" +
      std::string(csource::special_values());
};

// Tokens that native code passes on are bytes.
void make_bytes(Program& p, const TokenPlans& plans, const std::vector<Index>& passed) {
  for (const Index v : passed) {
    const auto plan = plans.find(v);
    if (plan == plans.end()) continue;
    p.values[v].tensor = ops::abstract(DType::uint8, {plan->second.bytes});
    for (Index o = p.values[v].operands; o != nothing; o = p.operands[o].next)
      p.operands[o].tensor = p.values[v].tensor;
  }
}

// Loads and replaces. If that fails, a warning says why.
bool compile_file(File& file, const NativeOptions& options, std::span<Program* const> programs) {
  if (file.empty()) return false;
  try {
    file.load(options);
  } catch (const os::FileError& error) {
    if (!options.warned.exchange(true))
      detail::warn(fmt::format("compile: a function is not compiled to native code, and interpreted: {}", error.text));
    return false;
  }
  for (Program* const p : programs) file.replace_in(*p);
  return true;
}

}  // namespace

void compile_native(Program& p, const NativeOptions& options) {
  const program::Untraced computing;  // constants are made contiguous
  const std::vector<Index> passed;
  Aptitude apt(p, passed, {});
  std::vector<Group> groups = divide(p, apt);
  while (!are_together(p, groups, apt)) groups = divide(p, apt);
  File file;
  TokenPlans plans;
  Program* const all[] = {&p};
  if (file.add(p, groups, plans)) compile_file(file, options, all);
}

void compile_native(program::Parts& parts, const NativeOptions& options) {
  const program::Untraced computing;
  Program &first = parts.first, &second = parts.second;
  std::vector<Index> left, right;  // tokens that pass from one to the other
  for (std::size_t r = parts.residuals; r > 0; --r) {
    const Index v = first.operands[first.results[first.results.size() - r]].value;
    if (!program::is_token(first.values[v].tensor)) continue;
    left.push_back(v);
    right.push_back(second.arguments[second.arguments.size() - r]);
  }
  const auto moved = [&](const TokenPlans& from) {
    TokenPlans to;
    for (std::size_t t = 0; t < left.size(); ++t)
      if (const auto plan = from.find(left[t]); plan != from.end()) to[right[t]] = plan->second;
    return to;
  };
  Aptitude a(first, left, {}), b(second, right, moved(a.plans));
  std::vector<Group> first_groups, second_groups;
  bool stable = false;
  while (!stable) {
    const bool same = agree(a, b, left.size());
    first_groups = divide(first, a);
    second_groups = divide(second, b);
    const bool left_together = are_together(first, first_groups, a);
    stable = are_together(second, second_groups, b) && left_together && same;
  }
  File file;
  TokenPlans first_plans, second_plans;
  if (!file.add(first, first_groups, first_plans)) return;
  second_plans = moved(first_plans);
  Program* const all[] = {&first, &second};
  if (!file.add(second, second_groups, second_plans) || !compile_file(file, options, all)) return;
  make_bytes(first, first_plans, left);
  make_bytes(second, second_plans, right);
}

std::size_t native_instructions(const Program& p) {
  std::size_t count = 0;
  for (const Instruction& i : p.instructions)
    if (const NativeCode* const code = native_code_of(i)) count += code->replaced;
  return count;
}

}  // namespace reel::codegen
