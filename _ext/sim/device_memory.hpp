// One device's memory: addresses that the CPU cannot touch, limits, page rounding, what lives where.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace aclsim {

using Address = std::uintptr_t;

struct DeviceBlock {
  Address begin = 0;          // what the caller got
  std::size_t size = 0;       // what the caller asked for
  std::size_t padded = 0;     // what ACL asks the driver for: rounded up to 32, plus 32
  Address span = 0;           // addresses taken, page-aligned
  std::size_t span_size = 0;  // bytes of memory taken
  bool huge = false;
  bool freed = false;  // freed while a task worked on it; goes when that ends
  int busy = 0;        // running tasks that work on it
  std::uint64_t serial = 0;
  std::uint16_t module = 0;
};

// Guarded by the big lock; the bytes behind the addresses are not.
class DeviceMemory {
 public:
  // False with a reason when the machine gives no address space.
  bool open(std::uint64_t total, std::string& reason);
  void close();
  bool is_open() const { return base_ != 0; }

  enum class Pages { huge_first, huge_only, normal };
  // Null when there is not enough.
  const DeviceBlock* allocate(std::size_t size, std::size_t padded, Pages pages, std::uint16_t module);
  // ok: 0; -1: no block begins there; -2: it was freed before.
  int release(Address address);
  void release_all();

  bool owns(Address address) const { return address >= base_ && address < base_ + reserved_; }
  // The live block that holds all of [address, address + size), its padding included; else null.
  DeviceBlock* block_of(Address address, std::size_t size);
  // Live or not: what there is to say about an address.
  std::string describe(Address address) const;
  // Where the simulator itself reaches the byte.
  void* shadow(Address address) const { return reinterpret_cast<void*>(address - base_ + shadow_); }

  void hold(DeviceBlock& block) { ++block.busy; }
  // False when it was freed in the meantime; then it goes now.
  bool let_go(DeviceBlock& block);

  std::uint64_t total() const { return total_; }
  std::uint64_t free_bytes() const { return total_ - small_ - huge_; }
  std::uint64_t free_huge_bytes() const;
  std::uint64_t used() const { return small_ + huge_; }
  std::uint64_t peak() const { return peak_; }
  std::size_t blocks() const { return live_.size(); }
  std::map<std::uint16_t, std::uint64_t> by_module() const;
  Address base() const { return base_; }
  std::size_t reserved() const { return reserved_; }

 private:
  bool take_span(std::size_t size, std::size_t alignment, Address& out);
  void give_back(std::map<Address, DeviceBlock>::iterator at);
  static void poison(void* bytes, std::size_t size, unsigned char with);

  Address base_ = 0;    // reserved without access
  Address shadow_ = 0;  // the same bytes, for the simulator
  std::size_t reserved_ = 0;
  std::uint64_t total_ = 0, small_ = 0, huge_ = 0, peak_ = 0;
  std::map<Address, DeviceBlock> live_;   // by begin
  std::map<Address, std::size_t> holes_;  // free addresses
  Address next_ = 0;                      // next fit: an address comes back late
  std::deque<DeviceBlock> gone_;          // the last that were freed, for messages
  std::uint64_t serial_ = 0;
};

}  // namespace aclsim
