// Optional header: tensors to and from other array libraries by DLPack, without a copy and without its header.
//
// The functions are templates over the C struct: DLPack's DLManagedTensor (any version) and DLManagedTensorVersioned
// (1.x). dlpack::ManagedTensor and dlpack::ManagedTensorVersioned are structs of the same layout, for programs that do
// not include <dlpack/dlpack.h>. Those that do, before or after this header, name its structs instead:
// to_dlpack<DLManagedTensor>(x). Only memory of the CPU is exchanged.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <reel/api.hpp>
#include <reel/ops/make.hpp>
#include <string>
#include <type_traits>

namespace REEL_API reel {

/// The structs of DLPack's ABI, without its header.
namespace dlpack {

/// The layouts of DLPackVersion, DLDevice and DLDataType.
struct Version {
  std::uint32_t major, minor;
};
struct Device {
  std::int32_t device_type, device_id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
/// The layout of DLTensor.
struct ArrayInfo {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null for row-major
  std::uint64_t byte_offset;
};
/// The layout of DLManagedTensor.
struct ManagedTensor {
  ArrayInfo dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};
/// The layout of DLManagedTensorVersioned, DLPack 1.0.
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  ArrayInfo dl_tensor;
};
static_assert(sizeof(void*) != 8 || (sizeof(ManagedTensor) == 64 && sizeof(ManagedTensorVersioned) == 80));

/// A struct as DLManagedTensor or DLManagedTensorVersioned.
template <class M>
concept Managed = requires(M& m) {
  m.manager_ctx;
  m.deleter(&m);
  m.dl_tensor.byte_offset;
};
template <class M>
concept Versioned = Managed<M> && requires(M& m) {
  m.version.major;
  m.flags;
};

/// Calls the struct's deleter, if it has one.
struct Delete {
  template <Managed M>
  void operator()(M* managed) const noexcept {
    if (managed->deleter) managed->deleter(managed);
  }
};
/// A struct whose deleter is called at the end, unless release() hands it to another library, which then calls it.
template <Managed M>
using Handle = std::unique_ptr<M, Delete>;

/// Whether an export has memory of its own. The others must not write to memory that a tensor shares.
enum class Copy : std::uint8_t {
  unless_marked,  ///< a copy for DLManagedTensor; shared and marked as read-only in DLManagedTensorVersioned
  always,         ///< the others may write to it
  never,          ///< shared, although DLManagedTensor cannot say that it is read-only
};

}  // namespace dlpack

namespace detail::dlpack {

// Constants of dlpack.h.
inline constexpr std::int32_t cpu = 1;
inline constexpr std::uint32_t major_version = 1, minor_version = 0;
inline constexpr std::uint64_t read_only_flag = 1, is_copied_flag = 2;
enum Code : std::uint8_t {
  int_code = 0,
  uint_code = 1,
  float_code = 2,
  bfloat_code = 4,
  complex_code = 5,
  bool_code = 6
};

struct Pairing {
  DType dtype;
  std::uint8_t code, bits;
};
inline constexpr Pairing pairings[] = {{DType::boolean, bool_code, 8},       {DType::uint8, uint_code, 8},
                                       {DType::int32, int_code, 32},         {DType::int64, int_code, 64},
                                       {DType::float16, float_code, 16},     {DType::bfloat16, bfloat_code, 16},
                                       {DType::float32, float_code, 32},     {DType::float64, float_code, 64},
                                       {DType::complex64, complex_code, 64}, {DType::complex128, complex_code, 128}};

template <class D>
DType dtype_of_dlpack(const D& type) {
  for (const Pairing& p : pairings)
    if (p.code == type.code && p.bits == type.bits && type.lanes == 1) return p.dtype;
  constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const std::string code = type.code < std::size(names) ? names[type.code] : "type code " + std::to_string(type.code);
  throw TypeError("from_dlpack: the elements are " + code + ", " + std::to_string(type.bits) + " bits, " +
                  std::to_string(type.lanes) +
                  " lanes, which is no dtype of reel; convert them to one (boolean, uint8, int32, int64, float16, "
                  "bfloat16, float32, float64, complex64 or complex128) before the exchange");
}

// What keeps an imported tensor's memory. It takes over the struct only when the tensor is complete.
template <class M>
struct ImportOwner final : Owner {
  M* managed = nullptr;
  ~ImportOwner() override {
    if (managed) reel::dlpack::Delete()(managed);
  }
};

// An exported struct with what it points to.
template <class M>
struct Export {
  M managed{};
  Tensor x;
  std::int64_t extents[max_rank], strides[max_rank];
};

inline Tensor private_copy(const Tensor& x) {
  void* data = nullptr;
  Tensor y = uninitialized(x.shape(), x.dtype(), data);
  copy_out(x, x.dtype(), data, false);
  return y;
}

template <class Array>
void require_importable(const Array& array) {
  if (static_cast<std::int32_t>(array.device.device_type) != cpu)
    throw ValueError("from_dlpack: the memory is on a device of type " +
                     std::to_string(static_cast<std::int32_t>(array.device.device_type)) +
                     ", not on the CPU (type 1); copy it there first");
  if (array.ndim < 0 || array.ndim > max_rank)
    throw ShapeError("from_dlpack: the array has " + std::to_string(array.ndim) + " axes; a tensor has 0 to " +
                     std::to_string(max_rank));
  if (array.ndim > 0 && !array.shape) throw ValueError("from_dlpack: the pointer to the shape is null");
}

}  // namespace detail::dlpack

/// x as a struct of DLPack; it keeps x alive until its deleter is called, on any thread, once. Strides are those of x,
/// 0 and negative ones included; byte_offset is 0. Booleans are kDLBool. By default memory is shared only with a struct
/// that can say that it is read-only. Not recorded. ValueError for an empty handle, TraceError while a function is
/// traced.
template <dlpack::Managed M = dlpack::ManagedTensorVersioned>
dlpack::Handle<M> to_dlpack(const Tensor& x, dlpack::Copy copy = dlpack::Copy::unless_marked) {
  namespace d = detail::dlpack;
  const bool copied = copy == dlpack::Copy::always || (copy == dlpack::Copy::unless_marked && !dlpack::Versioned<M>);
  auto owner = std::make_unique<d::Export<M>>();
  owner->x = copied ? d::private_copy(x) : x;
  const Shape shape = x.shape(), strides = owner->x.strides();
  std::copy(shape.begin(), shape.end(), owner->extents);
  std::copy(strides.begin(), strides.end(), owner->strides);

  M& managed = owner->managed;
  managed.manager_ctx = owner.get();
  managed.deleter = [](M* self) {
    if (self) delete static_cast<d::Export<M>*>(self->manager_ctx);
  };
  auto& array = managed.dl_tensor;
  array.data = const_cast<void*>(detail::strided_data(owner->x, x.dtype()));
  array.device.device_type = static_cast<decltype(array.device.device_type)>(d::cpu);
  array.ndim = x.rank();
  for (const d::Pairing& p : d::pairings)
    if (p.dtype == x.dtype()) array.dtype.code = p.code, array.dtype.bits = p.bits;
  array.dtype.lanes = 1;
  array.shape = owner->extents;
  array.strides = owner->strides;
  if constexpr (dlpack::Versioned<M>) {
    managed.version.major = d::major_version;
    managed.version.minor = d::minor_version;
    managed.flags = copied ? d::is_copied_flag : d::read_only_flag;
  }
  return dlpack::Handle<M>(&owner.release()->managed);
}

/// A tensor over the memory of a struct of DLPack, without a copy, of any strides and byte offset. The deleter, if
/// there is one, is called when the last handle to the memory is gone, on the thread that drops it. As with borrow, the
/// memory must not change meanwhile. An error leaves the struct to the caller. TypeError for element types that no
/// dtype has; ValueError for memory that is not the CPU's, not aligned to the element type, or null, for booleans that
/// are neither 0 nor 1, and for versions other than 1.x of DLManagedTensorVersioned; ShapeError for a rank above
/// max_rank or negative extents.
template <dlpack::Managed M>
Tensor from_dlpack(M* managed) {
  namespace d = detail::dlpack;
  if (!managed) throw ValueError("from_dlpack: the pointer is null");
  if constexpr (dlpack::Versioned<M>)
    if (managed->version.major != d::major_version)
      throw ValueError("from_dlpack: the struct is of DLPack " + std::to_string(managed->version.major) + "." +
                       std::to_string(managed->version.minor) + "; only versions 1.x are understood");
  const auto& array = managed->dl_tensor;
  d::require_importable(array);
  const DType dtype = d::dtype_of_dlpack(array.dtype);
  const auto rank = static_cast<std::size_t>(array.ndim);
  const Shape shape(array.shape, rank), strides(array.strides, array.strides ? rank : 0);
  const auto* data = static_cast<const std::byte*>(array.data);
  if (data) data += array.byte_offset;
  auto* owner = new detail::dlpack::ImportOwner<M>();
  Tensor x = detail::borrow_strided("from_dlpack", data, shape, array.strides ? &strides : nullptr, dtype, owner);
  owner->managed = managed;
  return x;
}
/// The same from a handle, which is empty afterwards; an error leaves it as it is.
template <dlpack::Managed M>
Tensor from_dlpack(dlpack::Handle<M>&& handle) {
  Tensor x = from_dlpack(handle.get());
  static_cast<void>(handle.release());
  return x;
}

}  // namespace reel
