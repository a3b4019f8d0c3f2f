// Functions of symmetric and Hermitian matrices, with derivatives of every order that are right where eigenvalues are
// equal or close.
#pragma once
#include <reel/callback.hpp>
#include <reel/tensor.hpp>

namespace [[gnu::visibility("default")]] reel {

/// v f(w) v^T of symmetric or Hermitian a = v diag(w) v^T, for a function f of tensors that acts on each element by
/// itself, such as [](const Tensor& x) { return exp(x); }: of the Hermitian part (a + a^T) / 2. Derivatives, of every
/// order that f has and in both modes, are right at equal eigenvalues too, where those of eigh are not. Tensors that f
/// captures are constants. Halves compute in float32, integers in float64. The derivative of order k takes of the order
/// of k! n^(k + 1) operations, and f's derivative of order k at (6^k + 5^k) n^(k + 1) points. ShapeError unless a is
/// square in its last two axes and f gives a value for each eigenvalue, ValueError for an empty f.
Tensor symmetric_function(const Operand& a, const Callback<Tensor(const Tensor&)>& f);

}  // namespace reel
