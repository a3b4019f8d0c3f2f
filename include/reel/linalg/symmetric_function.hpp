// Functions of symmetric and Hermitian matrices, with derivatives of every order that are right where eigenvalues are
// equal or close.
#pragma once
#include <reel/api.hpp>
#include <reel/callback.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// v f(w) v^T for symmetric or Hermitian a = v diag(w) v^T. The Hermitian part (a + a^T) / 2 of a is used. f is a
/// function of tensors that acts on each element by itself, such as [](const Tensor& x) { return exp(x); }; tensors
/// that it captures are constants. Derivatives exist in both modes, to every order that f has. They are right at equal
/// eigenvalues too, where those of eigh are not. float16 and bfloat16 compute in float32, integers in float64. The
/// derivative of order k takes about k! n^(k + 1) operations, and evaluates the k-th derivative of f at (6^k + 5^k)
/// n^(k + 1) points. ShapeError unless a is square in its last two axes and f returns one value per eigenvalue.
/// ValueError for an empty f.
Tensor symmetric_function(const Operand& a, const Callback<Tensor(const Tensor&)>& f);

}  // namespace reel
