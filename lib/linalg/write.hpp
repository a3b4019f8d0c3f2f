// Factorisations and solvers as C: calls of the helpers of csource/matrices.hpp for each matrix of a batch.
#pragma once
#include "csource/writer.hpp"
#include "ops/apply/primitive.hpp"

namespace reel::ops {

void write_cholesky(const Call& call, csource::Writer& w);
void write_cholesky_vjp(const Call& call, csource::Writer& w);
void write_cholesky_jvp(const Call& call, csource::Writer& w);
void write_lower_half(const Call& call, csource::Writer& w);
void write_triangular(const Call& call, csource::Writer& w);
void write_solve(const Call& call, csource::Writer& w);
void write_solve_by_factors(const Call& call, csource::Writer& w);
void write_inverse(const Call& call, csource::Writer& w);
void write_inverse_by_factors(const Call& call, csource::Writer& w);
void write_lu(const Call& call, csource::Writer& w);
void write_lu_vjp(const Call& call, csource::Writer& w);
void write_lu_jvp(const Call& call, csource::Writer& w);
void write_rows_of_pivots(const Call& call, csource::Writer& w);
void write_qr(const Call& call, csource::Writer& w);
void write_det(const Call& call, csource::Writer& w);
void write_slogdet(const Call& call, csource::Writer& w);
void write_log_gradient(const Call& call, csource::Writer& w);
void write_det_derivative(const Call& call, csource::Writer& w);
void write_cofactors(const Call& call, csource::Writer& w);

}  // namespace reel::ops
