// Makes non-throwing allocations fail: the workspaces of LAPACK's wrappers.
#pragma once

namespace support {

/// While it exists, `new (std::nothrow) T[n]` on this thread returns null: after `succeed` successful calls, always.
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
