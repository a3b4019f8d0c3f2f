// Control flow as single entries of a tape. Plain C++ loops and branches need none of this: they are recorded op by op.
// These functions keep the tape from growing with the iterations, and can trade memory for recomputation. What they
// call gets its arguments as tensors of its own: an argument that it also captures is another tensor there, for tapes
// that it makes too, op by op as in compiled functions.
#pragma once
#include <reel/api.hpp>
#include <reel/custom.hpp>
#include <reel/forward.hpp>

namespace REEL_API reel {

/// Options of while_loop(), fori_loop() and scan().
struct LoopOptions {
  /// Bytes that the loop may keep for its derivative: loop variables at some iterations, and the record of the one
  /// iteration that is being replayed. Other iterations are computed again, by binomial checkpointing (Griewank and
  /// Walther 2000). At least two iterations' variables are kept. 0: no limit, and nothing is computed again.
  std::int64_t memory_budget = 0;
  /// while_loop ends after this number of iterations; negative: only when its condition says so.
  std::int64_t max_iterations = -1;
  /// Traces the body, and a condition that is a tensor, and runs them as programs: one per dtype and shape of the
  /// variables. <reel/compile.hpp> says what can be traced. In compiled functions it keeps short scans from being
  /// unrolled.
  bool compiled = false;
};

namespace detail {

// A loop over flat lists. `step` gets the loop variables and this iteration's inputs, and gives the next loop
// variables, followed by this iteration's outputs.
struct FlatLoop {
  const char* name = "";
  Callback<bool(std::span<const Tensor> state)> more = {};  // empty: `steps` iterations
  FlatFunction condition = {};                              // the same as a tensor; empty if it is a bool
  std::int64_t steps = -1;
  std::size_t variables = 0;
  Callback<std::vector<Tensor>(std::span<const Tensor> state, std::span<const Tensor> x)> step = {};
};
/// The final loop variables, followed by each output, stacked along a new axis 0. `xs` are cut along axis 0.
/// The entry is recorded by the tapes that follow the variables, xs, or what the step captures.
std::vector<Tensor> run_loop(const FlatLoop& loop, std::span<const Tensor> initial, std::span<const Tensor> xs,
                             const LoopOptions& options);
/// ValueError or TypeError unless a step's variables are as many as before, and of their dtypes.
void check_state(const char* name, std::span<const Tensor> before, std::span<const Tensor> after);
/// The common extent of axis 0. ShapeError when they differ or one has none.
std::int64_t steps_of(const char* name, std::span<const Tensor> xs);
Tensor zeros_of_step(const Tensor& x);
bool truth(const char* name, const Tensor& predicate);
// i + 1 and i < upper, for a counter that is a tensor.
Tensor next_count(const Tensor& i);
Tensor counts_below(const Tensor& i, std::int64_t upper);
/// Whether x stands for a value of a function that is being traced.
bool is_traced(const Tensor& x) noexcept;
/// cond in a function that is being traced: both branches are traced.
std::vector<Tensor> traced_cond(const Tensor& predicate, const FlatFunction& on_true, const FlatFunction& on_false,
                                std::span<const Tensor> arguments);
inline bool truth(const char*, bool predicate) { return predicate; }

// The tree with its leaves replaced by those of a list.
template <class X>
X with_leaves(const X& tree, std::span<const Tensor> leaves) {
  std::size_t next = 0;
  return map_leaves<Input>(tree, NextLeaf{leaves, next});
}

// Shared by while_loop and the loops made of it.
template <class C, class B, class V>
auto run_while(const char* name, C condition, B body, const V& initial, const LoopOptions& options) {
  const auto variables = with_tensors(initial);
  using State = std::remove_const_t<decltype(variables)>;
  const std::vector<Tensor> leaves = leaves_of(name, variables);
  FlatLoop loop{.name = name};
  loop.variables = leaves.size();
  using Truth = std::remove_cvref_t<decltype(apply_to(condition, with_leaves<State>(variables, leaves)))>;
  if constexpr (std::is_same_v<Truth, Tensor> && std::is_copy_constructible_v<C>)
    loop.condition = [condition, variables](std::span<const Tensor> state) mutable {
      return std::vector<Tensor>{apply_to(condition, with_leaves<State>(variables, state))};
    };
  loop.more = [name, condition = std::move(condition), variables](std::span<const Tensor> state) mutable {
    return truth(name, apply_to(condition, with_leaves<State>(variables, state)));
  };
  loop.step = [name, body = std::move(body), variables](std::span<const Tensor> state,
                                                        std::span<const Tensor>) mutable {
    const auto next = apply_to(body, with_leaves<State>(variables, state));
    static_assert(TreeOrNumbers<decltype(next)>, "body must return the loop variables");
    std::vector<Tensor> list = leaves_of(name, with_tensors(next));
    check_state(name, state, list);
    return list;
  };
  Flat<Tensor> flat{run_loop(loop, leaves, {}, options)};
  return map_leaves<Tensor>(variables, flat);
}

// The first parameter of a function object that is no template.
template <class Call>
struct FirstParameter {
  using type = void;
};
template <class R, class F, class X, class... A>
struct FirstParameter<R (F::*)(X, A...) const> {
  using type = std::remove_cvref_t<X>;
};
template <class R, class F, class X, class... A>
struct FirstParameter<R (F::*)(X, A...)> : FirstParameter<R (F::*)(X, A...) const> {};
template <class F>
inline constexpr bool takes_tensor = false;
template <class F>
requires requires { &F::operator(); }
inline constexpr bool takes_tensor<F> =
    std::is_same_v<typename FirstParameter<decltype(&F::operator())>::type, Tensor> ||
    std::is_same_v<typename FirstParameter<decltype(&F::operator())>::type, Operand>;

// Whether a body can be called with the number of the iteration, an I, and the loop variables.
template <class B, class I, class State>
inline constexpr bool takes_count = std::is_invocable_v<B&, const I&, const State&>;
template <class B, class I, class... X>
inline constexpr bool takes_count<B, I, std::tuple<X...>> = std::is_invocable_v<B&, const I&, const X&...>;

// A branch of cond as a function of flat lists. Its first run notes the structure of its result in `made`, which must
// live as long.
template <class Y, class F, class... A>
FlatFunction branch(F f, std::vector<Y>& made, const A&... args) {
  return [f = std::move(f), kept = std::tuple<A...>(args...), &made,
          first = true](std::span<const Tensor> leaves) mutable {
    const Y y = std::apply([&](auto&... x) -> Y { return TreeArguments<A...>::call(f, leaves, x...); }, kept);
    if (std::exchange(first, false)) made.push_back(y);
    return leaves_of("cond", y);
  };
}

template <class X, class Y>
inline constexpr bool same_trees = false;
template <Tree X, Tree Y>
inline constexpr bool same_trees<X, Y> = std::is_same_v<map_t<Tensor, X>, map_t<Tensor, Y>>;

// Whether the branches of cond are functions that return the same structure. Does not compile otherwise, and says why.
template <class T, class F, class... A>
constexpr bool are_branches() {
  constexpr bool functions = !Tree<T> && !Tree<F>;
  static_assert(functions,
                "cond(predicate, on_true, on_false, arguments...) takes functions of the arguments; "
                "where(condition, x, y) chooses between values");
  if constexpr (functions) {
    using Arguments = TreeArguments<std::remove_reference_t<A>...>;
    using X = decltype(Arguments::call(std::declval<T&>(), std::span<const Tensor>(), std::declval<A&>()...));
    using Y = decltype(Arguments::call(std::declval<F&>(), std::span<const Tensor>(), std::declval<A&>()...));
    constexpr bool same = same_trees<std::remove_cvref_t<X>, std::remove_cvref_t<Y>>;
    static_assert(same, "both branches of cond return a tensor, or trees of tensors of the same structure");
    return same;
  } else {
    return false;
  }
}

// cond with a predicate that is known only when the program runs.
template <class T, class F, class... A>
auto choose_later(const Tensor& predicate, T on_true, F on_false, A&&... args) {
  using Arguments = TreeArguments<std::remove_reference_t<A>...>;
  using Y = std::remove_cvref_t<decltype(Arguments::call(on_true, std::span<const Tensor>(), args...))>;
  std::vector<Y> made;
  Flat<Tensor> flat{traced_cond(predicate, branch<Y, T, std::decay_t<A>...>(std::move(on_true), made, args...),
                                branch<Y, F, std::decay_t<A>...>(std::move(on_false), made, args...),
                                Arguments::leaves(args...))};
  return map_leaves<Tensor>(made.front(), flat);
}

}  // namespace detail

/// Applies body to the loop variables as long as condition holds, and returns them. `initial` is the argument of both
/// (a tree of tensors, or a number), or a std::tuple of their arguments; body returns the variables in the same
/// structure, of the same dtypes. Numbers become tensors of rank 0, as by scalar(). Condition returns a bool or a
/// tensor of size 1. One entry on a tape, whatever the number of iterations. Gradients reach the initial values and
/// what body captures; a loop without iterations passes them on unchanged. Body must compute the same when it is run
/// again (for higher orders, forward mode, or under a memory budget; draws from a Generator are repeated, assigns are
/// not). What it captures by reference must live as long as the tape: in a function that returns the loop's result for
/// its caller to differentiate, capture by value. Assigning a captured tensor inside body hides the assigned value from
/// tapes. A body that reads a variable and assigns it cannot be run again (TapeError): return the value instead.
/// ValueError or TypeError when body changes the number or dtypes of the loop variables. TensorFlow's tf.while_loop.
template <class C, class B, detail::TreeOrNumbers V>
auto while_loop(C condition, B body, const V& initial, const LoopOptions& options = {}) {
  return detail::run_while("while_loop", std::move(condition), std::move(body), initial, options);
}

/// Applies body(i, variables...) for i = lower, lower + 1, ... below upper, and returns the variables; `initial` if
/// lower >= upper. i is a std::int64_t, or an int64 tensor of rank 0 if body is no template and its first parameter is
/// a Tensor or Operand. Only then is the body a single program when it is traced; with a number each iteration is
/// traced separately. Otherwise as while_loop. JAX's lax.fori_loop.
template <class B, detail::TreeOrNumbers V>
auto fori_loop(std::int64_t lower, std::int64_t upper, B body, const V& initial, const LoopOptions& options = {}) {
  using State = decltype(detail::with_tensors(initial));
  using Count = std::conditional_t<detail::takes_tensor<B>, Tensor, std::int64_t>;
  static_assert(
      detail::takes_count<B, Count, State>,
      "fori_loop: the body is called as body(i, variables...); i is a std::int64_t, and can be a Tensor where "
      "no parameter is auto");
  if constexpr (detail::takes_tensor<B>) {
    auto step = [body = std::move(body)](const Tensor& i, const State& state) mutable {
      auto next = [&] {
        if constexpr (detail::is_tuple<State>)
          return std::apply([&](const auto&... x) { return body(i, x...); }, state);
        else
          return body(i, state);
      }();
      return std::tuple(detail::next_count(i), detail::with_tensors(next));
    };
    auto last = detail::run_while(
        "fori_loop", [upper](const Tensor& i, const State&) { return detail::counts_below(i, upper); }, std::move(step),
        std::tuple(scalar(lower), detail::with_tensors(initial)), options);
    return std::get<1>(std::move(last));
  } else {
    auto step = [body = std::move(body)](const Tensor& i, const State& state) mutable {
      const auto at = i.item<std::int64_t>();
      auto next = [&] {
        if constexpr (detail::is_tuple<State>)
          return std::apply([&](const auto&... x) { return body(at, x...); }, state);
        else
          return body(at, state);
      }();
      return std::tuple(scalar(at + 1), detail::with_tensors(next));
    };
    auto last = detail::run_while(
        "fori_loop", [upper](const Tensor& i, const State&) { return i.item<std::int64_t>() < upper; }, std::move(step),
        std::tuple(scalar(lower), detail::with_tensors(initial)), options);
    return std::get<1>(std::move(last));
  }
}
/// From 0.
template <detail::Integer N, class B, detail::TreeOrNumbers V>
requires(!detail::Integer<B>) auto fori_loop(N n, B body, const V& initial, const LoopOptions& options = {}) {
  return fori_loop(0, detail::checked(n), std::move(body), initial, options);
}

/// Carries a state through f(carry, x) -> pair(carry, y) for each x along axis 0 of `xs` (a tree of tensors of equal
/// extent there), and returns pair(final carry, the y stacked along axis 0). One entry on a tape. With no steps the
/// carry is the initial one, and f runs once on zeros to find the shapes of y. The requirements of while_loop on body
/// hold for f. JAX's lax.scan.
template <class F, detail::TreeOrNumbers C, Tree X>
auto scan(F f, const C& initial, const X& xs, const LoopOptions& options = {}) {
  const auto carry = detail::with_tensors(initial);
  const auto inputs = detail::with_tensors(xs);
  using Carry = std::remove_const_t<decltype(carry)>;
  using Input = std::remove_const_t<decltype(inputs)>;
  using Result = std::remove_cvref_t<decltype(f(carry, inputs))>;
  static_assert(detail::is_pair<Result>, "the function must return pair(carry, y)");
  using Y = map_t<Tensor, typename Result::second_type>;
  const std::vector<Tensor> state = detail::leaves_of("scan", carry), columns = detail::leaves_of("scan", inputs);
  detail::FlatLoop loop{.name = "scan"};
  loop.variables = state.size();
  loop.steps = detail::steps_of("scan", columns);
  std::vector<Y> like;  // the structure of y
  loop.step = [f = std::move(f), carry, inputs, &like, first = true](std::span<const Tensor> s,
                                                                     std::span<const Tensor> x) mutable {
    const Result result = f(detail::with_leaves<Carry>(carry, s), detail::with_leaves<Input>(inputs, x));
    std::vector<Tensor> list = detail::leaves_of("scan", detail::with_tensors(result.first));
    detail::check_state("scan", s, list);
    if (std::exchange(first, false))
      like.push_back(map_leaves<Tensor>(result.second, [](const auto&) { return Tensor(); }));
    for (Tensor& y : detail::leaves_of("scan", result.second)) list.push_back(std::move(y));
    return list;
  };
  detail::Flat<Tensor> flat{detail::run_loop(loop, state, columns, options)};
  auto last = map_leaves<Tensor>(carry, flat);
  auto ys = map_leaves<Tensor>(like.front(), flat);
  return std::pair(std::move(last), std::move(ys));
}

/// on_true(args...) or on_false(args...), chosen by the predicate (a bool or a tensor of size 1), as one entry on a
/// tape. The other branch is not run and contributes nothing. Both return the same type of tree. The requirements of
/// while_loop on body hold for the branches. In a traced function, a predicate that the function computes makes both
/// branches traced, with equal shapes and dtypes; the program runs one. TensorFlow's tf.cond.
template <class P, class T, class F, class... A>
auto cond(const P& predicate, T on_true, F on_false, A&&... args) {
  using detail::Keep;
  if constexpr (detail::are_branches<T, F, A...>()) {
    if constexpr (std::is_same_v<P, Tensor>)
      if (detail::is_traced(predicate))
        return detail::choose_later(predicate, std::move(on_true), std::move(on_false), std::forward<A>(args)...);
    if (detail::truth("cond", predicate))
      return detail::Composite<T>{"cond", Keep::record, std::move(on_true)}(std::forward<A>(args)...);
    return detail::Composite<F>{"cond", Keep::record, std::move(on_false)}(std::forward<A>(args)...);
  }
}

}  // namespace reel
