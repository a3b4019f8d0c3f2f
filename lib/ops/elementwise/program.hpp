// Programs shared by calls: compiled once, with the derivatives requested so far, which are programs too.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "loops/program/program.hpp"
#include "ops/apply/primitive.hpp"
#include "ops/elementwise/growing_map.hpp"

namespace reel::ops {

class Program;

/// A handle that shares a program.
class Shared {
 public:
  Shared() noexcept = default;
  explicit Shared(const Program* program) noexcept;  // adds a handle
  Shared(const Shared& other) noexcept : Shared(other.program_) {}
  Shared(Shared&& other) noexcept : program_(std::exchange(other.program_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(program_, other.program_);
    return *this;
  }
  ~Shared();
  explicit operator bool() const noexcept { return program_ != nullptr; }
  const Program& operator*() const noexcept { return *program_; }
  const Program* operator->() const noexcept { return program_; }

 private:
  const Program* program_ = nullptr;
};

/// A subset of a number of positions.
class Positions {
 public:
  explicit Positions(std::size_t size = 0) : size_(size), more_(size > 64 ? (size - 1) / 64 : 0) {}
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  bool operator[](std::size_t i) const noexcept { return word(i) >> i % 64 & 1; }
  void set(std::size_t i, bool there = true) noexcept {
    std::uint64_t& w = i < 64 ? first_ : more_[i / 64 - 1];
    w |= std::uint64_t{there} << i % 64;
  }
  friend bool operator==(const Positions&, const Positions&) = default;

 private:
  std::uint64_t word(std::size_t i) const noexcept { return i < 64 ? first_ : more_[i / 64 - 1]; }
  std::size_t size_;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;
};

/// Identifies a derivative: the cotangents of the `wanted` inputs from those of the `seeded` outputs, or the tangents
/// of the outputs from those of the `seeded` inputs (`wanted` is empty then).
struct Direction {
  Positions wanted, seeded;
  bool reverse() const noexcept { return !wanted.empty(); }
  friend bool operator==(const Direction&, const Direction&) = default;
};

/// A derivative as a program, with the parameters of the original program.
struct Derivative {
  /// What a cotangent or tangent is: absent, zero, a seed itself, or an output of the program.
  struct Result {
    enum class Kind : std::uint8_t { none, zero, source, output } kind = Kind::none;
    std::int32_t index = 0;  // of the seed or of the output
  };
  Shared program;
  /// For each input of the program: an input of the original one, or, numbered behind these, a seed: a cotangent or
  /// tangent.
  std::vector<std::int32_t> sources;
  std::vector<Result> results;
};

class Program {
 public:
  explicit Program(loops::Graph g) : graph_(std::move(g)), code_(graph_) {}
  const loops::Graph& graph() const noexcept { return graph_; }
  const loops::Code& code() const noexcept { return code_; }
  std::size_t inputs() const noexcept { return static_cast<std::size_t>(graph_.inputs); }
  std::size_t outputs() const noexcept { return graph_.outputs.size(); }
  /// Derived on first request. The reference lives as long as the program. Thread-safe.
  const Derivative& derivative(const Direction& direction) const;

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void retain() const noexcept { uses_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    if (uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  loops::Graph graph_;
  loops::Code code_;
  mutable std::atomic<std::int64_t> uses_{0};
  mutable GrowingMap<Direction, Derivative> derivatives_;
  mutable std::mutex mutex_;  // of writers
};

inline Shared::Shared(const Program* program) noexcept : program_(program) {
  if (program_) program_->retain();
}
inline Shared::~Shared() {
  if (program_) program_->release();
}

inline constexpr const char* elementwise_name = "elementwise";

/// The op for calls of users' functions. Composed ops of the library have copies of it with their own names.
const Primitive& elementwise_primitive() noexcept;

/// Calls a program, recorded. The inputs have this dtype, float32 or float64, and broadcast to the shape.
void run(const Primitive& op, const Program& program, Inputs in, std::span<const double> parameters, DType dtype,
         const Shape& shape, std::span<Tensor> out);

/// The program of this graph, shared by all calls that trace the same graph.
Shared find_program(const loops::Graph& graph);

/// Derives the graph anew.
Derivative derive(const loops::Graph& graph, const Direction& direction);

/// The formula of a derivative in the pointwise table, which must have one. The inputs are g, x, y, w and z.
loops::Graph formula_of(std::size_t definition, std::size_t k);

}  // namespace reel::ops
