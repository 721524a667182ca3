#include "block_list.hpp"

#include <utility>

namespace ascend_infer {

void BlockList::add_region(Address address, std::size_t bytes, bool kept) {
  Block *block = table_.take();
  try {
    regions_.push_back(Region{block, bytes, kept});
  } catch (...) {
    table_.put_back(block);
    throw;
  }
  block->address = address;
  block->bytes = bytes;
  insert_free(block);
  held_bytes_ += bytes;
  reserved_bytes_ += bytes;
}

Block *BlockList::take(std::size_t bytes) {
  const auto found = free_.lower_bound(BySizeAndAddress::Size{bytes});
  if (found == free_.end()) return nullptr;
  Block *block = *found;
  if (block->bytes > bytes) {
    Block *rest = table_.take();  // may throw: nothing has changed yet
    remove_free(block);
    rest->address = block->address + bytes;
    rest->bytes = block->bytes - bytes;
    rest->before = block;
    rest->after = block->after;
    if (rest->after != nullptr) rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    insert_free(rest);
  } else {
    remove_free(block);
  }
  block->serial = table_.give_serial();
  held_bytes_ -= bytes;
  active_bytes_ += bytes;
  ++active_blocks_;
  return block;
}

void BlockList::put_back(Block *block) noexcept {
  block->serial = 0;
  active_bytes_ -= block->bytes;
  held_bytes_ += block->bytes;
  --active_blocks_;
  if (block->after != nullptr && !block->after->active()) {
    remove_free(block->after);
    absorb_next(block);
  }
  if (block->before != nullptr && !block->before->active()) {
    block = block->before;
    remove_free(block);
    absorb_next(block);
  }
  insert_free(block);
}

bool BlockList::remove_idle_region(std::size_t &from, bool kept_too, Address &address, std::size_t &bytes) noexcept {
  for (; from < regions_.size(); ++from) {
    const Region &region = regions_[from];
    if (!region.idle() || (region.kept && !kept_too)) continue;
    Block *block = region.first;
    address = block->address;
    bytes = block->bytes;
    remove_free(block);
    table_.put_back(block);
    regions_[from] = regions_.back();
    regions_.pop_back();
    held_bytes_ -= bytes;
    reserved_bytes_ -= bytes;
    return true;
  }
  return false;
}

std::size_t BlockList::idle_bytes() const noexcept {
  std::size_t sum = 0;
  for (const Region &region : regions_)
    if (region.idle() && !region.kept) sum += region.bytes;
  return sum;
}

void BlockList::insert_free(Block *block) noexcept { block->position = free_.insert(std::move(block->node)).position; }

void BlockList::remove_free(Block *block) noexcept { block->node = free_.extract(block->position); }

// Neither of the two is in the index.
void BlockList::absorb_next(Block *block) noexcept {
  Block *next = block->after;
  block->bytes += next->bytes;
  block->after = next->after;
  if (block->after != nullptr) block->after->before = block;
  table_.put_back(next);
}

const char *BlockList::find_fault() const {
  std::size_t active = 0, held = 0, reserved = 0, actives = 0, frees = 0;
  for (const Region &region : regions_) {
    const Block *before = nullptr;
    std::size_t sum = 0;
    for (const Block *block = region.first; block != nullptr; before = block, block = block->after) {
      if (block->before != before) return "a block does not know the one below it";
      if (before != nullptr && before->address + before->bytes != block->address) return "blocks do not touch";
      if (before != nullptr && !before->active() && !block->active()) return "free neighbours are not merged";
      if (block->bytes == 0) return "an empty block";
      sum += block->bytes;
      (block->active() ? active : held) += block->bytes;
      if (block->active()) {
        ++actives;
      } else {
        ++frees;
        if (block->position == free_.end() || *block->position != block) return "a free block is not in the index";
      }
    }
    if (sum != region.bytes) return "the blocks of a region do not fill it";
    reserved += sum;
  }
  if (active != active_bytes_ || held != held_bytes_ || reserved != reserved_bytes_) return "a sum is wrong";
  if (actives != active_blocks_ || frees != free_.size()) return "a count is wrong";
  return nullptr;
}

}  // namespace ascend_infer
