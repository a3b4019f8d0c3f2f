#include "sparse/colouring.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

namespace reel::autodiff {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<std::int64_t> count_up(std::int64_t n) {
  std::vector<std::int64_t> list(at(n));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

std::int64_t longest_row(const CompressedRows& a) {
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < a.row_count(); ++i) longest = std::max(longest, a.starts[at(i) + 1] - a.starts[at(i)]);
  return longest;
}

// Rows by decreasing length, stable.
std::vector<std::int64_t> by_falling_length(const CompressedRows& a) {
  std::vector<std::int64_t> order = count_up(a.row_count());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return a.row(i).size() > a.row(j).size(); });
  return order;
}

// Forbidden colours of a vertex: forbidden[c] is the last vertex for which c was forbidden.
class Forbidden {
 public:
  explicit Forbidden(std::int64_t vertices) : last_(at(vertices), -1) {}
  void add(std::int64_t colour, std::int64_t vertex) { last_[at(colour)] = vertex; }
  std::int64_t least_allowed(std::int64_t vertex) const {
    std::int64_t colour = 0;
    while (last_[at(colour)] == vertex) ++colour;
    return colour;
  }

 private:
  std::vector<std::int64_t> last_;
};

constexpr std::int64_t uncoloured = -1;

Colours colour_in_order(const CompressedRows& rows, const CompressedRows& columns,
                        const std::vector<std::int64_t>& order) {
  const std::int64_t n = columns.row_count();
  Colours colours{std::vector<std::int64_t>(at(n), uncoloured)};
  Forbidden forbidden(n + 1);
  for (const std::int64_t j : order) {
    for (const std::int64_t i : columns.row(j))
      for (const std::int64_t k : rows.row(i))
        if (colours.of[at(k)] != uncoloured) forbidden.add(colours.of[at(k)], j);
    colours.of[at(j)] = forbidden.least_allowed(j);
    colours.count = std::max(colours.count, colours.of[at(j)] + 1);
  }
  return colours;
}

// The column whose neighbours have the most colours is next (Brelaz 1979, DSATUR); of equal ones that in the longest
// rows. Columns share a row with their neighbours. Stops at the limit, at most 64 colours.
Colours colour_by_saturation(const CompressedRows& rows, const CompressedRows& columns, std::int64_t limit) {
  const std::int64_t n = columns.row_count();
  Colours colours{std::vector<std::int64_t>(at(n), uncoloured)};
  std::vector<std::uint64_t> around(at(n));  // the colours of neighbours, a bit for each
  std::vector<std::int64_t> degree(at(n));
  using Next = std::tuple<int, std::int64_t, std::int64_t>;  // number of colours, degree, minus the column
  std::priority_queue<Next> next;
  for (std::int64_t j = 0; j < n; ++j) {
    for (const std::int64_t i : columns.row(j)) degree[at(j)] += static_cast<std::int64_t>(rows.row(i).size());
    next.push({0, degree[at(j)], -j});
  }
  while (!next.empty()) {
    const auto [count, of_equals, negative] = next.top();
    const std::int64_t j = -negative;
    next.pop();
    if (colours.of[at(j)] != uncoloured || count != std::popcount(around[at(j)])) continue;
    const int colour = std::countr_one(around[at(j)]);
    if (colour >= limit) return {{}, limit + 1};
    colours.of[at(j)] = colour;
    colours.count = std::max<std::int64_t>(colours.count, colour + 1);
    for (const std::int64_t i : columns.row(j))
      for (const std::int64_t k : rows.row(i)) {
        const std::uint64_t before = std::exchange(around[at(k)], around[at(k)] | std::uint64_t{1} << colour);
        if (before != around[at(k)] && colours.of[at(k)] == uncoloured)
          next.push({std::popcount(around[at(k)]), degree[at(k)], -k});
      }
  }
  return colours;
}

bool has_diagonal(const CompressedRows& a) {
  for (std::int64_t i = 0; i < a.row_count(); ++i)
    if (!std::binary_search(a.row(i).begin(), a.row(i).end(), i)) return false;
  return true;
}

// The colour of a column that numbers the points of a grid, and unknowns at a point, axis by axis: linear in the
// coordinates, modulo the number of colours.
struct GridColours {
  static constexpr std::size_t axes = 3;
  std::int64_t count, stride[axes], factor[axes];
  std::int64_t of(std::int64_t j) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < axes; ++k) sum += factor[k] * (j / stride[k]);
    return sum % count;
  }
  // Whether no row has two columns of a colour. `seen` has an element per colour. Adds up the columns looked at.
  bool fit(const CompressedRows& a, std::vector<std::int64_t>& seen, std::int64_t& steps) const {
    std::fill(seen.begin(), seen.end(), -1);
    for (std::int64_t i = 0; i < a.row_count(); ++i)
      for (const std::int64_t j : a.row(i))
        if (++steps, std::exchange(seen[at(of(j))], i) == i) return false;
    return true;
  }
};

// As few colours as the longest row has columns, if such a colouring of a grid fits: for most stencils one does, while
// greedy colourings of five points take seven. No column has a colour if none fits. Strides are distances in that row
// from its centre.
Colours colour_grid(const CompressedRows& a, std::int64_t least) {
  constexpr std::int64_t most_points = 27;  // of a stencil in three dimensions
  const std::int64_t most_steps = (std::int64_t{1} << 22) + 4 * std::ssize(a.columns);  // some 50 ms
  Colours colours{{}, least + 1};
  if (least < 2 || least > most_points) return colours;
  std::int64_t longest = 0;
  while (std::ssize(a.row(longest)) < least) ++longest;
  std::vector<std::int64_t> strides, seen(at(least));
  const std::span<const std::int64_t> row = a.row(longest);
  const bool centred = std::binary_search(row.begin(), row.end(), longest);
  const std::int64_t centre = centred ? longest : row[at(least / 2)];
  for (const std::int64_t j : row)
    if (j > centre + 1) strides.push_back(j - centre);
  GridColours grid{least, {1, 1, 1}, {1, 0, 0}};
  std::int64_t steps = 0;
  const auto try_factors = [&](bool both) {
    for (grid.factor[1] = 0; grid.factor[1] < least; ++grid.factor[1])
      for (grid.factor[2] = 0; grid.factor[2] < (both ? least : 1); ++grid.factor[2])
        if (steps < most_steps && grid.fit(a, seen, steps)) return true;
    return false;
  };
  const auto try_strides = [&] {
    for (std::size_t s = 0; s < strides.size(); ++s)
      for (std::size_t t = s; t < strides.size() && steps < most_steps; ++t) {
        grid.stride[1] = strides[s], grid.stride[2] = strides[t];
        if (try_factors(s != t)) return true;
      }
    return false;
  };
  for (; grid.factor[0] < least && steps < most_steps; ++grid.factor[0]) {
    if (!try_strides()) continue;
    for (std::int64_t j = 0; j < a.column_count; ++j) colours.of.push_back(grid.of(j));
    colours.count = least;
    break;
  }
  return colours;
}

// The colours of a vertex's neighbours.
struct Neighbourhood {
  struct Seen {
    std::int64_t colour, count, first;  // the number of neighbours of this colour, and the first of them
  };
  std::vector<Seen> seen;
  // For further neighbours: the colour would close a path of four vertices in two colours
  std::vector<std::int64_t> forbidden;

  Seen& of(std::int64_t colour, std::int64_t vertex) {
    for (Seen& s : seen)
      if (s.colour == colour) return s;
    seen.push_back({colour, 0, vertex});
    return seen.back();
  }
  void forbid(std::int64_t colour) {
    if (std::find(forbidden.begin(), forbidden.end(), colour) == forbidden.end()) forbidden.push_back(colour);
  }
};

class StarColouring {
 public:
  explicit StarColouring(const CompressedRows& a)
      : a_(a), colours_{std::vector<std::int64_t>(at(a.row_count()), uncoloured)}, around_(at(a.row_count())) {}

  Colours run(const std::vector<std::int64_t>& order) {
    Forbidden forbidden(a_.row_count() + 1);
    for (const std::int64_t v : order) {
      for (const std::int64_t w : a_.row(v)) {
        if (w == v || colour(w) == uncoloured) continue;
        forbidden.add(colour(w), v);
        // v would end a path of four vertices whose second one is w.
        for (const std::int64_t c : around_[at(w)].forbidden) forbidden.add(c, v);
        // v would be inside such a path, between w and another neighbour of w's colour.
        if (around_[at(v)].of(colour(w), w).count > 1)
          for (const Neighbourhood::Seen& s : around_[at(w)].seen) forbidden.add(s.colour, v);
      }
      paint(v, forbidden.least_allowed(v));
    }
    return std::move(colours_);
  }

 private:
  std::int64_t colour(std::int64_t v) const { return colours_.of[at(v)]; }

  void paint(std::int64_t v, std::int64_t c) {
    colours_.of[at(v)] = c;
    colours_.count = std::max(colours_.count, c + 1);
    for (const std::int64_t x : a_.row(v)) {
      if (x == v) continue;
      Neighbourhood::Seen& s = around_[at(x)].of(c, v);
      // v - x - another one of v's colour: a neighbour of v in x's colour would be the fourth.
      if (++s.count > 1 && colour(x) != uncoloured) {
        around_[at(s.first)].forbid(colour(x));
        around_[at(v)].forbid(colour(x));
      }
      // x - v - another one of x's colour: a neighbour of x in v's colour would be the fourth.
      if (colour(x) != uncoloured && around_[at(v)].of(colour(x), x).count > 1) around_[at(x)].forbid(c);
    }
  }

  const CompressedRows& a_;
  Colours colours_;
  std::vector<Neighbourhood> around_;
};

}  // namespace

CompressedRows transpose(const CompressedRows& a) {
  CompressedRows t;
  t.column_count = a.row_count();
  t.starts.assign(at(a.column_count) + 1, 0);
  for (const std::int64_t j : a.columns) ++t.starts[at(j) + 1];
  std::partial_sum(t.starts.begin(), t.starts.end(), t.starts.begin());
  t.columns.resize(a.columns.size());
  std::vector<std::int64_t> next(t.starts);
  for (std::int64_t i = 0; i < a.row_count(); ++i)
    for (const std::int64_t j : a.row(i)) t.columns[at(next[at(j)]++)] = i;
  return t;
}

CompressedRows symmetric(const CompressedRows& a) {
  const CompressedRows t = transpose(a);
  CompressedRows both;
  both.column_count = a.column_count;
  both.starts.push_back(0);
  for (std::int64_t i = 0; i < a.row_count(); ++i) {
    std::set_union(a.row(i).begin(), a.row(i).end(), t.row(i).begin(), t.row(i).end(),
                   std::back_inserter(both.columns));
    both.starts.push_back(static_cast<std::int64_t>(both.columns.size()));
  }
  return both;
}

Colours colour_columns(const CompressedRows& a) {
  constexpr std::int64_t most_work = std::int64_t{1} << 28;  // steps, about a second
  const std::int64_t n = a.column_count, least = longest_row(a);
  std::int64_t work = 0;
  for (std::int64_t i = 0; i < a.row_count(); ++i) work += static_cast<std::int64_t>(a.row(i).size() * a.row(i).size());
  if (least == n || work > most_work) return {count_up(n), n};
  const CompressedRows columns = transpose(a);
  Colours colours = colour_in_order(a, columns, count_up(n));
  if (colours.count == least) return colours;
  Colours other = colour_grid(a, least);
  if (other.count == least) return other;
  other = colour_in_order(a, columns, by_falling_length(columns));
  if (other.count < colours.count) colours = std::move(other);
  constexpr std::int64_t most_by_saturation = std::int64_t{1} << 23, most_colours = 64;  // a quarter of a second
  if (colours.count == least || work > most_by_saturation) return colours;
  other = colour_by_saturation(a, columns, std::min(colours.count - 1, most_colours));
  return other.count < colours.count ? other : colours;
}

Colours star_colouring(const CompressedRows& a) {
  Colours colours = StarColouring(a).run(count_up(a.row_count()));
  Colours other = StarColouring(a).run(by_falling_length(a));
  if (other.count < colours.count) colours = std::move(other);
  // Different colours of the columns of each row are a star colouring too, if rows have their diagonal.
  const std::int64_t least = longest_row(a);
  if (least >= colours.count || !has_diagonal(a)) return colours;
  other = colour_grid(a, least);
  return other.count == least ? other : colours;
}

}  // namespace reel::autodiff
