// One copy of a model on a device, with the streams and slots that run its batches.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "execution_slot.hpp"
#include "kept_object.hpp"

namespace ascend_infer {

struct InstanceOptions {
  std::string path;
  std::string name;             // for the pools' books
  std::size_t slots = 2;        // batches in flight
  std::size_t work_bytes = 0;
  Address weights = 0;          // the caller's, may be shared with other instances of the same file
  std::size_t weight_bytes = 0;
  std::shared_ptr<KeptObject> weights_owner;  // let go when the model is unloaded
};

// The codes after which an instance does not run again: those that ascend_infer.acl_codes calls a fault (a test compares).
// 507005, 507023 and the overflow reports 207003, 207016, 207017 come from the same calls and mean no such thing.
bool retires_instance(aclError code) noexcept;

// Each slot has a stream of its own, in which a batch is copied in, computed and copied out; the runs of the model id are
// chained by events, so that never two of them are under way, while the copies of one batch overlap the run of another.
// A stream's failures are heard of by whoever synchronises it first: with a stream a slot that is always the batch's own
// thread (docs/adr/0005-a-stream-a-slot.md).
//
// Locks, none held around another or around a caller's poll: slots_lock_ (who has which slot) and launch_lock_ (the order
// of the runs; held around the gear's blocking copy, and around a wait only when an event could not be recorded), done_lock_.
class AclInstance final : public AclResource {
 public:
  static AclStatus open(std::shared_ptr<AclDevice> device, std::shared_ptr<AnyPool> device_pool,
                        std::shared_ptr<AnyPool> pinned_pool, const InstanceOptions &options,
                        std::shared_ptr<AclInstance> &out) noexcept;

  // Runs one batch on the calling thread; any number of threads may call, as many as there are slots run at once.
  AclStatus run(Batch &batch) noexcept;

  // Takes no more batches, waits for those that run, gives everything back. `busy` after timeout_ms: call again. A retired
  // instance has told its failure: whatever fails here because of it is not told again.
  AclStatus close(int timeout_ms) noexcept;
  AclStatus release() noexcept override { return close(-1); }

  // For how long the oldest of the abandoned batches that have not ended runs by now, in ns since it was left; 0 for none.
  // The slots of those that have ended are clean again. Asks the device, and waits for it no longer than some ms.
  std::int64_t reclaim() noexcept;

  // A pinned block for an output; null when so many are out, or the pool has so little, that copying is better.
  std::shared_ptr<PinnedLease> lease(std::size_t bytes) noexcept;

  const ModelDescription &description() const noexcept { return model_.description(); }
  std::size_t input_bytes(std::size_t gear, std::size_t input) const noexcept { return input_bytes_[row(gear)][input]; }
  std::size_t output_bytes(std::size_t gear, std::size_t output) const noexcept {
    return output_bytes_[row(gear)][output];
  }
  std::size_t slots() const noexcept { return slots_.size(); }
  std::uint32_t model_id() const noexcept { return model_.id(); }
  bool retired() const noexcept { return retired_.load(std::memory_order_acquire); }
  bool left() const noexcept { return left_.load(std::memory_order_relaxed) > 0; }  // some batch was abandoned
  std::uint64_t batches() const noexcept { return launched_.load(std::memory_order_relaxed); }

  AclInstance(std::shared_ptr<AclDevice> device, std::shared_ptr<AnyPool> device_pool,
              std::shared_ptr<AnyPool> pinned_pool);

 private:
  static std::size_t row(std::size_t gear) noexcept { return gear == Batch::no_gear ? 0 : gear; }

  AclStatus load(const InstanceOptions &options) noexcept;
  AclStatus measure_gears() noexcept;
  AclStatus check(const Batch &batch) const;
  AclStatus acquire(const WaitPolicy &wait, ExecutionSlot *&slot);
  void give_back(ExecutionSlot *slot) noexcept;

  AclStatus run_queued(ExecutionSlot &slot, Batch &batch);
  AclStatus run_dynamic(ExecutionSlot &slot, Batch &batch);
  void stamp(Batch &batch) noexcept;
  AclStatus launch(ExecutionSlot &slot, Batch &batch) noexcept;
  void abandon(ExecutionSlot &slot, const Batch &batch) noexcept;
  AclStatus clean(ExecutionSlot &slot, const WaitPolicy &wait) noexcept;
  AclStatus cleaned(ExecutionSlot &slot, AclStatus status) noexcept;

  AclStatus note(AclStatus status) noexcept;
  void retire(const AclStatus &why) noexcept;
  AclStatus fault() const;
  AclStatus tear_down() noexcept;

  const std::shared_ptr<AclDevice> device_;
  SlotMemory memory_;
  PoolOwner device_owner_, pinned_owner_, work_owner_;
  PoolBlock work_;
  std::shared_ptr<KeptObject> weights_owner_;
  AclModel model_;
  std::vector<std::unique_ptr<ExecutionSlot>> slots_;
  std::vector<std::vector<std::size_t>> input_bytes_, output_bytes_;  // by gear; one row when there is none
  const std::shared_ptr<std::atomic<int>> leases_ = std::make_shared<std::atomic<int>>(0);

  std::mutex slots_lock_;
  std::condition_variable slot_freed_;
  std::vector<ExecutionSlot *> idle_;
  bool closing_ = false, released_ = false;

  std::mutex launch_lock_;
  aclrtEvent last_run_ = nullptr;  // recorded behind the run that was launched last
  std::atomic<std::uint64_t> launched_{0};
  std::atomic<int> left_{0};

  std::mutex done_lock_;  // the batch that was seen to end last
  std::uint64_t done_number_ = 0;
  std::int64_t done_ns_ = 0;

  std::atomic<bool> retired_{false};
  mutable std::mutex fault_lock_;
  AclStatus fault_;
};

}  // namespace ascend_infer
