// One contiguous piece of a region: active (in someone's hand) or free (held by the pool).
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>

namespace ascend_infer {

using Address = std::uintptr_t;  // never dereferenced: device memory is not the CPU's to touch
using OwnerId = std::uint32_t;

// What a pool's user holds. A value: copies are fine, and freeing two of them is told apart from freeing one.
struct Allocation {
  Address address = 0;
  std::size_t bytes = 0;     // as asked for
  std::uint64_t serial = 0;  // never given twice in a process; 0: none
  std::uint32_t slot = 0;    // of the block in its table
};

struct Block;

// By size, then by address: the first block not smaller than a request is the best fit, the lowest of equals.
struct BySizeAndAddress {
  struct Size {
    std::size_t bytes;
  };
  using is_transparent = void;
  inline bool operator()(const Block *left, const Block *right) const noexcept;
  inline bool operator()(const Block *left, Size right) const noexcept;
  inline bool operator()(Size left, const Block *right) const noexcept;
};

using FreeBlocks = std::set<Block *, BySizeAndAddress>;

struct Block {
  Address address = 0;
  std::size_t bytes = 0;      // the stride: a multiple of the granularity
  std::size_t requested = 0;  // of an active block
  std::uint64_t serial = 0;   // of an active block; 0: free or unused
  std::uint32_t slot = 0;
  OwnerId owner = 0;          // of an active block
  Block *before = nullptr;    // neighbours by address in the same region
  Block *after = nullptr;
  FreeBlocks::iterator position;   // in the index, of a free block
  FreeBlocks::node_type node;      // the index's node, of a block that is not in it: freeing allocates nothing

  bool active() const noexcept { return serial != 0; }
};

inline bool BySizeAndAddress::operator()(const Block *left, const Block *right) const noexcept {
  return left->bytes != right->bytes ? left->bytes < right->bytes : left->address < right->address;
}
inline bool BySizeAndAddress::operator()(const Block *left, Size right) const noexcept {
  return left->bytes < right.bytes;
}
inline bool BySizeAndAddress::operator()(Size left, const Block *right) const noexcept {
  return left.bytes < right->bytes;
}

}  // namespace ascend_infer
