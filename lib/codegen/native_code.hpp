// Native code as an instruction of programs: a primitive whose attribute is the code; and the C that it is made from.
#pragma once
#include <map>
#include <memory>

#include "codegen/native_object.hpp"
#include "csource/writer.hpp"
#include "program/program.hpp"

namespace reel::codegen {

/// What a token stands for in generated code, as bytes of one array: so it passes from the native code of one program
/// to that of another.
struct TokenPlan {
  bool is_leaf = false;          // an array; otherwise a token
  std::vector<TokenPlan> parts;  // of a token
  DType dtype = DType::float64;
  Shape shape = {};
  std::int64_t offset = 0;  // of a leaf, in bytes
  std::int64_t bytes = 0;   // of all, in the plan of a whole token
};
/// For values of a program that are tokens: plans of those that pass to or from another program.
using TokenPlans = std::map<program::Index, TokenPlan>;

/// Chosen instructions as a program: its arguments are the values that they read from outside.
class Extraction {
 public:
  /// `uses`: of values, as count_uses() gives them.
  Extraction(const program::Program& p, std::span<const std::size_t> members, const std::vector<program::Index>& uses);
  program::Program made;
  std::vector<program::Index> inputs, outputs;  // values of the program, in the order of arguments and results

 private:
  void add(const program::Instruction& i, std::map<program::Index, program::Index>& inside);
  program::Index outside(program::Index v);
  const program::Program& program_;
  std::map<program::Index, program::Index> value_;  // for values of the program those of `made`
};

/// A C function of the extracted instructions.
class NativeFunction {
 public:
  /// `plans`: of the program that they are extracted from; those of tokens that they leave are added. TraceError for
  /// what has no form in C.
  NativeFunction(std::string name, const Extraction& part, TokenPlans& plans);
  csource::Writer writer;
  /// Its text. The function NAME_run takes a list of pointers to arguments, results and workspace.
  std::string text() const;
  /// Dtype and elements of each result, and of the workspace.
  std::vector<std::pair<DType, Shape>> outputs() const;
  bool reads_tokens() const noexcept { return reads_tokens_; }
  bool leaves_tokens() const noexcept { return leaves_tokens_; }

 private:
  struct Parameter {
    std::string name, type;
    DType dtype;
    Shape shape;
  };
  Parameter& add(const char* letter, const char* constness, const Tensor& x, const TokenPlan* plan,
                 std::vector<Parameter>& list);
  std::vector<Parameter> inputs_, outputs_;
  bool reads_tokens_ = false, leaves_tokens_ = false;
};

/// The code of an instruction. Its inputs are whole values; its last output is the workspace.
struct NativeCode {
  program::Program instructions;  // what it replaces
  std::size_t replaced;
  std::vector<std::pair<DType, Shape>> outputs;
  std::vector<std::string> refusals;  // by what the function returns, less 1
  bool reads_tokens, leaves_tokens;
  std::shared_ptr<const os::SharedObject> object = {};
  int (*function)(void* const* arrays) = nullptr;
  mutable std::atomic<int> uses{0};
};
program::Instruction native_instruction(std::unique_ptr<NativeCode> code);
/// Null for other instructions.
const NativeCode* native_code_of(const program::Instruction& instruction) noexcept;

}  // namespace reel::codegen
