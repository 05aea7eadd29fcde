// SPDX-License-Identifier: MIT
// Requests as bytes, and answers as words: the same for the model and the real server, so that two
// conversations can be compared as text.
#pragma once

#include "simulation/zookeeper/node.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simulation::zookeeper {

/// @return a frame; `session` 0 asks for a new one.
[[nodiscard]] std::string greeting_frame(std::int32_t timeout_ms, std::int64_t session = 0,
                                         std::string_view password = {}, std::int64_t seen = 0);
/// @return a frame: number, type, and what follows.
[[nodiscard]] std::string request_frame(std::int32_t xid, std::int32_t type, const Out& body = {});

// Bodies of requests.
[[nodiscard]] Out create_body(std::string_view path, std::int32_t flags, std::string_view data = {},
                              const std::vector<Acl>& acl = {});
[[nodiscard]] Out path_body(std::string_view path);
[[nodiscard]] Out watch_body(std::string_view path, bool watch);
[[nodiscard]] Out version_body(std::string_view path, std::int32_t version);
[[nodiscard]] Out data_body(std::string_view path, std::string_view data, std::int32_t version);
/// One step of a multi: its type and its body. The end has no type.
void add_step(Out& multi, std::int32_t type, const Out& body);
void end_steps(Out& multi);

/// The next whole frame, taken off; nothing: more bytes are needed.
[[nodiscard]] std::optional<std::string> take_frame(std::string& bytes);

struct Welcome {
  std::int32_t timeout = 0;  ///< 0: the session has expired
  std::int64_t session = 0;
  std::string password{};
};
[[nodiscard]] Welcome read_welcome(std::string_view frame);

/// Puts a frame of a server into words, without times.
class Words {
 public:
  /// @param offset of this server's zxids to those of the other one
  explicit Words(std::int64_t offset = 0) : offset_(offset) {}

  void know_session(std::int64_t session) { sessions_.emplace(session, sessions_.size() + 1); }
  void set_offset(std::int64_t offset) { offset_ = offset; }
  /// @param type of the request that it answers; that of an event is not looked at
  [[nodiscard]] std::string of(std::string_view frame, std::int32_t type) const;

 private:
  void write(std::string_view frame, std::int32_t type, std::string& out) const;
  void stat(In& in, std::string& out) const;
  void steps(In& in, std::string& out) const;
  [[nodiscard]] std::string zxid(std::int64_t number) const;

  std::int64_t offset_;
  std::map<std::int64_t, std::size_t> sessions_;
};

}  // namespace simulation::zookeeper
