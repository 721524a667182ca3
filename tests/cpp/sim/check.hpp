// A test frame of one page: TEST(group, name), CHECK, CODE; the simulator starts afresh for each test.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../../../_ext/aclsim.h"
#include "../../../_ext/sim/prototypes.hpp"

struct TestCase {
  const char *group, *name;
  void (*body)();
};
std::vector<TestCase>& test_cases();
void failed(const char* file, int line, const char* what);

struct AddTest {
  AddTest(const char* group, const char* name, void (*body)()) { test_cases().push_back({group, name, body}); }
};

#define TEST(group, name)                                                          \
  static void test_##group##_##name();                                             \
  static const AddTest add_##group##_##name(#group, #name, test_##group##_##name); \
  static void test_##group##_##name()

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) failed(__FILE__, __LINE__, #condition); \
  } while (0)

// The call answers that code.
#define CODE(expected, call) expect_code(__FILE__, __LINE__, #call, expected, call)
#define OK(call) CODE(0, call)
// The same, and the text of the error says so.
#define FAILS(expected, words, call)                                  \
  do {                                                                \
    forget_errors();                                                  \
    expect_failure(__FILE__, __LINE__, #call, words, expected, call); \
  } while (0)
void expect_code(const char* file, int line, const char* call, int expected, int got);
void expect_failure(const char* file, int line, const char* call, const char* words, int expected, int got);
void forget_errors();

// aclGetRecentErrMsg; empty for none.
std::string recent();
std::string report();
// The number behind "key": in the report; -1 when it is not there.
long long reported(const std::string& key);
bool violated(const std::string& what);

// aclInit with these options and aclrtSetDevice(0).
void start(const char* options = "{}", bool set_device = true);

// Device memory with these floats, and back.
void* to_device(const std::vector<float>& values, std::size_t size = 0);
std::vector<float> from_device(const void* address, std::size_t count);

// Gives the workers of other streams every chance to run.
void let_workers_run();

// Runs a body in a forked child; the signal it dies of, or 0, and what it wrote to stderr.
int in_child(const std::function<void()>& body, std::string& errors);
