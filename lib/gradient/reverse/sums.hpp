// How replay sums the terms that arrive for one cell: by the method that the caller chose, through the tape's VSpace.
// Slices are concatenated once, when their cell is read, whatever the method: one at a time would cost n^2 rows.
#pragma once
#include <reel/ops/pointwise.hpp>
#include <unordered_map>

#include "gradient/gradient.hpp"

namespace reel::autodiff {

/// add_n sums a cell before it is read once it holds this many terms, which take more than this much memory at four
/// bytes an element (TensorFlow's eager tape).
inline constexpr std::size_t early_terms = 4;
inline constexpr std::int64_t early_bytes = std::int64_t{128} << 20;

class Sums {
 public:
  /// custom: the tape's VSpace, null for the default; space: it, or the default. Cells must not move while terms wait.
  Sums(const VSpace* custom, const VSpace& space, AggregationMethod method)
      : custom_(custom), space_(space), method_(method) {}

  /// Adds a term to a cell, which is empty or has terms already.
  void add(Gradient& cell, Gradient&& term) {
    if (!cell)
      cell = std::move(term);
    else if (in_place() && !cell.is_slices() && !term.is_slices())
      // In a buffer of either that nobody else holds.
      GradientAccess::value(cell) =
          reel::add(std::move(GradientAccess::value(cell)), std::move(GradientAccess::value(term)));
    else
      combine(cell, std::move(term));
  }
  /// Whether a cell is the sum of its dense terms at any time.
  bool in_place() const noexcept { return method_ == AggregationMethod::accumulate_n && !custom_; }
  /// Whether no terms wait.
  bool idle() const noexcept { return waiting_.empty(); }
  /// Before a cell is read: makes it the sum of its terms.
  void finish(Gradient& cell) {
    if (!waiting_.empty()) join(cell);
  }

 private:
  void combine(Gradient& cell, Gradient term);
  void join(Gradient& cell);

  const VSpace* custom_;
  const VSpace& space_;
  AggregationMethod method_;
  std::unordered_map<const Gradient*, std::vector<Gradient>> waiting_;  // by cell: the terms behind its first
};

}  // namespace reel::autodiff
