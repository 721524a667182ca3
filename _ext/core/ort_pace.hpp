// How long runs take by the shapes of their inputs: whether one is too short to be worth letting others in.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "ort_request.hpp"

namespace ascend_infer {

// Not for several threads at once: its owner's lock is the interpreter's.
class OrtPace {
 public:
  static constexpr std::int64_t quick_nanoseconds = 10'000;

  static std::uint64_t key(const OrtRequest &request) noexcept {
    std::uint64_t key = 0xcbf29ce484222325;  // FNV-1a over the dims
    const auto mix = [&key](std::uint64_t value) { key = (key ^ value) * 0x100000001b3; };
    for (const OrtInput &input : request.inputs) {
      mix(input.index << 8 | input.rank);
      for (std::size_t i = 0; i < input.rank; ++i) mix(static_cast<std::uint64_t>(input.dims[i]));
    }
    for (const OrtOutput &output : request.outputs) mix(output.index);
    return key;
  }

  bool quick(std::uint64_t key) const noexcept {
    const Entry &entry = entries_[key % entries_.size()];
    return entry.key == key && entry.nanoseconds < quick_nanoseconds;
  }

  void note(std::uint64_t key, std::int64_t nanoseconds) noexcept {
    Entry &entry = entries_[key % entries_.size()];
    // A run that was held up once counts for some runs, not for hundreds.
    const std::int64_t seen = std::min(nanoseconds, 4 * quick_nanoseconds);
    entry.nanoseconds = entry.key == key ? (3 * entry.nanoseconds + seen) / 4 : seen;
    entry.key = key;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int64_t nanoseconds = quick_nanoseconds;
  };
  std::array<Entry, 61> entries_;
};

}  // namespace ascend_infer
