// What programs are made of: halos of arrays that are cut into parts, sums of gradients, sums over shards.
#include <map>
#include <reel/final_gradients.hpp>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>

#include "mpi/buckets.hpp"

namespace reel {

namespace {

// Sums the tensors over all ranks: one exchange for all of a dtype.
void sum_over_ranks(const Communicator& ranks, std::vector<Tensor>& tensors) {
  std::map<DType, std::vector<std::size_t>> by_dtype;
  for (std::size_t k = 0; k < tensors.size(); ++k) by_dtype[tensors[k].dtype()].push_back(k);
  for (const auto& [dtype, members] : by_dtype) {
    std::vector<Tensor> group;
    for (std::size_t k : members) group.push_back(tensors[k]);
    const auto [flat, unravel] = ravel(group);
    const std::vector<Tensor> sums = unravel(all_reduce(ranks, flat));
    for (std::size_t k = 0; k < members.size(); ++k) tensors[members[k]] = sums[k];
  }
}

using ShardParts = std::vector<std::vector<Tensor>>;

// The sums of the parts [begin, end), by a binary tree over their numbers.
std::vector<Tensor> tree_sum(const ShardParts& parts, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return parts[begin];
  std::size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  std::vector<Tensor> left = tree_sum(parts, begin, begin + half);
  const std::vector<Tensor> right = tree_sum(parts, begin + half, end);
  for (std::size_t k = 0; k < left.size(); ++k) left[k] += right[k];
  return left;
}

void check_reduction(MpiReduction reduction) {
  if (reduction != MpiReduction::sum && reduction != MpiReduction::mean)
    throw ValueError("all_reduce_gradients: gradients are combined by sum or mean");
}

// The gradients of the loss to f(k, gradient), dense, as they become final; zeros where it does not depend on a source.
template <class F>
void each_gradient(GradientTape& tape, const Target& loss, std::span<const Source> sources, const F& f) {
  for_each_gradient(tape, loss, sources, [&](std::size_t k, const Gradient& g) { f(k, g.dense()); },
                    {.unconnected_gradients = UnconnectedGradients::zero});
}

}  // namespace

Tensor halo_exchange(const Communicator& ranks, const Tensor& x, std::int64_t width, std::int64_t axis, bool periodic) {
  const int last = x.rank() - 1;
  if (axis < -x.rank() || axis > last)
    throw IndexError("halo_exchange: axis " + std::to_string(axis) + " of x of shape " + to_string(x.shape()) +
                     "; the axes are 0 to " + std::to_string(last) + ", or counted from the last one, -1");
  if (axis < 0) axis += x.rank();
  const std::int64_t n = x.shape()[static_cast<int>(axis)];
  if (width < 0 || width > n)
    throw ShapeError("halo_exchange: a halo of " + std::to_string(width) + " planes of an axis of " +
                     std::to_string(n) + "; a rank sends planes of its own only, so give each rank more planes");
  if (width == 0) return x;
  const Tensor first = moveaxis(x, axis, 0);
  const int size = ranks.size(), rank = ranks.rank();
  const auto neighbour = [&](int step) {
    const int other = rank + step;
    if (other >= 0 && other < size) return other;
    return periodic ? (other + size) % size : no_rank;
  };
  const Tensor before = sendrecv(ranks, slice(first, {range(n - width, n)}), neighbour(1), neighbour(-1));
  const Tensor after = sendrecv(ranks, slice(first, {range(0, width)}), neighbour(-1), neighbour(1));
  return moveaxis(concatenate({before, first, after}), 0, axis);
}

Tensor replicated(const Communicator& ranks, const Tensor& loss) { return loss / ranks.size(); }

std::vector<Gradient> all_reduce_gradients(const Communicator& ranks, const std::vector<Gradient>& gradients,
                                           MpiReduction reduction) {
  check_reduction(reduction);
  std::vector<Tensor> dense;
  for (const Gradient& g : gradients)
    if (g) dense.push_back(*g);
  sum_over_ranks(ranks, dense);
  std::vector<Gradient> result;
  auto next = dense.begin();
  for (const Gradient& g : gradients) {
    if (!g)
      result.push_back(g);
    else
      result.emplace_back(reduction == MpiReduction::mean ? *next++ / ranks.size() : *next++);
  }
  return result;
}

std::vector<Tensor> detail::reduced_gradients(const Communicator& ranks, GradientTape& tape, const Target& loss,
                                              std::span<const Source> sources, MpiReduction reduction,
                                              const BucketOptions& options) {
  check_reduction(reduction);
  mpi::Buckets buckets(ranks, sources.size(), options);
  std::vector<Tensor> sums = run_together(ranks, [&] {
    each_gradient(tape, loss, sources, [&](std::size_t k, const Tensor& g) { buckets.add(k, g); });
    return buckets.finish();
  });
  if (reduction == MpiReduction::mean)
    for (Tensor& sum : sums) sum = sum / ranks.size();
  return sums;
}

Shards::Shards(Communicator ranks, int count) : ranks_(std::move(ranks)), count_(count) {
  const int size = ranks_.size(), rank = ranks_.rank();
  if (count < size)
    throw ValueError("Shards: " + std::to_string(count) + " shards for " + std::to_string(size) +
                     " ranks; each rank needs at least one");
  begin_ = static_cast<int>(static_cast<std::int64_t>(count) * rank / size);
  end_ = static_cast<int>(static_cast<std::int64_t>(count) * (rank + 1) / size);
}

std::vector<Tensor> Shards::sum(std::vector<std::vector<Tensor>> parts) const {
  if (parts.size() != static_cast<std::size_t>(end_ - begin_))
    throw ValueError("Shards::sum: " + std::to_string(parts.size()) + " parts; this rank has the shards from " +
                     std::to_string(begin_) + " to " + std::to_string(end_ - 1));
  for (const auto& part : parts)
    if (part.size() != parts.front().size())
      throw ValueError("Shards::sum: the shards have different numbers of tensors");
  std::vector<Tensor> total = tree_sum(parts, 0, parts.size());
  sum_over_ranks(ranks_, total);
  return total;
}

namespace {

// The loss of a shard on a tape.
struct Recorded {
  GradientTape tape;
  Tensor loss;
  Recorded(const std::function<Tensor(int)>& f, int shard, const std::vector<Source>& sources) {
    for (const Source& x : sources) x.is_variable() ? tape.watch(x.variable()) : tape.watch(x.tensor());
    loss = f(shard);
    if (loss.rank() != 0)
      throw ShapeError("Shards::value_and_gradients: the loss of shard " + std::to_string(shard) + " has shape " +
                       to_string(loss.shape()) + ", not []; sum it");
  }
};

}  // namespace

// Behind the gradients, the sum of the losses.
std::vector<Tensor> Shards::overlapped(const std::function<Tensor(int shard)>& loss, const std::vector<Source>& sources,
                                       const BucketOptions& options) const {
  mpi::Buckets buckets(ranks_, sources.size() + 1, options);
  return run_together(ranks_, [&] {
    ShardParts parts;
    for (int shard = begin_; shard < end_ - 1; ++shard) {
      Recorded of(loss, shard, sources);
      std::vector<Tensor>& part = parts.emplace_back(sources.size() + 1);
      each_gradient(of.tape, of.loss, sources, [&](std::size_t k, const Tensor& g) { part[k] = g; });
      part.back() = of.loss;
    }
    // The subtrees of tree_sum before the last shard, which is a right child on every level.
    ShardParts before;
    for (std::size_t begin = 0, half = 1; begin < parts.size(); begin += half) {
      for (half = 1; 2 * half < parts.size() + 1 - begin;) half *= 2;
      before.push_back(tree_sum(parts, begin, begin + half));
    }
    const auto add = [&](std::size_t k, Tensor sum) {
      for (auto part = before.rbegin(); part != before.rend(); ++part) sum = (*part)[k] + sum;
      buckets.add(k, sum);
    };
    Recorded of(loss, end_ - 1, sources);
    add(sources.size(), of.loss);
    each_gradient(of.tape, of.loss, sources, add);
    return buckets.finish();
  });
}

}  // namespace reel
