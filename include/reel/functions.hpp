// Derivatives of functions: each wrapper takes a callable and returns one that differentiates it at its arguments.
// Template arguments choose parameters: value_and_grad<0, 2>(f); negative ones count from the end; without them, every
// argument that is a tree of tensors or a floating-point number. f receives a chosen parameter as a fresh tensor (a
// variable's value, read once), so that the same tensor captured by f, or passed elsewhere, is a constant. Other
// arguments pass unchanged.
#pragma once
#include <concepts>
#include <reel/api.hpp>
#include <reel/ops/make.hpp>
#include <reel/tape.hpp>

namespace REEL_API reel {

namespace detail {
/// A bool without implicit conversions, so that {"x"}, {0} and {} are parameters and never options.
class Switch {
 public:
  template <std::same_as<bool> T>
  constexpr Switch(T on) : on_(on) {}
  constexpr operator bool() const { return on_; }

 private:
  bool on_;
};
}  // namespace detail

/// Says that a function returns pair(value, aux): value is differentiated, aux is passed on.
struct HasAux {
  explicit constexpr HasAux(detail::Switch) {}
};
/// The argument that says so: value_and_grad(f, has_aux).
inline constexpr HasAux has_aux(true);

/// Options of make_vjp().
struct VjpOptions {
  /// Whether vjp may be called more than once (a second call is TapeError otherwise).
  detail::Switch persistent = true;
};

namespace detail {

// The implementation, without templates. `who` is the wrapper's name, for messages.
/// A new tensor with the value of a picked argument. ValueError when it is empty.
Tensor fresh(const char* who, const Tensor& x);
/// TypeError unless every source is floating or complex.
void require_differentiable(const char* who, std::span<const Source> sources);
void watch_all(GradientTape& tape, std::span<const Source> sources);
/// ValueError when a result of the function is empty.
void require_result(const char* who, const Tensor& y);
/// A new tensor with the value of a result of the function. ValueError when it is empty.
Tensor fresh_result(const char* who, const Tensor& y);
/// ValueError, TypeError or ShapeError unless the value is a real floating tensor of size 1.
void require_scalar(const char* who, const Tensor& value);
/// Gradients of the value, zeros where not connected.
List<Tensor> gradients(GradientTape& tape, const Tensor& value, std::span<const Source> sources);
/// The derivative of every target by every source, target by target.
List<Tensor> jacobians(const char* who, GradientTape& tape, std::span<const Tensor> targets,
                       std::span<const Source> sources);
/// The Jacobian of each element of a batch, zeros where not connected.
Tensor batch_jacobian(const char* who, GradientTape& tape, const Tensor& target, const Source& source);
/// The gradient of the sum of products of targets and constants; there is one constant per source.
List<Tensor> products(const char* who, GradientTape& tape, std::span<const Tensor> targets,
                      std::span<const Source> sources, const GradientList& constants);

/// A tape with its sources and targets. Copies of the handle share it.
class Recording {
 public:
  /// `who` is named in errors.
  Recording(const char* who, List<Source> sources, bool persistent);
  Recording(const Recording& other) noexcept;
  Recording& operator=(const Recording&) = delete;
  ~Recording();
  void end(List<Tensor> targets);
  std::vector<Gradient> pull(const GradientList& cotangents) const;
  List<Tensor> push(const GradientList& tangents) const;

 private:
  struct State;
  State* state_;
};

// Gives out values one after another.
template <class R>
struct Flat {
  explicit Flat(List<R> list) : values(std::move(list)) {}
  explicit Flat(std::vector<R> list) : values(std::move_iterator(list.begin()), std::move_iterator(list.end())) {}
  List<R> values;
  std::size_t next = 0;
  template <class Leaf>
  R operator()(const Leaf&) {
    return std::move(values[next++]);
  }
};

// A tree of tensors in which numbers, alone or in a tuple, become tensors of rank 0.
template <Tree X>
map_t<Input, X> with_tensors(const X& tree) {
  return map_leaves<Input>(tree, [](const auto& leaf) { return Target(leaf).tensor(); });
}
template <Arithmetic N>
Tensor with_tensors(N number) {
  if constexpr (Element<N>)
    return scalar(number);
  else if constexpr (std::is_floating_point_v<N>)
    return scalar(static_cast<double>(number));
  else
    return scalar(checked(number));
}
template <class... X>
requires(!Tree<std::tuple<X...>>) auto with_tensors(const std::tuple<X...>& list) {
  return std::apply([](const auto&... x) { return std::tuple<decltype(with_tensors(x))...>{with_tensors(x)...}; },
                    list);
}
template <class X>
concept TreeOrNumbers = requires(const X& x) {
  with_tensors(x);
};

template <class T>
inline constexpr bool is_argument = Tree<T> || std::is_floating_point_v<std::remove_cvref_t<T>>;

// Vectors and arrays of numbers, which become tensors of rank 1 as parameters.
template <class T>
inline constexpr bool is_numbers = false;
template <class T, class A>
inline constexpr bool is_numbers<std::vector<T, A>> = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
template <class T, std::size_t N>
inline constexpr bool is_numbers<std::array<T, N>> = std::is_arithmetic_v<T>;

template <class T>
inline constexpr bool is_floating_list = false;
template <class T>
requires is_numbers<T>
inline constexpr bool is_floating_list<T> = std::is_floating_point_v<typename T::value_type>;

// Positions of the parameters I... among arguments of the types A; Lists: without I, vectors of floating-point numbers
// are parameters too.
template <bool Lists, int... I>
struct Choose {
  template <class T>
  static constexpr bool takes_type = is_argument<T> || (Lists && is_floating_list<std::remove_cvref_t<T>>);
  template <class... A>
  static constexpr auto positions() {
    constexpr int n = sizeof...(A);
    if constexpr (sizeof...(I) > 0) {
      static_assert(((I < n && I >= -n) && ...), "a parameter index is out of range of the arguments");
      return std::array<std::size_t, sizeof...(I)>{static_cast<std::size_t>(I < 0 ? I + n : I)...};
    } else {
      constexpr bool takes[] = {takes_type<A>..., false};
      std::array<std::size_t, (std::size_t{takes_type<A>} + ... + 0)> result{};
      for (std::size_t i = 0, k = 0; i < sizeof...(A); ++i)
        if (takes[i]) result[k++] = i;
      return result;
    }
  }
};

template <int... I>
using Pick = Choose<false, I...>;

// The type as which an argument reaches the function: unchanged, or for a parameter the tree of fresh tensors.
template <bool Picked, class T>
struct Passed {
  using type = T&&;
};
template <class T>
struct Passed<true, T> {
  static_assert(Tree<T> || std::is_arithmetic_v<std::remove_cvref_t<T>> || is_numbers<std::remove_cvref_t<T>>,
                "a parameter that is differentiated takes a tree of tensors, a number or a vector of numbers");
  static auto make() {
    if constexpr (Tree<T>)
      return std::type_identity<map_t<Input, T>>();
    else
      return std::type_identity<Tensor>();
  }
  using type = typename decltype(make())::type;
};

// The leaves of an argument, if it is a parameter.
struct Leaves {
  bool parameter = false;
  List<Source> list;
};

// The arguments of one call.
template <class P, class Sequence, class... A>
class Arguments;
template <class P, std::size_t... K, class... A>
class Arguments<P, std::index_sequence<K...>, A...> {
  static constexpr auto positions = P::template positions<A...>();
  static_assert(
      positions.size() > 0,
      "no argument is a tensor, a tree of tensors or a floating-point number; a struct that holds tensors needs "
      "auto leaves() { return std::tie(a, b); }; choose a vector of numbers by its position, as in grad<0>(f)");
  static constexpr bool picked(std::size_t k) {
    for (std::size_t p : positions)
      if (p == k) return true;
    return false;
  }

 public:
  explicit Arguments(const char* who, A&&... args) : passed_{prepare<K>(who, std::forward<A>(args))...} {}

  template <class F>
  decltype(auto) call(F& f) {
    static_assert(
        requires { f(this->template pass<K>()...); },
        "the function does not take these arguments: one to differentiate by arrives as a tensor or a tree of tensors, "
        "even if it was a number; the others arrive as they are");
    return f(pass<K>()...);
  }
  /// The parameters, in the order chosen.
  auto inputs() const { return inputs(std::make_index_sequence<positions.size()>()); }
  List<Source> sources() const {
    List<Source> list;
    for_each_leaf(inputs(), [&](const auto& leaf) { list.emplace_back(leaf); });
    return list;
  }
  /// The parameters of each argument.
  List<Leaves> leaves() const { return {leaves_of<K>()...}; }

 private:
  using All = std::tuple<typename Passed<picked(K), A>::type...>;
  template <std::size_t k>
  using At = std::tuple_element_t<k, All>;

  template <std::size_t k, class T>
  static At<k> prepare(const char* who, T&& x) {
    if constexpr (!picked(k))
      return std::forward<T>(x);
    else if constexpr (Tree<T>)
      return map_leaves<Input>(x, [who](const auto& leaf) { return fresh(who, read(leaf)); });
    else if constexpr (is_numbers<std::remove_cvref_t<T>>)
      return fresh(who, of_numbers(x));
    else if constexpr (Element<std::remove_cvref_t<T>>)
      return fresh(who, scalar(x));
    else
      return fresh(who, scalar(static_cast<double>(x)));
  }
  template <class T>
  static Tensor of_numbers(const T& x) {
    if constexpr (Element<typename T::value_type>)
      return from_data(x);
    else
      return from_data(std::vector<double>(x.begin(), x.end()));
  }
  static Tensor read(const Tensor& x) { return x; }
  static Tensor read(const Variable& x) { return x.read(); }
  static Tensor read(const Gradient& x) { return x.dense(); }
  static Tensor read(const IndexedSlices& x) { return x.dense(); }
  template <std::size_t k>
  Leaves leaves_of() const {
    Leaves result{picked(k), {}};
    if constexpr (picked(k))
      for_each_leaf(std::get<k>(passed_), [&](const auto& leaf) { result.list.emplace_back(leaf); });
    return result;
  }
  template <std::size_t k>
  decltype(auto) pass() {
    if constexpr (picked(k))
      return std::as_const(std::get<k>(passed_));
    else
      return std::forward<At<k>>(std::get<k>(passed_));
  }
  template <std::size_t... J>
  auto inputs(std::index_sequence<J...>) const {
    return std::tuple<At<positions[J]>...>{std::get<positions[J]>(passed_)...};
  }

  All passed_;
};
template <class P, class... A>
using ArgumentsOf = Arguments<P, std::index_sequence_for<A...>, A...>;

// A tree of R in the structure of the inputs: bare for one, a tuple for several.
template <class R, class X>
auto unpack(const std::tuple<X>& inputs, Flat<R>& flat) {
  return map_leaves<R>(std::get<0>(inputs), flat);
}
template <class R, class... X>
auto unpack(const std::tuple<X...>& inputs, Flat<R>& flat) {
  return map_leaves<R>(inputs, flat);
}

template <class Y>
Tensor value_of(const Y& y) {
  static_assert(std::is_same_v<Y, Tensor> || std::is_same_v<Y, Variable> || std::is_same_v<Y, Gradient>,
                "the function must return a Tensor of size 1 (or, with has_aux, a pair of one and something else)");
  if constexpr (std::is_same_v<Y, Tensor>)
    return y;
  else if constexpr (std::is_same_v<Y, Variable>)
    return y.read();
  else
    return y.dense();
}

template <class Y>
inline constexpr bool is_pair = false;
template <class V, class X>
inline constexpr bool is_pair<std::pair<V, X>> = true;

// Calls f while the recording's tape runs, and ends it. Returns f's results, each leaf a new tensor; with Aux the pair
// of them and the rest.
template <bool Aux, class F, class ArgumentsOfCall>
auto record_call(const char* who, F& f, ArgumentsOfCall& arguments, Recording& recording) {
  using Y = std::remove_cvref_t<decltype(arguments.call(f))>;
  static_assert(!std::is_void_v<Y>, "the function returns nothing that could be differentiated");
  Y result = arguments.call(f);
  const auto end = [&]<class T>(const T& values) {
    static_assert(Tree<T>, "the function must return a tensor or a tree of tensors");
    auto y = map_leaves<Tensor>(values, [who](const auto& leaf) { return fresh_result(who, value_of(leaf)); });
    List<Tensor> targets;
    for_each_leaf(y, [&](const Tensor& leaf) { targets.push_back(leaf); });
    recording.end(std::move(targets));
    return y;
  };
  if constexpr (Aux) {
    static_assert(is_pair<Y>, "with has_aux the function returns pair(value, aux)");
    return std::pair(end(result.first), std::move(result.second));
  } else {
    return end(result);
  }
}

// Whether a wrapper finds an argument that it differentiates by; true for those that look for themselves.
template <class Wrapper, class... A>
inline constexpr bool finds_parameter = [] {
  if constexpr (requires { typename Wrapper::Positions; })
    return Wrapper::Positions::template positions<A...>().size() > 0;
  else
    return true;
}();

template <class P, class F, bool Aux>
struct ValueAndGrad {
  using Positions = P;
  const char* who;
  mutable F f;
  CallLine at = no_line;  // that made this

  template <class... A>
  auto operator()(A&&... args) const {
    if constexpr (finds_parameter<ValueAndGrad, A...>)
      return naming_line(at, [&] { return compute(std::forward<A>(args)...); });
    else
      static_assert(
          never<A...>,
          "no argument is a tensor, a tree of tensors or a floating-point number; a struct that holds tensors needs "
          "auto leaves() { return std::tie(a, b); }; choose a vector of numbers by its position, as in grad<0>(f)");
  }

 private:
  template <class... A>
  auto compute(A&&... args) const {
    ArgumentsOf<P, A...> arguments(who, std::forward<A>(args)...);
    const List<Source> sources = arguments.sources();
    require_differentiable(who, sources);
    GradientTape tape({.watch_accessed_variables = false});
    watch_all(tape, sources);
    using Y = decltype(arguments.call(f));
    static_assert(!std::is_void_v<Y>, "the function returns nothing that could be differentiated");
    Y result = arguments.call(f);
    if constexpr (Aux) {
      static_assert(is_pair<std::remove_cvref_t<Y>>, "with has_aux the function returns pair(value, aux)");
      Tensor value = value_of(result.first);
      Flat<Tensor> flat{gradients_of(tape, value, sources)};
      return std::pair(std::pair(std::move(value), std::move(result.second)), unpack(arguments.inputs(), flat));
    } else {
      Tensor value = value_of<std::remove_cvref_t<Y>>(result);
      Flat<Tensor> flat{gradients_of(tape, value, sources)};
      return std::pair(std::move(value), unpack(arguments.inputs(), flat));
    }
  }
  List<Tensor> gradients_of(GradientTape& tape, const Tensor& value, std::span<const Source> sources) const {
    require_scalar(who, value);
    return gradients(tape, value, sources);
  }
};

// Only the gradients, for a wrapper that returns pair(value, gradients).
template <class Inner, bool Aux>
struct GradientsOf {
  Inner inner;
  template <class... A>
  auto operator()(A&&... args) const {
    if constexpr (finds_parameter<Inner, A...>)
      return parts_of(inner(std::forward<A>(args)...));
    else
      static_assert(
          never<A...>,
          "no argument is a tensor, a tree of tensors or a floating-point number; a struct that holds tensors needs "
          "auto leaves() { return std::tie(a, b); }; choose a vector of numbers by its position, as in grad<0>(f)");
  }

 private:
  template <class R>
  static auto parts_of(R result) {
    if constexpr (Aux)
      return std::pair(std::move(result.second), std::move(result.first.second));
    else
      return std::move(result.second);
  }
};
template <class P, class F, bool Aux>
using Grad = GradientsOf<ValueAndGrad<P, F, Aux>, Aux>;

template <class P, class F>
struct Jacobian {
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
    ArgumentsOf<P, A...> arguments(who, std::forward<A>(args)...);
    const List<Source> sources = arguments.sources();
    require_differentiable(who, sources);
    GradientTape tape({.persistent = true, .watch_accessed_variables = false});
    watch_all(tape, sources);
    using Y = decltype(arguments.call(f));
    static_assert(Tree<Y>, "the function must return a tensor or a tree of tensors");
    const Y result = arguments.call(f);
    List<Tensor> targets;
    for_each_leaf(result, [&](const auto& leaf) { targets.push_back(value_of(leaf)); });
    tape.stop(no_line);
    const auto inputs = arguments.inputs();
    Flat<Tensor> flat{jacobians(who, tape, targets, sources)};
    return map_leaves<decltype(unpack(inputs, flat))>(result, [&](const auto&) { return unpack(inputs, flat); });
  }
};

template <class P, class F>
struct BatchJacobian {
  mutable F f;
  CallLine at = no_line;

  template <class... A>
  auto operator()(A&&... args) const {
    return naming_line(at, [&] { return compute(std::forward<A>(args)...); });
  }

 private:
  template <class... A>
  auto compute(A&&... args) const {
    constexpr const char* who = "batch_jacobian";
    ArgumentsOf<P, A...> arguments(who, std::forward<A>(args)...);
    const List<Source> sources = arguments.sources();
    require_differentiable(who, sources);
    static_assert(std::is_same_v<decltype(arguments.inputs()), std::tuple<Tensor>>,
                  "batch_jacobian differentiates by one tensor; pick it: batch_jacobian<0>(f)");
    GradientTape tape({.persistent = true, .watch_accessed_variables = false});
    watch_all(tape, sources);
    const Tensor target = value_of<std::remove_cvref_t<decltype(arguments.call(f))>>(arguments.call(f));
    tape.stop(no_line);
    return batch_jacobian(who, tape, target, sources.front());
  }
};

template <class F>
struct Hvp {
  Grad<Pick<0>, F, false> gradient;
  template <class X>
  requires is_argument<X>
  auto operator()(const X& x, const GradientList& v, const CallLine& at = {}) const {
    return naming_line(at, [&] { return compute(x, v); });
  }

 private:
  template <class X>
  auto compute(const X& x, const GradientList& v) const {
    ArgumentsOf<Pick<0>, const X&> arguments("hvp", x);
    const List<Source> sources = arguments.sources();
    require_differentiable("hvp", sources);
    GradientTape tape({.watch_accessed_variables = false});
    watch_all(tape, sources);
    List<Tensor> targets;
    for_each_leaf(arguments.call(gradient), [&](const Tensor& leaf) { targets.push_back(leaf); });
    Flat<Tensor> flat{products("hvp", tape, targets, sources, v)};
    return unpack(arguments.inputs(), flat);
  }
};

}  // namespace detail

/// From cotangents of a function's results to gradients of its chosen parameters: in their structure, bare for one
/// parameter, a tuple for several; none where not connected. Holds the tape and the results until the last copy is
/// destroyed. A tape that is active during a call records it.
template <class... X>
class Vjp {
 public:
  /// With ones for every cotangent.
  auto operator()(const detail::WrapperLine& at = detail::CallLine()) const { return (*this)(GradientList(), at); }
  /// dy: one leaf or number for a single result, else a braced list or a tree with a cotangent for each leaf of the
  /// result. ValueError when their numbers differ or one is none, ShapeError or TypeError when one does not fit.
  auto operator()(const GradientList& dy, const detail::CallLine& at = {}) const {
    detail::Flat<Gradient> flat{detail::naming_line(at, [&] { return recording_.pull(dy); })};
    return detail::unpack(inputs_, flat);
  }

  Vjp(detail::Recording recording, std::tuple<X...> inputs)
      : recording_(std::move(recording)), inputs_(std::move(inputs)) {}

 private:
  detail::Recording recording_;
  std::tuple<X...> inputs_;
};

/// make_vjp(f)(args...) is pair(y, vjp): f's result, each leaf a new tensor, and its vector-Jacobian product. f returns
/// a tensor or a tree. Integer parameters get no gradient. TensorFlow's make_vjp.
template <int... I, class F>
auto make_vjp(F f, const VjpOptions& options = {}, const detail::CallLine& at = {}) {
  return [f = std::move(f), options, at]<class... A>(A&&... args) mutable {
    return detail::naming_line(at, [&] {
      detail::ArgumentsOf<detail::Pick<I...>, A...> arguments("make_vjp", std::forward<A>(args)...);
      detail::Recording recording("make_vjp", arguments.sources(), options.persistent);
      auto y = detail::record_call<false>("make_vjp", f, arguments, recording);
      return std::pair(std::move(y), Vjp(std::move(recording), arguments.inputs()));
    });
  };
}

/// value_and_grad(f)(args...) is pair(value, gradients): the gradients in the structure of the chosen parameters, bare
/// for one, a tuple for several; zeros where not connected. f returns a real floating tensor of size 1, otherwise
/// ShapeError or TypeError; TypeError for a boolean or integer leaf of a parameter. Errors name the line that wraps f,
/// here and below, unless an op in f knows its own. JAX's value_and_grad.
template <int... I, class F>
auto value_and_grad(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::ValueAndGrad<detail::Pick<I...>, F, false>{"value_and_grad", std::move(f), at};
}
/// f returns pair(value, aux), the result is pair(pair(value, aux), gradients).
template <int... I, class F>
auto value_and_grad(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::ValueAndGrad<detail::Pick<I...>, F, true>{"value_and_grad", std::move(f), at};
}

/// The gradients alone.
template <int... I, class F>
auto grad(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::Grad<detail::Pick<I...>, F, false>{{"grad", std::move(f), at}};
}
/// pair(gradients, aux).
template <int... I, class F>
auto grad(F f, HasAux, const detail::CallLine& at = {}) {
  return detail::Grad<detail::Pick<I...>, F, true>{{"grad", std::move(f), at}};
}

/// jacobian(f)(args...): for a result y and a parameter x the derivatives, of shape y.shape + x.shape and x's dtype;
/// zeros where not connected. For trees: the structure of the result, with that of the parameters at each leaf.
/// TypeError for boolean, integer or complex results.
///
/// Reverse mode, many rows at once as in GradientTape.jacobian, unless forward mode (one column per element of the
/// parameters) is cheaper: from four results per parameter on; from two on if a user's rule on the path
/// (custom_gradient, record_operation) takes one cotangent at a time. An op without a jvp on the path, or one with an
/// OverrideGuard, requires reverse mode. A rule that takes a batch of cotangents (CustomGradientOptions::batched) is
/// called once for many rows, any other once per row, a jvp once per column. Where only ops of the library with
/// linear rules are on the path (not eigenvectors or singular vectors), eight columns or more are computed at once if
/// those of the largest tensor have up to 2^19 elements.
template <int... I, class F>
auto jacobian(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::Jacobian<detail::Pick<I...>, F>{"jacobian", std::move(f), at};
}

/// batch_jacobian(f)(x): for f from [b, ...] to [b, ...], where y[i] depends on x[i] alone, the Jacobian of each, [b,
/// y..., x...]; zeros where not connected. One parameter, a tensor; f returns a tensor. Modes and errors are those of
/// GradientTape::batch_jacobian.
template <int... I, class F>
auto batch_jacobian(F f, const detail::WrapperLine& at = detail::CallLine()) {
  return detail::BatchJacobian<detail::Pick<I...>, F>{std::move(f), at};
}

/// The second derivatives of an f that returns a real floating tensor of size 1: the Jacobian of its gradient, of shape
/// x.shape + x.shape; for trees all cross terms, as a tree of trees. Zeros for a linear f.
template <int... I, class F>
auto hessian(F f, const detail::WrapperLine& at = detail::CallLine()) {
  using Inner = detail::Grad<detail::Pick<I...>, F, false>;
  return detail::Jacobian<detail::Pick<I...>, Inner>{"hessian", Inner{{"hessian", std::move(f)}}, at};
}

/// hvp(f)(x, v): the Hessian of f at x times v, in the structure of x, without forming the Hessian (Pearlmutter 1994).
/// f returns a real floating tensor of size 1. v has x's structure (ValueError for another number of leaves, ShapeError
/// for shapes); a number x is a tensor of rank 0, a number v a direction with that value in every element. For many
/// products at one x, linearize(grad(f), x) costs half.
template <class F>
auto hvp(F f) {
  return detail::Hvp<F>{{{"hvp", std::move(f)}}};
}

}  // namespace reel
