// The .om file's outer layout: header and partition tables.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace aclsim {

inline constexpr std::uint32_t part_model_def = 0, part_weights = 1, part_tasks = 2, part_inout = 8, part_bundle = 24;
inline constexpr std::uint32_t part_parameters = 0x53494D4A, part_onnx = 0x53494D31;

struct Partition {
  std::uint32_t type;
  std::string_view bytes;
};

struct OmFile {
  std::uint32_t version = 0;
  std::uint8_t model_type = 0;
  bool unknown_shape = false;
  bool simulator_model = false;
  std::string name;
  std::vector<Partition> partitions;  // of the first model; a simulator model's private ones included

  // Empty when there is none of that type.
  std::string_view find(std::uint32_t type) const;
};

// 0, or the code of GE's first check that fails, with the reason.
int read_om(std::string_view bytes, OmFile& out, std::string& reason);

// Numbers at an offset that was checked before.
template <typename T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace aclsim
