// A choice among several functions by an index. <reel/reel.hpp> does not include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/control.hpp>

namespace REEL_API reel {

namespace detail {

/// TypeError unless the index is an integer tensor, ShapeError unless it has one element.
void check_branch_index(const Tensor& index);

// Branch `index` of those from k on; the last one for a higher index.
template <std::size_t k, class Branches, class... A>
auto known_branch(std::int64_t index, Branches& branches, A&&... args) {
  if constexpr (k + 1 < std::tuple_size_v<Branches>)
    if (index > static_cast<std::int64_t>(k)) return known_branch<k + 1>(index, branches, std::forward<A>(args)...);
  using Branch = std::tuple_element_t<k, Branches>;
  return Composite<Branch>{"switch_case", Keep::record, std::move(std::get<k>(branches))}(std::forward<A>(args)...);
}

// The same for an index that is known only when the program runs: conds within each other.
template <std::size_t k, class Branches, class... A>
auto traced_branch(const Tensor& index, const Branches& branches, A&&... args) {
  if constexpr (k + 1 == std::tuple_size_v<Branches>) {
    auto last = std::get<k>(branches);
    return last(std::forward<A>(args)...);
  } else {
    auto others = [index, branches](const auto&... x) { return traced_branch<k + 1>(index, branches, x...); };
    return choose_later(counts_below(index, static_cast<std::int64_t>(k + 1)), std::get<k>(branches), std::move(others),
                        std::forward<A>(args)...);
  }
}

}  // namespace detail

/// Calls one of `branches` with args, as one entry on a tape: that of the index, an integer or a tensor of one integer.
/// `branches` is a std::tuple of functions that return the same type of tree. An index below 0 counts as 0, one
/// above the last as the last. The other branches are not run and contribute nothing. The requirements of while_loop on
/// body hold for the branches. In a traced function, an index that the function computes makes all branches traced,
/// with equal shapes and dtypes, and copied; the program runs one, after at most as many comparisons as there are
/// branches. TypeError for an index that is not an integer, ShapeError for one of another size. JAX's lax.switch;
/// TensorFlow's tf.switch_case, where any index out of range counts as the last.
template <class I, class... F, class... A>
requires(std::is_same_v<I, Tensor> || detail::Integer<I>) auto switch_case(const I& index, std::tuple<F...> branches,
                                                                           A&&... args) {
  static_assert(sizeof...(F) > 0, "switch_case: there must be a branch");
  if constexpr (std::is_same_v<I, Tensor>) {
    detail::check_branch_index(index);
    if (detail::is_traced(index)) return detail::traced_branch<0>(index, branches, std::forward<A>(args)...);
  }
  if constexpr (detail::Integer<I>)
    return detail::known_branch<0>(detail::checked(index), branches, std::forward<A>(args)...);
  else
    return detail::known_branch<0>(static_cast<std::int64_t>(index.item()), branches, std::forward<A>(args)...);
}

}  // namespace reel
