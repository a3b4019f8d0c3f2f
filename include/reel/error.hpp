// The exceptions of the library. Every message names the op, what was found, and the remedy.
#pragma once
#include <reel/api.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace REEL_API reel {

namespace detail {
struct LocatedText;
/// The line of a call, for errors: the last argument of functions of lists, whose elements do not know it.
struct CallLine {
  const char* file;
  int line;
  constexpr CallLine(const char* from = __builtin_FILE(), int at = __builtin_LINE()) noexcept : file(from), line(at) {}
};
/// Of calls that headers make: errors wait for the line of the user's call.
inline constexpr CallLine no_line{nullptr, 0};
/// The same after arguments that may be left out, or be braces: no number, name or {} becomes one.
struct WrapperLine : CallLine {
  template <class T>
  requires std::is_same_v<T, CallLine>
  constexpr WrapperLine(T at) noexcept : CallLine(at) {}
};
}  // namespace detail

/// Base of everything the library throws, bad_alloc apart.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;
  /// The message. If the op knows the line that called it, the message ends with it: "... (model.cpp:41)".
  const char* what() const noexcept override;

 private:
  friend struct ErrorAccess;
  detail::LocatedText* located_ = nullptr;  // shared by copies; null if no line will be known
};

// clang-format off
/// A bad argument.
class ValueError : public Error { public: using Error::Error; ~ValueError() override; };
/// Shapes that do not fit each other or the op.
class ShapeError : public Error { public: using Error::Error; ~ShapeError() override; };
/// A dtype, or a kind of object, that the op does not support.
class TypeError : public Error { public: using Error::Error; ~TypeError() override; };
/// An index or axis out of range; it is never clamped.
class IndexError : public Error { public: using Error::Error; ~IndexError() override; };
/// A tape in the wrong state: used twice, on another thread, already active.
class TapeError : public Error { public: using Error::Error; ~TapeError() override; };
/// A name that is not registered.
class LookupError : public Error { public: using Error::Error; ~LookupError() override; };
/// A derivative that does not exist in the requested mode or order.
class NotDifferentiable : public Error { public: using Error::Error; ~NotDifferentiable() override; };
/// An operation that is impossible while a function is traced into a program, since its tensors have no elements.
class TraceError : public Error { public: using Error::Error; ~TraceError() override; };
/// A file that cannot be read or written, or whose content is malformed.
class IoError : public Error { public: using Error::Error; ~IoError() override; };
// clang-format on

namespace detail {

/// Adds the line to the message of an error of the library, which is being handled, unless it names one.
void name_line(Error& error, const CallLine& at) noexcept;
/// f(). Errors of the library that leave it name the line of the call, unless they name the line of an op that f
/// called.
template <class F>
decltype(auto) naming_line(const CallLine& at, const F& f) {
  try {
    return f();
  } catch (Error& error) {
    name_line(error, at);
    throw;
  }
}

}  // namespace detail

}  // namespace reel
