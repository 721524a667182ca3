// The blocks of one pool: best fit, split, merge. Address arithmetic only: it touches no memory it speaks of.
#pragma once
#include <vector>

#include "block_table.hpp"

namespace ascend_infer {

// What the upstream gave in one call. Its first block is the same object for ever, since merging keeps the lower one.
struct Region {
  Block *first = nullptr;
  std::size_t bytes = 0;
  bool kept = false;  // preallocated: given back only when the pool closes

  bool idle() const noexcept { return !first->active() && first->after == nullptr; }
};

// Not synchronised. All sizes are multiples of the pool's granularity. Split and merge take O(log n).
class BlockList {
 public:
  // Adds a region as one free block. Throws std::bad_alloc and has changed nothing then.
  void add_region(Address address, std::size_t bytes, bool kept);

  // Takes the smallest free block that has `bytes`, the one with the lowest address among equals, and leaves the
  // rest of it free. Null when none fits. Throws std::bad_alloc and has changed nothing then.
  Block *take(std::size_t bytes);

  // Frees an active block and merges it with free neighbours.
  void put_back(Block *block) noexcept;

  // Removes the next region, from index `from` on, that is one free block; false when there is none. Kept regions are
  // skipped unless `kept_too`. Regions must not be added in between.
  bool remove_idle_region(std::size_t &from, bool kept_too, Address &address, std::size_t &bytes) noexcept;

  Block *find(const Allocation &allocation) noexcept { return table_.find(allocation); }
  bool gave(std::uint64_t serial) const noexcept { return table_.gave(serial); }

  std::size_t active_bytes() const noexcept { return active_bytes_; }
  std::size_t held_bytes() const noexcept { return held_bytes_; }
  std::size_t reserved_bytes() const noexcept { return reserved_bytes_; }
  std::size_t largest_free_bytes() const noexcept { return free_.empty() ? 0 : (*free_.rbegin())->bytes; }
  std::size_t active_blocks() const noexcept { return active_blocks_; }
  std::size_t free_blocks() const noexcept { return free_.size(); }
  // Of the regions that a trim would give back.
  std::size_t idle_bytes() const noexcept;
  const std::vector<Region> &regions() const noexcept { return regions_; }

  // Checks every link and sum; for tests. Null when all is well, else what is wrong.
  const char *find_fault() const;

 private:
  void insert_free(Block *block) noexcept;
  void remove_free(Block *block) noexcept;
  void absorb_next(Block *block) noexcept;

  BlockTable table_;
  FreeBlocks free_;
  std::vector<Region> regions_;
  std::size_t active_bytes_ = 0;
  std::size_t held_bytes_ = 0;
  std::size_t reserved_bytes_ = 0;
  std::size_t active_blocks_ = 0;
};

}  // namespace ascend_infer
