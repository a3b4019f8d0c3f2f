#include "mpi/buckets.hpp"

#include <algorithm>
#include <cstring>
#include <reel/optim/minimize.hpp>
#include <reel/reel.hpp>
#include <utility>

namespace reel::mpi {

namespace {

constexpr const char* op = "all_reduce_gradients";
constexpr int complete_stage = 4;  // behind the last

// On all ranks at once: the communicators of the stages.
void make_stages(Communicator::State& ranks) {
  for (MPI_Comm& stage : ranks.stages) {
    if (stage != MPI_COMM_NULL) continue;
    complete(ranks, op, {},
             [&](auto& requests) { return MPI_Comm_idup(ranks.data, &stage, &requests.emplace_back()); });
    const std::lock_guard lock(serialised());
    MPI_Comm_set_errhandler(stage, MPI_ERRORS_RETURN);
  }
}

bool threads_allowed() {
  int level = MPI_THREAD_SINGLE;
  const std::lock_guard lock(serialised());
  MPI_Query_thread(&level);
  return level >= MPI_THREAD_SERIALIZED;
}

// Of the numbers and shapes of what a bucket holds (FNV-1a).
std::int64_t hash_of(const std::vector<std::size_t>& members, const std::vector<Tensor>& tensors) {
  std::uint64_t hash = 14695981039346656037u;
  const auto mix = [&hash](std::uint64_t x) { hash = (hash ^ x) * 1099511628211u; };
  for (std::size_t k = 0; k < members.size(); ++k) {
    mix(members[k]);
    const Shape shape = tensors[k].shape();
    for (std::int64_t extent : shape) mix(static_cast<std::uint64_t>(extent));
    mix(static_cast<std::uint64_t>(shape.rank()));
  }
  return static_cast<std::int64_t>(hash);
}

}  // namespace

Buckets::Buckets(const Communicator& ranks, std::size_t count, const BucketOptions& options)
    : ranks_(ranks), bytes_(options.bytes), sums_(count) {
  if (options.bytes < 1) throw ValueError(std::string(op) + ": a bucket must have a positive number of bytes");
  if (ranks.size() == 1) return;
  make_stages(ranks.state());
  std::fegetenv(&environment_);
  if (threads_allowed()) thread_ = std::thread([this] { drive(); });
}

Buckets::~Buckets() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Buckets::add(std::size_t k, const Tensor& x) {
  if (ranks_.size() == 1) {
    sums_[k] = x;
    return;
  }
  Bucket& bucket = filling_[x.dtype()];
  bucket.members.push_back(k);
  bucket.tensors.push_back(x);
  bucket.elements += x.size();
  if (bucket.elements * static_cast<std::int64_t>(item_size(x.dtype())) >= bytes_)
    close(std::exchange(bucket, {}));
  else if (!thread_.joinable())
    advance();
}

void Buckets::close(Bucket bucket) {
  bytes_of(op, (bucket.elements + ranks_.size() - 1) / ranks_.size(), bucket.tensors.front().dtype());
  bucket.number = ++closed_;
  if (!thread_.joinable()) {
    active_.push_back(std::move(bucket));
    advance();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(bucket));
  }
  changed_.notify_one();
}

std::vector<Tensor> Buckets::finish() {
  for (auto& [dtype, bucket] : filling_)
    if (!bucket.members.empty()) close(std::move(bucket));
  filling_.clear();
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      last_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  if (error_) std::rethrow_exception(error_);
  for (int looks = 0; !active_.empty(); ++looks)
    if (!advance()) back_off(looks);
  return std::move(sums_);
}

// The body of the thread. It ends when the last bucket is exchanged, at an error, and when nobody waits any more.
void Buckets::drive() {
  std::fesetenv(&environment_);
  constexpr auto pause = std::chrono::microseconds(50);  // leaves the processor to the reverse pass
  try {
    for (int looks = 0;;) {
      bool last = false;
      {
        std::unique_lock lock(mutex_);
        if (active_.empty()) changed_.wait(lock, [this] { return !queue_.empty() || last_ || abandoned_; });
        if (abandoned_ || (last_ && queue_.empty() && active_.empty())) return;
        last = last_;
        std::move(queue_.begin(), queue_.end(), std::back_inserter(active_));
        queue_.clear();
      }
      if (advance())
        looks = 0;
      else if (last)
        back_off(looks++);
      else
        std::this_thread::sleep_for(pause);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
}

bool Buckets::advance() {
  bool any = false;
  int before = complete_stage;
  for (Bucket& bucket : active_) {
    while (bucket.stage < before && (!bucket.exchange || bucket.exchange->done())) {
      start_next(bucket);
      any = true;
    }
    before = bucket.stage;
  }
  for (; !active_.empty() && active_.front().stage == complete_stage; active_.pop_front()) ++ranks_.state().exchanged;
  return any;
}

void Buckets::start_next(Bucket& bucket) {
  switch (++bucket.stage) {
    case 1:
      return compare(bucket);
    case 2:
      return all_to_all(bucket);
    case 3:
      return all_gather(bucket);
    default:
      return unpack(bucket);
  }
}

void Buckets::post(Bucket& bucket, std::vector<Tensor> buffers, const Exchange::Start& start) {
  bucket.exchange = std::make_unique<Exchange>(ranks_.state(), op, std::move(buffers), start);
}

void Buckets::compare(Bucket& bucket) {
  Communicator::State& ranks = ranks_.state();
  const Tensor& first = bucket.tensors.front();
  bucket.call = {bucket.number,
                 static_cast<std::int64_t>(Op::all_reduce_gradients),
                 static_cast<std::int64_t>(first.dtype()),
                 static_cast<std::int64_t>(bucket.members.front()),
                 1,
                 {bucket.elements}};
  bucket.call.extents[max_rank - 1] = hash_of(bucket.members, bucket.tensors);
  if (!ranks.options.check) return;
  const Received all({ranks.size + 1, static_cast<std::int64_t>(sizeof(MpiCall))}, DType::uint8);
  auto* calls = static_cast<MpiCall*>(all.data);
  std::memcpy(calls + ranks.size, &bucket.call, sizeof(MpiCall));
  bucket.received = all.tensor;
  post(bucket, {all.tensor}, [&](auto& requests) {
    return MPI_Iallgather(calls + ranks.size, sizeof(MpiCall), MPI_BYTE, calls, sizeof(MpiCall), MPI_BYTE,
                          ranks.stages[0], &requests.emplace_back());
  });
}

void Buckets::all_to_all(Bucket& bucket) {
  Communicator::State& ranks = ranks_.state();
  if (ranks.options.check) mpi::compare(ranks, bucket.call, static_cast<const MpiCall*>(elements(bucket.received)));
  const Tensor own = contiguous(in_rows(ravel(bucket.tensors).first, ranks.size));
  const Received all(own.shape(), own.dtype());
  const int bytes = bytes_of(op, own.shape()[1], own.dtype());
  bucket.received = all.tensor;
  post(bucket, {own, all.tensor}, [&](auto& requests) {
    return MPI_Ialltoall(elements(own), bytes, MPI_BYTE, all.data, bytes, MPI_BYTE, ranks.stages[1],
                         &requests.emplace_back());
  });
}

void Buckets::all_gather(Bucket& bucket) {
  Communicator::State& ranks = ranks_.state();
  const Tensor mine = contiguous(sum_of_rows(bucket.received, 0, ranks.size));
  const Received all(bucket.received.shape(), mine.dtype());
  const int bytes = bytes_of(op, mine.size(), mine.dtype());
  bucket.received = all.tensor;
  post(bucket, {mine, all.tensor}, [&](auto& requests) {
    return MPI_Iallgather(elements(mine), bytes, MPI_BYTE, all.data, bytes, MPI_BYTE, ranks.stages[2],
                          &requests.emplace_back());
  });
}

void Buckets::unpack(const Bucket& bucket) {
  const Tensor flat = reshape(bucket.received, {bucket.received.size()});
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < bucket.members.size(); ++k) {
    const Shape shape = bucket.tensors[k].shape();
    const std::int64_t end = begin + bucket.tensors[k].size();
    sums_[bucket.members[k]] = reshape(slice(flat, {range(begin, end)}), shape);
    begin = end;
  }
}

}  // namespace reel::mpi
