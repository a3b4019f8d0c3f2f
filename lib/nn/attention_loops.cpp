// Blocks of `block` queries by `block` keys. Forward, a task takes one block of queries and walks over the keys with a
// running maximum and sum of exponentials (Dao et al. 2022, algorithm 1). Backward, a task takes the queries and keys
// of one matrix of the batch and some cotangents, which share its scores; if there are few tasks, a block of keys, and
// then a block of queries for the cotangents of the queries. Each sum runs over blocks in ascending order in both
// cases.
#include "nn/attention_loops.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "core/visit.hpp"
#include "kernels/rows.hpp"
#include "kernels/table.hpp"
#include "loops/loops.hpp"
#include "loops/reduce/rows.hpp"
#include "loops/workspaces.hpp"
#include "nn/block_product.hpp"

namespace reel::loops {

namespace {

// Rows and columns of a block of scores: in float32, three blocks of 64 KiB fit L2. Row: "attention".
constexpr std::int64_t block = 128;
// Matrices of a batch, times groups of cotangents, from which on each is one task of the gradient.
constexpr std::int64_t enough_tasks = 8;
// Cotangents of one task: scores are one product of five, so that more save less than a twentieth.
constexpr std::int64_t together = 16;

struct Range {
  std::int64_t first, count;
  std::int64_t end() const { return first + count; }
};

// out = x times the factor
void multiply(const Tensor& x, double factor, const Tensor& out) {
  const Tensor number = detail::empty(x.dtype(), {});
  visit_among<float, double>(x.dtype(), [&]<class T>() { *detail::mutable_data<T>(number) = static_cast<T>(factor); });
  const Tensor* const in[] = {&x, &number};
  pointwise(kernels::pointwise(kernels::index_of<"multiply">(), x.dtype()).value, in, out);
}
Tensor times(const Tensor& x, double factor) {
  Tensor y = detail::empty(x.dtype(), x.shape());
  multiply(x, factor, y);
  return y;
}
void scale(const Tensor& x, double factor) {
  if (x.defined()) multiply(x, factor, x);
}

// The operands of one matrix of the batch.
template <class T>
struct Matrices {
  Strided2d<T> q, k, v;
  const std::byte* mask;  // null: none
};

// What the tasks share. Methods are called in parallel with memory of their own.
template <class T>
class Blocks {
 public:
  Blocks(const Attention& a, std::int64_t value_width)
      : scaled_(times(a.q, a.scale)),
        queries_(extent(a.q, 2)),
        keys_(extent(a.k, 2)),
        width_(extent(a.k, 1)),
        value_width_(value_width),
        causal_(a.causal),
        boolean_(a.mask.defined() && a.mask.dtype() == DType::boolean),
        batch_(a.batch),
        q_(factor(scaled_, a.batch.rank(), false)),
        k_(factor(a.k, a.batch.rank(), false)),
        v_(factor(a.v, a.batch.rank(), false)),
        rows_(kernels::active<kernels::RowKernels>()[dtype]),
        most_(kernels::reduction(kernels::ReduceFunction::max, dtype)),
        add_(kernels::pointwise(kernels::index_of<"add">(), dtype).value),
        subtract_(kernels::pointwise(kernels::index_of<"subtract">(), dtype).value),
        multiply_(kernels::pointwise(kernels::index_of<"multiply">(), dtype).value) {
    if (!a.mask.defined()) return;
    mask_ = factor(a.mask, a.batch.rank(), false);
    if (mask_.rows == 1) mask_.row_stride = 0;
    if (mask_.columns == 1) mask_.column_stride = 0;
  }
  static constexpr DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;

  std::int64_t queries() const { return queries_; }
  std::int64_t keys() const { return keys_; }
  std::int64_t bytes() const {
    const auto item = static_cast<std::int64_t>(sizeof(T));
    std::int64_t product = 0;
    const std::int64_t widest = std::max({block, width_, value_width_});
    product = std::max(block_product_bytes<T>(block, widest, block), block_product_bytes<T>(block, block, widest));
    return (2 * block * block + 6 * block) * item + product;
  }
  Matrices<T> matrices(std::int64_t at) const {
    std::int64_t q = 0, k = 0, v = 0, m = 0;
    for (int d = batch_.rank() - 1; d >= 0; --d) {
      const std::int64_t i = at % batch_.data()[d];
      at /= batch_.data()[d];
      q += i * q_.batch_strides.data()[d];
      k += i * k_.batch_strides.data()[d];
      v += i * v_.batch_strides.data()[d];
      if (mask_.data) m += i * mask_.batch_strides.data()[d];
    }
    const auto matrix = [](const Factor& f, std::int64_t offset) {
      return Strided2d<T>{reinterpret_cast<const T*>(f.data) + offset, f.row_stride, f.column_stride};
    };
    const std::int64_t item = boolean_ ? 1 : static_cast<std::int64_t>(sizeof(T));
    return {matrix(q_, q), matrix(k_, k), matrix(v_, v), mask_.data ? mask_.data + m * item : nullptr};
  }

  // The result for the queries of a range, their largest scores, and the factors of their exponentials.
  void forward(const Matrices<T>& o, const Range& i, T* y, T* largest, T* factors, std::byte* memory) const {
    const Scratch s(memory);
    std::fill_n(y, i.count * value_width_, T(0));
    std::fill_n(s.most, i.count, -infinity);
    std::fill_n(s.sum, i.count, T(0));
    const std::int64_t end = causal_ ? std::min(keys_, i.end()) : keys_;
    for (std::int64_t first = 0; first < end; first += block) {
      const Range j{first, std::min(block, end - first)};
      scores(o, i, j, s);
      for (std::int64_t r = 0; r < i.count; ++r) {
        T most = -infinity;
        if (const std::int64_t n = seen(i, j, r); n > 0) most_.run({s.scores + r * j.count, 1}, n, &most);
        const T next = most > s.most[r] || std::isnan(most) ? most : s.most[r];
        s.shift[r] = next == -infinity ? 0 : next;
        const T factor = std::exp(s.most[r] - s.shift[r]);
        s.most[r] = next;
        s.sum[r] *= factor;
        if (factor != 1) scale(y + r * value_width_, factor, value_width_);
      }
      exponentials(s, i, j, s.ones, s.shift);
      const void* in[] = {s.scores};
      rows_.sum(in, s.part, j.count, i.count);
      for (std::int64_t r = 0; r < i.count; ++r) s.sum[r] += s.part[r];
      block_product<T>({s.scores, j.count, 1}, o.v.from(j.first), y, i.count, value_width_, j.count, value_width_,
                       Into::add, s.product);
    }
    for (std::int64_t r = 0; r < i.count; ++r) {
      largest[r] = s.sum[r] == 0 ? infinity : s.most[r];
      factors[r] = s.sum[r] == 0 ? T(0) : 1 / s.sum[r];
      scale(y + r * value_width_, factors[r], value_width_);
    }
  }

  // Some cotangents of one matrix of the batch; null where they are not computed. g, the largest scores, the factors
  // and `products`, the sums of g times y, are those of the matrix. From one cotangent to the next it is `matrices`
  // matrices.
  struct Cotangents {
    Strided2d<T> g;
    const T *largest, *factors, *products;
    T *dq, *dk, *dv;
    std::int64_t count, matrices;
  };
  // The contributions of the scores in these ranges.
  void backward(const Matrices<T>& o, const Cotangents& c, const Range& queries, const Range& keys,
                std::byte* memory) const {
    const Scratch s(memory);
    for (std::int64_t at = keys.first; at < keys.end(); at += block) {
      const Range j{at, std::min(block, keys.end() - at)};
      for (std::int64_t first = queries.first; first < queries.end(); first += block) {
        const Range i{first, std::min(block, queries.end() - first)};
        if (!causal_ || j.first < i.end()) contribute(o, c, i, j, s);
      }
    }
  }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static std::int64_t extent(const Tensor& x, int from_back) {
    return reel::detail::block(x)->extents()[reel::detail::block(x)->rank - from_back];
  }

  struct Scratch {
    T *scores, *slopes, *most, *sum, *shift, *part, *ones;
    std::byte* product;
    explicit Scratch(std::byte* memory) : scores(reinterpret_cast<T*>(memory)) {
      slopes = scores + block * block;
      most = slopes + block * block;
      sum = most + block;
      shift = sum + block;
      part = shift + block;
      ones = part + block;
      std::fill_n(ones, block, T(1));
      product = reinterpret_cast<std::byte*>(ones + 2 * block);
    }
  };

  // How many of the first keys of a block the query r of a query block may attend to under causal masking.
  std::int64_t seen(const Range& i, const Range& j, std::int64_t r) const {
    return causal_ ? std::clamp<std::int64_t>(i.first + r + 1 - j.first, 0, j.count) : j.count;
  }
  // scores = q k^T + mask, with -inf where the mask excludes a key. exponentials() handles the causal mask.
  void scores(const Matrices<T>& o, const Range& i, const Range& j, const Scratch& s) const {
    block_product<T>(o.q.from(i.first), o.k.from(j.first).transposed(), s.scores, i.count, j.count, width_, j.count,
                     Into::overwrite, s.product);
    if (o.mask)
      for (std::int64_t r = 0; r < i.count; ++r) {
        const std::int64_t at = (i.first + r) * mask_.row_stride + j.first * mask_.column_stride;
        apply_mask(o.mask, at, s.scores + r * j.count, j.count);
      }
  }
  void apply_mask(const std::byte* mask, std::int64_t at, T* row, std::int64_t n) const {
    const std::int64_t step = mask_.column_stride;
    if (boolean_) {
      const bool* allowed = reinterpret_cast<const bool*>(mask) + at;
      for (std::int64_t l = 0; l < n; ++l) row[l] = allowed[l * step] ? row[l] : -infinity;
    } else {
      const T* more = reinterpret_cast<const T*>(mask) + at;
      combine(add_, {row, 1}, {more, step}, row, n);
      for (std::int64_t l = 0; l < n; ++l)
        if (more[l * step] == -infinity) row[l] = -infinity;  // also if the score is inf
    }
  }
  // scores = factor exp(scores - shift), and 0 for keys in the future. Storing 0 is cheaper than exp(-inf).
  void exponentials(const Scratch& s, const Range& i, const Range& j, const T* factor, const T* shift) const {
    const void* in[] = {factor, s.scores, shift, nullptr};
    static_cast<kernels::RowLoop>(rows_.logsumexp_vjp)(in, s.scores, j.count, i.count);
    if (!causal_ || j.end() <= i.first + 1) return;
    for (std::int64_t r = 0; r < i.count; ++r)
      if (const std::int64_t n = seen(i, j, r); n < j.count)
        std::memset(s.scores + r * j.count + n, 0, static_cast<std::size_t>(j.count - n) * sizeof(T));
  }

  void contribute(const Matrices<T>& o, const Cotangents& c, const Range& i, const Range& j, const Scratch& s) const {
    scores(o, i, j, s);
    exponentials(s, i, j, c.factors + i.first, c.largest + i.first);
    const auto advance = [](T*& p, std::int64_t n) { p = p ? p + n : p; };
    Cotangents one = c;
    for (std::int64_t n = 0; n < c.count; ++n) {
      contribute(o, one, i, j, s.scores, s);
      one.g.data += c.matrices * queries_ * value_width_;
      one.products += c.matrices * queries_;
      advance(one.dq, c.matrices * queries_ * width_);
      advance(one.dk, c.matrices * keys_ * width_);
      advance(one.dv, c.matrices * keys_ * value_width_);
    }
  }
  // The same of the first cotangent alone, with these probabilities.
  void contribute(const Matrices<T>& o, const Cotangents& c, const Range& i, const Range& j, const T* probabilities,
                  const Scratch& s) const {
    const Strided2d<T> p{probabilities, j.count, 1}, d{s.slopes, j.count, 1}, g = c.g.from(i.first);
    if (c.dv)
      block_product<T>(p.transposed(), g, c.dv + j.first * value_width_, j.count, value_width_, i.count, value_width_,
                       Into::add, s.product);
    if (!c.dq && !c.dk) return;
    block_product<T>(g, o.v.from(j.first).transposed(), s.slopes, i.count, j.count, value_width_, j.count,
                     Into::overwrite, s.product);
    for (std::int64_t r = 0; r < i.count; ++r) {
      T* slope = s.slopes + r * j.count;
      combine(subtract_, {slope, 1}, {c.products + i.first + r, 0}, slope, j.count);
    }
    combine(multiply_, {s.slopes, 1}, {probabilities, 1}, s.slopes, i.count * j.count);
    if (c.dq)
      block_product<T>(d, o.k.from(j.first), c.dq + i.first * width_, i.count, width_, j.count, width_, Into::add,
                       s.product);
    if (c.dk)
      block_product<T>(d.transposed(), o.q.from(i.first), c.dk + j.first * width_, j.count, width_, i.count, width_,
                       Into::add, s.product);
  }

  static void combine(kernels::Loop f, const kernels::Strided& a, const kernels::Strided& b, T* out, std::int64_t n) {
    const kernels::Strided in[] = {a, b};
    f(in, out, n);
  }
  void scale(T* x, T factor, std::int64_t n) const { combine(multiply_, {x, 1}, {&factor, 0}, x, n); }

  Tensor scaled_;
  std::int64_t queries_, keys_, width_, value_width_;
  bool causal_, boolean_;
  const Shape& batch_;
  Factor q_, k_, v_, mask_{};
  const kernels::Rows& rows_;
  const kernels::Reduction& most_;
  kernels::Loop add_, subtract_, multiply_;
};

// f(memory, task) for each of `count` tasks.
template <class F>
void tasks_with_memory(std::int64_t count, std::int64_t bytes, const F& f) {
  if (count == 0) return;
  Workspaces workspaces(count, bytes);
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* memory) {
      for (std::int64_t t = begin; t < end; ++t) f(memory, t);
    });
  });
}

template <class T>
void forward(const Attention& a, const Tensor& y, const Tensor& z) {
  const std::int64_t width = y.shape()[-1];
  const Blocks<T> blocks(a, width);
  const std::int64_t queries = blocks.queries(), each = ceil_divide(queries, block);
  T *to = detail::mutable_data<T>(y), *largest = detail::mutable_data<T>(z), *factors = largest + z.size() / 2;
  tasks_with_memory(a.batch.elements() * each, blocks.bytes(), [&](std::byte* memory, std::int64_t t) {
    const std::int64_t matrix = t / each, first = t % each * block, row = matrix * queries + first;
    blocks.forward(blocks.matrices(matrix), {first, std::min(block, queries - first)}, to + row * width, largest + row,
                   factors + row, memory);
  });
}

// The sums of g times y, for each cotangent and query.
template <class T>
Tensor row_products(std::int64_t count, const Tensor& g, const Tensor& y, const Tensor& z) {
  const std::int64_t rows = z.size() / 2, width = y.shape()[-1];
  const Tensor products = detail::empty(y.dtype(), {count, rows}), zeros = detail::empty(y.dtype(), {rows});
  std::fill_n(detail::mutable_data<T>(products), products.size(), T(0));
  std::fill_n(detail::mutable_data<T>(zeros), rows, T(0));
  if (y.size() == 0) return products;
  const auto matrix = [&](const Tensor& x, std::int64_t n, std::int64_t columns) {
    return TensorAccess::adopt(detail::new_view(detail::block(x), n * rows * columns, {rows, columns}, {columns, 1}));
  };
  for (std::int64_t n = 0; n < count; ++n)
    by_rows(RowFunction::products, width,
            {whole_rows(matrix(g, n, width)), whole_rows(matrix(y, 0, width)), one_per_row(zeros)},
            matrix(products, n, 1), 1);
  return products;
}

// The elements of a wanted gradient from `at` on; null if it is not wanted.
template <class T>
T* from_element(const Tensor& d, std::int64_t at) {
  return d.defined() ? detail::mutable_data<T>(d) + at : nullptr;
}

template <class T>
void backward(const Attention& a, std::int64_t count, const Tensor& g, const Tensor& y, const Tensor& z,
              const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  const std::int64_t width = a.k.shape()[-1], value_width = y.shape()[-1];
  const Tensor dense = contiguous(g), products = row_products<T>(count, dense, contiguous(y), z);
  const Blocks<T> blocks(a, value_width);
  const std::int64_t queries = blocks.queries(), keys = blocks.keys(), matrices = a.batch.elements();
  const T *from = detail::mutable_data<T>(dense), *largest = detail::mutable_data<T>(z),
          *factors = largest + z.size() / 2, *product = detail::mutable_data<T>(products);
  for (const Tensor* d : {&dq, &dk, &dv})
    if (d->defined()) std::fill_n(detail::mutable_data<T>(*d), d->size(), T(0));
  // Group `at / matrices` of the cotangents of matrix `at % matrices`.
  const auto cotangents = [&](std::int64_t at, bool of_queries, bool of_keys) {
    const std::int64_t n = at / matrices * together, m = at % matrices, first = n * matrices + m;
    return typename Blocks<T>::Cotangents{
        {from + first * queries * value_width, value_width, 1},
        largest + m * queries,
        factors + m * queries,
        product + first * queries,
        of_queries ? from_element<T>(dq, first * queries * width) : nullptr,
        of_keys ? from_element<T>(dk, first * keys * width) : nullptr,
        of_keys ? from_element<T>(dv, first * keys * value_width) : nullptr,
        std::min(together, count - n),
        matrices,
    };
  };
  const std::int64_t tasks = matrices * ceil_divide(count, together);
  if (tasks >= enough_tasks || (queries <= block && keys <= block)) {
    tasks_with_memory(tasks, blocks.bytes(), [&](std::byte* memory, std::int64_t at) {
      blocks.backward(blocks.matrices(at % matrices), cotangents(at, true, true), {0, queries}, {0, keys}, memory);
    });
    return scale(dq, a.scale);
  }
  const auto in_ranges = [&](std::int64_t extent, bool of_queries) {
    const std::int64_t each = ceil_divide(extent, block);
    tasks_with_memory(tasks * each, blocks.bytes(), [&](std::byte* memory, std::int64_t t) {
      const std::int64_t at = t / each, first = t % each * block;
      const Range part_of{first, std::min(block, extent - first)};
      blocks.backward(blocks.matrices(at % matrices), cotangents(at, of_queries, !of_queries),
                      of_queries ? part_of : Range{0, queries}, of_queries ? Range{0, keys} : part_of, memory);
    });
  };
  if (dk.defined() || dv.defined()) in_ranges(keys, false);
  if (dq.defined()) in_ranges(queries, true);
  scale(dq, a.scale);
}

}  // namespace

void attention(const Attention& a, const Tensor& y, const Tensor& z) {
  if (z.size() > 0) visit_among<float, double>(y.dtype(), [&]<class T>() { forward<T>(a, y, z); });
}

void attention_vjp(const Attention& a, std::int64_t count, const Tensor& g, const Tensor& y, const Tensor& z,
                   const Tensor& dq, const Tensor& dk, const Tensor& dv) {
  visit_among<float, double>(y.dtype(), [&]<class T>() { backward<T>(a, count, g, y, z, dq, dk, dv); });
}

}  // namespace reel::loops
