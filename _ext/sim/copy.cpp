#include "copy.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "codes.hpp"
#include "error_text.hpp"
#include "options.hpp"

namespace aclsim {
namespace {

struct Route {
  Engine engine = Engine::d2d;
  Device* device = nullptr;  // null: host to host
  int kind = ACL_MEMCPY_HOST_TO_HOST;
};

Route route_of(const End& dst, const End& src) {
  if (dst.device != nullptr && src.device != nullptr) return {Engine::d2d, dst.device, ACL_MEMCPY_DEVICE_TO_DEVICE};
  if (dst.device != nullptr) return {Engine::h2d, dst.device, ACL_MEMCPY_HOST_TO_DEVICE};
  if (src.device != nullptr) return {Engine::d2h, src.device, ACL_MEMCPY_DEVICE_TO_HOST};
  return {};
}

Nanoseconds cost_of(const Route& route, std::size_t bytes) {
  if (route.device == nullptr) return 0;
  const TimeModel& model = options().time;
  double fixed = model.d2d_fixed_us, rate = model.d2d_gbps;
  if (route.engine == Engine::h2d) fixed = model.h2d_fixed_us, rate = model.h2d_gbps;
  if (route.engine == Engine::d2h) fixed = model.d2h_fixed_us, rate = model.d2h_gbps;
  return static_cast<Nanoseconds>(fixed * 1e3 + (rate > 0 ? static_cast<double>(bytes) / rate : 0));
}

void count(const Route& route, std::size_t bytes) {
  if (route.device != nullptr) route.device->bytes_copied[static_cast<int>(route.engine)] += bytes;
}

void move(const End& dst, const End& src, const Extent& extent) {
  for (std::size_t row = 0; row < extent.height; ++row)
    std::memmove(dst.bytes + row * extent.dst_pitch, src.bytes + row * extent.src_pitch, extent.width);
}

// Newer runtimes look at the pointers and correct the kind; it is still worth knowing.
void check_kind(const Route& route, int kind) {
  if (kind != ACL_MEMCPY_DEFAULT && kind != route.kind)
    Machine::get().violation("copy of another kind than its pointers");
}

class CopyTask : public Task {
 public:
  CopyTask(void* dst, const void* src, const Extent& extent)
      : dst_(reinterpret_cast<Address>(dst)), src_(reinterpret_cast<Address>(src)), extent_(extent) {}
  bool is_copy() const override { return true; }
  bool anywhere() const override { return true; }

  int perform(Stream& stream, Lock& lock, std::string& text) override {
    End dst, src;
    if (!find_end(dst_, extent_.dst_span(), dst, true, text)) return rt_sys_dma;
    if (!find_end(src_, extent_.src_span(), src, true, text)) {
      let_go(dst);
      return rt_sys_dma;
    }
    bool good = true;
    if (dst.pageable() || src.pageable()) {
      // It was pinned when the copy was queued.
      text = format_error("EE9999",
                          "System DMA failed: the host memory of an asynchronous copy was freed before the copy ran.");
      good = false;
    } else {
      const Route route = route_of(dst, src);
      const Nanoseconds cost = cost_of(route, extent_.bytes());
      // The bytes move at the end of the modelled time: whoever reads or overwrites early sees it.
      if (cost == 0 || stream.wait_until(lock, stream.occupy(route.engine, cost))) {
        lock.unlock();
        move(dst, src, extent_);
        lock.lock();
        count(route, extent_.bytes());
      }
    }
    const bool dst_lives = let_go(dst), src_lives = let_go(src);
    if (good && !(dst_lives && src_lives)) {
      text = format_error("EE9999", "System DMA failed: memory was freed while a copy worked on it.");
      Machine::get().violation("memory freed while a task worked on it");
      good = false;
    }
    return good ? 0 : static_cast<int>(rt_sys_dma);
  }

 private:
  Address dst_, src_;
  Extent extent_;
};

class FillTask : public Task {
 public:
  FillTask(void* dst, int value, std::size_t count)
      : dst_(reinterpret_cast<Address>(dst)), value_(value), count_(count) {}
  bool is_copy() const override { return true; }
  bool anywhere() const override { return true; }

  int perform(Stream&, Lock& lock, std::string& text) override {
    End dst;
    if (!find_end(dst_, count_, dst, true, text)) return rt_sys_dma;
    lock.unlock();
    std::memset(dst.bytes, value_, count_);
    lock.lock();
    if (let_go(dst)) return 0;
    text = format_error("EE9999", "System DMA failed: memory was freed while it was filled.");
    return rt_sys_dma;
  }

 private:
  Address dst_;
  int value_;
  std::size_t count_;
};

// Waits for modelled time on the calling thread.
void spend(Lock& lock, const Route& route, Nanoseconds cost) {
  if (cost == 0) return;
  const Nanoseconds end = route.device->occupy(route.engine, Clock::get().now(), cost);
  if (Clock::get().is_virtual()) {
    Clock::get().advance_to(end);
    return;
  }
  lock.unlock();
  const Nanoseconds now = Clock::real_now();
  if (end > now) Clock::get().sleep(end - now);
  lock.lock();
}

}  // namespace

bool find_end(Address address, std::size_t size, End& end, bool hold, std::string& text) {
  Machine& machine = Machine::get();
  end.device = machine.device_at(address);
  if (end.device != nullptr) {
    end.block = end.device->memory.block_of(address, size);
    if (end.block == nullptr) {
      char message[400];
      std::snprintf(message, sizeof message, "Device address 0x%zx with %zu bytes is no live memory: it is %s.",
                    address, size, end.device->memory.describe(address).c_str());
      text = format_error("EE9999", message);
      end = End();
      return false;
    }
    end.bytes = static_cast<unsigned char*>(end.device->memory.shadow(address));
    if (hold) end.device->memory.hold(*end.block);
    return true;
  }
  end.host = HostMemory::get().block_of(address, size);
  end.bytes = reinterpret_cast<unsigned char*>(address);
  if (end.host != nullptr && hold) ++end.host->busy;
  return true;
}

bool let_go(End& end) {
  if (end.block != nullptr) return end.device->memory.let_go(*end.block);
  if (end.host != nullptr) return HostMemory::get().let_go(*end.host);
  return true;
}

int copy_now(Lock& lock, const char* function, void* dst_address, const void* src_address, const Extent& extent,
             int kind) {
  End dst, src;
  std::string text;
  if (!find_end(reinterpret_cast<Address>(dst_address), extent.dst_span(), dst, true, text) ||
      !find_end(reinterpret_cast<Address>(src_address), extent.src_span(), src, true, text)) {
    let_go(dst);
    add_error_text(text);
    return fail(rt_sys_dma, "EE9999", "%s failed: system DMA cannot reach the memory.", function);
  }
  const Route route = route_of(dst, src);
  check_kind(route, kind);
  spend(lock, route, cost_of(route, extent.bytes()));
  lock.unlock();
  move(dst, src, extent);
  lock.lock();
  count(route, extent.bytes());
  const bool dst_lives = let_go(dst), src_lives = let_go(src);
  if (!(dst_lives && src_lives)) Machine::get().violation("memory freed while it was copied");
  return 0;
}

int copy_later(Lock& lock, const char* function, void* dst_address, const void* src_address, const Extent& extent,
               int kind, void* handle) {
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  End dst, src;
  std::string text;
  const bool known = find_end(reinterpret_cast<Address>(dst_address), extent.dst_span(), dst, false, text) &&
                     find_end(reinterpret_cast<Address>(src_address), extent.src_span(), src, false, text);
  if (known) {
    const Route route = route_of(dst, src);
    if (route.device == nullptr)
      return fail(feature_unsupported, "EE1006", "%s failed. An asynchronous copy from host to host is not supported.",
                  function);
    check_kind(route, kind);
    if (dst.pageable() || src.pageable()) {
      if (code = stream->synchronize(lock, -1, function); code != 0) return code;
      return copy_now(lock, function, dst_address, src_address, extent, kind);
    }
  }
  // An address that is not live fails when the card comes to it, as it would there.
  return stream->push(std::make_unique<CopyTask>(dst_address, src_address, extent), function);
}

int fill_now(Lock& lock, const char* function, void* address, int value, std::size_t count) {
  End dst;
  std::string text;
  if (!find_end(reinterpret_cast<Address>(address), count, dst, true, text)) {
    add_error_text(text);
    return fail(rt_sys_dma, "EE9999", "%s failed: system DMA cannot reach the memory.", function);
  }
  lock.unlock();
  std::memset(dst.bytes, value, count);
  lock.lock();
  let_go(dst);
  return 0;
}

int fill_later(Lock& lock, const char* function, void* address, int value, std::size_t count, void* handle) {
  int code = 0;
  const auto stream = stream_of(function, handle, code);
  if (stream == nullptr) return code;
  End dst;
  std::string text;
  if (find_end(reinterpret_cast<Address>(address), count, dst, false, text) && dst.pageable()) {
    if (code = stream->synchronize(lock, -1, function); code != 0) return code;
    return fill_now(lock, function, address, value, count);
  }
  return stream->push(std::make_unique<FillTask>(address, value, count), function);
}

}  // namespace aclsim
