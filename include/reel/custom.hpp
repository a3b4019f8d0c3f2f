// Functions with derivatives of their own: custom_gradient; functions that are run again instead of being recorded
// (recompute_grad); identities with a special gradient.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/functions.hpp>

namespace REEL_API reel {

/// "No gradient", where a gradient function returns one.
inline constexpr None none;

namespace detail {

// The implementation, without templates.
using FlatFunction = Callback<std::vector<Tensor>(std::span<const Tensor>)>;
/// What the entry of a function keeps: only its inputs, or the record of its ops.
enum class Keep : bool { inputs, record };
/// first(arguments) as one entry of the tapes that follow the arguments or captured tensors. again(arguments) must
/// compute the same; the derivative runs it.
std::vector<Tensor> composite(const char* name, const FlatFunction& first, FlatFunction again,
                              std::span<const Tensor> arguments, Keep keep);

using FlatBackward = Callback<std::vector<Gradient>(std::span<const Tensor> cotangents)>;
using FlatTangent = Callback<std::vector<Tensor>(std::span<const Tensor> tangents)>;
/// The results of a function with its own gradient, its rules, and whether these take the variables.
struct CustomResult {
  std::vector<Tensor> results;
  FlatBackward backward;
  Callback<std::vector<Gradient>(std::span<const Tensor>, std::span<const Variable>)> backward_with_variables;
  FlatTangent jvp;
  bool batched = false;
};
/// run(), and one entry for it: its results as a tape follows them.
std::vector<Tensor> custom(const char* name, std::span<const Tensor> arguments, const Callback<CustomResult()>& run);
/// y itself. ValueError when it is empty.
const Tensor& defined_result(const char* who, const Tensor& y);
/// ShapeError or TypeError unless the results have the shapes and dtypes of the arguments.
void check_pass_through(std::span<const Tensor> arguments, std::span<const Tensor> results);
/// ValueError unless a gradient function returned as many gradients as the argument has leaves.
void check_leaves(std::size_t argument, std::size_t found, std::size_t expected);
[[noreturn]] void fail_arguments(std::size_t found, std::size_t expected);

// Gives out the leaves of a list in order: one for each leaf of a tree, including leaves that stay unchanged.
struct NextLeaf {
  std::span<const Tensor> leaves;
  std::size_t& next;
  template <class Leaf>
  Tensor operator()(const Leaf&) {
    return leaves[next++];
  }
  template <class Leaf>
  void skip(const Leaf&) {
    ++next;
  }
};

// Arguments whose trees can be rebuilt from a list of leaves; other arguments pass unchanged.
template <class... A>
struct TreeArguments {
  template <class T>
  static void collect_one(const T& x, std::vector<Tensor>& leaves) {
    if constexpr (Tree<T>) for_each_leaf(x, [&](const auto& leaf) { leaves.push_back(Target(leaf).tensor()); });
  }
  static std::vector<Tensor> leaves(const A&... args) {
    std::vector<Tensor> list;
    (collect_one(args, list), ...);
    return list;
  }

  // The type that an argument of type T is passed as.
  template <class T>
  static decltype(auto) replace(T& x, std::span<const Tensor> leaves, std::size_t& next) {
    if constexpr (Tree<T>)
      return map_leaves<Input>(x, NextLeaf{leaves, next});
    else
      return static_cast<T&>(x);
  }
  template <class F>
  static decltype(auto) call(F& f, std::span<const Tensor> leaves, A&... args) {
    std::size_t next = 0;
    // braces fix the order of evaluation
    std::tuple<decltype(replace(args, leaves, next))...> passed{replace(args, leaves, next)...};
    return std::apply([&](auto&... x) -> decltype(auto) { return f(x...); }, passed);
  }
};

template <class Y>
std::vector<Tensor> leaves_of(const char* who, const Y& y) {
  std::vector<Tensor> list;
  for_each_leaf(y, [&](const auto& leaf) { list.push_back(defined_result(who, Target(leaf).tensor())); });
  return list;
}

template <class F>
struct Composite {
  const char* name;
  Keep keep;
  mutable F f;

  template <class... A>
  auto operator()(A&&... args) const {
    using Arguments = TreeArguments<std::remove_reference_t<A>...>;
    using Y = std::remove_cvref_t<decltype(Arguments::call(f, std::span<const Tensor>(), args...))>;
    static_assert(Tree<Y>, "the function must return a tensor or a tree of tensors");
    std::vector<Y> made;
    const auto first = [&](std::span<const Tensor> leaves) {
      made.push_back(Arguments::call(f, leaves, args...));
      return leaves_of(name, made.back());
    };
    auto again = [who = name, f = f,
                  kept = std::tuple<std::decay_t<A>...>(args...)](std::span<const Tensor> leaves) mutable {
      return std::apply(
          [&](auto&... x) { return leaves_of(who, TreeArguments<std::decay_t<A>...>::call(f, leaves, x...)); }, kept);
    };
    Flat<Tensor> flat{composite(name, first, std::move(again), Arguments::leaves(args...), keep)};
    return map_leaves<Tensor>(made.front(), flat);
  }
};

// Appends the gradients that a gradient function returned for one argument: as many as the argument has leaves.
template <class E>
void append_gradients(const E& entry, std::size_t argument, std::size_t expected, std::vector<Gradient>& list) {
  if constexpr (std::is_same_v<E, None>) {
    list.insert(list.end(), expected, Gradient());
  } else {
    static_assert(Tree<E>, "a gradient function returns tensors, Gradients, none, or trees of them");
    const std::size_t before = list.size();
    for_each_leaf(entry, [&](const auto& leaf) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, Variable>)
        list.emplace_back(leaf.read());
      else
        list.emplace_back(leaf);
    });
    check_leaves(argument, list.size() - before, expected);
  }
}
// The gradients by the arguments that are trees, of which counts[i] is the number of leaves. One argument: bare.
// Several: a tuple, or a list with one leaf for each.
template <std::size_t Arguments, class R>
std::vector<Gradient> gradients_from(const R& given, std::span<const std::size_t> counts) {
  std::vector<Gradient> list;
  std::size_t k = 0;
  const auto append = [&](const auto& entry) {
    append_gradients(entry, k, counts[k], list);
    ++k;
  };
  if constexpr (Arguments == 1) {
    append(given);
  } else if constexpr (requires { std::tuple_size<R>::value; }) {
    if constexpr (std::tuple_size_v<R> == Arguments)
      std::apply([&](const auto&... entry) { (append(entry), ...); }, given);
    else
      fail_arguments(std::tuple_size_v<R>, Arguments);
  } else if constexpr (requires { given.size(), given.begin(), given.end(); }) {
    if (given.size() != Arguments) fail_arguments(given.size(), Arguments);
    for (const auto& entry : given) append(entry);
  } else {
    fail_arguments(1, Arguments);
  }
  return list;
}

struct NoTangent {};
template <class... A>
inline constexpr std::size_t trees_among = (std::size_t{Tree<A>} + ... + 0);

template <class F, class J>
struct CustomGradient {
  const char* name;
  mutable F f;
  mutable J jvp;
  bool batched = false;

  template <class... A>
  auto operator()(A&&... args) const {
    using Arguments = TreeArguments<std::remove_reference_t<A>...>;
    static_assert((Tree<A> || ...), "no argument is a tensor or a tree of tensors");
    const std::vector<Tensor> leaves = Arguments::leaves(args...);
    using Result = std::remove_cvref_t<decltype(Arguments::call(f, leaves, args...))>;
    static_assert(is_pair<Result>, "the function must return pair(result, backward)");
    using Y = typename Result::first_type;
    static_assert(Tree<Y>, "the first of the pair must be a tensor or a tree of tensors");
    std::vector<Y> made;
    const auto run = [&] {
      Result result = Arguments::call(f, leaves, args...);
      CustomResult flat;
      flat.results = leaves_of(name, result.first);
      flat.batched = batched;
      using D = map_t<Tensor, Y>;
      // The structure of the results, without their elements.
      D shape_of_y = map_leaves<Tensor>(result.first, [](const auto&) { return Tensor(); });
      made.push_back(std::move(result.first));
      const std::array<std::size_t, trees_among<A...>> counts = tree_sizes(args...);
      const auto rebuilt = [](const D& y, std::span<const Tensor> dy) {
        Flat<Tensor> next(List<Tensor>(dy.begin(), dy.end()));
        return map_leaves<Tensor>(y, next);
      };
      using B = typename Result::second_type;
      constexpr bool alone = std::is_invocable_v<B&, const D&>;
      constexpr bool with_variables = std::is_invocable_v<B&, const D&, std::span<const Variable>>;
      static_assert(alone || with_variables,
                    "backward takes the cotangent in the structure of the result, and if it "
                    "differentiates by variables a span of them");
      if constexpr (alone)
        flat.backward = [b = result.second, y = shape_of_y, counts, rebuilt](std::span<const Tensor> dy) mutable {
          return gradients_from<trees_among<A...>>(b(rebuilt(y, dy)), counts);
        };
      if constexpr (with_variables)
        flat.backward_with_variables = [b = result.second, y = shape_of_y, counts, rebuilt](
                                           std::span<const Tensor> dy, std::span<const Variable> variables) mutable {
          auto given = b(rebuilt(y, dy), variables);
          std::vector<Gradient> list = gradients_from<trees_among<A...>>(given.first, counts);
          list.insert(list.end(), given.second.begin(), given.second.end());
          return list;
        };
      if constexpr (!std::is_same_v<J, NoTangent>)
        flat.jvp = [who = name, j = jvp, primals = trees(args...)](std::span<const Tensor> tangents) mutable {
          Flat<Tensor> next(List<Tensor>(tangents.begin(), tangents.end()));
          return leaves_of(who, j(primals, map_leaves<Tensor>(primals, next)));
        };
      return flat;
    };
    Flat<Tensor> flat{custom(name, leaves, run)};
    return map_leaves<Tensor>(made.front(), flat);
  }

 private:
  // The number of leaves of each argument that is a tree.
  template <class... A>
  static auto tree_sizes(const A&... args) {
    std::array<std::size_t, trees_among<A...>> counts{};  // g++ 14 warns about copies of a vector with one element
    std::size_t trees = 0;
    const auto count = [&](const auto& x) {
      if constexpr (Tree<decltype(x)>) {
        for_each_leaf(x, [&](const auto&) { ++counts[trees]; });
        ++trees;
      }
    };
    (count(args), ...);
    return counts;
  }
  template <class T>
  static auto as_tuple(const T& x) {
    if constexpr (Tree<T>)
      return std::tuple(map_leaves<Tensor>(x, [](const auto& leaf) { return Target(leaf).tensor(); }));
    else
      return std::tuple<>();
  }
  // The arguments that are trees, of tensors.
  template <class... A>
  static auto trees(const A&... args) {
    return std::tuple_cat(as_tuple(args)...);
  }
};

}  // namespace detail

/// Options of custom_gradient().
struct CustomGradientOptions {
  /// Whether backward takes many cotangents at once: each leaf of dy has a further leading axis, and so has each
  /// gradient that it returns. Jacobians then call it once for many rows; for a single cotangent the axis has extent 1.
  /// A rule that is not batched is called once per row.
  detail::Switch batched = false;
};

/// custom_gradient(f)(args...) computes f with a gradient of your choice. f(args...) returns pair(y, backward): y a
/// tensor or a tree; backward(dy), with a cotangent in the structure of y, returns one entry for each argument that is
/// a tree (bare for one, a tuple for several): a Tensor, a Gradient, none, or a tree of them. f runs once and receives
/// trees as trees of tensors. backward runs as ordinary ops and can be differentiated in turn, to any order. It may use
/// the arguments, y, and what f computes: where a second derivative can be asked for (under several tapes, a tape and
/// an accumulator, a persistent tape, or in a traced function) tapes record f's ops, and only y has the rule in place
/// of the op that made it, wherever it is used. A single tape that is not persistent keeps nothing of f. If f reads
/// trainable variables that a tape follows, backward must also accept (dy, std::span<const Variable>) and return
/// pair(entries, std::vector<Gradient>), one gradient per variable, in the order of their construction: otherwise
/// TypeError at the call. ValueError at replay for a wrong number of gradients, ValueError or ShapeError for gradients
/// that do not fit. Forward mode throws NotDifferentiable, except over reverse mode (a tape inside the accumulator),
/// where the tangent of y is that of which backward, linear in dy, is the transpose. TensorFlow's tf.custom_gradient.
template <class F>
auto custom_gradient(F f) {
  return detail::CustomGradient<F, detail::NoTangent>{"custom_gradient", std::move(f), {}};
}
template <class F>
auto custom_gradient(F f, const CustomGradientOptions& options) {
  return detail::CustomGradient<F, detail::NoTangent>{"custom_gradient", std::move(f), {}, options.batched};
}
/// With a rule for forward mode: jvp(primals, tangents) takes tuples of the arguments that are trees and of their
/// tangents (zeros where there are none), and returns the tangent of y.
template <class F, class J>
auto custom_gradient(F f, J jvp, const CustomGradientOptions& options = {}) {
  return detail::CustomGradient<F, J>{"custom_gradient", std::move(f), std::move(jvp), options.batched};
}

/// recompute_grad(f)(args...) is f(args...), but tapes keep only the arguments and the followed tensors and variables
/// that f captures: for its derivatives f is run again. f must compute the same then; draws from a Generator are
/// repeated, assigns are not. f and the arguments that are not trees are copied; what f captures by reference must live
/// as long as the tape. May be nested. TensorFlow's tf.recompute_grad, PyTorch's checkpoint; Griewank and Walther 2000
/// analyse its cost.
template <class F>
auto recompute_grad(F f) {
  return detail::Composite<F>{"recompute_grad", detail::Keep::inputs, std::move(f)};
}
/// The same.
template <class F>
auto checkpoint(F f) {
  return detail::Composite<F>{"checkpoint", detail::Keep::inputs, std::move(f)};
}

/// grad_pass_through(f)(x) is f(x), of x's shape and dtype (ShapeError or TypeError otherwise), with the derivative of
/// the identity, to every order. f may be anything, such as rounding or sampling. TensorFlow's tf.grad_pass_through.
template <class F>
auto grad_pass_through(F f) {
  constexpr const char* who = "grad_pass_through";
  auto passing = [f = std::move(f)]<Tree X>(const X& x) mutable {
    auto y = f(x);
    detail::check_pass_through(detail::leaves_of(who, x), detail::leaves_of(who, y));
    return std::pair(std::move(y), [](const auto& dy, std::span<const Variable> variables) {
      return std::pair(dy, std::vector<Gradient>(variables.size()));
    });
  };
  auto jvp = [](const auto&, const auto& tangents) { return std::get<0>(tangents); };
  return detail::CustomGradient<decltype(passing), decltype(jvp)>{who, std::move(passing), std::move(jvp), true};
}

/// x itself; differentiating through it throws LookupError with `message`. TensorFlow's tf.raw_ops.PreventGradient.
Tensor prevent_gradient(const Operand& x, std::string message = {});

}  // namespace reel
