// A loaded test model with its datasets.
#pragma once
#include "check.hpp"
#include "container.hpp"

struct Run {
  uint32_t id = 0;
  aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
  std::vector<void*> memory;

  explicit Run(const TestModel& model, void* work = nullptr, void* weight = nullptr) {
    const std::string bytes = model.bytes();
    if (work == nullptr)
      OK(aclmdlLoadFromMem(bytes.data(), bytes.size(), &id));
    else
      OK(aclmdlLoadFromMemWithMem(bytes.data(), bytes.size(), &id, work, model.work, weight, model.weight));
  }
  void* add(aclmdlDataset* set, std::size_t size, const std::vector<float>& values = {}) {
    memory.push_back(to_device(values, size));
    OK(aclmdlAddDatasetBuffer(set, aclCreateDataBuffer(memory.back(), size)));
    return memory.back();
  }
  // Sets the size that the data buffer claims.
  static void claim(aclmdlDataset* set, std::size_t index, std::size_t size) {
    aclDataBuffer* buffer = aclmdlGetDatasetBuffer(set, index);
    OK(aclUpdateDataBuffer(buffer, aclGetDataBufferAddr(buffer), size));
  }
};
