// Data buffers, datasets, element types.
#include "call.hpp"
#include "dataset.hpp"
#include "dtypes.hpp"

namespace aclsim {

DataBuffer* Dataset::buffer(std::size_t index) const {
  if (index >= entries.size()) return nullptr;
  const Entry& entry = entries[index];
  if (entry.buffer == nullptr || entry.buffer->generation.load() != entry.generation) return nullptr;
  return HandleTable::get().peek<DataBuffer>(entry.buffer);
}

}  // namespace aclsim

using namespace aclsim;

namespace {

template <typename T>
T* peek(const char* function, const void* handle, const char* what) {
  T* object = HandleTable::get().peek<T>(handle);
  if (object == nullptr && handle == nullptr)
    fail_null(function, what);
  else if (object == nullptr)
    fail_handle(function, what, handle);
  return object;
}
// The code that peek recorded.
int recorded() { return this_thread().last_error; }

}  // namespace

extern "C" aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  return ask(Function::aclCreateDataBuffer, static_cast<aclDataBuffer*>(nullptr), [&] {
    const Lock lock(big_lock());
    auto buffer = std::make_shared<DataBuffer>();
    buffer->data = data;
    buffer->size = size;
    return reinterpret_cast<aclDataBuffer*>(HandleTable::get().insert(std::move(buffer)));
  });
}

extern "C" aclError aclDestroyDataBuffer(const aclDataBuffer* handle) {
  return run(Function::aclDestroyDataBuffer, [&] {
    const Lock lock(big_lock());
    if (peek<DataBuffer>("aclDestroyDataBuffer", handle, "dataBuffer") == nullptr) return recorded();
    HandleTable::get().erase(handle);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclUpdateDataBuffer(aclDataBuffer* handle, void* data, size_t size) {
  return run(Function::aclUpdateDataBuffer, [&] {
    const Lock lock(big_lock());
    DataBuffer* buffer = peek<DataBuffer>("aclUpdateDataBuffer", handle, "dataBuffer");
    if (buffer == nullptr) return recorded();
    buffer->data = data;
    buffer->size = size;
    return static_cast<int>(ok);
  });
}

extern "C" void* aclGetDataBufferAddr(const aclDataBuffer* handle) {
  return ask(Function::aclGetDataBufferAddr, static_cast<void*>(nullptr), [&] {
    const Lock lock(big_lock());
    const DataBuffer* buffer = peek<DataBuffer>("aclGetDataBufferAddr", handle, "dataBuffer");
    return buffer == nullptr ? nullptr : buffer->data;
  });
}

extern "C" size_t aclGetDataBufferSizeV2(const aclDataBuffer* handle) {
  return ask(Function::aclGetDataBufferSizeV2, std::size_t{0}, [&] {
    const Lock lock(big_lock());
    const DataBuffer* buffer = peek<DataBuffer>("aclGetDataBufferSizeV2", handle, "dataBuffer");
    return buffer == nullptr ? 0 : buffer->size;
  });
}

extern "C" uint32_t aclGetDataBufferSize(const aclDataBuffer* handle) {
  return ask(Function::aclGetDataBufferSize, 0u, [&] {
    const Lock lock(big_lock());
    const DataBuffer* buffer = peek<DataBuffer>("aclGetDataBufferSize", handle, "dataBuffer");
    return buffer == nullptr ? 0u : static_cast<std::uint32_t>(buffer->size);  // the cut to 32 bits is the real one's
  });
}

extern "C" size_t aclDataTypeSize(aclDataType type) {
  return ask(Function::aclDataTypeSize, std::size_t{0}, [&] { return element_size(type); });
}
extern "C" float aclFloat16ToFloat(aclFloat16 value) {
  return ask(Function::aclFloat16ToFloat, 0.0f, [&] { return half_to_float(value); });
}
extern "C" aclFloat16 aclFloatToFloat16(float value) {
  return ask(Function::aclFloatToFloat16, aclFloat16{0}, [&] {
    // Saturates: beyond the range the largest finite number comes out, for infinities too.
    const aclFloat16 half = float_to_half(value);
    return (half & 0x7C00u) == 0x7C00u ? static_cast<aclFloat16>((half & 0x8000u) | 0x7BFFu) : half;
  });
}

extern "C" aclmdlDataset* aclmdlCreateDataset(void) {
  return ask(Function::aclmdlCreateDataset, static_cast<aclmdlDataset*>(nullptr), [] {
    const Lock lock(big_lock());
    return reinterpret_cast<aclmdlDataset*>(HandleTable::get().insert(std::make_shared<Dataset>()));
  });
}

extern "C" aclError aclmdlDestroyDataset(const aclmdlDataset* handle) {
  return run(Function::aclmdlDestroyDataset, [&] {
    const Lock lock(big_lock());
    const Dataset* dataset = peek<Dataset>("aclmdlDestroyDataset", handle, "dataset");
    if (dataset == nullptr) return recorded();
    for (const Dataset::Entry& entry : dataset->entries)
      if (entry.desc != nullptr && entry.desc->slot != nullptr) HandleTable::get().erase(entry.desc->slot);
    HandleTable::get().erase(handle);
    return static_cast<int>(ok);
  });
}

extern "C" aclError aclmdlAddDatasetBuffer(aclmdlDataset* handle, aclDataBuffer* buffer) {
  return run(Function::aclmdlAddDatasetBuffer, [&] {
    const Lock lock(big_lock());
    Dataset* dataset = peek<Dataset>("aclmdlAddDatasetBuffer", handle, "dataset");
    if (dataset == nullptr) return recorded();
    if (peek<DataBuffer>("aclmdlAddDatasetBuffer", buffer, "dataBuffer") == nullptr) return recorded();
    auto* slot = reinterpret_cast<Slot*>(buffer);
    dataset->entries.push_back({slot, slot->generation.load(), nullptr});
    return static_cast<int>(ok);
  });
}

extern "C" size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* handle) {
  return ask(Function::aclmdlGetDatasetNumBuffers, std::size_t{0}, [&] {
    const Lock lock(big_lock());
    const Dataset* dataset = peek<Dataset>("aclmdlGetDatasetNumBuffers", handle, "dataset");
    return dataset == nullptr ? 0 : dataset->entries.size();
  });
}

extern "C" aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* handle, size_t index) {
  return ask(Function::aclmdlGetDatasetBuffer, static_cast<aclDataBuffer*>(nullptr), [&] {
    const Lock lock(big_lock());
    const Dataset* dataset = peek<Dataset>("aclmdlGetDatasetBuffer", handle, "dataset");
    if (dataset == nullptr) return static_cast<aclDataBuffer*>(nullptr);
    if (index >= dataset->entries.size()) {
      fail_value("aclmdlGetDatasetBuffer", std::to_string(index), "index", "the dataset has fewer buffers");
      return static_cast<aclDataBuffer*>(nullptr);
    }
    return reinterpret_cast<aclDataBuffer*>(dataset->entries[index].buffer);
  });
}

extern "C" aclError aclmdlSetDatasetTensorDesc(aclmdlDataset* handle, aclTensorDesc* desc_handle, size_t index) {
  return run(Function::aclmdlSetDatasetTensorDesc, [&] {
    const Lock lock(big_lock());
    Dataset* dataset = peek<Dataset>("aclmdlSetDatasetTensorDesc", handle, "dataset");
    if (dataset == nullptr) return recorded();
    if (index >= dataset->entries.size())
      return fail_value("aclmdlSetDatasetTensorDesc", std::to_string(index), "index", "the dataset has fewer buffers");
    Dataset::Entry& entry = dataset->entries[index];
    std::shared_ptr<TensorDesc> copy;
    if (desc_handle != nullptr) {
      const TensorDesc* desc = peek<TensorDesc>("aclmdlSetDatasetTensorDesc", desc_handle, "tensorDesc");
      if (desc == nullptr) return recorded();
      copy = std::make_shared<TensorDesc>(*desc);
      copy->slot = nullptr;
    }
    if (entry.desc != nullptr && entry.desc->slot != nullptr) HandleTable::get().erase(entry.desc->slot);
    entry.desc = copy;
    return static_cast<int>(ok);
  });
}

extern "C" aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* handle, size_t index) {
  return ask(Function::aclmdlGetDatasetTensorDesc, static_cast<aclTensorDesc*>(nullptr), [&] {
    const Lock lock(big_lock());
    const Dataset* dataset = peek<Dataset>("aclmdlGetDatasetTensorDesc", handle, "dataset");
    if (dataset == nullptr) return static_cast<aclTensorDesc*>(nullptr);
    if (index >= dataset->entries.size()) {
      fail_value("aclmdlGetDatasetTensorDesc", std::to_string(index), "index", "the dataset has fewer buffers");
      return static_cast<aclTensorDesc*>(nullptr);
    }
    const auto& desc = dataset->entries[index].desc;
    if (desc == nullptr) return static_cast<aclTensorDesc*>(nullptr);
    if (desc->slot == nullptr) desc->slot = HandleTable::get().insert(desc);
    return reinterpret_cast<aclTensorDesc*>(desc->slot);
  });
}
