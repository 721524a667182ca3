#include <csignal>
#include <cstring>

#include "check.hpp"

// The handler of a sanitizer ends the process in its own way: only that it names the pointer is asked.
namespace {

const char* touched = nullptr;
volatile char sink;

}  // namespace

TEST(crash, the_cpu_touches_device_memory) {
  start();
  touched = static_cast<const char*>(to_device({1, 2, 3, 4}));
  std::string errors;
  CHECK(in_child([] { sink = touched[5]; }, errors) != 0);
  CHECK(errors.find("aclsim: the CPU touched device memory") != std::string::npos);
  CHECK(errors.find("byte 5 of the allocation of 16 bytes") != std::string::npos);
  OK(aclrtFree(const_cast<char*>(touched)));
  CHECK(in_child([] { sink = touched[5]; }, errors) != 0);
  CHECK(errors.find("which was freed") != std::string::npos);
}

TEST(crash, the_cpu_touches_freed_pinned_memory) {
  start();
  void* pinned = nullptr;
  OK(aclrtMallocHost(&pinned, 64));
  OK(aclrtFreeHost(pinned));
  touched = static_cast<const char*>(pinned);
  std::string errors;
  CHECK(in_child([] { sink = touched[0]; }, errors) != 0);
  CHECK(errors.find("after aclrtFreeHost") != std::string::npos);
}

TEST(crash, other_faults_stay_what_they_were) {
  start();
  std::string errors;
  touched = nullptr;
  CHECK(in_child([] { sink = touched[16]; }, errors) != 0);
  CHECK(errors.find("aclsim:") == std::string::npos);
}

TEST(crash, a_forked_child_cannot_go_on) {
  start();
  std::string errors;
  const int result = in_child(
      [] {
        int device = 0;
        if (aclrtGetDevice(&device) != 507899) _Exit(1);
        if (recent().find("spawn") == std::string::npos) _Exit(2);
        if (aclmdlCreateDataset() != nullptr) _Exit(3);
      },
      errors);
  CHECK(result == 0);
}
