// Numbers as text.
#include <reel/runtime.hpp>

#include "samples.hpp"

using namespace reel;
using Catch::Contains;
using Catch::EndsWith;

namespace {

Tensor read(const std::string& text, const CsvOptions& options = {}) {
  const support::TemporaryFolder folder;
  support::write_bytes(folder / "x.csv", text);
  return load_csv(folder / "x.csv", options);
}

std::string refused(const std::string& text, const CsvOptions& options = {}) {
  return samples::refusal(text, [&](const std::string& path) { load_csv(path, options); });
}

}  // namespace

TEST_CASE("csv: lines become rows of a matrix") {
  CHECK(array_equal(read("1,2,3\n4,5,6\n"), tensor({{1., 2., 3.}, {4., 5., 6.}})));
  CHECK(array_equal(read("1,2\r\n\r\n 3 ,\t4\r\n\n"), tensor({{1., 2.}, {3., 4.}})));
  CHECK(array_equal(read("-1e-3,+2.5"), tensor({{-1e-3, 2.5}})));
  CHECK(array_equal(read("7"), tensor({{7.}})));
  CHECK(support::same_bits(read("inf,-inf,nan,-0"), tensor({{INFINITY, -INFINITY, NAN, -0.}})));
  CHECK(read("0.1")[0][0].item() == 0.1);
  CHECK(read("").shape() == Shape{0, 0});
}

TEST_CASE("csv: delimiter, skipped lines and columns") {
  CHECK(array_equal(read("a;b\n1;2\n", {.delimiter = ';', .skip = 1}), tensor({{1., 2.}})));
  CHECK(array_equal(read("  1   2\t3  \n4 5 6", {.delimiter = ' '}), tensor({{1., 2., 3.}, {4., 5., 6.}})));
  CHECK(array_equal(read("1\t2", {.delimiter = '\t'}), tensor({{1., 2.}})));
  CHECK(array_equal(read("x,1,2\ny,3,4", {.columns = {-1, 1, 1}}), tensor({{2., 1., 1.}, {4., 3., 3.}})));
  CHECK(read("a,b\nc,d\n", {.skip = 5}).shape() == Shape{0, 0});
}

TEST_CASE("csv: the error for invalid text names line and column") {
  CHECK_THAT(refused("1,2\n\n3,x\n"), Contains("line 3, column 2: \"x\" is no number"));
  CHECK_THAT(refused("h\n1,2\n3", {.skip = 1}), Contains("line 3: 1 columns, the first line has 2"));
  CHECK_THAT(refused("1,2\n3,4,5"), Contains("line 2: 3 columns, the first line has 2"));
  CHECK_THAT(refused("1,,2"), Contains("line 1, column 2: \"\" is no number"));
  CHECK_THAT(refused("1,2,"), Contains("line 1, column 3"));
  CHECK_THAT(refused("1e999"), Contains("\"1e999\" does not fit a float64"));
  CHECK_THAT(refused("1 2"), Contains("\"1 2\" is no number"));
  CHECK_THAT(refused("+-1"), Contains("is no number"));
  CHECK_THAT(refused("0x10"), Contains("is no number"));
  CHECK_THAT(refused("\"1\""), Contains("is no number"));
  CHECK_THAT(refused("t,x\n1,2\n"), EndsWith("is no number; CsvOptions::skip passes over lines of names, "
                                             "CsvOptions::delimiter is the separator"));
  CHECK_THAT(refused("h\nt\n", {.skip = 1}), Contains("CsvOptions::skip"));
  CHECK_THAT(refused("1\nx\n"), EndsWith("\"x\" is no number"));
  CHECK_THROWS_AS(read("1,2", {.columns = {2}}), IndexError);
  CHECK_THROWS_AS(read("1,2", {.columns = {-3}}), IndexError);
  CHECK_THROWS_AS(read("1", {.skip = -1}), ValueError);
  CHECK_THROWS_AS(read("1", {.delimiter = '\n'}), ValueError);
}

TEST_CASE("csv: memory is allocated after all lines are known to have the same length") {
  std::string text(20000, ',');  // the product of columns and lines would be 3 GB
  for (int i = 0; i < 20000; ++i) text += "\n1";
  reset_peak_bytes();
  const std::int64_t before = memory_stats().live_bytes;
  CHECK_THAT(refused(text), Contains("line 2: 1 columns, the first line has 20001"));
  CHECK(memory_stats().peak_bytes - before < 1 << 20);
}
