// Programs that run again and again on memory that their user names, as the steps of a loop do: a run makes no tensor.
#pragma once
#include "program/run/executable.hpp"

namespace reel::program {

/// Of one thread.
class Executable::Session {
 public:
  explicit Session(const Executable& program);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  /// Argument k lies at `place` from now on, laid out as it was traced.
  void set(std::size_t k, std::byte* place) noexcept;
  /// The same of an argument as a tensor; of a token there is no other way. The tensor has to live.
  void set(std::size_t k, const Tensor& x);
  /// Computes the results. What is computed for them is written to memory of fresh_bytes(); the others are arguments
  /// and constants.
  void run(std::byte* memory);
  /// Result k of the last run.
  const Tensor& result(std::size_t k) const noexcept;
  const std::byte* place(std::size_t k) const noexcept { return detail::block(result(k))->data; }

 private:
  const Executable& program_;
  std::unique_ptr<Places> places_;
};

/// A program some of whose results are arguments of its next run.
class Recurrence {
 public:
  struct Link {
    std::size_t result, argument;
  };
  Recurrence() = default;
  Recurrence(const Executable& program, std::span<const Link> links);
  /// Of the memory of a run: what the session writes, then copies of carried results that are not among it.
  std::int64_t bytes() const noexcept { return bytes_; }
  /// Puts all carried results of a run with that memory there.
  void settle(const Executable::Session& session, std::byte* memory) const noexcept;
  /// Makes what has settled there arguments of a session of this program, or of one with the same first arguments. An
  /// argument that is handed on as it is stays where it is.
  void carry(Executable::Session& session, std::byte* memory) const noexcept;
  std::size_t argument(std::size_t k) const noexcept { return links_[k].link.argument; }
  /// Where the result of link k has settled; null where the argument is handed on as it is.
  std::byte* settled(std::size_t k, std::byte* memory) const noexcept {
    return links_[k].offset == unchanged ? nullptr : memory + links_[k].offset;
  }

 private:
  static constexpr std::int64_t unchanged = -1;
  struct Place {
    Link link;
    std::int64_t offset;
    std::size_t copied;  // bytes; 0: the session writes it there
  };
  std::vector<Place> links_;
  std::int64_t bytes_ = 0;
};

}  // namespace reel::program
