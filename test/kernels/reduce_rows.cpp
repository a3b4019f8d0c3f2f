// Reductions, argmax and argmin, scans and functions of rows, on every instruction set of this machine: values against
// long double, one order of summation for every stride, NaN and infinities.
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "catch.hpp"
#include "kernels/baseline/scan.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/reductions.hpp"
#include "kernels/rows.hpp"
#include "kernels/short_rows.hpp"
#include "support/numbers.hpp"

using namespace reel::kernels;
using reel::DType, reel::dtype_of;

namespace {

constexpr std::ptrdiff_t lengths[] = {1,   2,   3,   7,   8,   15,   16,   17,   31,   64,
                                      100, 127, 129, 511, 513, 1000, 1024, 1025, 4096, 50000};
constexpr std::size_t longest = 50000;

template <class T>
std::vector<T> numbers(double from, double to, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(3 * longest);
  for (T& e : x) e = static_cast<T>(std::uniform_real_distribution<double>(from, to)(random));
  return x;
}

template <class T>
T reduce(const Set& set, ReduceFunction kind, const T* p, std::ptrdiff_t stride, std::ptrdiff_t n) {
  T out;
  set.get<ReductionKernels>().of(kind, dtype_of<T>).run({p, stride}, n, &out);
  return out;
}

template <class T>
void check_sums(const Set& set) {
  const long double eps = std::numeric_limits<T>::epsilon();
  for (auto [from, to] : {std::pair(-1., 1.), {0., 1.}, {0.1, 0.1}, {1e-3, 1e3}}) {
    const std::vector<T> x = numbers<T>(from, to, 3), y = numbers<T>(-1, 2, 4);
    for (std::ptrdiff_t n : lengths) {
      long double sum = 0, magnitude = 0, dot = 0, dot_magnitude = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        const long double e = x[static_cast<std::size_t>(i)], product = e * y[static_cast<std::size_t>(i)];
        sum += e;
        magnitude += std::abs(e);
        dot += product;
        dot_magnitude += std::abs(product);
      }
      INFO(set.isa << ", " << n << " numbers of " << sizeof(T) << " bytes");
      CHECK(std::abs(reduce(set, ReduceFunction::sum, x.data(), 1, n) - sum) <= 4 * eps * magnitude);
      T out;
      set.get<ReductionKernels>().dot[index(dtype_of<T>)]({x.data(), 1}, {y.data(), 1}, n, &out);
      CHECK(std::abs(out - dot) <= 4 * eps * dot_magnitude);
    }
  }
}

template <class T>
void check_order(const Set& set) {
  const std::vector<T> x = numbers<T>(0.9, 1.1, 5);
  for (ReduceFunction kind : {ReduceFunction::sum, ReduceFunction::prod, ReduceFunction::max, ReduceFunction::min})
    for (std::ptrdiff_t n : lengths) {
      INFO(set.isa << ", reduction " << int(kind) << " of " << n);
      // Every third element, backwards, and the same elements made contiguous, at an odd address.
      std::vector<T> y(static_cast<std::size_t>(n) + 1);
      const T* last = x.data() + 3 * (n - 1);
      for (std::ptrdiff_t i = 0; i < n; ++i) y[static_cast<std::size_t>(i) + 1] = last[-3 * i];
      CHECK(reduce(set, kind, last, -3, n) == reduce(set, kind, y.data() + 1, 1, n));
      long double expected = y[1];
      for (std::ptrdiff_t i = 1; i < n; ++i) {
        const long double e = y[static_cast<std::size_t>(i) + 1];
        expected = kind == ReduceFunction::sum    ? expected + e
                   : kind == ReduceFunction::prod ? expected * e
                   : kind == ReduceFunction::max  ? std::max(expected, e)
                                                  : std::min(expected, e);
      }
      if (n <= 4096)
        CHECK(std::abs(reduce(set, kind, y.data() + 1, 1, n) / expected - 1) <=
              static_cast<long double>(n) * std::numeric_limits<T>::epsilon());
      // A broadcast operand.
      std::vector<T> same(static_cast<std::size_t>(n), x[0]);
      CHECK(reduce(set, kind, x.data(), 0, n) == reduce(set, kind, same.data(), 1, n));
      // merge combines two operands.
      std::vector<T> acc(x.begin(), x.begin() + n);
      set.get<ReductionKernels>().of(kind, dtype_of<T>).merge(acc.data(), y.data() + 1, n);
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        const T two[] = {x[static_cast<std::size_t>(i)], y[static_cast<std::size_t>(i) + 1]};
        if (acc[static_cast<std::size_t>(i)] != reduce(set, kind, two, 1, 2)) {
          CHECK(acc[static_cast<std::size_t>(i)] == reduce(set, kind, two, 1, 2));
          break;
        }
      }
    }
}

template <class T>
void check_nan(const Set& set) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const auto& argmax = set.get<ReductionKernels>().argmax[index(dtype_of<T>)];
  const auto& argmin = set.get<ReductionKernels>().argmin[index(dtype_of<T>)];
  for (std::ptrdiff_t n : {1, 2, 5, 16, 40, 1000, 2100})
    for (std::ptrdiff_t at : {std::ptrdiff_t(0), n / 2, n - 1}) {
      INFO(set.isa << ", " << n << " elements, NaN at " << at);
      std::vector<T> x(static_cast<std::size_t>(2 * n), T(1));
      T* p = x.data();
      std::int64_t found;
      // Of equal extremes the first counts.
      p[at] = 2;
      if (n > at + 3) p[at + 2] = 2;
      argmax({p, 1}, n, 1, &found);
      CHECK(found == at);
      p[at] = -2;
      argmin({p, 1}, n, 1, &found);
      CHECK(found == at);
      // A NaN is the maximum and the minimum.
      p[at] = nan;
      CHECK(std::isnan(reduce(set, ReduceFunction::max, p, 1, n)));
      CHECK(std::isnan(reduce(set, ReduceFunction::min, p, 1, n)));
      if (n - 1 > at) p[n - 1] = nan;
      argmax({p, 1}, n, 1, &found);
      CHECK(found == at);
      argmin({p, 1}, n, 1, &found);
      CHECK(found == at);
      std::fill(x.begin(), x.end(), T(5));
      p[2 * at] = 9;
      argmax({p, 2}, n, 1, &found);
      CHECK(found == at);
      argmin({p + 2 * (n - 1), -2}, n, 1, &found);
      CHECK(found == (at == n - 1 && n > 1 ? 1 : 0));
    }
}

void run(RowLoop kernel, std::initializer_list<const void*> in, void* out, std::ptrdiff_t n, std::ptrdiff_t rows = 1) {
  const void* operands[6] = {};  // absent ones are null
  std::copy(in.begin(), in.end(), operands);
  kernel(operands, out, n, rows);
}

// Columns of a matrix, in every lane, have the results of the same numbers as rows.
template <class T>
void check_columns(const Set& set) {
  const Rows& rows = set.get<RowKernels>()[dtype_of<T>];
  const std::vector<T> x = numbers<T>(-20, 20, 6), g = numbers<T>(-1, 1, 8);
  for (std::ptrdiff_t n : {1, 2, 8, 9, 70, 700})
    for (std::ptrdiff_t columns : {1, 3, 16, 37}) {
      const auto size = static_cast<std::size_t>(n * columns), count = static_cast<std::size_t>(columns);
      const auto turned = [&](const std::vector<T>& v) {
        std::vector<T> t(size);
        for (std::size_t i = 0; i < size; ++i) t[i] = v[i % count * static_cast<std::size_t>(n) + i / count];
        return t;
      };
      INFO(set.isa << ", " << columns << " columns of " << n << " numbers of " << sizeof(T) << " bytes");
      const auto check = [&](const RowOrColumnLoop& loop, std::initializer_list<const std::vector<T>*> in, bool whole) {
        const void *by_row[4] = {}, *by_column[4] = {};
        std::vector<T> held[4], expected(size), got(size + 1, T(77));
        std::size_t k = 0;
        for (const std::vector<T>* v : in) {
          by_row[k] = v->data();
          held[k] = v->size() == count ? *v : turned(*v);
          by_column[k] = held[k].data();
          ++k;
        }
        loop.rows(by_row, expected.data(), n, columns);
        loop.columns(by_column, got.data(), n, columns);
        if (whole) expected = turned(expected);
        T worst = 0;
        for (std::size_t i = 0; i < (whole ? size : count); ++i)
          worst = support::worse(worst, std::abs(got[i] - expected[i]) / (1 + std::abs(expected[i])));
        CHECK(worst <= 64 * std::numeric_limits<T>::epsilon());
        CHECK(got[whole ? size : count] == 77);  // memory behind the results is unchanged
      };
      const std::vector<T> xs(x.begin(), x.begin() + n * columns), gs(g.begin(), g.begin() + n * columns);
      std::vector<T> z(size), each(g.begin(), g.begin() + columns), most(count), sums(count);
      check(rows.softmax, {&xs}, true);
      check(rows.log_softmax, {&xs}, true);
      check(rows.logsumexp, {&xs}, false);
      run(rows.softmax, {xs.data()}, z.data(), n, columns);
      check(rows.softmax_vjp, {&gs, &z}, true);
      run(rows.log_softmax, {xs.data()}, z.data(), n, columns);
      check(rows.log_softmax_vjp, {&gs, &z}, true);
      run(rows.logsumexp, {xs.data(), most.data(), sums.data()}, z.data(), n, columns);
      check(rows.logsumexp_vjp, {&each, &xs, &most, &sums}, true);
      check(rows.logsumexp_vjp, {&each, &xs, &most}, true);
    }
}

template <class T>
void check_rows(const Set& set) {
  const Rows& rows = set.get<RowKernels>()[dtype_of<T>];
  const long double eps = std::numeric_limits<T>::epsilon();
  for (std::ptrdiff_t n : {1, 2, 3, 8, 10, 17, 100, 1000, 5000}) {
    const std::vector<T> x = numbers<T>(-20, 20, 6), g = numbers<T>(-1, 1, 8);
    const auto at = [&](const std::vector<T>& v, std::ptrdiff_t i) {
      return static_cast<long double>(v[static_cast<std::size_t>(i)]);
    };
    std::vector<T> z(static_cast<std::size_t>(n)), out(z);
    long double total = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) total += std::exp(at(x, i));
    T lse, alone, most, exponentials;
    run(rows.logsumexp, {x.data()}, &alone, n);
    run(rows.logsumexp, {x.data(), &most, &exponentials}, &lse, n);
    INFO(set.isa << ", rows of " << n << " numbers of " << sizeof(T) << " bytes");
    CHECK(std::abs(lse - std::log(total)) <= 4 * eps * std::abs(std::log(total)));
    CHECK(alone == lse);
    CHECK(most == *std::max_element(x.begin(), x.begin() + n));
    CHECK(std::abs(exponentials - total / std::exp(static_cast<long double>(most))) <= 8 * eps * exponentials);
    const auto largest_error = [&](const std::vector<T>& got, auto expected) {
      long double worst = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) worst = support::worse(worst, std::abs(at(got, i) - expected(i)));
      return worst;
    };
    run(rows.softmax, {x.data()}, z.data(), n);
    CHECK(largest_error(z, [&](std::ptrdiff_t i) { return std::exp(at(x, i)) / total; }) <= 8 * eps);
    long double dot = 0, sum = 0;
    for (std::ptrdiff_t i = 0; i < n; ++i) dot += at(g, i) * at(z, i), sum += at(g, i);
    run(rows.softmax_vjp, {g.data(), z.data()}, out.data(), n);
    CHECK(largest_error(out, [&](std::ptrdiff_t i) { return at(z, i) * (at(g, i) - dot); }) <= 8 * eps);
    run(rows.log_softmax, {x.data()}, z.data(), n);
    CHECK(largest_error(z, [&](std::ptrdiff_t i) { return at(x, i) - std::log(total); }) <= 4 * eps * 64);
    run(rows.log_softmax_vjp, {g.data(), z.data()}, out.data(), n);
    CHECK(largest_error(out, [&](std::ptrdiff_t i) { return at(g, i) - std::exp(at(z, i)) * sum; }) <=
          64 * eps * (1 + std::abs(sum)));
    run(rows.logsumexp_vjp, {g.data(), x.data(), &most, &exponentials}, out.data(), n);
    CHECK(largest_error(out, [&](std::ptrdiff_t i) { return at(g, 0) * std::exp(at(x, i)) / total; }) <= 8 * eps);
    // In place.
    std::vector<T> place(x.begin(), x.begin() + n), apart(z);
    run(rows.softmax, {x.data()}, apart.data(), n);
    run(rows.softmax, {place.data()}, place.data(), n);
    CHECK(place == apart);
  }

  const T inf = std::numeric_limits<T>::infinity();
  T out[3], lse;
  const auto evaluate = [&](std::vector<T> x) {
    run(rows.softmax, {x.data()}, out, static_cast<std::ptrdiff_t>(x.size()));
    run(rows.logsumexp, {x.data()}, &lse, static_cast<std::ptrdiff_t>(x.size()));
  };
  evaluate({-inf, -inf, -inf});
  CHECK(lse == -inf);
  CHECK((std::isnan(out[0]) && std::isnan(out[2])));
  evaluate({-inf, 3, -inf});
  CHECK(lse == 3);
  CHECK((out[0] == 0 && out[1] == 1 && out[2] == 0));
  evaluate({0, inf, 1});
  CHECK(lse == inf);
  CHECK(std::isnan(out[1]));
  evaluate({0, std::numeric_limits<T>::quiet_NaN(), 1});
  CHECK(std::isnan(lse));
  evaluate({1000, 1000, -1000});
  CHECK((out[0] == T(.5) && out[1] == T(.5) && out[2] == 0));
  // log_softmax is accurate near 0, beside a dominant term.
  const std::vector<T> dominant{0, 40, 0};
  run(rows.log_softmax, {dominant.data()}, out, 3);
  CHECK(std::abs(out[1] / (-2 * std::exp(-40.L)) - 1) < 64 * eps);
  CHECK(out[0] == T(-40));
}

// A row has the same bits alone and among any number of rows, of any length, and neighbours are not changed. The losses
// have the right values.
template <class T>
void check_many_rows(const Set& set) {
  const Rows& rows = set.get<RowKernels>()[dtype_of<T>];
  const long double eps = std::numeric_limits<T>::epsilon();
  for (std::ptrdiff_t n : {1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 31, 32, 33, 64, 70})
    for (std::ptrdiff_t count : {1, 2, 5, 8, 16, 19, 35}) {
      INFO(set.isa << ", " << count << " rows of " << n << " numbers of " << sizeof(T) << " bytes");
      const std::vector<T> x = numbers<T>(-9, 9, 16), y = numbers<T>(0, 1, 17), each = numbers<T>(.5, 2, 18);
      std::vector<std::int64_t> label;
      for (std::ptrdiff_t r = 0; r < count; ++r) label.push_back(r % 4 == 3 ? -1 : (7 * r) % n);
      const T epsilon = T(.01);
      struct Operand {
        const void* data;
        std::size_t bytes;
      };
      const std::size_t row = static_cast<std::size_t>(n) * sizeof(T), one = sizeof(T);
      const auto check = [&](const char* name, RowLoop kernel, std::vector<Operand> in, std::ptrdiff_t width) {
        std::vector<T> together(static_cast<std::size_t>(count * width + 1), T(77)), alone(together);
        const auto at = [&](std::ptrdiff_t r) {
          std::vector<const void*> p;
          for (const Operand& o : in)
            p.push_back(static_cast<const char*>(o.data) + static_cast<std::size_t>(r) * o.bytes);
          p.resize(6);
          return p;
        };
        kernel(at(0).data(), together.data(), n, count);
        for (std::ptrdiff_t r = 0; r < count; ++r) kernel(at(r).data(), alone.data() + r * width, n, 1);
        INFO(name);
        CHECK(std::memcmp(together.data(), alone.data(), together.size() * sizeof(T)) == 0);
        return together;
      };
      const Operand xs{x.data(), row}, ys{y.data(), row}, scalars{each.data(), one}, labels{label.data(), 8};
      check("softmax", rows.softmax, {xs}, n);
      check("log_softmax", rows.log_softmax, {xs}, n);
      const std::vector<T> lse = check("logsumexp", rows.logsumexp, {xs}, 1);
      check("softmax_vjp", rows.softmax_vjp, {xs, ys}, n);
      check("log_softmax_vjp", rows.log_softmax_vjp, {xs, ys}, n);
      check("logsumexp_vjp", rows.logsumexp_vjp, {scalars, xs, scalars}, n);
      check("logsumexp_vjp, sum", rows.logsumexp_vjp, {scalars, xs, scalars, scalars}, n);
      const std::vector<T> dense = check("cross_entropy", rows.cross_entropy, {xs, ys}, 1);
      check("cross_entropy_labels_vjp", rows.cross_entropy_labels_vjp, {scalars, xs}, n);
      const std::vector<T> dense_slope = check("cross_entropy_vjp", rows.cross_entropy_vjp, {scalars, xs, ys}, n);
      const std::vector<T> sparse = check("sparse_cross_entropy", rows.sparse_cross_entropy, {xs, labels}, 1);
      const std::vector<T> sparse_slope =
          check("sparse_cross_entropy_vjp", rows.sparse_cross_entropy_vjp, {scalars, xs, labels}, n);
      check("layer_norm", rows.layer_norm, {xs, {&epsilon, 0}, {nullptr, 0}, {nullptr, 0}}, n);
      check("layer_norm", rows.layer_norm, {xs, {&epsilon, 0}, {y.data(), 0}, {each.data(), 0}}, n);
      check("sum", rows.sum, {xs}, 1);
      check("squares", rows.squares, {xs, scalars}, 1);
      check("products", rows.products, {xs, ys, scalars}, 1);
      check("scale", rows.scale, {xs, scalars, scalars, scalars}, n);
      check("scale_vjp", rows.scale_vjp, {xs, ys, scalars, scalars, scalars, scalars}, n);
      long double worst = 0;
      for (std::ptrdiff_t r = 0; r < count; ++r) {
        const auto v = [&](const std::vector<T>& a, std::ptrdiff_t i) {
          return static_cast<long double>(a[static_cast<std::size_t>(r * n + i)]);
        };
        const auto k = static_cast<std::size_t>(r);
        long double total = 0, of_labels = 0, expected = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i) total += std::exp(v(x, i)), of_labels += v(y, i);
        const long double logarithm = std::log(total), g = each[k];
        for (std::ptrdiff_t i = 0; i < n; ++i) expected += v(y, i) * (logarithm - v(x, i));
        const long double chosen = label[k] < 0 ? 0 : logarithm - v(x, label[k]);
        worst =
            support::worse(worst, std::abs(lse[k] - logarithm) / 10,
                           std::abs(dense[k] - expected) / (10 * (1 + of_labels)), std::abs(sparse[k] - chosen) / 20);
        for (std::ptrdiff_t i = 0; i < n; ++i) {
          const long double share = std::exp(v(x, i)) / total;
          const long double hit = label[k] < 0 ? 0 : share - (label[k] == i ? 1 : 0);
          worst =
              support::worse(worst, std::abs(v(dense_slope, i) - g * (share * of_labels - v(y, i))) / (1 + of_labels),
                             std::abs(v(sparse_slope, i) - g * hit));
        }
      }
      CHECK(worst <= 8 * eps);
    }
}

template <class T>
void check_integers(const Set& set, DType type) {
  std::mt19937 random(9);
  std::vector<T> x(700);
  for (T& e : x) e = static_cast<T>(random());
  for (std::ptrdiff_t stride : {1, 2, -1, 0})
    for (std::ptrdiff_t n : {1, 2, 33, 200}) {
      const T* p = x.data() + 300;
      std::uint64_t sum = 0, prod = 1;
      T greatest = *p, least = *p;
      std::int64_t at_greatest = 0, at_least = 0;
      for (std::ptrdiff_t i = 0; i < n; ++i) {
        const T e = p[i * stride];
        sum += static_cast<std::uint64_t>(e);
        prod *= static_cast<std::uint64_t>(e);
        if (e > greatest) greatest = e, at_greatest = i;
        if (e < least) least = e, at_least = i;
      }
      T out;
      std::int64_t found;
      const auto run = [&](ReduceFunction kind) {
        set.get<ReductionKernels>().of(kind, type).run({p, stride}, n, &out);
        return out;
      };
      CHECK(run(ReduceFunction::max) == greatest);
      CHECK(run(ReduceFunction::min) == least);
      CHECK(run(ReduceFunction::sum) == static_cast<T>(sum));
      CHECK(run(ReduceFunction::prod) == static_cast<T>(prod));
      set.get<ReductionKernels>().argmax[index(type)]({p, stride}, n, 1, &found);
      CHECK(found == at_greatest);
      set.get<ReductionKernels>().argmin[index(type)]({p, stride}, n, 1, &found);
      CHECK(found == at_least);
    }
}

// Rows merged together have the bits of rows merged one after the other, and nothing after the last is changed.
template <class T>
void check_merging(const Set& set) {
  std::vector<T> x = numbers<T>(-2, 2, 11);
  x[5] = std::numeric_limits<T>::quiet_NaN();
  for (ReduceFunction kind : {ReduceFunction::sum, ReduceFunction::prod, ReduceFunction::max, ReduceFunction::min})
    for (std::ptrdiff_t n : {1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 100, 127, 129, 511, 1000})
      for (std::ptrdiff_t count : {1, 2, 5, 8}) {
        const Reduction& r = set.get<ReductionKernels>().of(kind, dtype_of<T>);
        const void* rows[8];
        for (std::ptrdiff_t i = 0; i < count; ++i) rows[i] = x.data() + i * (n + 1);
        std::vector<T> expected(x.begin(), x.begin() + n), out(static_cast<std::size_t>(n) + 1, T(-7));
        for (std::ptrdiff_t i = 1; i < count; ++i) r.merge(expected.data(), rows[i], n);
        r.merge_all(rows, count, out.data(), n);
        INFO(set.isa << ", " << count << " rows of " << n << " numbers of " << sizeof(T) << " bytes");
        for (std::size_t i = 0; i < expected.size(); ++i)
          CHECK((out[i] == expected[i] || (std::isnan(out[i]) && std::isnan(expected[i]))));
        CHECK(out.back() == -7);
      }
}

}  // namespace

TEST_CASE("a sum and a dot product are within 4 eps of the sum of their terms' magnitudes") {
  for (const Set* set : supported_sets()) {
    check_sums<float>(*set);
    check_sums<double>(*set);
  }
}

TEST_CASE("a reduction's order depends on the number of elements alone") {
  for (const Set* set : supported_sets()) {
    check_order<float>(*set);
    check_order<double>(*set);
  }
}

TEST_CASE("merging many rows at once has the bits of merging them in turn") {
  for (const Set* set : supported_sets()) {
    check_merging<float>(*set);
    check_merging<double>(*set);
  }
}

TEST_CASE("extremes: NaN wins, argmax and argmin return the first of equal elements") {
  for (const Set* set : supported_sets()) {
    check_nan<float>(*set);
    check_nan<double>(*set);
  }
}

TEST_CASE("reductions of integers are exact modulo 2^n") {
  for (const Set* set : supported_sets()) {
    check_integers<std::uint8_t>(*set, DType::uint8);
    check_integers<std::int32_t>(*set, DType::int32);
    check_integers<std::int64_t>(*set, DType::int64);
    const std::uint8_t bytes[] = {0, 0, 1, 0};
    std::uint8_t out;
    set->get<ReductionKernels>().of(ReduceFunction::max, DType::boolean).run({bytes, 1}, 4, &out);
    CHECK(+out == 1);
    set->get<ReductionKernels>().of(ReduceFunction::max, DType::boolean).run({bytes, 1}, 2, &out);
    CHECK(+out == 0);
    set->get<ReductionKernels>().of(ReduceFunction::min, DType::boolean).run({bytes + 2, 1}, 1, &out);
    CHECK(+out == 1);
    set->get<ReductionKernels>().of(ReduceFunction::min, DType::boolean).run({bytes, 1}, 4, &out);
    CHECK(+out == 0);
    CHECK(set->get<ReductionKernels>().of(ReduceFunction::sum, DType::boolean).run == nullptr);
  }
}

TEST_CASE("softmax, log_softmax, logsumexp of a row and their vjps", "[once][values]") {
  for (const Set* set : supported_sets()) {
    check_rows<float>(*set);
    check_columns<float>(*set);
    check_rows<double>(*set);
    check_columns<double>(*set);
    check_many_rows<float>(*set);
    check_many_rows<double>(*set);
  }
}

TEST_CASE("scans run in order, with any stride, also in place") {
  double x[] = {1, 2, 3, 4, 5}, out[10] = {};
  cumsum(DType::float64)({x, 1}, out, 2, 5, 1, 0);
  CHECK((out[0] == 1 && out[2] == 3 && out[4] == 6 && out[6] == 10 && out[8] == 15 && out[1] == 0));
  cumprod(DType::float64)({x + 4, -1}, out, 1, 5, 1, 0);
  CHECK((out[0] == 5 && out[1] == 20 && out[2] == 60 && out[3] == 120 && out[4] == 120));
  cumsum(DType::float64)({x, 1}, x, 1, 5, 1, 0);
  CHECK(x[4] == 15);
  std::int32_t whole[] = {2147483647, 1};
  cumsum(DType::int32)({whole, 1}, whole, 1, 2, 1, 0);
  CHECK(whole[1] == std::numeric_limits<std::int32_t>::min());
  CHECK(cumsum(DType::boolean) == nullptr);
}

namespace {

// Bytes behind the result that a kernel must not write.
constexpr std::size_t guard = 16;

void check_split(const ShortRows& table, std::ptrdiff_t elements, std::size_t bytes, std::ptrdiff_t n,
                 const std::vector<unsigned char>& x) {
  const std::ptrdiff_t apart = n + 3;
  const auto used = static_cast<std::size_t>(elements * apart) * bytes,
             size = static_cast<std::size_t>(split_columns(elements, bytes) * apart) * bytes;
  std::vector<unsigned char> out(size + guard, 0xee), expected = out;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t k = 0; k < elements; ++k)
      std::memcpy(expected.data() + static_cast<std::size_t>(k * apart + i) * bytes,
                  x.data() + static_cast<std::size_t>(i * elements + k) * bytes, bytes);
  const std::vector<unsigned char> rows(x.data(), x.data() + static_cast<std::size_t>(elements * n) * bytes);
  split_rows(rows.data(), elements, n, out.data(), apart, bytes, table);
  CHECK(std::memcmp(out.data(), expected.data(), used) == 0);
  CHECK(std::memcmp(out.data() + size, expected.data() + size, guard) == 0);
}
void check_repeat(const ShortRows& table, std::ptrdiff_t elements, std::size_t bytes, std::ptrdiff_t n,
                  std::ptrdiff_t stride, const std::vector<unsigned char>& x) {
  std::vector<unsigned char> out(static_cast<std::size_t>(elements * n) * bytes + guard, 0xee), expected = out;
  for (std::ptrdiff_t i = 0; i < n; ++i)
    for (std::ptrdiff_t k = 0; k < elements; ++k)
      std::memcpy(expected.data() + static_cast<std::size_t>(i * elements + k) * bytes,
                  x.data() + static_cast<std::size_t>(i * stride) * bytes, bytes);
  repeat_each(x.data(), stride, elements, n, out.data(), bytes, table);
  CHECK(out == expected);
}

}  // namespace

TEST_CASE("short rows are split and filled on every instruction set, for every element size and tail") {
  std::vector<unsigned char> x(16 * short_row_max * 100);
  std::mt19937 random(5);
  for (unsigned char& byte : x) byte = static_cast<unsigned char>(random());
  for (const Set* set : supported_sets()) {
    const ShortRows& table = set->get<ShortRows>();
    for (const std::size_t bytes : {1u, 2u, 4u, 8u, 16u})
      for (std::ptrdiff_t elements = short_row_min; elements <= short_row_max; ++elements) {
        for (const std::ptrdiff_t n : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100}) {
          CAPTURE(set->isa, bytes, elements, n);
          check_split(table, elements, bytes, n, x);
          if (repeats_each(elements, bytes))
            for (const std::ptrdiff_t stride : {1, 0, 3}) check_repeat(table, elements, bytes, n, stride, x);
        }
      }
  }
}
