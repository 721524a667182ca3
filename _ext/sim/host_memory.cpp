#include "host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace aclsim {
namespace {

constexpr std::size_t page = 4096;
constexpr std::uint64_t quarantine_bytes = std::uint64_t{1} << 30;  // of addresses; their memory is given back
constexpr std::size_t quarantine_blocks = 1024;

}  // namespace

HostMemory& HostMemory::get() {
  static auto* memory = new HostMemory;
  return *memory;
}

void* HostMemory::allocate(std::size_t size, int device) {
  if (size > SIZE_MAX / 2) return nullptr;
  HostBlock block;
  block.mapped = (size + page - 1) / page * page;
  // Pages that the machine cannot back would be refused by a driver that pins them.
  const auto physical = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  if (block.mapped > physical) return nullptr;
  void* area = mmap(nullptr, block.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return nullptr;
  // The end of the block is the end of its last page as far as 64 bytes of alignment allow: an overrun faults soon.
  block.begin = reinterpret_cast<std::uintptr_t>(area) + (block.mapped - size) / 64 * 64;
  block.size = size;
  block.device = device;
  std::memset(reinterpret_cast<void*>(block.begin), 0xCB, std::min(size, page));
  live_[block.begin] = block;
  bytes_ += block.mapped;
  peak_ = std::max(peak_, bytes_);
  return reinterpret_cast<void*>(block.begin);
}

void HostMemory::give_back(std::map<std::uintptr_t, HostBlock>::iterator at) {
  const HostBlock block = at->second;
  live_.erase(at);
  if (block.mapped == 0) return;
  bytes_ -= block.mapped;
  void* area = reinterpret_cast<void*>(block.begin / page * page);
  madvise(area, block.mapped, MADV_DONTNEED);
  mprotect(area, block.mapped, PROT_NONE);
  gone_.push_back(block);
  gone_bytes_ += block.mapped;
  while (gone_.size() > quarantine_blocks || gone_bytes_ > quarantine_bytes) {
    const HostBlock& oldest = gone_.front();
    munmap(reinterpret_cast<void*>(oldest.begin / page * page), oldest.mapped);
    gone_bytes_ -= oldest.mapped;
    gone_.pop_front();
  }
}

int HostMemory::release(const void* address) {
  const auto at = live_.find(reinterpret_cast<std::uintptr_t>(address));
  if (at == live_.end() || at->second.mapped == 0) {
    if (const auto old = old_.find(reinterpret_cast<std::uintptr_t>(address)); old != old_.end()) {
      munmap(reinterpret_cast<void*>(old->first / page * page), old->second.mapped);
      old_.erase(old);
      return 0;
    }
    for (const HostBlock& block : gone_)
      if (block.begin == reinterpret_cast<std::uintptr_t>(address)) return -2;
    return -1;
  }
  if (at->second.freed) return -2;
  if (at->second.busy > 0)
    at->second.freed = true;
  else
    give_back(at);
  return 0;
}

int HostMemory::add(const void* address, std::size_t size, int device) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto after = live_.lower_bound(begin);
  if (after != live_.end() && after->first < begin + size) return -1;
  if (after != live_.begin() && std::prev(after)->first + std::prev(after)->second.size > begin) return -1;
  HostBlock block;
  block.begin = begin;
  block.size = size;
  block.device = device;
  live_[begin] = block;
  return 0;
}

int HostMemory::remove(const void* address) {
  const auto at = live_.find(reinterpret_cast<std::uintptr_t>(address));
  if (at == live_.end() || at->second.mapped != 0 || at->second.freed) return -1;
  if (at->second.busy > 0)
    at->second.freed = true;
  else
    live_.erase(at);
  return 0;
}

void HostMemory::forget() {
  for (const auto& [begin, block] : live_)
    if (block.mapped != 0) old_[begin] = block;
  live_.clear();
  bytes_ = peak_ = 0;
}

HostBlock* HostMemory::block_of(std::uintptr_t address, std::size_t size) {
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  HostBlock& block = std::prev(after)->second;
  if (block.freed || address + size < address || address + size > block.begin + block.size) return nullptr;
  return &block;
}

bool HostMemory::was_freed(std::uintptr_t address) const {
  return std::any_of(gone_.begin(), gone_.end(), [=](const HostBlock& block) {
    return address >= block.begin / page * page && address < block.begin / page * page + block.mapped;
  });
}

bool HostMemory::let_go(HostBlock& block) {
  --block.busy;
  if (!block.freed) return true;
  if (block.busy == 0) give_back(live_.find(block.begin));
  return false;
}

}  // namespace aclsim
