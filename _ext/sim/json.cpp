#include "json.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace aclsim {

class JsonParser {
 public:
  JsonParser(std::string_view text, int depth) : text_(text), depth_(depth) {}

  bool document(Json& out) {
    if (!value(out, 0)) return false;
    blanks();
    return at_ == text_.size() || fail("text after the value");
  }

  std::string reason;

 private:
  bool fail(const char* why) {
    if (reason.empty()) reason = std::string(why) + " at byte " + std::to_string(at_);
    return false;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  bool value(Json& out, int level) {
    if (level > depth_) return fail("too many levels of [ and {");
    blanks();
    if (at_ >= text_.size()) return fail("the text ends where a value is expected");
    const char c = text_[at_];
    if (c == '{') return object(out, level);
    if (c == '[') return list(out, level);
    if (c == '"') {
      out.kind_ = Json::Kind::text;
      return string(out.text_);
    }
    if (word("true")) {
      out.kind_ = Json::Kind::boolean;
      out.flag_ = true;
      return true;
    }
    if (word("false")) {
      out.kind_ = Json::Kind::boolean;
      return true;
    }
    if (word("null")) return true;
    return number(out);
  }

  bool object(Json& out, int level) {
    out.kind_ = Json::Kind::object;
    ++at_;
    if (take('}')) return true;
    do {
      blanks();
      std::string key;
      if (at_ >= text_.size() || text_[at_] != '"' || !string(key)) return fail("a member's name is expected");
      if (!take(':')) return fail("':' is expected");
      if (!value(out.object_[key], level + 1)) return false;
    } while (take(','));
    return take('}') || fail("',' or '}' is expected");
  }

  bool list(Json& out, int level) {
    out.kind_ = Json::Kind::list;
    ++at_;
    if (take(']')) return true;
    do {
      out.list_.emplace_back();
      if (!value(out.list_.back(), level + 1)) return false;
    } while (take(','));
    return take(']') || fail("',' or ']' is expected");
  }

  bool hex4(unsigned& out) {
    out = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ >= text_.size() || !std::isxdigit(static_cast<unsigned char>(text_[at_]))) return false;
      const char c = text_[at_];
      out = out * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return true;
  }

  static void utf8(std::string& out, unsigned code) {
    const auto put = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xC0 | (code >> 6));
      put(0x80 | (code & 63));
    } else if (code < 0x10000) {
      put(0xE0 | (code >> 12));
      put(0x80 | ((code >> 6) & 63));
      put(0x80 | (code & 63));
    } else {
      put(0xF0 | (code >> 18));
      put(0x80 | ((code >> 12) & 63));
      put(0x80 | ((code >> 6) & 63));
      put(0x80 | (code & 63));
    }
  }

  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      if (at_ >= text_.size()) break;
      const char e = text_[at_++];
      switch (e) {
        case 'n':
          out.push_back('\n');
          break;
        case 't':
          out.push_back('\t');
          break;
        case 'r':
          out.push_back('\r');
          break;
        case 'b':
          out.push_back('\b');
          break;
        case 'f':
          out.push_back('\f');
          break;
        case '"':
        case '\\':
        case '/':
          out.push_back(e);
          break;
        case 'u': {
          unsigned code = 0;
          if (!hex4(code)) return fail("four hexadecimal digits are expected");
          unsigned low = 0;
          if (code >= 0xD800 && code < 0xDC00 && word("\\u") && hex4(low) && low >= 0xDC00 && low < 0xE000)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          utf8(out, code);
          break;
        }
        default:
          return fail("an unknown escape");
      }
    }
    return fail("the text ends inside a string");
  }

  bool number(Json& out) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' ||
                                  text_[at_] == '+' || text_[at_] == '.'))
      ++at_;
    const std::string token(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    out.number_ = std::strtod(token.c_str(), &end);
    if (token.empty() || *end != '\0' || std::isalpha(static_cast<unsigned char>(token[0]))) {
      at_ = begin;
      return fail("no JSON value");
    }
    errno = 0;
    out.whole_number_ = std::strtoll(token.c_str(), &end, 10);
    out.whole_ = *end == '\0' && errno == 0;
    out.kind_ = Json::Kind::number;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_;
};

std::unique_ptr<Json> Json::parse(std::string_view text, std::string& reason, int depth) {
  auto out = std::make_unique<Json>();
  JsonParser parser(text, depth);
  if (parser.document(*out)) return out;
  reason = parser.reason;
  return nullptr;
}

std::int64_t Json::integer(std::int64_t fallback) const {
  if (kind_ != Kind::number) return fallback;
  if (whole_) return whole_number_;
  return number_ > -9e18 && number_ < 9e18 ? static_cast<std::int64_t>(number_) : fallback;
}

const Json& Json::operator[](const std::string& key) const {
  static const Json nothing;
  const auto found = object_.find(key);
  return found == object_.end() ? nothing : found->second;
}

std::vector<std::int64_t> Json::integers() const {
  std::vector<std::int64_t> out;
  for (const Json& item : list_) out.push_back(item.integer());
  return out;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace aclsim
