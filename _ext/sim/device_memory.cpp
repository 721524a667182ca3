#include "device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../acl_types.h"
#include "options.hpp"

namespace aclsim {
namespace {

constexpr std::size_t normal_page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t huge_from = std::size_t{1} << 20;  // HUGE_FIRST takes huge pages above that
constexpr std::size_t alignment = 64;
constexpr std::size_t spread = 4;                         // addresses per byte of memory
constexpr std::size_t poisoned = std::size_t{256} << 10;  // bytes at each end of a block
constexpr std::size_t remembered = 4096;
constexpr unsigned char fresh = 0xCB, stale = 0xDB;

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace

bool DeviceMemory::open(std::uint64_t total, std::string& reason) {
  total_ = total / huge_page * huge_page;
  reserved_ = total_ * spread;
  void* hidden = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Where the program runs on the device's own processor, both are one memory and its bytes are the CPU's to touch.
  void* visible = options().run_mode == ACL_DEVICE
                      ? hidden
                      : mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (visible == MAP_FAILED || hidden == MAP_FAILED) {
    if (visible != MAP_FAILED && visible != hidden) munmap(visible, reserved_);
    if (hidden != MAP_FAILED) munmap(hidden, reserved_);
    reason = "this machine gives no " + std::to_string(2 * reserved_ >> 30) +
             " GiB of address space for the device's memory; set the option hbm_bytes lower";
    return false;
  }
#ifdef MADV_NOHUGEPAGE
  // A simulated page that is touched should cost a real page, not two megabytes.
  madvise(hidden, reserved_, MADV_NOHUGEPAGE);
#endif
  base_ = reinterpret_cast<Address>(visible);
  shadow_ = reinterpret_cast<Address>(hidden);
  // Like the driver's, addresses of huge pages are multiples of 2 MiB: leave the part before the first out.
  const Address first = round_up(base_, huge_page);
  holes_.clear();
  holes_[first] = reserved_ - (first - base_) - huge_page;
  next_ = first;
  small_ = huge_ = peak_ = 0;
  return true;
}

void DeviceMemory::close() {
  if (base_ == 0) return;
  munmap(reinterpret_cast<void*>(base_), reserved_);
  if (shadow_ != base_) munmap(reinterpret_cast<void*>(shadow_), reserved_);
  *this = DeviceMemory();
}

std::uint64_t DeviceMemory::free_huge_bytes() const {
  // Normal pages are counted as if they lay together.
  return total_ - round_up(small_, huge_page) - huge_;
}

bool DeviceMemory::take_span(std::size_t size, std::size_t align, Address& out) {
  const auto try_hole = [&](std::map<Address, std::size_t>::iterator hole, Address from) {
    const Address first = hole->first, end = hole->first + hole->second;
    const Address begin = round_up(std::max(first, from), align);
    if (begin < first || begin + size > end) return false;
    holes_.erase(hole);
    if (begin > first) holes_[first] = begin - first;
    if (begin + size < end) holes_[begin + size] = end - begin - size;
    next_ = begin + size;
    out = begin;
    return true;
  };
  // From where the last allocation ended, so that a freed address comes back as late as possible.
  auto start = holes_.upper_bound(next_);
  if (start != holes_.begin()) --start;
  for (auto hole = start; hole != holes_.end(); ++hole)
    if (try_hole(hole, next_)) return true;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole)
    if (try_hole(hole, 0)) return true;
  return false;
}

const DeviceBlock* DeviceMemory::allocate(std::size_t size, std::size_t padded, Pages pages, std::uint16_t module) {
  DeviceBlock block;
  block.size = size;
  block.padded = padded;
  block.module = module;
  const std::size_t as_huge = round_up(padded, huge_page), as_normal = round_up(padded, normal_page);
  if (padded > total_) return nullptr;
  if (pages == Pages::huge_only || (pages == Pages::huge_first && padded > huge_from))
    block.huge = as_huge <= free_huge_bytes();
  if (!block.huge && (pages == Pages::huge_only || as_normal > free_bytes())) return nullptr;
  block.span_size = block.huge ? as_huge : as_normal;
  if (!take_span(block.span_size, block.huge ? huge_page : normal_page, block.span)) return nullptr;
  (block.huge ? huge_ : small_) += block.span_size;
  peak_ = std::max(peak_, used());
  // The documents promise 64 bytes of alignment; where there is room, no more than that is given.
  block.begin = block.span + (block.span_size - padded >= alignment ? alignment : 0);
  block.serial = ++serial_;
  poison(shadow(block.begin), padded, fresh);
  return &(live_[block.begin] = block);
}

void DeviceMemory::poison(void* bytes, std::size_t size, unsigned char with) {
  auto* first = static_cast<unsigned char*>(bytes);
  if (size <= 2 * poisoned) {
    std::memset(first, with, size);
  } else {
    std::memset(first, with, poisoned);
    std::memset(first + size - poisoned, with, poisoned);
  }
}

void DeviceMemory::give_back(std::map<Address, DeviceBlock>::iterator at) {
  const DeviceBlock block = at->second;
  (block.huge ? huge_ : small_) -= block.span_size;
  if (block.span_size >= huge_page)
    madvise(shadow(block.span), block.span_size, MADV_DONTNEED);
  else
    poison(shadow(block.begin), block.padded, stale);
  live_.erase(at);
  gone_.push_back(block);
  if (gone_.size() > remembered) gone_.pop_front();
  auto hole = holes_.emplace(block.span, block.span_size).first;
  const auto after = std::next(hole);
  if (after != holes_.end() && hole->first + hole->second == after->first) {
    hole->second += after->second;
    holes_.erase(after);
  }
  if (hole != holes_.begin()) {
    const auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      holes_.erase(hole);
    }
  }
}

int DeviceMemory::release(Address address) {
  const auto at = live_.find(address);
  if (at == live_.end() || at->second.freed) {
    if (at != live_.end()) return -2;
    for (const DeviceBlock& block : gone_)
      if (block.begin == address) return -2;
    return -1;
  }
  if (at->second.busy > 0)
    at->second.freed = true;
  else
    give_back(at);
  return 0;
}

void DeviceMemory::release_all() {
  for (auto at = live_.begin(); at != live_.end();) {
    const auto next = std::next(at);
    if (at->second.busy > 0)
      at->second.freed = true;
    else
      give_back(at);
    at = next;
  }
}

DeviceBlock* DeviceMemory::block_of(Address address, std::size_t size) {
  auto at = live_.upper_bound(address);
  if (at == live_.begin()) return nullptr;
  DeviceBlock& block = std::prev(at)->second;
  if (block.freed || address + size < address || address + size > block.begin + block.padded) return nullptr;
  return &block;
}

bool DeviceMemory::let_go(DeviceBlock& block) {
  --block.busy;
  if (!block.freed) return true;
  if (block.busy == 0) give_back(live_.find(block.begin));
  return false;
}

std::string DeviceMemory::describe(Address address) const {
  char text[200];
  auto at = live_.upper_bound(address);
  if (at != live_.begin()) {
    const DeviceBlock& block = std::prev(at)->second;
    if (address < block.span + block.span_size) {
      std::snprintf(text, sizeof text, "byte %zd of the allocation of %zu bytes at 0x%zx",
                    static_cast<ssize_t>(address - block.begin), block.size, block.begin);
      return text;
    }
  }
  for (auto block = gone_.rbegin(); block != gone_.rend(); ++block)
    if (address >= block->begin && address < block->begin + block->padded) {
      std::snprintf(text, sizeof text, "byte %zu of the allocation of %zu bytes at 0x%zx, which was freed",
                    address - block->begin, block->size, block->begin);
      return text;
    }
  return "in no allocation";
}

std::map<std::uint16_t, std::uint64_t> DeviceMemory::by_module() const {
  std::map<std::uint16_t, std::uint64_t> out;
  for (const auto& [begin, block] : live_) out[block.module] += block.span_size;
  return out;
}

}  // namespace aclsim
