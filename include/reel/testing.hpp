// Checks of a function's derivatives against differences of its values, for tests of users' models and custom
// gradients. Not included by <reel/reel.hpp>.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tape.hpp>
#include <string>
#include <tuple>
#include <utility>

namespace REEL_API reel {

/// The modes that check_gradients() checks.
enum class CheckMode : std::uint8_t { reverse, forward, both };

/// Options of check_gradients().
struct CheckOptions {
  /// The highest order to check: 2 also checks the gradient of a random combination of the first derivatives, and so
  /// on.
  int order = 1;
  CheckMode modes = CheckMode::both;
  /// The largest step of the differences, times max(|x|, 0.1) of the element; 0: 0.02 if they are taken in float64, 0.1
  /// for float32, 0.25 for narrower dtypes. If it is too large (near a singularity, NaN), smaller ones are tried.
  double step = 0;
  /// The tolerance for an error relative to the largest derivative by the argument; 0: 1e-6 for float64, 5e-3 for
  /// float32, 0.1 for narrower dtypes, by the narrowest one among arguments and results. The identity of the two modes
  /// must hold to 1e-8, 5e-5 and 0.02, or to a hundredth of a given tolerance.
  double tolerance = 0;
  /// Of the random cotangents and tangents.
  std::uint64_t seed = 0;
  /// How many elements of each argument are varied; for larger arguments random elements.
  std::int64_t elements = 64;
  /// Whether an element at a kink passes when its derivative lies between the slopes on both sides.
  bool allow_kinks = false;
};

/// One comparison: an order, a mode and a leaf of the arguments.
struct CheckEntry {
  int order;
  CheckMode mode;        ///< reverse or forward
  std::size_t argument;  ///< number of the leaf, over all arguments
  double error;          ///< the largest relative error
  bool passed;
  std::string worst;  ///< in words, the comparison with that error
};

/// What check_gradients() found; true if everything passed.
struct CheckReport {
  bool passed = true;
  double worst_error = 0;
  std::vector<CheckEntry> entries;
  /// Further findings: "kink at element 0 of argument 0: slopes 0 and 1", different results of f for the same
  /// arguments, an op without a jvp.
  std::vector<std::string> notes;
  explicit operator bool() const noexcept { return passed; }
};
/// "passed" or "failed", then a line per entry and per note.
std::string to_string(const CheckReport& report);
std::ostream& operator<<(std::ostream& out, const CheckReport& report);

namespace detail {
using CheckFunction = Callback<std::vector<Tensor>(std::span<const Tensor> x)>;
CheckReport check(const CheckFunction& f, const std::vector<Tensor>& x, const CheckOptions& options);

template <class T>
inline constexpr bool is_argument_list = false;
template <class... T>
inline constexpr bool is_argument_list<std::tuple<T...>> = true;
}  // namespace detail

/// Compares the derivatives of f at args, by every floating leaf: reverse mode with central differences (Richardson
/// extrapolation, steps chosen per element), for random cotangents; forward mode with reverse mode by <v, J t> = <J^T
/// v, t>, or with differences if reverse mode is not requested. The effect of rounded results on a difference is
/// neither an error nor a kink, and a gradient that is 0 up to rounding passes.
///
/// Arguments of float32 and narrower dtypes are varied in float64 if f accepts such arguments, returns float64 for
/// them, and gives the same values within the tolerance; the derivatives compared are those at the given arguments. So
/// a rule that is 2 % wrong is found in float32. If f insists on its dtype, differences are of rounded results: in
/// float32, derivatives below 1e-4 of the results cannot be distinguished from rounding; in float16 and bfloat16 only
/// gross errors are found, and correct functions of many ops may fail, above all in higher orders: give a tolerance, or
/// check f in float32.
///
/// f(args) returns a tensor or a tree; args is a tree of tensors, or a std::tuple of f's arguments. f must return the
/// same result for the same arguments; the report says if it does not. Integer leaves are passed on. An op without a
/// jvp ends the forward comparison with a note, and fails it if only forward mode is requested. Exceptions of f pass
/// through; ValueError for an order below 1, TypeError for complex arguments or results, and when no leaf is floating.
/// After JAX's check_grads and PyTorch's gradcheck.
template <class F, Tree A>
CheckReport check_gradients(F f, const A& args, const CheckOptions& options = {}) {
  std::vector<Tensor> x;
  for_each_leaf(args, [&](const auto& leaf) { x.push_back(leaf); });
  auto moved = map_leaves<Tensor>(args, [](const auto& leaf) -> Tensor { return leaf; });
  // The arguments of a call live until the next one: a loop inside f that captures them by reference runs again in
  // replay.
  const auto flat = [f = std::move(f), args, moved = std::move(moved)](std::span<const Tensor> values) mutable {
    std::size_t next = 0;
    moved = map_leaves<Tensor>(args, [&](const auto&) { return values[next++]; });
    std::vector<Tensor> y;
    const auto collect = [&](const auto& result) {
      for_each_leaf(result, [&](const auto& leaf) { y.push_back(leaf); });
    };
    if constexpr (detail::is_argument_list<A>)
      collect(std::apply(f, std::as_const(moved)));
    else
      collect(f(std::as_const(moved)));
    return y;
  };
  return detail::check(flat, x, options);
}

}  // namespace reel
