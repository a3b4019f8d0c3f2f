// Loops in traced functions: deferred calls whose steps are programs.
#pragma once
#include <memory>
#include <optional>
#include <reel/control.hpp>

#include "gradient/control/body.hpp"
#include "gradient/programs/derivative.hpp"
#include "program/run/loop.hpp"

namespace reel::autodiff {

/// The number of active tapes and accumulators, which bounds the order of derivatives.
struct Levels {
  int all = 0, forward = 0;
  static Levels now();
  /// Whether tangents are needed: in forward mode, and for gradients of gradients.
  bool need_tangents() const noexcept { return forward > 0 || all > 1; }
  Levels without_one() const noexcept { return {all - 1, forward > 0 ? forward - 1 : 0}; }
};

/// The loop with tangents. Its variables: the loop variables, their tangents, and the tangents of shared inputs, which
/// steps pass on. Its rows: the rows and their tangents. Its results: variables, tangents, outputs and their tangents.
struct LoopWithTangents;

/// A loop as a deferred call. Its inputs: the loop variables, xs, what body and condition read, captured tensors.
struct DeferredLoop {
  detail::FlatLoop loop;
  LoopOptions options;
  Body body;
  std::optional<Body> condition;
  std::size_t xs;
  Reads reads = {};
  std::size_t early_reads = 0;                    // of body and condition; the others are read by derivatives
  program::Loop program;                          // the same, run unrecorded
  Tensors captured = {};                          // the captured tensors of the deferred call
  std::shared_ptr<const Pullback> pullback = {};  // of the body; null if no gradient can be asked for
  // For each captured tensor, the index of the gradient's source, or none.
  std::vector<std::size_t> captured_sources = {};
  std::shared_ptr<const LoopWithTangents> tangents = {};  // null if no tangent can be asked for

  DeferredLoop(const detail::FlatLoop& l, const LoopOptions& o, const Body& b, const std::optional<Body>& c,
               std::size_t columns);

  /// The first input that is read.
  std::size_t reads_at() const { return loop.variables + xs; }
  /// The number of arguments as a deferred call.
  std::size_t arguments() const { return reads_at() + reads.size(); }
  /// The input among the sources of the body; none if it is no source.
  std::size_t source_of(std::size_t input) const;
  /// Abstract tensors like the final variables and the stacked outputs.
  Tensors results() const;

  Tensors operator()(TensorSpan x) const;
  void compute(TensorSpan x, TensorSpan outputs, Tensor* token) const;
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, std::span<const std::size_t> wanted,
            TensorSpan gradients) const;
  /// Implements Deferred::with_tangents.
  std::optional<Tensors> push(TensorSpan x, TensorSpan along) const;

  /// Traces the derivatives that the active tapes and accumulators may ask for. `followed`: for each argument of the
  /// body and each of its reads, whether a tape follows it.
  void prepare(const std::vector<bool>& followed, const Levels& levels);
  static std::unique_ptr<Deferred> deferred(const std::shared_ptr<const DeferredLoop>& run);

 private:
  void set_gradient(std::shared_ptr<const Pullback> p);
  std::vector<bool> connected(std::size_t inputs, std::size_t results) const;
  Reads add_reads();
  program::Loop::Shape shape() const;
  program::Loop::Programs programs() const;
};

struct LoopWithTangents {
  std::shared_ptr<const DeferredLoop> loop;
  std::vector<std::size_t> variables, rows, shared;  // inputs of the loop without tangents that have a tangent
};

/// ShapeError unless the predicate has one element.
void check_condition(const char* name, const Tensor& predicate);
/// The condition of a loop, if it is a tensor, traced for variables like these.
std::optional<Body> trace_condition(const detail::FlatLoop& loop, TensorSpan variables);
/// The body of the loop, traced for variables and rows like these.
Body trace_body(const detail::FlatLoop& loop, TensorSpan variables, TensorSpan rows);

}  // namespace reel::autodiff
