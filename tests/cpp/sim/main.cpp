// Runs the tests of a group, or all: ./tests [group [name]]. The functions that were called are listed at the end.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "check.hpp"

namespace {

int failures = 0;
std::map<std::string, std::pair<long long, long long>> called;  // function: calls, failures

// Adds the counters of "calls" and "failures" in the report to the sum of all tests.
void collect() {
  const std::string text = report();
  for (const bool failing : {false, true}) {
    std::size_t at = text.find(failing ? "\"failures\":{" : "\"calls\":{");
    const std::size_t end = text.find('}', at);
    while ((at = text.find("\"acl", at)) < end) {
      const std::size_t close = text.find('"', at + 1);
      auto& entry = called[text.substr(at + 1, close - at - 1)];
      (failing ? entry.second : entry.first) += std::atoll(text.c_str() + close + 2);
      at = close;
    }
  }
}

}  // namespace

std::vector<TestCase>& test_cases() {
  static std::vector<TestCase> cases;
  return cases;
}

void failed(const char* file, int line, const char* what) {
  ++failures;
  std::printf("%s:%d: %s\n", file, line, what);
}

void expect_code(const char* file, int line, const char* call, int expected, int got) {
  if (got == expected) return;
  const std::string text =
      std::string(call) + " gave " + std::to_string(got) + ", not " + std::to_string(expected) + ": " + recent();
  failed(file, line, text.c_str());
}

void expect_failure(const char* file, int line, const char* call, const char* words, int expected, int got) {
  const std::string said = recent();
  if (got == expected && said.find(words) != std::string::npos) return;
  const std::string text = std::string(call) + " gave " + std::to_string(got) + " saying \"" + said + "\", not " +
                           std::to_string(expected) + " saying \"" + words + "\"";
  failed(file, line, text.c_str());
}

void forget_errors() { recent(); }

std::string recent() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? std::string() : text;
}

std::string report() {
  std::string text(aclsim_report(nullptr, 0) + 4096, '\0');
  text.resize(aclsim_report(text.data(), text.size()) - 1);
  return text;
}

long long reported(const std::string& key) {
  const std::string text = report();
  const std::size_t at = text.find("\"" + key + "\":");
  return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + key.size() + 3);
}

bool violated(const std::string& what) { return reported(what) > 0; }

void start(const char* options, bool set_device) {
  if (aclsim_configure(options) != 0) failed(__FILE__, __LINE__, aclsim_error());
  OK(aclInit(nullptr));
  if (set_device) OK(aclrtSetDevice(0));
}

void* to_device(const std::vector<float>& values, std::size_t size) {
  if (size == 0) size = values.size() * sizeof(float);
  void* address = nullptr;
  OK(aclrtMalloc(&address, size, ACL_MEM_MALLOC_HUGE_FIRST));
  if (!values.empty())
    OK(aclrtMemcpy(address, size, values.data(), values.size() * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE));
  return address;
}

std::vector<float> from_device(const void* address, std::size_t count) {
  std::vector<float> values(count);
  OK(aclrtMemcpy(values.data(), count * sizeof(float), address, count * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}

void let_workers_run() {
  aclrtStream other = nullptr;
  OK(aclrtCreateStream(&other));
  for (int i = 0; i < 50; ++i) {
    OK(aclrtLaunchHostFunc(other, [](void*) {}, nullptr));
    OK(aclrtSynchronizeStream(other));
  }
  OK(aclrtDestroyStream(other));
}

int in_child(const std::function<void()>& body, std::string& errors) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  char buffer[4096];
  errors.clear();
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) errors.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) == 0 ? 0 : -WEXITSTATUS(status);
}

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  int ran = 0;
  for (const TestCase& test : test_cases()) {
    if (count > 1 && std::strcmp(arguments[1], test.group) != 0) continue;
    if (count > 2 && std::strcmp(arguments[2], test.name) != 0) continue;
    const int before = failures;
    if (aclsim_reset() != 0) failed(__FILE__, __LINE__, "aclsim_reset failed");
    ++ran;
    test.body();
    collect();
    if (failures != before) std::printf("FAILED %s.%s\n", test.group, test.name);
  }
  aclsim_reset();
  if (reported("used_bytes") > 0) failed(__FILE__, __LINE__, "device memory is left");
  for (const auto& [name, counts] : called)
    std::printf("called %s %lld %lld\n", name.c_str(), counts.first, counts.second);
  std::printf("%d tests, %d failures\n", ran, failures);
  return failures != 0 || ran == 0 ? 1 : 0;
}
