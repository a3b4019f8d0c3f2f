// Errors of compiled functions name the line of the user's call, as op by op.
#include <reel/compile.hpp>
#include <reel/ops/indexing.hpp>
#include <reel/reel.hpp>
#include <reel/sparse.hpp>
#include <sstream>

#include "catch.hpp"
#include "support/ramp.hpp"
#include "tape/observe/observe.hpp"

using namespace reel;
using Catch::Contains, Catch::EndsWith;
using support::ramp;

namespace {

std::string at(int line) { return std::string(" (") + __FILE__ + ":" + std::to_string(line) + ")"; }

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

Tensor far_index() { return cast(tensor({7.0}), DType::int64); }

}  // namespace

TEST_CASE("compile messages: an error of a run names the line that called the op") {
  const Tensor x = ramp({5});
  const auto gathers = [](const Tensor& from, const Tensor& i) {
    const Tensor y = exp(from);
    return gather(y, i) + 1;
  };
  const int line = __LINE__ - 2;
  const std::string plain = message([&] { static_cast<void>(gathers(x, far_index())); });
  CHECK_THAT(plain, EndsWith(at(line)));
  const auto f = compile(gathers);
  for (int call = 0; call < 2; ++call) {
    const std::string compiled = message([&] { static_cast<void>(f(x, far_index())); });
    CHECK_THAT(compiled, EndsWith(at(line)));
    CHECK_THAT(compiled, Contains("gather: index 7"));
  }
  // Of the first part of a call that keeps what its gradient needs.
  GradientTape tape;
  tape.watch(x);
  const Tensor inside = cast(tensor({1.0}), DType::int64);
  static_cast<void>(tape.gradient(f(x, inside), x));
  GradientTape again;
  again.watch(x);
  CHECK_THAT(message([&] { static_cast<void>(f(x, far_index())); }), EndsWith(at(line)));
}

TEST_CASE("compile messages: an error of a body names the line in the body") {
  const Tensor x = ramp({5});
  const auto f = [](const Tensor& from, const Tensor& i) {
    return while_loop([](const Tensor& s) { return s < 100.0; },
                      [&](const Tensor& s) {
                        const Tensor more = gather(from, i);
                        return s + reshape(more, {});
                      },
                      scalar(1.0));
  };
  const int in_loop = __LINE__ - 5;
  CHECK_THAT(message([&] { static_cast<void>(f(x, far_index())); }), EndsWith(at(in_loop)));
  CHECK_THAT(message([&] { static_cast<void>(compile(f)(x, far_index())); }), EndsWith(at(in_loop)));
  const auto branches = [](const Tensor& from, const Tensor& i) {
    const auto yes = [&](const Tensor& y) { return sum(gather(y, i)); };
    return cond(
        sum(from) > -1e9, yes, [](const Tensor& y) { return sum(y); }, from);
  };
  const int in_branch = __LINE__ - 4;
  CHECK_THAT(message([&] { static_cast<void>(compile(branches)(x, far_index())); }), EndsWith(at(in_branch)));
}

TEST_CASE("compile messages: truth of a tensor names the line that computed it") {
  const auto f = compile([](const Tensor& x) {
    if (sum(x) > 0) return x;
    return -x;
  });
  const int line = __LINE__ - 3;
  const std::string text = message([&] { static_cast<void>(f(ones({2}))); });
  CHECK_THAT(text, EndsWith(at(line)));
  CHECK_THAT(text, Contains("bool: ") && Contains("cond"));
  CHECK(tape::watching() == 0);
  const std::string printed = message([] {
    static_cast<void>(compile([](const Tensor& x) {
      std::ostringstream out;
      out << x;
      return x;
    })(ones({2})));
  });
  CHECK_THAT(printed, Contains("to_string: ") && EndsWith("return it, and print the result"));
}

TEST_CASE("compile messages: check names the line of the operation that differs") {
  double factor = 1;
  const auto f = compile([&](const Tensor& x) { return exp(x) * factor; }, {.check = 5});
  const int line = __LINE__ - 1;
  static_cast<void>(f(ones({2})));
  factor = 2;
  CHECK_THROWS_WITH(f(ones({2})), Contains("operation 2, multiply: ") && Contains(at(line)));
}

TEST_CASE("compile messages: sparse_jacobian says who reads the function without elements") {
  const auto f = [](const Tensor& x) { return x * x[0].item(); };
  const std::string text = message([&] { static_cast<void>(sparse_jacobian(f, ones({3}))); });
  CHECK_THAT(text, Contains("item: ") && Contains("while jacobian_sparsity traces the function"));
  CHECK_THAT(text, !Contains("the traced function"));
}

TEST_CASE("compile messages: statistics end with a line") {
  std::ostringstream out;
  out << CompileStats();
  CHECK_THAT(out.str(), EndsWith("bytes kept\n"));
  const auto f = compile([](const Tensor& x) { return exp(x); });
  static_cast<void>(f(ones({2})));
  out << f.stats();
  CHECK_THAT(out.str(), EndsWith("instructions\n"));
}
