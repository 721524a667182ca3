// Guard bytes for memory that the CPU may touch: free memory is filled with one pattern, the room behind an active
// block with another, and both are looked at again.
#pragma once
#include <cstddef>
#include <cstring>

#include "block.hpp"

namespace ascend_infer::guard {

constexpr unsigned char free_pattern = 0xDD;
constexpr unsigned char fresh_pattern = 0xCD;  // of what was allocated and not written yet
constexpr unsigned char fence_pattern = 0xFD;

inline unsigned char *bytes_at(Address address) noexcept { return reinterpret_cast<unsigned char *>(address); }

// Offset of the first byte that has another value, `size` when none has.
inline std::size_t first_other(Address address, std::size_t size, unsigned char pattern) noexcept {
  const unsigned char *bytes = bytes_at(address);
  for (std::size_t i = 0; i < size; ++i)
    if (bytes[i] != pattern) return i;
  return size;
}

inline void fill(Address address, std::size_t size, unsigned char pattern) noexcept {
  std::memset(bytes_at(address), pattern, size);
}

// Of a block just taken: the offset of a byte that someone wrote while it was free, or its size.
inline std::size_t check_free(const Block &block) noexcept {
  return first_other(block.address, block.bytes, free_pattern);
}

inline void dress(const Block &block) noexcept {
  fill(block.address, block.requested, fresh_pattern);
  fill(block.address + block.requested, block.bytes - block.requested, fence_pattern);
}

// Of a block about to be freed: bytes past its end at which someone wrote, or the size of that room.
inline std::size_t check_fence(const Block &block) noexcept {
  return first_other(block.address + block.requested, block.bytes - block.requested, fence_pattern);
}

}  // namespace ascend_infer::guard
