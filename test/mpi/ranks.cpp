// What reel-mpi promises, checked by every rank of `mpirun -n N ranks [CHECK]`. The exit status is 0 if all checks of
// all ranks pass. CHECK is a check that ends in failure by design.
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <reel/compile.hpp>
#include <reel/functions.hpp>
#include <reel/mpi.hpp>
#include <reel/optim.hpp>
#include <reel/reel.hpp>
#include <thread>

using namespace reel;

namespace {

int failures = 0;
const char* current = "";

void check(bool passed, const char* what, int line) {
  if (passed) return;
  ++failures;
  std::printf("%s: line %d: %s\n", current, line, what);
}
#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __LINE__)

Tensor numbers(std::int64_t n, double phase) { return sin(arange(n) * 0.7 + phase); }

// The numbers of all ranks, as every rank can compute them.
std::vector<Tensor> everyone(const Communicator& ranks, std::int64_t n) {
  std::vector<Tensor> all;
  for (int r = 0; r < ranks.size(); ++r) all.push_back(numbers(n, r));
  return all;
}
bool close(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && bool(all(abs(a - b) <= 1e-13 * (1 + abs(b))));
}

// The slope of the sum of f over the ranks, by central differences along `direction`, which has a part on each rank.
template <class F>
double slope_of(const Communicator& ranks, F f, const Tensor& x, const Tensor& direction) {
  constexpr double step = 1e-5;
  const Tensor there = x + step * direction, back = x - step * direction;
  return all_reduce(ranks, f(there) - f(back)).item() / (2 * step);
}

// Both modes against differences along two directions, and so the gradient of a function of the gradient.
template <class F>
void check_derivatives(const Communicator& ranks, F f, const Tensor& x) {
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-6 * (1 + std::abs(b)); };
  const auto of_gradient = [&](const Tensor& at) { return sum(square(grad(f)(at))); };
  const Tensor g = grad(f)(x), second = grad(of_gradient)(x);
  for (double phase : {5., 7.}) {
    const Tensor direction = reshape(numbers(x.size(), phase + ranks.rank()), x.shape());
    const auto along = [&](const Tensor& gradient) { return all_reduce(ranks, sum(gradient * direction)).item(); };
    const double slope = slope_of(ranks, f, x, direction);
    CHECK(near(along(g), slope));
    CHECK(near(all_reduce(ranks, jvp(f, x, direction).second).item(), slope));
    CHECK(near(along(second), slope_of(ranks, of_gradient, x, direction)));
  }
}

void values(const Communicator& ranks) {
  const int size = ranks.size(), rank = ranks.rank();
  for (std::int64_t n : {1, 3, 2000}) {
    const std::vector<Tensor> all = everyone(ranks, n);
    const Tensor x = all[static_cast<std::size_t>(rank)], stacked = stack(all);
    CHECK(close(all_reduce(ranks, x), sum(stacked, {0})));
    CHECK(close(all_reduce(ranks, x, MpiReduction::mean), mean(stacked, {0})));
    CHECK(array_equal(all_reduce(ranks, x, MpiReduction::max), max(stacked, {0})));
    CHECK(array_equal(all_reduce(ranks, x, MpiReduction::min), min(stacked, {0})));
    CHECK(array_equal(all_gather(ranks, x), stacked));
    CHECK(array_equal(broadcast(ranks, x, size - 1), all.back()));
    CHECK(close(reduce(ranks, x, 0), rank == 0 ? sum(stacked, {0}) : zeros_like(x)));
    // Row k of rank r is numbers(n, 10 r + k).
    std::vector<Tensor> rows, columns;
    for (int k = 0; k < size; ++k) {
      rows.push_back(numbers(n, 10. * rank + k));
      columns.push_back(numbers(n, 10. * k + rank));
    }
    CHECK(array_equal(all_to_all(ranks, stack(rows)), stack(columns)));
    CHECK(close(reduce_scatter(ranks, stack(rows)), sum(stack(columns), {0})));
    CHECK(array_equal(sendrecv(ranks, x, (rank + 1) % size, (rank + size - 1) % size),
                      all[static_cast<std::size_t>((rank + size - 1) % size)]));
  }
  for (DType d : {DType::float16, DType::float32, DType::int64, DType::boolean, DType::complex128}) {
    const Tensor x = cast(full({2, 3}, rank + 1), d);
    CHECK(all_gather(ranks, x).dtype() == d);
    CHECK(array_equal(all_gather(ranks, x)[size - 1], cast(full({2, 3}, size), d)));
  }
  CHECK(all_reduce(ranks, zeros({0, 3})).shape() == Shape({0, 3}));
  Shape highest;
  while (highest.rank() < max_rank) highest.push_back(1);
  CHECK(array_equal(all_reduce(ranks, ones(highest)), full(highest, double(size))));
  // Integers are not summed in their dtype on the way to a mean.
  CHECK(array_equal(all_reduce(ranks, full({2}, 200, DType::uint8), MpiReduction::mean), full({2}, 200.)));
  CHECK(array_equal(all_reduce(ranks, equal(ones({2}), 1.), MpiReduction::mean), ones({2})));
  CHECK(
      array_equal(all_gather(ranks, transpose(reshape(arange(6), {2, 3})))[0], transpose(reshape(arange(6), {2, 3}))));
}

void derivatives(const Communicator& ranks) {
  const int size = ranks.size(), rank = ranks.rank();
  const Tensor x = numbers(3, rank), rows = reshape(numbers(2 * size, rank), {size, 2});
  const double weight = 1 + rank;  // results count differently on each rank
  const auto loss = [&](auto op) {
    return [&ranks, weight, op](const Tensor& at) { return sum(exp(op(ranks, at)) * weight); };
  };
  current = "all_reduce";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_reduce(c, a); }), x);
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_reduce(c, a, MpiReduction::mean); }), x);
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_reduce(c, a, MpiReduction::max); }), x);
  current = "all_gather";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_gather(c, a); }), x);
  current = "reduce_scatter";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return reduce_scatter(c, a); }), rows);
  current = "broadcast";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return broadcast(c, a, c.size() - 1); }), x);
  current = "reduce";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return reduce(c, a, 0); }), x);
  current = "all_to_all";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_to_all(c, a); }), rows);
  current = "sendrecv";
  check_derivatives(ranks, loss([](auto& c, auto& a) {
                      return sendrecv(c, a, c.rank() + 1 < c.size() ? c.rank() + 1 : no_rank, c.rank() - 1);
                    }),
                    x);
  current = "send and recv";  // along a chain: each rank adds what it receives to what it passes on
  check_derivatives(ranks, loss([](auto& c, auto& a) {
                      Tensor passed = a;
                      if (c.rank() > 0) passed = a + sin(recv(c, a, c.rank() - 1));
                      return c.rank() + 1 < c.size() ? passed + send(c, passed, c.rank() + 1) : passed;
                    }),
                    x);
  current = "halo_exchange";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return halo_exchange(c, a, 2); }), x);
  check_derivatives(ranks, loss([](auto& c, auto& a) { return halo_exchange(c, a, 1, 1, true); }), rows);
}

// A distributed array's halo is the whole array's neighbourhood.
void halos(const Communicator& ranks) {
  const int rank = ranks.rank();
  const Tensor whole = numbers(4 * ranks.size(), 0.25);
  const Tensor own = slice(whole, {range(4 * rank, 4 * rank + 4)});
  const auto around = [&](const Tensor& array) { return slice(array, {range(4 * rank, 4 * rank + 8)}); };
  CHECK(array_equal(halo_exchange(ranks, own, 2), around(pad(whole, {2}, {2}))));
  CHECK(array_equal(halo_exchange(ranks, own, 2, 0, true), around(concatenate({slice(whole, {range(-2, whole.size())}),
                                                                               whole, slice(whole, {range(0, 2)})}))));
}

void gradients_of_trees(const Communicator& ranks) {
  const int size = ranks.size();
  std::vector<Gradient> mine{numbers(3, ranks.rank()), none, ones({2}), zeros({1}, DType::float32) + ranks.rank()};
  const std::vector<Gradient> total = all_reduce_gradients(ranks, mine);
  CHECK(close(*total[0], sum(stack(everyone(ranks, 3)), {0})));
  CHECK(!total[1]);
  CHECK(array_equal(*total[2], full({2}, double(size))));
  CHECK((*total[3]).dtype() == DType::float32);
  CHECK(array_equal(*all_reduce_gradients(ranks, mine, MpiReduction::mean)[2], ones({2})));
  Variable w(zeros({2}));
  DataParallel parallel(ranks, SGD({.learning_rate = 0.5}), MpiReduction::mean);
  parallel.step({Gradient(full({2}, 1. + ranks.rank()))}, {w});
  CHECK(array_equal(w, full({2}, -0.25 * (1 + size))));
  CHECK(replicated(ranks, scalar(3.0)).item() == 3.0 / size);
}

// The same bits whatever the number of ranks: compared with the tree of one process.
void shards(const Communicator& ranks) {
  const auto part = [](int shard) { return std::vector<Tensor>{exp(numbers(1000, shard)), numbers(2, shard)}; };
  const Shards of(ranks, 8);
  std::vector<std::vector<Tensor>> parts;
  for (int s = of.begin(); s < of.end(); ++s) parts.push_back(part(s));
  const std::vector<Tensor> total = of.sum(parts);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto shard = [&](int s) { return part(s)[k]; };
    const Tensor serial =
        ((shard(0) + shard(1)) + (shard(2) + shard(3))) + ((shard(4) + shard(5)) + (shard(6) + shard(7)));
    if ((ranks.size() & (ranks.size() - 1)) == 0) CHECK(array_equal(total[k], serial));
    CHECK(close(total[k], serial));
  }
}

template <class E, class F>
bool throws(F f, const char* part) {
  try {
    f();
  } catch (const E& e) {
    if (std::strstr(e.what(), part)) return true;
    std::printf("message: %s\n", e.what());
  }
  return false;
}

void refused(const Communicator& ranks) {
  CHECK(throws<IndexError>([&] { broadcast(ranks, ones({1}), ranks.size()); }, "broadcast: root"));
  CHECK(throws<IndexError>([&] { sendrecv(ranks, ones({1}), -2, 0); }, "sendrecv: to -2"));
  CHECK(throws<ShapeError>([&] { all_to_all(ranks, ones({ranks.size() + 1})); }, "all_to_all: x has shape"));
  CHECK(throws<IndexError>([&] { send(ranks, ones({1}), no_rank); }, "send: to -1"));
  CHECK(throws<ShapeError>([&] { halo_exchange(ranks, ones({2}), 3); }, "halo_exchange: a halo of 3"));
  CHECK(throws<ValueError>([&] { Shards(ranks, ranks.size() - 1); }, "Shards:"));
  CHECK(throws<ValueError>([&] { all_reduce_gradients(ranks, {}, MpiReduction::max); }, "sum or mean"));
}

// A receive that was given up is never freed: the message may arrive when its communicator is gone.
void late_message() {
  Communicator ranks = world({.timeout = 2});
  const int last = ranks.size() - 1;
  const Communicator second = world();
  if (ranks.rank() == 0) {
    CHECK(throws<MpiError>([&] { recv(ranks, ones({4}), last); }, "recv: rank 0 waited 2 s for the others"));
    ranks = second;
  }
  std::vector<Tensor> pool;  // takes what has been freed
  for (int k = 0; k < 1000; ++k) pool.push_back(zeros({296 + k % 8}, DType::uint8));
  if (ranks.rank() == last) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    try {
      send(ranks, ones({4}), 0);
    } catch (const MpiError&) {  // it may have been told
    }
  }
  all_reduce(second, ones({1}));
  for (const Tensor& x : pool) CHECK(sum(x).item<std::int64_t>() == 0);
}

// Nothing but a MpiError when the program has finalised MPI, and for errors that MPI reports.
void errors_of_mpi(bool finalise) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Communicator unchecked = world({.timeout = 2, .check = false});
  if (finalise) {
    MPI_Finalize();
    CHECK(throws<MpiError>([&] { all_reduce(unchecked, ones({2})); }, "all_reduce: MPI has been finalised"));
    CHECK(throws<MpiError>([] { world(); }, "world: MPI has been finalised"));
    CHECK(throws<std::runtime_error>([&] { run_together(unchecked, [] { throw std::runtime_error("too late"); }); },
                                     "too late"));
  } else if (unchecked.rank() == 0) {
    sendrecv(unchecked, ones({3}), 1, no_rank);
  } else if (unchecked.rank() == 1) {
    CHECK(throws<MpiError>([&] { sendrecv(unchecked, ones({2}), no_rank, 0); }, "sendrecv: MPI reports: "));
  }
}

// compile() refuses communication before any is done, also of constants and where x only gives a shape.
void traced(const Communicator& ranks) {
  const auto refuses = [](auto f) { return throws<TraceError>([&] { compile(f)(ones({2})); }, "cannot trace"); };
  CHECK(refuses([&](const Tensor& x) { return all_reduce(ranks, x); }));
  CHECK(refuses([&](const Tensor& x) { return all_reduce(ranks, ones({2})) + x; }));
  CHECK(refuses([&](const Tensor& x) { return recv(ranks, x, 0); }));
  CHECK(refuses([&](const Tensor& x) { return sendrecv(ranks, x, no_rank, no_rank); }));
  CHECK(all_reduce(ranks, scalar(1.)).item() == ranks.size());
}

// Failures by design: every rank must end with an error, and soon.
int failure(const Communicator& ranks, const std::string& kind) {
  const bool odd_one = ranks.rank() == ranks.size() - 1;
  const auto body = [&] {
    if (kind == "throw" && odd_one) throw std::runtime_error("out of luck");
    if (kind == "silence" && odd_one) return std::this_thread::sleep_for(std::chrono::seconds(6));
    if (kind == "die" && odd_one) std::raise(SIGKILL);
    all_reduce(ranks, odd_one ? ones({3}) : ones({2}));
  };
  if (kind == "throw")
    CHECK(odd_one ? throws<std::runtime_error>([&] { run_together(ranks, body); }, "out of luck")
                  : throws<MpiError>([&] { run_together(ranks, body); }, "has failed: out of luck"));
  if (kind == "number") {
    const auto one_throws = [&] {
      if (odd_one) throw 42;
      body();
    };
    try {
      CHECK(throws<MpiError>([&] { run_together(ranks, one_throws); }, "rank 2 has failed: an exception that is"));
    } catch (int) {
      CHECK(odd_one);
    }
  }
  if (kind == "shapes" && ranks.rank() == 0) {
    try {
      send(ranks, ones({3}), ranks.size() - 1);
    } catch (const MpiError&) {  // the receiver may have refused before the message is complete
    }
  }
  if (kind == "shapes" && !odd_one) CHECK(throws<MpiError>(body, "rank 2 has failed: recv: rank 2 expects send"));
  if (kind == "late") late_message();
  if (kind == "finalised" || kind == "truncated") errors_of_mpi(kind == "finalised");
  if (kind == "shapes" && odd_one)
    CHECK(throws<MpiError>([&] { recv(ranks, ones({3}, DType::float32), 0); },
                           "expects send of float32 [3], rank 0 calls send of float64 [3]"));
  if (kind == "reduction")
    CHECK(throws<MpiError>([&] { all_reduce(ranks, ones({2}), odd_one ? MpiReduction::max : MpiReduction::min); },
                           odd_one
                               ? "is all_reduce of float64 [2] by max, of rank 0 all_reduce of float64 [2] by min"
                               : "is all_reduce of float64 [2] by min, of rank 2 all_reduce of float64 [2] by max"));
  if (kind == "mismatch") CHECK(throws<MpiError>(body, "all ranks must make the same calls"));
  if (kind == "silence" && odd_one) body();
  if (kind == "silence" && !odd_one) {
    CHECK(throws<MpiError>(body, "s for the others"));
    CHECK(throws<MpiError>(body, "the communicator has failed"));
  }
  if (kind == "die") CHECK(throws<MpiError>(body, ""));
  std::printf("rank %d: %s\n", ranks.rank(), failures ? "wrong" : "right");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::seconds(2));  // mpirun ends all ranks when the first one exits
  std::_Exit(failures ? 1 : 0);                          // MPI cannot be finalised after a failure
}

}  // namespace

int main(int argc, char** argv) {
  const Communicator ranks = world({.timeout = argc > 1 ? 2.0 : 120.0});
  // An mpirun of another MPI than the linked one starts processes that are alone.
  if (const char* started = std::getenv("REEL_TEST_RANKS"); started && std::atoi(started) != ranks.size()) {
    std::printf("%s ranks were started, this MPI sees %d: wrong\n", started, ranks.size());
    return 1;
  }
  if (argc > 1) return failure(ranks, argv[1]);
  const struct {
    const char* name;
    void (*run)(const Communicator&);
  } checks[] = {
      {"values", values}, {"derivatives", derivatives}, {"halos", halos},  {"gradients_of_trees", gradients_of_trees},
      {"shards", shards}, {"refused", refused},         {"traced", traced}};
  for (const auto& c : checks) {
    current = c.name;
    run_together(ranks, [&] { c.run(ranks); });
  }
  return all_reduce(ranks, scalar(failures)).item<int>() == 0 ? 0 : 1;
}
