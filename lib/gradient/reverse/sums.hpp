// How replay sums the terms of a cotangent: by the method that the caller chose, through the tape's VSpace. Slices are
// concatenated once, when the cotangent is read, whatever the method: one at a time would cost n^2 rows.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <unordered_map>

#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// add_n sums the terms of a cotangent early once there are this many, of more than so many bytes at four bytes an
/// element (TensorFlow's eager tape).
inline constexpr std::size_t early_terms = 4;
inline constexpr std::int64_t early_bytes = std::int64_t{128} << 20;

class Sums {
 public:
  /// custom: the tape's VSpace, null for the default; space: it, or the default. Cotangents must not move while terms
  /// wait.
  Sums(const VSpace* custom, const VSpace& space, AggregationMethod method)
      : custom_(custom), space_(space), method_(method) {}

  /// Adds a term to a cotangent, which is empty or has terms already.
  void add(Gradient& cotangent, Gradient&& term) {
    if (!cotangent)
      cotangent = std::move(term);
    else if (in_place() && !cotangent.is_slices() && !term.is_slices())
      // In a buffer of either that nobody else holds.
      GradientAccess::value(cotangent) =
          reel::add(std::move(GradientAccess::value(cotangent)), std::move(GradientAccess::value(term)));
    else
      combine(cotangent, std::move(term));
  }
  /// Whether a cotangent is the sum of its dense terms at any time.
  bool in_place() const noexcept { return method_ == AggregationMethod::accumulate_n && !custom_; }
#ifndef NDEBUG
  /// Whether no terms wait.
  bool idle() const noexcept { return waiting_.empty(); }
#endif
  /// Before a cotangent is read: makes it the sum of its terms.
  void finalize(Gradient& cotangent) {
    if (!waiting_.empty()) join(cotangent);
  }

 private:
  void combine(Gradient& cotangent, Gradient term);
  void join(Gradient& cotangent);

  const VSpace* custom_;
  const VSpace& space_;
  AggregationMethod method_;
  std::unordered_map<const Gradient*, std::vector<Gradient>> waiting_;  // by cotangent: the terms behind its first
};

}  // namespace reel::autodiff
