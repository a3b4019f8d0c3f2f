#include "sparse/symbolic_analysis.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

namespace reel::optim {

namespace {

template <class T>
std::int64_t bytes_of(const std::vector<T>& list) {
  return static_cast<std::int64_t>(list.capacity() * sizeof(T));
}

}  // namespace

Analysis::Analysis(const CompressedRows& pattern)
    : starts_(pattern.starts),
      column_starts_(pattern.starts.size(), 0),
      columns_(pattern.columns.begin(), pattern.columns.end()),
      rows_(columns_.size()),
      places_(columns_.size()) {
  const auto n = static_cast<Index>(pattern.row_count());
  for (const Index j : columns_) ++column_starts_[at(j) + 1];
  std::partial_sum(column_starts_.begin(), column_starts_.end(), column_starts_.begin());
  std::vector<std::int64_t> next(column_starts_);
  for (Index i = 0; i < n; ++i)
    for (std::int64_t p = starts_[at(i)]; p < starts_[at(i) + 1]; ++p) {
      const std::size_t to = at(next[at(columns_[at(p)])]++);
      rows_[to] = i;
      places_[to] = p;
    }
  symmetric_ = column_starts_ == starts_ && rows_ == columns_;
  const Graph neighbours = graph();
  const AssemblyTree tree = amalgamate(minimum_degree(neighbours));
  parent_ = tree.parent;
  first_.assign(parent_.size() + 1, 0);
  std::partial_sum(tree.pivots.begin(), tree.pivots.end(), first_.begin() + 1);
  child_counts_.assign(parent_.size(), 0);
  for (const Index p : parent_)
    if (p >= 0) ++child_counts_[at(p)];
  order_.resize(at(n));
  position_.resize(at(n));
  Indices free(first_);
  for (Index i = 0; i < n; ++i) {
    position_[at(i)] = free[at(tree.front_of[at(i)])]++;
    order_[at(position_[at(i)])] = i;
  }
  find_borders(neighbours);
}

// The union of the pattern and its transpose, without the diagonal.
Graph Analysis::graph() const {
  Graph g;
  const std::size_t n = starts_.size() - 1;
  g.starts.reserve(n + 1);
  g.starts.push_back(0);
  g.neighbours.reserve(symmetric_ ? columns_.size() : 2 * columns_.size());
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = columns_.begin() + starts_[i], row_end = columns_.begin() + starts_[i + 1];
    const auto column = rows_.begin() + column_starts_[i], column_end = rows_.begin() + column_starts_[i + 1];
    const auto first = static_cast<std::ptrdiff_t>(g.neighbours.size());
    if (symmetric_)
      g.neighbours.insert(g.neighbours.end(), row, row_end);
    else
      std::set_union(row, row_end, column, column_end, std::back_inserter(g.neighbours));
    const auto self = std::lower_bound(g.neighbours.begin() + first, g.neighbours.end(), static_cast<Index>(i));
    if (self != g.neighbours.end() && *self == static_cast<Index>(i)) g.neighbours.erase(self);
    g.starts.push_back(static_cast<std::int64_t>(g.neighbours.size()));
  }
  return g;
}

// A front's border: the later neighbours of its pivots, and what its children update beside its pivots.
void Analysis::find_borders(const Graph& graph) {
  Indices seen(order_.size(), -1);
  std::vector<Indices> children(parent_.size());
  border_starts_.push_back(0);
  for (Index f = 0; f < front_count(); ++f) {
    const Index end = first(f + 1);
    const auto begin = static_cast<std::ptrdiff_t>(borders_.size());
    const auto add = [&](Index position) {
      if (position < end || seen[at(position)] == f) return;
      seen[at(position)] = f;
      borders_.push_back(position);
    };
    for (Index k = first(f); k < end; ++k) {
      const std::size_t i = at(order_[at(k)]);
      for (std::int64_t p = graph.starts[i]; p < graph.starts[i + 1]; ++p) add(position_[at(graph.neighbours[at(p)])]);
    }
    for (const Index c : children[at(f)])
      for (std::int64_t p = border_starts_[at(c)]; p < border_starts_[at(c) + 1]; ++p) add(borders_[at(p)]);
    std::sort(borders_.begin() + begin, borders_.end());
    border_starts_.push_back(static_cast<std::int64_t>(borders_.size()));
    children[at(f)] = {};
    if (parent(f) >= 0) children[at(parent(f))].push_back(f);
  }
}

bool Analysis::is_of(const CompressedRows& pattern) const noexcept {
  return pattern.starts == starts_ &&
         std::equal(pattern.columns.begin(), pattern.columns.end(), columns_.begin(), columns_.end());
}

std::int64_t Analysis::bytes() const noexcept {
  return bytes_of(starts_) + bytes_of(column_starts_) + bytes_of(columns_) + bytes_of(rows_) + bytes_of(places_) +
         bytes_of(order_) + bytes_of(position_) + bytes_of(first_) + bytes_of(parent_) + bytes_of(child_counts_) +
         bytes_of(border_starts_) + bytes_of(borders_);
}

std::int64_t Analysis::panel_size() const noexcept {
  std::int64_t sum = 0;
  for (Index f = 0; f < front_count(); ++f) {
    const std::int64_t k = first(f + 1) - first(f);
    sum += k * (k + static_cast<std::int64_t>(border(f).size()));
  }
  return sum;
}
std::int64_t Analysis::factor_size() const noexcept {
  std::int64_t sum = 0;
  for (Index f = 0; f < front_count(); ++f) {
    const std::int64_t k = first(f + 1) - first(f);
    sum += k * (k - 1) / 2 + k * static_cast<std::int64_t>(border(f).size());
  }
  return sum;
}

namespace {

class Cache {
 public:
  std::shared_ptr<const Analysis> get(const CompressedRows& pattern) {
    if (auto found = find(pattern)) return found;
    auto made = std::make_shared<const Analysis>(pattern);
    const std::lock_guard lock(mutex_);
    kept_.reserve(most + 1);
    kept_.insert(kept_.begin(), made);
    std::int64_t bytes = 0;
    for (std::size_t k = 1; k < kept_.size(); ++k)
      if ((bytes += kept_[k]->bytes()) > most_bytes || k >= most) return kept_.resize(k), made;
    return made;
  }

 private:
  static constexpr std::size_t most = 8;
  static constexpr std::int64_t most_bytes = std::int64_t{64} << 20;  // of all but the latest
  std::shared_ptr<const Analysis> find(const CompressedRows& pattern) {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const auto& a) { return a->is_of(pattern); });
    if (at == kept_.end()) return nullptr;
    std::rotate(kept_.begin(), at, at + 1);
    return kept_.front();
  }
  std::mutex mutex_;
  std::vector<std::shared_ptr<const Analysis>> kept_;  // the latest used first
};

}  // namespace

std::shared_ptr<const Analysis> analysis_of(const CompressedRows& pattern) {
  static auto& cache = *new Cache;  // never destroyed: systems may be solved while the process ends
  return cache.get(pattern);
}

}  // namespace reel::optim
