// libtorch's side of bench/ours/moving.cpp: the same names and operands.
#include <cmath>

#include "../common/rows.hpp"
#include "libtorch.hpp"

namespace bench {

namespace {

namespace functional = torch::nn::functional;
using torch::indexing::Slice;

constexpr std::int64_t n = 1000000, side = 1000;

struct Given {
  Tensor x = drawn({n}, 1), y = drawn({n}, 2), matrix = drawn({side, side}, 1);
  Tensor above = drawn({n}, 3, 0.1, 20), more = drawn({n}, 4, 0.1, 20),
         few = drawn({10000}, 4, 0.5, 20, torch::kFloat64);
  Tensor few_more = drawn({10000}, 3, 0.5, 20, torch::kFloat64), unit = drawn({10000}, 5, 0, 1, torch::kFloat64);
  Tensor points = drawn({500, 64}, 6), others = drawn({500, 64}, 7), variables = drawn({100, 10000}, 8);
  Tensor images = drawn({1, 64, 128, 128}, 9), table = drawn({10000, 64}, 10);
  Tensor rows = floored(side, {n}), ids = floored(10000, {20000}), counts = floored(4, {side}, 4);
  Tensor integers = floored(1 << 20, {n}).to(torch::kInt32), shifts = floored(11, {n}, 5).to(torch::kInt32);
  Tensor places = floored(n, {n}, 6), mask = x > 0, edges = std::get<0>(drawn({side}, 5).sort()),
         holes = torch::where(y > 0.8f, torch::full({}, NAN), x);
  Tensor gappy = holes.reshape({side, side}), window_sums = x.reshape({n / 10, 10}), placed = y.take(places);

  static Tensor floored(std::int64_t end, torch::IntArrayRef shape, std::uint64_t seed = 3) {
    return drawn(shape, seed, 0, static_cast<double>(end), torch::kFloat64).to(torch::kInt64);
  }
};

template <class Mode>
Tensor padded(const Tensor& x, Mode mode) {
  return functional::pad(x.reshape({1, 1, side, side}), functional::PadFuncOptions({8, 8, 8, 8}).mode(mode))
      .reshape({1016, 1016});
}
template <class F>
Tensor slope(F f, const Tensor& x, const Tensor& weights) {
  const Tensor at = leaf(x);
  return torch::autograd::grad({f(at)}, {at}, {weights})[0];
}

// clang-format off
const Row<Given, Tensor> rows[] = {
    {"cummax [1000,1000]", [](const Given& a) { return std::get<0>(a.matrix.cummax(1)); }},
    {"cummin over columns [1000,1000]", [](const Given& a) { return std::get<0>(a.matrix.cummin(0)); }},
    {"logcumsumexp [1000,1000]", [](const Given& a) { return a.matrix.logcumsumexp(1); }},
    {"diff 1e6", [](const Given& a) { return a.x.diff(); }},
    {"gradient_along [1000,1000]", [](const Given& a) { return torch::gradient(a.matrix, c10::optional<torch::Scalar>(1), c10::optional<std::int64_t>(1))[0]; }},
    {"nansum 1e6", [](const Given& a) { return a.holes.nansum(); }},
    {"nanmean over rows [1000,1000]", [](const Given& a) { return a.gappy.nanmean(1); }},
    {"nanmedian of rows [1000,1000]", [](const Given& a) { return a.matrix.nanquantile(0.5, 1); }},
    {"cov [100,10000]", [](const Given& a) { return a.variables.cov(); }},
    {"corrcoef [100,10000]", [](const Given& a) { return a.variables.corrcoef(); }},
    {"cdist 500 x 500 in 64", [](const Given& a) { return torch::cdist(a.points, a.others); }},
    {"cdist p = 1, 500 x 500 in 64", [](const Given& a) { return torch::cdist(a.points, a.others, 1); }},
    {"pdist 500 in 64", [](const Given& a) { return torch::pdist(a.points); }},
    {"pad reflect [1000,1000]", [](const Given& a) { return padded(a.matrix, torch::kReflect); }},
    {"pad edge [1000,1000]", [](const Given& a) { return padded(a.matrix, torch::kReplicate); }},
    {"pad wrap [1000,1000]", [](const Given& a) { return padded(a.matrix, torch::kCircular); }},
    {"sliding_window of 9, 1e6", [](const Given& a) { return a.x.unfold(0, 9, 1).contiguous(); }},
    {"overlap_add of windows of 10 at 5, 1e6", [](const Given& a) { return functional::fold(a.window_sums.t().reshape({1, 10, n / 10}), functional::FoldFuncOptions({1, 5 * (n / 10 - 1) + 10}, {1, 10}).stride({1, 5})).flatten(); }},
    {"pixel_shuffle [1,64,128,128]", [](const Given& a) { return torch::pixel_shuffle(a.images, 4); }},
    {"pixel_unshuffle [1,64,128,128]", [](const Given& a) { return torch::pixel_unshuffle(a.images, 4); }},
    {"channel_shuffle [1,64,128,128]", [](const Given& a) { return torch::channel_shuffle(a.images, 8); }},
    {"rot90 [1000,1000]", [](const Given& a) { return a.matrix.rot90().contiguous(); }},
    {"block_diag of 10 x [100,100]", [](const Given& a) { return torch::block_diag(a.matrix.index({Slice(0, 100)}).split(100, 1)); }},
    {"vander [1000], 100", [](const Given& a) { return torch::vander(a.edges, 100); }},
    {"repeat by counts [1000,1000]", [](const Given& a) { return a.matrix.repeat_interleave(a.counts, 0); }},
    {"set_diagonal [1000,1000]", [](const Given& a) { return a.matrix.diagonal_scatter(a.edges); }},
    {"slice_update [1000,1000]", [](const Given& a) { return a.matrix.slice_scatter(a.matrix.index({Slice(0, 800)}), 0, 100, 900); }},
    {"hstack 2 x [1000,1000]", [](const Given& a) { return torch::hstack({a.matrix, a.matrix}); }},
    {"index_max 1e6 into 1000", [](const Given& a) { return a.edges.index_reduce(0, a.rows, a.x, "amax"); }},
    {"index_multiply 1e6 into 1000", [](const Given& a) { return a.edges.index_reduce(0, a.rows, torch::ones({n}), "prod"); }},
    {"put 1e6", [](const Given& a) { return a.x.put(a.places, a.placed); }},
    {"masked_scatter 1e6", [](const Given& a) { return a.x.masked_scatter(a.mask, a.y); }},
    {"compress rows [1000,1000]", [](const Given& a) { return a.matrix.index({a.mask.index({Slice(0, side)})}); }},
    {"segment_max 1e6 into 1000", [](const Given& a) { return torch::full({side}, -INFINITY).scatter_reduce(0, a.rows, a.x, "amax"); }},
    {"embedding 20000 of [10000,64]", [](const Given& a) { return torch::embedding(a.table, a.ids, 0); }},
    {"digitize 1e6 in 1000", [](const Given& a) { return torch::bucketize(a.x, a.edges, false, true); }},
    {"meshgrid 1000 x 1000", [](const Given& a) { const auto grid = torch::meshgrid({a.edges, a.edges}, "ij"); return grid[0] + grid[1]; }},
    {"bitwise_and int32 1e6", [](const Given& a) { return a.integers.bitwise_and(a.shifts); }},
    {"bitwise_not int32 1e6", [](const Given& a) { return a.integers.bitwise_not(); }},
    {"left_shift int32 1e6", [](const Given& a) { return a.integers.bitwise_left_shift(a.shifts); }},
    {"right_shift int32 1e6", [](const Given& a) { return a.integers.bitwise_right_shift(a.shifts); }},
    {"frexp 1e6", [](const Given& a) { return std::get<0>(torch::frexp(a.x)); }},
    {"ldexp 1e6", [](const Given& a) { return torch::ldexp(a.x, a.shifts); }},
    {"polar 1e6", [](const Given& a) { return torch::view_as_real(torch::polar(a.x, a.y)); }},
    {"glu [1000,1000]", [](const Given& a) { return torch::glu(a.matrix); }},
    {"gammainc 1e4 f64", [](const Given& a) { return torch::special_gammainc(a.few, a.few_more); }},
    {"gammaincc 1e4 f64", [](const Given& a) { return torch::special_gammaincc(a.few, a.few_more); }},
    {"gammainc 1e6", [](const Given& a) { return torch::special_gammainc(a.above, a.more); }},
    {"zeta 1e4 f64", [](const Given& a) { return torch::special_zeta(a.few + 1, a.few_more); }},
    {"multigammaln 1e4 f64", [](const Given& a) { return torch::special_multigammaln(a.few + 1, 3); }},
    {"airy_ai 1e4 f64", [](const Given& a) { return torch::special_airy_ai(a.few); }},
    {"spherical_jn 0, 1e4 f64", [](const Given& a) { return torch::special_spherical_bessel_j0(a.few); }},
    {"legendre 10, 1e4 f64", [](const Given& a) { return torch::special_legendre_polynomial_p(a.unit, 10); }},
    {"chebyshev_t 10, 1e4 f64", [](const Given& a) { return torch::special_chebyshev_polynomial_t(a.unit, 10); }},
    {"hermite 10, 1e4 f64", [](const Given& a) { return torch::special_hermite_polynomial_h(a.unit, 10); }},
    {"laguerre 10, 1e4 f64", [](const Given& a) { return torch::special_laguerre_polynomial_l(a.unit, 10); }},
    {"cummax [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return std::get<0>(x.cummax(1)); }, a.matrix, a.matrix); }},
    {"logcumsumexp [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return x.logcumsumexp(1); }, a.matrix, a.matrix); }},
    {"cdist 500 x 500 in 64, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return torch::cdist(x, a.others); }, a.points, a.matrix.index({Slice(0, 500), Slice(0, 500)})); }},
    {"pad reflect [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return padded(x, torch::kReflect); }, a.matrix, drawn({1016, 1016}, 2)); }},
    {"sliding_window of 9, 1e6, gradient", [](const Given& a) { return slope([](const Tensor& x) { return x.unfold(0, 9, 1).sum(-1); }, a.x, a.y.index({Slice(0, n - 8)})); }},
    {"embedding 20000 of [10000,64], gradient", [](const Given& a) { return slope([&](const Tensor& x) { return torch::embedding(x, a.ids, 0); }, a.table, a.table.index({Slice(0, 1)}).expand({20000, 64})); }},
    {"segment_max 1e6 into 1000, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return torch::full({side}, -INFINITY).scatter_reduce(0, a.rows, x, "amax"); }, a.x, a.edges); }},
    {"nanmedian of rows [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return std::get<0>(x.nanmedian(1)); }, a.matrix.index({Slice(), Slice(0, 999)}), a.edges); }},
    {"polygamma 1e6, gradient", [](const Given& a) { return slope([](const Tensor& x) { return torch::polygamma(1, x); }, a.above, a.y); }},
    {"gammainc 1e4 f64, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return torch::special_gammainc(a.few, x); }, a.few_more, a.unit); }},
};
// clang-format on

}  // namespace

std::vector<Case> libtorch_moving() { return cases_of(rows); }

}  // namespace bench
