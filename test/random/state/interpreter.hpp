// Runs programs with state by the library's public interface.
#pragma once
#include <map>
#include <memory>
#include <reel/compile.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <reel/switch.hpp>

#include "program.hpp"

namespace random_state {

using reel::Generator;
using reel::Tensor;
using reel::Variable;
using Tensors = std::vector<Tensor>;

/// Values by a fixed rule: numbers in (-1, 1) from a position and a salt.
Tensor numbers(const reel::Shape& shape, int salt);

/// Values that assignments gave to variables, in order: recorded in one run, and assigned in another run with a shift,
/// so that central differences see assigned values as constants, as tapes do.
struct AssignLog {
  bool replay = false;
  std::size_t next = 0;
  std::vector<int> variables = {};
  std::vector<Tensor> values = {};
};
/// Thrown by a run that does not assign the logged variables: its inputs lead to another branch.
struct OtherBranch {};

/// Their epsilons are large, so that steps are smooth where a gradient is zero. Lion's never are.
struct Optimizers {
  reel::SGD sgd{{.learning_rate = 0.1}};
  reel::SGD momentum{{.learning_rate = 0.1, .momentum = 0.5}};
  reel::SGD nesterov{{.learning_rate = 0.1, .momentum = 0.5, .nesterov = true}};
  reel::Adam adam{{.learning_rate = 0.1, .epsilon = 0.1}};
  reel::AdamW adamw{{.learning_rate = 0.1, .epsilon = 0.1}};
  reel::RMSProp rmsprop{{.learning_rate = 0.1, .epsilon = 0.1}};
  reel::Adagrad adagrad{{.learning_rate = 0.1, .epsilon = 0.1}};
};

struct Environment;
/// A part of a program as a function of tensors.
struct Piece {
  const Block* block;
  const Environment* environment;
  std::map<int, Tensor> values;
  Tensor operator()(const Tensor& x) const;
};

/// What a program works on beside its arguments.
struct Environment {
  Environment(const Program& p, Way way);
  const Program* program;
  Way way;
  std::vector<Variable> variables;
  Tensor captured;
  mutable Optimizers stepped;
  mutable Generator unused{1};
  AssignLog* log = nullptr;
  double shift = 0;  ///< added to values that the log assigns, times the direction
  int direction = 0;
  mutable std::int64_t assigns = 0;
};

/// The values in scope.
struct Scope {
  const Environment* environment;
  Generator* generator;
  std::map<int, Tensor> values;
  Tensor at(int id) const;
};

/// The results of the body for arguments x.
Tensors run(const Block& block, Scope scope, const Tensors& x);

/// The direction of level k along source i (variables from 10 on, the captured tensor 30).
Tensor direction(int level, int source, const reel::Shape& shape);

}  // namespace random_state
