// Makes allocations fail that report failure instead of throwing: the work space of LAPACK's wrappers.
#pragma once

namespace support {

/// While it lives, `new (std::nothrow) T[n]` on this thread gives null: the one after `succeed` others, and all later.
class FailNothrowNew {
 public:
  explicit FailNothrowNew(int succeed = 0);
  FailNothrowNew(const FailNothrowNew&) = delete;
  FailNothrowNew& operator=(const FailNothrowNew&) = delete;
  ~FailNothrowNew();
  /// How many have failed so far.
  int failures() const;
};

}  // namespace support
