// Pinned and registered host memory: what makes an asynchronous copy really asynchronous.
#pragma once
#include <cstdint>
#include <deque>
#include <map>

namespace aclsim {

struct HostBlock {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  std::size_t mapped = 0;  // 0: the caller's own memory, registered
  int device = 0;
  int busy = 0;
  bool freed = false;
};

// Guarded by the big lock; the bytes are not.
class HostMemory {
 public:
  static HostMemory& get();

  // Null when the machine has no more.
  void* allocate(std::size_t size, int device);
  // 0, or -1: no pinned block begins there, -2: freed before.
  int release(const void* address);

  // 0, or -1: overlaps registered memory.
  int add(const void* address, std::size_t size, int device);
  int remove(const void* address);

  // The pinned block that holds all of the range, else null.
  HostBlock* block_of(std::uintptr_t address, std::size_t size);
  // A pinned block that was freed holds this byte: the reason for a fault there.
  bool was_freed(std::uintptr_t address) const;
  bool let_go(HostBlock& block);

  // Starts anew: what lives is not counted any more. The program may still hold it, so it stays where it is, and can
  // be released.
  void forget();

  std::size_t blocks() const { return live_.size(); }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t peak() const { return peak_; }

 private:
  void give_back(std::map<std::uintptr_t, HostBlock>::iterator at);

  std::map<std::uintptr_t, HostBlock> live_;
  std::map<std::uintptr_t, HostBlock> old_;  // of before a forget
  std::deque<HostBlock> gone_;  // kept mapped without access, so that a late use is seen
  std::uint64_t gone_bytes_ = 0, bytes_ = 0, peak_ = 0;
};

}  // namespace aclsim
