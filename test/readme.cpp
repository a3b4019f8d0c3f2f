// The README's op table is made of the rows of the op cases; when they differ, the new table is printed to be pasted.
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "catch.hpp"
#include "op_cases.hpp"

namespace {

template <class Row>
std::string line(const char* family, std::span<const Row> rows) {
  std::set<std::string> seen;
  std::string text = std::string("| ") + family + " |";
  for (const Row& row : rows) {
    if (!seen.insert(row.name).second) continue;
    text += std::string(" ") + row.name + (row.flags & cases::integers ? "*" : "") +
            (row.flags & (cases::boolean_result | cases::constant) ? "'" : "");
  }
  return text + " |\n";
}

std::string table() {
  return "| family | ops |\n|---|---|\n" + line("pointwise", cases::pointwise()) +
         line("reductions, scans", cases::reductions()) + line("shape, indexing", cases::movements()) +
         line("linear algebra", cases::linear_algebra()) + line("neural networks", cases::networks());
}

}  // namespace

TEST_CASE("the README's op table is that of the op cases") {
  std::ifstream file(REEL_SOURCE_ROOT "/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- op table: begin -->\n";
  const std::size_t from = readme.find(begin), to = readme.find("<!-- op table: end -->");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string found = readme.substr(from + begin.size(), to - from - begin.size());
  if (found != table()) std::cout << table();
  CHECK(found == table());
}
