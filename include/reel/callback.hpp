// Callback: a copyable, type-erased function for callbacks of the user. (<functional> costs every including file 13000
// lines.) Copies share the function object. Calling an empty one is undefined: check with operator bool.
#pragma once
#include <reel/api.hpp>
#include <type_traits>
#include <utility>

namespace REEL_API reel {

template <class Signature>
class Callback;

/// A copyable function object of one signature, as std::function is one, whose copies share the callable.
template <class R, class... A>
class Callback<R(A...)> {
 public:
  Callback() noexcept = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, Callback>) && std::is_invocable_r_v<R, F&, A...> Callback(F f)
      : body_(new Holder<F>(std::move(f))) {}
  Callback(const Callback& other) noexcept : body_(other.body_) {
    if (body_) __atomic_fetch_add(&body_->uses, 1, __ATOMIC_RELAXED);
  }
  Callback(Callback&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Callback& operator=(Callback other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Callback() {
    if (body_ && __atomic_fetch_sub(&body_->uses, 1, __ATOMIC_ACQ_REL) == 1) delete body_;
  }
  explicit operator bool() const noexcept { return body_ != nullptr; }
  R operator()(A... arguments) const { return body_->call(std::forward<A>(arguments)...); }

 private:
  struct Body {
    int uses = 1;
    virtual R call(A... arguments) = 0;
    virtual ~Body() = default;
  };
  template <class F>
  struct Holder final : Body {
    explicit Holder(F f) : function(std::move(f)) {}
    R call(A... arguments) override { return function(std::forward<A>(arguments)...); }
    F function;
  };
  Body* body_ = nullptr;
};

}  // namespace reel
