// A primitive: an op as an object that knows the shapes of its outputs, how to evaluate and how to differentiate it.
// Public functions check operands and call apply() (apply.hpp), the one way to run a primitive.
//
// A primitive is a constant:
//
//   void infer_scale(const Call& call, Metas& out) { out.add(call.input(0).dtype(), call.input(0).shape()); }
//   void evaluate_scale(const Call& call, Outputs& out) { loops::scale(call.input(0), call.real(0), out[0]); }
//   constexpr Primitive scale_primitive = {.rule = linear<scale_vjp, scale_jvp>("scale"),
//                                          .infer = infer_scale, .evaluate = evaluate_scale};
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "core/block.hpp"
#include "tape/record.hpp"

namespace reel::csource {
class Writer;
}

namespace reel::ops {

using Inputs = std::span<const Tensor* const>;
/// What an op takes besides tensors, as words: integers, the bits of doubles, dtypes, extents.
using Attributes = std::span<const std::int64_t>;

/// One execution of a primitive, as infer and evaluate see it.
struct Call {
  Inputs inputs;
  Attributes attributes;
  const Tensor& input(std::size_t i) const noexcept { return *inputs[i]; }
  std::int64_t attribute(std::size_t i) const noexcept { return attributes[i]; }
  /// An attribute that holds the bits of a double.
  double real(std::size_t i) const noexcept { return std::bit_cast<double>(attributes[i]); }
};

/// Dtype, shape and memory of an output: a new dense tensor, or a view of an input.
struct Meta {
  DType dtype = DType::float64;
  int view_of = -1;  // the input whose elements the output views; -1: memory of its own
  std::int64_t offset = 0;
  Shape shape, strides;  // offset and strides in elements, for views only
};

/// The outputs that infer announces, in order. infer reads dtypes, shapes and strides of the inputs, no element.
/// Outputs behind the first few are stored compactly: unstack may have thousands.
class Metas {
 public:
  Metas() noexcept {}
  Metas(const Metas&) = delete;
  Metas& operator=(const Metas&) = delete;
  /// Reserves room for `count` outputs of this rank, if that is more than a few.
  void reserve(std::size_t outputs, int rank);
  /// A dense output.
  void add(DType dtype, const Shape& shape) {
    if (size_ < in_place)
      new (next()) Meta{dtype, -1, 0, shape, {}};
    else
      store({dtype, -1, 0, shape, {}});
  }
  /// A dense output of x's dtype and shape.
  void add_like(const Tensor& x) {
    const detail::Block* b = detail::block(x);
    if (size_ < in_place)
      new (next()) Meta{b->dtype, -1, 0, Shape(b->extents(), b->rank), {}};
    else
      store({b->dtype, -1, 0, b->shape(), {}});
  }
  /// An output that is a view of input i: `offset` elements in, with these strides.
  void add_view(std::size_t i, DType dtype, std::int64_t offset, const Shape& shape, const Shape& strides) {
    if (size_ < in_place)
      new (next()) Meta{dtype, static_cast<int>(i), offset, shape, strides};
    else
      store({dtype, static_cast<int>(i), offset, shape, strides});
  }
  /// The same, to be completed by the caller: the offset is 0 and the strides are empty. Among the first few outputs
  /// only.
  Meta& add_view(std::size_t i, DType dtype, std::span<const std::int64_t> extents) {
    return *new (next()) Meta{dtype, static_cast<int>(i), 0, Shape(extents.data(), extents.size()), {}};
  }
  /// Whether there is one output and it is a view: then there is nothing to evaluate.
  bool one_view() const noexcept { return size_ == 1 && few_[0].view_of >= 0; }
  std::size_t size() const noexcept { return size_; }
  const Meta& first() const noexcept { return few_[0]; }
  Meta operator[](std::size_t k) const noexcept { return k < in_place ? few_[k] : restored(k - in_place); }
  /// The same without a copy where possible: valid as long as this object and `room`.
  const Meta& get(std::size_t k, Meta& room) const noexcept {
    return k < in_place ? few_[k] : room = restored(k - in_place);
  }
  bool is_view(std::size_t k) const noexcept {
    return (k < in_place ? few_[k].view_of : more_->outputs[k - in_place].view_of) >= 0;
  }

 private:
  static constexpr std::size_t in_place = 8;
  // The outputs behind the first few: their extents and, for views, strides are words[first...).
  struct More {
    struct Output {
      DType dtype;
      int view_of, rank;
      std::int64_t offset;
      std::size_t first;
    };
    detail::List<Output> outputs;
    detail::List<std::int64_t> words;
  };
  Meta* next() noexcept { return &few_[size_++]; }
  void store(const Meta& m);
  Meta restored(std::size_t k) const noexcept;
  union {
    Meta few_[in_place];  // the first size_ of them live
  };
  std::unique_ptr<More> more_;
  std::size_t size_ = 0;
};
static_assert(std::is_trivially_destructible_v<Meta>);

/// The view that `meta` announces.
Tensor view_of(const Meta& meta, Inputs inputs);

/// The outputs that evaluate writes: output k is allocated, as infer announced it, on first access.
class Outputs {
 public:
  /// Outputs in existing memory: the defined tensors of `existing`. The others are allocated.
  Outputs(const Metas& metas, Inputs inputs, bool residuals_wanted, Tensor* existing)
      : metas_(&metas), inputs_(inputs), size_(metas.size()), tensors_(existing), residuals_wanted_(residuals_wanted) {}
  Outputs(const Metas& metas, Inputs inputs, bool residuals_wanted)
      : metas_(&metas), inputs_(inputs), size_(metas.size()), residuals_wanted_(residuals_wanted) {
    const std::size_t count = metas.size();
    if (count > in_place) many_.resize(count);
    tensors_ = count > in_place ? many_.data() : few_;
    if (count <= in_place)
      for (std::size_t k = 0; k < count; ++k) new (&few_[k]) Tensor;
  }
  /// Outputs that all exist already. They have no metas.
  explicit Outputs(std::span<Tensor> made) noexcept
      : metas_(nullptr), size_(made.size()), tensors_(made.data()), residuals_wanted_(false) {}
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  ~Outputs() {
    if (tensors_ == few_)
      for (std::size_t k = 0; k < size_; ++k) few_[k].~Tensor();
  }
  std::size_t size() const noexcept { return size_; }
  Meta meta(std::size_t k) const noexcept { return (*metas_)[k]; }
  bool is_view(std::size_t k) const noexcept { return metas_->is_view(k); }
  /// Output or residual k, uninitialised.
  const Tensor& operator[](std::size_t k) {
    if (!tensors_[k].defined()) tensors_[k] = make(k);
    return tensors_[k];
  }
  /// Sets output k to a tensor made by a loop: dense, of the announced dtype and shape, without other handles.
  void set(std::size_t k, Tensor y) { tensors_[k] = std::move(y); }
  /// Whether a tape keeps the residuals. Costly ones are computed only then.
  bool residuals_wanted() const noexcept { return residuals_wanted_; }
  std::span<Tensor> tensors() noexcept { return {tensors_, size_}; }

 private:
  static constexpr std::size_t in_place = 8;
  Tensor make(std::size_t k) const;
  const Metas* metas_;
  Inputs inputs_;
  std::size_t size_;
  Tensor* tensors_;
  union {
    Tensor few_[in_place];  // the first outputs, unless they are in many_
  };
  detail::List<Tensor> many_;
  bool residuals_wanted_;
};

/// A value that the derivatives read: Record::saved(k) is the k-th of a primitive's `keeps`. It is not kept if none of
/// the inputs `readers` is followed.
struct Keep {
  enum class From : std::uint8_t { nothing, input, output };  // residuals count as outputs, behind the others
  From from = From::nothing;
  std::uint8_t index = 0;
  std::uint8_t readers = 0;  // bit i: the derivative of input i reads the value; 0: every derivative does
};
inline constexpr std::size_t most_kept = 6;
using Keeps = std::array<Keep, most_kept>;
constexpr Keep keep_input(std::uint8_t i, std::uint8_t readers = 0) { return {Keep::From::input, i, readers}; }
constexpr Keep keep_output(std::uint8_t k, std::uint8_t readers = 0) { return {Keep::From::output, k, readers}; }

/// What a primitive does besides computing outputs, as bits: see effect.hpp. `may_throw`: evaluate refuses some values
/// of its inputs, so that a call must be made even if nobody reads its outputs.
enum Effects : std::uint8_t { reads_variables = 1, writes_variables = 2, advances_generator = 4, may_throw = 8 };

/// How generate_c writes a primitive: as statements that compute its outputs, or, where each element of the one output
/// depends on one element of each input, to which the inputs broadcast, as the C expression of an element.
class WriteC {
 public:
  using Statements = void (*)(const Call& call, csource::Writer& writer);
  /// `x`: the C expressions of the elements of the inputs.
  using Expression = std::string (*)(const Call& call, csource::Writer& writer, std::span<const std::string> x);
  constexpr WriteC() noexcept = default;
  constexpr WriteC(Statements f) noexcept : statements(f) {}
  constexpr WriteC(Expression f) noexcept : expression(f) {}

  Statements statements = nullptr;
  Expression expression = nullptr;
};

/// An op. Rules and front ends read no element of a tensor: only `evaluate` does.
struct Primitive {
  /// Name and derivatives. Without a vjp the outputs carry no gradient.
  tape::Rule rule;
  void (*infer)(const Call& call, Metas& out);
  /// Computes the outputs. Records nothing. Evaluating again at the same inputs gives the same bits. Not called if the
  /// only output is a view.
  void (*evaluate)(const Call& call, Outputs& out);
  Keeps keeps = {};
  /// Replaces `keeps` if attributes decide: sets values[i], initially null, for each input i that derivatives read.
  /// Record::saved(i) is input i then; residuals are kept behind the inputs.
  void (*keep_inputs)(const Call& call, std::span<const Tensor*> values) = nullptr;
  /// The number of trailing inputs without a gradient, whatever their dtype: positions, conditions. Tapes do not list
  /// them.
  std::uint8_t constants = 0;
  /// The number of outputs without a gradient behind those with one: statistics that the op returns.
  std::uint8_t auxiliary = 0;
  /// The number of trailing outputs that only the tape sees: what derivatives read that is neither input nor output.
  std::uint8_t residuals = 0;
  /// Bits of Effects.
  std::uint8_t effects = 0;
  /// The residuals are tokens: evaluate sets them. The size of the objects they stand for is unknown to infer.
  bool tokens = false;
  /// Without it, generate_c refuses the op.
  WriteC write_c = {};
};

/// The evaluate of a primitive whose output is a view: nothing to compute.
inline void evaluate_view(const Call&, Outputs& out) { static_cast<void>(out[0]); }

}  // namespace reel::ops
