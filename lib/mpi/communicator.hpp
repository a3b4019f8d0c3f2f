// The state of a communicator, and exchanges of bytes that end: in time, or with an MpiError on every rank.
#pragma once
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
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
  int rank = 0, size = 1;
  MpiOptions options;
  std::int64_t calls = 0;
  std::string failure;  // why nothing works any more; empty while all is well
};

namespace mpi {

// The op that the ranks call; messages name it by name_of.
enum class Op : std::int64_t { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, sendrecv, send };
const char* name_of(Op op);

// Throws unless all ranks make this call.
void announce(Communicator::State& ranks, Op op, const Tensor& x, int root = 0);

// What a call with x looks like in a message, and in words.
MpiCall describe(std::int64_t number, Op op, const Tensor& x, int root);
std::string in_words(const MpiCall& call);

// Ends all communication with this message: of a failure that every rank sees, and of one that the others are told of.
[[noreturn]] void fail_all(Communicator::State& ranks, std::string message);
[[noreturn]] void refuse(Communicator::State& ranks, const std::string& message);

// Waits for requests that `start` makes, whose memory belongs to `held`; `start` returns MPI's code. Throws MpiError
// for a rank that has thrown, for an error of MPI, and after the timeout.
void complete(Communicator::State& ranks, const char* op, std::vector<Tensor> held,
              const std::function<int(std::vector<MPI_Request>&)>& start);

}  // namespace mpi

}  // namespace reel
