// Tensor descriptions.
#include "call.hpp"
#include "dataset.hpp"
#include "dtypes.hpp"

namespace aclsim {

std::size_t TensorDesc::elements() const {
  std::size_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return 0;
    count *= static_cast<std::size_t>(dim);
  }
  return count;
}

}  // namespace aclsim

using namespace aclsim;

namespace {

constexpr int most_dims = 128;

// Asks a description; the fallback, with a message, when the handle is none.
template <typename Value, typename Get>
Value ask_desc(Function function, const aclTensorDesc* handle, Value fallback, Get get) {
  return ask(function, fallback, [&]() -> Value {
    const Lock lock(big_lock());
    TensorDesc* desc = HandleTable::get().peek<TensorDesc>(handle);
    if (desc != nullptr) return get(*desc);
    if (handle == nullptr)
      fail_null(name_of(function), "desc");
    else
      fail_handle(name_of(function), "tensor description", handle);
    return fallback;
  });
}

template <typename Use>
int use_desc(Function function, const aclTensorDesc* handle, Use use) {
  return run(function, [&] {
    if (handle == nullptr) return fail_null(name_of(function), "desc");
    const Lock lock(big_lock());
    TensorDesc* desc = HandleTable::get().peek<TensorDesc>(handle);
    return desc == nullptr ? fail_handle(name_of(function), "tensor description", handle) : use(*desc);
  });
}

}  // namespace

extern "C" aclTensorDesc* aclCreateTensorDesc(aclDataType type, int count, const int64_t* dims, aclFormat format) {
  return ask(Function::aclCreateTensorDesc, static_cast<aclTensorDesc*>(nullptr), [&]() -> aclTensorDesc* {
    if (count < 0 || count > most_dims || (count > 0 && dims == nullptr)) {
      fail_value("aclCreateTensorDesc", std::to_string(count), "numDims", "it is negative, above 128, or dims is null");
      return nullptr;
    }
    const Lock lock(big_lock());
    auto desc = std::make_shared<TensorDesc>();
    desc->type = type;
    desc->format = format;
    if (count > 0) desc->dims.assign(dims, dims + count);
    desc->slot = HandleTable::get().insert(desc);
    return reinterpret_cast<aclTensorDesc*>(desc->slot);
  });
}

extern "C" void aclDestroyTensorDesc(const aclTensorDesc* handle) {
  ask_desc(Function::aclDestroyTensorDesc, handle, 0, [&](TensorDesc& desc) {
    desc.slot = nullptr;
    HandleTable::get().erase(handle);
    return 0;
  });
}

extern "C" aclDataType aclGetTensorDescType(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescType, handle, static_cast<int>(ACL_DT_UNDEFINED),
                  [](TensorDesc& d) { return d.type; });
}
extern "C" aclFormat aclGetTensorDescFormat(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescFormat, handle, static_cast<int>(ACL_FORMAT_UNDEFINED),
                  [](TensorDesc& d) { return d.format; });
}
extern "C" size_t aclGetTensorDescSize(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescSize, handle, std::size_t{0},
                  [](TensorDesc& d) { return d.elements() * element_size(d.type); });
}
extern "C" size_t aclGetTensorDescElementCount(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescElementCount, handle, std::size_t{0},
                  [](TensorDesc& d) { return d.elements(); });
}
extern "C" size_t aclGetTensorDescNumDims(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescNumDims, handle, std::size_t{0},
                  [](TensorDesc& d) { return d.dims.size(); });
}
extern "C" int64_t aclGetTensorDescDim(const aclTensorDesc* handle, size_t index) {
  return ask_desc(Function::aclGetTensorDescDim, handle, std::int64_t{-1}, [&](TensorDesc& d) {
    if (index < d.dims.size()) return d.dims[index];
    fail_value("aclGetTensorDescDim", std::to_string(index), "index", "there are fewer dimensions");
    return std::int64_t{-1};
  });
}
extern "C" aclError aclGetTensorDescDimV2(const aclTensorDesc* handle, size_t index, int64_t* out) {
  return use_desc(Function::aclGetTensorDescDimV2, handle, [&](TensorDesc& d) {
    if (out == nullptr) return fail_null("aclGetTensorDescDimV2", "dimSize");
    if (index >= d.dims.size())
      return fail_value("aclGetTensorDescDimV2", std::to_string(index), "index", "there are fewer dimensions");
    *out = d.dims[index];
    return static_cast<int>(ok);
  });
}
extern "C" const char* aclGetTensorDescName(aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescName, handle, "", [](TensorDesc& d) { return d.name.c_str(); });
}
extern "C" void aclSetTensorDescName(aclTensorDesc* handle, const char* name) {
  ask_desc(Function::aclSetTensorDescName, handle, 0, [&](TensorDesc& d) {
    d.name = name == nullptr ? "" : name;
    return 0;
  });
}
extern "C" aclError aclSetTensorShapeRange(aclTensorDesc* handle, size_t count, int64_t (*ranges)[2]) {
  return use_desc(Function::aclSetTensorShapeRange, handle, [&](TensorDesc& d) {
    if (count > 0 && ranges == nullptr) return fail_null("aclSetTensorShapeRange", "dimsRange");
    if (count > most_dims)
      return fail_value("aclSetTensorShapeRange", std::to_string(count), "dimsCount", "it is above 128");
    d.ranges.clear();
    for (std::size_t i = 0; i < count; ++i) d.ranges.emplace_back(ranges[i][0], ranges[i][1]);
    return static_cast<int>(ok);
  });
}
extern "C" aclError aclGetTensorDescDimRange(const aclTensorDesc* handle, size_t index, size_t room, int64_t* out) {
  return use_desc(Function::aclGetTensorDescDimRange, handle, [&](TensorDesc& d) {
    if (out == nullptr) return fail_null("aclGetTensorDescDimRange", "dimRange");
    if (room < 2 || index >= d.ranges.size())
      return fail_value("aclGetTensorDescDimRange", std::to_string(index), "index",
                        "there are fewer ranges, or no room for two numbers");
    out[0] = d.ranges[index].first;
    out[1] = d.ranges[index].second;
    return static_cast<int>(ok);
  });
}
// Of a list of descriptions: a plain one is its own first.
extern "C" aclTensorDesc* aclGetTensorDescByIndex(aclTensorDesc* handle, size_t index) {
  return ask_desc(Function::aclGetTensorDescByIndex, handle, static_cast<aclTensorDesc*>(nullptr),
                  [&](TensorDesc&) -> aclTensorDesc* {
                    if (index == 0) return handle;
                    fail_value("aclGetTensorDescByIndex", std::to_string(index), "index", "there is one description");
                    return nullptr;
                  });
}
extern "C" void* aclGetTensorDescAddress(const aclTensorDesc* handle) {
  return ask_desc(Function::aclGetTensorDescAddress, handle, static_cast<void*>(nullptr),
                  [](TensorDesc&) -> void* { return nullptr; });
}
