// Programs run: a worker takes a piece of the result and goes through it in blocks, all steps for a block before the
// next one. The size of a block changes no bits.
#include <atomic>
#include <memory>
#include <reel/runtime.hpp>

#include "loops/layout.hpp"
#include "loops/loops.hpp"
#include "loops/program/program.hpp"

namespace reel::loops {

namespace {

constexpr std::int64_t piece = 16384;  // elements that one thread takes at a time
constexpr std::int64_t least_block = 64;
constexpr std::size_t register_budget = 24 * 1024;  // what all registers together may take of the first cache
constexpr std::size_t most_register_bytes = 1024;   // short blocks: memory is fetched while steps compute
constexpr std::int64_t fetch_distance = 8 * 1024;   // bytes
constexpr std::size_t stack_bytes = 48 * 1024;
constexpr std::size_t cache_line = 64;

constexpr std::size_t lines(std::size_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

struct Source {
  const std::byte* data = nullptr;
  Layout layout;
  Nest<1> nest;
  std::int32_t buffer = -1;  // the register it is laid out in
};

kernels::Loop loop_of(const Node& node, kernels::Type type) {
  const kernels::Set& set = kernels::active();
  switch (node.opcode) {
    case Opcode::value:
      return set.pointwise(node.function, type).value;
    case Opcode::product:
      return set.pointwise(node.function, type).product[node.operand];
    case Opcode::comparison:
      return set.comparison(static_cast<kernels::Comparison>(node.function), type);
    case Opcode::predicate:
      return set.test(static_cast<kernels::Predicate>(node.function), type);
    case Opcode::logical:
      return set.logic(static_cast<kernels::Logical>(node.function));
    default:
      return set.select[kernels::size_class(kernels::size_of(type))];
  }
}

}  // namespace

// One run of a program: its operands, and how the result is cut into blocks.
struct Run {
  const Code& code;
  std::size_t bytes;  // of an element
  const kernels::Reduction& sum;
  std::vector<Source> sources;
  std::vector<kernels::Loop> loops;
  std::vector<double> constants;  // a float takes the front of its cell
  struct Output {
    std::byte* data;
    std::int32_t buffer;                  // where a total's elements go, block by block; -1: they go to `data`
    std::unique_ptr<std::byte[]> totals;  // of each block
  };
  std::vector<Output> outputs;
  std::int64_t block = 0;
  std::size_t register_bytes = 0, registers = 0, places = 0;

  Run(const Code& c, DType dtype)
      : code(c),
        bytes(item_size(dtype)),
        sum(kernels::active().reduction(kernels::Reduce::sum, static_cast<kernels::Type>(dtype))) {}

  void set_constants(DType dtype, std::span<const double> parameters) {
    constants.reserve(code.constants_.size());
    for (const Code::Constant& c : code.constants_) {
      const double value = c.node.opcode == Opcode::parameter ? parameters[static_cast<std::size_t>(c.node.in[0])]
                                                              : literal_value(c.node);
      constants.push_back(value);
      if (dtype == DType::float32) {
        const auto narrow = static_cast<float>(value);
        std::memcpy(&constants.back(), &narrow, sizeof narrow);
      }
    }
  }

  void set_source(std::size_t i, const detail::Block* x, const Shape& shape) {
    Source& source = sources[i];
    source.data = x->data;
    for (int d = 0; d < shape.rank(); ++d) source.nest.push(shape.begin()[d], {broadcast_stride(x, d, shape.rank())});
    source.layout = layout_of(source.nest, 0);
    if (source.layout.kind == Layout::Kind::single && code.inputs_[i] == Code::Use::elements)
      source.layout = {Layout::Kind::strided, 1};
    if (source.layout.kind == Layout::Kind::strided) source.buffer = static_cast<std::int32_t>(registers++);
  }

  // Blocks as long as all registers fit the budget, and a multiple of the periods that are shorter.
  void set_block() {
    const std::size_t fits = std::min(most_register_bytes, register_budget / std::max<std::size_t>(registers, 1));
    block = std::max(static_cast<std::int64_t>(fits / bytes) / least_block * least_block, least_block);
    std::int64_t longest = 1;
    for (const Source& s : sources)
      if (s.layout.period <= block) longest = std::max(longest, s.layout.period);
    block = block / longest * longest;
    // A line more, so that registers do not begin at the same place of a page.
    register_bytes = lines(static_cast<std::size_t>(block) * bytes) + cache_line;
  }

  std::size_t scratch_bytes() const { return lines(places * sizeof(kernels::Strided)) + registers * register_bytes; }

  // Asks for step i's share of the memory that a later block reads and writes, so that no step waits for all of it.
  void fetch_ahead(std::int64_t offset, std::size_t i) const {
    const std::size_t whole = static_cast<std::size_t>(block) * bytes, share = lines(whole / loops.size());
    const std::size_t first = std::min(i * share, whole), last = std::min(first + share, whole);
    const auto fetch = [&](const std::byte* p) {
      p += offset + fetch_distance;
      for (std::size_t b = first; b < last; b += cache_line) __builtin_prefetch(p + b, 0, 2);
    };
    for (const Source& s : sources)
      if (s.layout.kind == Layout::Kind::linear) fetch(s.data);
    for (const Output& z : outputs)
      if (z.buffer < 0) fetch(z.data);
  }
  void all(std::int64_t size) const;
  void go(std::int64_t begin, std::int64_t end, std::byte* scratch) const;
  void go_on_stack(std::int64_t begin, std::int64_t end) const {
    alignas(cache_line) std::byte scratch[stack_bytes];
    go(begin, end, scratch);
  }
};

// `begin` is a multiple of the block, so that what repeats within a block is laid out once.
void Run::go(std::int64_t begin, std::int64_t end, std::byte* scratch) const {
  auto* place = reinterpret_cast<kernels::Strided*>(scratch);
  std::byte* const first_register = scratch + lines(places * sizeof(kernels::Strided));
  const auto buffer = [&](std::int32_t r) { return first_register + static_cast<std::size_t>(r) * register_bytes; };
  const std::size_t first_output = sources.size(), first_constant = first_output + outputs.size();
  const std::size_t first_own = first_constant + constants.size();
  for (std::size_t r = 0; r < code.registers_; ++r) place[first_own + r] = {buffer(static_cast<std::int32_t>(r)), 1};
  for (std::size_t c = 0; c < constants.size(); ++c) {
    place[first_constant + c] = {&constants[c], 0};
    if (const std::int32_t filled = code.constants_[c].filled; filled >= 0)
      kernels::fill(&constants[c], const_cast<void*>(place[filled].data), 1, block, bytes);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    place[i] = {s.data, s.layout.kind == Layout::Kind::single ? 0 : 1};
    if (s.buffer < 0) continue;
    std::byte* to = buffer(s.buffer);
    place[i].data = to;
    if (s.layout.period > block) continue;
    lay_out(s.nest, 0, s.data, bytes, begin, begin + s.layout.period, to);
    repeat(to, static_cast<std::size_t>(s.layout.period) * bytes, static_cast<std::size_t>(block) * bytes);
  }

  const bool in_memory = end - begin >= piece / 2;  // smaller arrays are in a cache already
  for (std::int64_t at = begin; at < end; at += block) {
    const std::int64_t n = std::min(block, end - at), offset = at * static_cast<std::int64_t>(bytes);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const Source& s = sources[i];
      if (s.layout.kind == Layout::Kind::linear) place[i].data = s.data + offset;
      if (s.buffer >= 0 && s.layout.period > block) lay_out(s.nest, 0, s.data, bytes, at, at + n, buffer(s.buffer));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k)
      place[first_output + k] = {outputs[k].buffer < 0 ? outputs[k].data + offset : buffer(outputs[k].buffer), 1};
    const bool fetches = in_memory && (end - at - block) * static_cast<std::int64_t>(bytes) >= fetch_distance;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (fetches) fetch_ahead(offset, i);
      const Code::Step& step = code.steps_[i];
      kernels::Strided in[node_operands];
      for (std::size_t k = 0; k < node_operands; ++k)
        in[k] = step.node.in[k] < 0 ? kernels::Strided{nullptr, 0} : place[step.node.in[k]];
      loops[i](in, const_cast<void*>(place[step.to].data), n);
    }
    for (const Code::Copy& c : code.copies_)
      kernels::copy(place[c.from], const_cast<void*>(place[first_output + c.output].data), 1, n, bytes);
    for (const Output& z : outputs)
      if (z.buffer >= 0)
        sum.run({buffer(z.buffer), 1}, n, z.totals.get() + at / block * static_cast<std::int64_t>(bytes));
  }
}

// All of the result, in parallel where it is large.
void Run::all(std::int64_t size) const {
  const std::int64_t grain = std::max(piece / block, std::int64_t{1}) * block;
  if (scratch_bytes() <= stack_bytes) {
    const auto on_stack = [&](std::int64_t begin, std::int64_t end) { go_on_stack(begin, end); };
    if (size < parallel_threshold)
      on_stack(0, size);
    else
      parallel_for(size, grain, on_stack);
    return;
  }
  // Too many registers for the stack: each worker at work holds one of as many areas of the heap.
  const std::size_t area_bytes = scratch_bytes() + cache_line, workers = static_cast<std::size_t>(num_threads());
  const auto memory = std::make_unique<std::byte[]>(area_bytes * workers);
  const auto taken = std::make_unique<std::atomic<bool>[]>(workers);
  parallel_for(size, grain, [&](std::int64_t begin, std::int64_t end) {
    std::size_t area = 0;
    while (taken[area].exchange(true, std::memory_order_acquire)) area = (area + 1) % workers;
    std::byte* scratch = memory.get() + area * area_bytes;
    scratch += (cache_line - reinterpret_cast<std::uintptr_t>(scratch) % cache_line) % cache_line;
    go(begin, end, scratch);
    taken[area].store(false, std::memory_order_release);
  });
}

void Code::run(DType dtype, const Shape& shape, std::span<const Tensor* const> in, std::span<const double> parameters,
               std::span<const Tensor> out) const {
  const std::int64_t size = shape.elements();
  if (size == 0) return;
  Run run(*this, dtype);
  run.registers = registers_;
  run.set_constants(dtype, parameters);
  run.sources.resize(in.size());
  std::vector<Tensor> copies;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!uses(i)) continue;
    const detail::Block* x = detail::block(*in[i]);
    if (transposed(x)) {
      copies.push_back(contiguous(*in[i]));
      x = detail::block(copies.back());
    }
    run.set_source(i, x, shape);
  }
  run.outputs.reserve(out.size());
  for (const Tensor& z : out) {
    const detail::Block* to = detail::block(z);
    run.outputs.push_back({to->data, to->size == size ? -1 : static_cast<std::int32_t>(run.registers++), nullptr});
  }
  run.loops.reserve(steps_.size());
  for (const Step& step : steps_) run.loops.push_back(loop_of(step.node, static_cast<kernels::Type>(dtype)));
  run.places = in.size() + out.size() + constants_.size() + registers_;
  run.set_block();

  const std::int64_t blocks = (size - 1) / run.block + 1;
  for (Run::Output& z : run.outputs)
    if (z.buffer >= 0) z.totals = std::make_unique<std::byte[]>(static_cast<std::size_t>(blocks) * run.bytes);
  run.all(size);
  for (const Run::Output& z : run.outputs)
    if (z.buffer >= 0) run.sum.run({z.totals.get(), 1}, blocks, z.data);
}

}  // namespace reel::loops
