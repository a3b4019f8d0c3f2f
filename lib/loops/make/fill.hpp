// Tensors filled by rule: zeros, ones, one value, the identity, sequences, one-hot rows. Every result is contiguous and
// shares no memory with an operand.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// y = 0, in any dtype.
void fill_zero(const Tensor& y);
/// y = the zero that leaves the bits of what it is added to, in any dtype: -0, or +0 where sums are rounded downward.
void fill_additive_identity(const Tensor& y);
/// y = 1, in any dtype.
void fill_one(const Tensor& y);
/// y = value: a tensor of one element, of the dtype of y.
void fill(const Tensor& y, const Tensor& value);
/// y [n, m] has ones on its main diagonal and zeros elsewhere, in any dtype.
void fill_identity(const Tensor& y);
/// y [rows, n] holds rows `first`, `first` + 1, ... of the identity of `period` rows, each repeated along n: y[r, k] is
/// 1 where k % period == first + r, and 0 elsewhere. y may have any shape of that size and any dtype; `rows` divides
/// the number of elements.
void fill_identity_rows(const Tensor& y, std::int64_t rows, std::int64_t period, std::int64_t first);
/// y[i] = start + i * step, each rounded twice. y is float64 [n].
void fill_sequence(const Tensor& y, double start, double step);
/// The same, modulo 2^64. y is int64 [n].
void fill_sequence(const Tensor& y, std::int64_t start, std::int64_t step);
/// n values from start to stop in equal steps; the last is `stop` itself. y is float64 [n].
void fill_evenly(const Tensor& y, double start, double stop);
/// y[i, indices[i]] = 1, 0 elsewhere; an index outside [0, depth) gives zeros. The indices are int64 with any shape and
/// strides; y is [shape of the indices, depth], in any dtype.
void fill_one_hot(const Tensor& y, const Tensor& indices);

}  // namespace reel::loops
