// What reel-mpi promises, checked by every rank of `mpirun -n N ranks [CHECK]`. The exit status is 0 if all checks of
// all ranks pass. CHECK is a check that ends in failure by design.
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
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
  check_derivatives(ranks, loss([](auto& c, auto& a) { return all_reduce(c, a, MpiReduction::min); }), x);
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
  current = "replicated";
  check_derivatives(
      ranks, [&](const Tensor& at) { return replicated(ranks, sum(exp(at))) * weight; }, x);
  current = "all_reduce_gradients";
  check_derivatives(ranks, loss([](auto& c, auto& a) { return *all_reduce_gradients(c, {Gradient(sin(a))})[0]; }), x);
  current = "Shards";
  check_derivatives(ranks, loss([](auto& c, auto& a) {
                      const Shards of(c, 2 * c.size());
                      return of.sum({{sin(a)}, {a * a}})[0];
                    }),
                    x);
}

// A distributed array's halo is the whole array's neighbourhood.
void halos(const Communicator& ranks) {
  const int rank = ranks.rank();
  const Tensor whole = numbers(4 * ranks.size(), 0.25);
  const Tensor own = slice(whole, {range(4 * rank, 4 * rank + 4)});
  const auto around = [&](const Tensor& array) { return slice(array, {range(4 * rank, 4 * rank + 8)}); };
  CHECK(array_equal(halo_exchange(ranks, own, 2), around(pad(whole, {2}, {2}))));
  const Tensor columns = stack({own, -own});
  CHECK(array_equal(halo_exchange(ranks, columns, 2, -1), halo_exchange(ranks, columns, 2, 1)));
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

// A network of layers of different sizes and dtypes. The rule of its first layer comes last in the reverse pass, and
// calls `last`.
struct Layers {
  std::vector<Variable> w;
  Variable half{cast(numbers(700, 0.5), DType::float32)}, unused{zeros({3})};
  std::function<void()> last = [] {};
  auto leaves() { return std::tie(w, half, unused); }

  Layers() {
    for (int k = 0; k < 5; ++k) w.emplace_back(numbers(40 + 300 * k, k));
  }
  Tensor loss(double phase) const {
    const auto first = custom_gradient([&](const Tensor& x) {
      return std::pair(x * 1.0, [&](const Tensor& g) {
        last();
        return g * 1.0;
      });
    });
    Tensor sum_of = sum(sin(first(w[0]) + phase));
    for (const Variable& x : w) sum_of = sin(sum_of + sum(exp(x.read() * 0.1)) + sum(x * x) * phase);
    return sum_of + cast(sum(half * cast(full({}, phase), DType::float32)), DType::float64);
  }
};

// Gradients that are exchanged during the reverse pass have the bits of those that are exchanged behind it.
void buckets(const Communicator& ranks) {
  Layers layers;
  const double phase = 0.3 + ranks.rank();
  for (MpiReduction reduction : {MpiReduction::sum, MpiReduction::mean})
    for (std::int64_t bytes : {1, 5000, 1 << 20}) {
      GradientTape tape, other;
      const Tensor loss = layers.loss(phase);
      const auto [w, half, unused] = all_reduce_gradients(ranks, tape, loss, layers, reduction, {.bytes = bytes});
      std::vector<Gradient> expected = other.gradient(loss, layers.w);
      expected = all_reduce_gradients(ranks, expected, reduction);
      for (std::size_t k = 0; k < w.size(); ++k) CHECK(array_equal(w[k], *expected[k]));
      CHECK(half.dtype() == DType::float32 && half.shape() == Shape{700});
      CHECK(array_equal(unused, zeros({3})));
    }
  CHECK(throws<ValueError>(
      [&] {
        GradientTape tape;
        all_reduce_gradients(ranks, tape, layers.loss(1), layers, MpiReduction::sum, {.bytes = 0});
      },
      "positive number of bytes"));
  Variable w(ones({2}));
  GradientTape tape;
  DataParallel(ranks, SGD({.learning_rate = 0.5})).step(tape, sum(w * phase), std::vector{w});
  CHECK(close(w, full({2}, 1 - 0.5 * (0.3 * ranks.size() + ranks.size() * (ranks.size() - 1) / 2.))));
}

// The reverse pass of every rank waits, in its last rule, for a bucket that it has filled before.
void overlap(const Communicator& ranks) {
  if (ranks.size() == 1) return;
  Layers layers;
  const std::int64_t before = detail::exchanged_buckets(ranks);
  bool during = false;
  layers.last = [&] {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!(during = detail::exchanged_buckets(ranks) > before) && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  GradientTape tape;
  all_reduce_gradients(ranks, tape, layers.loss(1), layers, MpiReduction::sum, {.bytes = 1000});
  CHECK(during);
  during = false;
  const Shards of(ranks, 8);
  of.value_and_gradients([&](int shard) { return layers.loss(shard); }, layers, {.bytes = 1000});
  CHECK(during);
}

// The same bits as a sum behind the reverse pass, and as on one rank.
void overlapped_shards(const Communicator& ranks) {
  const Layers layers;
  for (int count : {4, 8, 11}) {
    if (count < ranks.size()) continue;
    const auto part = [&](int shard) {
      GradientTape tape;
      const Tensor loss = layers.loss(shard);
      std::vector<Tensor> list{loss};
      for (const Gradient& g : tape.gradient(loss, layers.w)) list.push_back(*g);
      return list;
    };
    const Shards of(ranks, count);
    std::vector<std::vector<Tensor>> parts;
    for (int s = of.begin(); s < of.end(); ++s) parts.push_back(part(s));
    const std::vector<Tensor> expected = of.sum(parts);
    const auto [value, g] =
        of.value_and_gradients([&](int shard) { return layers.loss(shard); }, layers.w, {.bytes = 3000});
    CHECK(array_equal(value, expected[0]));
    for (std::size_t k = 0; k < g.size(); ++k) CHECK(array_equal(g[k], expected[k + 1]));
    if (count != 8 || (ranks.size() & (ranks.size() - 1)) != 0) continue;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const auto shard = [&](int s) { return part(s)[k]; };
      CHECK(array_equal(expected[k], ((shard(0) + shard(1)) + (shard(2) + shard(3))) +
                                         ((shard(4) + shard(5)) + (shard(6) + shard(7)))));
    }
  }
}

// Views of one element, so that a message of 2 GiB takes no memory. No rank waits for another.
void too_large(const Communicator& ranks) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;  // bytes
  const int size = ranks.size();
  const auto refuses = [](const char* op, auto f) {
    CHECK(throws<ShapeError>(f, op));
    CHECK(throws<ShapeError>(f, "a message of MPI holds less than 2 GiB"));
  };
  const auto view = [](Shape shape, DType dtype) { return broadcast_to(zeros({}, dtype), shape); };
  const Tensor bytes = view({limit}, DType::uint8), doubles = view({limit / 8}, DType::float64);
  const Tensor rows = view({size, limit}, DType::uint8);
  refuses("all_gather: 2147483648 elements of uint8", [&] { all_gather(ranks, bytes); });
  refuses("all_gather: 268435456 elements of float64", [&] { all_gather(ranks, doubles); });
  refuses("all_reduce:", [&] { all_reduce(ranks, rows); });
  refuses("all_reduce:", [&] { all_reduce(ranks, doubles, MpiReduction::max); });
  refuses("reduce:", [&] { reduce(ranks, rows); });
  refuses("reduce_scatter:", [&] { reduce_scatter(ranks, rows); });
  refuses("all_to_all:", [&] { all_to_all(ranks, rows); });
  refuses("broadcast:", [&] { broadcast(ranks, bytes); });
  refuses("sendrecv:", [&] { sendrecv(ranks, bytes, no_rank, no_rank); });
  refuses("send:", [&] { send(ranks, bytes, 0); });
  refuses("recv:", [&] { recv(ranks, bytes, 0); });
}

void refused(const Communicator& ranks) {
  CHECK(throws<IndexError>([&] { broadcast(ranks, ones({1}), ranks.size()); }, "broadcast: root"));
  CHECK(throws<IndexError>([&] { sendrecv(ranks, ones({1}), -2, 0); }, "sendrecv: to -2"));
  CHECK(throws<ShapeError>([&] { all_to_all(ranks, ones({ranks.size() + 1})); }, "all_to_all: x has shape"));
  CHECK(throws<IndexError>([&] { send(ranks, ones({1}), no_rank); }, "send: to -1"));
  CHECK(throws<ShapeError>([&] { halo_exchange(ranks, ones({2}), 3); }, "halo_exchange: a halo of 3"));
  CHECK(throws<ShapeError>([&] { halo_exchange(ranks, ones({2}), -1); }, "halo_exchange: a halo of -1"));
  for (std::int64_t axis : {2, 7, -3})
    CHECK(throws<IndexError>([&] { halo_exchange(ranks, ones({2, 2}), 1, axis); }, "halo_exchange: axis"));
  CHECK(throws<IndexError>([&] { halo_exchange(ranks, scalar(1.), 1); }, "halo_exchange: axis 0 of x of shape []"));
  CHECK(throws<ValueError>([&] { Shards(ranks, ranks.size() - 1); }, "Shards:"));
  CHECK(throws<ValueError>([&] { all_reduce_gradients(ranks, {}, MpiReduction::max); }, "sum or mean"));
}

// Marks are files, since MPI is not to be used after a failure. A rank leaves one for each thing that others wait for.
std::filesystem::path mark_of(const char* what, int rank) {
  return std::filesystem::path(std::getenv("REEL_TEST_MARKS")) / (what + std::to_string(rank));
}
void leave_mark(const char* what, int rank, const char* text = "") {
  const std::filesystem::path mark = mark_of(what, rank), incomplete = mark_of("incomplete ", rank);
  std::ofstream(incomplete) << text;
  std::filesystem::rename(incomplete, mark);
}
void wait_for_mark(const char* what, int rank) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (!std::filesystem::exists(mark_of(what, rank))) {
    if (std::chrono::steady_clock::now() > give_up) return check(false, what, __LINE__);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// A receive that was given up is never freed: the message may arrive when its communicator is gone.
void late_message() {
  Communicator ranks = world({.timeout = 0.5});
  const int last = ranks.size() - 1;
  const Communicator second = world();
  if (ranks.rank() == 0) {
    CHECK(throws<MpiError>([&] { recv(ranks, ones({4}), last); }, "recv: rank 0 waited 0.5 s for the others"));
    ranks = second;
    leave_mark("gave up", 0);
  }
  std::vector<Tensor> pool;  // takes what has been freed
  for (int k = 0; k < 1000; ++k) pool.push_back(zeros({296 + k % 8}, DType::uint8));
  if (ranks.rank() == last) {
    wait_for_mark("gave up", 0);
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
  const Communicator unchecked = world({.check = false});
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

// The last rank stays silent, or is killed: the others end at the time-out.
void no_answer(const Communicator& all, bool killed) {
  all_reduce(all, ones({2000}));  // connects every rank with every other
  const Communicator ranks = world({.timeout = 1});
  const int last = ranks.size() - 1;
  if (ranks.rank() < last) leave_mark("ready", ranks.rank());
  for (int other = 0; other < last; ++other) wait_for_mark("ready", other);
  if (ranks.rank() == last) {
    if (killed) std::raise(SIGKILL);
    for (int other = 0; other < last; ++other) wait_for_mark("gave up", other);
    CHECK(throws<MpiError>([&] { all_reduce(ranks, ones({3})); }, ""));
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(throws<MpiError>([&] { all_reduce(ranks, ones({2})); }, "s for the others"));
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  CHECK(waited.count() < 60);  // the time-out is a second
  CHECK(throws<MpiError>([&] { all_reduce(ranks, ones({2})); }, "the communicator has failed"));
  leave_mark("gave up", ranks.rank());
}

// The last rank throws while the others exchange gradients, or has another set of them.
void failing_buckets(const Communicator& ranks, bool rule_throws) {
  const bool odd_one = ranks.rank() == ranks.size() - 1;
  Layers layers;
  if (rule_throws && odd_one) layers.last = [] { throw std::runtime_error("a rule that gives up"); };
  if (!rule_throws && odd_one) layers.w.pop_back();
  const auto exchange = [&] {
    GradientTape tape;
    all_reduce_gradients(ranks, tape, layers.loss(1), layers, MpiReduction::sum, {.bytes = 3000});
  };
  // A rank that is slower than the others has their MpiError instead of its own ShapeError.
  CHECK(throws<Error>(
      [&] {
        const Communicator second = world();  // it fails, too
        Shards(second, 8).value_and_gradients([&](int) { return layers.w[0] * 1.0; }, layers.w);
      },
      "the loss of shard"));
  if (!rule_throws)
    CHECK(throws<MpiError>(exchange, "all ranks must make the same calls"));
  else if (odd_one)
    CHECK(throws<std::runtime_error>(exchange, "a rule that gives up"));
  else
    CHECK(throws<MpiError>(exchange, "rank 2 has failed: a rule that gives up"));
}

// Failures by design: every rank must end with an error.
void failure(const Communicator& ranks, const std::string& kind) {
  const bool odd_one = ranks.rank() == ranks.size() - 1;
  const auto body = [&] {
    if (kind == "throw" && odd_one) throw std::runtime_error("out of luck");
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
  if (kind == "shapes" && odd_one)
    CHECK(throws<MpiError>([&] { recv(ranks, ones({3}, DType::float32), 0); },
                           "expects send of float32 [3], rank 0 calls send of float64 [3]"));
  if (kind == "late") late_message();
  if (kind == "finalised" || kind == "truncated") errors_of_mpi(kind == "finalised");
  if (kind == "reduction")
    CHECK(throws<MpiError>([&] { all_reduce(ranks, ones({2}), odd_one ? MpiReduction::max : MpiReduction::min); },
                           odd_one
                               ? "is all_reduce of float64 [2] by max, of rank 0 all_reduce of float64 [2] by min"
                               : "is all_reduce of float64 [2] by min, of rank 2 all_reduce of float64 [2] by max"));
  if (kind == "mismatch") CHECK(throws<MpiError>(body, "all ranks must make the same calls"));
  if (kind == "silence" || kind == "die") no_answer(ranks, kind == "die");
  if (kind == "rule" || kind == "buckets") failing_buckets(ranks, kind == "rule");
}

// Ends a rank that has failed. Its answer is in a mark, and it waits for the others: mpirun may end all ranks, and drop
// what they have printed, when the first one exits.
[[noreturn]] void leave(const Communicator& ranks, const std::string& kind) {
  leave_mark("left", ranks.rank(), failures ? "wrong" : "right");
  for (int other = 0; other < ranks.size() - (kind == "die"); ++other) wait_for_mark("left", other);
  std::fflush(stdout);
  std::_Exit(failures ? 1 : 0);  // MPI cannot be finalised after a failure
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  int level = 0;
  if (kind == "funneled") MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  const Communicator ranks = world();
  // An mpirun of another MPI than the linked one starts processes that are alone.
  if (const char* started = std::getenv("REEL_TEST_RANKS"); started && std::atoi(started) != ranks.size()) {
    std::printf("%s ranks were started, this MPI sees %d: wrong\n", started, ranks.size());
    return 1;
  }
  if (kind == "funneled") {  // without a thread
    buckets(ranks);
    overlapped_shards(ranks);
    MPI_Finalize();
    return failures ? 1 : 0;
  }
  const struct Check {
    const char* name;
    void (*run)(const Communicator&);
  } checks[] = {{"values", values},   {"derivatives", derivatives},
                {"halos", halos},     {"gradients_of_trees", gradients_of_trees},
                {"shards", shards},   {"buckets", buckets},
                {"overlap", overlap}, {"overlapped_shards", overlapped_shards},
                {"refused", refused}, {"too_large", too_large},
                {"traced", traced}};
  const bool alone = kind == "shards";  // those of shards alone: more ranks than processors take long for all
  if (!kind.empty() && !alone) {
    current = argv[1];
    failure(ranks, kind);
    leave(ranks, kind);
  }
  for (const Check& c : checks) {
    if (alone && !std::string(c.name).ends_with("shards")) continue;
    current = c.name;
    run_together(ranks, [&] { c.run(ranks); });
  }
  return all_reduce(ranks, scalar(failures)).item<int>() == 0 ? 0 : 1;
}
