// C of reductions, scans and functions of rows: see WriteC.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

void write_sum(const Call& call, csource::Writer& w);
void write_sum_to(const Call& call, csource::Writer& w);
void write_mean(const Call& call, csource::Writer& w);
void write_prod(const Call& call, csource::Writer& w);
void write_max(const Call& call, csource::Writer& w);
void write_min(const Call& call, csource::Writer& w);
void write_argmax(const Call& call, csource::Writer& w);
void write_argmin(const Call& call, csource::Writer& w);
void write_any(const Call& call, csource::Writer& w);
void write_all(const Call& call, csource::Writer& w);
void write_shares(const Call& call, csource::Writer& w);
void write_var(const Call& call, csource::Writer& w);
void write_std(const Call& call, csource::Writer& w);
void write_norm(const Call& call, csource::Writer& w);
void write_softmax(const Call& call, csource::Writer& w);
void write_softmax_vjp(const Call& call, csource::Writer& w);
void write_log_softmax(const Call& call, csource::Writer& w);
void write_log_softmax_vjp(const Call& call, csource::Writer& w);
void write_logsumexp(const Call& call, csource::Writer& w);
void write_logsumexp_vjp(const Call& call, csource::Writer& w);
void write_weights(const Call& call, csource::Writer& w);
void write_cumsum(const Call& call, csource::Writer& w);
void write_cumprod(const Call& call, csource::Writer& w);
void write_recurrence(const Call& call, csource::Writer& w);

/// The variance's divisor for so many elements: n - ddof; NaN unless positive.
double degrees_of_freedom(std::int64_t n, double ddof);

}  // namespace reel::ops
