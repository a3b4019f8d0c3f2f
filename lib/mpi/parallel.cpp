// What programs are made of: halos of arrays that are cut into parts, sums of gradients, sums over shards.
#include <map>
#include <reel/reel.hpp>

#include "mpi/communicator.hpp"

namespace reel {

namespace {

// The tensors one behind the other, flat.
Tensor packed(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& x : tensors) flat.push_back(reshape(x, {x.size()}));
  return concatenate(flat);
}

// Sums the tensors over all ranks: one exchange for all of a dtype.
void sum_over_ranks(const Communicator& ranks, std::vector<Tensor>& tensors) {
  std::map<DType, std::vector<std::size_t>> by_dtype;
  for (std::size_t k = 0; k < tensors.size(); ++k) by_dtype[tensors[k].dtype()].push_back(k);
  for (const auto& [dtype, members] : by_dtype) {
    std::vector<Tensor> group;
    for (std::size_t k : members) group.push_back(tensors[k]);
    const Tensor total = all_reduce(ranks, packed(group));
    std::int64_t begin = 0;
    for (std::size_t k : members) {
      const std::int64_t end = begin + tensors[k].size();
      tensors[k] = reshape(slice(total, {range(begin, end)}), tensors[k].shape());
      begin = end;
    }
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

}  // namespace

Tensor halo_exchange(const Communicator& ranks, const Tensor& x, std::int64_t width, std::int64_t axis, bool periodic) {
  const std::int64_t n = x.shape()[axis];
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
  if (reduction != MpiReduction::sum && reduction != MpiReduction::mean)
    throw ValueError("all_reduce_gradients: gradients are combined by sum or mean");
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

}  // namespace reel
