// Functions of square matrices [..., n, n], and linear matrix equations. They compute in float64 or complex128 and
// round once to the dtype of the operand; integers give float64. A matrix that holds NaN or infinity gives NaN.
// Derivatives exist to every order, in both modes. For a function of a matrix they are mixed derivatives along all
// directions at once, scaled like the value. One of order k costs about 3^k matrix products where the value takes
// one.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// The exponential, by scaling and squaring of Pade approximants (Al-Mohy and Higham 2009). Gradient: its derivative at
/// the conjugate transpose of a, along g.
Tensor expm(const Operand& a);
/// The derivative of the exponential at a along the direction e, with which a broadcasts (SciPy's expm_frechet).
Tensor expm_frechet(const Operand& a, const Operand& e);
/// The principal square root, by the Schur form (Bjorck and Hammarling 1983). ValueError for a real matrix with a
/// negative eigenvalue, whose root is not real: cast it to a complex dtype. Unless a is triangular, real eigenvalues up
/// to 10 n eps times the largest element of the Schur form count as 0, because rounding decides on their sign. The
/// gradient at a singular matrix is infinite or NaN.
Tensor sqrtm(const Operand& a);
/// The principal logarithm, by inverse scaling and squaring of the Schur form (Higham 2008). ValueError for a matrix
/// with an eigenvalue that is 0 or counts as 0 (see sqrtm), and for a real matrix with a negative eigenvalue.
Tensor logm(const Operand& a);

/// x [..., n, m] with a x + x b = q, by the Schur forms of a [..., n, n] and b [..., m, m] (Bartels and Stewart 1972).
/// Batch axes broadcast. ValueError if an eigenvalue of a is the negative of one of b, to rounding error: relative to
/// the two eigenvalues if a and b are triangular, otherwise to the largest element of their Schur forms. Gradient: dq
/// is the solution for the conjugate transposes of a and b and for g; da = -dq x^H, db = -x^H dq.
Tensor sylvester(const Operand& a, const Operand& b, const Operand& q);
/// x with a x + x a^H = q (SciPy's solve_continuous_lyapunov).
Tensor lyapunov(const Operand& a, const Operand& q);

}  // namespace reel
