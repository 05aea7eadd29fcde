// SPDX-License-Identifier: MIT
#include "support/zookeeper_frames.hpp"

#include <algorithm>
#include <utility>

namespace mortise::test {
namespace {

constexpr std::int32_t largest_packet = 8 << 20;
constexpr std::size_t head = 4;  // bytes of a number

constexpr std::pair<std::int32_t, std::string_view> operations[] = {
    {1, "CREATE"},   {2, "DELETE"},         {3, "EXISTS"},           {4, "GETDATA"},
    {5, "SETDATA"},  {6, "GETACL"},         {7, "SETACL"},           {8, "GETCHILDREN"},
    {9, "SYNC"},     {13, "CHECK"},         {14, "MULTI"},           {12, "GETCHILDREN2"},
    {15, "CREATE2"}, {18, "REMOVEWATCHES"}, {19, "CREATECONTAINER"},
};
constexpr std::pair<std::int32_t, std::string_view> others[] = {
    {11, "PING"}, {100, "AUTH"}, {101, "SETWATCHES"}, {105, "SETWATCHES2"}, {-11, "CLOSE"},
};

std::int32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (const char each : bytes.substr(std::min(at, bytes.size()), head)) {
    out = out << 8U | static_cast<unsigned char>(each);
  }
  return static_cast<std::int32_t>(out);
}

std::string bytes_of(std::int32_t value) {
  std::string out;
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint32_t>(value) >> (shift - 8) & 0xffU));
  }
  return out;
}

template <class Table>
std::optional<std::string_view> find(const Table& table, std::int32_t wanted) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [wanted](const auto& one) { return one.first == wanted; });
  if (found == std::end(table)) return std::nullopt;
  return found->second;
}

std::int32_t operation_of(std::string_view frame) { return number_at(frame, 2 * head); }

}  // namespace

std::optional<std::string> ZooKeeperFrames::next() {
  if (!opaque_) {
    if (buffer_.size() < head) return std::nullopt;
    const std::int32_t size = number_at(buffer_, 0);
    opaque_ = size < static_cast<std::int32_t>(head) || size > largest_packet;
    if (!opaque_) {
      const std::size_t whole = static_cast<std::size_t>(size) + head;
      if (buffer_.size() < whole) return std::nullopt;
      return take(whole);
    }
  }
  if (buffer_.empty()) return std::nullopt;
  return take(buffer_.size());
}

std::string ZooKeeperFrames::rest() { return take(buffer_.size()); }

std::string ZooKeeperFrames::take(std::size_t size) {
  std::string out = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return out;
}

ProxyRequest ZooKeeperFrames::kind_of_request(std::string_view frame) {
  if (number(frame) == 0) return ProxyRequest::greeting;
  return find(operations, operation_of(frame)) ? ProxyRequest::operation : ProxyRequest::other;
}

std::string ZooKeeperFrames::command(std::string_view frame) {
  if (number(frame) == 0) return "CONNECT";
  const std::int32_t operation = operation_of(frame);
  if (const auto name = find(operations, operation)) return std::string(*name);
  return std::string(find(others, operation).value_or("OTHER"));
}

std::int32_t ZooKeeperFrames::number(std::string_view frame) { return number_at(frame, head); }

// Length, number, "exists", "/", no watch.
std::string ZooKeeperFrames::harmless(std::string_view request) {
  constexpr std::int32_t size = 14;
  constexpr std::int32_t exists = 3;
  return bytes_of(size) + std::string(request.substr(head, head)) + bytes_of(exists) + bytes_of(1) +
         '/' + '\0';
}

// Length, number, the last change that the server knows, error.
std::string ZooKeeperFrames::refused(std::string_view reply, std::int32_t error) {
  constexpr std::int32_t size = 16;
  return bytes_of(size) + std::string(reply.substr(head, 3 * head)) + bytes_of(error);
}

}  // namespace mortise::test
