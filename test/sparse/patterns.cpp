// Sparsity patterns whose tensors are not what they must be, in every function that takes one, and in compiled
// functions, whose programs check the elements.
#include <functional>
#include <limits>
#include <reel/compile.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>

#include "catch.hpp"
#include "support/bits.hpp"

using namespace reel;
using support::same_bits;

namespace {

using Int = std::int64_t;
constexpr Int most = std::numeric_limits<Int>::max(), least = std::numeric_limits<Int>::min();

// The pattern of [3, 4] with these positions is {{3, 4}, {0, 2, 2, 3}, {0, 3, 1}}.
struct Hostile {
  Shape shape;
  Tensor row_starts, columns;
  const char* error;  // the type
  const char* text;
};

std::vector<Hostile> hostile_patterns() {
  const Tensor starts = tensor<Int>({0, 2, 2, 3}), columns = tensor<Int>({0, 3, 1});
  const auto with_starts = [&](std::initializer_list<Int> list, const char* text) {
    return Hostile{{3, 4}, from_data(std::vector<Int>(list)), columns, "ValueError", text};
  };
  const auto with_columns = [&](std::initializer_list<Int> list, const char* error, const char* text) {
    return Hostile{{3, 4}, starts, from_data(std::vector<Int>(list)), error, text};
  };
  return {
      with_starts({1, 2, 2, 3}, "row_starts of the pattern begins with 1"),
      with_starts({-1, 2, 2, 3}, "row_starts of the pattern begins with -1"),
      with_starts({0, 2, 2, 4}, "row_starts of the pattern ends with 4"),
      with_starts({0, 2, 2, most}, "row_starts of the pattern ends with 9223372036854775807"),
      with_starts({0, 2, 2, 2}, "row_starts of the pattern ends with 2"),
      with_starts({0, 2, 1, 3}, "row_starts[2] of the pattern is 1, less than the one before, 2"),
      with_starts({0, most, 2, 3}, "row_starts[2] of the pattern is 2, less than the one before"),
      with_starts({0, 100000000, 100000000, 3}, "row_starts[3] of the pattern is 3, less than the one before"),
      with_starts({0, least, 2, 3}, "row_starts[1] of the pattern is -9223372036854775808"),
      with_starts({0, -2, 2, 3}, "row_starts[1] of the pattern is -2"),
      with_starts({0, 2, 3}, "row_starts of the pattern has 3 elements"),
      with_starts({0, 2, 2, 3, 3}, "row_starts of the pattern has 5 elements"),
      with_starts({}, "row_starts of the pattern has 0 elements"),
      with_columns({-1, 3, 1}, "IndexError", "columns[0] of the pattern, in row 0, is -1, must be in [0, 4)"),
      with_columns({0, 4, 1}, "IndexError", "columns[1] of the pattern, in row 0, is 4, must be in [0, 4)"),
      with_columns({0, 3, most}, "IndexError", "columns[2] of the pattern, in row 2, is 9223372036854775807"),
      with_columns({0, 3, least}, "IndexError", "columns[2] of the pattern, in row 2, is -9223372036854775808"),
      with_columns({3, 0, 1}, "ValueError", "columns[1] of the pattern, in row 0, is 0 after 3: must ascend"),
      with_columns({3, 3, 1}, "ValueError", "columns[1] of the pattern, in row 0, is 3 after 3: must ascend"),
      with_columns({0, 3}, "ValueError", "ends with 3, must end with the number of its columns, 2"),
      {{3}, starts, columns, "ShapeError", "the pattern has shape [3], must have rows and columns"},
      {{3, 4, 1}, starts, columns, "ShapeError", "the pattern has shape [3, 4, 1]"},
      {{-3, 4}, starts, columns, "ShapeError", "the pattern has shape [-3, 4]"},
      {{most, 4}, starts, columns, "ValueError", "must have one for each of 9223372036854775807 rows"},
      {{3, 4}, cast(starts, DType::int32), columns, "TypeError", "must be int64 vectors, not int32"},
      {{3, 4}, starts, cast(columns, DType::float64), "TypeError", "must be int64 vectors, not float64"},
      {{3, 4}, reshape(starts, {4, 1}), columns, "TypeError", "must be int64 vectors, not int64 of shape [4, 1]"},
      {{3, 4}, starts, scalar(Int{0}), "TypeError", "must be int64 vectors, not int64 of shape []"},
      {{3, 4}, {}, columns, "ValueError", "the pattern is empty; make it with coo_to_csr"},
      {{3, 4}, starts, {}, "ValueError", "the pattern is empty"},
  };
}

struct Function {
  const char* name;
  std::function<void(const SparsityPattern&)> call;
};

std::vector<Function> functions() {
  const Tensor values = ones({3}), x = ones({4}), left = ones({3, 2}), right = ones({2, 4});
  const SparsityPattern right_one = coo_to_csr(tensor<Int>({0}), tensor<Int>({0}), {3, 4});
  const TensorFunction f = [](const Tensor& v) { return v; };
  return {
      {"SparsityPattern::rows", [](const auto& p) { p.rows(); }},
      {"to_dense",
       [=](const auto& p) {
         to_dense({p, values});
       }},
      {"csr_matmul", [=](const auto& p) { csr_matmul(values, p, x); }},
      {"csr_matmul", [=](const auto& p) { csr_matmul(values, p, ones({3}), true); }},
      {"csr_matmul",
       [=](const auto& p) {
         matmul(Csr{p, values}, x);
       }},
      {"sampled_matmul", [=](const auto& p) { sampled_matmul(p, left, right); }},
      {"csr_solve", [=](const auto& p) { csr_solve(values, p, ones({3})); }},
      {"to_csr",
       [](const auto& p) {
         to_csr(ones({3, 4}), p);
       }},
      {"transpose",
       [=](const auto& p) {
         transpose(Csr{p, values});
       }},
      {"add",
       [=](const auto& p) {
         add(Csr{p, values}, Csr{right_one, ones({1})});
       }},
      {"add",
       [=](const auto& p) {
         add(Csr{right_one, ones({1})}, Csr{p, values});
       }},
      {"matmul",
       [=](const auto& p) {
         matmul(Csr{p, values}, transpose(Csr{right_one, ones({1})}));
       }},
      {"matmul",
       [=](const auto& p) {
         matmul(transpose(Csr{right_one, ones({1})}), Csr{p, values});
       }},
      {"sum",
       [=](const auto& p) {
         sum(Csr{p, values}, 0);
       }},
      {"softmax",
       [=](const auto& p) {
         softmax(Csr{p, values});
       }},
      {"sparse_jacobian", [=](const auto& p) { sparse_jacobian(f, p); }},
      {"sparse_hessian", [=](const auto& p) { sparse_hessian([](const Tensor& v) { return sum(v); }, p); }},
  };
}

// The type and text of the error of a call.
std::pair<std::string, std::string> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ShapeError& e) {
    return {"ShapeError", e.what()};
  } catch (const TypeError& e) {
    return {"TypeError", e.what()};
  } catch (const ValueError& e) {
    return {"ValueError", e.what()};
  } catch (const IndexError& e) {
    return {"IndexError", e.what()};
  }
  return {"none", ""};
}

void check_error(const Hostile& h, const std::string& op, const std::function<void()>& call) {
  INFO(op << " of shape " << h.shape << ": " << h.text);
  const auto [type, text] = error_of(call);
  CHECK(type == h.error);
  CHECK_THAT(text, Catch::StartsWith(op + ": ") && Catch::Contains(h.text));
}

}  // namespace

TEST_CASE("a hostile pattern is refused by every function that takes it") {
  for (const Function& f : functions())
    for (const Hostile& h : hostile_patterns())
      check_error(h, f.name, [&] { f.call({h.shape, h.row_starts, h.columns}); });
}

TEST_CASE("the number of values is checked by every function of a matrix") {
  const SparsityPattern p{{3, 4}, tensor<Int>({0, 2, 2, 3}), tensor<Int>({0, 3, 1})};
  for (const Tensor& values : {ones({2}), ones({4}), ones({3, 1}), scalar(1.), Tensor()}) {
    const Csr m{p, values};
    CHECK_THROWS_WITH(to_dense(m), Catch::StartsWith("to_dense: "));
    CHECK_THROWS_WITH(matmul(m, ones({4})), Catch::StartsWith("csr_matmul: "));
    CHECK_THROWS_WITH(csr_solve(values, p, ones({3})), Catch::StartsWith("csr_solve: "));
    CHECK_THROWS_WITH(transpose(m), Catch::StartsWith("transpose: "));
    CHECK_THROWS_WITH(sum(m, 0), Catch::StartsWith("sum: "));
    CHECK_THROWS_WITH(softmax(m), Catch::StartsWith("softmax: "));
  }
  CHECK_THROWS_WITH(to_dense({{{1, most}, tensor<Int>({0, 0}), zeros({0}, DType::int64)}, zeros({0})}),
                    Catch::StartsWith("to_dense: "));
}

TEST_CASE("a compiled function takes the tensors of a pattern as arguments, and its program checks them") {
  const auto dense = compile([](const Tensor& starts, const Tensor& columns, const Tensor& values) {
    return to_dense({{{3, 4}, starts, columns}, values});
  });
  const auto product = compile([](const Tensor& starts, const Tensor& columns, const Tensor& values, const Tensor& x) {
    return csr_matmul(values, {{3, 4}, starts, columns}, x);
  });
  const auto unread = compile([](const Tensor& starts, const Tensor& columns) {
    static_cast<void>(SparsityPattern{{3, 4}, starts, columns}.rows());
    return columns + 1;
  });
  const Tensor starts = tensor<Int>({0, 2, 2, 3}), columns = tensor<Int>({0, 3, 1}), values = tensor({1, 2, 3}),
               x = tensor({1, 10, 100, 1000});
  const Tensor other_starts = tensor<Int>({0, 1, 2, 3});
  for (int call = 0; call < 2; ++call) {
    CHECK(same_bits(dense(starts, columns, values), tensor({{1, 0, 0, 2}, {0, 0, 0, 0}, {0, 3, 0, 0}})));
    CHECK(same_bits(dense(other_starts, columns, values), tensor({{1, 0, 0, 0}, {0, 0, 0, 2}, {0, 3, 0, 0}})));
    CHECK(same_bits(product(starts, columns, values, x), tensor({2001, 0, 30})));
    for (const Hostile& h : hostile_patterns()) {
      if (!h.row_starts.defined() || !h.columns.defined() || !(h.shape == Shape{3, 4})) continue;
      const Tensor some = ones({std::max<Int>(h.columns.size(), 1)});
      check_error(h, "to_dense", [&] { dense(h.row_starts, h.columns, some); });
      check_error(h, "csr_matmul", [&] { product(h.row_starts, h.columns, some, x); });
      check_error(h, "SparsityPattern::rows", [&] { unread(h.row_starts, h.columns); });
    }
  }
}

TEST_CASE("a pattern may be made of views, without rows, and be copied and moved") {
  const Tensor starts = tensor<Int>({{0, 9}, {2, 9}, {2, 9}, {3, 9}}), columns = tensor<Int>({1, 3, 0});
  const SparsityPattern p{{3, 4}, slice(starts, {range_from(0), 0}), flip(columns)};
  CHECK(p.rows().to_vector<Int>() == std::vector<Int>{0, 0, 2});
  CHECK(same_bits(to_dense({p, tensor({1, 2, 3})}), tensor({{1, 0, 0, 2}, {0, 0, 0, 0}, {0, 3, 0, 0}})));
  SparsityPattern copy = p;
  const SparsityPattern moved = std::move(copy);
  CHECK(same_bits(moved.rows(), p.rows()));
  CHECK_THROWS_AS(copy.rows(), ValueError);
  copy = moved;
  copy.shape = {3, 5};
  CHECK(to_dense({copy, ones({3})}).shape() == Shape{3, 5});
  const SparsityPattern empty{{0, 4}, tensor<Int>({0}), zeros({0}, DType::int64)};
  CHECK(to_dense({empty, zeros({0})}).shape() == Shape{0, 4});
  const SparsityPattern by_name{.shape = {1, 2}, .row_starts = tensor<Int>({0, 1}), .columns = tensor<Int>({1})};
  CHECK(by_name.nonzeros() == 1);
}
