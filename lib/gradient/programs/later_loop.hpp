// Loops in functions that are traced, as deferred calls whose steps are programs.
#pragma once
#include <memory>
#include <optional>
#include <reel/control.hpp>

#include "gradient/programs/body.hpp"
#include "gradient/programs/derivative.hpp"
#include "program/run/loop.hpp"

namespace reel::autodiff {

/// Tapes and accumulators that are active: as many derivatives may be taken.
struct Levels {
  int all = 0, forward = 0;
  static Levels now();
  /// Whether a tangent is asked for, or a gradient of a gradient, which is made of tangents.
  bool need_tangents() const noexcept { return forward > 0 || all > 1; }
  Levels without_one() const noexcept { return {all - 1, forward > 0 ? forward - 1 : 0}; }
};

/// The loop with its tangents: loop variables, their tangents, tangents of what else the loop reads, which steps hand
/// on; rows, and their tangents. It gives the variables, the tangents, the outputs and their tangents.
struct LoopWithTangents;

/// What a loop as a deferred call consists of. Its inputs: the loop variables, xs, what body and condition adopt, what
/// is captured.
struct LaterLoop {
  detail::FlatLoop loop;
  LoopOptions options;
  Body body;
  std::optional<Body> condition;
  std::size_t xs;
  program::Loop program;                                  // the same out of sight of tapes
  Tensors captured = {};                                  // of the deferred call
  std::shared_ptr<const Pullback> pullback = {};          // of the body; null where no gradient is asked for
  std::vector<std::size_t> captured_sources = {};         // of each captured tensor: the gradient's source, or none
  std::shared_ptr<const LoopWithTangents> tangents = {};  // null where none are asked for

  LaterLoop(const detail::FlatLoop& l, const LoopOptions& o, const Body& b, const std::optional<Body>& c,
            std::size_t columns);

  std::size_t body_at() const { return loop.variables + xs; }
  std::size_t condition_at() const { return body_at() + body.adopted(); }
  /// Abstract tensors like the final variables and the stacked outputs.
  Tensors results() const;

  Tensors operator()(TensorSpan x) const;
  void compute(TensorSpan x, TensorSpan outputs, Tensor* token) const;
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
            TensorSpan gradients) const;
  /// Deferred::with_tangents.
  std::optional<Tensors> push(TensorSpan x, TensorSpan along) const;

  /// Traces the derivatives that the tapes and accumulators of the trace may ask for. `followed`: of the arguments of
  /// the body and what it adopts, whether one of them follows it.
  void prepare(const std::vector<bool>& followed, const Levels& levels);
  /// The deferred call, of so many arguments.
  static std::unique_ptr<Deferred> deferred(const std::shared_ptr<const LaterLoop>& run, std::size_t arguments);

 private:
  void set_gradient(std::shared_ptr<const Pullback> p);
  std::vector<bool> connected(std::size_t plain, std::size_t inputs, std::size_t results) const;
  program::Loop::Shape shape() const;
  program::Loop::Programs programs() const;
};

struct LoopWithTangents {
  std::shared_ptr<const LaterLoop> loop;
  std::vector<std::size_t> variables, rows, shared;  // inputs of the loop without tangents that have one
};

/// ShapeError unless it has one element.
void check_condition(const char* name, const Tensor& predicate);
/// The condition of a loop, if it is a tensor, for variables like these.
std::optional<Body> trace_condition(const detail::FlatLoop& loop, TensorSpan variables);
/// The body of the loop, for variables and rows like these.
Body trace_body(const detail::FlatLoop& loop, TensorSpan variables, TensorSpan rows);

}  // namespace reel::autodiff
