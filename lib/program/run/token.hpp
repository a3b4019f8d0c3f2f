// Tokens: an object that one instruction leaves for another, passed on as a tensor.
#pragma once
#include <memory>
#include <reel/ops/make.hpp>

#include "core/block.hpp"
#include "core/word.hpp"

namespace reel::program {

/// An int64 tensor of one element that owns the object.
template <class T>
Tensor make_token(const std::shared_ptr<T>& object) {
  struct Holder final : detail::Owner {
    std::shared_ptr<T> object;
    std::int64_t address;
    explicit Holder(const std::shared_ptr<T>& o) : object(o), address(detail::word_of(o.get())) {}
    static void* operator new(std::size_t bytes) { return detail::allocate(bytes); }
    static void operator delete(void* p, std::size_t bytes) { detail::deallocate(p, bytes); }
  };
  auto* holder = new Holder(object);
  Tensor x = detail::borrow(&holder->address, {1}, DType::int64, holder);
  detail::block(x)->flags |= detail::token_flag;
  return x;
}

/// The object of a token that was made from a T.
template <class T>
const T* held_by(const Tensor& token) noexcept {
  return detail::pointer_of<const T>(*detail::mutable_data<std::int64_t>(token));
}

}  // namespace reel::program
