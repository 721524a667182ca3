#include "segv.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "device.hpp"
#include "host_memory.hpp"
#include "state.hpp"

namespace aclsim {
namespace {

struct sigaction before_segv, before_bus;
bool installed = false;

void say(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  (void)written;
}

void explain(std::uintptr_t address) {
  // The faulting thread may hold the lock itself: better say less than wait.
  const Lock lock(big_lock(), std::try_to_lock);
  char text[512];
  if (!lock.owns_lock()) return;
  if (const Device* device = Machine::get().device_at(address)) {
    std::snprintf(text, sizeof text,
                  "aclsim: the CPU touched device memory: 0x%zx is %s on device %d. A card's memory is reached by "
                  "aclrtMemcpy only.\n",
                  address, device->memory.describe(address).c_str(), device->id);
    say(text);
  } else if (HostMemory::get().was_freed(address)) {
    std::snprintf(text, sizeof text, "aclsim: the CPU touched pinned memory after aclrtFreeHost: 0x%zx.\n", address);
    say(text);
  }
}

void handler(int number, siginfo_t* info, void* context) {
  explain(reinterpret_cast<std::uintptr_t>(info->si_addr));
  const struct sigaction& before = number == SIGSEGV ? before_segv : before_bus;
  if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else {
    // Back to the default: the instruction runs again and ends the process as it would have.
    signal(number, SIG_DFL);
  }
}

}  // namespace

void watch_memory_faults() {
  if (installed) return;
  installed = true;
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

}  // namespace aclsim
