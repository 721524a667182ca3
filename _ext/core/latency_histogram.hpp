// Counts of durations in buckets that grow with the value, so that every percentile is off by a bounded share.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace ascend_infer {

// 32 buckets to a doubling: a bucket's middle is within 1/64 (1.6 %) of all that fell into it. Below 64 ns every value has
// a bucket of its own, and what is above 2^42 ns (73 minutes) goes into the last.
class LatencyHistogram {
 public:
  static constexpr unsigned sub_bits = 5;
  static constexpr unsigned top_bits = 42;
  static constexpr std::size_t size = std::size_t{top_bits - sub_bits + 1} << sub_bits;

  static std::size_t bucket_of(std::int64_t value_ns) noexcept {
    if (value_ns <= 0) return 0;
    const auto value = static_cast<std::uint64_t>(value_ns);
    if (value >= (std::uint64_t{1} << top_bits)) return size - 1;
    if (value < (std::uint64_t{1} << sub_bits)) return static_cast<std::size_t>(value);
    const unsigned shift = 63U - static_cast<unsigned>(__builtin_clzll(value)) - sub_bits;
    return (std::size_t{shift} << sub_bits) + static_cast<std::size_t>(value >> shift);
  }

  void add(std::int64_t value_ns, std::int64_t times = 1) noexcept { counts_[bucket_of(value_ns)] += times; }
  std::int64_t count(std::size_t bucket) const noexcept { return counts_[bucket]; }

 private:
  std::array<std::int64_t, size> counts_{};
};

}  // namespace ascend_infer
