// The tables of samples/README.md are made from the op cases and from promote(); when one differs, the new table is
// printed to be pasted.
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

std::string further_lines() {
  std::string lines;
  for (const cases::Family& family : cases::further_families()) lines += line(family.name, family.rows());
  return lines;
}

std::string op_table() {
  return "| family | ops |\n|---|---|\n" + line("pointwise", cases::pointwise()) +
         line("reductions, scans", cases::reductions()) + line("shape, indexing", cases::movements()) +
         line("linear algebra", cases::linear_algebra()) + line("neural networks", cases::networks()) + further_lines();
}

// A letter for each dtype, in the order of the enumeration.
std::string promotion_table() {
  const std::string letters = "buiIhgfdcC";
  std::string head = "|   |", rule = "|---|", rows;
  for (std::size_t a = 0; a < letters.size(); ++a) {
    head += std::string(" ") + letters[a] + " |";
    rule += "---|";
    rows += std::string("| ") + letters[a] + " |";
    for (std::size_t b = 0; b < letters.size(); ++b) {
      const auto d = static_cast<std::size_t>(reel::promote(static_cast<reel::DType>(a), static_cast<reel::DType>(b)));
      rows += std::string(" ") + letters[d] + " |";
    }
    rows += "\n";
  }
  return head + "\n" + rule + "\n" + rows;
}

void check(const std::string& name, const std::string& table) {
  std::ifstream file(REEL_SOURCE_ROOT "/samples/README.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- " + name + ": begin -->\n";
  const std::size_t from = page.find(begin), to = page.find("<!-- " + name + ": end -->");
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string found = page.substr(from + begin.size(), to - from - begin.size());
  if (found != table) std::cout << table;
  CHECK(found == table);
}

}  // namespace

TEST_CASE("the op table of samples/README.md is that of the op cases") { check("op table", op_table()); }

TEST_CASE("the table of promoted dtypes in samples/README.md is promote's") { check("dtype table", promotion_table()); }
