// Second derivatives of densities, distribution functions and quantiles where those of a formula would overflow on the
// way: by mpmath.
#include <cmath>
#include <functional>
#include <reel/reel.hpp>
#include <reel/stats.hpp>
#include <string>

#include "catch.hpp"
#include "support/derivatives.hpp"
#include "support/numbers.hpp"

using namespace reel;
using support::Doubles, support::inf, support::qnan, support::Tensors;

namespace {

// The second derivatives by each pair of operands, row by row; NaN stands for one that is not compared.
struct Point {
  const char* name;
  std::function<Tensor(const Tensors&)> f;
  Doubles x, gradient, hessian;
};
// clang-format off
#define OF(n, name) #name, [](const Tensors& x) { return name ARGUMENTS_##n; }
#define ARGUMENTS_2 (x[0], x[1])
#define ARGUMENTS_3 (x[0], x[1], x[2])
const Point quantiles[] = {
    {OF(2, gamma_ppf), {1e-110, 0.5}, {1.5707963267948966e-110, 7.961530522732307e-218}, {1.5707963267948966, 1.5891645118928713e-107, 1.5891645118928713e-107, qnan}},
    {OF(3, beta_ppf), {1e-110, 0.5, 2}, {8e-110 / 9, qnan, qnan}, {8. / 9, qnan, qnan, qnan, qnan, qnan, qnan, qnan, qnan}},
    {OF(2, gamma_ppf), {1e-300, 2.5}, {6.4668155611662566e179, 1.790874493852047e-118}, {-inf, 7.1376307131635228e181, 7.1376307131635228e181, qnan}},
    {OF(2, gamma_ppf), {1e-300, 30}, {4.0148323463558595e289, 9.6175367142794600e-10}, {-inf, 3.0720178267920408e289, 3.0720178267920408e289, qnan}},
    {OF(2, gamma_ppf), {1e-200, 0.875}, {2.9033652821151932e-29, 1.5291981020337120e-226}, {4.1476646887359904e170, 1.7443368420018249e-26, 1.7443368420018249e-26, qnan}},
    {OF(3, beta_ppf), {1e-300, 2.5, 1.5}, {3.0091785041859960e179, 8.3186295504857174e-119, -3.6700774412585675e-121},
     {-inf, 3.3154151061775429e181, -1.4680309765034270e179, 3.3154151061775429e181, qnan, qnan, -1.4680309765034270e179, qnan, qnan}},
    {OF(3, beta_ppf), {1e-300, 30, 100}, {3.5164885650016519e287, 8.3794525585508060e-12, -9.2667038682861649e-14},
     {-inf, 2.6759345675345946e287, -3.0889012895171852e285, 2.6759345675345946e287, qnan, qnan, -3.0889012895171852e285, qnan, qnan}},
    {OF(3, beta_ppf), {1e-200, 0.875, 0.5}, {6.3890099688056190e-29, 3.3606007845927150e-226, -1.1986917667846146e-228},
     {9.1271570982937e170, 3.8333848852844673e-26, -1.3699334477538453e-28, 3.8333848852844673e-26, qnan, qnan, -1.3699334477538453e-28, qnan, qnan}},
    {OF(3, truncnorm_ppf), {1e-300, -inf, -2}, {2.6899161423366218e298, 0, 0.063837507709841668}, {-inf, 0, 4.6157253323967868e295, 0, 0, 0, 4.6157253323967868e295, 0, qnan}},
    {OF(3, truncnorm_ppf), {1e-300, -40, -2}, {2.6899161423366218e298, 1.7301325009000358e-48, 0.063837507709841668},
     {-inf, -1.7288815409707877e252, 4.6157253323967868e295, -1.7288815409707877e252, qnan, qnan, 4.6157253323967868e295, qnan, qnan}},
    {OF(3, truncnorm_ppf), {1e-200, -40, -2}, {3.293444608105996e198, 2.1183171723146949e-148, 0.078160539004487835},
     {-inf, -2.1160219623544668e52, 8.4687434896197914e195, -2.1160219623544668e52, qnan, qnan, 8.4687434896197914e195, qnan, qnan}},
    {OF(3, truncnorm_ppf), {1e-100, -20, 1}, {1.5239134490597725e87, 0.99999999999695217, 4.3827746366341365e-14},
     {-4.6446244004504683e175, -3.0478268981102325e88, 4.3827746366207784e86, -3.0478268981102325e88, qnan, qnan, 4.3827746366207784e86, qnan, qnan}},
    {OF(2, vonmises_ppf), {1e-300, 1000}, {1.0527402616818182e297, 7.2318362120289761e-4}, {-inf, -8.0196449749373527e293, -8.0196449749373527e293, qnan}},
    {OF(2, vonmises_ppf), {1e-200, 1e6}, {3.3074059339523495e195, 1.5104525481716041e-8}, {-inf, -1.6540805856715573e189, -1.6540805856715573e189, qnan}},
};
// Not compared: what is 0 but for rounding, and derivatives by x of one by a whose factor z^(a - 1) underflows.
const Point densities[] = {
    {OF(3, beta_pdf), {1e-300, 2.5, 1.5}, {7.639437268410977e-150, 0, 0}, {3.819718634205488e+150, -5.267819042669288e-147, 9.317269262592114e-150, qnan, 0, 0, 9.317269262592114e-150, 0, 0}},
    {OF(3, beta_pdf), {1e-300, 1.5, 1.5}, {1.2732395447351627e+150, -1.7567885072529193e-147, 2.2569300577072627e-150}, {-inf, -8.758477745369894e+152, 1.1284650288536313e+150, -8.758477745369894e+152, 1.2119881019925781e-144, -1.556026056315544e-147, 1.1284650288536313e+150, -1.556026056315544e-147, 6.255414700585492e-151}},
    {OF(3, beta_pdf), {1e-300, 1, 0.5}, {0.25, -345.0809111296668, 1.0}, {0.375, 4.9999999999999995e+299, qnan, 4.9999999999999995e+299, 238161.31538622885, -689.6944211590612, qnan, -689.6944211590612, qnan}},
    {OF(3, beta_pdf), {1e-200, 0.5, 1.5}, {-3.1830988618379066e+299, -2.916550773787929e+102, 2.4592262824302505e+99}, {inf, 1.4646415846176404e+302, -1.2296131412151252e+299, 1.4646415846176404e+302, 1.3361342081227093e+105, -1.1225413400458404e+102, -1.2296131412151252e+299, -1.1225413400458404e+102, -8.953726072838774e+98}},
    {OF(3, beta_pdf), {1e-300, 2, 1.5}, {3.75, -2.587856833472501e-297, 4e-300}, {-3.75, -2584.106833472501, 4.0, -2584.106833472501, 1.7858662844855866e-294, -2.759141780785292e-297, 4.0, -2.759141780785292e-297, 2e-300}},
    {OF(2, gamma_pdf), {1e-300, 1.5}, {5.641895835477562e+149, -7.794978893461947e-148}, {-inf, -3.886205655060018e+152, -3.886205655060018e+152, 5.3848545505503116e-145}},
    {OF(2, gamma_pdf), {1e-300, 3}, {1e-300, 0}, {1.0, -6.911983122333122e-298, qnan, 0}},
    {OF(2, chi2_pdf), {1e-300, 5}, {1.9947114020071635e-151, 0}, {9.973557010035817e+148, -6.896766186387852e-149, qnan, 0}},
};
// Of counts below 1: p^n and its logarithm. Of more, the derivatives at p = 1 are those of a constant.
const Point certain[] = {
    {"nbinom_cdf", [](const Tensors& x) { return nbinom_cdf(0, x[0], x[1]); }, {2.5, 1}, {0, 2.5}, {0, 1, 1, 3.75}},
    {"nbinom_sf", [](const Tensors& x) { return nbinom_sf(0, x[0], x[1]); }, {2.5, 1}, {0, -2.5}, {0, -1, -1, -3.75}},
    {"nbinom_logcdf", [](const Tensors& x) { return nbinom_logcdf(0, x[0], x[1]); }, {2.5, 1}, {0, 2.5}, {0, 1, 1, -2.5}},
    {"nbinom_cdf", [](const Tensors& x) { return nbinom_cdf(1, x[0], x[1]); }, {2.5, 1}, {0, 0}, {0, 0, 0, -8.75}},
    {"nbinom_cdf", [](const Tensors& x) { return nbinom_cdf(2, x[0], x[1]); }, {2.5, 1}, {0, 0}, {0, 0, 0, 0}},
};
// clang-format on

void check(const Point& p, double tolerance) {
  Tensors x;
  for (const double v : p.x) x.push_back(scalar(v));
  const auto close = [&](double got, double expected) {
    return std::isnan(expected) || got == expected || std::abs(got - expected) <= tolerance * std::abs(expected);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto by_operand = [&](const Tensors& at) {
      GradientTape tape;
      tape.watch(at[i]);
      return Tensors{tape.gradient(p.f(at), at[i]).dense()};
    };
    const double slope = by_operand(x)[0].item();
    INFO(p.name << " at " << p.x[0] << ", " << p.x[1] << ", operand " << i << ": slope " << slope);
    CHECK(close(slope, p.gradient[i]));
    const Tensors row = support::pull(by_operand, x, {scalar(1.0)});
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double expected = p.hessian[i * x.size() + k];
      Tensors t(x.size());
      t[k] = scalar(1.0);
      const double forward = support::push(by_operand, x, t)[0].item();
      INFO("and operand " << k << ": " << row[k].item() << ", in forward mode " << forward << ", not " << expected);
      CHECK(close(row[k].item(), expected));
      CHECK(close(forward, expected));
    }
  }
}

}  // namespace

TEST_CASE("quantiles of tiny probabilities: second derivatives") {
  // Both terms of a mixed derivative of vonmises_ppf cancel to a thousandth, and its slopes have errors of 1e-10.
  for (const Point& p : quantiles) check(p, std::string(p.name) == "vonmises_ppf" ? 2e-7 : 1e-12);
}

TEST_CASE("nbinom: second derivatives of tails at p = 1") {
  for (const Point& p : certain) check(p, 1e-15);
  // The third derivatives of p^n, and of p^n (1 + n (1 - p)).
  const auto third = [](int k) {
    const auto slope =
        grad([k](const Tensor& p) { return grad([&](const Tensor& n) { return nbinom_cdf(k, n, p); })(scalar(2.5)); });
    return grad(slope)(scalar(1.0)).item();
  };
  CHECK(third(0) == Approx(2 * 2.5 - 1));
  CHECK(third(1) == Approx(-(2 * 2.5 + 1)));
}

TEST_CASE("densities near 0: gradients and second derivatives are those of a power") {
  for (const Point& p : densities) check(p, 1e-12);
}

TEST_CASE("densities: finite gradients for huge parameters") {
  for (const double x : {1e-12, 1e-9, 0.5}) {
    const Tensors at{scalar(x), scalar(1.5), scalar(1e12)};
    const Tensors g =
        support::pull([](const Tensors& p) { return Tensors{beta_pdf(p[0], p[1], p[2])}; }, at, {scalar(1.0)});
    for (const Tensor& one : g) CHECK(std::isfinite(one.item()));
  }
  CHECK(beta_pdf(1e-12, 1.5, 1e12).item() == Approx(1e12 * 2 / std::sqrt(4 * std::atan(1)) * std::exp(-1)));
}
