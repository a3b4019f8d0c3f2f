// Forward mode: tangents are propagated with the values, op by op. For functions of few inputs, for Jacobian-vector
// products, and, nested with tapes or with itself, for every mixture of modes.
#pragma once
#include <reel/api.hpp>
#include <reel/functions.hpp>

namespace REEL_API reel {

namespace detail {
/// The function that the user called, for messages.
struct Called {
  const char* name;
};
}  // namespace detail

/// Propagates tangents of the primals through the ops of this thread from its construction to the end of its scope. It
/// nests with tapes and with itself in any order: what an accumulator computes is recorded by the tapes outside it, and
/// followed by the accumulators outside it. A tangent lives as long as its tensor, that of a primal as long as the
/// accumulator. Neither copyable nor movable; belongs to its thread. After TensorFlow's tf.autodiff.ForwardAccumulator.
class ForwardAccumulator {
 public:
  /// One tangent for each leaf of the primals (tensors or variables), of its shape and dtype; a number stands for a
  /// tangent filled with that value. Tangents of a primal given twice add, like gradients of a target given twice
  /// (TensorFlow refuses them). ValueError when the numbers differ or one is empty, ShapeError or TypeError when a
  /// tangent does not fit, TypeError for a primal of integers or booleans.
  ForwardAccumulator(const SourceList& primals, const GradientList& tangents)
      : ForwardAccumulator(detail::Called{"ForwardAccumulator"}, primals, tangents) {}
  ForwardAccumulator(detail::Called by, const SourceList& primals, const GradientList& tangents);
  ForwardAccumulator(const ForwardAccumulator&) = delete;
  ForwardAccumulator& operator=(const ForwardAccumulator&) = delete;
  ~ForwardAccumulator();

  /// The tangent of each leaf of `target`, in its structure: the derivative by the primals times their tangents. None
  /// (or zeros) where it does not depend on them. Also valid after stop().
  template <Tree T>
  map_t<Gradient, T> jvp(const T& target, UnconnectedGradients unconnected = UnconnectedGradients::none) const {
    return map_leaves<Gradient>(target, [&](const auto& leaf) { return tangent(Target(leaf), unconnected); });
  }
  std::vector<Gradient> jvp(std::initializer_list<Target> targets,
                            UnconnectedGradients unconnected = UnconnectedGradients::none) const {
    std::vector<Gradient> list;
    for (const Target& t : targets) list.push_back(tangent(t, unconnected));
    return list;
  }
  /// Leaves the scope before its end: later ops carry no tangents.
  void stop();
  /// Enters again, inside whatever is active then. TapeError when it is active, or within a jvp that it runs.
  void resume();

 private:
  Gradient tangent(const Target& target, UnconnectedGradients unconnected) const;
  detail::TapeState* tape_;
};

namespace detail {
/// Tangents of the targets on a stopped tape, zeros where not connected. ValueError, ShapeError or TypeError when the
/// tangents do not fit the sources.
List<Tensor> push(const char* who, GradientTape& tape, std::span<const Source> sources, const GradientList& tangents,
                  std::span<const Tensor> targets);

template <class T>
inline constexpr bool is_tuple = false;
template <class... X>
inline constexpr bool is_tuple<std::tuple<X...>> = true;

// f(x), or f(elements...) for a tuple.
template <class F, class X>
decltype(auto) apply_to(F& f, const X& x) {
  if constexpr (is_tuple<X>)
    return std::apply(f, x);
  else
    return f(x);
}

template <class F, class X>
auto jvp_of(F& f, const X& primals, const GradientList& tangents) {
  const auto inputs =
      map_leaves<Input>(with_tensors(primals), [](const auto& leaf) { return fresh("jvp", Target(leaf).tensor()); });
  const ForwardAccumulator accumulator(Called{"jvp"}, inputs, tangents);
  const auto& result = apply_to(f, inputs);
  using Y = std::remove_cvref_t<decltype(result)>;
  static_assert(Tree<Y>, "the function must return a tensor or a tree of tensors");
  auto y = map_leaves<Tensor>(result, [](const auto& leaf) { return fresh_result("jvp", value_of(leaf)); });
  auto dy = map_leaves<Tensor>(
      y, [&](const Tensor& leaf) { return accumulator.jvp(leaf, UnconnectedGradients::zero).dense(); });
  return std::pair(std::move(y), std::move(dy));
}
}  // namespace detail

/// jvp(f, primals, tangents) is pair(y, dy): f's result and its tangent, in the structure of y, zeros where not
/// connected. `primals` is f's argument (a tree of tensors, or a number, which becomes a tensor of rank 0), or a
/// std::tuple of its arguments; `tangents` has one leaf for each of its leaves. Errors are those of ForwardAccumulator.
/// They name the caller's line. JAX's jvp.
template <class F, detail::TreeOrNumbers X>
auto jvp(F f, const X& primals, const GradientList& tangents, const detail::CallLine& at = {}) {
  return detail::naming_line(at, [&] { return detail::jvp_of(f, primals, tangents); });
}

/// The linear part of a function at a point: from tangents of its arguments to the tangent of its result.
template <class Y>
class Linear {
 public:
  /// One tangent per leaf of the arguments of linearize; the tangent of its result, zeros where not connected.
  auto operator()(const GradientList& tangents, const detail::CallLine& at = {}) const {
    detail::Flat<Tensor> flat{detail::naming_line(at, [&] { return recording_.push(tangents); })};
    return map_leaves<Tensor>(y_, flat);
  }
  Linear(detail::Recording recording, Y y) : recording_(std::move(recording)), y_(std::move(y)) {}

 private:
  detail::Recording recording_;
  Y y_;
};

namespace detail {
template <class F, class... A>
auto linear_part(F& f, A&&... args) {
  ArgumentsOf<Pick<>, A...> arguments("linearize", std::forward<A>(args)...);
  const List<Source> sources = arguments.sources();
  require_differentiable("linearize", sources);
  Recording recording("linearize", sources, true);
  using Y = decltype(arguments.call(f));
  static_assert(Tree<Y>, "the function must return a tensor or a tree of tensors");
  auto y = map_leaves<Tensor>(static_cast<const std::remove_cvref_t<Y>&>(arguments.call(f)),
                              [](const auto& leaf) { return fresh_result("linearize", value_of(leaf)); });
  List<Tensor> targets;
  for_each_leaf(y, [&](const Tensor& leaf) { targets.push_back(leaf); });
  recording.end(std::move(targets));
  return std::pair(y, Linear(std::move(recording), y));
}
}  // namespace detail

/// linearize(f, args...) is pair(y, linear): f is called once, and linear(tangents) can be called any number of times,
/// at the cost of the derivative alone. Errors name the caller's line, if there are at most three arguments. JAX's
/// linearize.
template <class F, class... A>
auto linearize(F f, A&&... args) {
  return detail::linear_part(f, std::forward<A>(args)...);
}
template <class F, class A>
auto linearize(F f, A&& x, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::naming_line(at, [&] { return detail::linear_part(f, std::forward<A>(x)); });
}
template <class F, class A, class B>
auto linearize(F f, A&& x, B&& y, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::naming_line(at, [&] { return detail::linear_part(f, std::forward<A>(x), std::forward<B>(y)); });
}
template <class F, class A, class B, class C>
auto linearize(F f, A&& x, B&& y, C&& z, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::naming_line(
      at, [&] { return detail::linear_part(f, std::forward<A>(x), std::forward<B>(y), std::forward<C>(z)); });
}

}  // namespace reel
