// cumsum and cumprod: all four kinds along any axis, and derivatives with zeros, to third order.
#include <reel/reel.hpp>

#include "catch.hpp"
#include "support/derivatives.hpp"

using namespace reel;

namespace {

using Doubles = std::vector<double>;

// Along the last of [outer, n, inner]'s middle axis, by the definition.
Doubles naive(const Tensor& x, bool product, bool exclusive, bool reverse) {
  const Shape s = x.shape();
  const Doubles v = x.to_vector();
  Doubles out(v.size());
  for (std::int64_t o = 0; o < s[0]; ++o)
    for (std::int64_t i = 0; i < s[2]; ++i) {
      double total = product ? 1 : 0;
      for (std::int64_t k = 0; k < s[1]; ++k) {
        const auto at = static_cast<std::size_t>((o * s[1] + (reverse ? s[1] - 1 - k : k)) * s[2] + i);
        const double next = product ? total * v[at] : total + v[at];
        out[at] = exclusive ? total : next;
        total = next;
      }
    }
  return out;
}

// The Jacobian of cumprod, by the definition, contracted with g.
Doubles naive_gradient(const Doubles& x, const Doubles& g, bool exclusive) {
  Doubles dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < (exclusive ? i : i + 1); ++k) {
      double others = 1;
      for (std::size_t j = 0; j < (exclusive ? i : i + 1); ++j) others *= j == k ? 1 : x[j];
      dx[k] += g[i] * others;
    }
  return dx;
}

}  // namespace

TEST_CASE("scans along any axis, in both directions") {
  support::Random random("scans");
  for (const Shape& s : {Shape{2, 5, 1}, Shape{7, 5, 1}, Shape{5, 1, 1}, Shape{3, 4, 2}, Shape{2, 7, 9},
                         Shape{1, 6, 1100}, Shape{4, 1, 3}, Shape{300, 200, 1}, Shape{2, 3, 20000}}) {
    const Tensor x = random.tensor(s), turned = transpose(contiguous(transpose(x)));
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        INFO(to_string(s) << " exclusive " << exclusive << " reverse " << reverse);
        CHECK(cumsum(x, 1, exclusive, reverse).to_vector() == naive(x, false, exclusive, reverse));
        CHECK(cumprod(x, -2, exclusive, reverse).to_vector() == naive(x, true, exclusive, reverse));
        CHECK(cumsum(turned, 1, exclusive, reverse).to_vector() == naive(x, false, exclusive, reverse));
      }
  }
}

TEST_CASE("scans read strided rows in place: broadcast, flipped, stepped, sliced") {
  support::Random random("rows of scans");
  const Tensor x = random.tensor({9, 4, 12});
  const Tensor views[] = {broadcast_to(x[0], {7, 4, 12}), flip(x, 0), slice(x, {range_from(1, 3)}), slice(x, {all, 2}),
                          slice(x, {all, all, range(1, 11)})};
  for (const Tensor& view : views)
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        INFO(to_string(view.shape()) << to_string(view.strides()) << " exclusive " << exclusive << " reverse "
                                     << reverse);
        const Shape flat = {1, view.shape()[0], view.size() / view.shape()[0]};
        const Tensor dense = reshape(contiguous(view), flat);
        CHECK(cumsum(view, 0, exclusive, reverse).to_vector() == naive(dense, false, exclusive, reverse));
        CHECK(cumprod(view, 0, exclusive, reverse).to_vector() == naive(dense, true, exclusive, reverse));
      }
}

TEST_CASE("scans of integers and errors") {
  CHECK(cumsum(tensor<std::uint8_t>({200, 100, 7}), 0).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{200, 300, 307});
  CHECK(cumprod(tensor<int>({2, 3, 4}), 0, true, true).to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{12, 4, 1});
  CHECK_THROWS_AS(cumsum(1.0, 0), IndexError);
  CHECK_THROWS_AS(cumprod(zeros({2, 3}), 2), IndexError);
}

TEST_CASE("the gradient of cumprod is exact with zeros") {
  for (const Doubles& x :
       {Doubles{2, 0, 3}, Doubles{0, 0, 3}, Doubles{1, 2, 0, 4, 0, 5}, Doubles{0}, Doubles{3, -1, 2, 5}}) {
    Doubles g;
    for (std::size_t i = 0; i < x.size(); ++i) g.push_back(static_cast<double>(i + 1));
    for (bool exclusive : {false, true}) {
      const Tensor t = from_data(x);
      GradientTape tape;
      tape.watch(t);
      const Tensor y = cumprod(t, 0, exclusive);
      CHECK((*tape.gradient(y, t, {.output_gradients = from_data(g)})).to_vector() == naive_gradient(x, g, exclusive));
    }
  }
}

TEST_CASE("higher derivatives of cumprod with zeros") {
  // y2 = x0 x1 x2: every second derivative is the third factor, the third one is 1.
  const auto last = [](const Tensor& t) { return cumprod(t, 0)[2]; };
  CHECK(hessian(last)(tensor({2, 0, 3})).to_vector() == Doubles{0, 3, 0, 3, 0, 2, 0, 2, 0});
  CHECK(hessian(last)(zeros({3})).to_vector() == Doubles(9, 0.));
  const auto first = [&](const Tensor& t) { return grad(last)(t)[0]; };
  const auto second = [&](const Tensor& t) { return grad(first)(t)[2]; };
  CHECK(grad(second)(zeros({3})).to_vector() == Doubles{0, 1, 0});
}

TEST_CASE("cumprod with zeros: the modes are transposes to third order") {
  const Tensor x = tensor({{1., 0., 2., -1.}, {0., 3., 0., 1.}, {2., 1., -2., 0.}});
  support::Random random("scan derivatives");
  for (int axis : {0, 1})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        INFO("axis " << axis << " exclusive " << exclusive << " reverse " << reverse);
        support::Function f = [=](const support::Tensors& t) {
          return support::Tensors{cumprod(t[0], axis, exclusive, reverse)};
        };
        for (int order = 1; order <= 3; ++order) {
          const support::Tensors at{x}, v = random.like(f(at)), t = random.like(at);
          const support::Dot forward = support::inner(v, support::push(f, at, t)),
                             backward = support::inner(support::pull(f, at, v), t);
          CHECK(std::abs(forward.value - backward.value) <= 1e-13L * (1 + forward.scale));
          f = support::gradient_of(f, v);
        }
      }
}
