// libtorch's functions for the names of test/op_cases, under NoGradGuard. The driver says where operands are drawn.
#include "libtorch.hpp"

namespace bench {

namespace {

using X = const std::vector<Tensor>&;
using Call = Tensor (*)(X x);

struct Op {
  const char* name;
  Call call;
  bool matrix = false;  // operands are [n / 1000, 1000]
};

// clang-format off
const Op ops[] = {
    {"add", [](X x) { return x[0] + x[1]; }},
    {"subtract", [](X x) { return x[0] - x[1]; }},
    {"multiply", [](X x) { return x[0] * x[1]; }},
    {"divide", [](X x) { return x[0] / x[1]; }},
    {"power", [](X x) { return torch::pow(x[0], x[1]); }},
    {"floor_divide", [](X x) { return torch::floor_divide(x[0], x[1]); }},
    {"mod", [](X x) { return torch::remainder(x[0], x[1]); }},
    {"negative", [](X x) { return -x[0]; }},
    {"square", [](X x) { return torch::square(x[0]); }},
    {"abs", [](X x) { return torch::abs(x[0]); }},
    {"sign", [](X x) { return torch::sign(x[0]); }},
    {"reciprocal", [](X x) { return torch::reciprocal(x[0]); }},
    {"sqrt", [](X x) { return torch::sqrt(x[0]); }},
    {"rsqrt", [](X x) { return torch::rsqrt(x[0]); }},
    {"exp", [](X x) { return torch::exp(x[0]); }},
    {"exp2", [](X x) { return torch::exp2(x[0]); }},
    {"expm1", [](X x) { return torch::expm1(x[0]); }},
    {"log", [](X x) { return torch::log(x[0]); }},
    {"log2", [](X x) { return torch::log2(x[0]); }},
    {"log10", [](X x) { return torch::log10(x[0]); }},
    {"log1p", [](X x) { return torch::log1p(x[0]); }},
    {"logaddexp", [](X x) { return torch::logaddexp(x[0], x[1]); }},
    {"sin", [](X x) { return torch::sin(x[0]); }},
    {"cos", [](X x) { return torch::cos(x[0]); }},
    {"tan", [](X x) { return torch::tan(x[0]); }},
    {"arcsin", [](X x) { return torch::arcsin(x[0]); }},
    {"arccos", [](X x) { return torch::arccos(x[0]); }},
    {"arctan", [](X x) { return torch::arctan(x[0]); }},
    {"arctan2", [](X x) { return torch::atan2(x[0], x[1]); }},
    {"sinh", [](X x) { return torch::sinh(x[0]); }},
    {"cosh", [](X x) { return torch::cosh(x[0]); }},
    {"tanh", [](X x) { return torch::tanh(x[0]); }},
    {"arcsinh", [](X x) { return torch::arcsinh(x[0]); }},
    {"arccosh", [](X x) { return torch::arccosh(x[0]); }},
    {"arctanh", [](X x) { return torch::arctanh(x[0]); }},
    {"hypot", [](X x) { return torch::hypot(x[0], x[1]); }},
    {"erf", [](X x) { return torch::erf(x[0]); }},
    {"erfc", [](X x) { return torch::erfc(x[0]); }},
    {"lgamma", [](X x) { return torch::lgamma(x[0]); }},
    {"digamma", [](X x) { return torch::digamma(x[0]); }},
    {"polygamma", [](X x) { return torch::polygamma(1, x[0]); }},
    {"sigmoid", [](X x) { return torch::sigmoid(x[0]); }},
    {"softplus", [](X x) { return torch::softplus(x[0]); }},
    {"relu", [](X x) { return torch::relu(x[0]); }},
    {"selu", [](X x) { return torch::selu(x[0]); }},
    {"gelu", [](X x) { return torch::gelu(x[0]); }},
    {"silu", [](X x) { return torch::silu(x[0]); }},
    {"maximum", [](X x) { return torch::maximum(x[0], x[1]); }},
    {"minimum", [](X x) { return torch::minimum(x[0], x[1]); }},
    {"clip", [](X x) { return torch::clamp(x[0], x[1], x[2]); }},
    {"floor", [](X x) { return torch::floor(x[0]); }},
    {"ceil", [](X x) { return torch::ceil(x[0]); }},
    {"round", [](X x) { return torch::round(x[0]); }},
    {"trunc", [](X x) { return torch::trunc(x[0]); }},
    {"equal", [](X x) { return x[0] == x[1]; }},
    {"not_equal", [](X x) { return x[0] != x[1]; }},
    {"less", [](X x) { return x[0] < x[1]; }},
    {"less_equal", [](X x) { return x[0] <= x[1]; }},
    {"greater", [](X x) { return x[0] > x[1]; }},
    {"greater_equal", [](X x) { return x[0] >= x[1]; }},
    {"isnan", [](X x) { return torch::isnan(x[0]); }},
    {"isinf", [](X x) { return torch::isinf(x[0]); }},
    {"isfinite", [](X x) { return torch::isfinite(x[0]); }},
    {"where", [](X x) { return torch::where(x[0] > 0, x[1], x[2]); }},
    {"logical_and", [](X x) { return torch::logical_and(x[0], x[1]); }},
    {"logical_or", [](X x) { return torch::logical_or(x[0], x[1]); }},
    {"logical_xor", [](X x) { return torch::logical_xor(x[0], x[1]); }},
    {"logical_not", [](X x) { return torch::logical_not(x[0]); }},
    {"lerp", [](X x) { return torch::lerp(x[0], x[1], x[2]); }},
    {"fmod", [](X x) { return torch::fmod(x[0], x[1]); }},
    {"frac", [](X x) { return torch::frac(x[0]); }},
    {"fmax", [](X x) { return torch::fmax(x[0], x[1]); }},
    {"fmin", [](X x) { return torch::fmin(x[0], x[1]); }},
    {"copysign", [](X x) { return torch::copysign(x[0], x[1]); }},
    {"logaddexp2", [](X x) { return torch::logaddexp2(x[0], x[1]); }},
    {"logit", [](X x) { return torch::logit(x[0]); }},
    {"sinc", [](X x) { return torch::sinc(x[0]); }},
    {"deg2rad", [](X x) { return torch::deg2rad(x[0]); }},
    {"rad2deg", [](X x) { return torch::rad2deg(x[0]); }},
    {"xlogy", [](X x) { return torch::xlogy(x[0], x[1]); }},
    {"xlog1py", [](X x) { return torch::special_xlog1py(x[0], x[1]); }},
    {"entr", [](X x) { return torch::special_entr(x[0]); }},
    {"nan_to_num", [](X x) { return torch::nan_to_num(x[0]); }},
    {"softsign", [](X x) { return torch::nn::functional::softsign(x[0]); }},
    {"gelu_tanh", [](X x) { return torch::gelu(x[0], "tanh"); }},
    {"relu6", [](X x) { return torch::relu6(x[0]); }},
    {"hard_sigmoid", [](X x) { return torch::hardsigmoid(x[0]); }},
    {"hard_swish", [](X x) { return torch::hardswish(x[0]); }},
    {"hardshrink", [](X x) { return torch::hardshrink(x[0], 0.5); }},
    {"mish", [](X x) { return torch::mish(x[0]); }},
    {"log_sigmoid", [](X x) { return torch::log_sigmoid(x[0]); }},
    {"erfinv", [](X x) { return torch::erfinv(x[0]); }},
    {"erfcx", [](X x) { return torch::special_erfcx(x[0]); }},
    {"ndtr", [](X x) { return torch::special_ndtr(x[0]); }},
    {"log_ndtr", [](X x) { return torch::special_log_ndtr(x[0]); }},
    {"ndtri", [](X x) { return torch::special_ndtri(x[0]); }},
    {"i0", [](X x) { return torch::special_i0(x[0]); }},
    {"i1", [](X x) { return torch::special_i1(x[0]); }},
    {"i0e", [](X x) { return torch::special_i0e(x[0]); }},
    {"i1e", [](X x) { return torch::special_i1e(x[0]); }},
    {"k0", [](X x) { return torch::special_modified_bessel_k0(x[0]); }},
    {"k1", [](X x) { return torch::special_modified_bessel_k1(x[0]); }},
    {"k0e", [](X x) { return torch::special_scaled_modified_bessel_k0(x[0]); }},
    {"k1e", [](X x) { return torch::special_scaled_modified_bessel_k1(x[0]); }},
    {"j0", [](X x) { return torch::special_bessel_j0(x[0]); }},
    {"j1", [](X x) { return torch::special_bessel_j1(x[0]); }},
    {"y0", [](X x) { return torch::special_bessel_y0(x[0]); }},
    {"y1", [](X x) { return torch::special_bessel_y1(x[0]); }},

    {"sum", [](X x) { return x[0].sum(); }, true},
    {"mean", [](X x) { return x[0].mean(); }, true},
    {"prod", [](X x) { return x[0].prod(); }, true},
    {"max", [](X x) { return x[0].max(); }, true},
    {"min", [](X x) { return x[0].min(); }, true},
    {"argmax", [](X x) { return x[0].argmax(-1); }, true},
    {"argmin", [](X x) { return x[0].argmin(0, true); }, true},
    {"any", [](X x) { return (x[0] > 1.5).any(); }, true},
    {"all", [](X x) { return (x[0] > -1.5).all(); }, true},
    {"var", [](X x) { return torch::var(x[0], false); }, true},
    {"std", [](X x) { return torch::std(x[0], false); }, true},
    {"norm", [](X x) { return torch::norm(x[0]); }, true},
    {"logsumexp", [](X x) { return torch::logsumexp(x[0], torch::IntArrayRef({0, 1})); }, true},
    {"softmax", [](X x) { return torch::softmax(x[0], -1); }, true},
    {"log_softmax", [](X x) { return torch::log_softmax(x[0], -1); }, true},
    {"cumsum", [](X x) { return x[0].cumsum(-1); }, true},
    {"cumprod", [](X x) { return x[0].cumprod(-1); }, true},
    {"sum over rows", [](X x) { return x[0].sum(1); }, true},
    {"sum over columns", [](X x) { return x[0].sum(0); }, true},
    {"max over rows", [](X x) { return x[0].amax(1); }, true},
    {"max over columns", [](X x) { return x[0].amax(0); }, true},
};
// clang-format on

}  // namespace

std::vector<Case> libtorch_ops() {
  std::vector<Case> cases;
  for (const Op& op : ops)
    for (const torch::Dtype dtype : {torch::kFloat32, torch::kFloat64})
      for (const auto& [count, text] : {std::pair(1000, "1e3"), {100000, "1e5"}, {10000000, "1e7"}}) {
        const std::int64_t n = count;
        const auto make = [op, dtype, n] {
          std::vector<Tensor> x;
          const std::vector<double>& ranges = operand_ranges();
          for (std::size_t i = 0; 2 * i < ranges.size(); ++i) {
            const Tensor flat = drawn({n}, i + 1, ranges[2 * i], ranges[2 * i + 1], dtype);
            x.push_back(op.matrix ? flat.reshape({n / 1000, 1000}) : flat);
          }
          return body([op, x] {
            const torch::NoGradGuard guard;
            return op.call(x);
          });
        };
        const std::string type = dtype == torch::kFloat64 ? " f64" : " f32";
        cases.push_back({.name = op.name + type + ", n = " + text, .make = make});
      }
  return cases;
}

}  // namespace bench
