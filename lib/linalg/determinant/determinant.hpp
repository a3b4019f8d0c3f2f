// Derivatives of determinants. The k-th derivative along directions h_1 ... h_k is the coefficient of e_1 ... e_k in
// det(a + e_1 h_1 + ... + e_k h_k), where e_i^2 = 0: a polynomial in minors. It is evaluated without division by small
// pivots, so that singular matrices of every rank are no special case, and overflows or vanishes only where the result
// does.
#pragma once
#include <reel/tensor.hpp>

namespace reel::loops {

/// Matrices a [..., n, n] with their LU factors and pivots (see factorise), of any dtype that has them, and directions
/// [..., k, n, n]. Batch axes broadcast to those of the result.
struct DeterminantDirections {
  const Tensor &a, &lu, &pivots, &directions;
};

/// out [...] = the k-th derivative of det at a along the directions, of which there is at least one.
void determinant_derivative(const DeterminantDirections& at, const Tensor& out);
/// out [..., n, n] = weight [...] times the k-th derivative of the matrix of cofactors at a, along the directions: the
/// gradient of the former with respect to a.
void cofactor_derivative(const Tensor& weight, const DeterminantDirections& at, const Tensor& out);

}  // namespace reel::loops
