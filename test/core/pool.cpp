// The memory pool across threads, and the library inside parallel loops of the program.
#include <oneapi/tbb/parallel_for.h>

#include <condition_variable>
#include <limits>
#include <mutex>
#include <reel/reel.hpp>
#include <thread>

#include "catch.hpp"
#include "core/block.hpp"

using namespace reel;

namespace {

// A tensor that lives throughout. It is destroyed after main, when every thread_local of the main thread is gone.
const Variable kept(scalar(1.0), "static");

// Frees and allocates memory while its thread ends.
struct AtExit {
  Tensor value;
  ~AtExit() {
    if (value.defined()) value = value * 2.0;
  }
};

}  // namespace

TEST_CASE("a variable with static storage duration has gradients") {
  GradientTape tape;
  const Tensor y = kept * kept;
  CHECK((*tape.gradient(y, kept)).item() == 2.0);
}

TEST_CASE("a tensor outlives its thread, and its block returns to the pool") {
  std::vector<Tensor> outlived;
  for (int round = 0; round < 3; ++round) {
    std::thread([&] {
      for (int i = 0; i < 100; ++i) outlived.push_back(full({i + 1}, i));
    }).join();
    for (int i = 0; i < 100; ++i) CHECK(outlived[static_cast<std::size_t>(i)].to_vector()[0] == i);
    outlived.clear();  // freed by this thread, into the pool that the next thread adopts
  }
  const std::int64_t misses = memory_stats().pool_misses;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) outlived.push_back(full({i + 1}, i));
  }).join();
  CHECK(memory_stats().pool_misses == misses);
}

TEST_CASE("tensors may be made and freed while their thread exits") {
  const std::int64_t live = memory_stats().live_tensors;
  for (int i = 0; i < 20; ++i)
    std::thread([] {
      thread_local AtExit holder;
      holder.value = full({1000}, 1.5);
    }).join();
  CHECK(memory_stats().live_tensors == live);
}

TEST_CASE("blocks that other threads free return to the thread that allocated them") {
  for (int round = 0; round < 50; ++round) {
    std::vector<Tensor> shared;
    for (int i = 0; i < 200; ++i) shared.push_back(full({64}, i));
    std::thread other([list = std::move(shared)]() mutable { list.clear(); });
    for (int i = 0; i < 200; ++i) CHECK(full({64}, i).to_vector()[63] == i);
    other.join();
  }
}

TEST_CASE("the steady state takes no memory from the system") {
  const Tensor x = linspace(-1, 1, 5000);
  const Variable w(ones({5000}), "w");
  const auto step = [&] {
    GradientTape tape;
    const Tensor loss = sum(square(tanh(w * x)));
    w.assign_sub(0.1 * *tape.gradient(loss, w));
  };
  for (int i = 0; i < 3; ++i) step();
  const MemoryStats before = memory_stats();
  for (int i = 0; i < 100; ++i) step();
  CHECK(memory_stats().pool_misses == before.pool_misses);
  CHECK(memory_stats().live_bytes == before.live_bytes);
}

TEST_CASE("lists that one thread makes and another drops come back") {
  constexpr int handed = 4000;
  detail::List<std::int64_t> box;
  std::mutex mutex;
  std::condition_variable changed;
  const auto hand_over = [&](bool empty, const auto& act) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return box.empty() == empty; });
    act();
    changed.notify_all();
  };
  std::int64_t warm = 0;
  std::thread maker([&] {
    for (int i = 0; i < handed; ++i) {
      detail::List<std::int64_t> list(100);
      hand_over(true, [&] { box = std::move(list); });
      if (i == handed / 2) warm = memory_stats().pool_misses;
    }
  });
  SECTION("to a thread that has tensors of its own") {
    static_cast<void>(full({3}, 1.0));
    for (int i = 0; i < handed; ++i) hand_over(false, [&] { detail::List<std::int64_t>().swap(box); });
  }
  SECTION("to a thread that has none") {
    std::thread([&] {
      for (int i = 0; i < handed; ++i) hand_over(false, [&] { detail::List<std::int64_t>().swap(box); });
    }).join();
  }
  maker.join();
  CHECK(memory_stats().pool_misses == warm);
}

TEST_CASE("arrays of another size reuse cached memory instead of taking more from the system") {
  const auto use = [](std::int64_t elements, int count) {
    std::vector<Tensor> held;
    for (int i = 0; i < count; ++i) held.push_back(detail::empty(DType::float64, {elements}));
  };
  reset_peak_bytes();
  use(5'000'000, 12);  // fills what may be cached
  use(500'000, 3);
  const std::int64_t before = memory_stats().pool_misses;
  for (int i = 0; i < 10; ++i) use(500'000, 3);
  CHECK(memory_stats().pool_misses == before);
}

TEST_CASE("the result of an op has contiguous memory of its own, whatever the layout of its operand") {
  const std::vector<double> values(1000, 3);
  const Tensor own = full({1000}, 3.0), line = full({2, 1000}, 3.0);
  for (const Tensor& x : {own, line[1], reshape(own, {1000}), borrow(values.data(), {1000}, 0)}) {
    const std::int64_t before = memory_stats().live_bytes;
    const Tensor y = x * x;
    CHECK(memory_stats().live_bytes - before >= 8000);
    CHECK((detail::block(y)->flags == (detail::contiguous_flag | detail::plain_flag) && !detail::block(y)->base));
    CHECK((y.shape() == Shape{1000} && y.strides() == Shape{1}));
    CHECK(y.to_vector() == std::vector<double>(1000, 9));
    CHECK(x.to_vector() == values);
  }
}

TEST_CASE("peak bytes follow the largest use") {
  reset_peak_bytes();
  const std::int64_t live = memory_stats().live_bytes;
  {
    const Tensor a = zeros({1 << 20}), b = zeros({1 << 20});
    CHECK(memory_stats().live_bytes - live >= 2 * (8 << 20));
  }
  CHECK(memory_stats().live_bytes == live);
  CHECK(memory_stats().peak_bytes - live >= 2 * (8 << 20));
  CHECK(memory_stats().peak_bytes - live < 3 * (8 << 20));
}

TEST_CASE("an impossible size is a ShapeError before anything is allocated") {
  const MemoryStats before = memory_stats();
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(zeros({huge, huge}), ShapeError);
  CHECK_THROWS_AS(zeros({huge, 1 << 20}), ShapeError);
  CHECK_THROWS_AS(zeros({-1}), ShapeError);
  CHECK_THROWS_AS(zeros({2, -3, 0}), ShapeError);
  CHECK(zeros({huge, huge, 0}).size() == 0);
  CHECK(memory_stats().pool_misses == before.pool_misses);
}

#ifndef _WIN32  // wine gives 64 TiB, after minutes
TEST_CASE("the largest complex tensor is refused for lack of memory") {
  // A block that another thread dropped waits in the pool, next to the last list of free blocks.
  Tensor small = full({10}, 1.0);
  std::thread([gone = std::move(small)] {}).join();
  const std::int64_t most = std::int64_t{1} << 46;
  for (const DType d : {DType::complex128, DType::complex64, DType::float64, DType::boolean})
    CHECK_THROWS_AS(detail::empty(d, {most}), std::bad_alloc);
  CHECK_THROWS_AS(detail::empty(DType::complex128, {most + 1}), ShapeError);
  CHECK_THROWS_AS(detail::allocate(std::size_t{1} << 62), std::bad_alloc);
}
#endif

TEST_CASE("a shape with a zero extent may have extents of any size") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const double nothing = 0;
  for (const Shape& shape :
       {Shape{most, most, 0}, Shape{0, most, most}, Shape{most, 0, most, most}, Shape{2, 0, most, 3}})
    for (const Tensor& x : {detail::empty(DType::float64, shape), borrow(&nothing, shape, 0), identity(zeros(shape))}) {
      CHECK(x.size() == 0);
      CHECK(x.is_contiguous());
      std::int64_t expected = 1;  // row-major, 0 from where the product does not fit
      for (int axis = x.rank(); axis-- > 0;) {
        CHECK(x.strides()[axis] == expected);
        if (__builtin_mul_overflow(expected, x.shape()[axis], &expected)) expected = 0;
      }
    }
  CHECK(zeros({2, 0, 3}).strides() == Shape{0, 3, 1});
}

TEST_CASE("ids of tensors are unique and contain the number of the thread") {
  const Tensor a = scalar(1.0), b = identity(a);
  CHECK(a.id() != b.id());
  Tensor c;
  std::thread([&] { c = scalar(1.0); }).join();
  CHECK(detail::thread_of(a.id()) == detail::thread_of(b.id()));
  CHECK(detail::thread_of(a.id()) != detail::thread_of(c.id()));
}

TEST_CASE("one tape per task of a user's parallel loop, with parallel loops inside") {
  const std::int64_t n = 200000;  // large enough for the library's own threads
  const Tensor x = linspace(0, 1, n);
  std::vector<double> results(16);
  tbb::parallel_for(0, 16, [&](int k) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(x * x * static_cast<double>(k));
    // A waiting thread must not run another task inside this open tape.
    results[static_cast<std::size_t>(k)] = (*tape.gradient(y, x)).to_vector().back();
  });
  for (int k = 0; k < 16; ++k) CHECK(results[static_cast<std::size_t>(k)] == 2.0 * k);
}
