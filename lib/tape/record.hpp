// The interface of tapes for ops: whether a tape is active, whether it follows a tensor, how to record; and rules. An
// op is recorded by every tape of this thread that follows one of its inputs. The tape keeps ids, shapes and dtypes of
// all inputs and outputs, the values that the op names, and nothing else.
#pragma once
#include <array>
#include <initializer_list>
#include <reel/gradient.hpp>
#include <span>

#include "core/block.hpp"
#include "core/thread.hpp"
#include "tape/observe/observe.hpp"

namespace reel::tape {

// ---- The structure of cotangents. Rules take tensors, since they are written with ops that can be recorded again. A
// cotangent may have more structure than its elements show, in four ways; the few rules that profit ask for it:
// 1. A repeated smaller tensor is a view with strides of 0. Kernels read it as it is; no rule asks.
// 2. is_one(): a repeated 1, the cotangent of a sum. A product with it is a view of the other factor.
// 3. IdentityRows: rows of the identity, the seeds of a Jacobian. A product with them takes rows of the other factor.
// 4. IndexedSlices, in a Gradient: rows of a larger tensor, zeros elsewhere. Rules that take them set Rule::slices.
// SumOffer lets a rule add its cotangent to the sum so far in place.
// There is no single type with these cases: by far most cotangents are dense, a tag would be tested by every rule and
// at every sum of cotangents, and cases 1 to 3 would have to be made dense for rules that do not know them. Strides and
// ids make that unnecessary.

/// The cotangents that replay starts with: a tensor whose rows are rows first, first + 1, ... of the identity.
struct IdentityRows {
  std::uint64_t id = 0;  // of the tensor; 0: the cotangents are others
  std::int64_t first = 0;
};

/// Whether g is a repeated 1 of dtype float32 or float64.
inline bool is_one(const Tensor& g) noexcept {
  const detail::Block* b = detail::block(g);
  if (b->abstract()) return false;
  for (int d = 0; d < b->rank; ++d)
    if (b->extents()[d] != 1 && b->strides()[d] != 0) return false;
  if (b->size == 0) return false;
  return b->dtype == DType::float32   ? *reinterpret_cast<const float*>(b->data) == 1
         : b->dtype == DType::float64 ? *reinterpret_cast<const double*>(b->data) == 1
                                      : false;
}

/// The sums of cotangents that replay offers a rule, to be added to in place: Record::take_sum.
struct SumOffer {
  Tensor (*take)(void* context, std::size_t i) = nullptr;
  void* context = nullptr;
  bool (*exists)(void* context, std::size_t i) = nullptr;
};

struct Rule;

/// A recorded op, as its rule sees it.
class Record {
 public:
  // Inline members that are not defined here are defined in tape.hpp.
  inline Record(const Tape& tape, const Entry& entry, const bool* wanted, std::int64_t batch = 0,
                IdentityRows identity_rows = {}) noexcept;
  std::size_t num_inputs() const noexcept;
  std::size_t num_outputs() const noexcept;
  /// Whether a derivative with respect to (vjp) or along (jvp) input i is requested. Others are left empty.
  bool wanted(std::size_t i) const noexcept { return wanted_[i]; }
  /// Shape and dtype of input i, which must be followed (wanted inputs are), and of output k.
  Shape shape(std::size_t i) const;
  DType dtype(std::size_t i) const;
  Shape output_shape(std::size_t k = 0) const;
  DType output_dtype(std::size_t k = 0) const;
  /// In a pass that carries many cotangents at once (Rule::batched) each g and dx has a leading batch axis:
  /// batch_rank() is 1, and batched() puts that axis in front of a shape. Otherwise batch_rank() is 0, and batched()
  /// returns its argument. Saved values have no batch axis: they broadcast.
  int batch_rank() const noexcept { return batch_ != 0; }
  /// The extent of that axis; 0 if there is none.
  std::int64_t batch_size() const noexcept { return batch_; }
  Shape batched(Shape shape) const {
    if (batch_) shape.insert(0, batch_);
    return shape;
  }
  /// Whether x, made of a cotangent, already has the shape of input i.
  inline bool fits(const Tensor& x, std::size_t i) const noexcept;
  /// Axes of an input or output, counted from the front, as axes of its cotangent.
  Shape batched_axes(Shape axes) const {
    for (std::int64_t& a : axes) a += batch_rank();
    return axes;
  }
  /// If the rows of g [batch, n] are known to be consecutive rows of the identity, the first one's number; else -1.
  std::int64_t first_identity_row(const Tensor& g) const noexcept {
    return g.id() == identity_rows_.id ? identity_rows_.first : -1;
  }
  /// The sum of the cotangents of input i so far, for the rule to add its own to in place; dx[i] is the new sum then.
  /// Empty if there is no sum yet, if another handle holds it, if an active tape could record the addition, or if
  /// derivatives are watched: then dx[i] is the rule's own cotangent as usual.
  Tensor take_sum(std::size_t i) const { return sums_.take ? sums_.take(sums_.context, i) : Tensor(); }
  /// Whether there is a sum that this rule's own cotangent is added to, unrecorded: if take_sum is empty, because the
  /// sum may not be overwritten.
  bool has_sum(std::size_t i) const { return sums_.exists && sums_.exists(sums_.context, i); }
  /// Called by replay before the rule runs.
  void offer_sums(SumOffer sums) noexcept { sums_ = sums; }
  /// The k-th saved value: the recorded tensor itself (same id), so that an outer tape follows it. Valid while the rule
  /// runs. ValueError if it was not kept.
  const Tensor& saved(std::size_t k) const {
    if (!has_saved(k)) [[unlikely]]
      not_saved(k);
    return values_[k];
  }
  bool has_saved(std::size_t k) const noexcept { return k < saved_ && values_[k].defined(); }
  std::span<const std::int64_t> attributes() const noexcept;
  /// The rule that the op was recorded with.
  inline const Rule& rule() const noexcept;
  const char* name() const noexcept;
  /// Where the op was called; unknown unless lines were being noted.
  Site site() const noexcept;

 private:
  [[noreturn, gnu::cold]] void not_saved(std::size_t k) const;
  const Tape& tape_;
  const Entry& entry_;
  const Tensor* values_;
  std::size_t saved_;
  const bool* wanted_;
  std::int64_t batch_;  // cotangents carried at once; 0: one, without a batch axis
  IdentityRows identity_rows_;
  SumOffer sums_;
};

/// The derivatives of an op, written with the library's own differentiable functions.
struct Rule {
  const char* name;
  /// From cotangents g of the outputs (all defined: missing ones are zeros, unless accepts_none) to cotangents dx of
  /// the wanted inputs, each of the input's shape and dtype; an input left empty gets none.
  void (*vjp)(const Record& record, std::span<const Tensor> g, std::span<Gradient> dx) = nullptr;
  /// From tangents dx of the inputs (an empty handle is zero; wanted(i) tells which exist) to tangents dy of the
  /// outputs; an output left empty is zero.
  void (*jvp)(const Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) = nullptr;
  /// Missing cotangents are passed as empty handles instead of zeros.
  bool accepts_none = false;
  /// Made by a user: its results are checked against the inputs' shapes and dtypes.
  bool user = false;
  /// Frees what the attributes own; called once, when the entry is dropped.
  void (*release)(std::span<const std::int64_t> attributes) noexcept = nullptr;
  /// Called for each further tape that keeps the attributes.
  void (*retain)(std::span<const std::int64_t> attributes) noexcept = nullptr;
  /// From the output's cotangent as IndexedSlices to the input's, for ops that need not densify it; null: replay
  /// densifies. It may return none, then replay densifies too. Not called in a batched pass.
  Gradient (*slices)(const Record& record, const IndexedSlices& g) = nullptr;
  /// The vjp takes cotangents with a leading axis: see Record::batch_rank. Other rules are called once per cotangent.
  bool batched = false;
  /// Elements of the largest tensor of which a batched vjp makes one per cotangent, if it may be larger than the inputs
  /// and outputs.
  std::int64_t inner_elements = 0;
  /// The vjp depends on which elements of a cotangent are 0, or refuses some cotangents: it is linear only among those
  /// with the same zeros.
  bool depends_on_zeros = false;
};

/// Tapes of this thread, the newest first; null when none is active. For an op, one load and one branch.
inline Tape*& top() noexcept { return detail::this_thread.top; }
inline bool active() noexcept { return top() != nullptr; }

/// Whether a tape that records (is not paused) follows x. Integers are never followed.
bool followed(const Tensor& x) noexcept;

/// Records the op on every tape that follows one of the inputs. Must be called whenever active(), after the outputs are
/// computed: it also notes why a result is not followed. `saved` may contain null pointers; indices stay the same.
/// Strong guarantee: on bad_alloc no tape has changed.
void record(const Rule& rule, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs,
            std::span<const Tensor* const> saved = {}, std::span<const std::int64_t> attributes = {});

/// The same for one output and at most three inputs. Bit k of reads[i] says that the derivative by input i reads input
/// k, or for k = 3 the output; values are kept for followed inputs.
inline constexpr std::size_t most_read = 4;
using Reads = std::array<unsigned, most_read - 1>;
void record(const Rule& rule, std::span<const Tensor* const> inputs, const Tensor& output, const Reads& reads);

/// Why a result that an op computed from followed inputs is not followed.
enum class Unrecorded : std::uint8_t { integer, stopped, paused };
/// Whether a tape of this thread has noted why it does not follow x: results computed from x inherit the reason.
bool is_known_unrecorded(const Tensor& x) noexcept;
/// Notes that the op `name` computed `output` without recording, for explain() and why_none().
void note_unrecorded(const char* name, std::span<const Tensor* const> inputs, const Tensor& output,
                     Unrecorded why) noexcept;

// The usual shapes of a call.
inline void record(const Rule& rule, std::initializer_list<const Tensor*> inputs, const Tensor& output,
                   std::initializer_list<const Tensor*> saved = {}, std::span<const std::int64_t> attributes = {}) {
  const Tensor* out[] = {&output};
  record(rule, std::span(inputs.begin(), inputs.size()), out, std::span(saved.begin(), saved.size()), attributes);
}

/// While it lives, no tape of this thread records. Observers of every op stay active.
class Suspend {
 public:
  Suspend();
  Suspend(const Suspend&) = delete;
  Suspend& operator=(const Suspend&) = delete;
  ~Suspend();

 private:
  friend void pop(Tape* tape) noexcept;
  friend void lay_observer();
  friend void lift_observer() noexcept;
  friend void note_destroyed(const detail::Block* result) noexcept;
  friend class Capture;
  Tape* top_;
  Suspend* below_;
};

}  // namespace reel::tape
