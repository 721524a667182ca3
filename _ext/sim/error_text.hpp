// What aclGetRecentErrMsg answers: texts in the shape of CANN's, per thread.
#pragma once
#include <string>

#include "codes.hpp"

namespace aclsim {

// Records "EE1001: [PID: 1] date The argument is invalid. ..." for the calling thread and returns the code.
// `id` is CANN's error id of this kind of failure.
[[gnu::format(printf, 3, 4)]] int fail(int code, const char* id, const char* format, ...);

// The frequent ones, with CANN's sentences.
int fail_null(const char* function, const char* argument);  // EH0002, 100000
int fail_value(const char* function, const std::string& value, const char* argument, const char* reason);  // EH0001
int fail_handle(const char* function, const char* what, const void* handle);                               // 200005

// Adds a ready-made text, e.g. that of a task which failed on a stream.
void add_error_text(const std::string& text);
std::string format_error(const char* id, const std::string& message);

// err_msg_mode 1 of aclInit's JSON: one list of messages for the process.
void share_error_text(bool per_process);
const char* take_error_text(bool without_context);

}  // namespace aclsim
