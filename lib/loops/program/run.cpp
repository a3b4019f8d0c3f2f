// Runs of programs: a worker takes a range of the result and walks it in blocks, all steps for one block before the
// next block. The block size changes no bits.
#include <algorithm>
#include <bit>
#include <numeric>
#include <reel/runtime.hpp>

#include "kernels/baseline/copy.hpp"
#include "kernels/scalars.hpp"
#include "loops/elementwise/layout.hpp"
#include "loops/loops.hpp"
#include "loops/program/prepare.hpp"
#include "loops/program/scalar.hpp"
#include "loops/reduce/reduce.hpp"
#include "loops/workspaces.hpp"

namespace reel::loops {

namespace {

using tuning::program_grain;
using tuning::program_row_bytes;
// Measured by `bench/run --filter fused`.
constexpr std::int64_t least_block = 64;  // elements: several vectors, so that a step's call costs little
constexpr std::size_t register_budget = tuning::l1_bytes * 3 / 4;  // bytes of all registers: the rest is for operands
constexpr std::size_t most_register_bytes = 1024;  // of one register: short blocks, so that steps overlap prefetching
constexpr std::size_t chained_register_bytes = 4 * 1024;     // with chains, which prefetch nothing
constexpr std::size_t cached_register_bytes = 8 * 1024;      // where results stay in caches: fewer calls of steps
constexpr std::int64_t short_bytes = tuning::l1_bytes / 4;   // of a result: a shorter one is one block if registers fit
constexpr std::int64_t cached_bytes = 2 * tuning::l2_bytes;  // of a result that stays in caches: longer blocks
constexpr std::int64_t fetch_distance = 8 * 1024;            // bytes that memory is prefetched ahead: eight blocks
constexpr std::size_t most_rows_bytes = 4096;                // of a register for several rows of strided operands
constexpr std::int64_t least_rows = 4;                       // in a block: fewer are taken one by one
constexpr std::size_t stack_bytes = 48 * 1024;               // of a run's scratch memory; more is allocated
constexpr std::size_t cache_line = tuning::cache_line_bytes;

constexpr std::size_t lines(std::size_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

// Fills `whole` bytes of a register with copies of what is `from`.
void fill(const kernels::Strided& place, const void* from, std::size_t bytes, std::size_t whole) {
  auto* to = static_cast<std::byte*>(const_cast<void*>(place.data));
  std::memcpy(to, from, bytes);
  repeat(to, bytes, whole);
}

// What happens to output k; without a list, all are written.
Write write_of(std::span<const Write> writes, std::size_t k) { return writes.empty() ? Write::place : writes[k]; }

}  // namespace

// Writes the values of constants; a float is stored in the first bytes of its double.
inline void Code::write_constants(DType dtype, std::span<const double> parameters, double* to) const {
  for (const Constant& c : constants_) {
    const double value =
        c.node.opcode == Opcode::parameter ? parameters[static_cast<std::size_t>(c.node.in[0])] : literal_value(c.node);
    *to = value;
    if (dtype == DType::float32) {
      const auto narrow = static_cast<float>(value);
      std::memcpy(to, &narrow, sizeof narrow);
    }
    ++to;
  }
}

// One run of a program: its operands, and the division of the result into blocks.
struct Run {
  struct Source {
    const std::byte* data = nullptr;
    Layout layout;
    LoopNest<1>* nest = nullptr;  // for a strided operand
    std::int32_t buffer = -1;     // the register it is packed into
    std::int32_t cursor = -1;     // the cursor that finds its rows, if it is read in place

    int last() const { return nest->rank - 1; }
  };
  /// Finds where the rows of an operand begin, one after the other.
  using Cursor = IndexIterator<1>;

  // The scratch memory of a run: on the stack for short programs, from the pool for long ones.
  class Room {
   public:
    /// Uninitialised.
    template <class T>
    std::span<T> take(std::size_t count) {
      static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= alignof(std::max_align_t));
      const std::size_t need = (count * sizeof(T) + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
      if (need > sizeof here_ - used_) {
        more_.push_back(detail::empty(DType::uint8, {static_cast<std::int64_t>(need)}));
        return {reinterpret_cast<T*>(detail::block(more_.back())->data), count};
      }
      auto* p = reinterpret_cast<T*>(here_ + used_);
      used_ += need;
      return {p, count};
    }

   private:
    static constexpr std::size_t here_bytes = 6144;  // of the stack
    alignas(std::max_align_t) std::byte here_[here_bytes];
    std::size_t used_ = 0;
    detail::List<Tensor> more_;
  };

  const Code& code;
  std::size_t bytes;  // per element
  const kernels::Reduction& sum;
  struct Output {
    std::byte* data;
    std::int32_t buffer;  // the register for elements that are added to `data` or summed; -1: written to `data`
    bool adds;
    std::byte* sums;  // the sums of a total's blocks, or runs
    bool by_runs = false;
  };
  Room room;
  std::span<Source> sources;
  std::span<double> constants;
  std::span<Output> outputs;
  std::int64_t block = 0;
  std::size_t register_bytes = 0, registers = 0, places = 0;
  const std::size_t type;      // index of the dtype among the two with loops
  bool strided = false;        // some source is strided
  bool just_produced = false;  // ranges are in a cache: a producer has just computed them
  std::int64_t row = 0;        // elements: blocks do not cross rows; 0: there are no rows
  bool takes_rows = false;     // a block is several rows
  std::size_t cursors = 0;
  std::size_t run_totals = 0;  // number of totals computed by runs: blocks do not cross runs

  Run(const Code& c, DType dtype)
      : code(c),
        bytes(item_size(dtype)),
        sum(kernels::reduction(kernels::ReduceFunction::sum, dtype)),
        type(dtype == DType::float64) {}

  static bool is_one_chain(const Code& code) { return code.steps_.size() == 1 && !code.chains_.empty(); }

  void set_constants(DType dtype, std::span<const double> parameters) {
    constants = room.take<double>(code.constants_.size());
    code.write_constants(dtype, parameters, constants.data());
  }

  void set_source(std::size_t i, const detail::Block* x, const Shape& shape, std::int64_t size) {
    Source& source = sources[i];
    source.data = x->data;
    const bool by_elements = code.inputs_[i] == Code::Use::elements;
    // The common layouts are recognised without a look at strides. An operand of the result's size that broadcasts has
    // the same elements in the same order.
    if (x->size == size && x->contiguous()) {
      source.layout = {Layout::Kind::linear, 0};
      return;
    }
    if (x->size == 1 && !by_elements) {
      source.layout = {Layout::Kind::single, 0};
      return;
    }
    auto* nest = new (room.take<LoopNest<1>>(1).data()) LoopNest<1>;
    for (int d = 0; d < shape.rank(); ++d) nest->push(shape.begin()[d], {broadcast_stride(x, d, shape.rank())});
    source.layout = layout_of(*nest, 0);
    source.nest = nest;
    if (source.layout.kind == Layout::Kind::single && by_elements) source.layout = {Layout::Kind::strided, 1};
    strided |= source.layout.kind == Layout::Kind::strided;
  }

  // The operands that the program reads. `copies` keeps those that were transposed.
  void set_sources(std::span<const Tensor* const> in, const Shape& shape, std::int64_t size,
                   detail::List<Tensor>& copies) {
    sources = room.take<Source>(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      new (&sources[i]) Source;
      if (!code.uses(i)) continue;
      const detail::Block* x = detail::block(*in[i]);
      if (transposed(x)) {
        copies.push_back(contiguous(*in[i]));
        x = detail::block(copies.back());
      }
      set_source(i, x, shape, size);
    }
  }

  // Whether a period of every strided operand fits a block. Each is then packed once for all blocks of a range, which
  // costs less than a call of each step per row.
  bool all_repeat() const {
    const std::size_t most = std::min(most_register_bytes, register_budget / (registers + sources.size()));
    return std::all_of(sources.begin(), sources.end(), [&](const Source& s) {
      return s.layout.kind != Layout::Kind::strided || static_cast<std::size_t>(s.layout.period) * bytes <= most;
    });
  }

  // Finds rows within which every strided operand has one stride. If rows are long, operands that a kernel can read
  // there are read in place. The others are packed.
  void choose_rows(bool allowed) {
    std::int64_t longest = 0;
    for (const Source& s : sources)
      if (s.layout.kind == Layout::Kind::strided) longest = std::gcd(longest, s.nest->extent[s.last()]);
    allowed = allowed && longest * static_cast<std::int64_t>(bytes) >= program_row_bytes && !all_repeat();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Source& s = sources[i];
      if (s.layout.kind != Layout::Kind::strided) continue;
      const std::int64_t stride = s.nest->stride[0][s.last()];
      if (allowed && s.nest->rank < max_rank &&
          (stride == 1 || (stride == 0 && code.inputs_[i] != Code::Use::elements))) {
        s.nest->split_last(longest);
        s.cursor = static_cast<std::int32_t>(cursors++);
        row = longest;
      } else {
        s.buffer = static_cast<std::int32_t>(registers++);
      }
    }
  }

  // Where results go: elements and totals to the tensor, what is added or summed to a register first.
  void set_outputs(std::span<const Tensor> out, std::int64_t size, std::span<const Write> writes) {
    outputs = room.take<Output>(out.size());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const detail::Block* to = detail::block(out[k]);
      const Write how = write_of(writes, k);
      const bool added = how == Write::sum, total = how == Write::total;
      const bool direct = total || (to->size == size && !added);
      outputs[k] = {to->data, direct ? -1 : static_cast<std::int32_t>(registers++), added, to->data, total};
      if (total) ++run_totals;
    }
  }

  // Whether a packed operand has the same elements in every block.
  bool repeats(const Source& s) const { return row == 0 ? s.layout.period <= block : s.layout.period == 1; }

  // The largest block whose registers fit the budget, a multiple of all shorter periods. One block for a short result
  // if it is `free`: if no bits depend on the division into blocks.
  void set_block(std::int64_t size, bool free) {
    const std::int64_t result_bytes = size * static_cast<std::int64_t>(bytes);
    const bool is_short = free && result_bytes <= short_bytes;
    if (const std::size_t whole = lines(static_cast<std::size_t>(result_bytes));
        is_short && !strided && whole * registers <= register_budget) {  // the usual case, without divisions
      block = static_cast<std::int64_t>(whole >> (type == 1 ? 3 : 2));
      register_bytes = whole + cache_line;
      return;
    }
    const bool is_cached = free && result_bytes <= cached_bytes;
    const std::size_t most = is_short               ? lines(static_cast<std::size_t>(size) * bytes)
                             : is_cached            ? cached_register_bytes
                             : code.chains_.empty() ? most_register_bytes
                                                    : chained_register_bytes;
    const std::size_t fits = std::min(most, register_budget / std::max<std::size_t>(registers, 1));
    const std::int64_t unit = is_short ? static_cast<std::int64_t>(cache_line / bytes) : least_block;
    block = std::max(static_cast<std::int64_t>(fits / bytes) / unit * unit, unit);
    if (run_totals > 0) block = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(block)));
    std::int64_t longest = 1;
    for (std::size_t i = 0; i < sources.size() && strided; ++i)
      if (const Source& s = sources[i]; repeats(s)) longest = std::max(longest, s.layout.period);
    block = block / longest * longest;
    if (row > 0 && run_totals == 0) take_rows_together();
    // An extra cache line, so that registers do not begin at the same page offset.
    register_bytes = lines(static_cast<std::size_t>(block) * bytes) + cache_line;
  }
  // Makes a block of several rows if they are short: a step that reads no view is one call for all of them.
  void take_rows_together() {
    const std::size_t fits = std::min(most_rows_bytes, register_budget / std::max<std::size_t>(registers, 1));
    const std::int64_t rows = static_cast<std::int64_t>(fits / bytes) / row;
    if (rows < least_rows) return;
    block = rows * row;
    takes_rows = true;
  }

  std::size_t cursors_offset() const { return lines(places * sizeof(kernels::Strided)); }
  std::size_t steps_offset() const { return cursors_offset() + lines(cursors * sizeof(Cursor)); }
  std::size_t registers_offset() const {
    return steps_offset() + (takes_rows ? lines(places * sizeof(std::int64_t)) : 0);
  }
  std::size_t runs_offset() const { return registers_offset() + registers * register_bytes; }
  // With the elements of a run of each total.
  std::size_t scratch_bytes() const { return runs_offset() + run_totals * bytes * std::size_t{run_length}; }

  // Prefetches step i's share of the memory that a later block reads and writes, so that no step waits for all of it.
  void fetch_ahead(std::int64_t offset, std::size_t i) const {
    const std::size_t whole = static_cast<std::size_t>(block) * bytes, share = lines(whole / code.steps_.size());
    const std::size_t first = std::min(i * share, whole), last = std::min(first + share, whole);
    const auto fetch = [&](const std::byte* p) {
      p += offset + fetch_distance;
      for (std::size_t b = first; b < last; b += cache_line) __builtin_prefetch(p + b, 0, 2);
    };
    for (const Source& s : sources)
      if (s.layout.kind == Layout::Kind::linear) fetch(s.data);
    for (const Output& z : outputs)
      if ((z.buffer < 0 && !z.by_runs) || z.adds) fetch(z.data);
  }
  void all(std::int64_t size) const;
  void all_in_blocks(std::int64_t size);
  std::byte* register_at(std::byte* scratch, std::int32_t r) const {
    return scratch + registers_offset() + static_cast<std::size_t>(r) * register_bytes;
  }
  Cursor& cursor_at(std::byte* scratch, std::int32_t c) const {
    return reinterpret_cast<Cursor*>(scratch + cursors_offset())[c];
  }
  void set_places(std::int64_t begin, std::byte* scratch) const;
  void move_places(std::int64_t at, std::int64_t n, std::int64_t within, std::byte* scratch) const;
  void compute(std::int64_t offset, std::int64_t n, bool fetches, const kernels::Strided* place) const;
  void go(std::int64_t begin, std::int64_t end, std::byte* scratch) const;
  void set_row_steps(std::byte* scratch) const;
  std::int64_t rows_together(std::int64_t first, std::int64_t end) const;
  void compute_rows_of_chain(const Code::Chain& chain, std::int64_t rows, const kernels::Strided* place,
                             const std::int64_t* row_step) const;
  void compute_rows(std::int64_t rows, const kernels::Strided* place, const std::int64_t* row_step) const;
  void go_by_rows(std::int64_t begin, std::int64_t end, std::byte* scratch) const;
  void finish_block(std::int64_t at, std::int64_t n, std::byte* scratch) const;
  detail::List<Tensor> make_parts(DType dtype, const Shape& shape);
  void end_run(std::int64_t begin, std::int64_t end, const std::byte* elements) const;
  // Whether blocks and rows end where runs end.
  bool fits_runs() const { return run_length % block == 0 && (row == 0 || run_length % row == 0); }
  void go_on_stack(std::int64_t begin, std::int64_t end) const {
    alignas(cache_line) std::byte scratch[stack_bytes];
    takes_rows ? go_by_rows(begin, end, scratch) : go(begin, end, scratch);
  }
  bool produce(const Producer& producer);

  static void prepare_single_elements(const Code& code) {
    for (const DType dtype : {DType::float32, DType::float64}) static_cast<void>(code.scalar_code(dtype));
  }
};

void prepare_single_elements(const Code& code) { Run::prepare_single_elements(code); }

// The places of a range: pointers to its operands, results, constants and registers, in this order. Operands that
// repeat within a block are packed here, once.
inline void Run::set_places(std::int64_t begin, std::byte* scratch) const {
  auto* place = reinterpret_cast<kernels::Strided*>(scratch);
  const std::size_t first_constant = sources.size() + outputs.size(), first_own = first_constant + constants.size();
  place[places - 1] = {nullptr, 0};
  for (std::size_t r = 0; r < code.registers_; ++r)
    place[first_own + r] = {register_at(scratch, static_cast<std::int32_t>(r)), 1};
  for (std::size_t c = 0; c < constants.size(); ++c) {
    place[first_constant + c] = {&constants[c], 0};
    if (const std::int32_t filled = code.constants_[c].filled; filled >= 0)
      fill(place[filled], &constants[c], bytes, static_cast<std::size_t>(block) * bytes);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    if (s.cursor >= 0) new (&cursor_at(scratch, s.cursor)) Cursor(*s.nest, begin / row);
    if (s.buffer < 0) {
      const std::int64_t stride = s.cursor >= 0 ? s.nest->stride[0][s.last()] : s.layout.kind != Layout::Kind::single;
      place[i] = {s.data, stride};
      continue;
    }
    std::byte* to = register_at(scratch, s.buffer);
    place[i] = {to, 1};
    if (!repeats(s)) continue;
    pack(*s.nest, 0, s.data, bytes, begin, begin + s.layout.period, to);
    repeat(to, static_cast<std::size_t>(s.layout.period) * bytes, static_cast<std::size_t>(block) * bytes);
  }
}

// The step on n elements of its places.
inline void Code::Step::run(std::size_t type, std::int64_t n, const kernels::Strided* place) const {
  kernels::Strided in[node_operands];
  in[0] = place[node.in[0]];
  in[1] = place[node.in[1]];
  for (std::uint32_t k = 2; k < operands; ++k) in[k] = place[node.in[k]];
  loop[type](in, const_cast<void*>(place[to].data), n);
}

// The chain on n elements of its operands.
void Code::Chain::run(std::size_t type, std::int64_t n, kernels::Strided* operand) const {
  alignas(cache_line) std::byte memory[kernels::chain_operands][kernels::chain_slot_bytes];
  const auto width = static_cast<std::int64_t>(type == 1 ? sizeof(double) : sizeof(float));
  const bool is_short = n * width < static_cast<std::int64_t>(kernels::chain_slot_bytes);
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] < 0) operand[k] = {memory[k], is_short ? 1 : -1};
  std::ptrdiff_t done = 0;
  if (!is_short) {
    const kernels::ChainLoop loop = kernels::active<kernels::ScalarEngines>().chain[type];
    done = loop(code.data(), code.size(), operand, places.size(), n, memory);
    if (done == n) return;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (operand[k].stride == 1)
        operand[k].data = static_cast<const std::byte*>(operand[k].data) + done * width;
      else if (operand[k].stride < 0)
        operand[k].stride = 1;
    }
  }
  operand[places.size()] = {nullptr, 0};
  for (const Step& step : members) step.run(type, n - done, operand);
}

inline void Code::run_step(const Step& step, std::size_t type, std::int64_t n, const kernels::Strided* place) const {
  if (step.chain < 0) return step.run(type, n, place);
  const Chain& chain = chains_[static_cast<std::size_t>(step.chain)];
  kernels::Strided operand[kernels::chain_operands + 1];
  for (std::size_t k = 0; k < chain.places.size(); ++k)
    if (chain.places[k] >= 0) operand[k] = place[chain.places[k]];
  chain.run(type, n, operand);
}

// The steps of the program on one block.
inline void Run::compute(std::int64_t offset, std::int64_t n, bool fetches, const kernels::Strided* place) const {
  for (std::size_t i = 0; i < code.steps_.size(); ++i) {
    if (fetches) fetch_ahead(offset, i);
    code.run_step(code.steps_[i], type, n, place);
  }
}

// The operands at positions [at, at + n), which begin `within` elements behind the beginning of a row.
inline void Run::move_places(std::int64_t at, std::int64_t n, std::int64_t within, std::byte* scratch) const {
  auto* place = reinterpret_cast<kernels::Strided*>(scratch);
  const auto width = static_cast<std::int64_t>(bytes);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    if (s.layout.kind == Layout::Kind::linear) {
      place[i].data = s.data + at * width;
    } else if (s.cursor >= 0) {
      const std::int64_t stride = s.nest->stride[0][s.last()];
      place[i] = {s.data + (cursor_at(scratch, s.cursor).offset(0) + within * stride) * width, stride};
    } else if (s.buffer >= 0 && !repeats(s)) {
      pack(*s.nest, 0, s.data, bytes, at, at + n, register_at(scratch, s.buffer));
    }
  }
}

// Sums the elements of one run of each total.
void Run::end_run(std::int64_t begin, std::int64_t end, const std::byte* elements) const {
  const auto width = static_cast<std::int64_t>(bytes);
  for (const Output& z : outputs) {
    if (!z.by_runs) continue;
    sum.run({elements, 1}, end - begin, z.sums + begin / run_length * width);
    elements += run_length * width;
  }
}

// Outputs that are copies, added to an array or summed.
inline void Run::finish_block(std::int64_t at, std::int64_t n, std::byte* scratch) const {
  const auto* place = reinterpret_cast<const kernels::Strided*>(scratch);
  const kernels::Strided* const result = place + sources.size();
  const auto width = static_cast<std::int64_t>(bytes);
  for (const Code::Copy& c : code.copies_)
    kernels::copy(place[c.from], const_cast<void*>(result[c.output].data), 1, n, bytes);
  for (const Output& z : outputs) {
    if (z.buffer < 0) continue;
    if (z.adds)
      sum.merge(z.data + at * width, register_at(scratch, z.buffer), n);
    else
      sum.run({register_at(scratch, z.buffer), 1}, n, z.sums + at / block * width);
  }
}

// `begin` is a multiple of the row, of the period of operands that repeat within a block, which are packed once, and of
// the run.
void Run::go(std::int64_t begin, std::int64_t end, std::byte* scratch) const {
  auto* place = reinterpret_cast<kernels::Strided*>(scratch);
  kernels::Strided* const result = place + sources.size();
  const auto buffer = [&](std::int32_t r) { return register_at(scratch, r); };
  set_places(begin, scratch);
  const auto width = static_cast<std::int64_t>(bytes);
  const auto in_run = [&](std::size_t total, std::int64_t at) {
    return scratch + runs_offset() + (static_cast<std::int64_t>(total) * run_length + at % run_length) * width;
  };
  // Smaller arrays are in a cache already. For chains the processor prefetches, as for single loops.
  const bool in_memory = !just_produced && end - begin >= program_grain / 2 && code.chains_.empty();
  std::int64_t row_end = begin + row;
  for (std::int64_t at = begin, n = 0; at < end; at += n) {
    n = std::min(block, end - at);
    if (row > 0) {
      if (at == row_end) {
        row_end += row;
        for (std::size_t c = 0; c < cursors; ++c) cursor_at(scratch, static_cast<std::int32_t>(c)).next();
      }
      n = std::min(n, row_end - at);
    }
    const std::int64_t offset = at * width;
    if (at > 0 || strided)
      move_places(at, n, row > 0 ? at - (row_end - row) : 0, scratch);  // the first block has been set up above
    for (std::size_t k = 0, totals = 0; k < outputs.size(); ++k) {
      const Output& z = outputs[k];
      result[k] = {z.buffer >= 0 ? buffer(z.buffer) : z.by_runs ? in_run(totals++, at) : z.data + offset, 1};
    }
    compute(offset, n, in_memory && (end - at - block) * static_cast<std::int64_t>(bytes) >= fetch_distance, place);
    finish_block(at, n, scratch);
    if (run_totals > 0 && ((at + n) % run_length == 0 || at + n == end))
      end_run(at / run_length * run_length, at + n, in_run(0, 0));
  }
}

// For each place the bytes from one row to the next.
void Run::set_row_steps(std::byte* scratch) const {
  const auto* place = reinterpret_cast<const kernels::Strided*>(scratch);
  auto* step = reinterpret_cast<std::int64_t*>(scratch + steps_offset());
  const auto width = static_cast<std::int64_t>(bytes);
  for (std::size_t i = 0; i < places; ++i) step[i] = place[i].stride * row * width;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (const Source& s = sources[i]; s.cursor >= 0) step[i] = s.nest->stride[0][s.last() - 1] * width;
}

// How many rows from `first` on have one step in every operand, up to a block.
std::int64_t Run::rows_together(std::int64_t first, std::int64_t end) const {
  std::int64_t rows = std::min(block / row, end - first);
  for (const Source& s : sources) {
    if (s.cursor < 0) continue;
    const std::int64_t extent = s.nest->extent[s.last() - 1];
    rows = std::min(rows, extent - first % extent);
  }
  return rows;
}

namespace {

// Masks are registers of one byte per element.
bool makes_mask(const Node& node) {
  return node.opcode == Opcode::comparison || node.opcode == Opcode::predicate || node.opcode == Opcode::logical;
}
bool reads_mask(const Node& node, std::uint32_t k) {
  return node.opcode == Opcode::logical || (node.opcode == Opcode::select && k == 0);
}

}  // namespace

void Run::compute_rows_of_chain(const Code::Chain& chain, std::int64_t rows, const kernels::Strided* place,
                                const std::int64_t* row_step) const {
  const auto width = static_cast<std::int64_t>(bytes);
  const bool at_once = std::all_of(chain.places.begin(), chain.places.end(), [&](std::int32_t p) {
    return p < 0 || row_step[p] == place[p].stride * row * width;
  });
  const std::int64_t calls = at_once ? 1 : rows, n = at_once ? rows * row : row;
  for (std::int64_t r = 0; r < calls; ++r) {
    kernels::Strided operand[kernels::chain_operands + 1];
    for (std::size_t k = 0; k < chain.places.size(); ++k)
      if (const std::int32_t p = chain.places[k]; p >= 0)
        operand[k] = {static_cast<const std::byte*>(place[p].data) + r * row_step[p], place[p].stride};
    chain.run(type, n, operand);
  }
}

// The steps on several rows. A step that reads an operand with gaps between rows is a call per row.
void Run::compute_rows(std::int64_t rows, const kernels::Strided* place, const std::int64_t* row_step) const {
  const auto width = static_cast<std::int64_t>(bytes);
  const auto gapless = [&](std::int32_t p) { return row_step[p] == place[p].stride * row * width; };
  for (const Code::Step& step : code.steps_) {
    if (step.chain >= 0) {
      compute_rows_of_chain(code.chains_[static_cast<std::size_t>(step.chain)], rows, place, row_step);
      continue;
    }
    if (std::all_of(step.node.in, step.node.in + step.operands, gapless)) {
      step.run(type, rows * row, place);
      continue;
    }
    kernels::Strided in[node_operands] = {};
    std::int64_t in_step[node_operands] = {};
    for (std::uint32_t k = 0; k < std::max(step.operands, 2u); ++k) {
      in[k] = place[step.node.in[k]];
      if (in[k].data) in_step[k] = reads_mask(step.node, k) ? row : row_step[step.node.in[k]];
    }
    auto* out = static_cast<std::byte*>(const_cast<void*>(place[step.to].data));
    const std::int64_t out_step = makes_mask(step.node) ? row : row * width;
    for (std::int64_t r = 0; r < rows; ++r, out += out_step) {
      step.loop[type](in, out, row);
      for (std::uint32_t k = 0; k < step.operands; ++k)
        in[k].data = static_cast<const std::byte*>(in[k].data) + in_step[k];
    }
  }
}

// As go(), in blocks of several rows. `begin` and `end` are multiples of the row.
void Run::go_by_rows(std::int64_t begin, std::int64_t end, std::byte* scratch) const {
  auto* place = reinterpret_cast<kernels::Strided*>(scratch);
  const auto width = static_cast<std::int64_t>(bytes);
  set_places(begin, scratch);
  for (std::size_t k = 0; k < outputs.size(); ++k) place[sources.size() + k].stride = 1;
  set_row_steps(scratch);
  for (std::int64_t first = begin / row, rows = 0; first < end / row; first += rows) {
    rows = rows_together(first, end / row);
    const std::int64_t at = first * row, n = rows * row;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& s = sources[i];
      if (s.layout.kind == Layout::Kind::linear)
        place[i].data = s.data + at * width;
      else if (s.cursor >= 0)
        place[i].data = s.data + s.nest->offset(0, first, s.last()) * width;
      else if (s.buffer >= 0 && !repeats(s))
        pack(*s.nest, 0, s.data, bytes, at, at + n, register_at(scratch, s.buffer));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const Output& z = outputs[k];
      place[sources.size() + k].data = z.buffer >= 0 ? register_at(scratch, z.buffer) : z.data + at * width;
    }
    compute_rows(rows, place, reinterpret_cast<const std::int64_t*>(scratch + steps_offset()));
    finish_block(at, n, scratch);
  }
}

// Computes the whole result, in parallel if it is large.
void Run::all(std::int64_t size) const {
  const bool fits_stack = scratch_bytes() <= stack_bytes;
  if (fits_stack && size < parallel_threshold) return go_on_stack(0, size);
  // Ranges begin where a block, row and run begin.
  const std::int64_t step = run_totals > 0 ? run_length : row > 0 ? row : block;
  const std::int64_t grain = std::max(program_grain / step, std::int64_t{1}) * step;
  if (fits_stack)
    return parallel_for(size, grain, [&](std::int64_t begin, std::int64_t end) { go_on_stack(begin, end); });
  // The scratch memory does not fit the stack.
  Workspaces workspaces((size - 1) / grain + 1, static_cast<std::int64_t>(scratch_bytes()));
  parallel_for(size, grain, [&](std::int64_t begin, std::int64_t end) {
    workspaces.use([&](std::byte* scratch) { takes_rows ? go_by_rows(begin, end, scratch) : go(begin, end, scratch); });
  });
}

// Has an input computed, and the result where a part of the input is in a cache. Returns whether that is the whole
// result.
[[gnu::noinline]] bool Run::produce(const Producer& producer) {
  const RangeFunction then{[](std::int64_t begin, std::int64_t end, const void* context) {
                             static_cast<const Run*>(context)->go_on_stack(begin, end);
                           },
                           this};
  const bool by_parts = run_totals == 0 && scratch_bytes() <= stack_bytes && (row == 0 || producer.row % row == 0);
  just_produced = true;
  const bool done = producer.compute(producer.context, by_parts ? &then : nullptr);
  just_produced = false;
  return done;
}

// Computes the result, and the sums of outputs that are summed by blocks.
void Run::all_in_blocks(std::int64_t size) {
  if (size <= block) return all(size);
  const std::int64_t blocks = (size - 1) / block + 1;
  const auto summed = [](const Output& z) { return z.buffer >= 0 && !z.adds; };
  detail::List<Tensor> memory;
  for (Output& z : outputs)
    if (summed(z)) {
      memory.push_back(detail::empty(DType::uint8, {blocks * static_cast<std::int64_t>(bytes)}));
      z.sums = detail::block(memory.back())->data;
    }
  all(size);
  for (const Output& z : outputs)
    if (summed(z)) sum.run({z.sums, 1}, blocks, z.data);
}

// Makes a tensor for each total: the sums of its runs, or all elements if blocks do not fit runs.
detail::List<Tensor> Run::make_parts(DType dtype, const Shape& shape) {
  detail::List<Tensor> parts;
  const bool fits = fits_runs();
  for (Output& z : outputs) {
    if (!z.by_runs) continue;
    parts.push_back(fits ? detail::empty(dtype, {(shape.elements() - 1) / run_length + 1})
                         : detail::empty(dtype, shape));
    z.by_runs = fits;
    (fits ? z.sums : z.data) = detail::block(parts.back())->data;
  }
  if (!fits) run_totals = 0;
  return parts;
}

namespace {

void add_up(const Tensor& part, const Shape& shape, const Tensor& out) {
  const std::int64_t size = shape.elements();
  if (detail::block(part)->size < size) return sum_of_runs(part, size, out);
  Shape axes;
  for (int d = 0; d < shape.rank(); ++d) axes.push_back(d);
  reduce(ReduceFunction::sum, part, axes, out);
}

}  // namespace

namespace {

// Whether x is contiguous and broadcasts along new axes alone: its elements repeat as a whole.
bool repeats_whole(const detail::Block* x, const Shape& shape) {
  return x->contiguous() && x->rank <= shape.rank() &&
         std::equal(x->extents(), x->extents() + x->rank, shape.end() - x->rank);
}

}  // namespace

// The common run without setting up a Run: a short result of operands that are contiguous, single or repeated as a
// whole is one block of all steps. Returns whether it was one.
bool Code::run_short(DType dtype, const Shape& shape, std::int64_t size, std::span<const Tensor* const> in,
                     std::span<const double> parameters, std::span<const Tensor> out) const {
  constexpr std::size_t most_places = 64;
  const std::size_t bytes = item_size(dtype), whole = static_cast<std::size_t>(size) * bytes;
  const std::size_t register_bytes = lines(whole) + cache_line;
  constexpr std::size_t most_of_chain = 2 * tuning::l1_bytes;
  if (whole > (Run::is_one_chain(*this) ? most_of_chain : std::size_t{short_bytes}) ||
      registers_ * register_bytes > register_budget ||
      in.size() + out.size() + constants_.size() + registers_ >= most_places)
    return false;
  alignas(cache_line) std::byte scratch[register_budget];
  std::byte* next = scratch + registers_ * register_bytes;  // the registers of packed operands are the last
  kernels::Strided places[most_places], *place = places;
  for (std::size_t i = 0; i < in.size(); ++i, ++place) {
    if (!uses(i)) continue;
    const detail::Block* x = detail::block(*in[i]);
    if (const bool linear = x->size == size && x->contiguous(); linear || x->size == 1) {
      *place = {x->data, linear};
    } else if (repeats_whole(x, shape) && std::end(scratch) - next >= static_cast<std::ptrdiff_t>(register_bytes)) {
      *place = {next, 1};
      fill(*place, x->data, static_cast<std::size_t>(x->size) * bytes, whole);
      next += register_bytes;
    } else {
      return false;
    }
  }
  for (const Tensor& y : out) {
    if (detail::block(y)->size != size) return false;
    *place++ = {detail::block(y)->data, 1};
  }
  double constants[most_places];
  write_constants(dtype, parameters, constants);
  for (std::size_t c = 0; c < constants_.size(); ++c) *place++ = {&constants[c], 0};
  for (std::size_t r = 0; r < registers_; ++r) *place++ = {scratch + r * register_bytes, 1};
  *place = {nullptr, 0};
  for (std::size_t c = 0; c < constants_.size(); ++c)
    if (const std::int32_t filled = constants_[c].filled; filled >= 0)
      fill(places[filled], &constants[c], bytes, whole);
  for (const Step& step : steps_) run_step(step, dtype == DType::float64, size, places);
  for (const Copy& c : copies_)
    kernels::copy(places[c.from], const_cast<void*>(places[in.size() + c.output].data), 1, size, bytes);
  return true;
}

// The run for one element.
void Code::run_scalar(DType dtype, std::span<const Tensor* const> in, std::span<const double> parameters,
                      std::span<const Tensor> out, std::span<const Write> writes) const {
  const ScalarCode& code = scalar_code(dtype);
  const std::size_t bytes = item_size(dtype);
  ScalarFile memory(code.bytes());
  std::byte* const file = memory.data();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (uses(i)) std::memcpy(file + i * bytes, detail::block(*in[i])->data, bytes);
  code.run(file, parameters);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::byte* z = file + code.first_output() + k * bytes;
    std::byte* to = detail::block(out[k])->data;
    if (write_of(writes, k) == Write::sum)
      kernels::reduction(kernels::ReduceFunction::sum, dtype).merge(to, z, 1);
    else
      std::memcpy(to, z, bytes);
  }
}

void Code::run(DType dtype, const Shape& shape, std::span<const Tensor* const> in, std::span<const double> parameters,
               std::span<const Tensor> out, std::span<const Write> writes, const Producer* producer) const {
  std::int64_t size = 1;  // Shape::elements() would check extents that tensors have already
  for (const std::int64_t extent : shape) size *= extent;
  if (size == 0) return;
  if (size == 1 && !producer) return run_scalar(dtype, in, parameters, out, writes);
  const bool only_writes = std::all_of(writes.begin(), writes.end(), [](Write how) { return how == Write::place; });
  if (only_writes && !producer && run_short(dtype, shape, size, in, parameters, out)) return;
  Run run(*this, dtype);
  run.registers = registers_;
  run.set_constants(dtype, parameters);
  detail::List<Tensor> copies;
  run.set_sources(in, shape, size, copies);
  // Other sums are sums over blocks: their bits depend on the division into blocks.
  bool sums_blocks = false;
  for (std::size_t k = 0; k < out.size(); ++k)
    sums_blocks |= detail::block(out[k])->size != size && write_of(writes, k) != Write::total;
  if (run.strided) run.choose_rows(!sums_blocks);
  run.set_outputs(out, size, writes);
  run.places = in.size() + out.size() + constants_.size() + registers_ + 1;
  run.set_block(size, !sums_blocks && run.run_totals == 0);
  if (producer && run.produce(*producer)) return;
  detail::List<Tensor> parts;
  if (run.run_totals > 0) parts = run.make_parts(dtype, shape);
  run.all_in_blocks(size);
  if (parts.empty()) return;
  auto part = parts.begin();
  for (std::size_t k = 0; k < out.size(); ++k)
    if (write_of(writes, k) == Write::total) add_up(*part++, shape, out[k]);
}

}  // namespace reel::loops
