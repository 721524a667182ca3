// What a pool was asked for, in order, to be replayed later: benchmarks/pool_replay.py reads it.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "block.hpp"

namespace ascend_infer {

struct PoolEvent {
  std::uint64_t serial = 0;  // of the block
  std::size_t bytes = 0;     // as asked for; 0: the block was freed
};

// Not synchronised. Room for all events is taken at the start, so that recording allocates nothing; what comes after the
// last of them is not recorded.
class PoolHistory {
 public:
  // Throws std::bad_alloc and has changed nothing then.
  void start(std::size_t most_events) {
    std::vector<PoolEvent> events;
    events.reserve(most_events);
    events_ = std::move(events);
    most_ = most_events;
  }
  std::vector<PoolEvent> stop() noexcept {
    most_ = 0;
    return std::exchange(events_, {});
  }
  void allocated(const Block &block) noexcept { add({block.serial, block.requested}); }
  void freed(const Block &block) noexcept { add({block.serial, 0}); }

 private:
  void add(const PoolEvent &event) noexcept {
    if (events_.size() < most_) events_.push_back(event);
  }

  std::vector<PoolEvent> events_;
  std::size_t most_ = 0;  // 0: not recording
};

}  // namespace ascend_infer
