// Programs that run repeatedly in memory that the caller provides, such as the steps of a loop. A run makes no tensor.
#pragma once
#include "program/run/executable.hpp"

namespace reel::program {

/// Used by one thread.
class Executable::Session {
 public:
  /// For the results of a run, and for those apart.
  struct Memory {
    std::byte *results = nullptr, *apart = nullptr;
    std::byte* part(bool is_apart) const noexcept { return is_apart ? apart : results; }
  };
  explicit Session(const Executable& program);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();
  /// Argument k is at `place` from now on, in the layout that was traced.
  void set(std::size_t k, std::byte* place) noexcept;
  /// The same for an argument as a tensor, which must outlive its use; a token must be set in this way.
  void set(std::size_t k, const Tensor& x);
  /// Computes the results. Computed values are written to memory of fresh_bytes(false) and fresh_bytes(true) bytes;
  /// other results are arguments or constants.
  void run(const Memory& memory);
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
  using Memory = Executable::Session::Memory;
  Recurrence() = default;
  /// `passes`: whether the memory of earlier runs outlives them, so that an argument which is passed on as another one
  /// stays where it is. Otherwise it is copied.
  Recurrence(const Executable& program, std::span<const Link> links, bool passes);
  /// Bytes of a run's memory: what the session writes there, then copies of carried results that are elsewhere.
  std::int64_t bytes(bool apart = false) const noexcept { return bytes_[apart]; }
  /// Copies the carried results of a run to that memory, where they are not there already.
  void settle(const Executable::Session& session, const Memory& memory) const noexcept {
    if (copies_) copy_results(session, memory);
  }
  /// Binds the arguments of the next run. `places`: of the arguments of this one, then of the next one.
  void advance(Executable::Session& session, std::span<std::byte*> places, const Memory& memory) const noexcept;
  /// Binds the carried results as arguments of a session of this program, or of one with the same first arguments, if
  /// none is passed on.
  void carry(Executable::Session& session, const Memory& memory) const noexcept;
  std::size_t argument(std::size_t k) const noexcept { return links_[k].link.argument; }
  /// Where argument k is after this number of runs: the result of `link`, `back` runs ago; if it is not made, the
  /// initial argument of `link`.
  struct Found {
    std::size_t link, back;
    bool made;
  };
  Found find_maker(std::size_t k, std::size_t steps) const noexcept {
    for (std::size_t back = 1; back <= steps; ++back) {
      if (links_[k].made()) return {k, back, true};
      if (links_[k].from == k) break;
      k = links_[k].from;
    }
    return {k, 0, false};
  }
  /// The carried result of link k; null if the argument is passed on.
  std::byte* settled(std::size_t k, const Memory& memory) const noexcept {
    return links_[k].made() ? memory.part(links_[k].apart) + links_[k].offset : nullptr;
  }
  /// The number of further runs whose memory arguments may be in.
  std::size_t depth() const noexcept { return depth_; }
  /// Whether the result of link k is copied to the memory of a run.
  bool copies(std::size_t k) const noexcept { return links_[k].copied > 0; }
  /// Places copies of these links apart, after what the program has been told.
  void set_apart(const Executable& program, const std::vector<bool>& links);

 private:
  struct Carried {
    Link link;
    std::int64_t offset = 0;
    std::size_t copied = 0;  // offset in bytes; 0: the session writes it in place
    std::size_t from;        // the link whose argument it is; itself if unchanged, none if it is made
    bool apart = false;
    bool made() const noexcept { return from == none; }
  };
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t passed_from(const Program& p, std::span<const Link> links, std::size_t k) const;
  void order_passed(const Executable& program);
  void place(const Executable& program);
  void copy_results(const Executable::Session& session, const Memory& memory) const noexcept;

  std::vector<Carried> links_;
  std::vector<std::size_t> passed_;  // on to others, each before the link that it comes from
  std::int64_t bytes_[2] = {0, 0};
  std::size_t depth_ = 0;
  bool copies_ = false;
};

}  // namespace reel::program
