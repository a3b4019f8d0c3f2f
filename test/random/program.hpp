// Random programs: statements over typed arrays, the table of their ops, and the functions on them. An op has four
// parts: how a statement is generated, its meaning (interpreter), how the library computes it, and how it is written in
// C++.
#pragma once
#include <functional>
#include <random>
#include <reel/reel.hpp>
#include <string>
#include <vector>

#include "number.hpp"

namespace random_programs {

using reel::DType;
using Extents = std::vector<std::int64_t>;

inline std::int64_t elements(const Extents& shape) {
  std::int64_t n = 1;
  for (const auto e : shape) n *= e;
  return n;
}

/// An array of the interpreter, row-major.
struct Array {
  DType dtype = DType::float64;
  Extents shape;
  std::vector<Num> data;
  bool weak = false;  ///< a number in the program's text
  Array() = default;
  Array(DType d, Extents s) : dtype(d), shape(std::move(s)), data(static_cast<std::size_t>(elements(shape))) {}
  int rank() const { return static_cast<int>(shape.size()); }
  std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
  Num& operator[](std::int64_t i) { return data[static_cast<std::size_t>(i)]; }
  const Num& operator[](std::int64_t i) const { return data[static_cast<std::size_t>(i)]; }
};
using Arrays = std::vector<Array>;
using Inputs = std::vector<const Array*>;

/// Sets the rounding unit of the following computations to that of the dtype.
void round_like(DType dtype);
DType promoted(DType a, DType b);
DType promoted(const Inputs& in);
DType floating_of(DType d);  ///< float64 for integers and booleans
inline bool is_real_floating(DType d) { return reel::is_floating(d); }

struct Program;
struct Op;

struct Arg {
  enum Kind { value, weak_floating, weak_integer, weak_boolean } kind = value;
  int index = -1;      ///< of a value
  double number = 0;   ///< of a weak operand
  bool moved = false;  ///< passed as an rvalue
};

enum class Role { none, constant, source, parameter };
enum class Layout { contiguous, transposed, strided, flipped };

struct Statement {
  const Op* op = nullptr;
  std::vector<Arg> args;
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  std::string text;
  std::vector<Program> bodies;
  int first = 0, results = 1;  ///< the values it makes
  // Of an input:
  Role role = Role::none;
  Layout layout = Layout::contiguous;
  DType dtype = DType::float64;
  Extents shape;
  std::vector<double> data, imaginary;
};

struct Program {
  std::vector<Statement> statements;
  std::vector<int> outputs;
  int values() const { return statements.empty() ? 0 : statements.back().first + statements.back().results; }
  std::vector<const Statement*> inputs(Role role) const;
};

/// The operands of a call, as the library takes them.
class Operands {
 public:
  Operands(const Statement& s, std::vector<reel::Tensor>& values, std::vector<reel::Variable*>& variables)
      : s_(s), values_(values), variables_(variables) {}
  std::size_t size() const { return s_.args.size(); }
  reel::Operand operator[](std::size_t i) const;
  /// The tensor of operand i, which must not be weak.
  reel::Tensor tensor(std::size_t i) const;
  std::vector<reel::Tensor> tensors(std::size_t from = 0) const;

 private:
  const Statement& s_;
  std::vector<reel::Tensor>& values_;
  std::vector<reel::Variable*>& variables_;
};

class Maker;
struct Op {
  std::string name;
  std::function<bool(Maker&, Statement&)> make;
  std::function<void(const Statement&, const Inputs&, Arrays&)> eval;
  std::function<void(const Statement&, const Operands&, std::vector<reel::Tensor>&)> call;
  std::function<std::string(const Statement&, const std::vector<std::string>&)> text = {};  ///< default: name(args...)
  double weight = 1;
  bool body = false;  ///< may occur in the bodies of loops, checkpoints and so on
};
const std::vector<Op>& ops();
const Op& op(const std::string& name);
// Each adds its family.
void add_pointwise(std::vector<Op>& table);
void add_complex(std::vector<Op>& table);
void add_reductions(std::vector<Op>& table);
void add_shapes(std::vector<Op>& table);
void add_indexing(std::vector<Op>& table);
void add_linear_algebra(std::vector<Op>& table);
void add_decompositions(std::vector<Op>& table);
void add_networks(std::vector<Op>& table);
void add_convolution(std::vector<Op>& table);
void add_losses(std::vector<Op>& table);
void add_distributions(std::vector<Op>& table);
void add_sequences(std::vector<Op>& table);
void add_control(std::vector<Op>& table);
void add_lanes(std::vector<Op>& table);
void add_sorting(std::vector<Op>& table);
void add_special_functions(std::vector<Op>& table);
void add_updates(std::vector<Op>& table);
void add_arranging(std::vector<Op>& table);
void add_statistics(std::vector<Op>& table);
void add_number_parts(std::vector<Op>& table);
void add_matrix_functions(std::vector<Op>& table);
void add_matrix_products(std::vector<Op>& table);
void add_structured_systems(std::vector<Op>& table);
void add_windows(std::vector<Op>& table);
void add_transforms(std::vector<Op>& table);
void add_signals(std::vector<Op>& table);
void add_interpolation(std::vector<Op>& table);
void add_rotations(std::vector<Op>& table);
void add_solutions(std::vector<Op>& table);

using Random = std::mt19937_64;

/// Generates a program statement by statement. Each is interpreted at once, and removed if a value is not tame.
class Maker {
 public:
  Maker(Random& random, Program& p) : random_(random), p_(p) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(static_cast<int>(high - low + 1)); }
  bool chance(double p) { return static_cast<double>(random_() >> 11) * 0x1p-53 < p; }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  template <class T>
  const T& choose(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

  const Array& at(int value) const { return values_[static_cast<std::size_t>(value)]; }
  /// A value for which `fits`, preferably a late one; -1 if there is none.
  int pick(const std::function<bool(const Array&)>& fits);
  /// The same, or a new input with a shape and a dtype that the program uses.
  int floating(int min_rank = 0, int max_rank = 4, bool complex = false);
  int number(int min_rank = 0, int max_rank = 4);  ///< of any dtype
  /// A value or a weak number that broadcasts with value x; `partner`: only those that promote with it usefully.
  Arg beside(int x, bool weak = true, bool integer = false);
  int input(Role role, DType dtype, const Extents& shape);
  int input_of(DType dtype, const Extents& shape, const std::vector<double>& data, Role role = Role::constant);
  int integers(const Extents& shape, std::int64_t low, std::int64_t high);
  Extents random_shape(int min_rank, int max_rank);
  DType floating_dtype();
  /// x itself, or f(x) whose elements are in (low, high), or -1.
  int within(int x, double low, double high);
  int emit(const std::string& name, const std::vector<Arg>& args, const std::vector<std::int64_t>& ints = {},
           const std::vector<double>& reals = {});
  /// Adds a statement and its values, unless they are not tame.
  bool add(Statement s);
  bool try_random(bool body);
  Program& program() { return p_; }
  Random& random() { return random_; }
  static Arg arg(int value) { return {.index = value}; }
  static Arg weak(double x) { return {.kind = Arg::weak_floating, .number = x}; }
  int depth = 0;         ///< of bodies
  bool kinks = false;    ///< inputs on a grid, where functions have kinks and ties
  bool complex = false;  ///< complex numbers occur
  bool halves = false;   ///< float16 and bfloat16 occur
  DType main = DType::float64;
  int source_elements = 0;
  int limit = 40;  ///< elements of a value
  Arrays& values() { return values_; }

 private:
  Random& random_;
  Program& p_;
  Arrays values_;
};

/// The values of all statements. `given`: what the inputs of roles source and parameter are, in order.
void interpret(const Program& p, const std::vector<Array>& given, Arrays& values);
Array array_of(const Statement& input);
void evaluate(const Statement& s, Arrays& values);
/// The outputs as the library computes them.
std::vector<reel::Tensor> execute(const Program& p, std::span<const reel::Tensor> given,
                                  std::span<const reel::Variable> variables = {});
reel::Tensor tensor_of(const Statement& input);

std::string text_of(const Program& p, const std::string& indent);
const char* cpp_name(DType d);
std::string braces(const std::vector<std::int64_t>& list);

/// Of each value, whether it depends on a source as a tape sees it.
std::vector<bool> dependent(const Program& p);
/// How often each op occurred in programs.
void count_ops(const Program& p, std::vector<std::int64_t>& counts);

/// Ops that the generator leaves out.
inline std::vector<std::string> excluded;

Program random_program(std::uint64_t seed);

// Helpers of the interpreter.
Extents broadcast_shapes(const Extents& a, const Extents& b);  ///< throws std::runtime_error
/// The position in an array of shape `from` of element `index` of an array of shape `to` that it broadcasts to.
std::int64_t broadcast_index(const Extents& from, const Extents& to, std::int64_t index);
Extents indices_of(const Extents& shape, std::int64_t position);
std::int64_t position_of(const Extents& shape, const Extents& indices);

/// Whether a value of an interpreted body was NaN, or so large that the library, whose range is narrower, may overflow
/// in computing from it. Values that nothing reads count too.
inline bool wild_in_bodies = false;

}  // namespace random_programs
