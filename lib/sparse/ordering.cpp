// The quotient graph of a partial elimination: variables are vertices that are not eliminated yet, an element is a
// pivot and stands for the clique of the variables on its border. A step
// 1. takes the variable of least degree as pivot; the elements beside it are absorbed by the new one;
// 2. bounds the degree of each variable on the border by the sizes of its elements without their intersection with the
//    new one (computed for all of them in one pass), and drops elements that the new one covers;
// 3. merges variables of the border that have the same neighbours.
#include "sparse/ordering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reel::optim {

namespace {

constexpr Index none = -1;

class MinimumDegree {
 public:
  explicit MinimumDegree(const Graph& graph);
  AssemblyTree run();

 private:
  // Lists of variables by degree, doubly linked.
  void insert(Index i);
  void remove(Index i);
  Index least_degree();

  void set_dense_apart();
  void make_element(Index pivot);
  void take_border(std::int64_t first, std::int64_t count);
  void measure_overlaps();
  void update_degrees(Index pivot);
  void add_to_bucket(Index i, std::uint64_t hash);
  void merge_variables();
  bool same_neighbours(Index i, Index j) const;
  void finish_element(Index pivot);
  Index eliminating_pivot(Index i) const;

  Index n_, eliminated_ = 0, least_ = 0;
  // The lists of variables and elements. A variable has its elements, then its variables.
  Indices lists_;
  std::vector<std::int64_t> starts_;
  Indices lengths_, elements_;  // of the list; the elements in it
  Indices weights_;             // vertices that a variable stands for; negative on the border, 0 once it is no pivot
  Indices degrees_;             // of a variable, an upper bound; of an element, the weight of its border
  Indices parents_;             // of what was merged, eliminated with a pivot, or absorbed
  Indices heads_, next_, previous_, buckets_;
  std::vector<std::int64_t> marks_;  // 0: an absorbed element
  std::int64_t mark_ = 1;
  Indices sequence_, dense_;  // the pivots; the vertices that come last
  std::vector<bool> is_pivot_;
  std::int64_t border_begin_ = 0;
  Index border_weight_ = 0, pivot_weight_ = 0, largest_border_ = 0;
};

MinimumDegree::MinimumDegree(const Graph& graph)
    : n_(graph.size()),
      lists_(graph.neighbours),
      starts_(graph.starts.begin(), graph.starts.end() - 1),
      lengths_(at(n_)),
      elements_(at(n_), 0),
      weights_(at(n_), 1),
      degrees_(at(n_)),
      parents_(at(n_), none),
      heads_(at(n_) + 1, none),
      next_(at(n_), none),
      previous_(at(n_), none),
      buckets_(at(n_) + 1, none),
      marks_(at(n_), 1),
      is_pivot_(at(n_), false) {
  for (Index i = 0; i < n_; ++i) lengths_[at(i)] = static_cast<Index>(graph.starts[at(i) + 1] - graph.starts[at(i)]);
  degrees_ = lengths_;
  lists_.reserve(lists_.size() + lists_.size() / 2 + at(n_));
  set_dense_apart();
  for (Index i = n_; i-- > 0;)
    if (weights_[at(i)] > 0) insert(i);
}

// Every elimination beside a vertex with n neighbours would take a time of n.
void MinimumDegree::set_dense_apart() {
  constexpr double least = 16, per_root = 10;  // as the authors' package chooses them
  const double limit = std::max(least, per_root * std::sqrt(static_cast<double>(n_)));
  for (Index i = 0; i < n_; ++i)
    if (static_cast<double>(degrees_[at(i)]) > limit) {
      weights_[at(i)] = 0;
      dense_.push_back(i);
    }
  eliminated_ = static_cast<Index>(dense_.size());
}

void MinimumDegree::insert(Index i) {
  const Index d = degrees_[at(i)], head = heads_[at(d)];
  next_[at(i)] = head;
  previous_[at(i)] = none;
  if (head != none) previous_[at(head)] = i;
  heads_[at(d)] = i;
  least_ = std::min(least_, d);
}
void MinimumDegree::remove(Index i) {
  const Index before = previous_[at(i)], after = next_[at(i)];
  if (after != none) previous_[at(after)] = before;
  (before == none ? heads_[at(degrees_[at(i)])] : next_[at(before)]) = after;
}
Index MinimumDegree::least_degree() {
  while (heads_[at(least_)] == none) ++least_;
  return heads_[at(least_)];
}

AssemblyTree MinimumDegree::run() {
  while (eliminated_ < n_) {
    const Index pivot = least_degree();
    remove(pivot);
    make_element(pivot);
    measure_overlaps();
    update_degrees(pivot);
    merge_variables();
    finish_element(pivot);
  }
  AssemblyTree tree;
  Indices front(at(n_), none);
  for (const Index p : sequence_)
    front[at(p)] = static_cast<Index>(tree.pivots.size()), tree.pivots.push_back(weights_[at(p)]);
  const Index last = dense_.empty() ? none : static_cast<Index>(sequence_.size());
  for (const Index p : sequence_) {
    const Index parent = parents_[at(p)];
    tree.parent.push_back(parent == none ? last : front[at(parent)]);
    tree.border.push_back(degrees_[at(p)]);
  }
  if (last != none) {
    tree.parent.push_back(none);
    tree.pivots.push_back(static_cast<Index>(dense_.size()));
    tree.border.push_back(0);
  }
  tree.front_of.assign(at(n_), last);
  for (Index i = 0; i < n_; ++i)
    if (const Index p = eliminating_pivot(i); p != none) tree.front_of[at(i)] = front[at(p)];
  return tree;
}

// The pivot that was eliminated together with vertex i; none if it is dense.
Index MinimumDegree::eliminating_pivot(Index i) const {
  while (i != none && !is_pivot_[at(i)]) i = parents_[at(i)];
  return i;
}

void MinimumDegree::make_element(Index pivot) {
  const std::size_t p = at(pivot);
  is_pivot_[p] = true;
  sequence_.push_back(pivot);
  pivot_weight_ = weights_[p];
  eliminated_ += pivot_weight_;
  weights_[p] = -pivot_weight_;
  border_weight_ = 0;
  border_begin_ = static_cast<std::int64_t>(lists_.size());
  for (Index k = 0; k < elements_[p]; ++k) {
    const Index e = lists_[at(starts_[p] + k)];
    take_border(starts_[at(e)], lengths_[at(e)]);
    parents_[at(e)] = pivot;
    marks_[at(e)] = 0;
  }
  take_border(starts_[p] + elements_[p], lengths_[p] - elements_[p]);
  starts_[p] = border_begin_;
}
void MinimumDegree::take_border(std::int64_t first, std::int64_t count) {
  for (std::int64_t k = first; k < first + count; ++k) {
    const Index i = lists_[at(k)], weight = weights_[at(i)];
    if (weight <= 0) continue;
    border_weight_ += weight;
    weights_[at(i)] = -weight;
    lists_.push_back(i);
    remove(i);
  }
}

// marks_[e] - mark_ becomes the weight of the border of element e outside of the new border.
void MinimumDegree::measure_overlaps() {
  for (std::size_t k = at(border_begin_); k < lists_.size(); ++k) {
    const std::size_t i = at(lists_[k]);
    const Index weight = -weights_[i];
    for (Index m = 0; m < elements_[i]; ++m) {
      const std::size_t e = at(lists_[at(starts_[i] + m)]);
      if (marks_[e] >= mark_)
        marks_[e] -= weight;
      else if (marks_[e] != 0)
        marks_[e] = mark_ + degrees_[e] - weight;
    }
  }
}

void MinimumDegree::update_degrees(Index pivot) {
  for (std::size_t k = at(border_begin_); k < lists_.size(); ++k) {
    const Index variable = lists_[k];
    const std::size_t i = at(variable);
    const std::int64_t first = starts_[i], middle = first + elements_[i], end = first + lengths_[i];
    std::int64_t to = first, degree = 0;
    std::uint64_t hash = 0;
    for (std::int64_t p = first; p < middle; ++p) {
      const Index e = lists_[at(p)];
      if (marks_[at(e)] == 0) continue;
      const std::int64_t outside = marks_[at(e)] - mark_;
      if (outside > 0) {
        degree += outside;
        hash += static_cast<std::uint64_t>(e);
        lists_[at(to++)] = e;
      } else {  // covered by the new element
        parents_[at(e)] = pivot;
        marks_[at(e)] = 0;
      }
    }
    const std::int64_t elements_end = to;
    for (std::int64_t p = middle; p < end; ++p) {
      const Index j = lists_[at(p)];
      if (weights_[at(j)] <= 0) continue;
      degree += weights_[at(j)];
      hash += static_cast<std::uint64_t>(j);
      lists_[at(to++)] = j;
    }
    if (to == first) {  // no neighbours beside the border: eliminated together with the pivot
      const Index weight = -weights_[i];
      parents_[i] = pivot;
      border_weight_ -= weight;
      pivot_weight_ += weight;
      eliminated_ += weight;
      weights_[i] = 0;
      continue;
    }
    degrees_[i] = static_cast<Index>(std::min<std::int64_t>(degrees_[i], degree));
    // The pivot becomes the first element. There is room: the list had it, or an element that it absorbed.
    lists_[at(to)] = lists_[at(elements_end)];
    lists_[at(elements_end)] = lists_[at(first)];
    lists_[at(first)] = pivot;
    elements_[i] = static_cast<Index>(elements_end - first + 1);
    lengths_[i] = static_cast<Index>(to - first + 1);
    add_to_bucket(variable, hash);
  }
  largest_border_ = std::max(largest_border_, border_weight_);
  mark_ += largest_border_ + 1;
}
void MinimumDegree::add_to_bucket(Index i, std::uint64_t hash) {
  const auto bucket = static_cast<Index>(hash % static_cast<std::uint64_t>(n_));
  previous_[at(i)] = bucket;
  next_[at(i)] = buckets_[at(bucket)];
  buckets_[at(bucket)] = i;
}

void MinimumDegree::merge_variables() {
  for (std::size_t k = at(border_begin_); k < lists_.size(); ++k) {
    if (weights_[at(lists_[k])] == 0) continue;
    Index& bucket = buckets_[at(previous_[at(lists_[k])])];
    Index i = bucket;
    bucket = none;
    for (; i != none && next_[at(i)] != none; i = next_[at(i)], ++mark_) {
      for (std::int64_t p = 1; p < lengths_[at(i)]; ++p) marks_[at(lists_[at(starts_[at(i)] + p)])] = mark_;
      for (Index before = i, j = next_[at(i)]; j != none; j = next_[at(j)]) {
        if (!same_neighbours(i, j)) {
          before = j;
          continue;
        }
        parents_[at(j)] = i;
        weights_[at(i)] += weights_[at(j)];
        weights_[at(j)] = 0;
        next_[at(before)] = next_[at(j)];
      }
    }
  }
}
// The neighbours of i are marked.
bool MinimumDegree::same_neighbours(Index i, Index j) const {
  if (lengths_[at(i)] != lengths_[at(j)] || elements_[at(i)] != elements_[at(j)]) return false;
  for (std::int64_t p = 1; p < lengths_[at(j)]; ++p)
    if (marks_[at(lists_[at(starts_[at(j)] + p)])] != mark_) return false;
  return true;
}

void MinimumDegree::finish_element(Index pivot) {
  std::size_t to = at(border_begin_);
  for (std::size_t k = to; k < lists_.size(); ++k) {
    const Index i = lists_[k], weight = -weights_[at(i)];
    if (weight <= 0) continue;
    weights_[at(i)] = weight;
    degrees_[at(i)] = std::min(degrees_[at(i)] + border_weight_ - weight, n_ - eliminated_ - weight);
    insert(i);
    lists_[to++] = i;
  }
  lists_.resize(to);
  weights_[at(pivot)] = pivot_weight_;
  degrees_[at(pivot)] = border_weight_;
  lengths_[at(pivot)] = static_cast<Index>(static_cast<std::int64_t>(to) - border_begin_);
  elements_[at(pivot)] = 0;
  if (lengths_[at(pivot)] == 0) marks_[at(pivot)] = 0;
}

// Whether a front of this many pivots, with this share of zeros in its columns, is faster than two.
bool worth_merging(std::int64_t pivots, double zeros) {
  return pivots <= 4 || (pivots <= 16 && zeros < 0.6) || (pivots <= 48 && zeros < 0.15) || zeros < 0.05;
}

}  // namespace

AssemblyTree minimum_degree(const Graph& graph) { return MinimumDegree(graph).run(); }

namespace {

// For each front the one that it becomes a part of, or itself; `pivots` are those of the larger fronts then.
Indices merge_targets(const AssemblyTree& tree, Indices& pivots) {
  const std::size_t count = tree.parent.size();
  Indices into(count);
  std::vector<std::int64_t> empty(count, 0);  // explicit zeros in the columns of the pivots
  std::iota(into.begin(), into.end(), 0);
  for (std::size_t c = 0; c < count; ++c) {
    if (tree.parent[c] == none) continue;
    const std::size_t p = at(tree.parent[c]);
    const std::int64_t k = pivots[c], sum = k + pivots[p], rows = sum + tree.border[p];
    const std::int64_t more = empty[c] + empty[p] + k * std::max<std::int64_t>(0, rows - k - tree.border[c]);
    const double elements = static_cast<double>(sum) * static_cast<double>(rows);
    if (!worth_merging(sum, static_cast<double>(more) / elements)) continue;
    into[c] = static_cast<Index>(p);
    pivots[p] = static_cast<Index>(sum);
    empty[p] = more;
  }
  for (std::size_t c = count; c-- > 0;) into[c] = into[at(into[c])];  // parents are settled first
  return into;
}

// The fronts in postorder: each after its children. parent[f] is -1 of a root, and -2 of a front that is none.
Indices postorder_of(const Indices& parent) {
  Indices child(parent.size(), none), sibling(parent.size(), none), stack, order;
  for (std::size_t f = 0; f < parent.size(); ++f) {
    if (parent[f] == none) stack.push_back(static_cast<Index>(f));
    if (parent[f] < 0) continue;
    sibling[f] = child[at(parent[f])];
    child[at(parent[f])] = static_cast<Index>(f);
  }
  while (!stack.empty()) {
    const Index f = stack.back(), c = child[at(f)];
    if (c != none) {
      child[at(f)] = sibling[at(c)];
      stack.push_back(c);
      continue;
    }
    stack.pop_back();
    order.push_back(f);
  }
  return order;
}

}  // namespace

AssemblyTree amalgamate(const AssemblyTree& tree) {
  Indices pivots(tree.pivots);
  const Indices into = merge_targets(tree, pivots);
  Indices parent(into.size(), -2), number(into.size(), none);
  for (std::size_t f = 0; f < into.size(); ++f)
    if (at(into[f]) == f) parent[f] = tree.parent[f] == none ? none : into[at(tree.parent[f])];
  const Indices postorder = postorder_of(parent);
  AssemblyTree result;
  for (std::size_t k = 0; k < postorder.size(); ++k) number[at(postorder[k])] = static_cast<Index>(k);
  for (const Index f : postorder) {
    result.parent.push_back(parent[at(f)] == none ? none : number[at(parent[at(f)])]);
    result.pivots.push_back(pivots[at(f)]);
    result.border.push_back(tree.border[at(f)]);
  }
  for (const Index f : tree.front_of) result.front_of.push_back(number[at(into[at(f)])]);
  return result;
}

}  // namespace reel::optim
