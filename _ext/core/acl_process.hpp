// What the whole process shares: ACL initialised once, forks noticed, an orderly end, children started between copies.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "acl_library.hpp"

namespace ascend_infer {

class AclProcess {
 public:
  static AclProcess &get() noexcept;

  // Initialises ACL through this library unless we have. Another user of ACL may have been first: the library's
  // "repeated" is a success, and so is its complaint that the other one gave a configuration. Each call needs a finish.
  AclStatus initialise(const AclLibrary &library) noexcept;

  // Another user of ACL may have finalised it for everyone, our reference included: takes one anew.
  AclStatus initialise_again(const AclLibrary &library) noexcept;

  // At the last one, our reference is given back, and only that: where the library does not count references, ACL stays
  // as it is, because someone else may rely on it by now.
  AclStatus finish(const AclLibrary &library) noexcept;

  // ok, forked or closed.
  AclStatus usable() const noexcept;
  // From here on nothing of ours calls ACL: handles that are dropped later are left to the operating system.
  void set_exiting() noexcept;
  bool callable() const noexcept;

  // A child process must not be started while an asynchronous copy is in flight. Work holds the gate open while it
  // runs; pause() lets what runs finish and holds new work back until resume(). False: it did not finish in time.
  bool pause(int timeout_ms) noexcept;
  void resume() noexcept;
  void begin_work() noexcept;
  void begin_work_again() noexcept;  // of one who has begun and goes on past its end; never waits
  void end_work() noexcept;

 private:
  AclProcess() = default;

  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::size_t working_ = 0;
  std::size_t pauses_ = 0;
  struct Reference {
    const AclLibrary *library;
    std::size_t users;
    bool initialised;  // aclInit has been called and not been taken back
    bool counted;      // and the library counted it for us
  };
  Reference *find(const AclLibrary &library) noexcept;
  AclStatus take_reference(Reference &reference) noexcept;
  std::vector<Reference> references_;
};

// Keeps the gate open for a scope.
class WorkInFlight {
 public:
  WorkInFlight() noexcept { AclProcess::get().begin_work(); }
  ~WorkInFlight() { AclProcess::get().end_work(); }
  WorkInFlight(const WorkInFlight &) = delete;
  WorkInFlight &operator=(const WorkInFlight &) = delete;
};

}  // namespace ascend_infer
