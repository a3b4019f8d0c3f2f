// Rows of points at which a function or a derivative is infinite, jumps, or is a choice.
#include <reel/fft/signal.hpp>
#include <reel/interpolate.hpp>
#include <reel/linalg.hpp>
#include <reel/nn.hpp>
#include <reel/nn/losses.hpp>
#include <reel/nn/sequence.hpp>
#include <reel/ops/arranging.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/ops/normal.hpp>
#include <reel/ops/scans.hpp>
#include <reel/ops/sorting.hpp>
#include <reel/ops/statistics.hpp>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <reel/stats.hpp>

#include "rows.hpp"

using namespace reel;

namespace golden {

namespace {

Tensor integers(const std::vector<std::int64_t>& values) { return from_data(values); }
Tensor symmetric(const Tensor& a) { return (a + swapaxes(a, 0, 1)) / 2; }

}  // namespace

const std::vector<Row> delicate_rows = {
    // clang-format off
    {"sinc"}, {"logit"}, {"erfcinv"}, {"rgamma"}, {"log1mexp"}, {"ndtri"}, {"erfinv"}, {"entr"}, {"hard_swish"},
    {"relu6"}, {"hard_sigmoid"}, {"sqrt"}, {"abs"}, {"cbrt"}, {"log_sigmoid"}, {"log"}, {"arcsin"}, {"arccos"},
    {"arctanh"}, {"arccosh"}, {"log1p"}, {"arctan"}, {"arcsinh"}, {"argsort"}, {"median"}, {"l2_normalize"}, {"norm"},
    {"corrcoef"}, {"det"}, {"expm"}, {"logm"}, {"sqrtm"}, {"betaln"}, {"gammainc"}, {"xlogy"}, {"copysign"},
    {"divide_no_nan"}, {"multiply_no_nan"}, {"power"}, {"maximum"}, {"logaddexp"}, {"cosine_similarity"},
    // clang-format on
    {"i0"},
    {"i1"},
    {"j1"},
    {"spence"},
    {"sinint"},
    {"ellipk"},
    {"lambertw"},
    {"i0e"},
    {"sort"},
    {"nanmean"},
    REEL_ROW("norm_logpdf", norm_logpdf(x[0])),
    REEL_ROW("unwrap", unwrap(x[0])),
    {"kv"},
    {"iv"},
    {"masked_softmax"},
    REEL_ROW("gamma_logpdf", gamma_logpdf(x[0], x[1])),
    REEL_ROW("jn", jn(3, x[0])),
    REEL_ROW("expn", expn(0, x[0])),
    REEL_ROW("index_multiply", index_multiply(x[0], {integers({0, 2, 0})}, x[1])),
    REEL_ROW("segment_mean", segment_mean(x[0], integers({0, 0}), 2)),
    REEL_ROW("segment_prod", segment_prod(x[0], integers({0, 0}), 2)),
    REEL_ROW("segment_max", segment_max(x[0], integers({0, 0}), 2)),
    REEL_ROW("cummax", cummax(x[0], 0).values),
    REEL_ROW("lp_pool1d", lp_pool1d(x[0], 3, 2)),
    REEL_ROW("ctc_loss",
             ctc_loss(x[0], from_data(std::vector<std::int64_t>{1, 1}, {1, 2}), integers({1}), integers({2}))),
    REEL_ROW("expon_logpdf", expon_logpdf(x[0])),
    REEL_ROW("interp", interp(x[0], tensor({0, 1, 2}), tensor({0, 1, 3}))),
    REEL_ROW("eigh last vector", square(eigh(symmetric(x[0])).eigenvectors(all, 2))),
    REEL_ROW("svdvals sum of squares", sum(square(svdvals(x[0])))),
    REEL_ROW("eigvalsh sum of squares", sum(square(eigvalsh(symmetric(x[0]))))),
    REEL_ROW("matrix_norm nuclear", matrix_norm(x[0], MatrixNorm::nuclear)),
    REEL_ROW("matrix_norm spectral", matrix_norm(x[0], MatrixNorm::spectral)),
    REEL_ROW("slogdet", slogdet(x[0]).sign, slogdet(x[0]).logdet),
    REEL_ROW("lstsq of rank one", lstsq(ones({2, 2}), x[0])),
};

}  // namespace golden
