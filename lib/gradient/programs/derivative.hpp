// What programs of derivatives are traced from: a function under a tape or an accumulator.
#pragma once
#include <reel/tape.hpp>

#include "gradient/functions/composite.hpp"
#include "program/run/executable.hpp"
#include "program/trace.hpp"

namespace reel::autodiff {

/// A gradient or tangent, and what has its shape and dtype.
struct Derived {
  Tensor value;  // empty: there is none
  Tensor like;
};

/// A function that is differentiated, and by what: arguments, what it adopted, variables, captured tensors. It is given
/// a list: arguments, values of the variables, then cotangents or tangents.
struct Differentiated {
  detail::FlatFunction f;
  std::size_t arguments;
  std::vector<Tensor> adopted;
  std::vector<Variable> variables;
  std::vector<Tensor> captured;
  // Variables of an enclosing trace, whose values are among what was adopted.
  std::vector<Variable> enclosing_variables;
  std::vector<Tensor> enclosing_values;
  std::vector<bool> wanted;        // of arguments, adopted, variables
  std::vector<std::size_t> given;  // the numbers of what has a cotangent or tangent

  std::size_t sources() const noexcept { return arguments + adopted.size() + variables.size() + captured.size(); }
  std::vector<Tensor> run(std::span<const Tensor> x) const { return f(x.first(arguments)); }
  std::span<const Tensor> values(std::span<const Tensor> x) const { return x.subspan(arguments, variables.size()); }
  std::span<const Tensor> directions(std::span<const Tensor> x) const {
    return x.subspan(arguments + variables.size());
  }
  /// Number i of what the function is differentiated by.
  Source source(std::size_t i, std::span<const Tensor> x) const;
  /// The variables of the enclosing trace that are read as source i.
  std::vector<Source> read_as(std::size_t i) const;
};

/// While it lives, the variables of the function have the values that it is given.
class BoundValues {
 public:
  BoundValues(const Differentiated& d, std::span<const Tensor> x);

 private:
  static std::vector<Variable> variables_of(const Differentiated& d);
  static std::vector<Tensor> values_of(const Differentiated& d, std::span<const Tensor> x);
  program::Trace::Bound bound_;
};

/// The function's results and its gradients by all sources for cotangents of some results.
struct Pulled {
  std::vector<Tensor> results;
  std::vector<Derived> gradients;
};
Pulled pulled_by(const Differentiated& d, std::span<const Tensor> x);
std::vector<Derived> gradients_of(const Differentiated& d, std::span<const Tensor> x);
/// The function's results and their tangents, for tangents of some sources.
struct Pushed {
  std::vector<Tensor> results;
  std::vector<Derived> tangents;
};
Pushed pushed_by(const Differentiated& d, std::span<const Tensor> x);
/// Tangents of all results, for tangents of some sources.
std::vector<Derived> tangents_of(const Differentiated& d, std::span<const Tensor> x);

/// Those that exist. The first run says which these are; where a later one, under a tape, finds none, it is zero.
std::vector<Tensor> existing(std::span<const Derived> list, std::vector<bool>& exists);
/// The list again, with empty handles for what does not exist.
detail::List<Tensor> with_gaps(std::span<Tensor> some, const std::vector<bool>& exists);

/// A call and its gradient as two programs.
struct Pullback {
  std::unique_ptr<program::Executable> forward;   // arguments, adopted, values to results, assigned values, residuals
  std::unique_ptr<program::Executable> backward;  // the same, cotangents, and residuals to the gradients that exist
  std::size_t residuals = 0;
  std::vector<bool> exists;
  std::vector<bool> wanted;
  std::vector<Tensor> captured;
  std::vector<std::size_t> given = {};  // the results with a cotangent
};

}  // namespace reel::autodiff
