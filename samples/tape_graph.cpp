// Shows what a tape holds: the graph of a small network's loss as DOT, as a picture and as a page for a browser, the
// bytes by op, and the plan of its gradient. Writes tape_graph.dot, for Graphviz, a simple drawing, tape_graph.svg, and
// tape_graph.html, which has the times of ops and rules, to --folder DIR or to the system's temporary folder. The exit
// status says whether they have the expected content.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <reel/reel.hpp>
#include <reel/tape_page.hpp>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "chart/chart.hpp"

namespace {

struct Node {
  std::string id, label;
  bool source = false;
  std::size_t layer = 0, column = 0;
};
struct Edge {
  std::size_t from, to;
  std::string label;
};
struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

// The value of `key` in a line like `op1 [label="tanh\n64 bytes saved", shape=box];`.
std::string quoted(const std::string& line, const std::string& key) {
  const std::size_t begin = line.find(key + "=\"");
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + key.size() + 2;
  return line.substr(from, line.find('"', from) - from);
}

// Reads what to_dot writes: a statement per line, sources and ops before the edges between them.
Graph parse(const std::string& dot) {
  Graph g;
  std::map<std::string, std::size_t> number;
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    if (second == "->") {
      g.edges.push_back({number.at(first), number.at(third.substr(0, third.find(';'))), quoted(line, "label")});
    } else if (line.find("label=") != std::string::npos) {
      number[first] = g.nodes.size();
      g.nodes.push_back({first, quoted(line, "label"), line.find("fillcolor") != std::string::npos, 0, 0});
    }
  }
  return g;
}

// Places each node below all nodes that it depends on. Nodes are in recording order, but a target may come after its
// edge.
void lay_out(Graph& g) {
  for (std::size_t round = 0; round < g.nodes.size(); ++round)
    for (const Edge& e : g.edges) g.nodes[e.to].layer = std::max(g.nodes[e.to].layer, g.nodes[e.from].layer + 1);
  std::map<std::size_t, std::size_t> next;
  for (Node& n : g.nodes) n.column = next[n.layer]++;
}

std::string svg(Graph g) {
  constexpr int wide = 190, high = 90, box_width = 150, box_height = 44;
  lay_out(g);
  std::size_t columns = 1, layers = 1;
  for (const Node& n : g.nodes) {
    columns = std::max(columns, n.column + 1);
    layers = std::max(layers, n.layer + 1);
  }
  const auto x = [&](const Node& n) { return static_cast<int>(n.column) * wide + wide / 2; };
  const auto y = [&](const Node& n) { return static_cast<int>(n.layer) * high + high / 2; };
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << columns * wide << "\" height=\"" << layers * high
      << "\" font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n";
  for (const Edge& e : g.edges) {
    const Node &a = g.nodes[e.from], &b = g.nodes[e.to];
    out << "<g class=\"edge\"><line x1=\"" << x(a) << "\" y1=\"" << y(a) + box_height / 2 << "\" x2=\"" << x(b)
        << "\" y2=\"" << y(b) - box_height / 2 << "\" stroke=\"gray\"/><text x=\"" << (x(a) + x(b)) / 2 << "\" y=\""
        << (y(a) + y(b)) / 2 << "\" fill=\"gray\">" << e.label << "</text></g>\n";
  }
  for (const Node& n : g.nodes) {
    const std::size_t split = n.label.find("\\n");
    out << "<g class=\"node\"><rect x=\"" << x(n) - box_width / 2 << "\" y=\"" << y(n) - box_height / 2 << "\" width=\""
        << box_width << "\" height=\"" << box_height << "\" rx=\"" << (n.source ? 20 : 3) << "\" fill=\""
        << (n.source ? "lightblue" : "white") << "\" stroke=\"black\"/><text x=\"" << x(n) << "\" y=\"" << y(n) << "\">"
        << n.label.substr(0, split) << "</text>";
    if (split != std::string::npos)
      out << "<text x=\"" << x(n) << "\" y=\"" << y(n) + 14 << "\">"
          << n.label.substr(split + 2, n.label.find("\\n", split + 2) - split - 2) << "</text>";
    out << "</g>\n";
  }
  out << "</svg>\n";
  return out.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) chart::stop(path, "cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace reel;
  std::error_code unknown;
  std::string folder = std::filesystem::temp_directory_path(unknown).string();
  if (unknown) folder = ".";
  chart::read_arguments(argc, argv, {{"--folder", "DIR", &folder}});
  const Tensor x = reshape(linspace(-1, 1, 24), {8, 3});
  const Variable w1(full({3, 16}, 0.1), "w1"), b1(zeros({16}), "b1"), w2(full({16, 1}, 0.2), "w2");
  const ChromeTraceGuard trace(folder + "/tape_graph.json");  // measures times, and notes lines
  GradientTape tape({.persistent = true});
  const Tensor hidden = tanh(matmul(x, w1) + b1);
  const Tensor loss = mean(square(matmul(hidden, w2)));
  tape.stop();

  const std::string dot = tape.to_dot(loss);
  const Graph graph = parse(dot);
  const std::string picture = svg(graph);
  write(folder + "/tape_graph.dot", dot);
  write(folder + "/tape_graph.svg", picture);

  std::printf("op          entries  saved bytes\n");
  for (const OpStats& op : tape.stats().by_op)
    std::printf("%-12s %6lld %12lld\n", op.name.c_str(), static_cast<long long>(op.entries),
                static_cast<long long>(op.saved_bytes));
  const std::vector<Variable> parameters = {w1, b1, w2};
  const ReplayPlan plan = tape.plan(loss, parameters);
  static_cast<void>(tape.gradient(loss, parameters));
  const std::string page = tape_page(tape, loss);
  write(folder + "/tape_graph.html", page);
  std::printf("\n%s\n\ndrawn to %s and tape_graph.html\n", to_string(plan).c_str(),
              (folder + "/tape_graph.svg").c_str());

  // Six ops, three variables and the target; x is no source. An edge per operand that the tape follows.
  const auto sources = std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.source; });
  bool good = graph.nodes.size() == 10 && graph.edges.size() == 9 && sources == 3 && plan.entries.size() == 6;
  good = good && count(picture, "class=\"node\"") == 10 && count(picture, "class=\"edge\"") == 9;
  for (const char* part : {"float64 [3, 16]", "float64 [8, 16]", "float64 [16, 1]", "w1", "tanh"})
    good = good && dot.find(part) != std::string::npos && picture.find(part) != std::string::npos;
  good = good && dot.find("tape_graph.cpp:") != std::string::npos;
  good =
      good && count(page, "\"op\": ") == 6 && count(page, "\"forward\": ") == 6 && count(page, "\"backward\": ") == 6;
  std::printf("%s\n", good ? "the graph is complete" : "the graph is NOT what was recorded");
  return good ? 0 : 1;
}
