#include "task_memory.hpp"

namespace aclsim {

std::uint64_t task_memory(std::string_view bytes) {
  std::size_t at = 0;
  const auto varint = [&](std::uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 70 && at < bytes.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      if (shift < 64) out |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  std::uint64_t key = 0, value = 0;
  while (at < bytes.size() && varint(key)) {
    const std::uint64_t wire = key & 7;
    if (wire == 0) {
      if (!varint(value)) return 0;
      if (key >> 3 == 11) return value;
    } else if (wire == 2) {
      if (!varint(value) || value > bytes.size() - at) return 0;
      at += static_cast<std::size_t>(value);
    } else if (wire == 1 || wire == 5) {
      at += wire == 1 ? 8 : 4;
    } else {
      return 0;
    }
  }
  return 0;
}

}  // namespace aclsim
