// Memory by lifetime. A value gets the lowest place that is free from the instruction that computes it to the last one
// that reads it. A pointwise operation, or a sum and a matrix product, writes in place if its operand is not needed
// afterwards.
#include "program/run/plan.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "ops/product/matmul.hpp"

namespace reel::program {

namespace {

// First fit among free places, in classes by size: the lowest place of all classes whose places are large enough, or
// one of the first few that fit in the class before. Classes hold one size each up to 2 KiB, then 16 classes an octave.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    if (bytes == 0) return 0;
    const auto [begin, size] = lowest_of(bytes);
    if (size == 0) {
      end_ += bytes;
      most_ = std::max(most_, end_);
      return end_ - bytes;
    }
    forget(begin, size);
    if (size > bytes) add(begin + bytes, size - bytes);
    return begin;
  }
  // Joins the place with free ones beside it.
  void give_back(std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0) return;
    if (const auto after = free_.find(begin + bytes); after != free_.end()) {
      const std::int64_t size = after->second;
      forget(begin + bytes, size);
      bytes += size;
    }
    if (auto before = free_.lower_bound(begin); before != free_.begin()) {
      const auto [from, size] = *--before;
      if (from + size == begin) {
        forget(from, size);
        begin = from;
        bytes += size;
      }
    }
    if (begin + bytes == end_)
      end_ = begin;
    else
      add(begin, bytes);
  }
  // The most that was taken at once.
  std::int64_t bytes() const noexcept { return most_; }

 private:
  struct Place {
    std::int64_t begin, size;  // size 0: there is none
  };
  // Sizes are multiples of 64: the class of n such units is its five leading bits and their exponent.
  static int class_of(std::int64_t bytes) noexcept {
    const auto units = static_cast<std::uint64_t>(bytes) / 64;
    const int shift = std::max(static_cast<int>(std::bit_width(units)) - 5, 0);
    return shift * 16 + static_cast<int>(units >> shift);
  }
  Place lowest_of(std::int64_t bytes) const {
    Place lowest{0, 0};
    const int own = class_of(bytes);
    auto at = classes_.lower_bound(own);
    if (at != classes_.end() && at->first == own) {
      constexpr int most_tried = 16;
      int tried = 0;
      for (const auto& [begin, size] : at->second) {
        if (size >= bytes) lowest = {begin, size};
        if (size >= bytes || ++tried == most_tried) break;
      }
      ++at;
    }
    for (; at != classes_.end(); ++at)
      if (const auto& [begin, size] = *at->second.begin(); lowest.size == 0 || begin < lowest.begin)
        lowest = {begin, size};
    return lowest;
  }
  void add(std::int64_t begin, std::int64_t size) {
    free_.emplace(begin, size);
    classes_[class_of(size)].emplace(begin, size);
  }
  void forget(std::int64_t begin, std::int64_t size) {
    free_.erase(begin);
    const auto at = classes_.find(class_of(size));
    at->second.erase(begin);
    if (at->second.empty()) classes_.erase(at);
  }

  std::map<std::int64_t, std::int64_t> free_;                    // sizes of places below end_, by their beginnings
  std::map<int, std::map<std::int64_t, std::int64_t>> classes_;  // the same, divided into classes, none empty
  std::int64_t end_ = 0, most_ = 0;
};

class Planner {
 public:
  explicit Planner(const Program& p) : program_(p), last_use_(p.values.size()) {
    plan_.offset.assign(p.values.size(), Plan::elsewhere);
    plan_.escapes.resize(p.values.size());
    for (const Index o : p.results) plan_.escapes[p.operands[o].value] = true;
    for (Index v = 0; v < p.values.size(); ++v)
      if (is_token(p.values[v].tensor)) plan_.escapes[v] = true;
    for (std::size_t i = 0; i < p.instructions.size(); ++i) {
      for (const Index o : p.instructions[i].inputs)
        if (o != nothing) last_use_[p.operands[o].value] = i;
      for (const Index v : p.instructions[i].outputs)
        if (v != nothing) last_use_[v] = i;
    }
  }
  Plan run() {
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      const Instruction& instruction = program_.instructions[i];
      for (const Index v : instruction.outputs)
        if (v != nothing && !plan_.escapes[v]) take(v, i);
      for (const Index o : instruction.inputs)
        if (o != nothing) give_back(program_.operands[o].value, i);
      for (const Index v : instruction.outputs)
        if (v != nothing) give_back(v, i);
    }
    plan_.bytes = arena_.bytes();
    return std::move(plan_);
  }

 private:
  std::int64_t bytes(Index v) const { return padded_bytes(program_.values[v].tensor); }

  // The operands whose memory the output may take.
  static std::span<const Index> overwritable(const Instruction& i) {
    if (i.operation.primitive == &ops::matmul_added()) return {i.inputs.data(), 1};
    return i.pointwise() && !i.operation.summed ? std::span<const Index>(i.inputs) : std::span<const Index>();
  }
  // An operand of the instruction whose memory its output takes.
  Index dying_operand(const Instruction& instruction, Index output, std::size_t at) const {
    const detail::Block* z = detail::block(program_.values[output].tensor);
    for (const Index o : overwritable(instruction)) {
      const Operand& operand = program_.operands[o];
      const detail::Block* x = detail::block(operand.tensor);
      if (plan_.offset[operand.value] == Plan::elsewhere || last_use_[operand.value] != at || !operand.whole) continue;
      if (x->dtype == z->dtype && x->rank == z->rank &&
          std::equal(x->extents(), x->extents() + x->rank, z->extents()) && only_whole(instruction, operand.value))
        return operand.value;
    }
    return nothing;
  }
  // Whether no operand of the instruction is a view of the value: views are read at other positions than are written.
  bool only_whole(const Instruction& instruction, Index value) const {
    return std::all_of(instruction.inputs.begin(), instruction.inputs.end(),
                       [&](Index o) { return program_.operands[o].value != value || program_.operands[o].whole; });
  }

  void take(Index v, std::size_t at) {
    if (const Index x = dying_operand(program_.instructions[at], v, at); x != nothing) {
      plan_.offset[v] = plan_.offset[x];
      moved_.push_back(x);
      return;
    }
    plan_.offset[v] = arena_.take(bytes(v));
  }
  void give_back(Index v, std::size_t at) {
    if (plan_.offset[v] == Plan::elsewhere || last_use_[v] != at) return;
    if (const auto moved = std::find(moved_.begin(), moved_.end(), v);
        moved != moved_.end()) {  // its successor owns the place
      moved_.erase(moved);
      last_use_[v] = ~std::size_t{0};
      return;
    }
    last_use_[v] = ~std::size_t{0};
    arena_.give_back(plan_.offset[v], bytes(v));
  }

  const Program& program_;
  Plan plan_;
  std::vector<std::size_t> last_use_;  // for each value: the last instruction that reads or computes it
  Arena arena_;
  std::vector<Index> moved_;  // operands whose memory the output of this instruction takes
};

}  // namespace

std::int64_t padded_bytes(const Tensor& x) {
  constexpr std::int64_t alignment = 64;  // a cache line
  const detail::Block* b = detail::block(x);
  const std::int64_t bytes = b->size * static_cast<std::int64_t>(item_size(b->dtype));
  return (bytes + alignment - 1) / alignment * alignment;
}

Plan plan_memory(const Program& program) { return Planner(program).run(); }

}  // namespace reel::program
