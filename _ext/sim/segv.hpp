// Naming the pointer when the CPU touches device memory.
#pragma once

namespace aclsim {

// Installs the handler of SIGSEGV and SIGBUS once; it passes every fault on to the handler that was there.
void watch_memory_faults();

}  // namespace aclsim
