// DLPack on both sides: tensors of any layout out, hand-made structs of another library in, with counted deleters.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#define REEL_TEST_REAL_DLPACK
#endif
#include <array>
#include <atomic>
#include <complex>
#include <cstring>
#include <reel/dlpack.hpp>
#include <reel/reel.hpp>
#include <span>
#include <thread>

#include "catch.hpp"

using Catch::Contains;
using namespace reel;

namespace {

std::atomic<int> deleted{0};

// An array of another library, on the heap as theirs are: 64 doubles 0, 1, 2, ..., of which `first` is the address.
template <class M>
struct Foreign {
  M managed{};
  alignas(64) double values[64];
  std::array<std::int64_t, 40> shape, strides;

  Foreign(const Shape& extents, const Shape* steps, std::size_t first = 0) {
    for (int i = 0; i < 64; ++i) values[i] = i;
    std::copy(extents.begin(), extents.end(), shape.begin());
    if (steps) std::copy(steps->begin(), steps->end(), strides.begin());
    auto& a = managed.dl_tensor;
    a.data = values + first;
    a.device.device_type = static_cast<decltype(a.device.device_type)>(1);
    a.ndim = extents.rank();
    a.dtype = {2, 64, 1};
    a.shape = shape.data();
    a.strides = steps ? strides.data() : nullptr;
    managed.manager_ctx = this;
    managed.deleter = [](M* self) {
      ++deleted;
      delete static_cast<Foreign*>(self->manager_ctx);
    };
    if constexpr (dlpack::Versioned<M>) managed.version.major = 1;
  }
};

template <class M>
M* foreign(const Shape& extents, const Shape* steps = nullptr, std::size_t first = 0) {
  return &(new Foreign<M>(extents, steps, first))->managed;
}

template <class M>
void check_round_trips() {
  const Tensor x = reshape(arange(24.0), {2, 3, 4});
  const Tensor views[] = {x,
                          transpose(x),
                          flip(x),
                          slice(x, {reel::all, 1, reel::range_from(-1, -2)}),
                          x[1],
                          diagonal(x),
                          scalar(5.0),
                          broadcast_to(tensor({1, 2, 3, 4}), {3, 4}),
                          zeros({2, 0}),
                          ones({3, 1, 1})};
  for (const Tensor& v : views) {
    auto handle = to_dlpack<M>(v, dlpack::Copy::never);
    const auto& a = handle->dl_tensor;
    CHECK(a.data == detail::strided_data(v, DType::float64));
    CHECK(Shape(a.strides, static_cast<std::size_t>(a.ndim)) == v.strides());
    const Tensor back = from_dlpack(std::move(handle));
    CHECK_FALSE(handle);
    CHECK(detail::strided_data(back, DType::float64) == detail::strided_data(v, DType::float64));
    CHECK(array_equal(back, v));
    CHECK(array_equal(from_dlpack(to_dlpack<M>(v, dlpack::Copy::always)), v));
  }
  for (int d = 0; d <= static_cast<int>(DType::complex128); ++d) {
    const Tensor typed = cast(tensor({0, 1, 3}), static_cast<DType>(d));
    const Tensor back = from_dlpack(to_dlpack<M>(typed));
    CHECK(back.dtype() == typed.dtype());
    CHECK(array_equal(back, typed));
  }
}

template <class M>
void check_imports() {
  const int before = deleted;
  {
    const Shape backwards{-4, 1}, repeated{0, 2}, ignored{1 << 20, 3};
    CHECK(array_equal(from_dlpack(foreign<M>({2, 3})), tensor({{0, 1, 2}, {3, 4, 5}})));
    CHECK(array_equal(from_dlpack(foreign<M>({2, 3}, &backwards, 8)), tensor({{8, 9, 10}, {4, 5, 6}})));
    CHECK(array_equal(from_dlpack(foreign<M>({2, 3}, &repeated, 1)), tensor({{1, 3, 5}, {1, 3, 5}})));
    CHECK(array_equal(from_dlpack(foreign<M>({1, 2}, &ignored)), tensor({{0, 3}})));
    CHECK(from_dlpack(foreign<M>({0, 3})).shape() == Shape{0, 3});
    CHECK(from_dlpack(foreign<M>({}, nullptr, 7)).item() == 7);
    M* offset = foreign<M>({2});
    offset->dl_tensor.byte_offset = 40;
    CHECK(array_equal(from_dlpack(offset), tensor({5, 6})));
    CHECK(deleted == before + 7);

    Tensor x = from_dlpack(foreign<M>({2, 3})), view = transpose(x)[1];
    x = {};
    CHECK(deleted == before + 7);
    const Tensor slope = grad([](const Tensor& t) { return sum(t * t); })(view);
    CHECK(array_equal(slope, tensor({2, 8})));
    std::thread([last = std::move(view)]() mutable { last = {}; }).join();
    CHECK(deleted == before + 8);
  }
  Foreign<M> permanent({3}, nullptr);
  permanent.managed.deleter = nullptr;
  CHECK(from_dlpack(&permanent.managed).size() == 3);
  CHECK(deleted == before + 8);
}

// Each function makes one member invalid. A refused struct stays with the caller, which deletes it once.
template <class M>
void check_refused() {
  using Spoil = void (*)(M&);
  struct Row {
    Spoil spoil;
    const char* says;
  };
  using Type = decltype(M::dl_tensor.device.device_type);
  std::vector<Row> rows = {
      {[](M& m) { m.dl_tensor.device.device_type = static_cast<Type>(2); }, "device of type 2"},
      {[](M& m) {
         m.dl_tensor.dtype = {0, 16, 1};
       },
       "int, 16 bits, 1 lanes"},
      {[](M& m) {
         m.dl_tensor.dtype = {2, 32, 4};
       },
       "float, 32 bits, 4 lanes"},
      {[](M& m) {
         m.dl_tensor.dtype = {17, 4, 1};
       },
       "type code 17"},
      {[](M& m) { m.dl_tensor.ndim = -1; }, "-1 axes"},
      {[](M& m) { m.dl_tensor.ndim = 33; }, "33 axes"},
      {[](M& m) { m.dl_tensor.shape = nullptr; }, "shape is null"},
      {[](M& m) { m.dl_tensor.shape[0] = -2; }, "negative extent"},
      {[](M& m) { m.dl_tensor.shape[0] = std::int64_t{1} << 60; }, "[1152921504606846976, 3]"},
      {[](M& m) { m.dl_tensor.data = nullptr; }, "pointer is null"},
      {[](M& m) { m.dl_tensor.byte_offset = 4; }, "multiple of 8 bytes"},
      {[](M& m) { m.dl_tensor.strides[0] = std::int64_t{1} << 60; }, "further than memory"},
      {[](M& m) {
         m.dl_tensor.dtype = {6, 8, 1};
         m.dl_tensor.byte_offset = 12;  // in the number 1
       },
       "a boolean of shape [2, 3] is the byte 240"},
  };
  if constexpr (dlpack::Versioned<M>) rows.push_back({[](M& m) { m.version.major = 2; }, "DLPack 2.0"});
  const Shape steps{3, 1};
  for (const Row& row : rows) {
    const int before = deleted;
    dlpack::Handle<M> handle(foreign<M>({2, 3}, &steps));
    row.spoil(*handle);
    CHECK_THROWS_WITH(from_dlpack(std::move(handle)), Catch::StartsWith("from_dlpack: ") && Contains(row.says));
    CHECK(handle);
    CHECK(deleted == before);
    handle.reset();
    CHECK(deleted == before + 1);
  }
  CHECK_THROWS_AS(from_dlpack(static_cast<M*>(nullptr)), ValueError);
}

}  // namespace

TEST_CASE("tensors of any layout and dtype survive an export and an import by DLPack") {
  check_round_trips<dlpack::ManagedTensor>();
  check_round_trips<dlpack::ManagedTensorVersioned>();
}

TEST_CASE("imported DLPack arrays are deleted once") {
  check_imports<dlpack::ManagedTensor>();
  check_imports<dlpack::ManagedTensorVersioned>();
}

TEST_CASE("DLPack structs that reel does not support are refused and stay with the caller") {
  check_refused<dlpack::ManagedTensor>();
  check_refused<dlpack::ManagedTensorVersioned>();
}

TEST_CASE("a DLPack export shares the memory and keeps it alive") {
  Tensor x = tensor({1, 2, 3});
  const double* const elements = x.data<double>().data();
  const auto shared = to_dlpack(x);
  CHECK(shared->dl_tensor.data == elements);
  CHECK(shared->flags == 1);
  CHECK((shared->version.major == 1 && shared->version.minor == 0));
  CHECK(to_dlpack<dlpack::ManagedTensor>(x, dlpack::Copy::never)->dl_tensor.data == elements);
  const auto copied = to_dlpack(x, dlpack::Copy::always);
  CHECK(copied->flags == 2);
  const auto unmarked = to_dlpack<dlpack::ManagedTensor>(x);
  for (void* data : {copied->dl_tensor.data, unmarked->dl_tensor.data}) static_cast<double*>(data)[0] = 7;
  CHECK(array_equal(x, tensor({1, 2, 3})));
  CHECK(from_dlpack(to_dlpack(transpose(ones({2, 3})), dlpack::Copy::always)).is_contiguous());

  auto handle = to_dlpack(x);
  x = {};
  std::thread([&] {
    const Tensor there = from_dlpack(std::move(handle));
    CHECK(there.data<double>().data() == elements);
  }).join();
  CHECK_THROWS_AS(to_dlpack(Tensor()), ValueError);
}

TEST_CASE("bytes that are no booleans are refused where memory is borrowed or copied") {
  static const unsigned char bytes[] = {0, 1, 7, 1, 0, 1};
  const auto* const flags = reinterpret_cast<const bool*>(bytes);
  CHECK_THROWS_WITH(borrow(flags, {6}, 0), Contains("a boolean of shape [6] is the byte 7"));
  CHECK_THROWS_AS(borrow(flags, {3, 2}, {2, 1}, 0), ValueError);
  CHECK_THROWS_WITH(from_data(std::span(flags, 6)), Contains("from_data: a boolean"));
  CHECK(from_data(std::span(flags, 2)).to_vector<bool>() == std::vector<bool>{false, true});
  CHECK_THROWS_AS(borrow(flags + 5, {6}, {-1}, 0), ValueError);
  const Tensor good = borrow(flags, {2, 2}, {4, 1}, 0);  // around the byte 7
  CHECK(good.to_vector<bool>() == std::vector<bool>{false, true, false, true});
  CHECK(logical_not(good).to_vector<bool>() == std::vector<bool>{true, false, true, false});
}

#ifdef REEL_TEST_REAL_DLPACK
TEST_CASE("the structs of dlpack.h are understood, whatever its version") {
  static_assert(sizeof(::DLManagedTensor) == sizeof(dlpack::ManagedTensor));
  static_assert(offsetof(::DLManagedTensor, deleter) == offsetof(dlpack::ManagedTensor, deleter));
  check_round_trips<::DLManagedTensor>();
  check_imports<::DLManagedTensor>();
  check_refused<::DLManagedTensor>();
#if defined(DLPACK_MAJOR_VERSION) && DLPACK_MAJOR_VERSION >= 1
  static_assert(sizeof(::DLManagedTensorVersioned) == sizeof(dlpack::ManagedTensorVersioned));
  check_round_trips<::DLManagedTensorVersioned>();
  check_imports<::DLManagedTensorVersioned>();
  check_refused<::DLManagedTensorVersioned>();
#endif
}
#endif
