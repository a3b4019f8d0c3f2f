#include "mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <thread>

namespace reel {

MpiError::~MpiError() = default;

namespace {

constexpr int longest_message = 4000;  // bytes of a failure's text
constexpr int failure_tag = 1;
constexpr int spins = 2000;  // looks at a request before the thread sleeps between them: about a millisecond

// MPI is finalised by the program that has initialised it. After a failure it is not: MPI_Finalize would wait for ranks
// that are gone, and mpirun ends what is left when a rank exits without it.
struct Environment {
  bool ours = false, failed = false;
  Environment() {
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready) return;
    int level = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
        level < MPI_THREAD_SERIALIZED)
      throw MpiError("world: MPI does not support MPI_THREAD_SERIALIZED; use a build of MPI with threads");
    ours = true;
  }
  ~Environment() {
    int over = 0;
    MPI_Finalized(&over);
    if (ours && !failed && !over) MPI_Finalize();
  }
};
Environment& environment() {
  static Environment of_process;
  return of_process;
}

using mpi::fail_all;

// What requests that were given up may still access, for as long as MPI runs: never freed.
struct GivenUp {
  std::vector<Tensor> operands;
  std::deque<std::string> messages;
};
GivenUp& given_up() {
  static GivenUp& of_process = *new GivenUp;
  return of_process;
}

bool finalised() {
  int over = 0;
  MPI_Finalized(&over);
  return over != 0;
}

// Sent to every rank and not waited for long: a rank that has failed as well receives nothing.
void tell(Communicator::State& ranks, const std::string& what) {
  if (finalised()) return;
  const std::string& text = given_up().messages.emplace_back(what.substr(0, longest_message));
  std::vector<MPI_Request> sent;
  for (int to = 0; to < ranks.size; ++to)
    if (to != ranks.rank)
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, failure_tag, ranks.failures,
                &sent.emplace_back());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int done = 0; !done && std::chrono::steady_clock::now() < give_up; std::this_thread::yield())
    MPI_Testall(static_cast<int>(sent.size()), sent.data(), &done, MPI_STATUSES_IGNORE);
}

// A failure that this rank alone has seen: the others are told.
[[noreturn]] void fail_here(Communicator::State& ranks, const std::string& message) {
  tell(ranks, message);
  fail_all(ranks, message);
}

// An error of MPI itself.
void check_code(Communicator::State& ranks, const char* op, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  fail_here(ranks, std::string(op) + ": MPI reports: " + text);
}

bool all_done(Communicator::State& ranks, const char* op, std::vector<MPI_Request>& requests) {
  std::vector<MPI_Status> states(requests.size());
  int done = 0;
  const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, states.data());
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status& state : states)
      if (state.MPI_ERROR != MPI_ERR_PENDING) check_code(ranks, op, state.MPI_ERROR);
  check_code(ranks, op, code);
  return done != 0;
}

std::string in_seconds(double time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", time);
  return text;
}

// The message of a rank that has thrown, if one has arrived.
void look_for_failures(Communicator::State& ranks, const char* op) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, failure_tag, ranks.failures, &there, &status);
  if (!there) return;
  int length = 0;
  MPI_Get_count(&status, MPI_CHAR, &length);
  std::string text(static_cast<std::size_t>(length), '\0');
  MPI_Recv(text.data(), length, MPI_CHAR, status.MPI_SOURCE, failure_tag, ranks.failures, MPI_STATUS_IGNORE);
  fail_all(ranks, std::string(op) + ": rank " + std::to_string(status.MPI_SOURCE) + " has failed: " + text);
}

}  // namespace

Communicator::State::State(const MpiOptions& o) : options(o) {
  const std::lock_guard lock(mpi::serialised());
  environment();
  if (finalised()) throw MpiError("world: MPI has been finalised; it cannot be started again");
  if (MPI_Comm_dup(MPI_COMM_WORLD, &data) != MPI_SUCCESS || MPI_Comm_dup(MPI_COMM_WORLD, &failures) != MPI_SUCCESS)
    throw MpiError("world: MPI_Comm_dup has failed");
  // A program may have changed what MPI_COMM_WORLD, and so its copies, do about errors.
  MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(failures, MPI_ERRORS_RETURN);
  MPI_Comm_rank(data, &rank);
  MPI_Comm_size(data, &size);
}
Communicator::State::~State() {
  const std::lock_guard lock(mpi::serialised());
  if (finalised() || !failure.empty()) return;
  for (MPI_Comm& stage : stages)
    if (stage != MPI_COMM_NULL) MPI_Comm_free(&stage);
  MPI_Comm_free(&failures);
  MPI_Comm_free(&data);
}

int Communicator::rank() const noexcept { return state_->rank; }
int Communicator::size() const noexcept { return state_->size; }

Communicator world(const MpiOptions& options) {
  if (!(options.timeout > 0)) throw ValueError("world: the timeout must be a positive number of seconds");
  return Communicator(std::make_shared<Communicator::State>(options));
}

namespace detail {

void tell_failure(const Communicator& ranks, const char* what) noexcept {
  Communicator::State& state = ranks.state();
  const std::lock_guard lock(mpi::serialised());
  if (!state.failure.empty()) return;  // it came from another rank, or the others know
  environment().failed = true;
  try {
    state.failure = *what ? what : "an exception without a message";
    tell(state, state.failure);
  } catch (...) {  // the exception that is being reported propagates
  }
}

std::int64_t exchanged_buckets(const Communicator& ranks) noexcept { return ranks.state().exchanged; }

}  // namespace detail

namespace mpi {

void refuse(Communicator::State& ranks, const std::string& message) {
  const std::lock_guard lock(serialised());
  fail_here(ranks, message);
}

void fail_all(Communicator::State& ranks, std::string message) {
  ranks.failure = std::move(message);
  environment().failed = true;
  throw MpiError(ranks.failure);
}

const char* name_of(Op op) {
  static constexpr std::array names{"all_reduce", "all_gather", "reduce_scatter", "broadcast",           "reduce",
                                    "all_to_all", "sendrecv",   "send",           "all_reduce_gradients"};
  return names[static_cast<std::size_t>(op)];
}

std::recursive_mutex& serialised() {
  static std::recursive_mutex& of_process = *new std::recursive_mutex;
  return of_process;
}

Exchange::Exchange(Communicator::State& ranks, const char* op, std::vector<Tensor> buffers, const Start& start)
    : ranks_(ranks), op_(op), buffers_(std::move(buffers)) {
  const std::lock_guard lock(serialised());
  if (!ranks.failure.empty()) throw MpiError(std::string(op) + ": the communicator has failed: " + ranks.failure);
  if (finalised()) throw MpiError(std::string(op) + ": MPI has been finalised");
  try {
    check_code(ranks, op, start(requests_));
  } catch (...) {
    give_up();
    throw;
  }
}
Exchange::~Exchange() {
  if (complete_) return;
  const std::lock_guard lock(serialised());
  give_up();
}

void Exchange::give_up() {
  std::vector<Tensor>& operands = given_up().operands;
  operands.insert(operands.end(), buffers_.begin(), buffers_.end());
}

bool Exchange::done() {
  const std::lock_guard lock(serialised());
  if (complete_) return true;
  complete_ = all_done(ranks_, op_, requests_);
  if (complete_) return true;
  look_for_failures(ranks_, op_);
  const double limit = ranks_.options.timeout;
  if (std::chrono::steady_clock::now() - begin_ > std::chrono::duration<double>(limit))
    fail_here(ranks_, std::string(op_) + ": rank " + std::to_string(ranks_.rank) + " waited " + in_seconds(limit) +
                          " for the others; do all ranks make this call? A longer time is world({.timeout = seconds})");
  return false;
}

void back_off(int looks) {
  if (looks < spins)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void complete(Communicator::State& ranks, const char* op, std::vector<Tensor> buffers, const Exchange::Start& start) {
  Exchange exchange(ranks, op, std::move(buffers), start);
  for (int looks = 0; !exchange.done(); ++looks) back_off(looks);
}

MpiCall describe(std::int64_t number, Op op, const Tensor& x, int root) {
  MpiCall call{number, static_cast<std::int64_t>(op), static_cast<std::int64_t>(x.dtype()), root, x.rank(), {}};
  const Shape shape = x.shape();
  for (int axis = 0; axis < shape.rank(); ++axis) call.extents[axis] = shape[axis];
  return call;
}

std::string in_words(const MpiCall& call) {
  static constexpr std::array reductions{"sum", "mean", "max", "min"};
  Shape shape;
  for (std::int64_t axis = 0; axis < call.rank; ++axis) shape.push_back(call.extents[axis]);
  const Op op = static_cast<Op>(call.op);
  std::string words = std::string(name_of(op)) + " of " + name(static_cast<DType>(call.dtype)) + ' ' + to_string(shape);
  if (op == Op::all_reduce) words += std::string(" by ") + reductions[static_cast<std::size_t>(call.root)];
  if (op == Op::all_reduce_gradients) words += " that begin with number " + std::to_string(call.root);
  if (op == Op::broadcast || op == Op::reduce) words += " with root " + std::to_string(call.root);
  return words;
}

void announce(Communicator::State& ranks, Op op, const Tensor& x, int root) {
  ++ranks.calls;
  if (!ranks.options.check || ranks.size == 1) return;
  const MpiCall mine = describe(ranks.calls, op, x, root);
  // Of a tensor, so that it outlives an exchange that is given up.
  void* memory = nullptr;
  const auto count = static_cast<std::int64_t>(sizeof(MpiCall) / sizeof(std::int64_t));
  const Tensor all = detail::uninitialized({ranks.size + 1, count}, DType::int64, memory);
  auto* calls = static_cast<MpiCall*>(memory);
  calls[ranks.size] = mine;
  complete(ranks, name_of(op), {all}, [&](std::vector<MPI_Request>& requests) {
    return MPI_Iallgather(calls + ranks.size, sizeof(MpiCall), MPI_BYTE, calls, sizeof(MpiCall), MPI_BYTE, ranks.data,
                          &requests.emplace_back());
  });
  compare(ranks, mine, calls);
}

void compare(Communicator::State& ranks, const MpiCall& mine, const MpiCall* calls) {
  for (int other = 0; other < ranks.size; ++other) {
    if (std::memcmp(&calls[other], &mine, sizeof mine) == 0) continue;
    const std::lock_guard lock(serialised());
    fail_all(ranks, std::string(name_of(static_cast<Op>(mine.op))) + ": call " + std::to_string(mine.number) +
                        " of rank " + std::to_string(ranks.rank) + " is " + in_words(mine) + ", of rank " +
                        std::to_string(other) + ' ' + in_words(calls[other]) +
                        "; all ranks must make the same calls in the same order");
  }
}

}  // namespace mpi

}  // namespace reel
