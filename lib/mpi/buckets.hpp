// The exchange of gradients while the reverse pass goes on. Gradients are packed into buckets in the order in which
// they become final, which is the same on all ranks. A bucket goes through these stages, each an exchange that does not
// block:
// 1. All ranks compare what the bucket holds.
// 2. all-to-all: rank r gets part r of every rank's bucket, and sums it in the order of all_reduce.
// 3. all-gather: every rank gets the sums of all parts.
// A thread of its own drives the stages. Where MPI is initialised below MPI_THREAD_SERIALIZED, the calling thread does,
// whenever it adds a gradient.
#pragma once
#include <cfenv>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <thread>

#include "mpi/rows.hpp"

namespace reel::mpi {

class Buckets {
 public:
  // For tensors numbered from 0 to count - 1, each to be added once.
  Buckets(const Communicator& ranks, std::size_t count, const BucketOptions& options);
  Buckets(const Buckets&) = delete;
  ~Buckets();
  void add(std::size_t k, const Tensor& x);
  // The sums over all ranks. Waits for the exchange, and throws what has gone wrong with it.
  std::vector<Tensor> finish();

 private:
  struct Bucket {
    std::int64_t number = 0;
    std::vector<std::size_t> members;
    std::vector<Tensor> tensors;
    std::int64_t elements = 0;
    int stage = 0;  // the one that has started; 0 before the first
    MpiCall call{};
    Tensor received;  // by the stage
    std::unique_ptr<Exchange> exchange;
  };
  using BucketQueue = std::deque<Bucket>;

  void close(Bucket bucket);
  void drive();
  // Starts what can start: a stage of a bucket once that of the bucket before has. Whether anything did.
  bool advance();
  void start_next(Bucket& bucket);
  void compare(Bucket& bucket);
  void all_to_all(Bucket& bucket);
  void all_gather(Bucket& bucket);
  void unpack(const Bucket& bucket);
  void post(Bucket& bucket, std::vector<Tensor> buffers, const Exchange::Start& start);

  const Communicator ranks_;
  const std::int64_t bytes_;
  std::map<DType, Bucket> filling_;
  std::int64_t closed_ = 0;  // buckets
  std::vector<Tensor> sums_;
  BucketQueue active_;  // of the thread that drives

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  BucketQueue queue_;
  bool last_ = false, abandoned_ = false;  // no bucket follows; nobody waits for the sums
  std::exception_ptr error_;
  std::fenv_t environment_;  // of the calling thread: rounding as there
  std::thread thread_;
};

}  // namespace reel::mpi
