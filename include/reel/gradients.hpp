// Derivatives under TensorFlow's names: gradients, hessians and hessian_vector_product on a tape that keeps recording;
// implicit_grad for the variables that a function reads; gradients_function, and parameters chosen at run time, by
// position or by name. All return Gradients for the flattened leaves, even for a single one; none where not connected.
#pragma once
#include <concepts>
#include <reel/api.hpp>
#include <reel/functions.hpp>
#include <string>

namespace REEL_API reel {

/// Targets from one leaf, a braced list, or a tree.
class TargetList {
 public:
  TargetList(std::initializer_list<Target> list) : list_(list) {}
  template <Tree T>
  TargetList(const T& tree) {
    for_each_leaf(tree, [&](const auto& leaf) { list_.emplace_back(leaf); });
  }
  std::span<const Target> list() const noexcept { return list_; }

 private:
  detail::List<Target> list_;
};

/// The derivative of the sum of all elements of ys with respect to each x, on the innermost tape of this thread that
/// records (TapeError without one), or on the given tape. The tape, persistent or not, is neither stopped nor used up,
/// and records the replay, so that gradients of gradients work on one tape. Total derivatives: paths through other xs
/// count, too; stop_gradients makes constants. Errors as GradientTape::gradient, before replay. TensorFlow's
/// tf.gradients.
inline std::vector<Gradient> gradients(const TargetList& ys, const SourceList& xs, const GradientOptions& options = {},
                                       const detail::CallLine& at = {}) {
  std::vector<Gradient> gradients(const TargetList&, const SourceList&, const GradientOptions&);  // exported
  return detail::naming_line(at, [&] { return gradients(ys, xs, options); });
}
inline std::vector<Gradient> gradients(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                       const GradientOptions& options = {}, const detail::CallLine& at = {}) {
  std::vector<Gradient> gradients(GradientTape&, const TargetList&, const SourceList&,
                                  const GradientOptions&);  // exported
  return detail::naming_line(at, [&] { return gradients(tape, ys, xs, options); });
}

/// The Hessian of the sum of all elements of ys by each x separately (no cross terms), of shape x.shape + x.shape;
/// zeros where ys do not depend on x, or linearly; none for integers. Options apply to the first derivative. The tape
/// is chosen as for gradients, but it must record. As many replays as x has elements, batched. TensorFlow's
/// tf.hessians.
inline std::vector<Gradient> hessians(const TargetList& ys, const SourceList& xs, const GradientOptions& options = {},
                                      const detail::CallLine& at = {}) {
  std::vector<Gradient> hessians(const TargetList&, const SourceList&, const GradientOptions&);  // exported
  return detail::naming_line(at, [&] { return hessians(ys, xs, options); });
}
inline std::vector<Gradient> hessians(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                      const GradientOptions& options = {}, const detail::CallLine& at = {}) {
  std::vector<Gradient> hessians(GradientTape&, const TargetList&, const SourceList&,
                                 const GradientOptions&);  // exported
  return detail::naming_line(at, [&] { return hessians(tape, ys, xs, options); });
}

/// The Hessian of the sum of all elements of ys, with cross terms, times v, which has one leaf per x in its shape and
/// counts as a constant: two replays. None where second derivatives vanish structurally. ValueError when xs and v
/// differ in number, ShapeError in shape. The tape is chosen as for hessians.
inline std::vector<Gradient> hessian_vector_product(const TargetList& ys, const SourceList& xs, const GradientList& v,
                                                    const detail::CallLine& at = {}) {
  std::vector<Gradient> hessian_vector_product(const TargetList&, const SourceList&, const GradientList&);  // exported
  return detail::naming_line(at, [&] { return hessian_vector_product(ys, xs, v); });
}
inline std::vector<Gradient> hessian_vector_product(GradientTape& tape, const TargetList& ys, const SourceList& xs,
                                                    const GradientList& v, const detail::CallLine& at = {}) {
  std::vector<Gradient> hessian_vector_product(GradientTape&, const TargetList&, const SourceList&,
                                               const GradientList&);  // exported
  return detail::naming_line(at, [&] { return hessian_vector_product(tape, ys, xs, v); });
}

/// A function whose parameters have names, for wrappers that choose by name.
template <class F>
struct Named {
  F f;
  std::vector<std::string> names;
  template <class... A>
  decltype(auto) operator()(A&&... args) {
    return f(std::forward<A>(args)...);
  }
  template <class... A>
  decltype(auto) operator()(A&&... args) const {
    return f(std::forward<A>(args)...);
  }
};
/// named(f, "a", "b"): f with names for its parameters, in order.
template <class F, std::convertible_to<std::string>... N>
Named<F> named(F f, const N&... names) {
  return {std::move(f), {names...}};
}

/// A parameter: its position, negative from the end, or the name that named() gave it.
class Parameter {
 public:
  template <detail::Integer T>
  Parameter(T position) : position_(detail::checked(position)) {}
  Parameter(const char* name) : name_(name) {}
  Parameter(std::string name) : name_(std::move(name)) {}
  const std::string& name() const noexcept { return name_; }
  std::int64_t position() const noexcept { return position_; }

 private:
  std::string name_;
  std::int64_t position_ = 0;
};

/// Parameters chosen at run time, in this order: {0, -1} or {"a", "b"}, possibly repeated, possibly none. Every
/// argument that is a tree of tensors, a floating-point number or a vector of them reaches the function as fresh
/// tensors, chosen or not; others pass unchanged. (With template arguments, those not chosen pass unchanged.)
class Parameters {
 public:
  /// ValueError for a mixture of positions and names.
  Parameters(std::initializer_list<Parameter> list);
  Parameters(const std::vector<int>& positions) : list_(positions.begin(), positions.end()) {}
  Parameters(const std::vector<std::string>& names) : list_(names.begin(), names.end()) {}
  std::span<const Parameter> list() const noexcept { return list_; }

 private:
  std::vector<Parameter> list_;
};

/// Weights for the results of a function whose gradients are taken; made by dy().
struct OutputGradients {
  GradientList list;
};
/// The last argument of a call: gradients_function(f)(x, dy(2.0)). One leaf or number for a single result, else a
/// braced list or a tree with a cotangent for each leaf of the result.
inline OutputGradients dy(GradientList list) { return {std::move(list)}; }

namespace detail {

/// The parameters: all that are possible, or those chosen at run time.
class Choice {
 public:
  Choice() = default;
  /// ValueError for a name that is not among `names`, or for any name when `names` is null.
  Choice(const char* who, const Parameters& parameters, const std::vector<std::string>* names);
  template <class ArgumentsOfCall>
  List<Source> sources(const char* who, const ArgumentsOfCall& arguments) const {
    return all_ ? arguments.sources() : picked(who, arguments.leaves());
  }

 private:
  /// ValueError for a position out of range, TypeError for an argument that cannot be differentiated.
  List<Source> picked(const char* who, std::span<const Leaves> arguments) const;

  bool all_ = true;
  std::vector<std::int64_t> positions_;
};
template <class F>
Choice choose(const char* who, const Parameters& parameters, const F&) {
  return {who, parameters, nullptr};
}
template <class F>
Choice choose(const char* who, const Parameters& parameters, const Named<F>& f) {
  return {who, parameters, &f.names};
}

using Lists = Choose<true>;

template <class... A>
inline constexpr bool ends_with_dy = false;
template <class X, class... A>
inline constexpr bool ends_with_dy<X, A...> =
    std::is_same_v<std::remove_cvref_t<std::tuple_element_t<sizeof...(A), std::tuple<X, A...>>>, OutputGradients>;

template <class P, class F, bool Aux>
struct ValueAndGradients {
  const char* who;
  mutable F f;
  Choice choice;
  CallLine at = no_line;

  template <class... A>
  auto operator()(A&&... args) const {
    return naming_line(at, [&] { return choose_weights(std::forward<A>(args)...); });
  }

 private:
  template <class... A>
  auto choose_weights(A&&... args) const {
    if constexpr (ends_with_dy<A...>)
      return weighted(std::make_index_sequence<sizeof...(A) - 1>(), std::forward_as_tuple(std::forward<A>(args)...));
    else
      return run(GradientList(), std::forward<A>(args)...);
  }
  template <std::size_t... K, class All>
  auto weighted(std::index_sequence<K...>, All&& all) const {
    return run(std::get<sizeof...(K)>(all).list, std::get<K>(std::move(all))...);
  }
  template <class... A>
  auto run(const GradientList& weights, A&&... args) const {
    ArgumentsOf<P, A...> arguments(who, std::forward<A>(args)...);
    Recording recording(who, choice.sources(who, arguments), false);
    auto result = record_call<Aux>(who, f, arguments, recording);
    return std::pair(std::move(result), recording.pull(weights));
  }
};

// With parameters chosen at run time.
template <bool Aux, class F>
auto choosing(const char* who, F f, const Parameters& parameters, const CallLine& at) {
  Choice choice = naming_line(at, [&] { return choose(who, parameters, f); });
  return ValueAndGradients<Lists, F, Aux>{who, std::move(f), std::move(choice), at};
}

template <class P, class F, bool Aux>
using Gradients = GradientsOf<ValueAndGradients<P, F, Aux>, Aux>;

// value_and_grad with parameters picked at run time.
template <class F>
struct ValueAndGradAt {
  const char* who;
  mutable F f;
  Choice choice;
  CallLine at = no_line;

  template <class... A>
  auto operator()(A&&... args) const {
    return naming_line(at, [&] { return compute(std::forward<A>(args)...); });
  }

 private:
  template <class... A>
  auto compute(A&&... args) const {
    ArgumentsOf<Lists, A...> arguments(who, std::forward<A>(args)...);
    const List<Source> sources = choice.sources(who, arguments);
    require_differentiable(who, sources);
    GradientTape tape({.watch_accessed_variables = false});
    watch_all(tape, sources);
    using Y = decltype(arguments.call(f));
    static_assert(!std::is_void_v<Y>, "the function returns nothing that could be differentiated");
    Tensor value = value_of<std::remove_cvref_t<Y>>(arguments.call(f));
    require_scalar(who, value);
    const List<Tensor> list = gradients(tape, value, sources);
    return std::pair(std::move(value), std::vector<Gradient>(list.begin(), list.end()));
  }
};

template <class F>
using GradAt = GradientsOf<ValueAndGradAt<F>, false>;

/// The variables that the tape has watched, in the order of construction, with the gradients of the targets' sum.
/// ValueError when a target is empty, or there is no variable.
std::vector<std::pair<Gradient, Variable>> implicit(const char* who, GradientTape& tape,
                                                    std::span<const Target> targets);

template <class F, bool Aux>
struct ImplicitValueAndGrad {
  const char* who;
  mutable F f;
  CallLine at = no_line;

  template <class... A>
  auto operator()(A&&... args) const {
    return naming_line(at, [&] { return compute(std::forward<A>(args)...); });
  }

 private:
  template <class... A>
  auto compute(A&&... args) const {
    using Y = std::remove_cvref_t<decltype(f(std::forward<A>(args)...))>;
    static_assert(!std::is_void_v<Y>, "the function returns nothing that could be differentiated");
    GradientTape tape;
    Y result = f(std::forward<A>(args)...);
    auto list = gradients_of(tape, result);
    return std::pair(std::move(result), std::move(list));
  }
  template <class Y>
  auto gradients_of(GradientTape& tape, const Y& result) const {
    if constexpr (Aux) {
      static_assert(is_pair<Y>, "with has_aux the function returns pair(value, aux)");
      return ImplicitValueAndGrad<F, false>::gradients_of_value(who, tape, result.first);
    } else {
      return gradients_of_value(who, tape, result);
    }
  }

 public:
  template <class Y>
  static auto gradients_of_value(const char* who, GradientTape& tape, const Y& value) {
    static_assert(Tree<Y>, "the function must return a tensor or a tree of tensors");
    std::vector<Target> targets;
    for_each_leaf(value, [&](const auto& leaf) { targets.emplace_back(leaf); });
    return implicit(who, tape, targets);
  }
};

template <class F, bool Aux>
struct ImplicitGrad {
  ImplicitValueAndGrad<F, Aux> inner;
  template <class... A>
  auto operator()(A&&... args) const {
    auto result = inner(std::forward<A>(args)...);
    if constexpr (Aux)
      return std::pair(std::move(result.second), std::move(result.first.second));
    else
      return std::move(result.second);
  }
};

}  // namespace detail

/// implicit_value_and_grad(f)(args...) is pair(y, list): f's result, and for each trainable variable that it read the
/// gradient of the sum of y, as pair(Gradient, Variable) in the order of the variables' construction; none for one that
/// y does not depend on. The arguments are not watched. ValueError when f returns an empty tensor or reads no trainable
/// variable. Errors name the line that wraps f, here and below. With has_aux f returns pair(y, aux), and so does the
/// first part of the result. TensorFlow's implicit_value_and_gradients.
template <class F>
auto implicit_value_and_grad(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::ImplicitValueAndGrad<F, false>{"implicit_value_and_grad", std::move(f), at};
}
template <class F>
auto implicit_value_and_grad(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::ImplicitValueAndGrad<F, true>{"implicit_value_and_grad", std::move(f), at};
}
/// Only the list; with has_aux pair(list, aux).
template <class F>
auto implicit_grad(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::ImplicitGrad<F, false>{{"implicit_grad", std::move(f), at}};
}
template <class F>
auto implicit_grad(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::ImplicitGrad<F, true>{{"implicit_grad", std::move(f), at}};
}

/// value_and_gradients_function(f)(args...) is pair(y, gradients): f's results, each leaf a new tensor, and the
/// gradients of their sum (weighted by a last argument dy(...)), one for each leaf of the parameters: the template
/// arguments, or every argument that is a tree of tensors, a floating-point number or a vector of them. Each parameter
/// is a tensor of its own, even when the same tensor is passed twice or captured. Integers get no gradient. With
/// has_aux f returns pair(y, aux), and so does the first part of the result. TensorFlow's value_and_gradients_function.
template <int... I, class F>
auto value_and_gradients_function(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::ValueAndGradients<detail::Choose<true, I...>, F, false>{
      "value_and_gradients_function", std::move(f), {}, at};
}
template <int... I, class F>
auto value_and_gradients_function(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::ValueAndGradients<detail::Choose<true, I...>, F, true>{
      "value_and_gradients_function", std::move(f), {}, at};
}
/// With parameters chosen at run time. ValueError here for names that f does not have (see named); at the call an error
/// for positions out of range, and TypeError for an argument that is not a tensor.
template <class F>
auto value_and_gradients_function(F f, const Parameters& parameters,
                                  const detail::WrapperLine& at = detail::CallLine()) {
  return detail::choosing<false>("value_and_gradients_function", std::move(f), parameters, at);
}
template <class F>
auto value_and_gradients_function(F f, const Parameters& parameters, HasAux, const detail::CallLine& at = {}) {
  return detail::choosing<true>("value_and_gradients_function", std::move(f), parameters, at);
}

/// Only the gradients; with has_aux pair(gradients, aux).
template <int... I, class F>
auto gradients_function(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::Gradients<detail::Choose<true, I...>, F, false>{{"gradients_function", std::move(f), {}, at}};
}
template <int... I, class F>
auto gradients_function(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::Gradients<detail::Choose<true, I...>, F, true>{{"gradients_function", std::move(f), {}, at}};
}
template <class F>
auto gradients_function(F f, const Parameters& parameters, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::Gradients<detail::Lists, F, false>{
      detail::choosing<false>("gradients_function", std::move(f), parameters, at)};
}
template <class F>
auto gradients_function(F f, const Parameters& parameters, HasAux, const detail::CallLine& at = {}) {
  return detail::Gradients<detail::Lists, F, true>{
      detail::choosing<true>("gradients_function", std::move(f), parameters, at)};
}

/// value_and_grad with parameters picked at run time: pair(value, gradients), one for each leaf of the parameters.
template <class F>
auto value_and_grad(F f, const Parameters& parameters, const detail::CallLine& at = {}) {
  return detail::naming_line(at, [&] {
    detail::Choice choice = detail::choose("value_and_grad", parameters, f);
    return detail::ValueAndGradAt<F>{"value_and_grad", std::move(f), std::move(choice), at};
  });
}
/// Only the gradients.
template <class F>
auto grad(F f, const Parameters& parameters, const detail::CallLine& at = {}) {
  return detail::naming_line(at, [&] {
    detail::Choice choice = detail::choose("grad", parameters, f);
    return detail::GradAt<F>{{"grad", std::move(f), std::move(choice), at}};
  });
}

/// A vjp for the flattened leaves of parameters that were chosen at run time.
class VjpList {
 public:
  explicit VjpList(detail::Recording recording) : recording_(std::move(recording)) {}
  /// As Vjp.
  std::vector<Gradient> operator()(const GradientList& dy = {}, const detail::CallLine& at = {}) const {
    return detail::naming_line(at, [&] { return recording_.pull(dy); });
  }

 private:
  detail::Recording recording_;
};
/// make_vjp with parameters picked at run time: pair(y, VjpList).
template <class F>
auto make_vjp(F f, const Parameters& parameters, const VjpOptions& options = {}, const detail::CallLine& at = {}) {
  detail::Choice choice = detail::naming_line(at, [&] { return detail::choose("make_vjp", parameters, f); });
  return [f = std::move(f), choice = std::move(choice), options, at]<class... A>(A&&... args) mutable {
    return detail::naming_line(at, [&] {
      detail::ArgumentsOf<detail::Lists, A...> arguments("make_vjp", std::forward<A>(args)...);
      detail::Recording recording("make_vjp", choice.sources("make_vjp", arguments), options.persistent);
      auto y = detail::record_call<false>("make_vjp", f, arguments, recording);
      return std::pair(std::move(y), VjpList(std::move(recording)));
    });
  };
}

/// TensorFlow's other names of the same.
template <class F>
auto implicit_gradients(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return implicit_grad(std::move(f), at);
}
template <class F>
auto implicit_gradients(F f, HasAux tag, const detail::CallLine& at = {}) {
  return implicit_grad(std::move(f), tag, at);
}
template <class F>
auto implicit_value_and_gradients(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return implicit_value_and_grad(std::move(f), at);
}
template <class F>
auto implicit_value_and_gradients(F f, HasAux tag, const detail::CallLine& at = {}) {
  return implicit_value_and_grad(std::move(f), tag, at);
}
template <class F>
auto implicit_val_and_grad(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return implicit_value_and_grad(std::move(f), at);
}
template <class F>
auto implicit_val_and_grad(F f, HasAux tag, const detail::CallLine& at = {}) {
  return implicit_value_and_grad(std::move(f), tag, at);
}
template <int... I, class F>
auto val_and_grad_function(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return value_and_gradients_function<I...>(std::move(f), at);
}
template <int... I, class F>
auto val_and_grad_function(F f, HasAux tag, const detail::CallLine& at = {}) {
  return value_and_gradients_function<I...>(std::move(f), tag, at);
}
template <class F>
auto val_and_grad_function(F f, const Parameters& parameters, const detail::WrapperLine& at = detail::CallLine()) {
  return value_and_gradients_function(std::move(f), parameters, at);
}
template <class F>
auto val_and_grad_function(F f, const Parameters& parameters, HasAux tag, const detail::CallLine& at = {}) {
  return value_and_gradients_function(std::move(f), parameters, tag, at);
}

}  // namespace reel
