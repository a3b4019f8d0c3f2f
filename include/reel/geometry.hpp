// Rotations and rigid motions: exponentials and logarithms of their groups, quaternions and matrices, batched.
//
// float32 and float64; float16 and bfloat16 compute as float32, integers and booleans as float64; TypeError for complex
// numbers. Axes in front are batch axes, and broadcast. Derivatives of every order in both modes, right at the
// identity, where the formulas are power series of the squared angle, and at half a turn. <reel/reel.hpp> does not
// include this header.
#pragma once
#include <reel/api.hpp>
#include <reel/tensor.hpp>

namespace REEL_API reel {

/// The rotation by |w| about w: [..., 3] to matrices [..., 3, 3] (Rodrigues). ShapeError for another last axis, here
/// and below.
Tensor so3_exp(const Operand& w);
/// w with so3_exp(w) = r, |w| at most pi, of rotations [..., 3, 3], by way of matrix_to_quaternion. At half a turn both
/// signs are right: that is taken whose quaternion has its largest component positive, and the derivatives are those of
/// the side where the angle grows up to half a turn.
Tensor so3_log(const Operand& r);
/// The motion by the twist x = (rho, w), translation first (Sola, Deray and Atchuthan 2018): [..., 6] to matrices
/// [..., 4, 4] with rotation so3_exp(w) and translation V rho, V = 1 + (1 - cos |w|) / |w|^2 K + (|w| - sin |w|) /
/// |w|^3 K^2, K v = w x v.
Tensor se3_exp(const Operand& x);
/// x with se3_exp(x) = m, the angle at most pi, of motions [..., 4, 4], whose last row is not read.
Tensor se3_log(const Operand& m);

/// Hamilton's product of quaternions (w, x, y, z) [..., 4], the scalar first.
Tensor quaternion_multiply(const Operand& p, const Operand& q);
/// (w, -x, -y, -z).
Tensor quaternion_conjugate(const Operand& q);
/// The rotation of the vectors v [..., 3] by q / |q|; NaN for q = 0.
Tensor quaternion_rotate(const Operand& q, const Operand& v);
/// The matrix [..., 3, 3] of the rotation by q / |q|; NaN for q = 0.
Tensor quaternion_to_matrix(const Operand& q);
/// The unit quaternion of a rotation [..., 3, 3] with w >= 0: of four formulas that whose divisor is largest (Shepperd
/// 1978). Of matrices that are no rotations the row of that formula, normalised.
Tensor matrix_to_quaternion(const Operand& r);

}  // namespace reel
