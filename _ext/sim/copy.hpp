// Moving bytes between host and device memory, at once or as a task of a stream.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "device.hpp"
#include "host_memory.hpp"
#include "stream.hpp"

namespace aclsim {

// One end of a copy: what memory an address is in.
struct End {
  Device* device = nullptr;  // null: host memory
  DeviceBlock* block = nullptr;
  HostBlock* host = nullptr;       // pinned; null: pageable
  unsigned char* bytes = nullptr;  // where the simulator reaches it
  bool pageable() const { return device == nullptr && host == nullptr; }
};

// False with a text when the address is device memory, but not all of the range is one live allocation.
// With `hold` the blocks stay until let_go.
bool find_end(Address address, std::size_t size, End& end, bool hold, std::string& text);
// False when the memory was freed in the meantime.
bool let_go(End& end);

// Rows of a copy; a plain one has a single row.
struct Extent {
  std::size_t width = 0, height = 1, dst_pitch = 0, src_pitch = 0;
  std::size_t dst_span() const { return height == 0 ? 0 : (height - 1) * dst_pitch + width; }
  std::size_t src_span() const { return height == 0 ? 0 : (height - 1) * src_pitch + width; }
  std::size_t bytes() const { return width * height; }
};

// Copies now, without regard to any stream. The lock is released while bytes move.
int copy_now(Lock& lock, const char* function, void* dst, const void* src, const Extent& extent, int kind);
// Queues a copy, or, with pageable memory at either end, drains the stream and copies.
int copy_later(Lock& lock, const char* function, void* dst, const void* src, const Extent& extent, int kind,
               void* stream);

int fill_now(Lock& lock, const char* function, void* dst, int value, std::size_t count);
int fill_later(Lock& lock, const char* function, void* dst, int value, std::size_t count, void* stream);

}  // namespace aclsim
