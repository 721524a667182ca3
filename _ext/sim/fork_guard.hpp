// Children: neither fork nor spawn while an asynchronous copy is in flight, and no use of ACL after a fork.
#pragma once

namespace aclsim {

// Registers the fork handlers once.
void watch_forks();
// Counts a violation when a copy is in flight. Returns whether one was.
bool note_spawn(const char* how);
// This process was forked off one that had initialised ACL.
bool forked();
// Recomputes whether calls have to look at plan, log or fork.
void watch_calls();

}  // namespace aclsim
