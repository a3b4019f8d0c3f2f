// What the pattern of a square sparse matrix says of its factors. Plain arrays, no tensors.
#pragma once
#include <memory>
#include <span>

#include "sparse/colouring.hpp"
#include "sparse/ordering.hpp"

namespace reel::optim {

using autodiff::CompressedRows;

/// The symbolic analysis: an order of elimination, and the fronts of the pattern together with its transpose. Positions
/// count rows and columns in the order of elimination; those of a front's pivots are consecutive.
class Analysis {
 public:
  explicit Analysis(const CompressedRows& pattern);
  bool is_of(const CompressedRows& pattern) const noexcept;
  Index size() const noexcept { return static_cast<Index>(order_.size()); }
  std::int64_t value_count() const noexcept { return static_cast<std::int64_t>(columns_.size()); }
  Index front_count() const noexcept { return static_cast<Index>(first_.size()) - 1; }
  std::int64_t bytes() const noexcept;

  /// The row and column of the matrix at a position, and the inverse.
  std::span<const Index> order() const noexcept { return order_; }
  std::span<const Index> position() const noexcept { return position_; }
  /// The first pivot of front f, for f up to the number of fronts.
  Index first(Index f) const noexcept { return first_[static_cast<std::size_t>(f)]; }
  Index parent(Index f) const noexcept { return parent_[static_cast<std::size_t>(f)]; }
  Index child_count(Index f) const noexcept { return child_counts_[static_cast<std::size_t>(f)]; }
  /// The positions that front f updates, ascending.
  std::span<const Index> border(Index f) const noexcept {
    const auto k = static_cast<std::size_t>(f);
    return {borders_.data() + border_starts_[k], static_cast<std::size_t>(border_starts_[k + 1] - border_starts_[k])};
  }
  /// Elements of the columns of all fronts.
  std::int64_t panel_size() const noexcept;
  /// Elements below the diagonal of a Cholesky factor, explicit zeros included.
  std::int64_t factor_size() const noexcept;

  /// The elements of row i of the matrix, or of column i if `transposed`: f(position, index of the value).
  template <class F>
  void for_each(Index i, bool transposed, const F& f) const {
    const auto k = static_cast<std::size_t>(i);
    const std::vector<std::int64_t>& starts = transposed ? column_starts_ : starts_;
    for (std::int64_t p = starts[k]; p < starts[k + 1]; ++p) {
      const auto e = static_cast<std::size_t>(p);
      f(position_[static_cast<std::size_t>(transposed ? rows_[e] : columns_[e])], transposed ? places_[e] : p);
    }
  }
  /// Whether the pattern is symmetric; then mirror(p) is the index of the value in the transposed place of value p.
  bool is_symmetric() const noexcept { return symmetric_; }
  std::int64_t mirror(std::int64_t p) const noexcept { return places_[static_cast<std::size_t>(p)]; }

 private:
  Graph graph() const;
  void find_borders(const Graph& graph);

  std::vector<std::int64_t> starts_, column_starts_;  // of rows; of columns
  Indices columns_, rows_;                            // of each value, row by row; column by column
  std::vector<std::int64_t> places_;                  // column by column: the index among values
  bool symmetric_;
  Indices order_, position_, first_, parent_, child_counts_;
  std::vector<std::int64_t> border_starts_;
  Indices borders_;
};

/// The analysis of the pattern, from a cache that all threads share. It keeps up to 8, the latest used first: the last
/// one that was made, and others of up to 64 MiB.
std::shared_ptr<const Analysis> analysis_of(const CompressedRows& pattern);

}  // namespace reel::optim
