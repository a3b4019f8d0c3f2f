// Walks a program forwards. The row of an element holds the elements of the argument that it depends on.
//
// Each family of ops has one rule:
// 1. aligned: an element depends on the elements of the operands that broadcasting aligns with it;
// 2. moved: each element of the result is an element of an operand, or a constant. The op is evaluated on element
// numbers;
// 3. grouped: an element depends on all elements of its group: the reduced axes, the axis of a scan, or the axis of
// take_along_axis whose indices are not constants;
// 4. scattered: terms go to positions;
// 5. matrix products: a row of one factor and a column of the other;
// 6. functions of matrices: all elements of the matrices at the same batch index.
// Every other op is dense.
#include "sparse/sparsity.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "core/fail.hpp"
#include "loops/index/gather.hpp"
#include "loops/loops.hpp"
#include "ops/apply/apply.hpp"
#include "ops/elementwise/program.hpp"
#include "program/trace.hpp"

namespace reel::program {

namespace {

using Numbers = std::vector<std::int64_t>;
using Handle = std::shared_ptr<const IndexRows>;

constexpr std::string_view aligned_ops[] = {"abs",          "angle", "cast",  "conj",   "contiguous", "imag",
                                            "make_complex", "real",  "scale", "sum_to", "where"};
constexpr std::string_view moving_ops[] = {
    "block_diag", "broadcast_to", "concatenate", "diag",           "diagonal", "expand_dims", "flip",
    "gather",     "moveaxis",     "pad",         "place",          "repeat",   "reshape",     "roll",
    "slice",      "slice_update", "split",       "place_diagonal", "squeeze",  "stack",       "take_along_axis",
    "tile",       "transpose",    "tril",        "triu",           "unstack"};
// Attribute 0 is the mask of the axes.
constexpr std::string_view reductions[] = {"logsumexp", "max",  "mean", "min", "nansum",
                                           "norm",      "prod", "std",  "sum", "var"};
// Attribute 0 is the axis.
constexpr std::string_view scans[] = {"cumprod", "cumsum", "linear_recurrence", "log_softmax", "softmax"};
// The last two axes are those of matrices.
constexpr std::string_view matrix_ops[] = {"cholesky", "det", "inverse", "slogdet", "solve", "triangular_solve"};
// x, terms, positions; attribute 0 is the axis.
constexpr std::string_view updates[] = {"scatter_add", "scatter_max", "scatter_min", "scatter_multiply", "scatter_set"};

template <std::size_t N>
bool is_one_of(const std::string_view (&list)[N], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

// 0, 1, ..., count - 1.
Numbers count_up(std::int64_t count) {
  Numbers list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}
Shape row_major(const Shape& shape) {
  Shape strides = shape;
  std::int64_t step = 1;
  for (int d = shape.rank(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}
// For each index of the shape, in row-major order, the sum of indices times strides.
Numbers offsets(const Shape& shape, const Shape& strides, std::int64_t first = 0) {
  Numbers list;
  const std::int64_t count = shape.elements();
  list.reserve(static_cast<std::size_t>(count));
  Shape index = shape;
  std::fill(index.begin(), index.end(), 0);
  std::int64_t offset = first;
  for (std::int64_t k = 0; k < count; ++k) {
    list.push_back(offset);
    for (int d = shape.rank(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return list;
}
// For each element of `full`, its position in a tensor of a shape that broadcasts to `full`; nullopt if it does not.
std::optional<Numbers> align_elements(const Shape& full, const Shape& shape) {
  if (shape.rank() > full.rank()) return std::nullopt;
  Shape strides = full;
  const Shape own = row_major(shape);
  for (int d = 0; d < full.rank(); ++d) {
    const int k = d - (full.rank() - shape.rank());
    if (k >= 0 && shape[k] != full[d] && shape[k] != 1) return std::nullopt;
    strides[d] = k < 0 || shape[k] == 1 ? 0 : own[k];
  }
  return offsets(full, strides);
}
// list[at[k]] for each k.
Numbers pick(const Numbers& list, const Numbers& at) {
  Numbers some;
  some.reserve(at.size());
  for (const std::int64_t k : at) some.push_back(list[static_cast<std::size_t>(k)]);
  return some;
}

class Propagation {
 public:
  explicit Propagation(const Program& program) : program_(program), of_(program.values.size()) {}

  IndexRows run() {
    const Index argument = program_.arguments.front();
    IndexRows own;
    own.indices = count_up(program_.values[argument].tensor.size());
    own.starts = count_up(program_.values[argument].tensor.size() + 1);
    of_[argument] = std::make_shared<const IndexRows>(std::move(own));
    for (const Instruction& i : program_.instructions) visit(i);
    return of_result();
  }

 private:
  const Operand& operand(const Instruction& i, std::size_t k) const { return program_.operands[i.inputs[k]]; }
  // Null if input k depends on nothing.
  const Handle& rows_of(const Instruction& i, std::size_t k) const {
    static const Handle nobody;
    return i.inputs[k] == nothing ? nobody : of_[operand(i, k).value];
  }
  // For each element of the operand, in row-major order, its position in the value.
  Numbers elements(const Operand& o) const {
    const Tensor &value = program_.values[o.value].tensor, &view = o.tensor;
    if (o.whole) return count_up(value.size());
    Shape strides = view.shape();
    const std::span<const std::int64_t> steps(detail::block(view)->strides(), strides.size());
    const auto bytes = static_cast<std::int64_t>(item_size(view.dtype()));
    for (int d = 0; d < strides.rank(); ++d) strides[d] = steps[static_cast<std::size_t>(d)] * bytes;
    Numbers list = offsets(view.shape(), strides, o.offset);
    for (std::int64_t& e : list) e /= static_cast<std::int64_t>(item_size(value.dtype()));
    return list;
  }
  Share share(const Instruction& i, std::size_t k, const Numbers& from, Numbers to) const {
    return {rows_of(i, k).get(), pick(elements(operand(i, k)), from), std::move(to)};
  }

  IndexRows of_result() const {
    const Operand& o = program_.operands[program_.results.front()];
    const std::int64_t count = o.tensor.size();
    IndexRows nobody;
    nobody.starts.assign(static_cast<std::size_t>(count) + 1, 0);
    if (!of_[o.value]) return nobody;
    const Share all{of_[o.value].get(), elements(o), count_up(count)};
    return unite({&all, 1}, count);
  }

  void visit(const Instruction& i) {
    std::vector<const IndexRows*> followed;
    for (std::size_t k = 0; k < i.inputs.size(); ++k)
      if (rows_of(i, k)) followed.push_back(rows_of(i, k).get());
    const auto carries = [&](Index v) { return v != nothing && is_differentiable(program_.values[v].tensor.dtype()); };
    if (followed.empty() || std::none_of(i.outputs.begin(), i.outputs.end(), carries)) return;
    const bool uniform = std::all_of(followed.begin(), followed.end(), [](const IndexRows* r) { return r->uniform; });
    std::vector<Handle> found(i.outputs.size());
    if (!uniform) {
      if (!i.pointwise() && is_one_of(moving_ops, i.operation.name)) {
        found = move_elements(i);
        if (!found[0] && i.operation.name == std::string_view("take_along_axis"))
          found[0] = take_shares_along(i, program_.values[i.outputs[0]].tensor.shape());
      } else
        for (std::size_t k = 0; k < found.size(); ++k)
          if (carries(i.outputs[k])) found[k] = rows_by_family(i, program_.values[i.outputs[k]].tensor.shape());
    }
    Handle dense;
    for (std::size_t k = 0; k < found.size(); ++k) {
      if (!carries(i.outputs[k])) continue;
      if (!found[k] && !dense) dense = std::make_shared<const IndexRows>(unite_all(followed));
      of_[i.outputs[k]] = found[k] ? found[k] : dense;
    }
  }

  // Null: dense.
  Handle rows_by_family(const Instruction& i, const Shape& out) const {
    const std::string_view name = i.operation.name;
    if (i.pointwise() || is_one_of(aligned_ops, name) || is_fused(i)) return align(i, out);
    const ops::Attributes a = i.attributes.words();
    if (is_one_of(reductions, name)) return group(i, out, a[0]);
    if (is_one_of(scans, name)) return group(i, out, std::int64_t{1} << a[0]);
    if (is_one_of(updates, name)) return scatter_shares(i, out, 1, false);
    if (name == "scatter_rows") return scatter_shares(i, out, 0, false);
    if (name == "put_add_along_axis") return scatter_shares(i, out, 0, true);
    if (name == "scatter_along") return scatter_shares(i, out, 1, true);
    if (name == "matmul") return matrix_product(i, out);
    if (is_one_of(matrix_ops, name)) return by_matrices(i, out);
    return nullptr;
  }

  // Whether it is a program of elementwise() or of a composed op.
  static bool is_fused(const Instruction& i) {
    return i.operation.primitive->evaluate == ops::elementwise_primitive().evaluate;
  }

  static Handle unite_shares(const std::vector<Share>& shares, const Shape& out) {
    return std::make_shared<const IndexRows>(unite(shares, out.elements()));
  }

  // The result may be summed down to a shape that broadcasts to the operands' common shape.
  Handle align(const Instruction& i, const Shape& out) const {
    if (i.inputs.size() == 1 && operand(i, 0).whole && operand(i, 0).tensor.shape() == out) return rows_of(i, 0);
    Shape full = out;
    for (const Index o : i.inputs) {
      if (o == nothing) continue;
      const Shape shape = program_.operands[o].tensor.shape();
      while (full.rank() < shape.rank()) full.insert(0, 1);
      for (int d = 0; d < shape.rank(); ++d)
        if (std::int64_t& extent = full[full.rank() - shape.rank() + d]; extent == 1) extent = shape[d];
    }
    const std::optional<Numbers> to = align_elements(full, out);
    if (!to) return nullptr;
    std::vector<Share> shares;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      if (!rows_of(i, k)) continue;
      const std::optional<Numbers> from = align_elements(full, operand(i, k).tensor.shape());
      if (!from) return nullptr;
      shares.push_back(share(i, k, *from, *to));
    }
    return unite_shares(shares, out);
  }

  // Elements are numbered with a fraction that distinguishes operands from constants of the op.
  static constexpr double fraction = 0.25, marked_max = 0x1p50;  // numbers below it have a fraction

  // Stands for input k: the numbers of its elements, from `first` on.
  std::optional<Tensor> stand_in(const Instruction& i, std::size_t k, std::int64_t first) const {
    const Operand& o = operand(i, k);
    const Tensor& x = o.tensor;
    if (!is_differentiable(x.dtype())) {
      if (program_.values[o.value].origin == Value::Origin::constant) return x;
      return std::nullopt;
    }
    const bool followed = rows_of(i, k) != nullptr;
    std::vector<double> numbers(static_cast<std::size_t>(x.size()), 0);
    if (followed) std::iota(numbers.begin(), numbers.end(), static_cast<double>(first) + fraction);
    return detail::copy_in(numbers.data(), numbers.size(), x.shape(), DType::float64);
  }

  std::vector<Handle> move_elements(const Instruction& i) const {
    std::vector<Handle> found(i.outputs.size());
    std::vector<Tensor> inputs;
    Numbers firsts{0};
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      std::optional<Tensor> x = i.inputs[k] == nothing ? Tensor() : stand_in(i, k, firsts.back());
      if (!x) return found;
      firsts.push_back(firsts.back() + x->size());
      inputs.push_back(std::move(*x));
    }
    std::vector<const Tensor*> handles;
    for (const Tensor& x : inputs) handles.push_back(&x);
    std::vector<Tensor> outputs(i.outputs.size());
    ops::evaluate(*i.operation.primitive, handles, i.attributes.words(), outputs, false);
    for (std::size_t k = 0; k < found.size(); ++k)
      if (i.outputs[k] != nothing && outputs[k].dtype() == DType::float64)
        found[k] = unite_shares(shares_of_moved(i, outputs[k], firsts), outputs[k].shape());
    return found;
  }
  std::vector<Share> shares_of_moved(const Instruction& i, const Tensor& output, const Numbers& firsts) const {
    std::vector<Numbers> from(i.inputs.size()), to(i.inputs.size());
    const std::vector<double> numbers = output.to_vector<double>();
    for (std::size_t e = 0; e < numbers.size(); ++e) {
      if (!(std::abs(numbers[e]) < marked_max) || numbers[e] - std::floor(numbers[e]) != fraction) continue;
      const auto number = static_cast<std::int64_t>(numbers[e]);
      const auto k = static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), number) - firsts.begin());
      from[k - 1].push_back(number - firsts[k - 1]);
      to[k - 1].push_back(static_cast<std::int64_t>(e));
    }
    std::vector<Share> shares;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (!from[k].empty()) shares.push_back(share(i, k, from[k], std::move(to[k])));
    return shares;
  }

  // The axes of the mask, or all others.
  Handle group(const Instruction& i, const Shape& out, std::int64_t mask) const {
    const Shape full = operand(i, 0).tensor.shape();
    Shape kept = full;
    for (int d = 0; d < full.rank(); ++d)
      if (mask >> d & 1) kept[d] = 1;
    const std::optional<Numbers> group = align_elements(full, kept);
    std::vector<Share> shares;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      if (!rows_of(i, k)) continue;
      if (operand(i, k).tensor.shape() != full) return nullptr;
      shares.push_back(share(i, k, count_up(full.elements()), *group));
    }
    Handle groups = unite_shares(shares, kept);
    if (out.elements() == kept.elements()) return groups;
    if (out != full) return nullptr;
    return unite_shares({Share{groups.get(), *group, count_up(full.elements())}}, out);
  }

  // Elements of an axis at positions that are not constant: each may be any element of its group.
  Handle take_shares_along(const Instruction& i, const Shape& out) const {
    const Shape full = operand(i, 0).tensor.shape();
    Shape kept = full;
    kept[static_cast<int>(i.attributes.words()[0])] = 1;
    const Share all = share(i, 0, count_up(full.elements()), *align_elements(full, kept));
    const Handle groups = unite_shares({all}, kept);
    const std::optional<Numbers> from = align_elements(out, kept);
    if (!from) return nullptr;
    return unite_shares({Share{groups.get(), *from, count_up(out.elements())}}, out);
  }

  // Input `terms` goes to the positions of the input behind it. The input before it, if any, keeps its positions.
  Handle scatter_shares(const Instruction& i, const Shape& out, std::size_t terms, bool along) const {
    const Operand& where = operand(i, terms + 1);
    if (program_.values[where.value].origin != Value::Origin::constant) return nullptr;
    const Shape shape = operand(i, terms).tensor.shape();
    const Tensor places = detail::empty(DType::int64, shape);
    const Numbers places_of_all = count_up(out.elements());
    const Tensor all = detail::copy_in(places_of_all.data(), places_of_all.size(), out, DType::int64);
    const auto axis = static_cast<int>(i.attributes.words()[0]);
    if (along) {
      const Tensor positions = detail::empty(DType::int64, shape);
      if (loops::find_positions(where.tensor, out[axis], positions)) return nullptr;  // out of range: a run throws
      loops::take_along(all, positions, axis, places);
    } else {
      loops::gather(all, where.tensor, axis, places);
    }
    std::vector<Share> shares;
    if (terms == 1 && rows_of(i, 0)) shares.push_back(share(i, 0, count_up(out.elements()), count_up(out.elements())));
    if (rows_of(i, terms))
      shares.push_back(share(i, terms, count_up(shape.elements()), places.to_vector<std::int64_t>()));
    return unite_shares(shares, out);
  }

  // [..., m, k] times [..., k, n]; in `sides` the axis k is reduced.
  Handle matrix_product(const Instruction& i, const Shape& out) const {
    Shape full = out;  // with axes for rows and columns, even for vectors
    if (operand(i, 0).tensor.rank() == 1)
      full.insert(operand(i, 1).tensor.rank() == 1 ? full.rank() : full.rank() - 1, 1);
    if (operand(i, 1).tensor.rank() == 1) full.push_back(1);
    std::vector<Share> shares;
    std::vector<Handle> reduced;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (!rows_of(i, side)) continue;
      Shape shape = operand(i, side).tensor.shape();
      const bool vector = shape.rank() == 1, transposed = i.attributes.words()[side] != 0;
      if (vector) shape.insert(side == 0 ? 0 : 1, 1);
      const int inner = shape.rank() - ((side == 0) != transposed ? 1 : 2);
      Shape kept = shape;
      kept[inner] = 1;
      const Share all = share(i, side, count_up(shape.elements()), *align_elements(shape, kept));
      reduced.push_back(std::make_shared<const IndexRows>(unite({&all, 1}, kept.elements())));
      // What is left is [..., m, 1] or [..., 1, n]: transposing does not change the order of its elements.
      if (transposed) std::swap(*(kept.end() - 1), *(kept.end() - 2));
      const std::optional<Numbers> from = align_elements(full, kept);
      if (!from) return nullptr;
      shares.push_back({reduced.back().get(), *from, count_up(out.elements())});
    }
    return unite_shares(shares, out);
  }

  // Batch axes are in front. A result without the axes of a matrix, or of a vector, has them with extent 1.
  Handle by_matrices(const Instruction& i, const Shape& out) const {
    Shape full = out;
    while (full.rank() < operand(i, 0).tensor.rank()) full.push_back(1);
    std::vector<Share> shares;
    std::vector<Handle> reduced;
    for (std::size_t k = 0; k < i.inputs.size(); ++k) {
      if (!rows_of(i, k)) continue;
      const Shape shape = operand(i, k).tensor.shape();
      Shape kept = shape;
      for (int d = std::max(shape.rank() - 2, 0); d < shape.rank(); ++d) kept[d] = 1;
      const Share all = share(i, k, count_up(shape.elements()), *align_elements(shape, kept));
      reduced.push_back(unite_shares({all}, kept));
      const std::optional<Numbers> from = align_elements(full, kept);
      if (!from) return nullptr;
      shares.push_back({reduced.back().get(), *from, count_up(out.elements())});
    }
    return unite_shares(shares, out);
  }

  const Program& program_;
  std::vector<Handle> of_;  // for each value
};

}  // namespace

IndexRows sparsity(const Program& program) { return Propagation(program).run(); }

}  // namespace reel::program
