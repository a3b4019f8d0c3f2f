#include "optim/sparse/cholesky.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reel::optim {

namespace {

using Numbers = std::vector<std::int64_t>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Breadth-first search from `start`: appends the unmarked vertices it reaches, neighbours by rising degree. Returns the
// last one.
std::int64_t breadth_first(const CompressedRows& a, std::int64_t start, std::int64_t mark, Numbers& marks,
                           Numbers& order) {
  std::size_t next = order.size();
  order.push_back(start);
  marks[at(start)] = mark;
  while (next < order.size()) {
    const std::int64_t v = order[next++];
    const auto first = static_cast<std::ptrdiff_t>(order.size());
    for (const std::int64_t w : a.row(v))
      if (marks[at(w)] < mark) {
        marks[at(w)] = mark;
        order.push_back(w);
      }
    std::stable_sort(order.begin() + first, order.end(),
                     [&](std::int64_t i, std::int64_t j) { return a.row(i).size() < a.row(j).size(); });
  }
  return order.back();
}

}  // namespace

Numbers reverse_cuthill_mckee(const CompressedRows& a) {
  constexpr std::int64_t unseen = 0, visited = 1, done = 2;
  Numbers order, marks(at(a.row_count()), unseen), trial;
  for (std::int64_t v = 0; v < a.row_count(); ++v) {
    if (marks[at(v)] != unseen) continue;
    trial.clear();  // from v to a peripheral vertex of its component, and from there
    const std::int64_t end = breadth_first(a, v, visited, marks, trial);
    breadth_first(a, end, done, marks, order);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

SparseCholesky::SparseCholesky(const CompressedRows& a)
    : order_(reverse_cuthill_mckee(a)),
      rows_(order_.size()),
      parents_(order_.size(), -1),
      starts_(order_.size() + 1, 0),
      diagonal_(order_.size()),
      marks_(order_.size(), -1) {
  Numbers position(order_.size());
  for (std::size_t k = 0; k < order_.size(); ++k) position[at(order_[k])] = static_cast<std::int64_t>(k);
  for (std::size_t k = 0; k < order_.size(); ++k) {
    const std::int64_t begin = a.starts[at(order_[k])], end = a.starts[at(order_[k]) + 1];
    for (std::int64_t place = begin; place < end; ++place)
      if (const std::int64_t j = position[at(a.columns[at(place)])]; j <= static_cast<std::int64_t>(k)) {
        rows_[k].columns.push_back(j);
        rows_[k].places.push_back(place);
      }
  }
  // The elimination tree, and the number of elements in each column of L: row k has those on the paths from its
  // elements up to k.
  for (std::int64_t k = 0; k < a.row_count(); ++k) {
    marks_[at(k)] = k;
    for (std::int64_t j : rows_[at(k)].columns)
      for (; marks_[at(j)] != k; j = parents_[at(j)]) {
        if (parents_[at(j)] < 0) parents_[at(j)] = k;
        ++starts_[at(j) + 1];
        marks_[at(j)] = k;
      }
  }
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  indices_.resize(at(starts_.back()));
  factor_.resize(at(starts_.back()));
}

// The columns of row k of L, children before parents.
std::span<const std::int64_t> SparseCholesky::reach(std::int64_t k) {
  path_.clear();
  marks_[at(k)] = k;
  for (std::int64_t j : rows_[at(k)].columns)
    for (; marks_[at(j)] != k; j = parents_[at(j)]) {
      path_.push_back(j);
      marks_[at(j)] = k;
    }
  std::sort(path_.begin(), path_.end());  // a parent has a higher number
  return path_;
}

bool SparseCholesky::factorise(std::span<const double> values) {
  std::fill(marks_.begin(), marks_.end(), -1);
  Numbers ends(starts_.begin(), starts_.end() - 1);  // the end of each column of L as filled so far
  std::vector<double> row(order_.size(), 0.0);
  for (std::size_t k = 0; k < order_.size(); ++k) {
    for (std::size_t e = 0; e < rows_[k].columns.size(); ++e)
      row[at(rows_[k].columns[e])] += values[at(rows_[k].places[e])];
    double pivot = row[k];
    row[k] = 0;
    for (const std::int64_t j : reach(static_cast<std::int64_t>(k))) {
      const double above = row[at(j)];
      row[at(j)] = 0;
      for (std::int64_t p = starts_[at(j)]; p < ends[at(j)]; ++p) row[at(indices_[at(p)])] -= factor_[at(p)] * above;
      const double element = above / diagonal_[at(j)];
      pivot -= element * above;
      indices_[at(ends[at(j)])] = static_cast<std::int64_t>(k);
      factor_[at(ends[at(j)]++)] = element;
    }
    if (!(pivot > 0)) return false;
    diagonal_[k] = pivot;
  }
  return true;
}

void SparseCholesky::solve(std::vector<double>& b) const {
  const std::size_t n = order_.size();
  std::vector<double> x(n);
  for (std::size_t k = 0; k < n; ++k) x[k] = b[at(order_[k])];
  for (std::size_t j = 0; j < n; ++j)
    for (std::int64_t p = starts_[j]; p < starts_[j + 1]; ++p) x[at(indices_[at(p)])] -= factor_[at(p)] * x[j];
  for (std::size_t j = n; j-- > 0;) {
    x[j] /= diagonal_[j];
    for (std::int64_t p = starts_[j]; p < starts_[j + 1]; ++p) x[j] -= factor_[at(p)] * x[at(indices_[at(p)])];
  }
  for (std::size_t k = 0; k < n; ++k) b[at(order_[k])] = x[k];
}

NormalMatrix::NormalMatrix(const CompressedRows& jacobian)
    : jacobian_(jacobian), columns_(transposed(jacobian)), places_(jacobian.columns.size()) {
  Numbers next(columns_.starts);
  for (std::size_t place = 0; place < places_.size(); ++place)
    places_[at(next[at(jacobian.columns[place])]++)] = static_cast<std::int64_t>(place);
  const std::int64_t n = jacobian.column_count;
  pattern_.column_count = n;
  pattern_.starts.push_back(0);
  Numbers seen(at(n), -1);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto first = static_cast<std::ptrdiff_t>(pattern_.columns.size());
    const auto add = [&](std::int64_t k) {
      if (std::exchange(seen[at(k)], j) != j) pattern_.columns.push_back(k);
    };
    add(j);
    for (const std::int64_t i : columns_.row(j))
      for (const std::int64_t k : jacobian_.row(i)) add(k);
    std::sort(pattern_.columns.begin() + first, pattern_.columns.end());
    diagonal_.push_back(std::lower_bound(pattern_.columns.begin() + first, pattern_.columns.end(), j) -
                        pattern_.columns.begin());
    pattern_.starts.push_back(static_cast<std::int64_t>(pattern_.columns.size()));
  }
}

std::vector<double> NormalMatrix::values(std::span<const double> jacobian) const {
  std::vector<double> list(pattern_.columns.size()), row(at(pattern_.column_count), 0.0);
  for (std::int64_t j = 0; j < pattern_.column_count; ++j) {
    for (std::int64_t e = columns_.starts[at(j)]; e < columns_.starts[at(j) + 1]; ++e) {
      const std::int64_t i = columns_.columns[at(e)];
      const double factor = jacobian[at(places_[at(e)])];
      for (std::int64_t p = jacobian_.starts[at(i)]; p < jacobian_.starts[at(i) + 1]; ++p)
        row[at(jacobian_.columns[at(p)])] += factor * jacobian[at(p)];
    }
    for (std::int64_t p = pattern_.starts[at(j)]; p < pattern_.starts[at(j) + 1]; ++p)
      list[at(p)] = std::exchange(row[at(pattern_.columns[at(p)])], 0.0);
  }
  return list;
}

}  // namespace reel::optim
