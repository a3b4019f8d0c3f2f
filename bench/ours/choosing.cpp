// Sorting, selection, and elements by index: 10^6 float32, or [1000, 1000]; indices are drawn over the whole range.
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/sorting.hpp>

#include "../common/rows.hpp"
#include "cases.hpp"

namespace bench {

using namespace reel;

namespace {

constexpr std::int64_t n = 1000000, side = 1000;

// Operands of every case: values in a row and in a matrix, indices into the one and into the other's rows.
struct Given {
  Tensor x = drawn({n}, 1), matrix = drawn({side, side}, 1), values = drawn({n}, 2);
  Tensor indices = floored(n, {n}), rows = floored(side, {n}), columns = floored(side, {n}, 4);
  Tensor places = floored(side, {side, side}), mask = x > 0, edges = sort(drawn({side}, 5));

  static Tensor floored(std::int64_t end, const Shape& shape, std::uint64_t seed = 3) {
    return cast(drawn(shape, seed, 0, static_cast<double>(end), DType::float64), DType::int64);
  }
};

// clang-format off
const Row<Given, Tensor> rows[] = {
    {"sort 1e6", [](const Given& a) { return sort(a.x); }},
    {"sort rows [1000,1000]", [](const Given& a) { return sort(a.matrix); }},
    {"argsort 1e6", [](const Given& a) { return argsort(a.x); }},
    {"top_k 10 of rows [1000,1000]", [](const Given& a) { return top_k(a.matrix, 10).values; }},
    {"kth_value 500 of rows [1000,1000]", [](const Given& a) { return kth_value(a.matrix, 500).values; }},
    {"median of rows [1000,1000]", [](const Given& a) { return quantile(a.matrix, 0.5f, {-1}); }},
    {"searchsorted 1e6 in 1000", [](const Given& a) { return searchsorted(a.edges, a.x); }},
    {"unique 1e6", [](const Given& a) { return unique(a.rows).values; }},
    {"index by pairs, 1e6", [](const Given& a) { return index(a.matrix, {a.rows, a.columns}); }},
    {"index_update by pairs, 1e6", [](const Given& a) { return index_update(a.matrix, {a.rows, a.columns}, 1.f); }},
    {"index_add by pairs, 1e6", [](const Given& a) { return index_add(a.matrix, {a.rows, a.columns}, a.values); }},
    {"put_along_axis 1e6", [](const Given& a) { return put_along_axis(a.matrix, a.places, 1.f, 1); }},
    {"scatter_add_along_axis 1e6", [](const Given& a) { return scatter_add_along_axis(a.matrix, a.places, a.matrix, 1); }},
    {"scatter_reduce max 1e6", [](const Given& a) { return scatter_reduce(a.matrix, a.places, a.matrix, 1, Reduction::max); }},
    {"take 1e6", [](const Given& a) { return take(a.x, a.indices); }},
    {"boolean_mask 1e6", [](const Given& a) { return boolean_mask(a.x, a.mask); }},
    {"masked_fill 1e6", [](const Given& a) { return masked_fill(a.x, a.mask, 2.f); }},
    {"nonzero 1e6", [](const Given& a) { return nonzero(a.mask)[0]; }},
    {"segment_sum 1e6 into 1000", [](const Given& a) { return segment_sum(a.x, a.rows, side); }},
    {"bincount 1e6 into 1000", [](const Given& a) { return bincount(a.rows, side); }},
    {"diag_embed 1000", [](const Given& a) { return diag_embed(a.edges); }},
    {"band_part [1000,1000]", [](const Given& a) { return band_part(a.matrix, -1, 0); }},
    {"sort 1e6, gradient", [](const Given& a) { return gradient([&](const Tensor& x) { return sum(sort(x) * a.values); }, a.x).dense(); }},
    {"index by pairs 1e6, gradient", [](const Given& a) { return gradient([&](const Tensor& x) { return sum(index(x, {a.rows, a.columns}) * a.values); }, a.matrix).dense(); }},
};
// clang-format on

}  // namespace

std::vector<Case> choosing_cases() { return cases_of(rows); }

}  // namespace bench
