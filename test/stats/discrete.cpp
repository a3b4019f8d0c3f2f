// Quantiles and samples of the discrete distributions of <reel/stats.hpp>, and derivatives of large numbers and at tiny
// p. The op table checks quantiles in every mode.
#include <cmath>
#include <functional>
#include <map>
#include <reel/ops/sorting.hpp>
#include <reel/reel.hpp>
#include <reel/stats.hpp>
#include <string>

#include "catch.hpp"
#include "support/numbers.hpp"

using namespace reel;
using namespace support;

namespace {

using Scalars = std::vector<Tensor>;
using Call = std::function<Tensor(const Scalars&)>;

#define ONE(name)                                            \
  {                                                          \
#name, [](const Scalars& x) { return name(x[0], x[1]); } \
  }
#define TWO(name)                                                  \
  {                                                                \
#name, [](const Scalars& x) { return name(x[0], x[1], x[2]); } \
  }
const std::map<std::string, Call> functions = {
    ONE(poisson_cdf), ONE(bernoulli_cdf), ONE(geom_cdf), TWO(binom_cdf), TWO(nbinom_cdf),
    ONE(poisson_ppf), ONE(bernoulli_ppf), ONE(geom_ppf), TWO(binom_ppf), TWO(nbinom_ppf),
    ONE(poisson_sf),  ONE(bernoulli_sf),  ONE(geom_sf),  TWO(binom_sf),  TWO(nbinom_sf),
    ONE(poisson_isf), ONE(bernoulli_isf), ONE(geom_isf), TWO(binom_isf), TWO(nbinom_isf)};

}  // namespace

TEST_CASE("discrete distributions: quantiles; that of the probability of k is k") {
  struct Row {
    const char* distribution;
    Doubles parameters, quantiles;
  };
  const Doubles q = {1e-12, 0.25, 0.5, 0.9375, 0.999999999};
  const Row rows[] = {{"poisson", {0.5}, {0, 0, 0, 2, 9}},
                      {"poisson", {7.25}, {0, 5, 7, 12, 28}},
                      {"poisson", {1234.5}, {996, 1211, 1234, 1289, 1451}},
                      {"poisson", {1e9}, {999777558, 999978671, 1e9, 1000048513, 1000189673}},
                      {"binom", {1, 0.25}, {0, 0, 0, 1, 1}},
                      {"binom", {10, 0.375}, {0, 3, 4, 6, 10}},
                      {"binom", {1000, 0.001}, {0, 0, 1, 3, 11}},
                      {"binom", {100000, 0.75}, {74033, 74908, 75000, 75210, 75818}},
                      {"nbinom", {0.5, 0.25}, {0, 0, 0, 6, 65}},
                      {"nbinom", {12.5, 0.875}, {0, 1, 2, 4, 17}},
                      {"nbinom", {3000, 0.0625}, {39279, 44425, 44995, 46309, 50271}},
                      {"geom", {0.5}, {1, 1, 1, 4, 30}},
                      {"geom", {0.0625}, {1, 5, 11, 43, 322}},
                      {"geom", {1e-6}, {1, 287682, 693147, 2772588, 20723256}},
                      {"bernoulli", {0.25}, {0, 0, 0, 1, 1}},
                      {"bernoulli", {0.75}, {0, 0, 1, 1, 1}}};
  for (const Row& row : rows) {
    const std::string distribution = row.distribution;
    const auto of = [&](const char* function, double x, DType d = DType::float64) {
      Scalars all = {scalar(x)};
      for (const double p : row.parameters) all.push_back(scalar(p));
      for (Tensor& t : all) t = cast(t, d);
      return cast(functions.at(distribution + function)(all), DType::float64).item();
    };
    const bool from_1 = distribution == "geom";
    INFO(distribution << " " << row.parameters[0]);
    CHECK(of("_ppf", 0) == (from_1 ? 0 : -1));
    CHECK(of("_isf", 1) == (from_1 ? 0 : -1));
    CHECK(of("_isf", 0) == of("_ppf", 1));
    CHECK(of("_ppf", 1) == (distribution == "binom" ? row.parameters[0] : distribution == "bernoulli" ? 1 : inf));
    for (std::size_t i = 0; i < q.size(); ++i) {
      const double k = row.quantiles[i], p = of("_cdf", k);
      INFO(q[i]);
      CHECK(of("_ppf", q[i]) == k);
      CHECK(of("_ppf", p) == k);
      if (k > (from_1 ? 1 : 0) && of("_cdf", k - 1) < p) CHECK(of("_ppf", std::nextafter(of("_cdf", k - 1), 2.)) == k);
      const double tail = of("_sf", k);
      if (tail > 0) CHECK(of("_isf", tail) == k);
      if (tail < 1 && of("_sf", k - 1) > tail) CHECK(of("_isf", std::nextafter(of("_sf", k - 1), 0.)) == k);
      for (const DType d : {DType::float16, DType::bfloat16, DType::float32}) {
        const double narrow = of("_cdf", k, d), beyond = of("_sf", k, d);
        if (k < 100 && of("_cdf", k - 1, d) < narrow) CHECK(of("_ppf", narrow, d) == k);
        if (k < 100 && beyond > 0 && of("_sf", k - 1, d) > beyond) CHECK(of("_isf", beyond, d) == k);
      }
    }
  }
  // Distributions with one possible number.
  CHECK(poisson_ppf(tensor({0.5, 1}), 0).to_vector() == Doubles{0, 0});
  CHECK(binom_ppf(scalar(0.25), 7, 1).item() == 7);
  CHECK(binom_ppf(scalar(0.25), 0, 0.5).item() == 0);
  CHECK(nbinom_ppf(scalar(1.0), 2, 1).item() == 0);
  CHECK(geom_ppf(scalar(0.25), 1).item() == 1);
  CHECK(bernoulli_ppf(scalar(0.25), 1).item() == 1);
}

// References: sums of mpmath's probabilities.
TEST_CASE("discrete distributions: quantiles of tiny upper tails") {
  const Tensor q = tensor({1e-300, 1e-30, 1e-12});
  CHECK(poisson_isf(q, 7.25).to_vector() == Doubles{262, 56, 33});
  CHECK(binom_isf(q, 1000, 0.25).to_vector() == Doubles{808, 416, 350});
  CHECK(nbinom_isf(q, 2.5, 0.375).to_vector() == Doubles{1489, 159, 68});
  CHECK(geom_isf(q, 0.125).to_vector() == Doubles{5174, 518, 207});
  CHECK(bernoulli_isf(q, 1e-20).to_vector() == Doubles{1, 1, 0});
  // Those of huge numbers are those of a limit distribution.
  CHECK(binom_isf(q, 1e300, 1e-298).to_vector() == poisson_isf(q, 100).to_vector());
  CHECK(largest((binom_isf(q, 1e20, 0.5) - 5e19) / (norm_isf(q) * 5e9) - 1) < 1e-5);
  CHECK(largest(nbinom_isf(q, 2.5, 1e-300) / (gamma_isf(q, 2.5) * 1e300) - 1) < 1e-15);
}

TEST_CASE("discrete distributions: quantiles of huge numbers are those of a limit distribution, to the last number") {
  const Tensor q = tensor({1e-12, 0.25, 0.9375});
  CHECK(binom_ppf(q, 1e11, 0.5).to_vector() == Doubles{49998887750, 49999893354, 50000242566});
  CHECK(nbinom_ppf(q, 3e8, 0.5).to_vector() == Doubles{299827715, 299983478, 300037579});
  CHECK(binom_ppf(q, 1e300, 1e-298).to_vector() == poisson_ppf(q, 100).to_vector());
  CHECK(largest(nbinom_ppf(q, 2.5, 1e-300) / (gamma_ppf(q, 2.5) * 1e300) - 1) < 1e-15);
  CHECK(nbinom_ppf(scalar(0.25), 2.5, 1e-9).item() == 1337301403);
  // The deviation of 1e100 trials is 5e49; the median of an even number of them is their half.
  CHECK(binom_ppf(q, 1e100, 0.5).to_vector() == Doubles(3, 5e99));
  CHECK(binom_ppf(scalar(0.5), 1e16, 0.5).item() == 5e15);
  CHECK(largest((binom_ppf(q, 1e20, 0.5) - 5e19) / (norm_ppf(q) * 5e9) - 1) < 1e-5);
  CHECK(largest((nbinom_ppf(q, 1e20, 0.5) - 1e20) / (norm_ppf(q) * std::sqrt(2e20)) - 1) < 1e-5);
}

// Neither a search nor a rejection takes long: all of this is some milliseconds.
TEST_CASE("quantiles and samples at extreme parameters are in the support, or NaN, at once") {
  const Tensor extremes =
      tensor({0., 5e-324, 1e-300, 1e-10, 0.5, 1, 1e10, 1e16, 1e100, 1e300, 1.7e308, inf, std::nan("")});
  const std::int64_t n = extremes.size();
  Generator generator(3);
  for (const DType d : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    INFO(d);
    const Tensor x = cast(extremes, d), a = reshape(x, {n, 1}), b = reshape(x, {n, 1, 1});
    const auto holds = [](const Tensor& condition) { return all(condition).item<bool>(); };
    for (const Tensor& y : {poisson_ppf(x, a), nbinom_ppf(x, b, a), binom_ppf(x, b, a)}) {
      const Tensor valid = logical_and(greater_equal(y, -1), equal(y, floor(y)));
      CHECK(holds(logical_or(isnan(y), valid)));
    }
    for (const Tensor& y : {poisson_isf(x, a), nbinom_isf(x, b, a), binom_isf(x, b, a)})
      CHECK(holds(logical_or(isnan(y), logical_and(greater_equal(y, -1), equal(y, floor(y))))));
    const Tensor chance = logical_and(greater_equal(a, 0), less_equal(a, 1));
    const Tensor defined = logical_and(logical_and(chance, less_equal(x, 1)), less(b, inf));
    CHECK(holds(equal(isnan(binom_ppf(x, b, a)), logical_not(logical_and(defined, equal(b, floor(b)))))));
    for (const Tensor& y : {binom_rvs(generator, {n, n}, x, a, d), nbinom_rvs(generator, {n, n}, x, a, d)})
      CHECK(holds(logical_or(isnan(y), greater_equal(y, 0))));
    CHECK(holds(equal(isnan(vonmises_rvs(generator, {n}, x, 0, d)), isnan(x * 0))));
    const Tensor df = logical_and(greater(x, 0), less(x, inf));
    CHECK(holds(equal(isnan(t_rvs(generator, {n}, x, 0, 1, d)), logical_not(df))));
    CHECK(holds(equal(isnan(gamma_rvs(generator, {n}, x, 0, 1, d)), logical_not(df))));
    CHECK(holds(equal(isnan(t_ppf(0.25, x)), logical_not(greater(x, 0)))));
    const Tensor known = logical_and(logical_not(isnan(x)), logical_and(greater(a, 0), less(a, inf)));
    for (const Tensor& y : {gamma_ilogcdf(-x, a), gamma_ilogsf(-x, a), t_ilogcdf(-x, a), vonmises_ilogcdf(-x, a)})
      CHECK(holds(logical_or(logical_not(known), logical_not(isnan(y)))));
  }
}

#if defined(__x86_64__)
// As a host may set it, and other systems start threads.
struct X87WithDoublePrecision {
  std::uint16_t before = 0;
  X87WithDoublePrecision() {
    __asm__ volatile("fnstcw %0" : "=m"(before));
    const auto control = static_cast<std::uint16_t>((before & ~0x300) | 0x200);
    __asm__ volatile("fldcw %0" : : "m"(control));
  }
  ~X87WithDoublePrecision() { __asm__ volatile("fldcw %0" : : "m"(before)); }
};

TEST_CASE("quantiles of huge numbers end where long double is computed with the digits of double") {
  const X87WithDoublePrecision precision;
  const Tensor p = tensor({1e-10, 0.3, 0.9}), n = tensor({1e16, 1e17, 1e100});
  for (const Tensor& y : {poisson_ppf(p, 1e17), binom_ppf(p, n, 0.25), nbinom_ppf(p, n, 0.25)})
    CHECK(all(logical_and(greater(y, 0), equal(y, floor(y)))).item<bool>());
}
#endif

TEST_CASE("discrete distributions: samples follow their distribution functions") {
  struct Row {
    const char* distribution;
    Doubles parameters;
    Tensor (*draw)(Generator& g, const Shape& s, const Scalars& p, DType d);
  };
  const Row rows[] = {
      {"poisson",
       {3.5},
       [](Generator& g, const Shape& s, const Scalars& p, DType d) { return poisson_rvs(g, s, p[0], d); }},
      {"poisson",
       {1e6},
       [](Generator& g, const Shape& s, const Scalars& p, DType d) { return poisson_rvs(g, s, p[0], d); }},
      {"binom",
       {12, 0.25},
       [](Generator& g, const Shape& s, const Scalars& p, DType d) { return binom_rvs(g, s, p[0], p[1], d); }},
      {"nbinom",
       {2.5, 0.375},
       [](Generator& g, const Shape& s, const Scalars& p, DType d) { return nbinom_rvs(g, s, p[0], p[1], d); }},
      {"bernoulli",
       {0.25},
       [](Generator& g, const Shape& s, const Scalars& p, DType d) { return bernoulli_rvs(g, s, p[0], d); }},
      {"geom", {0.125}, [](Generator& g, const Shape& s, const Scalars& p, DType d) {
         return geom_rvs(g, s, p[0], d);
       }}};
  Generator generator(17);
  for (const Row& row : rows) {
    INFO(row.distribution);
    Scalars parameters;
    for (const double p : row.parameters) parameters.push_back(scalar(p));
    constexpr std::int64_t n = 2000;
    const Tensor x = sort(row.draw(generator, {n}, parameters, DType::float64));
    CHECK(array_equal(x, floor(x)));
    Scalars all = {x};
    all.insert(all.end(), parameters.begin(), parameters.end());
    // The share of samples up to each sample, against the distribution; 1.95 is exceeded once in a thousand.
    const Tensor up_to = cast(searchsorted(x, x, true), DType::float64) / static_cast<double>(n);
    CHECK(max(abs(functions.at(std::string(row.distribution) + "_cdf")(all) - up_to)).item() < 1.95 / std::sqrt(n));
    CHECK(row.draw(generator, {2, 3}, parameters, DType::float32).dtype() == DType::float32);
    CHECK(row.draw(generator, {2, 0}, parameters, DType::float16).shape() == Shape{2, 0});
    const std::uint64_t before = generator.position();
    CHECK_THROWS_AS(row.draw(generator, {2}, parameters, DType::int64), TypeError);
    parameters.back() = zeros({3});
    CHECK_THROWS_AS(row.draw(generator, {2}, parameters, DType::float64), ShapeError);
    CHECK(generator.position() == before);
    parameters.back() = scalar(-1.0);
    CHECK(std::isnan(row.draw(generator, {}, parameters, DType::float64).item()));
    const Tensor tracked = scalar(0.5);
    parameters.back() = tracked;
    GradientTape tape;
    tape.watch(tracked);
    CHECK_FALSE(tape.gradient(sum(row.draw(generator, {4}, parameters, DType::float64)), tracked));
  }
}

TEST_CASE("discrete distributions: derivatives at p = 0 and p = 1 of large numbers, in float64 and float32") {
  for (const DType d : {DType::float64, DType::float32})
    for (const double n : {1., 10., 1e3, 1e6, 1e9, 1e12}) {
      INFO(d << " " << n);
      const Tensor zero = zeros({}, d), one = ones({}, d);
      const double by_zero = grad([&](const Tensor&p) { return binom_pmf(1, n, p); })(zero).item(),
                   by_one = grad([&](const Tensor&p) { return nbinom_pmf(1, n, p); })(one).item();
      const double tolerance = d == DType::float64 ? 1e-13 : 5e-6;
      CHECK(by_zero == Approx(n).epsilon(tolerance));
      CHECK(by_one == Approx(-n).epsilon(tolerance));
    }
}

TEST_CASE("nbinom_logpmf: the gradient by n in float32, where the binomial coefficient overflows") {
  const auto slope = [](const Tensor& n) {
    return grad([](const Tensor& x) { return nbinom_logpmf(40, x, 0.25); })(n).item();
  };
  CHECK(slope(scalar(1e5f)) == Approx(slope(scalar(1e5))).epsilon(1e-5));
}

TEST_CASE("geom_logcdf: the gradient of a p that 1 - p rounds away is 1 / p") {
  for (const Tensor& p : {scalar(1e-17), scalar(1e-10f)})
    for (const double x : {1., 2., 7.})
      CHECK(grad([&](const Tensor& q) { return geom_logcdf(x, q); })(p).item() * p.item() == Approx(1).epsilon(1e-6));
}
