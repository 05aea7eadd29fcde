// SPDX-License-Identifier: MIT
#include "support/proxy_frames.hpp"

#include <cctype>
#include <charconv>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::size_t largest_frame = std::size_t{8} << 20U;

// The number of a header such as "*3" or "$-1".
std::optional<std::int64_t> number_of(std::string_view header) {
  std::int64_t out = 0;
  const char* const end = header.data() + header.size();
  const auto [last, error] = std::from_chars(header.data() + 1, end, out);
  if (header.size() < 2 || error != std::errc() || last != end) return std::nullopt;
  return out;
}

// Takes a line off the front of `text`.
std::optional<std::string_view> line_of(std::string_view& text) {
  const std::size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 2);
  return line;
}

}  // namespace

std::optional<std::string> ProxyFrames::next() {
  while (!opaque_ && values_left_ > 0) {
    const Step step = skip_value();
    if (step == Step::broken || (step == Step::more && buffer_.size() > largest_frame)) {
      opaque_ = true;
    } else if (step == Step::more) {
      return std::nullopt;
    }
  }
  if (!opaque_) return take(scanned_);
  if (buffer_.empty()) return std::nullopt;
  return take(buffer_.size());
}

std::string ProxyFrames::rest() { return take(buffer_.size()); }

std::string ProxyFrames::take(std::size_t size) {
  std::string out = buffer_.substr(0, size);
  buffer_.erase(0, size);
  scanned_ = 0;
  values_left_ = 1;
  return out;
}

ProxyFrames::Step ProxyFrames::skip_value() {
  if (scanned_ == buffer_.size()) return Step::more;
  const char type = buffer_[scanned_];
  const bool first = scanned_ == 0;
  const std::string_view allowed = of_ == Of::replies ? "+-:$*" : first ? "*" : "$";
  if (allowed.find(type) == std::string_view::npos) return Step::broken;
  std::string_view text = std::string_view(buffer_).substr(scanned_);
  const std::optional<std::string_view> header = line_of(text);
  if (!header) return Step::more;
  std::size_t size = header->size() + 2;
  std::uint64_t inside = 0;
  if (type == '$' || type == '*') {
    const std::optional<std::int64_t> number = number_of(*header);
    if (!number) return Step::broken;
    const auto count = static_cast<std::uint64_t>(*number < 0 ? 0 : *number);
    if (type == '*') {
      inside = count;
    } else if (*number >= 0) {
      if (count > largest_frame) return Step::broken;
      size += count + 2;
    }
  }
  if (buffer_.size() - scanned_ < size) return Step::more;
  scanned_ += size;
  values_left_ += inside;
  --values_left_;
  return Step::over;
}

std::string ProxyFrames::first_word(std::string_view frame) {
  if (!frame.starts_with('*') || !line_of(frame) || !frame.starts_with('$') || !line_of(frame)) {
    return {};
  }
  std::string out(line_of(frame).value_or(""));
  for (char& letter : out) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return out;
}

std::size_t ProxyFrames::elements(std::string_view frame) {
  if (!frame.starts_with('*')) return 0;
  const std::optional<std::string_view> header = line_of(frame);
  const std::optional<std::int64_t> number = header ? number_of(*header) : std::nullopt;
  return number && *number > 0 ? static_cast<std::size_t>(*number) : 0;
}

}  // namespace mortise::test
