// What a call into onnxruntime came to.
#pragma once
#include <new>
#include <string>
#include <utility>

namespace ascend_infer {

class [[nodiscard]] OrtFailure {
 public:
  OrtFailure() noexcept = default;
  OrtFailure(int code, std::string text) noexcept : code_(code), text_(std::move(text)) {}
  // The text is lost where there is no memory for it; the code is not.
  static OrtFailure of(int code, const char *text) noexcept {
    OrtFailure failure;
    failure.code_ = code;
    try {
      failure.text_ = text;
    } catch (const std::bad_alloc &) {
    }
    return failure;
  }
  static OrtFailure no_memory() noexcept { return of(no_host_memory, ""); }

  bool ok() const noexcept { return code_ == 0; }
  int code() const noexcept { return code_; }  // an OrtErrorCode, or one of those below
  const std::string &text() const noexcept { return text_; }

  static constexpr int no_host_memory = -1;  // for our own bookkeeping
  static constexpr int forked = -2;          // the session is a parent process's
  static constexpr int no_library = -3;      // the file is no onnxruntime that we can use

 private:
  int code_ = 0;
  std::string text_;
};

}  // namespace ascend_infer
