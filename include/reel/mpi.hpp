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
#include <reel/custom.hpp>
#include <reel/ops/pointwise.hpp>
#include <string>
#include <utility>
#include <vector>

namespace [[gnu::visibility("default")]] reel {

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

/// The ranks that communicate. A handle: copies are the same communicator. It belongs to one thread at a time.
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

/// All processes that mpirun has started. The first call initialises MPI, unless the program has done so, and MPI is
/// then finalised when the program ends. Each call makes a communicator of its own, and is made by all ranks: it waits
/// for them without a time-out.
Communicator world(const MpiOptions& options = {});

namespace detail {
void tell_failure(const Communicator& ranks, const char* what) noexcept;
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

/// x of all ranks combined, on every rank; any shape. Sums are in x's dtype (of booleans: whether any is true), means
/// of integers in float64. The order of additions is that of a binary tree over the numbers of the ranks, so that the
/// bits do not depend on timing. Gradient of a sum: all_reduce(g); of max and min: that of max(all_gather(x), {0}).
Tensor all_reduce(const Communicator& ranks, const Tensor& x, MpiReduction reduction = MpiReduction::sum);
/// x of all ranks along a new first axis, [size, ...], on every rank. Gradient: reduce_scatter(g).
Tensor all_gather(const Communicator& ranks, const Tensor& x);
/// Of x [size, ...]: the sum over all ranks of their row `rank`. Gradient: all_gather(g).
Tensor reduce_scatter(const Communicator& ranks, const Tensor& x);
/// x of rank `root`, on every rank; on the others, x gives shape and dtype. Gradient: reduce(g), which is 0 elsewhere.
Tensor broadcast(const Communicator& ranks, const Tensor& x, int root = 0);
/// The sum of x over all ranks on rank `root`, zeros elsewhere. Gradient: broadcast(g).
Tensor reduce(const Communicator& ranks, const Tensor& x, int root = 0);
/// Of x [size, ...]: row k goes to rank k, and row k of the result comes from rank k. Gradient: all_to_all(g).
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
/// of the other end. ShapeError for width > n. Gradient: that of slice, concatenate and sendrecv.
Tensor halo_exchange(const Communicator& ranks, const Tensor& x, std::int64_t width, std::int64_t axis = 0,
                     bool periodic = false);

/// loss / size: of a loss that every rank computes from the same values, so that the sum over the ranks is the loss.
Tensor replicated(const Communicator& ranks, const Tensor& loss);

/// The gradients of all ranks summed (or their mean), packed into one exchange per dtype. Each is dense, or none on all
/// ranks. Recorded as all_reduce is.
std::vector<Gradient> all_reduce_gradients(const Communicator& ranks, const std::vector<Gradient>& gradients,
                                           MpiReduction reduction = MpiReduction::sum);

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
  /// sums over all shards. Recorded as all_reduce is.
  std::vector<Tensor> sum(std::vector<std::vector<Tensor>> parts) const;

 private:
  Communicator ranks_;
  int count_, begin_, end_;
};

}  // namespace reel
