// 1. Definitions that nothing stored depends on are left out.
// 2. Each definition gets a stage, the number of its loop: even ones are of arithmetic, odd ones of calls.
// 3. Definitions without operands, such as reads of an array, are repeated in each loop that needs them. Other values
//    that a later loop needs are put into an array, which is used again after its last loop.
#include "codegen/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace reel::codegen {

namespace {

using csource::Array, csource::Definition, csource::Definitions, csource::Writer;

constexpr std::int64_t fewest_elements = 32;  // of a block
constexpr std::int64_t usual_block = 64;      // elements; with gcc 12 on an EPYC, 50 to 200 differ by 5 %
constexpr std::int64_t longest_block = 128;
constexpr std::int64_t block_step = 8;       // elements of the longest vectors
constexpr std::size_t least_arithmetic = 3;  // operations

// The length of blocks: a divisor of the extent if there is one, so that compilers know the length of every loop.
std::int64_t block_length(std::int64_t extent) {
  if (extent <= longest_block) return extent;
  for (std::int64_t length = longest_block; length >= fewest_elements; length -= block_step)
    if (extent % length == 0) return length;
  return usual_block;
}

class BlockWriter {
 public:
  BlockWriter(Writer& w, const Definitions& defined, const ElementLoop& loop)
      : w_(w), defined_(defined.list), loop_(loop), nodes_(defined.list.size()) {
    for (std::size_t k = 0; k < defined_.size(); ++k) number_[defined_[k].name] = k;
    find_operands();
    find_live();
    find_stages();
    find_last_stages();
  }
  bool gains() const {
    std::size_t arithmetic = 0, calls = 0;
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k].live && !is_free(k)) ++(defined_[k].calls ? calls : arithmetic);
    return calls > 0 && arithmetic >= least_arithmetic;
  }
  void write() {
    const csource::Blocks block(w_);
    open_block();
    for (std::size_t stage = 0; stage <= last_stage_; ++stage) write_stage(stage);
  }

 private:
  struct Node {
    std::vector<std::size_t> operands = {};
    bool live = false;
    std::size_t stage = 0, last_stage = 0;  // the loop that computes it, the last one that reads it
    Array place = {};
  };
  void find_operands() {
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      csource::for_each_identifier(defined_[k].value, [&](std::string_view name) {
        if (const auto at = number_.find(name); at != number_.end()) nodes_[k].operands.push_back(at->second);
      });
  }
  void find_live() {
    for (const auto& [element, value] : loop_.stores)
      if (const auto at = number_.find(value); at != number_.end()) nodes_[at->second].live = true;
    for (std::size_t k = nodes_.size(); k-- > 0;)
      if (nodes_[k].live)
        for (const std::size_t x : nodes_[k].operands) nodes_[x].live = true;
  }
  bool is_free(std::size_t k) const { return nodes_[k].operands.empty() && !defined_[k].calls; }
  void find_stages() {
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      Node& node = nodes_[k];
      if (!node.live) continue;
      for (const std::size_t x : node.operands)
        node.stage = std::max(node.stage, nodes_[x].stage + (defined_[x].calls ? 1 : 0));
      if (defined_[k].calls) node.stage |= 1;
      if (!is_free(k)) last_stage_ = std::max(last_stage_, node.stage);
    }
  }
  // The loop that stores a value. Where an array that is read may change, the last one.
  std::size_t stage_of_store(const std::string& value) const {
    const auto at = number_.find(value);
    return loop_.reads_stored || at == number_.end() ? last_stage_ : nodes_[at->second].stage;
  }
  void find_last_stages() {
    const auto read = [&](std::size_t k, std::size_t stage) {
      nodes_[k].last_stage = std::max(nodes_[k].last_stage, stage);
    };
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k].live)
        for (const std::size_t x : nodes_[k].operands) read(x, nodes_[k].stage);
    for (const auto& [element, value] : loop_.stores)
      if (const auto at = number_.find(value); at != number_.end()) read(at->second, stage_of_store(value));
  }

  // Blocks whose length does not divide the extent overlap the one before, or, where that would change an array that is
  // read, end early.
  void open_block() {
    const std::int64_t n = loop_.extent;
    length_ = block_length(n);
    first_ = "0";
    end_ = std::to_string(n);
    if (length_ == n) return;
    const std::string at = w_.new_name("n");
    w_.open(fmt::format("for (int32_t {0} = 0; {0} < {1}; {0} += {2})", at, n, length_));
    w_.declare(at, "int32_t");
    first_ = at;
    end_ = fmt::format("{} + {}", at, length_);
    if (n % length_ == 0) return;
    if (loop_.reads_stored) {
      end_ = w_.index_variable(fmt::format("{0} < {1} ? {0} + {2} : {3}", at, n - length_, length_, n));
    } else {
      first_ = w_.index_variable(fmt::format("{0} < {1} ? {0} : {1}", at, n - length_));
      end_ = fmt::format("{} + {}", first_, length_);
    }
  }
  std::string element(const Array& place) const {
    csource::Index at(loop_.index);
    if (first_ != "0") at = at - csource::Index(first_);
    const csource::Index position[] = {at};
    return place.at(position);
  }
  void define(const Definition& d, const std::string& value) {
    const char* const type = d.truth ? "int" : csource::type_of(d.dtype);
    w_.statement(fmt::format("const {} {} = {}", type, d.name, value));
  }
  // Free definitions, and values of earlier loops, that this loop reads.
  void write_operands(std::size_t stage) {
    std::vector<bool> read(nodes_.size());
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k].live && nodes_[k].stage == stage && !is_free(k))
        for (const std::size_t x : nodes_[k].operands) read[x] = true;
    for (const auto& [element, value] : loop_.stores)
      if (const auto at = number_.find(value); at != number_.end() && stage_of_store(value) == stage)
        read[at->second] = true;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (!read[k]) continue;
      if (is_free(k))
        define(defined_[k], defined_[k].value);
      else if (nodes_[k].stage != stage)
        define(defined_[k], element(nodes_[k].place));
    }
  }
  bool is_empty(std::size_t stage) const {
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k].live && nodes_[k].stage == stage && !is_free(k)) return false;
    return std::none_of(loop_.stores.begin(), loop_.stores.end(),
                        [&](const auto& store) { return stage_of_store(store.second) == stage; });
  }
  void write_stage(std::size_t stage) {
    if (is_empty(stage)) return;
    const csource::Blocks nest(w_);
    w_.open(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", loop_.index, first_, end_));
    write_operands(stage);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      if (!nodes_[k].live || is_free(k) || nodes_[k].stage != stage) continue;
      define(defined_[k], defined_[k].value);
      if (nodes_[k].last_stage == stage) continue;
      nodes_[k].place = take(k);
      w_.statement(fmt::format("{} = {}", element(nodes_[k].place), defined_[k].name));
    }
    for (const auto& [to, value] : loop_.stores)
      if (stage_of_store(value) == stage) w_.statement(fmt::format("{} = {}", to, value));
  }
  // An array for a value: one whose value no later loop than the ones before this reads, or a new one.
  Array take(std::size_t k) {
    const DType dtype = defined_[k].dtype;
    for (Slot& slot : slots_)
      if (slot.place.dtype == dtype && slot.last_stage < nodes_[k].stage) {
        slot.last_stage = nodes_[k].last_stage;
        return slot.place;
      }
    slots_.push_back({w_.temporary(dtype, {length_}), nodes_[k].last_stage});
    return slots_.back().place;
  }

  struct Slot {
    Array place;
    std::size_t last_stage;
  };
  Writer& w_;
  const std::vector<Definition>& defined_;
  const ElementLoop& loop_;
  std::vector<Node> nodes_;  // for each definition
  std::map<std::string, std::size_t, std::less<>> number_;
  std::size_t last_stage_ = 0;
  std::int64_t length_ = 0;
  std::string first_, end_;  // of the elements of a block
  std::vector<Slot> slots_;
};

}  // namespace

bool gains_by_blocks(Writer& w, const Definitions& defined, const ElementLoop& loop) {
  return !defined.others && loop.extent >= fewest_elements && BlockWriter(w, defined, loop).gains();
}

void write_in_blocks(Writer& w, const Definitions& defined, const ElementLoop& loop) {
  BlockWriter(w, defined, loop).write();
}

}  // namespace reel::codegen
