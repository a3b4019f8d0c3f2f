// Loops in traced functions: deferred calls whose steps are programs.
#pragma once
#include <reel/control.hpp>

#include "gradient/control/body.hpp"
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

/// A loop as a deferred call. Its own inputs: the loop variables, xs.
class DeferredLoop final : public BodyCall {
 public:
  /// `bodies`: the step, and the condition if it is a tensor.
  DeferredLoop(const detail::FlatLoop& loop, const LoopOptions& options, const std::vector<Body>& bodies,
               std::size_t xs);
  /// Traces the derivatives that the active tapes and accumulators may ask for. `followed`: for each own input, whether
  /// a tape follows it.
  void prepare(const std::vector<bool>& followed, const Levels& levels);

  Tensors run(TensorSpan x) const override;
  void compute(TensorSpan x, TensorSpan to, Tensor* token) const override;
  bool pulls() const override { return step().pullback(); }
  void pull(TensorSpan x, const Tensor& token, TensorSpan cotangents, Numbers wanted,
            TensorSpan gradients) const override;
  void write(csource::Writer& w, bool keeps) const override;
  void write_pull(csource::Writer& w, std::span<const csource::Array> x, const csource::Token& token,
                  std::span<const csource::Array> cotangents, Numbers wanted,
                  std::span<const csource::Array> gradients) const override;
  bool pushes(TensorSpan along) const override;
  Tensors with_tangents(TensorSpan x, TensorSpan along) const override;

 private:
  friend class LoopSource;
  // Sources of the step that have a tangent.
  struct Moved {
    std::vector<std::size_t> variables, rows, shared;
  };

  const Body& step() const { return bodies_[0]; }
  // Whether it ends after max_iterations, whatever its condition says.
  bool is_counted() const { return options_.max_iterations >= 0 && std::string_view(loop_.name) == "fori_loop"; }
  program::Loop::Shape shape() const;
  program::Loop::Programs programs() const;
  void set_gradient(const std::shared_ptr<const Pullback>& p);
  std::vector<std::size_t> read_by_gradient(const Pullback& p) const;
  void close_connections();
  std::vector<std::size_t> find_moved(const std::vector<bool>& followed);
  Tensors examples(std::span<const std::size_t> sources) const;
  detail::FlatLoop loop_with_tangents(const detail::FlatFunction& step) const;
  void trace_tangents(const std::vector<bool>& followed, const Levels& levels);
  Tensors results_and_tangents(TensorSpan y) const;

  detail::FlatLoop loop_;
  LoopOptions options_;
  std::size_t xs_;
  program::Loop program_;  // the same, run unrecorded
  // The loop with tangents; null if none can be asked for. Its variables: those of this loop, their tangents, and the
  // tangents of what steps share, which they pass on. Its rows: the rows and their tangents. Its results: variables,
  // tangents, outputs and their tangents.
  std::shared_ptr<const DeferredLoop> tangents_ = {};
  Moved moved_ = {};
};

/// ShapeError unless the predicate has one element.
void check_condition(const char* name, const Tensor& predicate);
/// The step of the loop, and its condition if that is a tensor, traced for variables and rows like these.
std::vector<Body> trace_bodies(const detail::FlatLoop& loop, TensorSpan variables, TensorSpan rows);

}  // namespace reel::autodiff
