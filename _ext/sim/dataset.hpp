// What a program fills in before it runs a model: data buffers, tensor descriptions, datasets.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handles.hpp"

namespace aclsim {

struct DataBuffer {
  static constexpr Kind kind = Kind::data_buffer;
  void* data = nullptr;
  std::size_t size = 0;
};

struct TensorDesc {
  static constexpr Kind kind = Kind::tensor_desc;
  int type = -1;
  int format = -1;
  std::vector<std::int64_t> dims;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::string name;
  Slot* slot = nullptr;

  std::size_t elements() const;  // 0 when a dimension is unknown
};

// The gear that a dataset was set to: kept with it until another one is.
struct GearChoice {
  enum class Kind { none, batch, hw, dims } kind = Kind::none;
  std::vector<std::int64_t> values;
};

struct Dataset {
  static constexpr Kind kind = Kind::dataset;
  struct Entry {
    Slot* buffer = nullptr;  // the program's aclDataBuffer
    std::uint32_t generation = 0;
    std::shared_ptr<TensorDesc> desc;  // owned by the dataset
  };
  std::vector<Entry> entries;
  GearChoice gear;
  bool dynamic_aipp = false;

  // The entry's buffer; null when it was destroyed or never was one.
  DataBuffer* buffer(std::size_t index) const;
};

}  // namespace aclsim
