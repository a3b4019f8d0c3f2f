// The component reel-mpi: communication between the ranks of an MPI program, as ops with derivatives in both modes and
// to any order. It is a library of its own, libreel-mpi, which is built where MPI is installed; the program is linked
// with it and started by mpirun. This header does not need mpi.h.
//
// Every rank runs the same program. What is differentiated is the sum over all ranks of what each rank takes the
// gradient of: the gradient of all_reduce is then all_reduce of the cotangents. A loss that every rank computes from
// the same values is counted once by replicated(loss).
//
// A call has to be made by all ranks of the communicator, in the same order, with tensors of the same shape and dtype,
// and so have the calls of its derivatives: a tensor is to be watched on all ranks or on none, and a result to be used
// on all ranks or on none. The ranks compare op, shape, dtype, root and reduction before they exchange data
// (MpiOptions::check); ranks that make fewer calls, and sendrecv with ranks that do not match, end at the time-out.
//
// In forward and reverse mode the ops are linear maps; compile() cannot trace them (TraceError).
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <reel/api.hpp>
#include <reel/custom.hpp>
#include <reel/ops/pointwise.hpp>
#include <reel/tape.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace REEL_API reel {

/// Communication failed: another rank has thrown, the ranks made different calls, one did not answer in time, or MPI
/// reports an error. Later calls on the same communicator throw it, too. MPI is then not finalised at the end of the
/// program, and mpirun ends all ranks when the first one exits.
class MpiError : public Error {
 public:
  using Error::Error;
  ~MpiError() override;
};

/// Options of a Communicator, the same on all ranks.
struct MpiOptions {
  double timeout = 120;  ///< seconds that a call waits for the other ranks
  bool check = true;     ///< compares op, shape and dtype of all ranks before each call, at the cost of one exchange
};

/// The ranks that communicate. A handle: copies are the same communicator. It belongs to one thread at a time. Its last
/// copy frees communicators of MPI, which is a collective call: if there are several, they end in the same order on all
/// ranks, as objects of one scope do.
class Communicator {
 public:
  int rank() const noexcept;  ///< the number of this process, from 0
  int size() const noexcept;  ///< how many ranks there are

  struct State;
  explicit Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}
  State& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

/// All processes that mpirun has started. The first call initialises MPI with MPI_THREAD_SERIALIZED, unless the program
/// has done so, and MPI is then finalised when the program ends. Each call makes a communicator of its own, and is made
/// by all ranks: it waits for them without a time-out. ValueError for a time-out that is not positive; MpiError if MPI
/// has no such level, or has been finalised.
Communicator world(const MpiOptions& options = {});

namespace detail {
void tell_failure(const Communicator& ranks, const char* what) noexcept;
/// How many buckets of gradients have been exchanged so far.
std::int64_t exchanged_buckets(const Communicator& ranks) noexcept;
}  // namespace detail

/// f(), so that an exception on one rank ends all: it is rethrown on its rank, and calls that wait on the other ranks
/// throw MpiError with its message and the number of its rank.
template <class F>
auto run_together(const Communicator& ranks, F f) {
  try {
    return f();
  } catch (const std::exception& e) {
    detail::tell_failure(ranks, e.what());
    throw;
  } catch (...) {
    detail::tell_failure(ranks, "an exception that is no std::exception");
    throw;
  }
}

/// How all_reduce combines the tensors of the ranks.
enum class MpiReduction : std::uint8_t { sum, mean, max, min };

// x has any dtype and any shape but for what is said; a result has the dtype of x but for means of integers. All throw
// MpiError as above, TraceError inside compile(), and ShapeError where a message would have 2 GiB or more: that is a
// tensor for another rank, and for sums of more than 512 elements a tensor's share of one rank.

/// x of all ranks combined, on every rank; any shape. Sums are in x's dtype (of booleans: whether any is true), means
/// of integers in float64. The order of additions is that of a binary tree over the numbers of the ranks, so that the
/// bits do not depend on timing. Gradient of a sum: all_reduce(g); of max and min: that of max(all_gather(x), {0}).
Tensor all_reduce(const Communicator& ranks, const Tensor& x, MpiReduction reduction = MpiReduction::sum);
/// x of all ranks along a new first axis, [size, ...], on every rank. Gradient: reduce_scatter(g).
Tensor all_gather(const Communicator& ranks, const Tensor& x);
/// Of x [size, ...]: the sum over all ranks of their row `rank`, [...]. ShapeError for another first extent. Gradient:
/// all_gather(g).
Tensor reduce_scatter(const Communicator& ranks, const Tensor& x);
/// x of rank `root`, on every rank; on the others, x gives shape and dtype. IndexError if there is no such rank, as in
/// the next ops. Gradient: reduce(g), which is 0 elsewhere.
Tensor broadcast(const Communicator& ranks, const Tensor& x, int root = 0);
/// The sum of x over all ranks on rank `root`, zeros elsewhere. Gradient: broadcast(g).
Tensor reduce(const Communicator& ranks, const Tensor& x, int root = 0);
/// Of x [size, ...]: row k goes to rank k, and row k of the result comes from rank k. ShapeError for another first
/// extent. Gradient: all_to_all(g).
Tensor all_to_all(const Communicator& ranks, const Tensor& x);
/// x goes to rank `to`; the result is what rank `from` sends here, of the same shape and dtype. no_rank for either: x
/// goes nowhere, or zeros come. If a is the `to` of b, then b is the `from` of a. Gradient: sendrecv(g, from, to).
Tensor sendrecv(const Communicator& ranks, const Tensor& x, int to, int from);
inline constexpr int no_rank = -1;  ///< the neighbour of a rank at an end

/// x goes to rank `to`, which calls recv; other ranks take no part. The result is a 0 of x's dtype: add it to the loss,
/// so that tapes find the call. Gradient: what the receiver's gradient sends back.
Tensor send(const Communicator& ranks, const Tensor& x, int to);
/// What rank `from` sends by send(), of the shape and dtype of `like`, which a tape must follow if it follows the x of
/// the sender: it has gradient 0, and the gradient of the result goes back to the sender. MpiError for another shape or
/// dtype.
Tensor recv(const Communicator& ranks, const Tensor& like, int from);

/// x [.., n, ..] with `width` planes of each neighbour rank along `axis` put before and after its own, [.., n + 2
/// width, ..]: the ranks hold consecutive parts of one array. At the ends there are zeros or, if `periodic`, the planes
/// of the other end. A negative axis counts from the last one. IndexError for an axis that x has not, ShapeError for
/// width > n or below 0. Gradient: that of slice, concatenate and sendrecv.
Tensor halo_exchange(const Communicator& ranks, const Tensor& x, std::int64_t width, std::int64_t axis = 0,
                     bool periodic = false);

/// loss / size: of a loss that every rank computes from the same values, so that the sum over the ranks is the loss.
Tensor replicated(const Communicator& ranks, const Tensor& loss);

/// The gradients of all ranks summed (or their mean), packed into one exchange per dtype. Each is dense, or none on all
/// ranks. ValueError for max and min. Recorded as all_reduce is.
std::vector<Gradient> all_reduce_gradients(const Communicator& ranks, const std::vector<Gradient>& gradients,
                                           MpiReduction reduction = MpiReduction::sum);

/// How gradients are exchanged while the reverse pass goes on.
struct BucketOptions {
  /// Gradients of one dtype are sent together once they have this many bytes; ValueError below 1.
  std::int64_t bytes = std::int64_t{1} << 20;
};

namespace detail {
std::vector<Tensor> reduced_gradients(const Communicator& ranks, GradientTape& tape, const Target& loss,
                                      std::span<const Source> sources, MpiReduction reduction,
                                      const BucketOptions& options);
template <class S>
std::vector<Source> sources_in(const S& tree) {
  std::vector<Source> list;
  for_each_leaf(tree, [&](const auto& leaf) { list.emplace_back(leaf); });
  return list;
}
template <class S>
map_t<Tensor, S> in_structure_of(const S& tree, const std::vector<Tensor>& leaves) {
  auto next = leaves.begin();
  return map_leaves<Tensor>(tree, [&](const auto&) { return *next++; });
}
}  // namespace detail

/// The gradients of the loss by the sources summed over all ranks (or their mean), with the bits of
/// all_reduce_gradients(ranks, tape.gradient(loss, sources)), in the structure of the sources; zeros where the loss
/// does not depend on a source. Gradients are packed into buckets in the order in which they become final, and a bucket
/// is exchanged while the reverse pass goes on. A thread does that, and needs MPI_THREAD_SERIALIZED; until the call
/// returns, the program then calls MPI by this library only, unless it has MPI_THREAD_MULTIPLE. Where MPI was
/// initialised with less, exchanges go on whenever a gradient becomes final. An exception of a rule makes all ranks
/// throw. Not recorded.
template <Tree S>
map_t<Tensor, S> all_reduce_gradients(const Communicator& ranks, GradientTape& tape, const Target& loss,
                                      const S& sources, MpiReduction reduction = MpiReduction::sum,
                                      const BucketOptions& options = {}) {
  return detail::in_structure_of(
      sources, detail::reduced_gradients(ranks, tape, loss, detail::sources_in(sources), reduction, options));
}

/// An optimiser whose steps take the sum (or the mean) of the gradients of all ranks: DataParallel(ranks, Adam({...})).
/// Variables with equal values on all ranks keep equal values.
template <class Optimizer>
class DataParallel {
 public:
  DataParallel(Communicator ranks, Optimizer inner, MpiReduction reduction = MpiReduction::sum)
      : optimizer(std::move(inner)), ranks_(std::move(ranks)), reduction_(reduction) {}
  /// optimizer.step(all_reduce_gradients(gradients), variables).
  void step(const std::vector<Gradient>& gradients, const std::vector<Variable>& variables) {
    optimizer.step(all_reduce_gradients(ranks_, gradients, reduction_), variables);
  }
  /// The same for the gradients of the loss, exchanged while the reverse pass goes on.
  template <Tree V>
  void step(GradientTape& tape, const Target& loss, const V& variables) {
    optimizer.step(all_reduce_gradients(ranks_, tape, loss, variables, reduction_), variables);
  }

  Optimizer optimizer;

 private:
  Communicator ranks_;
  MpiReduction reduction_;
};

/// The shards that this rank computes, and the sum over all. A batch that is cut into a fixed number of shards has the
/// same bits on 1, 2, 4, ... ranks, up to the number of shards, if that is a power of two: shards are summed by one
/// binary tree over their numbers, of which each rank owns a subtree.
class Shards {
 public:
  /// ValueError unless there are at least as many shards as ranks.
  explicit Shards(Communicator ranks, int count = 8);
  int begin() const noexcept { return begin_; }  ///< this rank's first shard
  int end() const noexcept { return end_; }      ///< behind its last
  int count() const noexcept { return count_; }  ///< of all ranks
  /// parts[k] are the tensors of shard begin() + k, the same list of shapes and dtypes for every shard. Returns their
  /// sums over all shards. ValueError for another number of parts, or parts of different lengths. Recorded as
  /// all_reduce is.
  std::vector<Tensor> sum(std::vector<std::vector<Tensor>> parts) const;
  /// The sum of loss(shard) over all shards, and its gradients by the sources, with the bits of sum(). The gradients of
  /// this rank's last shard are exchanged, with the sums before it, while they are computed, as by all_reduce_gradients
  /// of a tape. loss(shard) is a scalar of the same dtype for all shards. Not recorded.
  template <Tree S, class F>
  std::pair<Tensor, map_t<Tensor, S>> value_and_gradients(F loss, const S& sources,
                                                          const BucketOptions& options = {}) const {
    std::vector<Tensor> sums = overlapped(std::move(loss), detail::sources_in(sources), options);
    const Tensor value = std::move(sums.back());
    return {value, detail::in_structure_of(sources, sums)};
  }

 private:
  std::vector<Tensor> overlapped(const std::function<Tensor(int shard)>& loss, const std::vector<Source>& sources,
                                 const BucketOptions& options) const;

  Communicator ranks_;
  int count_, begin_, end_;
};

}  // namespace reel
