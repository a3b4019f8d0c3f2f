// Random programs with state: statements that read and assign variables, draw, step optimisers and nest control flow.
// A program is data. The interpreter runs it in four ways; the printer writes it as C++.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace random_state {

enum class Kind : std::uint8_t {
  expression,
  read,
  assign,
  draw,
  gather,
  tape,
  step,
  while_loop,
  fori_tensor,
  fori_number,
  scan,
  cond,
  switch_case,
  checkpoint,
  custom,
  compiled,
  repeat
};
inline constexpr int kinds = 17;
const char* name_of(Kind kind);

struct Statement;
/// Statements with parameters and results. A value is known by its id.
struct Block {
  std::vector<int> parameters;
  std::vector<Statement> statements;
  std::vector<int> results;
};
/// One statement, which makes one value of shape [n].
struct Statement {
  Kind kind = Kind::expression;
  int id = 0;
  int style = 0;                    ///< the variant of the kind; of an expression the op
  std::vector<int> in = {};         ///< ids of operands; an id that is not in scope stands for the first argument
  std::vector<int> variables = {};  ///< positions among the variables
  int trips = 0;
  std::int64_t budget = 0;
  bool compiled = false;  ///< LoopOptions::compiled
  std::vector<Block> blocks = {};
};

inline constexpr int trainables = 2;         ///< variables [n]
inline constexpr int constant_variable = 2;  ///< not trainable, [n]
inline constexpr int table = 3;              ///< trainable, [4, n]
inline constexpr int captured = 9;           ///< the id of a tensor that the function captures
inline constexpr int first_id = 10;

struct Program {
  std::uint64_t seed = 0;
  int n = 2;
  int arguments = 1;
  bool twice = false;  ///< the last argument is the first one again
  Block body;
};

/// The sources of a derivative, as bits.
enum Sources { by_arguments = 1, by_variables = 2, by_captured = 4 };
/// One derivative, of the scalar result of the level below.
struct Level {
  bool forward = false;
  int sources = by_arguments;
  int style = 0;
};
/// plain: control flow of C++, no checkpoints. recorded: the library's control flow op by op. parts: with compiled
/// loops and compiled functions inside. whole: all in a compiled function.
enum class Way : std::uint8_t { plain, recorded, parts, whole };
/// How a program is run.
struct Plan {
  std::vector<Level> levels = {};
  Way way = Way::whole;
  int inside = 0;  ///< number of levels inside the compiled function
  bool check = false;
  bool native = false;      ///< CompileOptions::native: compared to rounding
  bool same_zeros = false;  ///< takes 0 and -0 as the same bits
};

/// What the generator leaves out.
struct Without {
  std::vector<std::string> words;
  bool has(const std::string& word) const;
};
Program generate(std::uint64_t seed, const Without& without);
std::vector<Plan> plans_of(const Program& p, const Without& without);

/// Whether a gradient may be none op by op, and zeros of either sign in programs: of what statements read that may not
/// run, by values; of what enters a loop that might have had no steps; of what a body with a custom gradient ignores;
/// of what enters a compiled function, whose derivatives agree to rounding.
bool may_be_none(const Block& b);
/// Whether the block has bodies of loops, branches, checkpoints or compiled functions: what rows they gather has slices
/// as gradient op by op, and dense tensors in programs.
bool has_bodies(const Block& b);
/// Whether derivatives inside a compiled function may have other last bits than op by op, as <reel/compile.hpp> says.
bool rounds(const Program& p, const Plan& plan);

/// As C++ code, with the plan.
std::string text_of(const Program& p, const Plan& plan);
std::string text_of(const Plan& plan);

/// Runs the program as planned and compares; empty if all agree, otherwise "category: difference".
std::string check(const Program& p, const Plan& plan);

/// All programs and plans that are one step simpler.
struct Candidate {
  Program program;
  Plan plan;
};
std::vector<Candidate> simpler(const Program& p, const Plan& plan);

}  // namespace random_state
