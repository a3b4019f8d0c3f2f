// The steps of factorisations and solvers in C.
#include "linalg/write.hpp"

#include <algorithm>

#include "csource/steps.hpp"
#include "linalg/matrices.hpp"

namespace reel::ops {

using csource::Writer;

namespace {

// Of matrices [m, n], the numbers of which come first; those of square ones are equal.
void write(const Call& call, Writer& w, std::string_view text, std::size_t a, std::int64_t k2 = 0, std::int64_t k3 = 0,
           std::int64_t k4 = 0, std::int64_t k5 = 0) {
  const Tensor& x = call.input(a);
  csource::write_steps(w, x.dtype(), text, {x.shape()[-2], x.shape()[-1], k2, k3, k4, k5});
}
std::int64_t columns_of(const Writer& w, bool vector) { return vector ? 1 : w.output(0).shape[-1]; }

// Derivatives of a determinant along more directions have no helper.
void require_directions(const Writer& w, std::int64_t count) {
  if (count > 1) csource::fail_without_form(w);
}

}  // namespace

void write_cholesky(const Call& call, Writer& w) {
  write(call, w, "copy i0 o0\nfor o0:2\nrefuse $cholesky(o0, #0) != 0|a is not positive definite", 0);
}
void write_cholesky_vjp(const Call& call, Writer& w) {
  write(call, w, "copy i1 o0\nfor i0:2 o0:2\n$cholesky_vjp(i0, o0, #0)", 0);
}
void write_cholesky_jvp(const Call& call, Writer& w) {
  write(call, w, "copy i1 o0\nfor i0:2 o0:2\n$cholesky_jvp(i0, o0, #0)", 0);
}
void write_lower_half(const Call& call, Writer& w) { write(call, w, "copy i0 o0\nfor o0:2\n$lower_half(o0, #0)", 0); }

// Attributes lower, transpose, unit, vector, caller. Zeros on the diagonal of a rule's matrix give infinities.
void write_triangular(const Call& call, Writer& w) {
  const bool unit = call.attribute(2) != 0, vector = call.attribute(3) != 0;
  if (!unit && static_cast<Caller>(call.attribute(4)) != Caller::rule)
    write(call, w, "for i0:2\nrefuse $zero_diagonal(i0, #0) != 0|a is singular", 0);
  write(call, w,
        vector ? "copy i1 o0\nfor i0:2 o0:1\n$triangular(i0, #2, #3, #4, o0, #0, 1)"
               : "copy i1 o0\nfor i0:2 o0:2\n$triangular(i0, #2, #3, #4, o0, #0, #5)",
        0, call.attribute(0), call.attribute(1), call.attribute(2), columns_of(w, vector));
}

// Attributes transpose, vector, whether a may be singular.
void write_solve(const Call& call, Writer& w) {
  const bool vector = call.attribute(1) != 0;
  write(call, w,
        call.attribute(2) ? "copy i0 o1\nfor o1:2 o2:1\n$lu(o1, o2, #0, #0)\n"
                            "copy i1 o0\nfor o1:2 o2:1 o0:#4\n$lu_solve(o1, o2, #2, o0, #0, #3)"
                          : "copy i0 o1\nfor o1:2 o2:1\n$lu(o1, o2, #0, #0)\n"
                            "refuse $zero_diagonal(o1, #0) != 0|a is singular\n"
                            "copy i1 o0\nfor o1:2 o2:1 o0:#4\n$lu_solve(o1, o2, #2, o0, #0, #3)",
        0, call.attribute(0), columns_of(w, vector), vector ? 1 : 2);
}
void write_solve_by_factors(const Call& call, Writer& w) {
  const bool vector = call.attribute(1) != 0;
  write(call, w, "copy i1 o0\nfor i2:2 i3:1 o0:#4\n$lu_solve(i2, i3, #2, o0, #0, #3)", 2, call.attribute(0),
        columns_of(w, vector), vector ? 1 : 2);
}

void write_inverse(const Call& call, Writer& w) {
  write(call, w,
        "temp t0 real #0 #0\ntemp t1 int32 #0\nfor i0:2 o0:2\nmemcpy(t0, i0, #0 * #0 * sizeof(real))\n"
        "$lu(t0, t1, #0, #0)\nrefuse $zero_diagonal(t0, #0) != 0|a is singular\n$lu_inverse(t0, t1, o0, #0)",
        0);
}
void write_inverse_by_factors(const Call& call, Writer& w) {
  write(call, w, "for i1:2 i2:1 o0:2\n$lu_inverse(i1, i2, o0, #0)", 1);
}

void write_lu(const Call& call, Writer& w) {
  const Shape a = call.input(0).shape();
  write(call, w, "copy i0 o0\nfor o0:2 o1:1 o2:1\n$lu(o0, o1, #0, #1)\n(void)$lu_rows(o1, o2, #0, #2)", 0,
        std::min(a[-2], a[-1]));
}
void write_lu_vjp(const Call& call, Writer& w) { write(call, w, "copy i1 o0\nfor i0:2 o0:2\n$lu_vjp(i0, o0, #0)", 0); }
void write_lu_jvp(const Call& call, Writer& w) { write(call, w, "copy i1 o0\nfor i0:2 o0:2\n$lu_jvp(i0, o0, #0)", 0); }
void write_rows_of_pivots(const Call& call, Writer& w) {
  csource::write_steps(w, DType::float64,
                       "for i0:1 o0:1\n"
                       "refuse $lu_rows(i0, o0, #0, #0) != 0|a pivot is not the number of a row at or below its own",
                       {call.input(0).shape()[-1]});
}

void write_qr(const Call& call, Writer& w) {
  const Shape a = call.input(0).shape();
  const std::int64_t k = std::min(a[-2], a[-1]);
  write(call, w,
        call.attribute(0) ? "temp t0 real #0 #1\ntemp t1 real #2\ntemp t2 real #0 #0\nfor i0:2 o0:2 o1:2 o2:2\n"
                            "memcpy(t0, i0, #0 * #1 * sizeof(real))\n$qr(t0, t1, t2, o1, #0, #1, #0)\n"
                            "$columns(t2, o0, #0, #0, 0, #2)\n$columns(t2, o2, #0, #0, #2, #3)"
                          : "temp t0 real #0 #1\ntemp t1 real #2\nfor i0:2 o0:2 o1:2\n"
                            "memcpy(t0, i0, #0 * #1 * sizeof(real))\n$qr(t0, t1, o0, o1, #0, #1, #2)",
        0, k, a[-2] - k);
}

// ---- Determinants

void write_det(const Call& call, Writer& w) {
  write(call, w, "copy i0 o1\nfor o1:2 o2:1 o0:0\n$lu(o1, o2, #0, #0)\n*(o0) = $det(o1, o2, #0)", 0);
}
void write_slogdet(const Call& call, Writer& w) {
  write(call, w, "copy i0 o2\nfor o2:2 o3:1 o0:0 o1:0\n$lu(o2, o3, #0, #0)\n$slogdet(o2, o3, #0, o0, o1)", 0);
}
// Inputs weight, a, factors, pivots; outputs w a^-T, a^-1.
void write_log_gradient(const Call& call, Writer& w) {
  write(call, w,
        "for i2:2 i3:1 o1:2\n$lu_inverse(i2, i3, o1, #0)\nfor i0:0 o1:2 o0:2\n$scaled_transpose(@i0, o1, o0, #0)", 1);
}

// Inputs a, directions, factors, pivots.
void write_det_derivative(const Call& call, Writer& w) {
  require_directions(w, call.input(1).shape()[-3]);
  write(call, w,
        "temp t0 real #0 #0\ntemp t1 real #0 #0\ntemp t2 int32 #0\nfor i0:2 i1:3 i2:2 i3:1 o0:0\n"
        "$cofactors(i0, i2, i3, 1, t0, t1, t2, #0)\n*(o0) = $inner(i1, t0, #0 * #0)",
        0);
}
// Inputs weight, a, directions, factors, pivots.
void write_cofactors(const Call& call, Writer& w) {
  const std::int64_t directions = call.input(2).shape()[-3];
  require_directions(w, directions);
  write(call, w,
        directions == 0 ? "temp t0 real #0 #0\ntemp t1 int32 #0\nfor i0:0 i1:2 i3:2 i4:1 o0:2\n"
                          "$cofactors(i1, i3, i4, @i0, o0, t0, t1, #0)"
                        : "temp t0 real #0 #0\ntemp t1 real #0 #0\nfor i0:0 i2:3 i3:2 i4:1 o0:2\n"
                          "refuse $zero_diagonal(i3, #0) != 0|a is singular\n"
                          "$cofactors_jvp(i3, i4, @i0, i2, o0, t0, t1, #0)",
        1);
}

}  // namespace reel::ops
