// Ops that move, scan and compare elements, and functions of several arguments, beside libtorch: 10^6 float32, or
// [1000, 1000], where nothing else is said.
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/parts.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/ops/windows.hpp>
#include <reel/special.hpp>

#include "../common/rows.hpp"
#include "cases.hpp"

namespace bench {

namespace {

using namespace reel;

constexpr std::int64_t n = 1000000, side = 1000;

// Operands of every case: drawn in (-1, 1), above 0, and as indices of rows.
struct Given {
  Tensor x = drawn({n}, 1), y = drawn({n}, 2), matrix = drawn({side, side}, 1);
  Tensor above = drawn({n}, 3, 0.1, 20), more = drawn({n}, 4, 0.1, 20),
         few = drawn({10000}, 4, 0.5, 20, DType::float64);
  Tensor few_more = drawn({10000}, 3, 0.5, 20, DType::float64), unit = drawn({10000}, 5, 0, 1, DType::float64);
  Tensor points = drawn({500, 64}, 6), others = drawn({500, 64}, 7), variables = drawn({100, 10000}, 8);
  Tensor images = drawn({1, 64, 128, 128}, 9), table = drawn({10000, 64}, 10);
  Tensor rows = floored(side, {n}), ids = floored(10000, {20000}), counts = floored(4, {side}, 4);
  Tensor integers = cast(floored(1 << 20, {n}), DType::int32), shifts = cast(floored(11, {n}, 5), DType::int32);
  Tensor places = floored(n, {n}, 6), mask = x > 0, edges = sort(drawn({side}, 5)), holes = where(y > 0.8f, NAN, x);
  Tensor gappy = reshape(holes, {side, side}), window_sums = reshape(x, {n / 10, 10});
  Tensor placed = take(y, places);  // one value per place, so that the order of repeated places does not matter

  static Tensor floored(std::int64_t end, const Shape& shape, std::uint64_t seed = 3) {
    return cast(drawn(shape, seed, 0, static_cast<double>(end), DType::float64), DType::int64);
  }
};

template <class F>
Tensor slope(F f, const Tensor& x, const Tensor& weights) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(f(x), x, {.output_gradients = weights}).dense();
}

// clang-format off
const Row<Given, Tensor> rows[] = {
    {"cummax [1000,1000]", [](const Given& a) { return cummax(a.matrix, 1).values; }},
    {"cummin over columns [1000,1000]", [](const Given& a) { return cummin(a.matrix, 0).values; }},
    {"logcumsumexp [1000,1000]", [](const Given& a) { return logcumsumexp(a.matrix, 1); }},
    {"diff 1e6", [](const Given& a) { return diff(a.x); }},
    {"gradient_along [1000,1000]", [](const Given& a) { return gradient_along(a.matrix, 1); }},
    {"nansum 1e6", [](const Given& a) { return nansum(a.holes); }},
    {"nanmean over rows [1000,1000]", [](const Given& a) { return nanmean(a.gappy, 1); }},
    {"nanmedian of rows [1000,1000]", [](const Given& a) { return nanmedian(a.matrix, 1); }},
    {"cov [100,10000]", [](const Given& a) { return cov(a.variables); }},
    {"corrcoef [100,10000]", [](const Given& a) { return corrcoef(a.variables); }},
    {"cdist 500 x 500 in 64", [](const Given& a) { return cdist(a.points, a.others); }},
    {"cdist p = 1, 500 x 500 in 64", [](const Given& a) { return cdist(a.points, a.others, 1); }},
    {"pdist 500 in 64", [](const Given& a) { return pdist(a.points); }},
    {"pad reflect [1000,1000]", [](const Given& a) { return pad(a.matrix, {8, 8}, {8, 8}, PadMode::reflect); }},
    {"pad edge [1000,1000]", [](const Given& a) { return pad(a.matrix, {8, 8}, {8, 8}, PadMode::edge); }},
    {"pad wrap [1000,1000]", [](const Given& a) { return pad(a.matrix, {8, 8}, {8, 8}, PadMode::wrap); }},
    {"sliding_window of 9, 1e6", [](const Given& a) { return contiguous(sliding_window(a.x, 9)); }},
    {"overlap_add of windows of 10 at 5, 1e6", [](const Given& a) { return overlap_add(a.window_sums, -1, 5); }},
    {"pixel_shuffle [1,64,128,128]", [](const Given& a) { return contiguous(pixel_shuffle(a.images, 4)); }},
    {"pixel_unshuffle [1,64,128,128]", [](const Given& a) { return contiguous(pixel_unshuffle(a.images, 4)); }},
    {"channel_shuffle [1,64,128,128]", [](const Given& a) { return contiguous(channel_shuffle(a.images, 8)); }},
    {"rot90 [1000,1000]", [](const Given& a) { return contiguous(rot90(a.matrix)); }},
    {"block_diag of 10 x [100,100]", [](const Given& a) { const auto parts = split(slice(a.matrix, {range(0, 100)}), 10, 1); return block_diag(parts); }},
    {"vander [1000], 100", [](const Given& a) { return vander(a.edges, 100); }},
    {"repeat by counts [1000,1000]", [](const Given& a) { return repeat(a.matrix, a.counts, 0); }},
    {"set_diagonal [1000,1000]", [](const Given& a) { return set_diagonal(a.matrix, a.edges); }},
    {"slice_update [1000,1000]", [](const Given& a) { return slice_update(a.matrix, {range(100, 900)}, slice(a.matrix, {range(0, 800)})); }},
    {"hstack 2 x [1000,1000]", [](const Given& a) { return hstack({a.matrix, a.matrix}); }},
    {"index_max 1e6 into 1000", [](const Given& a) { return index_max(a.edges, {a.rows}, a.x); }},
    {"index_multiply 1e6 into 1000", [](const Given& a) { return index_multiply(a.edges, {a.rows}, 1.f); }},
    {"put 1e6", [](const Given& a) { return put(a.x, a.places, a.placed); }},
    {"masked_scatter 1e6", [](const Given& a) { return masked_scatter(a.x, a.mask, a.y); }},
    {"compress rows [1000,1000]", [](const Given& a) { return compress(slice(a.mask, {range(0, side)}), a.matrix, 0); }},
    {"segment_max 1e6 into 1000", [](const Given& a) { return segment_max(a.x, a.rows, side); }},
    {"embedding 20000 of [10000,64]", [](const Given& a) { return embedding(a.table, a.ids, 0); }},
    {"digitize 1e6 in 1000", [](const Given& a) { return digitize(a.x, a.edges); }},
    {"meshgrid 1000 x 1000", [](const Given& a) { const auto grid = meshgrid({a.edges, a.edges}, true); return grid[0] + grid[1]; }},
    {"bitwise_and int32 1e6", [](const Given& a) { return bitwise_and(a.integers, a.shifts); }},
    {"bitwise_not int32 1e6", [](const Given& a) { return bitwise_not(a.integers); }},
    {"left_shift int32 1e6", [](const Given& a) { return left_shift(a.integers, a.shifts); }},
    {"right_shift int32 1e6", [](const Given& a) { return right_shift(a.integers, a.shifts); }},
    {"frexp 1e6", [](const Given& a) { return frexp(a.x).mantissa; }},
    {"ldexp 1e6", [](const Given& a) { return ldexp(a.x, a.shifts); }},
    {"polar 1e6", [](const Given& a) { return as_real(polar(a.x, a.y)); }},
    {"glu [1000,1000]", [](const Given& a) { return glu(a.matrix); }},
    {"gammainc 1e4 f64", [](const Given& a) { return gammainc(a.few, a.few_more); }},
    {"gammaincc 1e4 f64", [](const Given& a) { return gammaincc(a.few, a.few_more); }},
    {"gammainc 1e6", [](const Given& a) { return gammainc(a.above, a.more); }},
    {"zeta 1e4 f64", [](const Given& a) { return zeta(a.few + 1, a.few_more); }},
    {"multigammaln 1e4 f64", [](const Given& a) { return multigammaln(a.few + 1, 3); }},
    {"airy_ai 1e4 f64", [](const Given& a) { return airy_ai(a.few); }},
    {"spherical_jn 0, 1e4 f64", [](const Given& a) { return spherical_jn(0, a.few); }},
    {"legendre 10, 1e4 f64", [](const Given& a) { return legendre(10, a.unit); }},
    {"chebyshev_t 10, 1e4 f64", [](const Given& a) { return chebyshev_t(10, a.unit); }},
    {"hermite 10, 1e4 f64", [](const Given& a) { return hermite(10, a.unit); }},
    {"laguerre 10, 1e4 f64", [](const Given& a) { return laguerre(10, a.unit); }},
    {"cummax [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return cummax(x, 1).values; }, a.matrix, a.matrix); }},
    {"logcumsumexp [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return logcumsumexp(x, 1); }, a.matrix, a.matrix); }},
    {"cdist 500 x 500 in 64, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return cdist(x, a.others); }, a.points, slice(a.matrix, {range(0, 500), range(0, 500)})); }},
    {"pad reflect [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return pad(x, {8, 8}, {8, 8}, PadMode::reflect); }, a.matrix, drawn({1016, 1016}, 2)); }},
    {"sliding_window of 9, 1e6, gradient", [](const Given& a) { return slope([](const Tensor& x) { return sum(sliding_window(x, 9), -1); }, a.x, slice(a.y, {range(0, n - 8)})); }},
    {"embedding 20000 of [10000,64], gradient", [](const Given& a) { return slope([&](const Tensor& x) { return embedding(x, a.ids, 0); }, a.table, broadcast_to(slice(a.table, {range(0, 1)}), {20000, 64})); }},
    {"segment_max 1e6 into 1000, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return segment_max(x, a.rows, side); }, a.x, a.edges); }},
    {"nanmedian of rows [1000,1000], gradient", [](const Given& a) { return slope([](const Tensor& x) { return nanmedian(x, 1); }, slice(a.matrix, {reel::all, range(0, 999)}), a.edges); }},
    {"polygamma 1e6, gradient", [](const Given& a) { return slope([](const Tensor& x) { return polygamma(1, x); }, a.above, a.y); }},
    {"gammainc 1e4 f64, gradient", [](const Given& a) { return slope([&](const Tensor& x) { return gammainc(a.few, x); }, a.few_more, a.unit); }},
};
// clang-format on

}  // namespace

std::vector<Case> moving_cases() { return cases_of(rows); }

}  // namespace bench
