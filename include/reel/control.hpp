// Control flow as single entries of a tape. Plain C++ loops and branches need none of this: they are recorded op by op.
// What is here keeps the tape from growing with the iterations, and can trade memory for a second computation.
#pragma once
#include <reel/custom.hpp>
#include <reel/forward.hpp>

namespace [[gnu::visibility("default")]] reel {

struct LoopOptions {
  /// Bytes that the loop may keep for its derivative: loop variables at some iterations, and the record of the one
  /// iteration that is replayed. What lies between is computed again, by binomial checkpointing (Griewank and Walther
  /// 2000). At least two iterations' variables are kept. 0: no limit, and nothing is computed again.
  std::int64_t memory_budget = 0;
  /// while_loop ends after so many iterations; negative: only when its condition says so.
  std::int64_t max_iterations = -1;
};

namespace detail {

// A loop over flat lists. `step` gets the loop variables and this iteration's inputs, and gives the next loop
// variables, followed by this iteration's outputs.
struct FlatLoop {
  const char* name = "";
  Callback<bool(std::span<const Tensor> state)> more = {};  // empty: `steps` iterations
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
inline bool truth(const char*, bool predicate) { return predicate; }

// The tree with leaves from a list.
template <class X>
X with_leaves(const X& tree, std::span<const Tensor> leaves) {
  std::size_t next = 0;
  return map_leaves<Input>(tree, [&](const auto&) { return leaves[next++]; });
}
template <Tree X>
map_t<Input, X> inputs_of(const X& tree) {
  return map_leaves<Input>(tree, [](const auto& leaf) { return Target(leaf).tensor(); });
}

}  // namespace detail

/// Applies body to the loop variables for as long as condition holds, and returns them. `initial` is the argument of
/// both (a tree of tensors), or a std::tuple of their arguments; body returns the variables in the same structure, of
/// the same dtypes. Condition returns a bool or a tensor of size 1. One entry on a tape, whatever the number of
/// iterations. Gradients reach the initial values and what body captures; a loop that does not run passes them on
/// unchanged. Body must compute the same when it is run again (for higher orders, forward mode, or under a memory
/// budget; draws from a Generator are repeated). What it captures by reference must live as long as the tape: in a
/// function that returns the loop's result for its caller to differentiate, capture by value.
/// Assigning a captured tensor inside body hides the assigned value from tapes, and a body that reads a variable and
/// assigns it cannot be run again (TapeError): return the value instead. ValueError or TypeError when body changes the
/// number or dtypes of the loop variables. TensorFlow's tf.while_loop.
template <class C, class B, Tree V>
auto while_loop(C condition, B body, const V& initial, const LoopOptions& options = {}) {
  const auto variables = detail::inputs_of(initial);
  using State = std::remove_const_t<decltype(variables)>;
  const std::vector<Tensor> leaves = detail::leaves_of(variables);
  detail::FlatLoop loop{.name = "while_loop"};
  loop.variables = leaves.size();
  loop.more = [condition = std::move(condition), variables](std::span<const Tensor> state) mutable {
    return detail::truth("while_loop", detail::apply_to(condition, detail::with_leaves<State>(variables, state)));
  };
  loop.step = [body = std::move(body), variables](std::span<const Tensor> state, std::span<const Tensor>) mutable {
    const auto next = detail::apply_to(body, detail::with_leaves<State>(variables, state));
    static_assert(Tree<decltype(next)>, "body must return the loop variables");
    std::vector<Tensor> list = detail::leaves_of(next);
    detail::check_state("while_loop", state, list);
    return list;
  };
  detail::Flat<Tensor> flat{detail::run_loop(loop, leaves, {}, options)};
  return map_leaves<Tensor>(variables, flat);
}

/// Carries a state through f(carry, x) -> pair(carry, y) for each x along axis 0 of `xs` (a tree of tensors of equal
/// extent there), and returns pair(final carry, the y stacked along axis 0). One entry on a tape. With no steps the
/// carry is the initial one, and f runs once on zeros to find the shapes of y. What while_loop says of body holds of f.
/// JAX's lax.scan.
template <class F, Tree C, Tree X>
auto scan(F f, const C& initial, const X& xs, const LoopOptions& options = {}) {
  const auto carry = detail::inputs_of(initial);
  const auto inputs = detail::inputs_of(xs);
  using Carry = std::remove_const_t<decltype(carry)>;
  using Input = std::remove_const_t<decltype(inputs)>;
  using Result = std::remove_cvref_t<decltype(f(carry, inputs))>;
  static_assert(detail::is_pair<Result>, "the function must return pair(carry, y)");
  using Y = map_t<Tensor, typename Result::second_type>;
  const std::vector<Tensor> state = detail::leaves_of(carry), columns = detail::leaves_of(inputs);
  detail::FlatLoop loop{.name = "scan"};
  loop.variables = state.size();
  loop.steps = detail::steps_of("scan", columns);
  std::vector<Y> like;  // the structure of y
  loop.step = [f = std::move(f), carry, inputs, &like, first = true](std::span<const Tensor> s,
                                                                     std::span<const Tensor> x) mutable {
    const Result result = f(detail::with_leaves<Carry>(carry, s), detail::with_leaves<Input>(inputs, x));
    std::vector<Tensor> list = detail::leaves_of(result.first);
    detail::check_state("scan", s, list);
    if (std::exchange(first, false))
      like.push_back(map_leaves<Tensor>(result.second, [](const auto&) { return Tensor(); }));
    for (Tensor& y : detail::leaves_of(result.second)) list.push_back(std::move(y));
    return list;
  };
  detail::Flat<Tensor> flat{detail::run_loop(loop, state, columns, options)};
  auto last = map_leaves<Tensor>(carry, flat);
  auto ys = map_leaves<Tensor>(like.front(), flat);
  return std::pair(std::move(last), std::move(ys));
}

/// on_true(args...) or on_false(args...), whichever the predicate (a bool or a tensor of size 1) chooses, as one entry
/// on a tape. The other branch is not run and contributes nothing. Both return the same type of tree. What while_loop
/// says of body holds of the branches. TensorFlow's tf.cond.
template <class P, class T, class F, class... A>
auto cond(const P& predicate, T on_true, F on_false, A&&... args) {
  using detail::Keep;
  if (detail::truth("cond", predicate))
    return detail::Composite<T>{"cond", Keep::record, std::move(on_true)}(std::forward<A>(args)...);
  return detail::Composite<F>{"cond", Keep::record, std::move(on_false)}(std::forward<A>(args)...);
}

}  // namespace reel
