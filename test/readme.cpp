// Checks the generated tables: those of samples/README.md against the op cases and promote(), that of test/peers.md
// against the op cases and test/op_cases/peers.txt. If one differs, prints the new table, to be pasted.
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <reel/ops/normal.hpp>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "op_cases.hpp"

namespace {

const std::set<std::string> normal_functions = {
#define REEL_NAME(name, operands) #name,
    REEL_NORMAL_FUNCTIONS(REEL_NAME)
#undef REEL_NAME
};

// The ops of the rows, but for those of another line.
template <class Row>
std::string line(const char* family, std::span<const Row> rows, std::set<std::string> seen = {}) {
  std::string text = std::string("| ") + family + " |";
  for (const Row& row : rows) {
    if (!seen.insert(row.name).second) continue;
    text += std::string(" ") + row.name + (row.flags & cases::integers ? "*" : "") +
            (row.flags & (cases::boolean_result | cases::constant) ? "'" : "");
  }
  return text + " |\n";
}

std::string family_lines() {
  std::string lines;
  for (const cases::Family& family : cases::families()) lines += line(family.name, family.rows());
  return lines;
}

std::string normal_line() {
  std::set<std::string> others;
  for (const auto& row : cases::pointwise())
    if (!normal_functions.contains(row.name)) others.insert(row.name);
  return line("normal distribution, `<reel/ops/normal.hpp>`", cases::pointwise(), others);
}

// The families of <reel/reel.hpp> come first.
std::string op_table() {
  return "| family | ops |\n|---|---|\n" + line("pointwise", cases::pointwise(), normal_functions) +
         line("reductions, scans", cases::reductions()) + line("shape, indexing", cases::movements()) +
         line("linear algebra", cases::linear_algebra()) + line("neural networks", cases::networks()) + normal_line() +
         family_lines();
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

// ---- Ops of other libraries

using Names = std::vector<std::string>;
struct OpFamily {
  std::string name;
  Names ops;
};

// The families of op_table().
std::vector<OpFamily> op_families() {
  std::vector<OpFamily> families;
  std::istringstream lines(op_table());
  std::string line;
  for (int k = 0; std::getline(lines, line); ++k) {
    if (k < 2) continue;  // the head
    const std::size_t bar = line.find(" |", 2);
    OpFamily family{line.substr(2, bar - 2), {}};
    std::istringstream words(line.substr(bar + 2));
    for (std::string word; words >> word;) {
      while (!word.empty() && (word.back() == '*' || word.back() == '\'')) word.pop_back();
      if (word != "|") family.ops.push_back(word);
    }
    families.push_back(std::move(family));
  }
  return families;
}

// The line of each op in peers.txt: a letter for each peer.
std::map<std::string, std::string> peers_of_ops() {
  std::ifstream file(REEL_SOURCE_ROOT "/test/op_cases/peers.txt");
  std::map<std::string, std::string> peers;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string letters;
    words >> letters;
    INFO(line);
    REQUIRE(letters.size() == 5);
    REQUIRE(letters.find_first_not_of("yv-") == std::string::npos);
    for (std::string op; words >> op;) {
      INFO(op);
      CHECK(peers.emplace(op, letters).second);  // named once
    }
  }
  return peers;
}

// The ops of a family in a row for each choice of peers, in the order of the first op of each.
// Ops without a line in peers.txt are left out, so that a new op needs no file more.
std::string peer_table(const std::vector<OpFamily>& families, const std::map<std::string, std::string>& peers) {
  std::string table = "| family | ops | TensorFlow | PyTorch | JAX | HIPS | MLX |\n|---|---|---|---|---|---|---|\n";
  for (const OpFamily& family : families) {
    std::vector<std::pair<std::string, std::string>> rows;  // letters, ops
    for (const std::string& op : family.ops) {
      const auto found = peers.find(op);
      if (found == peers.end()) continue;
      const auto same = [&](const auto& row) { return row.first == found->second; };
      auto row = std::find_if(rows.begin(), rows.end(), same);
      if (row == rows.end()) row = rows.insert(rows.end(), {found->second, ""});
      row->second += (row->second.empty() ? "" : " ") + op;
    }
    for (const auto& [letters, ops] : rows) {
      table += "| " + family.name + " | " + ops + " |";
      for (const char letter : letters) table += letter == 'y' ? " yes |" : letter == 'v' ? " values |" : " |";
      table += "\n";
    }
  }
  return table;
}

void check(const char* path, const std::string& name, const std::string& table) {
  std::ifstream file(REEL_SOURCE_ROOT "/" + std::string(path));
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

TEST_CASE("the op table of samples/README.md is that of the op cases") {
  check("samples/README.md", "op table", op_table());
}

TEST_CASE("the table of promoted dtypes in samples/README.md is promote's") {
  check("samples/README.md", "dtype table", promotion_table());
}

TEST_CASE("test/peers.md names every family of ops and who else has it") {
  const std::vector<OpFamily> families = op_families();
  const std::map<std::string, std::string> peers = peers_of_ops();
  check("test/peers.md", "peer table", peer_table(families, peers));
  std::set<std::string> ops;
  for (const OpFamily& family : families) ops.insert(family.ops.begin(), family.ops.end());
  for (const auto& [op, letters] : peers) {
    INFO(op << " of test/op_cases/peers.txt is no op of the table");
    CHECK(ops.count(op) == 1);
  }
}
