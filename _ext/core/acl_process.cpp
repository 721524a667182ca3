#include "acl_process.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>

namespace ascend_infer {
namespace {

constexpr aclError repeated_initialise = 100002;
constexpr aclError invalid_parameter = 100000;  // of a null configuration: ACL was initialised with one by someone else
constexpr aclError repeated_finalise = 100037;

std::atomic<pid_t> initialised_in{0};  // the process that called aclInit; 0: none
std::atomic<bool> exiting{false};

}  // namespace

AclProcess &AclProcess::get() noexcept {
  static auto *const process = new AclProcess;  // never destroyed: see set_exiting
  return *process;
}

bool AclProcess::callable() const noexcept {
  if (exiting.load(std::memory_order_acquire)) return false;
  const pid_t owner = initialised_in.load(std::memory_order_relaxed);
  return owner == 0 || owner == getpid();
}

AclStatus AclProcess::usable() const noexcept {
  if (exiting.load(std::memory_order_acquire)) return AclOutcome::closed;
  return callable() ? AclOutcome::ok : AclOutcome::forked;
}

void AclProcess::set_exiting() noexcept { exiting.store(true, std::memory_order_release); }

AclProcess::Reference *AclProcess::find(const AclLibrary &library) noexcept {
  for (Reference &reference : references_)
    if (reference.library == &library) return &reference;
  return nullptr;
}

AclStatus AclProcess::initialise(const AclLibrary &library) noexcept {
  if (AclStatus status = usable(); !status.ok()) return status;
  const std::lock_guard lock(lock_);
  return without_throwing([&]() -> AclStatus {
    Reference *reference = find(library);
    if (reference == nullptr) {
      references_.push_back({&library, 0, false, false});
      reference = &references_.back();
    }
    if (!reference->initialised)
      if (AclStatus status = take_reference(*reference); !status.ok()) return status;
    ++reference->users;
    return {};
  });
}

AclStatus AclProcess::take_reference(Reference &reference) noexcept {
  const AclLibrary &library = *reference.library;
  const aclError code = library.api().aclInit(nullptr);
  if (code != 0 && code != repeated_initialise && code != invalid_parameter) return library.check("aclInit", code);
  if (code != 0) (void)library.recent_message();  // or a later failure would repeat its words
  reference.initialised = true;
  reference.counted = code != invalid_parameter && library.api().aclFinalizeReference != nullptr;
  initialised_in.store(getpid());
  return {};
}

AclStatus AclProcess::initialise_again(const AclLibrary &library) noexcept {
  if (AclStatus status = usable(); !status.ok()) return status;
  const std::lock_guard lock(lock_);
  Reference *reference = find(library);
  return reference == nullptr || reference->users == 0 ? AclStatus() : take_reference(*reference);
}

AclStatus AclProcess::finish(const AclLibrary &library) noexcept {
  if (!callable()) return {};
  const std::lock_guard lock(lock_);
  Reference *reference = find(library);
  if (reference == nullptr || reference->users == 0 || --reference->users != 0 || !reference->counted) return {};
  reference->initialised = reference->counted = false;
  std::uint64_t left = 0;
  const aclError code = library.api().aclFinalizeReference(&left);
  return code == repeated_finalise ? AclStatus() : library.check("aclFinalizeReference", code);
}

bool AclProcess::pause(int timeout_ms) noexcept {
  std::unique_lock lock(lock_);
  ++pauses_;
  if (changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return working_ == 0; })) return true;
  --pauses_;
  changed_.notify_all();
  return false;
}

void AclProcess::resume() noexcept {
  const std::lock_guard lock(lock_);
  --pauses_;
  changed_.notify_all();
}

void AclProcess::begin_work() noexcept {
  std::unique_lock lock(lock_);
  changed_.wait(lock, [&] { return pauses_ == 0; });
  ++working_;
}

void AclProcess::begin_work_again() noexcept {
  const std::lock_guard lock(lock_);
  ++working_;
}

void AclProcess::end_work() noexcept {
  const std::lock_guard lock(lock_);
  if (--working_ == 0 && pauses_ != 0) changed_.notify_all();
}

}  // namespace ascend_infer
