// Functions of whole rows: softmax and its kin, losses made of it, normalizations.
#pragma once
#include <cstdint>

#include "kernels/loop.hpp"
#include "kernels/set.hpp"

namespace reel::kernels {

// A function of rows of n >= 1 elements. Rows are contiguous and follow one another, in operands and result. out may be
// the memory of an operand with as many elements.
using RowLoop = void (*)(const void* const* in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows);
// The same function of rows, and of the columns of a contiguous matrix of n rows and `rows` columns.
struct RowOrColumnLoop {
  RowLoop rows, columns;
  constexpr operator RowLoop() const { return rows; }
};

// Functions of rows. Where the maximum of a row is -inf or inf, its logsumexp is that limit and its softmax is NaN. The
// comments list the operands. x, z, g and labels are rows; "per row" marks operands and results with one element per
// row.
struct Rows {
  RowOrColumnLoop softmax, log_softmax;  // x
  RowOrColumnLoop logsumexp;             // x; most and sum(exp(x - most)) per row, written unless null
  RowOrColumnLoop softmax_vjp;           // g, z: z * (g - sum(g * z))
  RowOrColumnLoop log_softmax_vjp;       // g, z: g - exp(z) * sum(g)
  RowOrColumnLoop logsumexp_vjp;         // g per row, x, most and sum per row (null: 1): g / sum * exp(x - most)
  RowLoop cross_entropy;                 // x, labels: sum(labels * (logsumexp(x) - x)), one element per row
  RowLoop cross_entropy_vjp;             // g per row, x, labels: g * (softmax(x) * sum(labels) - labels)
  RowLoop cross_entropy_labels_vjp;      // g per row, x: -g * log_softmax(x)
  // Cross entropy with one class per row, an int64 < n. A row whose class is negative gives 0.
  RowLoop sparse_cross_entropy;      // x, label per row; gives one element per row
  RowLoop sparse_cross_entropy_vjp;  // g per row, x, label per row; out overlaps none
  // xhat = (x - mean) / sqrt(variance + epsilon) of each row; then xhat * scale + offset, if these are not null.
  RowLoop layer_norm;  // x, epsilon (one number), scale, offset (one row each)
  // in: g, x, epsilon, scale or null. out, unless null: the cotangent of x. sums, unless null, is [2, n]: the sums of g
  // * xhat and of g over the rows, which follow one another, are added to it.
  void (*layer_norm_vjp)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // in: g or null, x, mean (one row). out is not used. With g, sums is [2, n]: the sums of g * (x - mean) and of g over
  // the rows are added to it. Without g, sums is [n], and the sum of (x - mean)^2 is added.
  void (*column_sums)(const void* const* in, void* out, void* sums, std::ptrdiff_t n, std::ptrdiff_t rows);
  // mean, scale, offset and slope have one element per row here, as have the results of the first three.
  RowLoop sum;        // x
  RowLoop squares;    // x, mean: sum((x - mean)^2)
  RowLoop products;   // g, x, mean: sum(g * (x - mean))
  RowLoop scale;      // x, mean, scale, offset: (x - mean) * scale + offset
  RowLoop scale_vjp;  // g, x, mean, scale, offset, slope: scale * (g - offset - (x - mean) * slope)
};

/// The functions that a loop over tensors calls by number: first those with a loop over columns, then the others.
// clang-format off
#define REEL_COLUMN_FUNCTIONS(F) \
  F(softmax) F(log_softmax) F(logsumexp) F(softmax_vjp) F(log_softmax_vjp) F(logsumexp_vjp)
#define REEL_ROW_FUNCTIONS(F) \
  F(cross_entropy) F(cross_entropy_vjp) F(cross_entropy_labels_vjp) F(sparse_cross_entropy) F(sparse_cross_entropy_vjp) \
  F(layer_norm) F(sum) F(squares) F(products) F(scale) F(scale_vjp)
// clang-format on
enum class RowFunction : std::uint8_t {
#define REEL_ENUMERATOR(name) name,
  REEL_COLUMN_FUNCTIONS(REEL_ENUMERATOR) REEL_ROW_FUNCTIONS(REEL_ENUMERATOR)
#undef REEL_ENUMERATOR
};

/// float32, float64.
struct RowKernels : ByDType<Rows> {
  static constexpr KernelFamily family = KernelFamily::rows;
};

}  // namespace reel::kernels
