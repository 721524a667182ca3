// Where blocks live: slots that stay where they are, are used again, and can be checked against an Allocation.
#pragma once
#include <atomic>
#include <deque>

#include "block.hpp"

namespace ascend_infer {

// Not synchronised.
class BlockTable {
 public:
  BlockTable() : first_serial_(next_range()), next_serial_(first_serial_) {}
  BlockTable(const BlockTable &) = delete;
  BlockTable &operator=(const BlockTable &) = delete;

  // An unused block with an index node. Throws std::bad_alloc and has changed nothing then.
  Block *take() {
    if (unused_ == nullptr) {
      Block &block = slots_.emplace_back();
      try {
        FreeBlocks one;
        one.insert(&block);
        block.node = one.extract(one.begin());
      } catch (...) {
        slots_.pop_back();
        throw;
      }
      block.slot = static_cast<std::uint32_t>(slots_.size() - 1);
      return &block;
    }
    Block *block = unused_;
    unused_ = block->after;
    block->before = block->after = nullptr;
    return block;
  }

  // Takes a block back that lies in no region any more.
  void put_back(Block *block) noexcept {
    block->serial = 0;
    block->before = nullptr;
    block->after = unused_;
    unused_ = block;
  }

  std::uint64_t give_serial() noexcept { return next_serial_++; }
  // Whether this table ever gave that serial.
  bool gave(std::uint64_t serial) const noexcept { return serial >= first_serial_ && serial < next_serial_; }

  // The active block behind an allocation, null when there is none.
  Block *find(const Allocation &allocation) noexcept {
    if (allocation.serial == 0 || allocation.slot >= slots_.size()) return nullptr;
    Block &block = slots_[allocation.slot];
    const bool same = block.serial == allocation.serial && block.address == allocation.address &&
                      block.requested == allocation.bytes;
    return same ? &block : nullptr;
  }

 private:
  // Each table numbers its blocks in a range of its own, so that another table's allocation is never taken for ours.
  static std::uint64_t next_range() noexcept {
    static std::atomic<std::uint64_t> tables{0};
    return ((tables.fetch_add(1, std::memory_order_relaxed) & 0xFFFFF) << 44) + 1;
  }

  std::deque<Block> slots_;
  Block *unused_ = nullptr;  // linked by `after`
  std::uint64_t first_serial_;
  std::uint64_t next_serial_;
};

}  // namespace ascend_infer
