// The state of a communicator, and exchanges of bytes that end: in time, or with an MpiError on every rank.
#pragma once
#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <reel/mpi.hpp>
#include <string>
#include <vector>

namespace reel {

// What a rank calls: compared among the ranks before data moves. All fields are 64 bits wide, since they are sent.
struct MpiCall {
  std::int64_t number, op, dtype, root, rank;  // root: of all_reduce the MpiReduction
  std::int64_t extents[max_rank];
};

struct Communicator::State {
  State(const MpiOptions& options);
  State(const State&) = delete;
  ~State();

  MPI_Comm data = MPI_COMM_NULL, failures = MPI_COMM_NULL;  // exchanges; messages of ranks that have thrown
  // For the stages of a bucket, made at the first one: calls on one communicator have the same order on all ranks.
  std::array<MPI_Comm, 3> stages{MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};
  std::atomic<std::int64_t> exchanged = 0;  // buckets
  int rank = 0, size = 1;
  MpiOptions options;
  std::int64_t calls = 0;
  std::string failure;  // why nothing works any more; empty while all is well
};

namespace mpi {

// The op that the ranks call; messages name it by name_of.
enum class Op : std::int64_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  sendrecv,
  send,
  all_reduce_gradients
};
const char* name_of(Op op);

// Throws unless all ranks make this call.
void announce(Communicator::State& ranks, Op op, const Tensor& x, int root = 0);

// Throws unless all ranks make this call: calls[r] is that of rank r.
void compare(Communicator::State& ranks, const MpiCall& mine, const MpiCall* calls);

// What a call with x looks like in a message, and in words.
MpiCall describe(std::int64_t number, Op op, const Tensor& x, int root);
std::string in_words(const MpiCall& call);

// Ends all communication with this message: of a failure that every rank sees, and of one that the others are told of.
[[noreturn]] void fail_all(Communicator::State& ranks, std::string message);
[[noreturn]] void refuse(Communicator::State& ranks, const std::string& message);

// MPI has the level MPI_THREAD_SERIALIZED: one thread at a time is in one of its calls, or uses State::failure.
std::recursive_mutex& serialised();

// Requests in flight, whose memory belongs to `buffers`. Without an end they keep that memory for as long as MPI runs.
class Exchange {
 public:
  // Makes the requests, and returns MPI's code.
  using Start = std::function<int(std::vector<MPI_Request>&)>;
  // Throws MpiError if the communicator has failed.
  Exchange(Communicator::State& ranks, const char* op, std::vector<Tensor> buffers, const Start& start);
  Exchange(const Exchange&) = delete;
  ~Exchange();
  // Looks once. Throws MpiError for a rank that has thrown, for an error of MPI, and after the time-out.
  bool done();

 private:
  void give_up();

  Communicator::State& ranks_;
  const char* op_;
  std::vector<Tensor> buffers_;
  std::vector<MPI_Request> requests_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool complete_ = false;
};

// Between two looks: yields first, then sleeps.
void back_off(int looks);

// Waits for an exchange.
void complete(Communicator::State& ranks, const char* op, std::vector<Tensor> buffers, const Exchange::Start& start);

}  // namespace mpi

}  // namespace reel
