// How sizes are rounded: requests up to strides, strides up to what the upstream is asked for.
#pragma once
#include <cstddef>

namespace ascend_infer {

constexpr std::size_t round_up(std::size_t bytes, std::size_t to) noexcept { return (bytes + to - 1) / to * to; }
constexpr std::size_t round_down(std::size_t bytes, std::size_t to) noexcept { return bytes / to * to; }
constexpr bool is_power_of_two(std::size_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

struct PoolLayout {
  static constexpr std::size_t alignment = 64;  // of upstream addresses (aclrtMalloc, aclrtMallocHost) and of blocks
  static constexpr std::size_t largest_request = std::size_t{1} << 62;  // above, sums below could wrap

  // Kernels read and write whole pieces of `access` bytes and may read one more: a block of n bytes must have
  // ALIGN_UP(n, access) + tail bytes to itself.
  std::size_t access = 32;
  std::size_t tail = 32;
  std::size_t granularity = 512;                 // of blocks; a multiple of `alignment`
  std::size_t step = std::size_t{2} << 20;       // of regions: the size of the device's huge pages
  // What the upstream adds to each request by itself (aclrtMalloc: 32 bytes). Regions are that much smaller than a
  // whole number of steps, or those few bytes would cost one more huge page.
  std::size_t upstream_extra = 0;

  bool valid() const noexcept {
    return is_power_of_two(access) && is_power_of_two(granularity) && is_power_of_two(step) &&
           granularity % alignment == 0 && step % granularity == 0 && tail <= granularity && upstream_extra < step / 2;
  }
  // Bytes a request takes in the pool, for requests of 1 to largest_request.
  std::size_t stride(std::size_t bytes) const noexcept {
    return round_up(round_up(bytes, access) + tail, granularity);
  }
  // Bytes to ask the upstream for so that a block of this stride fits.
  std::size_t region_bytes(std::size_t stride) const noexcept {
    const std::size_t extra = round_up(upstream_extra, granularity);
    return round_up(stride + extra, step) - extra;
  }
};

}  // namespace ascend_infer
