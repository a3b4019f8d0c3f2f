// einsum against a loop over all indices; derivatives; errors in subscripts.
#include <map>
#include <reel/reel.hpp>

#include "catch.hpp"
#include "linalg/check.hpp"
#include "support/numbers.hpp"

using namespace reel;
using Catch::Contains;
using linalg::check_one, support::largest;

namespace {

// Extents by letter; digits stand for the axes of "...".
const std::map<char, std::int64_t> extents = {{'i', 2}, {'j', 3}, {'k', 4}, {'l', 2}, {'m', 3},
                                              {'A', 2}, {'0', 2}, {'1', 3}, {'z', 0}};

support::Tensors operands(const std::string& terms) {
  support::Random random(terms);
  support::Tensors x;
  Shape shape;
  for (char c : terms + ",") {
    if (c != ',') {
      shape.push_back(extents.at(c));
      continue;
    }
    x.push_back(random.tensor(shape));
    shape = {};
  }
  return x;
}

// The sum over all indices of "ij,jk->ik" with explicit letters or digits.
Tensor looped(const std::string& terms, const std::string& output, const support::Tensors& x) {
  std::vector<char> letters;
  std::vector<std::string> term(1);
  for (char c : terms) {
    if (c == ',') {
      term.emplace_back();
      continue;
    }
    term.back() += c;
    if (std::find(letters.begin(), letters.end(), c) == letters.end()) letters.push_back(c);
  }
  std::map<char, std::int64_t> index;
  const auto offset = [&](const std::string& labels) {
    std::int64_t at = 0;
    for (char c : labels) at = at * extents.at(c) + index[c];
    return static_cast<std::size_t>(at);
  };
  Shape shape, all;
  for (char c : output) shape.push_back(extents.at(c));
  for (char c : letters) all.push_back(extents.at(c));
  std::vector<std::vector<double>> values;
  for (const Tensor& t : x) values.push_back(t.to_vector());
  std::vector<double> result(static_cast<std::size_t>(shape.elements()));
  for (std::int64_t n = 0; n < all.elements(); ++n) {
    std::int64_t rest = n;
    for (char c : letters) {
      index[c] = rest % extents.at(c);
      rest /= extents.at(c);
    }
    double product = 1;
    for (std::size_t k = 0; k < x.size(); ++k) product *= values[k][offset(term[k])];
    result[offset(output)] += product;
  }
  return from_data(result, shape);
}

struct Row {
  const char *subscripts, *terms, *output;  // with "..." written out as digits
};
const Row rows[] = {
    {"ij,jk->ik", "ij,jk", "ik"},
    {"ij,jk", "ij,jk", "ik"},
    {"ij,jk->ki", "ij,jk", "ki"},
    {"ij,kj->ik", "ij,kj", "ik"},
    {"ji,jk->ik", "ji,jk", "ik"},
    {" i j , j k -> i k ", "ij,jk", "ik"},
    {"ij->ji", "ij", "ji"},
    {"ji", "ji", "ij"},
    {"ij->", "ij", ""},
    {"ij->i", "ij", "i"},
    {"i->i", "i", "i"},
    {"ijk->kj", "ijk", "kj"},
    {"ii->i", "ii", "i"},
    {"ii", "ii", ""},
    {"iil->li", "iil", "li"},
    {"iji->j", "iji", "j"},
    {"jiil->jil", "jiil", "jil"},
    {"iii->i", "iii", "i"},
    {"ijij->ij", "ijij", "ij"},
    {"i,i->i", "i,i", "i"},
    {"i,i->", "i,i", ""},
    {"i,j->ij", "i,j", "ij"},
    {"i,j->ji", "i,j", "ji"},
    {"i,j", "i,j", "ij"},
    {",ij->ij", ",ij", "ij"},
    {"i,->i", "i,", "i"},
    {",->", ",", ""},
    {"ij,ij->", "ij,ij", ""},
    {"ij,ji->", "ij,ji", ""},
    {"ij,i->ij", "ij,i", "ij"},
    {"ij,j->ij", "ij,j", "ij"},
    {"ij,j->i", "ij,j", "i"},
    {"j,ij->i", "j,ij", "i"},
    {"ijk,ikm->ijm", "ijk,ikm", "ijm"},
    {"ijk,ikm->mij", "ijk,ikm", "mij"},
    {"ijk,kjl->il", "ijk,kjl", "il"},
    {"ijk,lm->jl", "ijk,lm", "jl"},
    {"ijk,jm->im", "ijk,jm", "im"},
    {"ii,ij->j", "ii,ij", "j"},
    {"ik,jk,lk->ijl", "ik,jk,lk", "ijl"},
    {"ij,jk,kl->il", "ij,jk,kl", "il"},
    {"i,ij,j->", "i,ij,j", ""},
    {"ij,jk,kl,lm->im", "ij,jk,kl,lm", "im"},
    {"i,j,k->kji", "i,j,k", "kji"},
    {"Ai,iA", "Ai,iA", ""},
    {"iA", "iA", "Ai"},
    {"...ij,...jk->...ik", "01ij,01jk", "01ik"},
    {"...ij,...jk", "01ij,1jk", "01ik"},
    {"ij,...jk->...ik", "ij,01jk", "01ik"},
    {"i...->...", "i01", "01"},
    {"i...j->j...i", "i0j", "j0i"},
    {"...ii->...i", "01ii", "01i"},
    {"...,...->...", "01,1", "01"},
    {"...i,i->...", "01i,i", "01"},
    {"...->...", "01", "01"},
    {"...", "01", "01"},
    {"iz,zj->ij", "iz,zj", "ij"},
    {"iz->i", "iz", "i"},
    {"zi,ij->zj", "zi,ij", "zj"},
};

}  // namespace

TEST_CASE("einsum: values and derivatives of every kind of subscripts") {
  for (const Row& row : rows) {
    const support::Tensors x = operands(row.terms);
    INFO(row.subscripts);
    const Tensor y = einsum(row.subscripts, x), expected = looped(row.terms, row.output, x);
    REQUIRE(y.shape() == expected.shape());
    CHECK(largest(y - expected) <= 1e-14);
    for (const Tensor& one : x) CHECK(y.id() != one.id());
    check_one([&](const support::Tensors& at) { return einsum(row.subscripts, at); }, x, {.slack = 4});
  }
}

TEST_CASE("einsum: an extent of 1 broadcasts") {
  const Tensor a = tensor({{1}, {2}}), b = tensor({{3, 4}, {5, 6}});
  CHECK(einsum("ij,jk->ik", {a, b}).to_vector() == std::vector<double>{8, 10, 16, 20});
  CHECK(einsum("...j,...j->...", {a, b}).to_vector() == std::vector<double>{7, 22});
  check_one([](const support::Tensors& x) { return einsum("ij,ij->i", x); }, {a, b}, {.slack = 4});
}

TEST_CASE("einsum: dtypes") {
  const Tensor i = tensor<int>({{1, 2}, {3, 4}});
  for (const char* subscripts : {"ij,jk->ik", "ij,ij->", "ij,ij->ij", "ij,kl->i"}) {
    CHECK(einsum(subscripts, {i, i}).dtype() == DType::int32);
    CHECK(einsum(subscripts, {i, cast(i, DType::float32)}).dtype() == DType::float32);
  }
  CHECK(einsum("ij->", {i}).dtype() == DType::int32);
  CHECK(einsum("ij->", {i}).item<int>() == 10);
  CHECK(einsum("ii", {i}).item<int>() == 5);
}

TEST_CASE("einsum contracts the cheapest pair first") {
  // Left to right this makes an intermediate of 300^3 elements.
  support::Random random("chain");
  const Tensor a = random.tensor({300}), b = random.tensor({300, 300}), c = random.tensor({300});
  const Tensor y = einsum("i,jk,i->jk", {a, b, c});
  CHECK(largest(y - sum(a * c) * b) < 1e-10);
  reset_peak_bytes();
  const std::int64_t before = memory_stats().peak_bytes;
  CHECK(largest(einsum("i,k,ik->", {a, c, b}) - sum(matmul(matmul(a, b), c))) < 1e-9);
  CHECK(memory_stats().peak_bytes - before < 300 * 300 * 8 * 3);
}

TEST_CASE("einsum: errors name the fault in the subscripts") {
  const Tensor a = zeros({2, 3}), b = zeros({3, 4});
  CHECK_THROWS_WITH(einsum("ij,jk->ik", {a}),
                    Catch::StartsWith("einsum: \"ij,jk->ik\" is for 2 operands, there are 1 ("));
  CHECK_THROWS_WITH(einsum("ijk,jk->ik", {a, b}),
                    Catch::StartsWith("einsum: term 0 of \"ijk,jk->ik\" names 3 axes, its operand is [2, 3] ("));
  CHECK_THROWS_WITH(einsum("i,jk->ik", {a, b}), Contains("term 0 of \"i,jk->ik\" names 1 axes, its operand is [2, 3]"));
  CHECK_THROWS_WITH(
      einsum("ij,ik->jk", {a, b}),
      Catch::StartsWith("einsum: 'i' of \"ij,ik->jk\" is 3 in operand 1, which is [3, 4], and 2 before ("));
  CHECK_THROWS_AS(einsum("ij,ik->jk", {a, b}), ShapeError);
  CHECK_THROWS_AS(einsum("ii->i", {a}), ShapeError);
  CHECK_THROWS_WITH(einsum("ij,jk->il", {a, b}),
                    Catch::StartsWith("einsum: 'l' of the result of \"ij,jk->il\" is in no operand ("));
  CHECK_THROWS_WITH(einsum("ij,jk->ii", {a, b}),
                    Catch::StartsWith("einsum: \"ij,jk->ii\" has 'i' twice in the result ("));
  CHECK_THROWS_WITH(einsum("i1,jk->ik", {a, b}), Contains("has '1' at position 1"));
  CHECK_THROWS_WITH(einsum("ij-jk->ik", {a, b}), Contains("has '-' at position 2"));
  CHECK_THROWS_WITH(einsum("ij,jk->ik->", {a, b}), Contains("has '-' at position 9"));
  CHECK_THROWS_WITH(einsum("......", {a}), Contains("two ellipses"));
  CHECK_THROWS_WITH(einsum("..i", {a}), Contains("has '.' at position 0"));
  CHECK_THROWS_WITH(einsum("...i->i", {a}), Contains("has axes under \"...\" that the result does not name"));
  CHECK_THROWS_AS(einsum("...i->i", {a}), ValueError);
  CHECK_THROWS_AS(einsum("", {}), ValueError);
  CHECK_THROWS_AS(einsum("ij->ij", {Tensor()}), ValueError);
}
