// What an op knows of tapes: is one active, does it follow a tensor, and how to record. And what a rule is.
// An op is recorded by every tape of this thread that follows one of its inputs; the tape keeps ids, shapes and dtypes
// of all inputs and outputs, the values that the op names, and nothing else.
#pragma once
#include <array>
#include <initializer_list>
#include <reel/gradient.hpp>
#include <span>

#include "core/block.hpp"
#include "core/thread.hpp"
#include "tape/observe/observe.hpp"

namespace reel::tape {

// ---- The structure of cotangents. A rule takes tensors, for it is written with ops that are recorded again. A
// cotangent may be more than its elements in four ways, each asked for by the few rules that gain:
//
// 1. A smaller tensor repeated is a view with strides of 0. Kernels read it as it is; nobody asks.
// 2. is_one(): a 1 repeated, the cotangent of a sum. A product with it is a view of the other factor.
// 3. IdentityRows: rows of the identity, the seeds of a Jacobian. A product with them takes rows of the other factor.
// 4. IndexedSlices, in a Gradient: rows of a larger tensor, zeros elsewhere. Rules that take them set Rule::slices.
//
// SumOffer is about where a cotangent goes: into a sum in place.
// They are no one type with these cases. The dense case is by far the most frequent, and a tag would be tested by every
// rule and at every sum of cotangents; 1 to 3 would have to be made dense for rules that do not know them, which
// strides and ids make unnecessary.

/// The cotangents that a sweep starts with: some tensor, rows first, first + 1, ... of the identity.
struct IdentityRows {
  std::uint64_t id = 0;  // of the tensor; 0: they are others
  std::int64_t first = 0;
};

/// Whether g is a 1 that is repeated, of float32 or float64.
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

/// Where replay gives a rule the sums of cotangents to add to in place: Record::take_sum.
struct SumOffer {
  Tensor (*take)(void* context, std::size_t i) = nullptr;
  void* context = nullptr;
};

/// One recorded op, as its rule sees it.
class Record {
 public:
  // Where it is inline but not defined here, tape.hpp does it.
  inline Record(const Tape& tape, const Entry& entry, const bool* wanted, std::int64_t batch = 0,
                IdentityRows identity_rows = {}) noexcept;
  std::size_t num_inputs() const noexcept;
  std::size_t num_outputs() const noexcept;
  /// Whether a derivative with respect to (vjp) or along (jvp) input i is asked for. Others are left empty.
  bool wanted(std::size_t i) const noexcept { return wanted_[i]; }
  /// Shape and dtype of input i, which must be followed (wanted inputs are), and of output k.
  Shape shape(std::size_t i) const;
  DType dtype(std::size_t i) const;
  Shape output_shape(std::size_t k = 0) const;
  DType output_dtype(std::size_t k = 0) const;
  /// In a sweep that carries many cotangents at once (Rule::batched) each g and dx has a batch axis in front:
  /// batch_rank() is 1, and batched() puts that axis before a shape. Otherwise batch_rank() is 0, and batched() changes
  /// nothing. Saved values have no batch axis: they broadcast.
  int batch_rank() const noexcept { return batch_ != 0; }
  Shape batched(Shape shape) const {
    if (batch_) shape.insert(0, batch_);
    return shape;
  }
  /// Whether x, which is made of a cotangent, has the shape of input i already.
  inline bool fits(const Tensor& x, std::size_t i) const noexcept;
  /// Axes of an input or output, counted from the front, as axes of its cotangent.
  Shape batched_axes(Shape axes) const {
    for (std::int64_t& a : axes) a += batch_rank();
    return axes;
  }
  /// Where the rows of g [batch, n] begin in the identity of n rows, if they are known to be some; else -1.
  std::int64_t first_identity_row(const Tensor& g) const noexcept {
    return g.id() == identity_rows_.id ? identity_rows_.first : -1;
  }
  /// The sum of the cotangents that have come to input i so far, for the rule to add its own to in that very memory:
  /// dx[i] is the new sum then. Empty when there is none yet, or somebody else holds it, or an active tape could record
  /// the addition: dx[i] is the rule's own cotangent as ever.
  Tensor take_sum(std::size_t i) const { return sums_.take ? sums_.take(sums_.context, i) : Tensor(); }
  /// Replay's side of it.
  void offer_sums(SumOffer sums) noexcept { sums_ = sums; }
  /// The k-th value kept at recording: the very tensor (same id), so that an outer tape follows it. Valid while the
  /// rule runs. ValueError when it was not kept.
  const Tensor& saved(std::size_t k) const {
    if (!has_saved(k)) [[unlikely]]
      not_saved(k);
    return values_[k];
  }
  bool has_saved(std::size_t k) const noexcept { return k < saved_ && values_[k].defined(); }
  std::span<const std::int64_t> attributes() const noexcept;
  const char* name() const noexcept;
  /// Where the op was called, unknown unless something looked on then.
  Site site() const noexcept;

 private:
  [[noreturn, gnu::cold]] void not_saved(std::size_t k) const;
  const Tape& tape_;
  const Entry& entry_;
  const Tensor* values_;
  std::size_t saved_;
  const bool* wanted_;
  std::int64_t batch_;  // cotangents carried at once; 0: one, without an axis of its own
  IdentityRows identity_rows_;
  SumOffer sums_;
};

/// The derivatives of an op, written with the library's own differentiable functions.
struct Rule {
  const char* name;
  /// Cotangents g of the outputs (all defined: missing ones are zeros, unless accepts_none) to cotangents dx of the
  /// wanted inputs, each of the input's shape and dtype; an input left empty gets none.
  void (*vjp)(const Record& record, std::span<const Tensor> g, std::span<Gradient> dx) = nullptr;
  /// Tangents dx of the inputs (an empty handle is zero; wanted(i) says which are there) to tangents dy of the
  /// outputs; an output left empty is zero.
  void (*jvp)(const Record& record, std::span<const Tensor> dx, std::span<Tensor> dy) = nullptr;
  /// Missing cotangents are handed over as empty handles instead of zeros.
  bool accepts_none = false;
  /// Made by a user: its results are checked against the inputs' shapes and dtypes.
  bool user = false;
  /// Frees what the attributes own; called once when the entry goes.
  void (*release)(std::span<const std::int64_t> attributes) noexcept = nullptr;
  /// Called for each further tape that keeps the attributes.
  void (*retain)(std::span<const std::int64_t> attributes) noexcept = nullptr;
  /// From the output's cotangent as IndexedSlices to the input's, for ops that need not densify it; null: replay
  /// densifies. May give none: then replay densifies after all. Not called in a batched sweep.
  Gradient (*slices)(const Record& record, const IndexedSlices& g) = nullptr;
  /// The vjp takes cotangents with a leading axis: see Record::batch_rank. Others are called once per cotangent.
  bool batched = false;
};

/// Tapes of this thread, the newest first; null when none is active. One load and one branch for an op to ask.
inline Tape*& top() noexcept { return detail::this_thread.top; }
inline bool active() noexcept { return top() != nullptr; }

/// Whether a tape that records (is not paused) follows x. Integers are never followed.
bool followed(const Tensor& x) noexcept;

/// Records the op on every tape that follows one of the inputs. Call it whenever active(), after the outputs are
/// computed: it also notes why a result is not followed. `saved` may hold null pointers; positions are kept.
/// Strong guarantee: on bad_alloc no tape has changed.
void record(const Rule& rule, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs,
            std::span<const Tensor* const> saved = {}, std::span<const std::int64_t> attributes = {});

/// The same for one output and at most three inputs: what is kept of inputs 0 to 2 and, as value 3, the output, are the
/// bits of reads[i] for each input i that is followed.
inline constexpr std::size_t most_read = 4;
using Reads = std::array<unsigned, most_read - 1>;
void record(const Rule& rule, std::span<const Tensor* const> inputs, const Tensor& output, const Reads& reads);

/// Why a result that an op computed from followed inputs is not followed itself.
enum class Unrecorded : std::uint8_t { integer, stopped, paused };
/// Whether a tape of this thread knows why it does not follow x: what is computed from x inherits the reason.
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

/// While it lives, no tape of this thread records. What observes every op goes on.
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
