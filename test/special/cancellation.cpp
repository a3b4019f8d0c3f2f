// Where formulas of special functions would subtract nearly equal numbers: small parameters, poles, arguments of very
// different size. The values are those of mpmath in 260 digits and of Arb, which agree in 25 and more.
#include <cmath>
#include <limits>
#include <map>
#include <reel/reel.hpp>
#include <reel/special.hpp>
#include <reel/stats/tails.hpp>
#include <string>

#include "catch.hpp"
#include "partial.hpp"

using namespace reel;

namespace {

using support::Arguments, support::Function, support::partial_at;

const std::map<std::string, Function> functions = {
    {"betainc", [](const Arguments& x) { return betainc(x[0], x[1], x[2]); }},
    {"betaincc", [](const Arguments& x) { return betaincc(x[0], x[1], x[2]); }},
    {"gammaincc", [](const Arguments& x) { return gammaincc(x[0], x[1]); }},
    {"beta_logcdf", [](const Arguments& x) { return beta_logcdf(x[2], x[0], x[1]); }},
    {"beta_logsf", [](const Arguments& x) { return beta_logsf(x[2], x[0], x[1]); }},
    {"betaln", [](const Arguments& x) { return betaln(x[0], x[1]); }},
    {"beta", [](const Arguments& x) { return beta(x[0], x[1]); }},
    {"poch", [](const Arguments& x) { return poch(x[0], x[1]); }},
    {"comb", [](const Arguments& x) { return comb(x[0], x[1]); }},
    {"hzeta", [](const Arguments& x) { return zeta(x[0], x[1]); }},
    {"kve", [](const Arguments& x) { return kve(x[0], x[1]); }},
    {"elliprg", [](const Arguments& x) { return elliprg(x[0], x[1], x[2]); }},
    {"ellipe", [](const Arguments& x) { return ellipe(x[0]); }},
    {"ellipkinc", [](const Arguments& x) { return ellipkinc(x[0], x[1]); }},
    {"ellipeinc", [](const Arguments& x) { return ellipeinc(x[0], x[1]); }},
    {"erfcinv", [](const Arguments& x) { return erfcinv(x[0]); }},
    {"ndtri", [](const Arguments& x) { return ndtri(x[0]); }},
    {"k1", [](const Arguments& x) { return k1(x[0]); }},
};

struct Row {
  const char* function;
  std::vector<double> at;
  std::vector<int> orders;
  double value;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
const Row rows[] = {{"betainc", {4.5, 4e-10, 0.99997}, {0, 0, 0}, 3.3793326276310063e-9},
                    // Large parameters: both, either one, at the mean and in the tails.
                    {"betainc", {1e+16, 1e+16, 0.5}, {0, 0, 0}, 0.5},
                    {"betaincc", {1e+16, 1e+16, 0.5}, {0, 0, 0}, 0.5},
                    {"betainc", {1e+16, 1e+16, 0.5}, {1, 0, 0}, -2.8209479177387815e-9},
                    {"betainc", {1e+16, 1e+16, 0.5}, {0, 1, 0}, 2.8209479177387815e-9},
                    {"betainc", {1e+16, 1e+16, 0.49999999}, {0, 0, 0}, 0.0023388675014018197},
                    {"betaincc", {1e+16, 1e+16, 0.49999999}, {0, 0, 0}, 0.99766113249859818},
                    {"betainc", {1e+16, 1e+16, 0.49999999}, {1, 0, 0}, -5.1667464119468509e-11},
                    {"betainc", {1e+16, 1e+16, 0.49999999}, {0, 1, 0}, 5.1667463086119237e-11},
                    {"betainc", {1000000000000.0, 300000000000.0, 0.76923}, {0, 0, 0}, 0.018686551086059131},
                    {"betaincc", {1000000000000.0, 300000000000.0, 0.76923}, {0, 0, 0}, 0.98131344891394087},
                    {"betainc", {1000000000000.0, 300000000000.0, 0.76923}, {1, 0, 0}, -2.1954791667553846e-8},
                    {"betainc", {1000000000000.0, 300000000000.0, 0.76923}, {0, 1, 0}, 7.3182480329816273e-8},
                    {"betainc", {10, 1e+20, 7e-20}, {0, 0, 0}, 0.16950406276132656},
                    {"betaincc", {10, 1e+20, 7e-20}, {0, 0, 0}, 0.83049593723867344},
                    {"betainc", {10, 1e+20, 7e-20}, {1, 0, 0}, -0.085804237504888777},
                    {"betainc", {10, 1e+20, 7e-20}, {0, 1, 0}, 7.0983268650413745e-21},
                    {"betainc", {1000000000000000.0, 7, 0.999999999999996}, {0, 0, 0}, 0.889658880312969},
                    {"betaincc", {1000000000000000.0, 7, 0.999999999999996}, {0, 0, 0}, 0.110341119687031},
                    {"betainc", {1000000000000000.0, 7, 0.999999999999996}, {1, 0, 0}, -4.157834301702e-16},
                    {"betainc", {1000000000000000.0, 7, 0.999999999999996}, {0, 1, 0}, 0.079431580114465475},
                    {"betainc", {30000000000.0, 100000.0, 0.9999967}, {0, 0, 0}, 0.99923984938576127},
                    {"betaincc", {30000000000.0, 100000.0, 0.9999967}, {0, 0, 0}, 0.00076015061423873123},
                    {"betainc", {30000000000.0, 100000.0, 0.9999967}, {1, 0, 0}, -2.7489671817501871e-11},
                    {"betainc", {30000000000.0, 100000.0, 0.9999967}, {0, 1, 0}, 8.2884131891659137e-6},
                    {"betainc", {10000000000.0, 0.5, 0.9999999999}, {0, 0, 0}, 0.15729918987202318},
                    {"betaincc", {10000000000.0, 0.5, 0.9999999999}, {0, 0, 0}, 0.84270081012797682},
                    {"betainc", {10000000000.0, 0.5, 0.9999999999}, {1, 0, 0}, -2.0755374012635451e-11},
                    {"betainc", {10000000000.0, 0.5, 0.9999999999}, {0, 1, 0}, 0.38983723058844261},
                    {"betainc", {20000000000.0, 20000000000.0, 0.500004}, {0, 0, 0}, 0.94520070830234986},
                    {"betaincc", {20000000000.0, 20000000000.0, 0.500004}, {0, 0, 0}, 0.05479929169765014},
                    {"betainc", {20000000000.0, 20000000000.0, 0.500004}, {1, 0, 0}, -5.546019549740564e-7},
                    {"betainc", {20000000000.0, 20000000000.0, 0.500004}, {0, 1, 0}, 5.5460639180744355e-7},
                    {"beta_logsf", {1e11, 3e9, 0.98}, {0, 0, 0}, -192109435.88153296},
                    {"beta_logcdf", {10.0, 1e20, 7e-20}, {0, 0, 0}, -1.7748783833555142},
                    {"betainc", {4.5, 4e-10, 0.99997}, {1, 0, 0}, -9.9478041414504375e-11},
                    {"betainc", {4.5, 4e-10, 0.99997}, {0, 1, 0}, 8.4483315550818539},
                    {"betaincc", {1e-8, 19.5, 1.5e-5}, {0, 0, 0}, 7.5859675505492657e-8},
                    {"betaincc", {1e-8, 19.5, 1.5e-5}, {1, 0, 0}, 7.5859672707735378},
                    {"betaincc", {1e-8, 19.5, 1.5e-5}, {0, 1, 0}, -5.2604439234236979e-10},
                    {"betaincc", {1e-8, 19.5, 1.5e-5}, {2, 0, 0}, -55.955144222642967},
                    {"betaincc", {1e-300, 0.25, 0.25}, {0, 0, 0}, 4.8247095129522026e-300},
                    {"betaincc", {1, 0.5, 1e-300}, {0, 0, 2}, -0.25000000000000000},
                    {"gammaincc", {1, 1e-27}, {0, 2}, 1.0000000000000000},
                    {"betaln", {1, 1e-10}, {1, 0}, -1.6449340667280208e-10},
                    {"betaln", {1e-3, 1e-9}, {2, 0}, 1.9999970024016323},
                    {"betaln", {25, 1e-12}, {1, 0}, -4.0810663257224746e-14},
                    {"beta", {1e-3, 1e-9}, {1, 0}, -1000001.6425331934},
                    {"beta", {2.5e-51, 7.9e-166}, {1, 0}, -1.6000000000000000e101},
                    {"poch", {9, -1e-12}, {1, 0}, -1.1751201469378677e-13},
                    {"poch", {0.3, -1e-15}, {1, 0}, -1.2245364546107813e-14},
                    {"poch", {7e-9, 12}, {3, 0}, 905507873.68335690},
                    {"comb", {39.5, 4e-10}, {1, 0}, 9.9994792976562851e-12},
                    {"comb", {39.5, 39.499999}, {1, 0}, 4.2661377127198349},
                    {"comb", {3e7, -3.3}, {0, 0}, -1.4621737877438080e-25},
                    {"comb", {3e7, -3.3}, {0, 1}, -2.0323316279308717e-24},
                    {"hzeta", {1.000000001, 1e46}, {0, 1}, -9.9999989408108257e-47},
                    {"hzeta", {1.000000003, 45}, {2, 1}, -0.32372064926835442},
                    {"kve", {1e-9, 1e-50}, {1, 0}, 0.00051039660801435258},
                    {"kve", {-1e-20, 1e-100}, {1, 0}, -4.0758850000401805e-14},
                    {"kve", {1e-6, 2}, {3, 0}, 3.9484919087352485e-7},
                    {"elliprg", {1, 2, 1e12}, {1, 0, 0}, 0.0000034765544424271434},
                    {"elliprg", {1e12, 1e-3, 2}, {0, 1, 1}, -5.9795946024329264e-8},
                    {"ellipe", {0.99999999999999}, {2}, -25019997929830.212},
                    {"ellipe", {0.999999}, {3}, -249999812489.96566},
                    {"ellipkinc", {1.5707963267948966, 1}, {0, 0}, 38.025003373828868},
                    {"ellipkinc", {1.5707961589150372, 0.9999999999218583}, {0, 0}, 13.003552633745468},
                    {"ellipkinc", {1.5707961589150372, 0.9999999999218583}, {1, 0}, 113104.58867071473},
                    {"ellipkinc", {1.5707961589150372, 0.9999999999218583}, {0, 1}, 6277133878.3660094},
                    {"ellipeinc", {1.5707963267948966, 1}, {1, 0}, 6.1232339957367659e-17},
                    {"ellipeinc", {1.5707961589150372, 0.9999999999218583}, {0, 2}, -3138566936.4273696},
                    {"ellipeinc", {3, 1}, {0, 0}, 1.8588799919401328},
                    {"ellipeinc", {-7.5, 1}, {0, 0}, -4.9379999767747389},
                    {"ellipkinc", {2e-8, 9e-14}, {2, 0}, 1.8e-21},
                    {"ellipkinc", {4.7123889803846897, 1 - 0x1p-40}, {0, 0}, 45.74771391677349},
                    {"erfcinv", {1e-3}, {2}, 184171.549852782579},
                    {"erfcinv", {1e-150}, {2}, 2.69622988480704753e298},
                    {"erfcinv", {-0.0}, {1}, -infinity},
                    {"ndtri", {1e-3}, {2}, -272572.26226809666},
                    {"ndtri", {1e-3}, {3}, 526516261.097652343},
                    {"ndtri", {1e-150}, {2}, -3.81688782913435737e298},
                    {"ndtri", {-0.0}, {1}, infinity},
                    {"k1", {-0.0}, {1}, -infinity},
                    {"k1", {0}, {2}, infinity},
                    {"k1", {-0.0}, {2}, infinity}};

}  // namespace

TEST_CASE("special functions keep their digits where terms nearly cancel") {
  for (const Row& r : rows) {
    const double got = partial_at(functions.at(r.function), r.at, r.orders);
    if (got == r.value) continue;
    INFO(r.function << " at " << r.at[0] << ", ...: " << got << ", not " << r.value);
    CHECK(std::abs(got - r.value) <= 1e-13 * std::abs(r.value));
  }
}

TEST_CASE("special functions at infinity outside of their domain") {
  for (const int branch : {0, -1}) CHECK(std::isnan(lambertw(-infinity, branch).item()));
  CHECK(lambertw(infinity).item() == infinity);
}

TEST_CASE("logarithms of the beta distribution's tails keep their digits for small parameters") {
  CHECK(beta_logsf(1.5e-5, 1e-8, 19.5).item() == Approx(std::log(7.5859675505492657e-8)).epsilon(1e-15));
  CHECK(beta_logcdf(1.5e-5, 1e-8, 19.5).item() == Approx(-7.5859678382839497e-8).epsilon(1e-13));
  CHECK(beta_logcdf(0.99997, 4.5, 4e-10).item() == Approx(std::log(3.3793326276310063e-9)).epsilon(1e-15));
}
