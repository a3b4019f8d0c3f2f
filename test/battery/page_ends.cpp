// No kernel reads or writes outside its operands. Each operand lies at the very end, or at the very beginning, of
// memory whose neighbouring pages cannot be accessed: every kernel, element type and instruction set, lengths 0 to 130.
// The convolution kernels are not tested here: they are allowed to access up to the end of the last vector.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <complex>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "fft/kernels.hpp"
#include "fft/plan.hpp"
#include "kernels/baseline/cast.hpp"
#include "kernels/baseline/complex.hpp"
#include "kernels/baseline/copy.hpp"
#include "kernels/baseline/scan.hpp"
#include "kernels/comparisons.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/products.hpp"
#include "kernels/random.hpp"
#include "kernels/reductions.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"
#include "linalg/distance_kernels.hpp"
#include "linalg/lapack/decompositions.hpp"
#include "nn/kernels.hpp"

using namespace reel::kernels;
using reel::DType;

namespace {

constexpr std::ptrdiff_t longest = 130;
constexpr DType types[] = {DType::boolean,  DType::uint8,   DType::int32,   DType::int64,     DType::float16,
                           DType::bfloat16, DType::float32, DType::float64, DType::complex64, DType::complex128};

// float16 and bfloat16 are cast to float32 before most kernels, and back.
constexpr bool is_half(DType t) { return t == DType::float16 || t == DType::bfloat16; }

enum class Edge { begin, end };

// Memory between two pages without access rights, filled with numbers that every op accepts.
class Guarded {
 public:
  Guarded() {
    base_ = static_cast<std::byte*>(mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + page_, size_, PROT_READ | PROT_WRITE) == 0);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(base_, size_ + 2 * page_); }

  // The whole memory holds small positive numbers of the type.
  void fill(DType type) {
    const std::size_t size = item_size(type);
    for (std::size_t i = 0; i < size_ / size; ++i) {
      const std::int64_t whole = 1 + static_cast<std::int64_t>(i % 3);
      cast(DType::int64, type)({&whole, 1}, base_ + page_ + i * size, 1);
    }
  }
  std::byte* at(Edge edge, std::size_t bytes) {
    if (bytes > size_) throw std::length_error("operand too long for the guarded memory");
    return edge == Edge::begin ? base_ + page_ : base_ + page_ + size_ - bytes;
  }
  // n elements with a stride; the outermost one touches the border.
  Strided operand(Edge edge, DType type, std::ptrdiff_t n, std::ptrdiff_t stride) {
    const auto size = static_cast<std::ptrdiff_t>(item_size(type));
    const std::ptrdiff_t span = n == 0 ? 0 : (n - 1) * std::abs(stride) + 1;
    std::byte* first = at(edge, static_cast<std::size_t>(span * size));
    return {stride < 0 && n > 0 ? first + (span - 1) * size : first, stride};
  }

 private:
  static constexpr std::size_t size_ = 36864;  // 130 x 16 elements of 16 bytes, in whole pages
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::byte* base_;
};

// The operands of a kernel and its result, refilled for each type.
struct Memory {
  std::array<Guarded, 6> in;
  Guarded out;
  void fill(DType type) {
    for (Guarded& g : in) g.fill(type);
    out.fill(type);
  }
};

template <class F>
void for_each_place(F f) {
  for (const Edge edge : {Edge::begin, Edge::end})
    for (std::ptrdiff_t n = 0; n <= longest; ++n) f(edge, n);
}

// A loop over `count` operands of type `from` that writes elements of type `to`. Returns how often it ran.
int run_loop(Loop loop, Memory& m, std::size_t count, DType from, DType to) {
  if (!loop) return 0;
  constexpr std::ptrdiff_t strides[][5] = {{1, 1, 1, 1, 1}, {0, 1, 0, 1, 0}, {2, -1, 1, 2, -1}};
  int runs = 0;
  for_each_place([&](Edge edge, std::ptrdiff_t n) {
    for (const auto& stride : strides) {
      Strided in[5];
      for (std::size_t k = 0; k < count; ++k) in[k] = m.in[k].operand(edge, from, n, stride[k]);
      loop(in, m.out.at(edge, static_cast<std::size_t>(n) * item_size(to)), n);
      ++runs;
    }
  });
  return runs;
}

// What an operand, or the result, of a kernel of rows holds.
enum class Part {
  rows,     // all rows
  per_row,  // an element for each row
  row,      // one row that all share
  number    // one element
};

int run_rows(RowLoop loop, Memory& m, DType type, std::initializer_list<Part> operands, Part result = Part::rows) {
  if (!loop) return 0;
  int runs = 0;
  for (const Edge edge : {Edge::begin, Edge::end})
    for (std::ptrdiff_t rows : {1, 3})
      for (std::ptrdiff_t n = 1; n <= longest; ++n) {
        const auto bytes = [&](Part p) {
          const std::ptrdiff_t count = p == Part::rows ? rows * n : p == Part::per_row ? rows : p == Part::row ? n : 1;
          return static_cast<std::size_t>(count) * item_size(type);
        };
        const void* in[6] = {};
        std::size_t k = 0;
        for (const Part p : operands) in[k] = m.in[k].at(edge, bytes(p)), ++k;
        loop(in, m.out.at(edge, bytes(result)), n, rows);
        ++runs;
      }
  return runs;
}

int run_both(const RowOrColumnLoop& loop, Memory& m, DType type, std::initializer_list<Part> operands,
             Part result = Part::rows) {
  return run_rows(loop.rows, m, type, operands, result) + run_rows(loop.columns, m, type, operands, result);
}

}  // namespace

TEST_CASE("reading past a guard page raises a signal") {
  Guarded memory;
  for (const Edge edge : {Edge::begin, Edge::end}) {
    const std::byte* outside = edge == Edge::begin ? memory.at(edge, 0) - 1 : memory.at(edge, 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      const volatile std::byte read = *outside;
      static_cast<void>(read);
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

TEST_CASE("pointwise kernels stay inside their operands", "[once]") {
  Memory m;
  for (const DType type : types) {
    m.fill(type);
    int runs = 0;
    for (const Set* set : supported_sets())
      for (std::size_t row = 0; row < table::size; ++row) {
        const Pointwise& op = set->get<PointwiseKernels>().of(row, type);
        INFO(set->isa << ", type " << index(type) << ", definition " << row);
        runs += run_loop(op.value, m, 3, type, type);
        for (const Loop derivative : op.derivative) runs += run_loop(derivative, m, 5, type, type);
      }
    CHECK(runs > 0);
  }
}

TEST_CASE("comparisons, logic and selection stay inside their operands") {
  Memory m;
  for (const DType type : types) {
    m.fill(type);
    for (const Set* set : supported_sets()) {
      INFO(set->isa << ", type " << index(type));
      CHECK((run_loop(set->get<ComparisonKernels>().of(Comparison::equal, type), m, 2, type, DType::boolean) == 0) ==
            is_half(type));
      for (const auto c : {Comparison::not_equal, Comparison::less, Comparison::less_equal, Comparison::greater,
                           Comparison::greater_equal})
        run_loop(set->get<ComparisonKernels>().of(c, type), m, 2, type, DType::boolean);
      for (const auto p : {Predicate::isnan, Predicate::isinf, Predicate::isfinite})
        run_loop(set->get<ComparisonKernels>().of(p, type), m, 1, type, DType::boolean);
      for (const auto& choice : set->get<ComparisonKernels>().choice)
        CHECK((run_loop(choice[index(type)], m, 4, type, type) > 0) ==
              (type == DType::float32 || type == DType::float64));
      if (type != DType::boolean) continue;
      for (const auto l : {Logical::conjunction, Logical::disjunction, Logical::exclusive, Logical::negation})
        CHECK(run_loop(set->get<ComparisonKernels>().of(l), m, 2, type, type) > 0);
    }
  }
  // The condition holds bytes, its choices elements of 1 to 16.
  constexpr DType by_size[] = {DType::uint8, DType::float16, DType::int32, DType::int64, DType::complex128};
  for (const DType type : by_size) {
    m.fill(type);
    m.in[0].fill(DType::boolean);
    for (const Set* set : supported_sets())
      for_each_place([&](Edge edge, std::ptrdiff_t n) {
        const Strided in[] = {m.in[0].operand(edge, DType::boolean, n, 1), m.in[1].operand(edge, type, n, 1),
                              m.in[2].operand(edge, type, n, -2)};
        const std::size_t size = item_size(type);
        set->get<ComparisonKernels>().select[size_class(size)](in, m.out.at(edge, static_cast<std::size_t>(n) * size),
                                                               n);
      });
  }
}

TEST_CASE("reductions stay inside their operands") {
  Memory m;
  for (const DType type : types) {
    m.fill(type);
    const std::size_t size = item_size(type);
    int runs = 0;
    for (const Set* set : supported_sets())
      for (const auto kind : {ReduceFunction::sum, ReduceFunction::prod, ReduceFunction::max, ReduceFunction::min}) {
        const Reduction& r = set->get<ReductionKernels>().of(kind, type);
        INFO(set->isa << ", type " << index(type) << ", reduction " << static_cast<int>(kind));
        for_each_place([&](Edge edge, std::ptrdiff_t n) {
          for (const std::ptrdiff_t stride : {1, 2, -1})
            if (r.run && n > 0) r.run(m.in[0].operand(edge, type, n, stride), n, m.out.at(edge, size)), ++runs;
          const std::size_t bytes = static_cast<std::size_t>(n) * size;
          if (r.merge) r.merge(m.out.at(edge, bytes), m.in[0].at(edge, bytes), n);
          const void* parts[] = {m.in[0].at(edge, bytes), m.in[1].at(edge, bytes), m.in[2].at(edge, bytes)};
          if (r.merge_all) r.merge_all(parts, 3, m.out.at(edge, bytes), n);
        });
      }
    CHECK((runs == 0) == is_half(type));
  }
}

TEST_CASE("argmax, argmin and dot stay inside their operands") {
  Memory m;
  for (const DType type : types) {
    m.fill(type);
    for (const Set* set : supported_sets()) {
      INFO(set->isa << ", type " << index(type));
      for_each_place([&](Edge edge, std::ptrdiff_t n) {
        if (n == 0) return;
        const std::size_t size = item_size(type);
        for (const ArgReduce f :
             {set->get<ReductionKernels>().argmax[index(type)], set->get<ReductionKernels>().argmin[index(type)]}) {
          if (!f) continue;
          f(m.in[0].operand(edge, type, n, 1), n, 1, reinterpret_cast<std::int64_t*>(m.out.at(edge, 8)));
          // n rows of 3 neighbours.
          const Strided rows{m.in[0].at(edge, static_cast<std::size_t>(3 * n) * size), 3};
          f(rows, n, 3, reinterpret_cast<std::int64_t*>(m.out.at(edge, 24)));
        }
        if (const auto dot = set->get<ReductionKernels>().dot[index(type)])
          for (const std::ptrdiff_t stride : {1, 2, -1})
            dot(m.in[0].operand(edge, type, n, 1), m.in[1].operand(edge, type, n, stride), n, m.out.at(edge, size));
      });
    }
  }
  SUCCEED("no access outside");
}

TEST_CASE("matrix products and the packing of their factors stay inside their operands") {
  Memory m;
  for (const DType type : {DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    m.fill(type);
    const std::ptrdiff_t parts = type == DType::complex64 || type == DType::complex128 ? 2 : 1;
    const std::size_t size = item_size(type);
    std::vector<std::byte> packed_a(32768), packed_b(65536);
    for (const Set* set : supported_sets()) {
      const MatrixProduct& loops = set->get<ProductKernels>()[type];
      int direct = 0;
      for (const Edge edge : {Edge::begin, Edge::end})
        for (std::ptrdiff_t rows = 1; rows <= 16; ++rows)
          for (std::ptrdiff_t columns = 1; columns <= 40; ++columns)
            for (const std::ptrdiff_t k : {1, 3, 4, 7, 9})
              for (const bool transposed : {false, true}) {
                const auto at = [&](std::size_t i, std::ptrdiff_t count) {
                  return m.in[i].at(edge, static_cast<std::size_t>(count) * size);
                };
                ProductBlock p{};
                p.m = rows, p.n = columns * parts, p.k = k * parts;
                p.height = std::min(rows, loops.rows);
                p.c = m.out.at(edge, static_cast<std::size_t>(rows * columns) * size);
                p.c_row = columns * parts;
                const ProductFactor a{at(0, rows * k), transposed ? 1 : k, transposed ? rows : 1},
                    b{at(1, k * columns), transposed ? 1 : columns, transposed ? k : 1};
                loops.pack_a(a, packed_a.data(), p);
                loops.pack_b(b, packed_b.data(), p);
                loops.run(p);
                if (transposed || parts > 1 || (!loops.reads_tails && columns % loops.lanes != 0)) continue;
                p.a = a.data, p.a_row = k, p.a_step = 1, p.a_panel = p.height * k;
                p.b = b.data, p.b_step = columns, p.b_panel = loops.columns;
                p.add = true;
                loops.run(p);
                ++direct;
              }
      CHECK((direct > 0) == (parts == 1));
    }
  }
}

TEST_CASE("kernels of rows and columns stay inside their operands") {
  constexpr Part rows = Part::rows, per_row = Part::per_row, row = Part::row, number = Part::number;
  Memory m;
  for (const DType type : {DType::float32, DType::float64}) {
    m.fill(type);
    for (const Set* set : supported_sets()) {
      const Rows& r = set->get<RowKernels>()[type];
      INFO(set->isa << ", type " << index(type));
      CHECK(run_both(r.softmax, m, type, {rows}) > 0);
      CHECK(run_both(r.log_softmax, m, type, {rows}) > 0);
      CHECK(run_both(r.logsumexp, m, type, {rows}, per_row) > 0);
      CHECK(run_both(r.logsumexp, m, type, {rows, per_row, per_row}, per_row) > 0);
      CHECK(run_both(r.softmax_vjp, m, type, {rows, rows}) > 0);
      CHECK(run_both(r.log_softmax_vjp, m, type, {rows, rows}) > 0);
      CHECK(run_both(r.logsumexp_vjp, m, type, {per_row, rows, per_row, per_row}) > 0);
      CHECK(run_rows(r.cross_entropy, m, type, {rows, rows}, per_row) > 0);
      CHECK(run_rows(r.cross_entropy_vjp, m, type, {per_row, rows, rows}) > 0);
      CHECK(run_rows(r.cross_entropy_labels_vjp, m, type, {per_row, rows}) > 0);
      CHECK(run_rows(r.layer_norm, m, type, {rows, number, row, row}) > 0);
      CHECK(run_rows(r.sum, m, type, {rows}, per_row) > 0);
      CHECK(run_rows(r.squares, m, type, {rows, per_row}, per_row) > 0);
      CHECK(run_rows(r.products, m, type, {rows, rows, per_row}, per_row) > 0);
      CHECK(run_rows(r.scale, m, type, {rows, per_row, per_row, per_row}) > 0);
      CHECK(run_rows(r.scale_vjp, m, type, {rows, rows, per_row, per_row, per_row, per_row}) > 0);
    }
  }
}

TEST_CASE("distances of rows stay inside their operands") {
  Memory m;
  for (const DType type : {DType::float32, DType::float64}) {
    m.fill(type);
    const std::size_t size = item_size(type);
    for (const Set* set : supported_sets())
      for (const Edge edge : {Edge::begin, Edge::end})
        for (std::ptrdiff_t n : {1, 3, 4, 5, 9})
          for (std::ptrdiff_t d : {0, 1, 2, 63, 64, 65})
            for (std::ptrdiff_t width = 1; width <= distance_block; ++width)
              set->get<DistanceKernels>()[type].run(
                  m.in[0].at(edge, static_cast<std::size_t>(n * d) * size), n, d,
                  m.in[1].at(edge, static_cast<std::size_t>(d * distance_block) * size), width,
                  m.out.at(edge, static_cast<std::size_t>(n * width) * size), width);
  }
  SUCCEED("no access outside");
}

TEST_CASE("gradients of distances, and sums without NaN, stay inside their operands") {
  Memory m;
  for (const DType type : {DType::float32, DType::float64}) {
    m.fill(type);
    const std::size_t size = item_size(type);
    for (const Set* set : supported_sets())
      for (const Edge edge : {Edge::begin, Edge::end}) {
        const auto at = [&](std::size_t k, std::ptrdiff_t count) {
          return m.in[k].at(edge, static_cast<std::size_t>(count) * size);
        };
        for (std::ptrdiff_t n : {1, 3, 4, 5})
          for (std::ptrdiff_t count : {1, 2, 33})
            for (std::ptrdiff_t d = 1; d <= 67; ++d)
              set->get<DistanceKernels>()[type].vjp(at(0, n * count), at(1, n * count), at(2, n * d), at(3, count * d),
                                                    n, count, d,
                                                    m.out.at(edge, static_cast<std::size_t>(n * d) * size));
        for (std::ptrdiff_t n = 1; n <= longest; ++n)
          set->get<ReductionKernels>().sum_of_numbers[index(type)](at(0, n), n, m.out.at(edge, size));
      }
  }
  SUCCEED("no access outside");
}

TEST_CASE("kernels that add up columns, and those with a class for each row, stay inside their operands") {
  Memory m;
  for (const DType type : {DType::float32, DType::float64}) {
    m.fill(type);
    m.in[5].fill(DType::int64);
    for (const Set* set : supported_sets())
      for (const Edge edge : {Edge::begin, Edge::end})
        for (std::ptrdiff_t rows : {1, 3})
          for (std::ptrdiff_t n = 4; n <= longest; ++n) {  // classes are at most 3
            const Rows& r = set->get<RowKernels>()[type];
            const auto at = [&](std::size_t k, std::ptrdiff_t count) {
              return m.in[k].at(edge, static_cast<std::size_t>(count) * item_size(type));
            };
            void* out = m.out.at(edge, static_cast<std::size_t>(rows * n) * item_size(type));
            void* one_per_row = m.out.at(edge, static_cast<std::size_t>(rows) * item_size(type));
            void* sums = at(4, 2 * n);
            const void* classes = m.in[5].at(edge, static_cast<std::size_t>(rows) * sizeof(std::int64_t));
            const void* normalised[] = {at(0, rows * n), at(1, rows * n), at(2, 1), at(3, n)};
            r.layer_norm_vjp(normalised, out, sums, n, rows);
            const void* columns[] = {at(0, rows * n), at(1, rows * n), at(3, n)};
            r.column_sums(columns, nullptr, sums, n, rows);
            const void* values[] = {at(0, rows * n), classes};
            r.sparse_cross_entropy(values, one_per_row, n, rows);
            const void* cotangents[] = {at(1, rows), at(0, rows * n), classes};
            r.sparse_cross_entropy_vjp(cotangents, out, n, rows);
          }
  }
  SUCCEED("no access outside");
}

namespace {

template <class T>
void check_transform(const Set& set, DType type, std::int64_t n) {
  const Fourier& kernels = set.get<FourierKernels>()[type];
  const reel::loops::fft::Plan<T> plan(n, kernels);
  const auto size = static_cast<std::size_t>(n) * 2 * sizeof(T);
  const auto scratch_size = static_cast<std::size_t>(plan.scratch()) * sizeof(T);
  static Guarded in, out, work, half, table;
  for (Guarded* g : {&in, &out, &work, &half, &table}) g->fill(type);
  for (const Edge edge : {Edge::begin, Edge::end}) {
    const auto at = [edge](Guarded& g, std::size_t bytes) { return reinterpret_cast<T*>(g.at(edge, bytes)); };
    T *const x = at(in, size), *const y = at(out, size);
    if (scratch_size < 32768) plan.run({x, n, y, n, 1}, edge == Edge::end, 0.5, at(work, scratch_size));
    T* const spectrum = at(half, size + 2 * sizeof(T));
    T* const w = at(table, static_cast<std::size_t>(n / 2 + 1) * 2 * sizeof(T));
    kernels.to_half({.in = x, .twiddles = w, .out = spectrum, .half = n, .inner = 1});
    kernels.from_half({.in = spectrum, .twiddles = w, .out = y, .half = n, .inner = 1});
  }
}

}  // namespace

TEST_CASE("Fourier transforms stay inside their operands") {
  std::vector<std::int64_t> lengths = {256, 512};  // the transposing pass on 16 float32 per vector
  for (std::int64_t n = 1; n <= longest; ++n) lengths.push_back(n);
  for (const Set* set : supported_sets())
    for (const std::int64_t n : lengths) {
      check_transform<float>(*set, DType::float32, n);
      check_transform<double>(*set, DType::float64, n);
    }
}

TEMPLATE_TEST_CASE("spectral decompositions stay inside their matrices and what may be read behind them", "", float,
                   double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  using Complex = std::complex<Real<T>>;
  Guarded a, u, vh, vectors;
  std::array<Real<T>, longest> values;
  std::array<Complex, longest> eigenvalues;
  const auto elements = [](Guarded& memory, Edge edge, std::ptrdiff_t count, auto type) {
    return reinterpret_cast<decltype(type)*>(memory.at(edge, static_cast<std::size_t>(count) * sizeof type));
  };
  for (const Edge edge : {Edge::begin, Edge::end})
    for (std::ptrdiff_t n = 1; n <= 46; ++n) {  // LAPACK works by blocks of 32
      const std::ptrdiff_t m = n % 4 + n / 2 + 1;
      const auto matrix_before = [&](std::ptrdiff_t behind, Guarded& memory, std::ptrdiff_t rows,
                                     std::ptrdiff_t columns) {
        T* x = elements(memory, edge, rows * columns + behind, T());
        for (std::ptrdiff_t i = 0; i < rows * columns; ++i) x[i] = static_cast<T>(static_cast<Real<T>>(i * i % 7 + 1));
        return x;
      };
      const auto matrix = [&](Guarded& memory, std::ptrdiff_t rows, std::ptrdiff_t columns) {
        return matrix_before(read_behind<T>(rows), memory, rows, columns);
      };
      CAPTURE(n, m, edge == Edge::begin);
      CHECK(heevd(true, Triangle::lower, n, matrix_before(n, a, n, n), n, values.data()) == 0);
      CHECK(heevd(false, Triangle::upper, n, matrix_before(n, a, n, n), n, values.data()) == 0);
      CHECK(geev(n, matrix(a, n, n), eigenvalues.data(),
                 elements(vectors, edge, n * n + read_behind<Complex>(n), Complex())) == 0);
      for (const auto& [rows, columns] : {std::pair(m, n), std::pair(n, m)}) {
        const std::ptrdiff_t k = std::min(m, n);
        CHECK(gesdd(Vectors::thin, rows, columns, matrix(a, rows, columns), values.data(),
                    elements(u, edge, rows * k, T()), matrix(vh, k, columns)) == 0);
        CHECK(gelsd(rows, columns, 2, matrix(a, rows, columns), matrix(u, std::max(m, n), 2), Real<T>(0.01)) == 0);
      }
    }
}

TEST_CASE("draws stay inside their result") {
  Memory m;
  for (const DType type : {DType::float32, DType::float64})
    for (const Set* set : supported_sets()) {
      INFO(set->isa << ", type " << index(type));
      const Draws& d = set->get<DrawKernels>()[type];
      for_each_place([&](Edge edge, std::ptrdiff_t n) {
        void* out = m.out.at(edge, static_cast<std::size_t>(n) * item_size(type));
        d.uniform({1, 0}, {0, 1, 1, 0.5}, out, n);
        d.normal({1, 0}, 0, 1, out, n);
      });
    }
  SUCCEED("no access outside");
}

TEST_CASE("casts, copies, scans and complex parts stay inside their operands") {
  Memory m;
  for (const DType from : types) {
    m.fill(from);
    const std::size_t size = item_size(from);
    for (const DType to : types)
      for_each_place([&](Edge edge, std::ptrdiff_t n) {
        for (const std::ptrdiff_t stride : {1, 2, -1})
          cast(from, to)(m.in[0].operand(edge, from, n, stride),
                         m.out.at(edge, static_cast<std::size_t>(n) * item_size(to)), n);
      });
    m.fill(from);
    for_each_place([&](Edge edge, std::ptrdiff_t n) {
      const std::size_t bytes = static_cast<std::size_t>(n) * size;
      for (const std::ptrdiff_t stride : {1, 2, -1, 0})
        copy(m.in[0].operand(edge, from, n, stride), m.out.at(edge, bytes), 1, n, size);
      fill(m.in[0].at(edge, size), m.out.at(edge, bytes), 1, n, size);
      copy_nontemporal(m.in[0].at(edge, bytes), m.out.at(edge, bytes), bytes);
      nontemporal_fence();
      for (const Scan scan : {cumsum(from), cumprod(from)})
        if (scan && n > 0) {
          scan(m.in[0].operand(edge, from, n, 1), m.out.at(edge, bytes), 1, n, 1, 0);
          if (n <= 40) scan({m.in[0].at(edge, 5 * bytes), 1}, m.out.at(edge, 5 * bytes), 1, n, 5, n);
        }
      if (n > 0 && n <= 40) {  // a matrix of 3 columns, and its transpose
        const std::size_t matrix = 3 * bytes;
        copy_matrix(m.in[0].at(edge, matrix), 3, 1, m.out.at(edge, matrix), 3, n, 3, size);
        copy_matrix(m.in[0].at(edge, matrix), 1, n, m.out.at(edge, matrix), 3, n, 3, size);
      }
    });
    if (from != DType::complex64 && from != DType::complex128) continue;
    const DType part = from == DType::complex64 ? DType::float32 : DType::float64;
    for (const auto f : {ComplexFunction::real, ComplexFunction::imag, ComplexFunction::abs, ComplexFunction::angle})
      CHECK(run_loop(complex_function(f, from), m, 1, from, part) > 0);
    CHECK(run_loop(complex_function(ComplexFunction::conj, from), m, 1, from, from) > 0);
    CHECK(run_loop(complex_function(ComplexFunction::join, from), m, 2, part, from) > 0);
  }
}
