// The instruction that runs native code, and the C functions that become it.
#include "codegen/native_code.hpp"

#include <fmt/format.h>

#include "codegen/program.hpp"
#include "core/fail.hpp"
#include "core/word.hpp"
#include "loops/loops.hpp"
#include "program/run/executable.hpp"

namespace reel::codegen {

using csource::Array, csource::Workspace, csource::Writer;
using program::Index, program::Instruction, program::nothing, program::Program, program::Value;

// ---- The instruction

namespace {

const NativeCode& code_of(ops::Attributes words) noexcept { return *detail::pointer_of<const NativeCode>(words[0]); }
void retain_code(ops::Attributes words) noexcept { ++code_of(words).uses; }
void release_code(ops::Attributes words) noexcept {
  const NativeCode& code = code_of(words);
  if (--code.uses == 0) delete &code;
}

void infer_native(const ops::Call& call, ops::Metas& out) {
  for (const auto& [dtype, shape] : code_of(call.attributes).outputs) out.add(dtype, shape);
}

// The values are refused: the instructions themselves throw. They do not know what a token is in native code.
[[gnu::cold, gnu::noinline]] void refuse(const NativeCode& code, int number, const ops::Call& call, ops::Outputs& out) {
  std::vector<Tensor> inputs, results(code.instructions.results.size());
  for (const Tensor* x : call.inputs) inputs.push_back(*x);
  if (!code.reads_tokens) program::Executable(code.instructions).run(inputs, results);
  if (code.reads_tokens || code.leaves_tokens)
    fail<ValueError>("compile", "{}", code.refusals[static_cast<std::size_t>(number) - 1]);
  for (std::size_t k = 0; k < results.size(); ++k) loops::copy(results[k], out[k]);
}

// `arrays` has room for a pointer to each input and output.
void evaluate_by(void** arrays, const ops::Call& call, ops::Outputs& out) {
  const NativeCode& code = code_of(call.attributes);
  void** next = arrays;
  for (const Tensor* x : call.inputs) *next++ = detail::block(*x)->data;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Tensor& y = out.tensors()[k];
    *next++ = detail::block(y.defined() ? y : out[k])->data;
  }
  if (const int refused = code.function(arrays); refused != 0) [[unlikely]]
    refuse(code, refused, call, out);
}

void evaluate_native(const ops::Call& call, ops::Outputs& out) {
  const std::size_t count = call.inputs.size() + out.size();
  constexpr std::size_t in_place = 32;
  if (void* few[in_place]; count <= in_place) [[likely]]
    return evaluate_by(few, call, out);
  detail::List<void*> many(count);
  evaluate_by(many.data(), call, out);
}

constexpr ops::Primitive native_primitive = {.rule = {.name = "native", .release = release_code, .retain = retain_code},
                                             .infer = infer_native,
                                             .evaluate = evaluate_native};

}  // namespace

Instruction native_instruction(std::unique_ptr<NativeCode> code) {
  Instruction made;
  made.operation = {.name = native_primitive.rule.name, .primitive = &native_primitive};
  const std::int64_t words[] = {detail::word_of(code.release())};
  made.attributes = {native_primitive.rule, words};
  return made;
}

const NativeCode* native_code_of(const Instruction& i) noexcept {
  return i.operation.primitive == &native_primitive ? &code_of(i.attributes.words()) : nullptr;
}

// ---- Parts of a program as programs

Extraction::Extraction(const Program& p, std::span<const std::size_t> members, const std::vector<Index>& uses)
    : program_(p) {
  std::map<Index, Index> inside;  // how often members read what members compute
  for (const std::size_t m : members) add(p.instructions[m], inside);
  for (const std::size_t m : members)
    for (const Index v : p.instructions[m].outputs)
      if (v != nothing && uses[v] > inside[v]) {
        made.results.push_back(made.whole(value_[v]));
        outputs.push_back(v);
      }
}

void Extraction::add(const Instruction& i, std::map<Index, Index>& inside) {
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

Index Extraction::outside(Index v) {
  constexpr std::int64_t most_in_source = 64;  // of constants that become part of the source
  const Value& value = program_.values[v];
  const bool in_source = value.origin == Value::Origin::constant && value.tensor.size() <= most_in_source;
  const Index own = made.add_value(in_source ? Value::Origin::constant : Value::Origin::argument, value.tensor);
  if (in_source) return own;
  made.arguments.push_back(own);
  inputs.push_back(v);
  return own;
}

// ---- Tokens as bytes

namespace {

TokenPlan planned(const Array& x, std::int64_t& bytes) {
  TokenPlan plan;
  if (x.token) {
    for (const Array& one : x.token->arrays) plan.parts.push_back(planned(one, bytes));
    return plan;
  }
  plan.is_leaf = true;
  plan.dtype = x.dtype;
  plan.shape = x.shape;
  plan.offset = bytes;
  bytes += (x.size() * static_cast<std::int64_t>(item_size(x.dtype)) + 7) / 8 * 8;
  return plan;
}

// The arrays of a token whose bytes are behind a pointer.
Array array_behind(const std::string& pointer, const TokenPlan& plan) {
  if (plan.is_leaf)
    return csource::dense_array(fmt::format("(({} *)({} + {}))", csource::type_of(plan.dtype), pointer, plan.offset),
                                plan.dtype, plan.shape);
  csource::Token token;
  for (const TokenPlan& part : plan.parts) token.arrays.push_back(array_behind(pointer, part));
  Array x = csource::single_value("token", DType::int64, {1});
  x.token = std::make_shared<const csource::Token>(std::move(token));
  return x;
}

void copy_token(Writer& w, const Array& from, const Array& to) {
  if (!from.token) return w.copy(from, to);
  for (std::size_t k = 0; k < from.token->arrays.size(); ++k) copy_token(w, from.token->arrays[k], to.token->arrays[k]);
}

// ---- Functions

std::set<std::string> names_of(const Program& p) {
  std::set<std::string> names;
  for (std::size_t k = 0; k < p.arguments.size(); ++k) names.insert("x" + std::to_string(k));
  for (std::size_t k = 0; k < p.results.size(); ++k) names.insert("y" + std::to_string(k));
  return names;
}

}  // namespace

NativeFunction::Parameter& NativeFunction::add(const char* letter, const char* constness, const Tensor& x,
                                               const TokenPlan* plan, std::vector<Parameter>& list) {
  const bool token = program::is_token(x);
  (*letter == 'x' ? reads_tokens_ : leaves_tokens_) |= token;
  const Shape shape = plan ? Shape{plan->bytes} : x.shape();
  const char* const type = token ? "char" : csource::type_of(x.dtype());
  list.push_back({letter + std::to_string(list.size()), fmt::format("{}{} *", constness, type),
                  token ? DType::uint8 : x.dtype(), shape});
  writer.declare(list.back().name, list.back().type + "__restrict");
  return list.back();
}

NativeFunction::NativeFunction(std::string name, const Extraction& part, TokenPlans& plans)
    : writer(std::move(name), names_of(part.made)) {
  // gcc takes half a second for as many. A function that holds a computation and its gradient computes sin once.
  constexpr std::size_t longest_function = 4000;
  const Program& p = part.made;
  writer.set_most_statements(longest_function);
  std::vector<Array> arguments, targets;
  for (std::size_t k = 0; k < p.arguments.size(); ++k) {
    const auto plan = plans.find(part.inputs[k]);
    const Tensor& like = p.values[p.arguments[k]].tensor;
    const Parameter& x = add("x", "const ", like, plan == plans.end() ? nullptr : &plan->second, inputs_);
    arguments.push_back(plan == plans.end() ? csource::dense_array(x.name, x.dtype, x.shape)
                                            : array_behind(x.name, plan->second));
    if (plan == plans.end()) arguments.back().strides = like.strides();
  }
  for (const Index o : p.results) {
    const Parameter& y = add("y", "", p.operands[o].tensor, nullptr, outputs_);
    targets.push_back(program::is_token(p.operands[o].tensor) ? Array()
                                                              : csource::dense_array(y.name, y.dtype, y.shape));
  }
  for (const DType d : Workspace::types)
    writer.declare(Workspace::pointer(d), fmt::format("{} *__restrict", csource::type_of(d)));
  Written written = write_program(writer, p, arguments, targets);
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (!written.results[k].token) continue;
    TokenPlan& plan = plans[part.outputs[k]];
    std::int64_t bytes = 0;
    plan = planned(written.results[k], bytes);
    plan.bytes = bytes;
    outputs_[k].shape = {bytes};
    copy_token(writer, written.results[k], array_behind(outputs_[k].name, plan));
  }
  written.release(writer);
}

std::vector<std::pair<DType, Shape>> NativeFunction::outputs() const {
  std::vector<std::pair<DType, Shape>> list;
  for (const Parameter& y : outputs_) list.emplace_back(y.dtype, y.shape);
  list.emplace_back(DType::uint8, Shape{writer.workspace().bytes()});
  return list;
}

std::string NativeFunction::text() const {
  std::string parameters, arguments, regions;
  std::size_t k = 0;
  for (const auto* list : {&inputs_, &outputs_})
    for (const Parameter& x : *list) {
      parameters += fmt::format("{}__restrict {}, ", x.type, x.name);
      arguments += fmt::format("({})p[{}], ", x.type, k++);
    }
  std::int64_t at = 0;
  for (const DType d : Workspace::types)
    if (const std::int64_t words = writer.workspace().words(d); words > 0) {
      regions += fmt::format("  {0} *__restrict const {1} = ({0} *)(workspace + {2});\n", csource::type_of(d),
                             Workspace::pointer(d), 8 * at);
      at += words;
    }
  return fmt::format(
      "{0}{1}{2}static int {3}({4}char *workspace) {{\n{5}{6}  return 0;\n}}\n"
      "REEL_PUBLIC int {3}_run(void *const *p) {{ return {3}({7}(char *)p[{8}]); }}\n\n",
      writer.constants(), writer.helpers(), writer.functions(), writer.prefix(), parameters, regions, writer.body(),
      arguments, k);
}

}  // namespace reel::codegen
