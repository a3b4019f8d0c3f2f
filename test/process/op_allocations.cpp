// The promise of README.md for all ops: in the steady state no op and no gradient of one asks the system for memory,
// but for those named here and there. Each row of the op cases runs in one thread.
#include <algorithm>
#include <cstdio>
#include <reel/ops/indexing.hpp>
#include <reel/optim.hpp>
#include <string>
#include <string_view>

#include "budget/counted_allocations.hpp"
#include "op_operands.hpp"

using namespace reel;
using support::Tensors;

namespace {

constexpr int warm = 5, counted = 20;

// Ops that allocate lists: LAPACK's factorisations, derivatives of det and functions of matrices (their tasks cannot
// use the pool, core/task.hpp), results in a std::vector, functions as arguments.
constexpr std::string_view allocating[] = {"array_split",
                                           "associative_scan",
                                           "block",
                                           "broadcast_arrays",
                                           "cond",
                                           "det",
                                           "dsplit",
                                           "eig",
                                           "eigh",
                                           "eigh_tridiagonal",
                                           "eigvals",
                                           "eigvalsh",
                                           "expm",
                                           "expm_frechet",
                                           "hsplit",
                                           "istft",
                                           "jn",
                                           "logm",
                                           "lq",
                                           "lstsq",
                                           "lu",
                                           "lu_factor",
                                           "lu_solve",
                                           "lyapunov",
                                           "matrix_norm",
                                           "nonzero",
                                           "meshgrid",
                                           "piecewise",
                                           "pinv",
                                           "qr",
                                           "spherical_in",
                                           "spherical_jn",
                                           "spherical_kn",
                                           "spherical_yn",
                                           "split",
                                           "split_sizes",
                                           "sqrtm",
                                           "svd",
                                           "svdvals",
                                           "sylvester",
                                           "unstack",
                                           "vsplit",
                                           "yn"};

// Ops whose rows make their other arguments from lists in each call; some are in more_rows.
constexpr std::string_view with_lists[] = {"attention",
                                           "b_spline",
                                           "bincount",
                                           "boolean_mask",
                                           "choose",
                                           "compress",
                                           "ctc_loss",
                                           "embedding",
                                           "embedding_bag",
                                           "fractional_avg_pool2d",
                                           "fractional_max_pool2d",
                                           "gather",
                                           "index",
                                           "index_add",
                                           "index_multiply",
                                           "index_update",
                                           "masked_fill",
                                           "masked_scatter",
                                           "put",
                                           "put_along_axis",
                                           "repeat",
                                           "reverse_sequence",
                                           "rope",
                                           "scatter_add",
                                           "segment_max",
                                           "segment_min",
                                           "segment_sum",
                                           "select",
                                           "take",
                                           "take_along_axis"};

const Tensor& numbers() {
  static const Tensor x = tensor<std::int64_t>({2, 0, 2, 1});
  return x;
}
const Tensor& sorted() {
  static const Tensor x = tensor<std::int64_t>({0, 0, 1, 2});
  return x;
}
struct Row {
  const char* name;
  Tensor (*call)(cases::Operands x);
};
constexpr Row more_rows[] = {
    {"gather", [](cases::Operands x) { return gather(x[0], numbers(), 0); }},
    {"take", [](cases::Operands x) { return take(x[0], numbers()); }},
    {"take_along_axis",
     [](cases::Operands x) {
       return take_along_axis(x[0], reshape(numbers(), {4, 1}), 1);
     }},
    {"embedding", [](cases::Operands x) { return embedding(x[0], numbers()); }},
    {"scatter_add", [](cases::Operands x) { return scatter_add(x[0], numbers(), x[0]); }},
    {"segment_sum", [](cases::Operands x) { return segment_sum(x[0], sorted(), 3); }},
    {"segment_max", [](cases::Operands x) { return segment_max(x[0], sorted(), 3); }},
    {"two gathers", [](cases::Operands x) { return gather(x[0], numbers(), 0) * gather(x[0], sorted(), 0); }},
    {"unconnected", [](cases::Operands x) { return sum(stop_gradient(x[0])); }},
};

// Allocations of `counted` runs of f after `warm` ones.
template <class F>
long allocated(const F& f) {
  for (int i = 0; i < warm; ++i) f();
  const long before = allocations;
  for (int i = 0; i < counted; ++i) f();
  return allocations - before;
}

int mistakes = 0;

void expect_none(const char* name, const char* what, const Tensors& x, long count) {
  if (count == 0) return;
  ++mistakes;
  std::string shapes;
  for (const Tensor& one : x) shapes += " " + to_string(one.shape());
  std::printf("%s%s, %s: %ld allocations in %d calls\n", name, shapes.c_str(), what, count, counted);
}

void measure(const char* name, Tensor (*call)(cases::Operands), const Tensors& x) {
  expect_none(name, "value", x, allocated([&] { static_cast<void>(call(x)); }));
  for (const Tensor& one : x) {
    if (!is_differentiable(one.dtype())) continue;
    expect_none(name, "gradient", x, allocated([&] {
                  GradientTape tape;
                  tape.watch(one);
                  static_cast<void>(tape.gradient(call(x), one));
                }));
  }
}
void measure_row(const char* name, Tensor (*call)(cases::Operands), const Tensors& x) {
  if (std::ranges::count(allocating, name) + std::ranges::count(with_lists, name) == 0) measure(name, call, x);
}

// An optimiser applies slices, with an index that is there twice.
void step_on_rows() {
  Variable table(ones({4, 3}));
  Adam adam;
  expect_none("Adam", "a step on rows", {}, allocated([&] {
                GradientTape tape;
                adam.step(tape.gradient(sum(square(gather(table, numbers(), 0))), table), table);
              }));
}

}  // namespace

int main() {
  set_num_threads(1);
  for (const cases::Pointwise& row : cases::pointwise()) {
    support::Random random(row.name);
    Tensors x;
    for (int k = 0; k < row.arity; ++k) x.push_back(random.tensor({3, 4}, row.domain[k].low, row.domain[k].high));
    measure_row(row.name, row.call, x);
  }
  for (const std::span<const cases::Shaped> table : cases::shaped_tables())
    for (const cases::Shaped& row : table)
      support::for_drawn_operands(row, [&](const Tensors& x, const Tensors&) { measure_row(row.name, row.call, x); });
  const Tensors table = {support::Random("rows").tensor({4, 4})};
  for (const Row& row : more_rows) measure(row.name, row.call, table);
  step_on_rows();
  return mistakes == 0 ? 0 : 1;
}
