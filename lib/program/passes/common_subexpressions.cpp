// Common subexpression elimination.
#include <bit>
#include <cstring>

#include "program/passes/passes.hpp"

namespace reel::program {

namespace {

// What identifies an instruction or a constant, as words.
using Key = std::vector<std::uint64_t>;

// The operation, attributes and operands of an instruction.
void write_key(const Instruction& i, Key& key) {
  const ops::Operation& o = i.operation;
  const auto operand = static_cast<std::uint8_t>(o.operand);
  const unsigned flags = (o.summed ? 2u : 0u) | (i.residuals_wanted ? 1u : 0u);
  key.assign({reinterpret_cast<std::uintptr_t>(o.primitive), reinterpret_cast<std::uintptr_t>(o.check),
              std::uint64_t{o.definition} << 16 | std::uint64_t{operand} << 8 | flags, i.inputs.size()});
  key.insert(key.end(), i.inputs.begin(), i.inputs.end());
  for (const std::int64_t word : i.attributes.words()) key.push_back(static_cast<std::uint64_t>(word));
}

// A constant of one element.
void write_key(const Tensor& constant, Key& key) {
  const detail::Block* b = detail::block(constant);
  key.assign({static_cast<std::uint64_t>(b->dtype), b->rank, 0, 0});
  std::memcpy(&key[2], b->data, item_size(b->dtype));
}

// Numbers of distinct keys, found by hash. Keys are not stored: `write` writes the key of a number again.
template <class Write>
class Distinct {
 public:
  Distinct(std::size_t most, Write write) : places_(std::bit_ceil(2 * most + 2), {0, nothing}), write_(write) {}
  // The first number with the key of this one; itself if it is the first.
  Index first(Index number) {
    write_(number, key_);
    const std::uint64_t hash = hash_of(key_);
    for (std::size_t at = hash >> 32;; ++at) {
      auto& [found_hash, found] = places_[at & (places_.size() - 1)];
      if (found == nothing) {
        found_hash = static_cast<std::uint32_t>(hash);
        return found = number;
      }
      if (found_hash != static_cast<std::uint32_t>(hash)) continue;
      write_(found, other_);
      if (key_ == other_) return found;
    }
  }

 private:
  static std::uint64_t hash_of(const Key& key) noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
      hash ^= hash >> 32;
    }
    return hash * 0x9e3779b97f4a7c15u;
  }
  std::vector<std::pair<std::uint32_t, Index>> places_;
  Key key_, other_;
  Write write_;
};

class Sharing {
 public:
  explicit Sharing(Program& program) : program_(program), same_as_(program.values.size()) {
    for (Index v = 0; v < same_as_.size(); ++v) same_as_[v] = v;
  }
  void run() {
    share_constants();
    Distinct distinct(program_.instructions.size(),
                      [&](Index i, Key& key) { write_key_with_shapes(program_.instructions[i], key); });
    for (Index i = 0; i < program_.instructions.size(); ++i) {
      Instruction& instruction = program_.instructions[i];
      for (Index& o : instruction.inputs) o = replaced(o);
      const Index first = distinct.first(i);
      if (first == i) continue;
      const std::vector<Index>& outputs = program_.instructions[first].outputs;
      for (std::size_t k = 0; k < outputs.size(); ++k)
        if (instruction.outputs[k] != nothing) same_as_[instruction.outputs[k]] = outputs[k];
    }
    for (Index& o : program_.results) o = replaced(o);
  }

 private:
  void share_constants() {
    std::vector<Index> single;
    for (Index v = 0; v < program_.values.size(); ++v)
      if (program_.values[v].origin == Value::Origin::constant && detail::block(program_.values[v].tensor)->size == 1)
        single.push_back(v);
    Distinct distinct(single.size(), [&](Index v, Key& key) { write_key(program_.values[v].tensor, key); });
    for (const Index v : single) same_as_[v] = distinct.first(v);
  }
  // With what the inputs do not determine of the outputs: a derivative may have a larger shape than they have.
  void write_key_with_shapes(const Instruction& i, Key& key) const {
    write_key(i, key);
    for (const Index v : i.outputs) {
      if (v == nothing) {
        key.push_back(~std::uint64_t{0});
        continue;
      }
      const detail::Block* b = detail::block(program_.values[v].tensor);
      key.push_back(b->rank);
      for (int d = 0; d < b->rank; ++d) key.push_back(static_cast<std::uint64_t>(b->extents()[d]));
    }
  }
  Index replaced(Index operand) {
    if (operand == nothing) return nothing;
    const Index value = program_.operands[operand].value;
    if (same_as_[value] == value) return operand;
    if (program_.operands[operand].whole) return program_.whole(same_as_[value]);
    const Operand& old = program_.operands[operand];
    return program_.operand(same_as_[value], laid_out(program_.values[same_as_[value]].tensor, old.offset, old.tensor));
  }

  Program& program_;
  std::vector<Index> same_as_;  // for each value the first equal one
};

}  // namespace

void share_equal(Program& program) { Sharing(program).run(); }

}  // namespace reel::program
