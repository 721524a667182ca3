#include "acl_instance.hpp"

#include <algorithm>
#include <chrono>

namespace ascend_infer {
namespace {

constexpr aclError stream_sync_timeout = 507046;

}  // namespace

bool retires_instance(aclError code) noexcept {
  switch (code) {
    case 507000: case 507001:                                          // the runtime, the task scheduler
    case 507010: case 507901:                                          // the device is lost
    case 507011: case 507013: case 507014: case 507015: case 507016:   // model, copy engine, AI Core
    case 507017: case 507018:                                          // AI CPU
    case 507034: case 507035: case 507036:                             // vector core
    case 507048: case 507049: case 507050:                             // FFTS+
    case 507053: case 507054: case 507055: case 507056:                // memory and links
    case 507899: case 507900:                                          // driver, AI CPU
    case 545601:                                                       // the run was aborted half way
      return true;
    default:
      return false;
  }
}

// --- a batch's way ---------------------------------------------------------------------------------------------------

AclStatus AclInstance::run(Batch &batch) noexcept {
  return without_throwing([&]() -> AclStatus {
    if (AclStatus status = check(batch); !status.ok()) return status;
    const ContextGuard guard(*device_);
    if (!guard.ok()) return guard.status();
    const WorkInFlight work;
    ExecutionSlot *slot = nullptr;
    if (AclStatus status = acquire(batch.wait, slot); !status.ok()) return status;
    AclStatus status = without_throwing([&] {
      return description().shapes == ShapeKind::dynamic ? run_dynamic(*slot, batch) : run_queued(*slot, batch);
    });
    give_back(slot);
    return status;
  });
}

AclStatus AclInstance::check(const Batch &batch) const {
  const ModelDescription &model = description();
  const auto wrong = [](std::string text) { return AclStatus(AclOutcome::invalid_argument, std::move(text)); };
  if (batch.inputs.size() != model.inputs.size())
    return wrong("got " + std::to_string(batch.inputs.size()) + " inputs, the model has " +
                 std::to_string(model.inputs.size()));
  if (model.shapes == ShapeKind::dynamic) {
    if (batch.input_dims.size() != model.inputs.size()) return wrong("the shape of each input is needed");
    for (const std::size_t index : batch.wanted)
      if (index >= model.outputs.size()) return wrong("there is no output " + std::to_string(index));
    return {};
  }
  if ((batch.gear == Batch::no_gear) != model.gears.empty() || (!model.gears.empty() && batch.gear >= model.gears.size()))
    return wrong("got no gear of the model's " + std::to_string(model.gears.size()));
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    if (i == model.hidden) continue;
    std::size_t bytes = 0;
    for (const HostPiece &piece : batch.inputs[i]) bytes += piece.bytes;
    if (bytes > input_bytes(batch.gear, i))
      return wrong("input " + std::to_string(i) + " has " + std::to_string(bytes) + " bytes, the model takes " +
                   std::to_string(input_bytes(batch.gear, i)));
  }
  if (batch.outputs.size() > model.outputs.size()) return wrong("an output was asked for twice");
  for (const BatchOutput &output : batch.outputs) {
    if (output.index >= model.outputs.size()) return wrong("there is no output " + std::to_string(output.index));
    const std::size_t room = output.lease != nullptr ? output.lease->bytes() : output.bytes;
    if (output.bytes > output_bytes(batch.gear, output.index) || output.bytes > room)
      return wrong("output " + std::to_string(output.index) + " has " +
                   std::to_string(output_bytes(batch.gear, output.index)) + " bytes, " + std::to_string(output.bytes) +
                   " were asked for");
  }
  return {};
}

AclStatus AclInstance::acquire(const WaitPolicy &wait, ExecutionSlot *&slot) {
  for (;;) {
    {
      std::unique_lock lock(slots_lock_);
      const auto ready = [&] { return closing_ || retired() || !idle_.empty(); };
      if (!wait.sliced()) slot_freed_.wait(lock, ready);
      else slot_freed_.wait_for(lock, std::chrono::milliseconds(WaitPolicy::slice_ms), ready);
      if (closing_) return AclOutcome::closed;
      if (!retired() && !idle_.empty()) {
        // A clean slot first: an abandoned one has to be waited for.
        auto at = std::find_if(idle_.rbegin(), idle_.rend(), [](const ExecutionSlot *one) { return !one->dirty; });
        if (at == idle_.rend()) at = idle_.rbegin();
        slot = *at;
        idle_.erase(std::next(at).base());
      }
    }
    if (retired() && slot == nullptr) return fault();
    if (slot != nullptr) break;
    if (wait.stop()) return AclOutcome::interrupted;
  }
  if (!slot->dirty) return {};
  AclStatus status = clean(*slot, wait);
  if (status.ok()) return status;
  give_back(slot);
  slot = nullptr;
  return status;
}

void AclInstance::give_back(ExecutionSlot *slot) noexcept {
  {
    const std::lock_guard lock(slots_lock_);
    idle_.push_back(slot);  // reserved for all of them
  }
  slot_freed_.notify_all();
}

AclStatus AclInstance::run_queued(ExecutionSlot &slot, Batch &batch) {
  const std::vector<std::size_t> &needed = input_bytes_[row(batch.gear)];
  slot.gather(batch, needed);
  std::uint64_t ticket = 0;
  bool alone = false;
  AclStatus status;
  {
    const std::lock_guard lock(launch_lock_);
    {
      const std::lock_guard turns(turn_lock_);
      ticket = launched_.load(std::memory_order_relaxed) + 1;
      alone = turn_ == ticket;  // everything before has settled
      skipped_.reserve(slots_.size());
    }
    launched_.store(ticket, std::memory_order_release);
    status = launch(slot, batch, alone);
  }
  // Whatever happens from here on, the turn is passed.
  AclStatus turn = wait_turn(ticket, batch.wait);
  if (!turn.ok()) {
    abandon(slot, batch);
    return turn;
  }
  if (status.ok()) status = settle(slot, batch, alone, ticket);
  if (status.outcome() == AclOutcome::interrupted) {
    abandon(slot, batch);
  } else if (!status.ok()) {
    status = note(std::move(status));
    // What was launched of the batch may still use the slot. A failure heard of here may be a later batch's, which would
    // never learn of it otherwise.
    if (AclStatus drained = drain(-1); !drained.ok()) retire(drained);
  }
  pass_turn(ticket);
  if (!status.ok()) return status;
  slot.hand_over(batch);
  return {};
}

AclStatus AclInstance::launch(ExecutionSlot &slot, const Batch &batch, bool alone) noexcept {
  const AclLibrary &library = device_->library();
  if (retired()) return without_throwing([&] { return fault(); });
  if (!device_->unified()) {
    if (AclStatus status = slot.copy_in(input_bytes_[row(batch.gear)], in_); !status.ok()) return status;
    ACL_TRY(library, aclrtRecordEvent, slot.copied_in(), in_);
    ACL_TRY(library, aclrtStreamWaitEvent, compute_, slot.copied_in());
  }
  if (AclStatus status = slot.set_gear(batch.gear); !status.ok()) return status;
  if (AclStatus status = slot.execute_async(compute_); !status.ok()) return status;
  if (device_->unified() || !alone) return {};
  // Nobody else is in flight: the copy out may queue behind the model at once, and one wait covers everything. With
  // company it is queued when the model has succeeded, or this wait would last until the next batch's end.
  ACL_TRY(library, aclrtRecordEvent, slot.computed(), compute_);
  ACL_TRY(library, aclrtStreamWaitEvent, out_, slot.computed());
  return slot.copy_out(batch, out_);
}

AclStatus AclInstance::settle(ExecutionSlot &slot, const Batch &batch, bool alone, std::uint64_t ticket) noexcept {
  if (retired()) return without_throwing([&] { return fault(); });
  AclStatus copied;
  if (alone && !device_->unified()) {
    copied = synchronise(out_, batch.wait);
    if (copied.outcome() == AclOutcome::interrupted) return copied;
  }
  if (AclStatus status = synchronise(compute_, batch.wait); !status.ok()) return status;
  if (!copied.ok()) return copied;
  if (!alone && !device_->unified()) {
    if (AclStatus status = slot.copy_out(batch, out_); !status.ok()) return status;
    if (AclStatus status = synchronise(out_, batch.wait); !status.ok()) return status;
  }
  // The copy in is long done. Behind it may be the next batch's, which is not waited for: a failure of the copy engine
  // is then heard of by the last batch in flight.
  if (!device_->unified() && launched_.load(std::memory_order_acquire) == ticket) return synchronise(in_, batch.wait);
  return {};
}

AclStatus AclInstance::wait_turn(std::uint64_t ticket, const WaitPolicy &wait) {
  for (;;) {
    std::unique_lock lock(turn_lock_);
    const auto mine = [&] { return turn_ == ticket; };
    if (!wait.sliced()) turn_passed_.wait(lock, mine);
    else turn_passed_.wait_for(lock, std::chrono::milliseconds(WaitPolicy::slice_ms), mine);
    if (mine()) return {};
    lock.unlock();
    if (!wait.stop()) continue;
    lock.lock();
    if (mine()) {
      lock.unlock();
      pass_turn(ticket);
    } else {
      skipped_.push_back(ticket);  // reserved at the launch
    }
    return AclOutcome::interrupted;
  }
}

void AclInstance::pass_turn(std::uint64_t ticket) noexcept {
  {
    const std::lock_guard lock(turn_lock_);
    turn_ = ticket + 1;
    for (auto at = skipped_.begin(); at != skipped_.end();) {
      at = std::find(skipped_.begin(), skipped_.end(), turn_);
      if (at == skipped_.end()) break;
      skipped_.erase(at);
      ++turn_;
      at = skipped_.begin();
    }
  }
  turn_passed_.notify_all();
}

void AclInstance::abandon(ExecutionSlot &slot, const Batch &batch) noexcept {
  slot.dirty = true;
  AclProcess::get().begin_work_again();  // until the slot is clean: its copies are in flight
  for (const BatchOutput &output : batch.outputs)
    if (output.lease != nullptr) slot.kept.push_back(output.lease);  // reserved
}

AclStatus AclInstance::clean(ExecutionSlot &slot, const WaitPolicy &wait) noexcept {
  AclStatus first;
  for (aclrtStream stream : {in_, compute_, out_}) {
    AclStatus status = synchronise(stream, wait);
    if (status.outcome() == AclOutcome::interrupted) return status;
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  slot.dirty = false;
  slot.kept.clear();
  AclProcess::get().end_work();
  // The abandoned batch's failure is nobody's now, unless it is the instance's end.
  first = note(std::move(first));
  return retired() ? first : AclStatus();
}

AclStatus AclInstance::run_dynamic(ExecutionSlot &slot, Batch &batch) {
  std::vector<std::size_t> needed(batch.inputs.size(), 0);
  for (std::size_t i = 0; i < needed.size(); ++i)
    for (const HostPiece &piece : batch.inputs[i]) needed[i] += piece.bytes;
  if (AclStatus status = slot.fit_inputs(needed, batch.input_dims); !status.ok()) return status;
  slot.gather(batch, needed);
  launched_.fetch_add(1);
  AclStatus status = slot.copy_in(needed, in_);
  if (status.ok()) status = synchronise(in_, batch.wait);  // a synchronous run is ordered behind no stream
  if (status.outcome() == AclOutcome::interrupted) {
    abandon(slot, batch);
    return status;
  }
  if (status.ok()) status = slot.execute_sync();
  batch.results.clear();
  for (const std::size_t index : batch.wanted) {
    if (!status.ok()) break;
    DynamicOutput output;
    status = slot.output_shape(index, output.dims, output.bytes);
    if (status.ok() && output.bytes != 0) {
      PoolBlock block;
      const Status taken = PoolBlock::take(memory_.pinned_pool, output.bytes, memory_.pinned_owner, block);
      if (!taken.ok()) {
        status = AclStatus::of_pool(taken);
        break;
      }
      ++*leases_;
      output.lease = std::make_shared<PinnedLease>(std::move(block), leases_);
      status = slot.copy_dynamic_out(index, output.lease->data(), output.bytes, out_);
    }
    batch.results.push_back(std::move(output));
  }
  // No poll: the outputs' memory is given back below, and must not be in use.
  if (!device_->unified())
    if (AclStatus copied = synchronise(out_, {}); status.ok()) status = std::move(copied);
  if (!status.ok()) (void)drain(-1);
  if (AclStatus freed = slot.free_dynamic_outputs(); status.ok()) status = std::move(freed);
  return note(std::move(status));
}

// --- waiting and failing ---------------------------------------------------------------------------------------------

AclStatus AclInstance::synchronise(aclrtStream stream, const WaitPolicy &wait) noexcept {
  const acl_api &api = device_->api();
  if (!wait.sliced() || api.aclrtSynchronizeStreamWithTimeout == nullptr)
    return device_->library().check("aclrtSynchronizeStream", api.aclrtSynchronizeStream(stream));
  for (;;) {
    const aclError code = api.aclrtSynchronizeStreamWithTimeout(stream, WaitPolicy::slice_ms);
    if (code != stream_sync_timeout) return device_->library().check("aclrtSynchronizeStreamWithTimeout", code);
    (void)device_->library().recent_message();  // a slice that ends is no failure
    if (wait.stop()) return AclOutcome::interrupted;
  }
}

AclStatus AclInstance::drain(int timeout_ms) noexcept {
  const acl_api &api = device_->api();
  AclStatus first;
  for (aclrtStream stream : {in_, compute_, out_}) {
    if (stream == nullptr) continue;
    const bool bounded = timeout_ms >= 0 && api.aclrtSynchronizeStreamWithTimeout != nullptr;
    const aclError code = bounded ? api.aclrtSynchronizeStreamWithTimeout(stream, timeout_ms)
                                  : api.aclrtSynchronizeStream(stream);
    if (code == stream_sync_timeout) return AclOutcome::busy;
    if (code != 0 && first.ok()) first = device_->library().check("aclrtSynchronizeStream", code);
  }
  return first;
}

AclStatus AclInstance::note(AclStatus status) noexcept {
  if (status.outcome() == AclOutcome::failed_call && retires_instance(status.code())) retire(status);
  return status;
}

void AclInstance::retire(const AclStatus &why) noexcept {
  {
    const std::lock_guard lock(fault_lock_);
    if (!retired()) {
      (void)without_throwing([&]() -> AclStatus {
        fault_ = why;
        return {};
      });
      retired_.store(true, std::memory_order_release);
    }
  }
  slot_freed_.notify_all();
}

AclStatus AclInstance::fault() const {
  const std::lock_guard lock(fault_lock_);
  return AclStatus(AclOutcome::retired, std::string(fault_.function()) + " returned " + std::to_string(fault_.code()) +
                                            (fault_.text().empty() ? "" : ": " + fault_.text()));
}

std::shared_ptr<PinnedLease> AclInstance::lease(std::size_t bytes) noexcept {
  // Who keeps all results would make the pinned pool grow with every batch: beyond this many, results are copied.
  const int most = static_cast<int>(8 * slots_.size() * std::max<std::size_t>(1, description().outputs.size()));
  if (leases_->load() >= most) return nullptr;
  try {
    PoolBlock block;
    if (!PoolBlock::take(memory_.pinned_pool, bytes, memory_.pinned_owner, block).ok()) return nullptr;
    ++*leases_;
    return std::make_shared<PinnedLease>(std::move(block), leases_);
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

}  // namespace ascend_infer
