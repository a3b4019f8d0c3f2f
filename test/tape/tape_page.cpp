// The page of a tape: its data, and that nothing of the program is read as HTML. test/tools/files/tape_pages.py has it
// drawn by a browser.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <reel/reel.hpp>
#include <reel/tape_page.hpp>
#include <thread>

#include "catch.hpp"

using namespace reel;
using Catch::Contains;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// The JSON text of a page.
std::string data(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return page.substr(from, page.find("</script>", from) - from);
}

struct TraceFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("reel_tape_page_" + std::to_string(getpid()) + ".json")).string();
  TraceFile() = default;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("tape_page: the nodes, what they read and keep, and their lines") {
  const Variable w(ones({3, 2}), "w");
  const Tensor x = ones({4, 3}), constant = ones({4, 2}), unread = ones({5});
  set_source_locations(true);
  GradientTape tape;
  tape.watch(x);
  tape.watch(unread);
  const int line = __LINE__ + 1;
  const Tensor h = matmul(x, w);
  set_source_locations(false);
  const Tensor square = h * h, product = square * constant;
  const Tensor parts[] = {ones({2}), zeros({3})};
  record_operation("pair", {&product, 1}, parts, [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  const std::string at = std::string(__FILE__) + ":" + std::to_string(line);
  const std::string behind_product = R"(
{"name": "source_0", "results": ["float64 [4, 3]"]},
{"name": "w", "results": ["float64 [3, 2]"]},
{"name": "matmul", "inputs": [0, 1], "op": 0, "bytes": 144, "line": ")" +
                                     at + R"(", "results": ["float64 [4, 2]"]},
{"name": "multiply", "inputs": [2, 2], "op": 1, "bytes": 128, "results": ["float64 [4, 2]"]},
{"name": "multiply", "inputs": [3, -1], "op": 2, "bytes": 64, "results": ["float64 [4, 2]"]},)";
  CHECK(data(tape_page(tape)) == R"({"entries": 4, "nodes": [)" + behind_product + R"(
{"name": "pair", "inputs": [4], "op": 3, "bytes": 0, "results": ["float64 [2]", "float64 [3]"]},
{"name": "source_1", "results": ["float64 [5]"]}]})");
  CHECK(data(tape_page(tape, std::vector{product, constant})) == R"({"entries": 4, "nodes": [)" + behind_product + R"(
{"name": "target 0", "inputs": [4]}]})");
  CHECK(data(tape_page(tape, x)) == R"({"entries": 4, "nodes": [
{"name": "source_0", "results": ["float64 [4, 3]"]},
{"name": "target 0", "inputs": [0]}]})");
  CHECK(tape_page(tape) == tape_page(tape));
}

TEST_CASE("tape_page: a watched result stays the op's node") {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor h = exp(x);
  tape.watch(h);
  const Tensor y = sin(h);
  CHECK(data(tape_page(tape)) == R"({"entries": 2, "nodes": [
{"name": "source_0", "results": ["float64 [2]"]},
{"name": "exp", "inputs": [0], "op": 0, "bytes": 16, "results": ["float64 [2]"]},
{"name": "sin", "inputs": [1], "op": 1, "bytes": 16, "results": ["float64 [2]"]}]})");
}

TEST_CASE("tape_page: names of the program are text, and the page needs nothing else") {
  const Variable w(ones({2}), "\"w\"\\\n</script>");
  GradientTape tape;
  const Tensor x = w.read(), y = ones({2});
  record_operation("<!--<script>alert(1)</script>", {&x, 1}, {&y, 1},
                   [](std::span<const Gradient> g) { return std::vector{g[0]}; });
  const std::string page = tape_page(tape), plain = tape_page(GradientTape());
  CHECK_THAT(page, Contains(R"("\"w\"\\\u000a\u003c/script>")"));
  CHECK_THAT(page, Contains(R"("\u003c!--\u003cscript>alert(1)\u003c/script>")"));
  CHECK(data(plain) == R"({"entries": 0, "nodes": []})");
  CHECK(count(page, "<") == count(plain, "<"));
  CHECK(count(page, "://") == 1);  // the prefix of two XML namespaces
  for (const char* outside : {"src=", "href", "url(", "@import", "fetch", "import(", "XMLHttp", "innerHTML"})
    CHECK_FALSE(page.find(outside) != std::string::npos);
}

TEST_CASE("tape_page: the times of ops and rules while a trace is being made") {
  const Tensor x = ones({64, 64});
  const TraceFile file;
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor before = exp(x);
  {
    const ChromeTraceGuard times(file.path);
    const Tensor h = matmul(before, before), y = sum(h * h), aside = sin(x);
    tape.stop();
    CHECK(count(data(tape_page(tape)), "\"forward\": ") == 4);  // not of exp
    CHECK(count(data(tape_page(tape)), "\"backward\": ") == 0);
    tape.gradient(y, before);
    const std::string timed = data(tape_page(tape));
    CHECK(count(timed, "\"forward\": ") == 4);  // the ops in rules are no entries
    CHECK(count(timed, "\"backward\": ") == 3);
    tape.gradient(y, x);
    CHECK(count(data(tape_page(tape)), "\"backward\": ") == 4);
    const auto spent = [&] {
      const std::string page = data(tape_page(tape, y)), key = "\"backward\": ";
      return std::stoll(page.substr(page.find(key, page.find("matmul")) + key.size()));
    };
    const long long once = spent();
    tape.gradient(y, x);
    CHECK(spent() > once);
  }
  CHECK(count(data(tape_page(tape)), "ward\": ") == 0);
}

TEST_CASE("the Chrome trace: the event of a rule begins with the rule, not with its last op") {
  const Tensor x = ones({8, 8});
  const TraceFile file;
  {
    GradientTape tape({.persistent = true});  // records the ops of the rule, so that they are events too
    tape.watch(x);
    const Tensor y = matmul(x, x);
    const ChromeTraceGuard guard(file.path);
    tape.gradient(y, x, {.output_gradients = y});
  }
  std::vector<double> begins;
  std::ifstream lines(file.path);
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"backward\"") != std::string::npos)
      begins.push_back(std::stod(line.substr(line.find("\"ts\": ") + 6)));
  REQUIRE(begins.size() >= 3);  // the last three: two products, then the rule
  CHECK(begins.back() <= begins[begins.size() - 3]);
  CHECK(begins.back() < begins[begins.size() - 2]);
}

TEST_CASE("tape_page: refuses a used-up tape and another thread's") {
  const Tensor x = ones({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = exp(x);
  std::thread([&] { CHECK_THROWS_AS(tape_page(tape), TapeError); }).join();
  CHECK_NOTHROW(tape_page(tape, y));
  CHECK_THROWS_WITH(tape_page(tape, std::vector{y, Tensor()}), Contains("tape_page: a target is empty"));
  CHECK_THROWS_WITH(tape.to_dot(Tensor()), Contains("to_dot: a target is empty"));
  CHECK_THROWS_WITH(tape.explain(Tensor(), x), Contains("explain: a target or source is empty"));
  CHECK_THROWS_WITH(tape.explain(y, Tensor()), Contains("explain: a target or source is empty"));
  tape.gradient(y, x);
  CHECK_THROWS_WITH(tape_page(tape), Contains("tape_page: the tape was used up") && Contains("persistent"));
  tape.reset();
  CHECK(data(tape_page(tape)) == R"({"entries": 0, "nodes": []})");
}
