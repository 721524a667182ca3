// Who holds a pool's memory: "weights of resnet50", "workspace of resnet50_0", "slots of resnet50_0".
#pragma once
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "block.hpp"

namespace ascend_infer {

struct OwnerUsage {
  std::string name;
  std::size_t active_bytes = 0;
  std::size_t peak_active_bytes = 0;
  std::size_t active_blocks = 0;
  std::size_t allocations = 0;  // ever
};

// Not synchronised. An owner is known while someone has acquired it or it holds a block, and forgotten after that.
class OwnerTable {
 public:
  // The owner of that name, a new one when there is none. Throws std::bad_alloc and has changed nothing then.
  OwnerId acquire(const std::string &name) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) {
      ++entries_[known->second].acquired;
      return known->second;
    }
    if (unused_.empty()) {
      unused_.reserve(entries_.size() + 1);  // so that forgetting allocates nothing
      entries_.emplace_back();
      unused_.push_back(static_cast<OwnerId>(entries_.size() - 1));
    }
    const OwnerId id = unused_.back();
    OwnerUsage usage;
    usage.name = name;
    ids_.emplace(name, id);
    unused_.pop_back();
    entries_[id].usage = std::move(usage);
    entries_[id].acquired = 1;
    return id;
  }

  bool release(OwnerId id) noexcept {
    if (!knows(id) || entries_[id].acquired == 0) return false;
    --entries_[id].acquired;
    forget_if_done(id);
    return true;
  }

  bool knows(OwnerId id) const noexcept { return id < entries_.size() && entries_[id].in_use(); }
  const OwnerUsage &usage(OwnerId id) const noexcept { return entries_[id].usage; }

  void allocated(OwnerId id, std::size_t bytes) noexcept {
    OwnerUsage &usage = entries_[id].usage;
    usage.active_bytes += bytes;
    usage.peak_active_bytes = std::max(usage.peak_active_bytes, usage.active_bytes);
    ++usage.active_blocks;
    ++usage.allocations;
  }
  void freed(OwnerId id, std::size_t bytes) noexcept {
    OwnerUsage &usage = entries_[id].usage;
    usage.active_bytes -= bytes;
    --usage.active_blocks;
    forget_if_done(id);
  }

  // Every known owner, those with the most active bytes first.
  std::vector<OwnerUsage> largest_first() const {
    std::vector<OwnerUsage> all;
    for (const Entry &entry : entries_)
      if (entry.in_use()) all.push_back(entry.usage);
    std::sort(all.begin(), all.end(), [](const OwnerUsage &left, const OwnerUsage &right) {
      return left.active_bytes != right.active_bytes ? left.active_bytes > right.active_bytes : left.name < right.name;
    });
    return all;
  }

 private:
  struct Entry {
    OwnerUsage usage;
    std::size_t acquired = 0;
    bool in_use() const noexcept { return acquired != 0 || usage.active_blocks != 0; }
  };

  void forget_if_done(OwnerId id) noexcept {
    if (entries_[id].in_use()) return;
    ids_.erase(entries_[id].usage.name);
    unused_.push_back(id);  // capacity was reserved when the entry was made
  }

  std::vector<Entry> entries_;
  std::vector<OwnerId> unused_;
  std::unordered_map<std::string, OwnerId> ids_;
};

}  // namespace ascend_infer
