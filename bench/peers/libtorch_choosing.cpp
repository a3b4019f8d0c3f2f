// libtorch's side of bench/ours/choosing.cpp: the same names and operands.
#include "../common/rows.hpp"
#include "libtorch.hpp"

namespace bench {

namespace {

constexpr std::int64_t n = 1000000, side = 1000;

struct Given {
  Tensor x = drawn({n}, 1), matrix = drawn({side, side}, 1), values = drawn({n}, 2);
  Tensor indices = floored(n, {n}), rows = floored(side, {n}), columns = floored(side, {n}, 4);
  Tensor places = floored(side, {side, side}), mask = x > 0, edges = std::get<0>(drawn({side}, 5).sort());

  static Tensor floored(std::int64_t end, torch::IntArrayRef shape, std::uint64_t seed = 3) {
    return drawn(shape, seed, 0, static_cast<double>(end), torch::kFloat64).to(torch::kInt64);
  }
};

// clang-format off
const Row<Given, Tensor> rows[] = {
    {"sort 1e6", [](const Given& a) { return std::get<0>(a.x.sort()); }},
    {"sort rows [1000,1000]", [](const Given& a) { return std::get<0>(a.matrix.sort()); }},
    {"argsort 1e6", [](const Given& a) { return a.x.argsort(true, 0, false); }},
    {"top_k 10 of rows [1000,1000]", [](const Given& a) { return std::get<0>(a.matrix.topk(10)); }},
    {"kth_value 500 of rows [1000,1000]", [](const Given& a) { return std::get<0>(a.matrix.kthvalue(500)); }},
    {"median of rows [1000,1000]", [](const Given& a) { return a.matrix.quantile(0.5, -1); }},
    {"searchsorted 1e6 in 1000", [](const Given& a) { return torch::searchsorted(a.edges, a.x); }},
    {"unique 1e6", [](const Given& a) { return std::get<0>(torch::_unique2(a.rows, true, true, true)); }},
    {"index by pairs, 1e6", [](const Given& a) { return a.matrix.index({a.rows, a.columns}); }},
    {"index_update by pairs, 1e6", [](const Given& a) { return a.matrix.index_put({a.rows, a.columns}, torch::ones({})); }},
    {"index_add by pairs, 1e6", [](const Given& a) { return a.matrix.index_put({a.rows, a.columns}, a.values, true); }},
    {"put_along_axis 1e6", [](const Given& a) { return a.matrix.scatter(1, a.places, 1); }},
    {"scatter_add_along_axis 1e6", [](const Given& a) { return a.matrix.scatter_add(1, a.places, a.matrix); }},
    {"scatter_reduce max 1e6", [](const Given& a) { return a.matrix.scatter_reduce(1, a.places, a.matrix, "amax"); }},
    {"take 1e6", [](const Given& a) { return a.x.take(a.indices); }},
    {"boolean_mask 1e6", [](const Given& a) { return a.x.masked_select(a.mask); }},
    {"masked_fill 1e6", [](const Given& a) { return a.x.masked_fill(a.mask, 2); }},
    {"nonzero 1e6", [](const Given& a) { return a.mask.nonzero(); }},
    {"segment_sum 1e6 into 1000", [](const Given& a) { return torch::zeros({side}).index_add(0, a.rows, a.x); }},
    {"bincount 1e6 into 1000", [](const Given& a) { return a.rows.bincount({}, side); }},
    {"diag_embed 1000", [](const Given& a) { return a.edges.diag_embed(); }},
    {"band_part [1000,1000]", [](const Given& a) { return a.matrix.tril(); }},
    {"sort 1e6, gradient", [](const Given& a) { return gradient([&](const Tensor& x) { return (std::get<0>(x.sort()) * a.values).sum(); }, leaf(a.x)); }},
    {"index by pairs 1e6, gradient", [](const Given& a) { return gradient([&](const Tensor& x) { return (x.index({a.rows, a.columns}) * a.values).sum(); }, leaf(a.matrix)); }},
};
// clang-format on

}  // namespace

std::vector<Case> libtorch_choosing() { return cases_of(rows); }

}  // namespace bench
