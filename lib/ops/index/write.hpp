// C of ops that choose elements by indices: see WriteC.
#pragma once
#include "ops/apply/primitive.hpp"

namespace reel::ops {

void write_positions(const Call& call, csource::Writer& w);
void write_gather(const Call& call, csource::Writer& w);
void write_scatter_rows(const Call& call, csource::Writer& w);
void write_take_along(const Call& call, csource::Writer& w);
void write_put_along(const Call& call, csource::Writer& w);
void write_one_hot(const Call& call, csource::Writer& w);
void write_scatter_add(const Call& call, csource::Writer& w);
void write_scatter_set(const Call& call, csource::Writer& w);
void write_scatter_multiply(const Call& call, csource::Writer& w);
void write_scatter_max(const Call& call, csource::Writer& w);
void write_scatter_min(const Call& call, csource::Writer& w);
void write_others(const Call& call, csource::Writer& w);
void write_term_shares(const Call& call, csource::Writer& w);
void write_last(const Call& call, csource::Writer& w);
void write_place_diagonal(const Call& call, csource::Writer& w);
void write_tril(const Call& call, csource::Writer& w);
void write_triu(const Call& call, csource::Writer& w);

}  // namespace reel::ops
