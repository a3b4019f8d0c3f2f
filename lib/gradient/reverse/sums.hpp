// How replay sums the terms of a cotangent: by the method that the caller chose, through the tape's VSpace. Slices are
// joined once, when the cotangent is read: concatenated, or added to one tensor if a tensor is wanted. One at a time
// would cost O(n^2) rows.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <unordered_map>

#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// add_n sums the terms early once there are this many, and they exceed this many bytes at four bytes per element (as
/// TensorFlow's eager tape does).
inline constexpr std::size_t early_terms = 4;
inline constexpr std::int64_t early_bytes = std::int64_t{128} << 20;

class Sums {
 public:
  /// custom: the tape's VSpace, or null for the default; space: the one to use. Cotangents must not move while terms
  /// are pending.
  Sums(const VSpace* custom, const VSpace& space, AggregationMethod method)
      : custom_(custom), space_(space), method_(method) {}

  /// Adds a term to a cotangent, which may be empty.
  void add(Gradient& cotangent, Gradient&& term) {
    if (!cotangent)
      cotangent = std::move(term);
    else if (in_place() && !cotangent.is_slices() && !term.is_slices())
      // In the buffer of either operand, if nobody else holds it.
      GradientAccess::value(cotangent) =
          reel::add(std::move(GradientAccess::value(cotangent)), std::move(GradientAccess::value(term)));
    else
      combine(cotangent, std::move(term));
  }
  /// Whether a cotangent always is the sum of its dense terms.
  bool in_place() const noexcept { return method_ == AggregationMethod::accumulate_n && !custom_; }
#ifndef NDEBUG
  /// Whether no terms are pending.
  bool idle() const noexcept { return waiting_.empty(); }
#endif
  /// Completes the sum of a cotangent before it is read; as a tensor, if `dense` says that nobody reads slices.
  void finalize(Gradient& cotangent, bool dense = false) {
    if (!waiting_.empty()) join(cotangent, dense);
  }

 private:
  void combine(Gradient& cotangent, Gradient term);
  void join(Gradient& cotangent, bool dense);

  const VSpace* custom_;
  const VSpace& space_;
  AggregationMethod method_;
  // By cotangent: the terms after its first.
  using Terms = detail::List<Gradient>;
  std::unordered_map<const Gradient*, Terms, std::hash<const Gradient*>, std::equal_to<>,
                     detail::PoolAllocator<std::pair<const Gradient* const, Terms>>>
      waiting_;
};

}  // namespace reel::autodiff
