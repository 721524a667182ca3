#include <cstring>
#include <thread>

#include "check.hpp"

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t free_bytes(aclrtMemAttr which = ACL_HBM_MEM) {
  std::size_t free = 0, total = 0;
  OK(aclrtGetMemInfo(which, &free, &total));
  return free;
}

}  // namespace

TEST(memory, allocations_are_rounded_and_counted) {
  start("{\"hbm_bytes\": 67108864}");
  std::size_t free = 0, total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  CHECK(total == 64 * mib && free == total);
  void *small = nullptr, *large = nullptr, *normal = nullptr;
  OK(aclrtMalloc(&small, 1, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  CHECK(free_bytes() == 64 * mib - 4096);
  OK(aclrtMalloc(&large, mib + 1, ACL_MEM_MALLOC_HUGE_FIRST));  // above 1 MiB: a huge page
  CHECK(free_bytes() == 62 * mib - 4096);
  OK(aclrtMalloc(&normal, mib + 1, ACL_MEM_MALLOC_NORMAL_ONLY));  // 1 MiB and 33 bytes: 257 pages
  CHECK(free_bytes() == 62 * mib - 4096 - 257 * 4096);
  CHECK(free_bytes(ACL_HBM_MEM_HUGE) == 60 * mib);
  OK(aclrtFree(normal));
  OK(aclrtFree(large));
  OK(aclrtFree(small));
  CHECK(free_bytes() == 64 * mib);
}

TEST(memory, the_padding_can_cost_a_page) {
  start();
  const std::size_t before = free_bytes();
  void *padded = nullptr, *exact = nullptr;
  OK(aclrtMalloc(&padded, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));  // 4096 + 32 bytes
  CHECK(before - free_bytes() == 8192);
  OK(aclrtMallocAlign32(&exact, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
  CHECK(before - free_bytes() == 12288);
  OK(aclrtFree(padded));
  OK(aclrtFree(exact));
}

TEST(memory, limit) {
  start("{\"hbm_bytes\": 8388608}");
  void *a = nullptr, *b = nullptr, *c = nullptr;
  OK(aclrtMalloc(&a, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
  FAILS(207001, "EL0004", aclrtMalloc(&b, 9 * mib, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&b, 5 * mib, ACL_MEM_MALLOC_HUGE_ONLY));  // three huge pages; the fourth is broken up
  CODE(207001, aclrtMalloc(&c, 4096, ACL_MEM_MALLOC_HUGE_ONLY));
  OK(aclrtMalloc(&c, mib + mib / 2, ACL_MEM_MALLOC_HUGE_FIRST));  // falls back to normal pages
  void* d = nullptr;
  CODE(207001, aclrtMalloc(&d, mib, ACL_MEM_MALLOC_NORMAL_ONLY));
  CODE(207000, aclrtMalloc(&d, 1, ACL_MEM_MALLOC_HUGE1G_ONLY));
}

TEST(memory, wrong_arguments) {
  start();
  void* memory = nullptr;
  FAILS(100000, "devPtr", aclrtMalloc(nullptr, 1, 0));
  FAILS(100000, "greater than 0", aclrtMalloc(&memory, 0, 0));
  CODE(100000, aclrtMalloc(&memory, SIZE_MAX, 0));
  CODE(100000, aclrtMallocAlign32(&memory, 0, 0));
  FAILS(100000, "devPtr", aclrtFree(nullptr));
  FAILS(207002, "not the begin", aclrtFree(&memory));
  memory = to_device({1, 2});
  CODE(207002, aclrtFree(static_cast<char*>(memory) + 1));
  OK(aclrtFree(memory));
  FAILS(207002, "freed before", aclrtFree(memory));
  std::size_t free = 0, total = 0;
  CODE(100000, aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total));
  CODE(100000, aclrtGetMemInfo(ACL_HBM_MEM, &free, nullptr));
  CODE(100000, aclrtGetMemInfo(99, &free, &total));
  CODE(100000, aclrtMallocCached(&memory, 0, 0));
  OK(aclrtMallocCached(&memory, 100, 0));
  OK(aclrtMemFlush(memory, 100));
  OK(aclrtMemInvalidate(memory, 100));
  CODE(100000, aclrtMemFlush(nullptr, 1));
  CODE(100000, aclrtMemInvalidate(memory, 0));
  OK(aclrtFreeWithDevSync(memory));
  CODE(100000, aclrtFreeWithDevSync(nullptr));
  CODE(207002, aclrtFreeWithDevSync(memory));
}

TEST(memory, with_configuration) {
  start();
  aclrtMallocAttribute attribute{};
  attribute.attr = ACL_RT_MEM_ATTR_MODULE_ID;
  attribute.value.moduleId = 7;
  aclrtMallocConfig config{&attribute, 1};
  void *memory = nullptr, *host = nullptr;
  OK(aclrtMallocWithCfg(&memory, 100, 0, &config));
  OK(aclrtMallocWithCfg(&host, 100, 0, nullptr));
  aclrtMemUsageInfo usage[4];
  std::size_t number = 0;
  OK(aclrtGetMemUsageInfo(0, usage, 4, &number));
  CHECK(number == 2);
  CHECK(std::string(usage[0].name) == "MODULE_7" && usage[0].curMemSize == 4096);
  CODE(100000, aclrtGetMemUsageInfo(0, nullptr, 4, &number));
  CODE(100000, aclrtGetMemUsageInfo(0, usage, 0, &number));
  CODE(107001, aclrtGetMemUsageInfo(9, usage, 4, &number));
  OK(aclrtFree(memory));
  OK(aclrtFree(host));
  attribute.attr = 99;
  CODE(100000, aclrtMallocWithCfg(&memory, 100, 0, &config));
  CODE(100000, aclrtMallocHostWithCfg(&host, 100, &config));
  config.attrs = nullptr;
  CODE(100000, aclrtMallocWithCfg(&memory, 100, 0, &config));
  OK(aclrtMallocHostWithCfg(&host, 100, nullptr));
  OK(aclrtFreeHost(host));
  CODE(100000, aclrtMallocHostWithCfg(&host, 0, nullptr));
}

TEST(memory, pinned) {
  start();
  void* host = nullptr;
  CODE(100000, aclrtMallocHost(nullptr, 1));
  CODE(100000, aclrtMallocHost(&host, 0));
  FAILS(207001, "pinned", aclrtMallocHost(&host, std::size_t{1} << 46));
  OK(aclrtMallocHost(&host, 5000));
  CHECK(reinterpret_cast<std::uintptr_t>(host) % 64 == 0);
  std::memset(host, 1, 5000);
  OK(aclrtFreeHost(host));
  FAILS(207002, "freed before", aclrtFreeHost(host));
  FAILS(207002, "not the begin", aclrtFreeHost(&host));
  CODE(100000, aclrtFreeHost(nullptr));
  OK(aclrtMallocHost(&host, 64));
  OK(aclrtFreeHostWithDevSync(host));
  CODE(100000, aclrtFreeHostWithDevSync(nullptr));
  CODE(207002, aclrtFreeHostWithDevSync(host));
  int code = 0;
  std::thread([&] { code = aclrtMallocHost(&host, 64); }).join();
  CHECK(code == 107002);
}

TEST(memory, registered) {
  start();
  alignas(4096) static char area[8192];
  void* device = nullptr;
  FAILS(107000, "4 KiB", aclrtHostRegister(area + 1, 4096, 0, &device));
  OK(aclrtHostRegister(area, 4096, 0, &device));
  FAILS(507910, "registered already", aclrtHostRegister(area, 4096, 0, &device));
  CODE(100000, aclrtHostRegister(nullptr, 4096, 0, &device));
  CODE(100000, aclrtHostRegister(area, 4096, 0, nullptr));
  CODE(100000, aclrtHostRegister(area, 4096, 3, &device));
  CODE(100000, aclrtHostRegister(area, 0, 0, &device));
  OK(aclrtHostGetDevicePointer(area, &device, 0));
  CODE(100000, aclrtHostGetDevicePointer(area, &device, 1));
  CODE(100000, aclrtHostGetDevicePointer(nullptr, &device, 0));
  CODE(507911, aclrtHostGetDevicePointer(area + 4096, &device, 0));
  aclrtPtrAttributes about{};
  OK(aclrtPointerGetAttributes(area, &about));
  CHECK(about.location.type == ACL_MEM_LOCATION_TYPE_HOST);
  OK(aclrtHostUnregister(area));
  FAILS(507911, "not registered", aclrtHostUnregister(area));
  CODE(100000, aclrtHostUnregister(nullptr));
  OK(aclrtHostRegisterV2(area, 4096, 0x10000002));
  CODE(100000, aclrtHostRegisterV2(area, 4096, 1));
  CODE(507910, aclrtHostRegisterV2(area, 4096, 2));
  OK(aclrtHostUnregister(area));
}

TEST(memory, pointers_are_told_apart) {
  start();
  void *memory = to_device({1}), *host = nullptr;
  OK(aclrtMallocHost(&host, 64));
  int local = 0;
  aclrtPtrAttributes about{};
  OK(aclrtPointerGetAttributes(memory, &about));
  CHECK(about.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && about.location.id == 0 && about.pageSize == 4096);
  OK(aclrtPointerGetAttributes(host, &about));
  CHECK(about.location.type == ACL_MEM_LOCATION_TYPE_HOST);
  OK(aclrtPointerGetAttributes(&local, &about));
  CHECK(about.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  CODE(100000, aclrtPointerGetAttributes(nullptr, &about));
  CODE(100000, aclrtPointerGetAttributes(memory, nullptr));
  OK(aclrtFreeHost(host));
  OK(aclrtFree(memory));
  OK(aclrtPointerGetAttributes(memory, &about));
  CHECK(about.location.type == ACL_MEM_LOCATION_TYPE_UNREGISTERED);
}

TEST(memory, addresses_come_back_late) {
  start();
  void* first = to_device({1});
  OK(aclrtFree(first));
  void* second = to_device({2});
  CHECK(first != second);
  OK(aclrtFree(second));
}
