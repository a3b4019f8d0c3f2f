// The writer of C: statements, loops and variables, in functions; constants; the helper functions that they call.
// Primitives write themselves with it (ops::WriteC): their operands are arrays, and everything else is text.
#pragma once
#include <reel/tensor.hpp>
#include <set>

#include "csource/array.hpp"

namespace reel::csource {

/// A constant, as let() or let_truth() writes it.
struct Definition {
  std::string name, value;
  DType dtype;
  bool truth, calls;  // of a function that is no single instruction of a processor
};
struct Definitions {
  std::vector<Definition> list;
  bool others = false;  // statements of other kinds between them
};

class Writer {
 public:
  /// All names of the file but those of `taken` begin with the prefix; names in functions avoid `taken`.
  Writer(std::string prefix, std::set<std::string> taken);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // ---- The instruction that is written

  struct Instruction {
    std::vector<Array> inputs = {}, outputs = {};  // an unwanted output has no name
    std::string name = {};                         // of the op, with its line
  };
  /// Returns the one before, which the caller restores.
  Instruction exchange(Instruction next) { return std::exchange(instruction_, std::move(next)); }
  const Instruction& instruction() const { return instruction_; }
  const Array& input(std::size_t k) const { return instruction_.inputs[k]; }
  const Array& output(std::size_t k) const { return instruction_.outputs[k]; }
  std::size_t inputs() const { return instruction_.inputs.size(); }
  bool wanted(std::size_t k) const { return k < instruction_.outputs.size() && !instruction_.outputs[k].name.empty(); }
  /// What output k leaves for the instruction that reads it, and what input k has left.
  void set_token(std::size_t k, Token token) {
    instruction_.outputs[k].token = std::make_shared<const Token>(std::move(token));
  }
  const Token& token(std::size_t k) const { return *instruction_.inputs[k].token; }
  /// Workspace until the end of the instruction.
  Array temporary(DType dtype, const Shape& shape);
  void free_temporaries(std::size_t but = 0);
  std::size_t temporaries() const { return temporaries_.size(); }

  // ---- Statements

  void statement(const std::string& text);
  void comment(const std::string& text) { line("/* " + text + " */"); }
  /// Opens a block, such as "if (x > 0.0)".
  void open(const std::string& head);
  void close();
  /// Closes one block and opens the next: "else".
  void reopen(const std::string& head);
  /// A constant, or a variable, with a new name, which is returned.
  std::string let(DType dtype, const std::string& value);
  std::string variable(DType dtype, const std::string& value);
  /// The truth of a condition, as a constant of int.
  std::string let_truth(const std::string& condition);
  std::string index_variable(const std::string& value);
  /// A local array of the length, with elements zero.
  std::string local_array(DType dtype, std::int64_t length);
  /// Lists the definitions that follow, until it is called with null.
  void list_definitions(Definitions* to) noexcept {
    listed_ = to;
    listed_calls_ = calls_;
  }
  /// The end of what has been written, and the removal of what was written since then in the same blocks.
  struct Position {
    std::size_t text;
    std::int64_t statements;
  };
  Position position() const noexcept { return {frames_.back().text.size(), statements_}; }
  void rewind(const Position& to) {
    frames_.back().text.resize(to.text);
    statements_ = to.statements;
  }
  /// A name that nothing has yet.
  std::string new_name(const std::string& stem);
  /// The name of the variable of a loop that is opened next.
  std::string index_name() const;
  /// Opens a loop of int32_t; without a loop if there is one iteration.
  Index loop(std::int64_t extent);
  /// The same with other bounds; `step` is 1 or -1.
  Index loop(const Index& first, const Index& bound, int step = 1);
  std::vector<Index> loops(const Shape& shape);
  /// About how many statements a function may have. Compilers need time that grows faster than linearly with them, and
  /// find equal calls within a function alone.
  void set_most_statements(std::size_t count) noexcept { most_statements_ = count; }
  std::size_t most_statements() const noexcept { return most_statements_; }
  /// The number of blocks that are open, and closing of those above a number.
  std::size_t depth() const { return blocks_.size(); }
  void close_to(std::size_t depth);
  /// The function returns an error whose text is that of the op and `why`, if the condition holds.
  void refuse_if(const std::string& condition, const std::string& why);
  /// The name of a helper function (functions.hpp) or of one of libm, for this dtype.
  std::string function_name(const std::string& function, DType dtype);
  /// The name of a helper function, which becomes part of the file.
  std::string helper(const std::string& name);
  /// The same of one on matrices of the dtype.
  std::string helper(const std::string& name, DType dtype) {
    return helper(dtype == DType::float32 ? name + "_f" : dtype == DType::int64 ? name + "_int64" : name);
  }
  /// Counts floating-point operations of the innermost statement.
  void count_flops(std::int64_t flops) { flops_ += static_cast<double>(flops) * multiplicity_; }
  /// What a call takes, in ns, to rank: the same instructions in the interpreter of programs, and this code.
  struct Estimate {
    double interpreted = 0, native = 0;
  };
  Estimate& estimate() noexcept { return estimate_; }
  /// Calls of functions that are no single instruction of a processor, and how often what is written now runs.
  double calls() const noexcept { return calls_; }
  double multiplicity() const noexcept { return multiplicity_; }
  /// Loops that are not of constant length count this often.
  void repeat(double times) { multiplicity_ *= times; }

  // ---- Elements

  void store(const Array& y, std::span<const Index> at, const std::string& value);
  /// Adds the value to an element.
  void accumulate(const Array& y, std::span<const Index> at, const std::string& value);
  /// x + y, x - y or x * y, integers modulo 2^n, booleans by or and and.
  static std::string combine(char op, DType dtype, const std::string& x, const std::string& y);
  static std::string multiply(DType dtype, const std::string& x, const std::string& y) {
    return combine('*', dtype, x, y);
  }
  void copy(const Array& from, const Array& to);
  /// The array, or a dense copy in workspace.
  Array dense(const Array& x);
  /// The same with an address, which a variable has not.
  Array in_memory(const Array& x);
  /// to += from
  void add(const Array& from, const Array& to);
  void fill(const Array& to, const std::string& value);
  /// to[k] = from[k] for all k at once. May take temporaries.
  void assign_all(std::vector<Array> from, std::span<const Array> to);
  static std::string zero(DType dtype) { return is_differentiable(dtype) ? literal(0.0, dtype) : "0"; }
  static std::string convert(const std::string& x, DType from, DType to);
  /// Sum of the terms over all positions of a shape, as a new variable: eight partial sums along the last axis.
  using Term = std::function<std::string(std::span<const Index> at)>;
  std::string sum(DType dtype, const Shape& over, const Term& term);
  /// y[i, j] = (or +=) sum over k of a[i, k] b[k, j].
  void product(const Array& a, const Array& b, const Array& y, bool adds = false);
  /// The same for each matrix of stacks, the last two axes; the others broadcast.
  void batched_product(const Array& a, const Array& b, const Array& y);
  /// Loops over all axes but the last `inner`, to which the leading axes broadcast: the part of each array.
  std::vector<Array> parts(std::span<const Array> arrays, int inner);
  /// The elements of a constant, in the file.
  Array constant(const Tensor& x);

  // ---- Functions

  /// What is written until close_function() becomes a function of its own, which is called here.
  void open_function();
  void close_function();
  /// Makes known a variable of the enclosing function with this C type, such as a parameter.
  void declare(const std::string& name, const std::string& type);
  Workspace& workspace() noexcept { return workspace_; }
  const Workspace& workspace() const noexcept { return workspace_; }

  // ---- What has been written

  const std::string& body() const noexcept { return frames_.back().text; }
  const std::string& functions() const noexcept { return functions_; }
  /// The arrays that what has been written reads.
  std::string constants() const;
  std::string helpers() const;
  const std::vector<std::string>& refusals() const noexcept { return refusals_; }
  const std::string& prefix() const noexcept { return prefix_; }
  std::int64_t statements() const noexcept { return statements_; }
  double flops() const noexcept { return flops_; }
  std::int64_t constant_bytes() const noexcept { return constant_bytes_; }

 private:
  struct Frame {
    std::string text = {};
    std::size_t base = 0;  // the number of open blocks around it
    bool refuses = false;
  };
  struct Declared {
    std::string type;
    std::size_t frame, order;
  };
  void line(const std::string& text);
  void add_to(const std::string& to, DType dtype, const std::string& x);
  void define(const std::string& name, DType dtype, const char* type, const std::string& value, bool truth);

  std::string prefix_;
  std::set<std::string> taken_;
  Instruction instruction_;
  std::vector<Array> temporaries_;
  std::vector<Frame> frames_;
  std::vector<double> blocks_;  // for each open block how often what is around it runs
  std::map<std::string, Declared> declared_;
  std::string functions_;
  std::vector<std::pair<std::string, std::string>> constants_;  // name, definition
  std::vector<std::string> helpers_;                            // each behind those that it calls
  std::vector<std::string> refusals_;
  std::map<std::string, Array> known_constants_;  // by their text
  Workspace workspace_;
  std::int64_t statements_ = 0, constant_bytes_ = 0, names_ = 0, functions_made_ = 0;
  double flops_ = 0, calls_ = 0, multiplicity_ = 1;
  Definitions* listed_ = nullptr;
  double listed_calls_ = 0;
  Estimate estimate_;
  std::size_t most_statements_ = 500;
};

/// The elements of a dense tensor as C constants.
std::vector<std::string> elements_of(const Tensor& x);

/// Restores the number of open blocks at the end of a scope.
class Blocks {
 public:
  explicit Blocks(Writer& w) : writer_(w), depth_(w.depth()) {}
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { writer_.close_to(depth_); }

 private:
  Writer& writer_;
  std::size_t depth_;
};

}  // namespace reel::csource
