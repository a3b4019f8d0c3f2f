// The replaced allocation function. It calls the throwing one, so that memory is freed as usual.
#include "support/out_of_memory.hpp"

#include <new>

namespace {
thread_local int armed = 0, left = 0, failed = 0;
}  // namespace

namespace support {

FailNothrowNew::FailNothrowNew(int succeed) {
  armed = 1;
  left = succeed;
  failed = 0;
}
FailNothrowNew::~FailNothrowNew() { armed = 0; }
int FailNothrowNew::failures() const { return failed; }

}  // namespace support

void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  if (armed && --left < 0) {
    ++failed;
    return nullptr;
  }
  try {
    return ::operator new[](bytes);
  } catch (...) {
    return nullptr;
  }
}
