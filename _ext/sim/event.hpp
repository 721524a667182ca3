// Events: marks in a stream that others wait for.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>

#include "clock.hpp"
#include "handles.hpp"
#include "state.hpp"

namespace aclsim {

class Stream;

struct Event {
  static constexpr Kind kind = Kind::event;
  int device = 0;
  std::uint32_t flags = 0;
  bool resettable = false;  // made by aclrtCreateEvent
  bool extended = false;    // made by aclrtCreateEventExWithFlag
  std::uint32_t id = 0;
  std::uint64_t records = 0;            // aclrtRecordEvent calls so far
  std::uint64_t reached = 0;            // the last of them that its stream came to
  std::uint64_t waits = 0, waited = 0;  // aclrtStreamWaitEvent: queued, passed
  Nanoseconds when = 0;                 // time of the last one reached
  std::weak_ptr<Stream> stream;         // where it was recorded last
  std::uint64_t stream_task = 0;        // sequence number of that task
  int error = 0;                        // the device's end came before it was reached
  Slot* slot = nullptr;
  std::condition_variable changed;

  bool recorded() const { return records > 0; }
  // Reached, and its time has come (virtual time may lag behind).
  bool complete() const { return reached == records && (reached == 0 || when <= Clock::get().now()); }
};

// Every event of a device goes; who waits for one is let go.
void drop_events_of(int device);

}  // namespace aclsim
