// Multifrontal factors of sparse matrices, and solutions by them. Plain arrays, no tensors.
#pragma once
#include <complex>
#include <memory>
#include <vector>

#include "sparse/symbolic_analysis.hpp"

namespace reel::optim {

/// The factors of a matrix with the pattern of an analysis: L L^H for a Hermitian positive definite one, if asked for,
/// L U for others. Duff and Reid, "The multifrontal solution of unsymmetric sets of linear equations", 1984: a front is
/// a dense matrix of the rows and columns that its pivots reach. LU takes a pivot among the complete rows of the front
/// that is at least a tenth of the largest element of its column, the one on the diagonal if it can. Columns without
/// one, and as many rows, are left to the parent front.
template <class T>
class Factors {
 public:
  enum class Kind : bool { positive_definite, general };
  explicit Factors(std::shared_ptr<const Analysis> analysis) : analysis_(std::move(analysis)) {}
  /// False where the matrix is not positive definite, or is singular: a pivot is zero. Values that are not finite give
  /// NaN.
  bool factorise(const T* values, Kind kind);
  /// The first kind of both that is possible.
  bool factorise(const T* values) {
    return (is_hermitian(values) && factorise(values, Kind::positive_definite)) || factorise(values, Kind::general);
  }
  Kind kind() const noexcept { return kind_; }
  /// x [n, columns], row-major, holds the right sides b and becomes the solutions of a x = b, or of a^T x = b.
  void solve(T* x, std::int64_t columns, bool transposed) const;
  std::int64_t bytes() const noexcept;

 private:
  // The columns of L that a front eliminates, or rows of U as columns: [rows, pivots], row-major. The first `pivots`
  // rows are triangular.
  struct Panel {
    std::size_t offset;
    Index pivots, rows;
  };
  // The rows and columns of a front: pivots first. Of Cholesky's both are the pivots, then the border.
  struct Front {
    Panel l, u;
    std::size_t rows, columns;  // offsets in indices_
  };
  class Elimination;
  bool is_hermitian(const T* values) const;
  struct WorkSpace {
    std::vector<T> rows;
    std::vector<std::byte> memory;
  };
  void forward(const Panel& panel, const Index* indices, bool unit, T* x, T* pivots, std::int64_t columns,
               WorkSpace& work) const;
  void backward(const Panel& panel, const Index* indices, bool unit, T* x, T* pivots, std::int64_t columns,
                WorkSpace& work) const;

  std::shared_ptr<const Analysis> analysis_;
  Kind kind_ = Kind::general;
  bool finite_ = true;
  std::vector<Front> fronts_;
  std::vector<T> panels_;
  Indices indices_;  // positions
};

}  // namespace reel::optim
