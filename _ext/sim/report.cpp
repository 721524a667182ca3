#include "report.hpp"

#include "call.hpp"
#include "device.hpp"
#include "host_memory.hpp"
#include "json.hpp"
#include "model_table.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

// Builds one object; members come in the order in which they are added.
class Object {
 public:
  Object& raw(const std::string& key, const std::string& value) {
    text_ += (text_.empty() ? "" : ",") + json_quote(key) + ":" + value;
    return *this;
  }
  Object& number(const std::string& key, std::uint64_t value) { return raw(key, std::to_string(value)); }
  Object& text(const std::string& key, const std::string& value) { return raw(key, json_quote(value)); }
  std::string done() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace

std::string report_json() {
  Object calls, failures, handles, violations;
  const CallCounters& counters = call_counters();
  for (std::size_t i = 0; i < function_count; ++i) {
    if (const auto n = counters.calls[i].load(); n != 0) calls.number(function_names[i], n);
    if (const auto n = counters.failures[i].load(); n != 0) failures.number(function_names[i], n);
  }
  const Lock lock(big_lock());
  for (std::size_t k = 1; k < kind_count; ++k)
    if (const std::size_t n = HandleTable::get().live(static_cast<Kind>(k)); n != 0) handles.number(kind_names[k], n);
  const Machine& machine = Machine::get();
  for (const auto& [what, count] : machine.violations) violations.number(what, count);
  std::string devices;
  for (const auto& device : machine.devices) {
    Object entry;
    entry.number("id", static_cast<std::uint64_t>(device->id)).number("sets", device->sets);
    entry.number("total_bytes", device->memory.total()).number("used_bytes", device->memory.used());
    entry.number("peak_bytes", device->memory.peak()).number("allocations", device->memory.blocks());
    entry.number("streams", device->streams.size()).number("events", device->events);
    entry.number("h2d_bytes", device->bytes_copied[0])
        .number("d2h_bytes", device->bytes_copied[1])
        .number("d2d_bytes", device->bytes_copied[2]);
    entry.number("executions", device->executions).number("busy_ns", device->busy_ns);
    devices += (devices.empty() ? "" : ",") + entry.done();
  }
  Object all;
  all.number("initialized", machine.init_count).text("soc", options().soc);
  all.number("models", ModelTable::get().all().size());
  all.number("pinned_blocks", HostMemory::get().blocks()).number("pinned_bytes", HostMemory::get().bytes());
  all.number("pinned_peak_bytes", HostMemory::get().peak()).number("copies_in_flight", machine.copies_in_flight);
  all.raw("handles", handles.done()).raw("devices", "[" + devices + "]").raw("violations", violations.done());
  all.raw("calls", calls.done()).raw("failures", failures.done());
  return all.done();
}

}  // namespace aclsim
