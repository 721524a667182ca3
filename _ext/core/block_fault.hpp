// What is said of a block that was used wrongly.
#pragma once
#include <cinttypes>
#include <cstdio>

#include "block.hpp"
#include "status.hpp"

namespace ascend_infer::block_fault {

// An allocation that is no active block of the pool; `gave`: the pool allocated it once.
inline Status unknown(const Allocation &allocation, bool gave) noexcept {
  char text[160];
  std::snprintf(text, sizeof text, "the block of %zu bytes at 0x%" PRIxPTR " %s", allocation.bytes, allocation.address,
                gave ? "was freed before" : "was never allocated by this pool");
  return {gave ? StatusCode::double_free : StatusCode::foreign_block, text};
}

// Someone wrote `offset` bytes behind the last one that the block has.
inline Status overrun(const Block &block, std::size_t offset, const char *owner) noexcept {
  char text[512];
  std::snprintf(text, sizeof text, "byte %zu of a block of %zu bytes was written (at 0x%" PRIxPTR ", owner: %s)",
                block.requested + offset, block.requested, block.address, owner);
  return {StatusCode::overrun, text};
}

inline Status written_after_free(const Block &block, std::size_t offset) noexcept {
  char text[160];
  std::snprintf(text, sizeof text, "free memory was written (at 0x%" PRIxPTR
                "), through a block that was freed", block.address + offset);
  return {StatusCode::written_after_free, text};
}

}  // namespace ascend_infer::block_fault
