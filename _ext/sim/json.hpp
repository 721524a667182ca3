// Reading JSON: aclInit's configuration and a model container's parameters.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace aclsim {

class Json {
 public:
  enum class Kind { null, boolean, number, text, list, object };

  // Returns null and a reason when the text is not one JSON value, or nests deeper than `depth`.
  static std::unique_ptr<Json> parse(std::string_view text, std::string& reason, int depth = 64);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool boolean(bool fallback = false) const { return kind_ == Kind::boolean ? flag_ : fallback; }
  double number(double fallback = 0) const { return kind_ == Kind::number ? number_ : fallback; }
  std::int64_t integer(std::int64_t fallback = 0) const;
  const std::string& text() const { return text_; }
  const std::vector<Json>& list() const { return list_; }
  const std::map<std::string, Json>& object() const { return object_; }

  // The member of that name, or a null value.
  const Json& operator[](const std::string& key) const;
  std::vector<std::int64_t> integers() const;

 private:
  friend class JsonParser;
  Kind kind_ = Kind::null;
  bool flag_ = false;
  double number_ = 0;
  bool whole_ = false;
  std::int64_t whole_number_ = 0;
  std::string text_;
  std::vector<Json> list_;
  std::map<std::string, Json> object_;
};

// The text as a JSON string with its quotes.
std::string json_quote(std::string_view text);

}  // namespace aclsim
