// Trees: structured arguments, targets and sources. Leaves are Tensor, Variable, Gradient and IndexedSlices; nodes are
// vector, array, tuple, pair, map (its values) and any struct with `auto leaves() { return std::tie(a, b); }`. Numbers
// are never leaves. A struct is copied, which copies handles, and leaves() is called on the copy, so that const models
// work.
#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <reel/api.hpp>
#include <reel/gradient.hpp>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace REEL_API reel {

namespace detail {

template <class T>
concept Leaf = std::is_same_v<T, Tensor> || std::is_same_v<T, Variable> || std::is_same_v<T, Gradient> ||
    std::is_same_v<T, IndexedSlices>;
template <class T>
concept HasLeaves = std::is_class_v<T> && requires(T& t) {
  std::tuple_size<decltype(t.leaves())>::value;
};

// As R below: the tree that a differentiated function receives. Leaves become tensors, but a struct keeps its type: its
// tensors are replaced, its variables remain.
struct Input {};

// Describes a type as a tree: whether it is one, its type with every leaf replaced by R, and how to walk it. `each`
// takes a const or a mutable node, `map` builds the result in the order of the leaves.
template <class T>
struct Node {
  static constexpr bool is_tree = false;
  template <class R>
  using mapped = void;
};
template <class T>
using NodeOf = Node<std::remove_cvref_t<T>>;

template <Leaf T>
struct Node<T> {
  static constexpr bool is_tree = true;
  template <class R>
  using mapped = std::conditional_t<std::is_same_v<R, Input>, Tensor, R>;
  template <class F>
  static void each(const T& leaf, F& f) {
    f(leaf);
  }
  template <class F>
  static void each(T& leaf, F& f) {
    f(leaf);
  }
  template <class R, class F>
  static mapped<R> map(const T& leaf, F& f) {
    return static_cast<mapped<R>>(f(leaf));
  }
};

template <class X, class A>
struct Node<std::vector<X, A>> {
  static constexpr bool is_tree = NodeOf<X>::is_tree;
  template <class R>
  using mapped = std::vector<typename NodeOf<X>::template mapped<R>>;
  template <class T, class F>
  static void each(T& node, F& f) {
    for (auto& x : node) NodeOf<X>::each(x, f);
  }
  template <class R, class T, class F>
  static mapped<R> map(T& node, F& f) {
    mapped<R> result;
    result.reserve(node.size());
    for (auto& x : node) result.push_back(NodeOf<X>::template map<R>(x, f));
    return result;
  }
};

template <class X, std::size_t N>
struct Node<std::array<X, N>> {
  static constexpr bool is_tree = NodeOf<X>::is_tree;
  template <class R>
  using mapped = std::array<typename NodeOf<X>::template mapped<R>, N>;
  template <class T, class F>
  static void each(T& node, F& f) {
    for (auto& x : node) NodeOf<X>::each(x, f);
  }
  template <class R, class T, class F>
  static mapped<R> map(T& node, F& f) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return mapped<R>{NodeOf<X>::template map<R>(std::get<I>(node), f)...};
    }
    (std::make_index_sequence<N>());
  }
};

template <class... X>
struct Node<std::tuple<X...>> {
  static constexpr bool is_tree = (NodeOf<X>::is_tree && ...);
  template <class R>
  using mapped = std::tuple<typename NodeOf<X>::template mapped<R>...>;
  template <class T, class F>
  static void each(T& node, F& f) {
    std::apply([&](auto&... x) { (NodeOf<X>::each(x, f), ...); }, node);
  }
  template <class R, class T, class F>
  static mapped<R> map(T& node, F& f) {
    return std::apply([&](auto&... x) { return mapped<R>{NodeOf<X>::template map<R>(x, f)...}; }, node);
  }
};

template <class X, class Y>
struct Node<std::pair<X, Y>> {
  static constexpr bool is_tree = NodeOf<X>::is_tree && NodeOf<Y>::is_tree;
  template <class R>
  using mapped = std::pair<typename NodeOf<X>::template mapped<R>, typename NodeOf<Y>::template mapped<R>>;
  template <class T, class F>
  static void each(T& node, F& f) {
    NodeOf<X>::each(node.first, f);
    NodeOf<Y>::each(node.second, f);
  }
  template <class R, class T, class F>
  static mapped<R> map(T& node, F& f) {
    return mapped<R>{NodeOf<X>::template map<R>(node.first, f), NodeOf<Y>::template map<R>(node.second, f)};
  }
};

template <class K, class X, class C, class A>
struct Node<std::map<K, X, C, A>> {
  static constexpr bool is_tree = NodeOf<X>::is_tree;
  template <class R>
  using mapped = std::map<K, typename NodeOf<X>::template mapped<R>, C>;
  template <class T, class F>
  static void each(T& node, F& f) {
    for (auto& entry : node) NodeOf<X>::each(entry.second, f);
  }
  template <class R, class T, class F>
  static mapped<R> map(T& node, F& f) {
    mapped<R> result(node.key_comp());
    for (auto& entry : node)
      result.emplace_hint(result.end(), entry.first, NodeOf<X>::template map<R>(entry.second, f));
    return result;
  }
};

// Whether assigning tensors to the members that leaves() ties reconstructs the struct: all of its leaves are tensors,
// and not const.
template <class Parts>
inline constexpr bool holds_tensors = false;
template <class... X>
inline constexpr bool holds_tensors<std::tuple<X&...>> =
    (std::is_same_v<X, typename NodeOf<X>::template mapped<Tensor>> && ...);

template <HasLeaves S>
struct Node<S> {
  using Parts = std::remove_cvref_t<decltype(std::declval<S&>().leaves())>;
  static constexpr bool is_tree = std::is_copy_constructible_v<S> && Node<Parts>::is_tree;
  static constexpr bool all_tensors = holds_tensors<Parts>;
  template <class R>
  using mapped = std::conditional_t<std::is_same_v<R, Input> || (std::is_same_v<R, Tensor> && all_tensors), S,
                                    typename Node<Parts>::template mapped<R>>;
  template <class F>
  static void each(const S& node, F& f) {
    S copy(node);
    each(copy, f);
  }
  template <class F>
  static void each(S& node, F& f) {
    auto parts = node.leaves();
    Node<Parts>::each(parts, f);
  }
  template <class R, class F>
  static mapped<R> map(const S& node, F& f) {
    S copy(node);
    auto parts = copy.leaves();
    if constexpr (std::is_same_v<R, Input>) {
      const auto replace = [&f](auto& leaf) {
        if constexpr (std::is_same_v<decltype(leaf), Tensor&>)
          leaf = f(leaf);
        else if constexpr (requires { f.skip(leaf); })  // f counts the leaves
          f.skip(leaf);
      };
      Node<Parts>::each(parts, replace);
      return copy;
    } else if constexpr (std::is_same_v<R, Tensor> && all_tensors) {
      std::apply([&]<class... X>(X&... x) { ((x = NodeOf<X>::template map<R>(x, f)), ...); }, parts);
      return copy;
    } else {
      return Node<Parts>::template map<R>(parts, f);
    }
  }
};

}  // namespace detail

/// A tensor, variable, gradient or IndexedSlices, or a vector, array, tuple, pair, map or struct with leaves() of
/// trees.
template <class T>
concept Tree = detail::NodeOf<T>::is_tree;  // a struct needs auto leaves() { return std::tie(a, b); }

namespace detail {
/// A class that is no tree, and of no type that a function on trees takes besides.
template <class T>
concept NoTree = std::is_class_v<T> && !Tree<T> && !std::is_convertible_v<const T&, Tensor> &&
                 !std::is_convertible_v<const T&, Variable>;
/// A start that was passed before the function.
template <class T, class F>
concept BeforeFunction = Tree<T> && !Tree<F>;
}  // namespace detail

/// The type of the tree T with every leaf replaced by an R. A struct becomes a std::tuple in the order of its leaves();
/// but with R = Tensor a struct whose leaves are all tensors stays what it is.
template <class R, Tree T>
using map_t = typename detail::NodeOf<T>::template mapped<R>;

/// Calls f(leaf) for every leaf, in order: elements by position, a map's values by key, a struct's as leaves() ties
/// them. f must not keep the reference.
template <Tree T, class F>
void for_each_leaf(const T& tree, F&& f) {
  detail::Node<T>::each(tree, f);
}

/// The tree of what f(leaf) gives for every leaf, called in the order of for_each_leaf.
template <class R, Tree T, class F>
map_t<R, T> map_leaves(const T& tree, F&& f) {
  return detail::Node<T>::template map<R>(tree, f);
}

}  // namespace reel
