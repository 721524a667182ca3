// Ordinary memory of the host.
#pragma once
#include <unistd.h>

#include <cstdlib>

#include "pool_layout.hpp"
#include "upstream.hpp"

namespace ascend_infer {

class MallocUpstream {
 public:
  static constexpr bool host_accessible = true;

  Status allocate(std::size_t bytes, void **out) noexcept {
    return posix_memalign(out, PoolLayout::alignment, bytes) == 0 ? Status() : Status(StatusCode::out_of_memory);
  }
  void free(void *address) noexcept { std::free(address); }
  std::size_t available() noexcept { return pages(_SC_AVPHYS_PAGES); }
  std::size_t total() noexcept { return pages(_SC_PHYS_PAGES); }

 private:
  static std::size_t pages(int name) noexcept {
    const long count = sysconf(name), size = sysconf(_SC_PAGESIZE);
    return count < 0 || size < 0 ? 0 : static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  }
};

}  // namespace ascend_infer
