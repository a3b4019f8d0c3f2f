// Programs that run repeatedly in memory that the caller provides, such as the steps of a loop. A run makes no tensor.
#pragma once
#include "program/run/executable.hpp"

namespace reel::program {

/// Used by one thread.
class Executable::Session {
 public:
  explicit Session(const Executable& program);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  /// Argument k is at `place` from now on, in the layout that was traced.
  void set(std::size_t k, std::byte* place) noexcept;
  /// The same for an argument as a tensor, which must outlive its use; a token must be set in this way.
  void set(std::size_t k, const Tensor& x);
  /// Computes the results. Computed values are written to memory of fresh_bytes() bytes; other results are arguments or
  /// constants.
  void run(std::byte* memory);
  /// Result k of the last run.
  const Tensor& result(std::size_t k) const noexcept;
  const std::byte* place(std::size_t k) const noexcept { return detail::block(result(k))->data; }

 private:
  const Executable& program_;
  std::unique_ptr<SessionFrame> session_frame_;
};

/// Carries results of a program over to the arguments of its next run.
class Recurrence {
 public:
  struct Link {
    std::size_t result, argument;
  };
  Recurrence() = default;
  Recurrence(const Executable& program, std::span<const Link> links);
  /// Bytes of a run's memory: what the session writes there, then copies of carried results that are elsewhere.
  std::int64_t bytes() const noexcept { return bytes_; }
  /// Copies the carried results of a run to that memory, where they are not there already.
  void settle(const Executable::Session& session, std::byte* memory) const noexcept;
  /// Binds the carried results as arguments of a session of this program, or of one with the same first arguments. An
  /// argument that is passed on unchanged keeps its place.
  void carry(Executable::Session& session, std::byte* memory) const noexcept;
  std::size_t argument(std::size_t k) const noexcept { return links_[k].link.argument; }
  /// The carried result of link k; null if the argument is passed on unchanged.
  std::byte* settled(std::size_t k, std::byte* memory) const noexcept {
    return links_[k].offset == unchanged ? nullptr : memory + links_[k].offset;
  }

 private:
  static constexpr std::int64_t unchanged = -1;
  struct Carried {
    Link link;
    std::int64_t offset;
    std::size_t copied;  // offset in bytes; 0: the session writes it in place
  };
  std::vector<Carried> links_;
  std::int64_t bytes_ = 0;
};

}  // namespace reel::program
