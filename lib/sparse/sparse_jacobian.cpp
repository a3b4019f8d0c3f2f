// Jacobians and Hessians from the directions of a colouring: one call of the function, then one pass per direction.
#include <algorithm>
#include <cmath>
#include <limits>
#include <reel/ops/index.hpp>
#include <reel/ops/make.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/ops/shape.hpp>

#include "core/fail.hpp"
#include "gradient/forward/pushforward.hpp"
#include "gradient/gradient.hpp"
#include "sparse/patterns.hpp"

namespace reel {

namespace autodiff {

namespace {

detail::Colouring to_tensors(const Colours& colours, const std::vector<std::int64_t>& places) {
  return {from_data(colours.of), colours.count, from_data(places)};
}

// One direction per colour of the columns: value (i, j) is element i of the direction of j.
detail::Colouring by_columns(const CompressedRows& a) {
  const Colours colours = colour_columns(a);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < a.row_count(); ++i)
    for (const std::int64_t j : a.row(i)) places.push_back(colours.of[static_cast<std::size_t>(j)] * a.row_count() + i);
  return to_tensors(colours, places);
}

// One direction per colour of the rows: value (i, j) is element j of the direction of i.
detail::Colouring by_rows(const CompressedRows& a) {
  const Colours colours = colour_columns(transpose(a));
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < a.row_count(); ++i)
    for (const std::int64_t j : a.row(i))
      places.push_back(colours.of[static_cast<std::size_t>(i)] * a.column_count + j);
  return to_tensors(colours, places);
}

// For a symmetric matrix: value (i, j) is element i of the direction of j, unless that sums other values of row i; then
// element j of the direction of i.
detail::Colouring by_stars(const CompressedRows& a) {
  const Colours colours = star_colouring(a);
  const auto colour = [&](std::int64_t i) { return colours.of[static_cast<std::size_t>(i)]; };
  std::vector<std::int64_t> places, seen(static_cast<std::size_t>(colours.count), 0);  // in the row
  for (std::int64_t i = 0; i < a.row_count(); ++i) {
    for (const std::int64_t j : a.row(i)) ++seen[static_cast<std::size_t>(colour(j))];
    for (const std::int64_t j : a.row(i)) {
      const bool alone = seen[static_cast<std::size_t>(colour(j))] == 1;
      places.push_back((alone ? colour(j) : colour(i)) * a.row_count() + (alone ? i : j));
    }
    for (const std::int64_t j : a.row(i)) seen[static_cast<std::size_t>(colour(j))] = 0;
  }
  return to_tensors(colours, places);
}

// One call of the function; derivatives along directions at that point.
class Directions {
 public:
  Directions(const char* op, const TensorFunction& f, const Tensor& x, const SparsityPattern& pattern)
      : op_(op), pattern_(pattern), x_(detail::fresh(op, x)) {
    if (!is_floating(x_.dtype())) fail<TypeError>(op, "x is {}, must be real and floating; cast it", x_.dtype());
    tape_.watch(x_);
    y_ = f(x_);
    tape_.stop();
    detail::require_result(op, y_);
    if (!is_floating(y_.dtype()))
      fail<TypeError>(op, "the function must return a real floating tensor, not {}", y_.dtype());
    if (Shape{y_.size(), x_.size()} != pattern.shape)
      fail<ShapeError>(op, "the pattern is {}, but {} results depend on {} elements of x", pattern.shape, y_.size(),
                       x_.size());
    path_ = path_between(state(), {&source_, 1}, {&y_, 1});
  }

  /// The matrix by directions of columns or, if these are fewer or an op has no jvp, of rows.
  Csr matrix(const detail::Colouring& columns, const detail::Colouring& rows) {
    forward_ = path_.can_push && columns.count <= rows.count;
    if (!path_.connected || (forward_ ? columns : rows).count == 0)
      return {pattern_, zeros({pattern_.nonzeros()}, x_.dtype())};
    if (forward_)
      if (const auto products = if_differentiable([&] { return push_directions(columns); }))
        return {pattern_, gather(*products, columns.places)};
    forward_ = false;
    return {pattern_, gather(pull_directions(rows), rows.places)};
  }

  /// ValueError if a product with the matrix, which matrix() has made, differs from the derivative's by more than the
  /// rounding errors of either.
  void check(const Csr& matrix) {
    if (!path_.connected) return;
    constexpr std::uint64_t seed = 20140627;  // any: the same check in every run
    Generator generator(seed);
    const Tensor& like = forward_ ? x_ : y_;
    const Tensor v = random_uniform(generator, like.shape(), -1, 1, like.dtype()), flat = reshape(v, {-1});
    const std::vector<double> direct = along(v),
                              product = as_doubles(csr_matmul(matrix.values, pattern_, flat, !forward_)),
                              scale = as_doubles(csr_matmul(abs(matrix.values), pattern_, abs(flat), !forward_));
    std::vector<std::size_t> apart;
    for (std::size_t k = 0; k < direct.size(); ++k)
      if (std::isfinite(direct[k]) && !within(direct[k], product[k], scale[k] + std::abs(direct[k]), 0))
        apart.push_back(k);
    if (apart.empty()) return;
    const double rounding = rounding_along(v, direct, apart);
    for (const std::size_t k : apart)
      if (!within(direct[k], product[k], scale[k] + std::abs(direct[k]), rounding))
        fail<ValueError>(op_,
                         "the pattern misses a place: along a random vector, {} {} of the product is {}, of that with "
                         "the sparse matrix {}",
                         forward_ ? "row" : "column", k, direct[k], product[k]);
  }

 private:
  tape::Tape& state() { return GradientTapeAccess::get(tape_); }
  static std::vector<double> as_doubles(const Tensor& x) { return cast(x, DType::float64).to_vector<double>(); }

  Tensor push(const Tensor& tangent) {
    const Tensor found = pushforward(state(), {&source_, 1}, {&tangent, 1}, {&y_, 1}).front();
    return found.defined() ? cast(found, x_.dtype()) : zeros(y_.shape(), x_.dtype());
  }
  Tensor pull(const Tensor& cotangents) {
    return replay_batch(op_, state(), y_, {&source_, 1}, UnconnectedGradients::zero, cotangents).front().dense();
  }
  Tensor push_directions(const detail::Colouring& c) {
    detail::List<Tensor> products;
    for (std::int64_t k = 0; k < c.count; ++k)
      products.push_back(reshape(push(reshape(cast(equal(c.colours, k), x_.dtype()), x_.shape())), {-1}));
    return concatenate(products, 0);
  }
  Tensor pull_directions(const detail::Colouring& c) {
    Shape shape = y_.shape();
    shape.insert(0, c.count);
    const Tensor chosen = equal(expand_dims(c.colours, 0), expand_dims(arange(c.count), 1));
    return reshape(pull(reshape(cast(chosen, y_.dtype()), shape)), {-1});
  }
  bool within(double direct, double product, double scale, double rounding) const {
    const double tolerance = x_.dtype() == DType::float64 ? 0x1p-30 : x_.dtype() == DType::float32 ? 0x1p-12 : 0x1p-4;
    return std::abs(direct - product) <= tolerance * scale + 64 * rounding;
  }
  // The derivative's own product with v.
  std::vector<double> along(const Tensor& v) {
    return as_doubles(reshape(forward_ ? push(v) : pull(expand_dims(v, 0)), {-1}));
  }
  // The rounding errors of these elements of `direct` = along(v), which are those of terms that cancel inside the
  // function: the largest difference to multiples of v, which round differently.
  double rounding_along(const Tensor& v, const std::vector<double>& direct, const std::vector<std::size_t>& elements) {
    double most = 0;
    for (const double multiple : {3., 5., 7., 11.}) {
      const std::vector<double> other = along(v * multiple);
      for (const std::size_t k : elements)
        if (std::isfinite(other[k])) most = std::max(most, std::abs(other[k] / multiple - direct[k]));
    }
    return most;
  }

  const char* op_;
  const SparsityPattern& pattern_;
  GradientTape tape_{TapeOptions{.persistent = true, .watch_accessed_variables = false}};
  Tensor x_, y_;
  Source source_{x_};
  Path path_;
  bool forward_ = false;  // whether matrix() pushed columns
};

Csr matrix_at(const char* op, const TensorFunction& f, const Tensor& x, const SparsityPattern& pattern,
              const detail::Colouring& columns, const detail::Colouring& rows, bool checked) {
  Directions directions(op, f, x, pattern);
  Csr matrix = directions.matrix(columns, rows);
  if (checked) directions.check(matrix);
  return matrix;
}

}  // namespace

}  // namespace autodiff

SparseJacobian::SparseJacobian(TensorFunction f, SparsityPattern pattern, const SparseOptions& options)
    : f_(std::move(f)), pattern_(std::move(pattern)), options_(options) {
  const autodiff::CompressedRows rows = autodiff::to_rows("sparse_jacobian", pattern_);
  forward_ = autodiff::by_columns(rows);
  reverse_ = autodiff::by_rows(rows);
}

Csr SparseJacobian::operator()(const Tensor& x) const {
  return autodiff::matrix_at("sparse_jacobian", f_, x, pattern_, forward_, reverse_, options_.check);
}

SparseHessian::SparseHessian(TensorFunction gradient, SparsityPattern pattern, const SparseOptions& options)
    : gradient_(std::move(gradient)), pattern_(std::move(pattern)), options_(options) {
  const autodiff::CompressedRows rows = autodiff::to_rows("sparse_hessian", pattern_);
  if (rows.row_count() != rows.column_count)
    fail<ShapeError>("sparse_hessian", "the pattern is {}, must be square", pattern_.shape);
  const autodiff::CompressedRows both = autodiff::symmetric(rows);
  pattern_ = autodiff::to_pattern(both);
  colouring_ = autodiff::by_stars(both);
}

Csr SparseHessian::operator()(const Tensor& x) const {
  return autodiff::matrix_at("sparse_hessian", gradient_, x, pattern_, colouring_, colouring_, options_.check);
}

}  // namespace reel
