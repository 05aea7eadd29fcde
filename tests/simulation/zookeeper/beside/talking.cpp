// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/beside/talking.hpp"

#include "simulation/zookeeper/numbers.hpp"

#include <algorithm>

namespace simulation::zookeeper {
namespace {

constexpr std::size_t head = 4;
constexpr std::size_t password_size = 16;

std::string quoted(const std::optional<std::string>& bytes) {
  return bytes ? "'" + *bytes + "'" : "null";
}

}  // namespace

std::string greeting_frame(std::int32_t timeout_ms, std::int64_t session, std::string_view password,
                           std::int64_t seen) {
  std::string proof(password);
  proof.resize(password_size, '\0');
  return Out()
      .int32(0)
      .int64(seen)
      .int32(timeout_ms)
      .int64(session)
      .text(proof)
      .flag(false)
      .frame();
}

std::string request_frame(std::int32_t xid, std::int32_t type, const Out& body) {
  return Out().int32(xid).int32(type).raw(body.str()).frame();
}

Out create_body(std::string_view path, std::int32_t flags, std::string_view data,
                const std::vector<Acl>& acl) {
  Out out;
  out.text(path).text(data);
  if (acl.empty()) {
    out.int32(1).int32(31).text("world").text("anyone");
  } else {
    out.int32(static_cast<std::int32_t>(acl.size()));
    for (const Acl& each : acl) out.int32(each.rights).text(each.scheme).text(each.id);
  }
  return out.int32(flags);
}

Out path_body(std::string_view path) { return Out().text(path); }

Out watch_body(std::string_view path, bool watch) { return Out().text(path).flag(watch); }

Out version_body(std::string_view path, std::int32_t version) {
  return Out().text(path).int32(version);
}

Out data_body(std::string_view path, std::string_view data, std::int32_t version) {
  return Out().text(path).text(data).int32(version);
}

void add_step(Out& multi, std::int32_t type, const Out& body) {
  multi.int32(type).flag(false).int32(-1).raw(body.str());
}

void end_steps(Out& multi) { multi.int32(-1).flag(true).int32(-1); }

std::optional<std::string> take_frame(std::string& bytes) {
  if (bytes.size() < head) return std::nullopt;
  const std::size_t size = static_cast<std::size_t>(In(bytes).int32());
  if (bytes.size() < head + size) return std::nullopt;
  std::string out = bytes.substr(head, size);
  bytes.erase(0, head + size);
  return out;
}

Welcome read_welcome(std::string_view frame) {
  In in(frame);
  in.int32();
  Welcome out;
  out.timeout = in.int32();
  out.session = in.int64();
  out.password = in.text();
  return out;
}

std::string Words::zxid(std::int64_t number) const {
  return std::to_string(number > 0 ? number - offset_ : number);
}

void Words::stat(In& in, std::string& out) const {
  out += " czxid " + zxid(in.int64());
  out += " mzxid " + zxid(in.int64());
  in.int64();
  in.int64();
  out += " version " + std::to_string(in.int32());
  out += " cversion " + std::to_string(in.int32());
  out += " aversion " + std::to_string(in.int32());
  const auto owner = sessions_.find(in.int64());
  out += " owner " + std::to_string(owner == sessions_.end() ? 0 : owner->second);
  out += " length " + std::to_string(in.int32());
  out += " children " + std::to_string(in.int32());
  out += " pzxid " + zxid(in.int64());
}

void Words::steps(In& in, std::string& out) const {
  while (true) {
    const std::int32_t type = in.int32();
    const bool done = in.flag();
    const std::int32_t code = in.int32();
    if (done) return;
    out += " [" + std::to_string(type) + " code " + std::to_string(code);
    if (type == op::create || type == op::create_2) out += " " + std::string(in.text());
    if (type == op::create_2 || type == op::set_data) stat(in, out);
    if (type == op::error) out += " error " + std::to_string(in.int32());
    out += "]";
  }
}

std::string Words::of(std::string_view frame, std::int32_t type) const {
  std::string out;
  try {
    write(frame, type, out);
  } catch (const Malformed&) {
    out += " and ends too early";
  }
  return out;
}

void Words::write(std::string_view frame, std::int32_t type, std::string& out) const {
  In in(frame);
  const std::int32_t number = in.int32();
  const std::int64_t at = in.int64();
  const std::int32_t code = in.int32();
  if (number == xid::watch) {
    out = "event " + std::to_string(in.int32());
    out += " state " + std::to_string(in.int32());
    out += " " + std::string(in.text());
    return;
  }
  out = "reply " + std::to_string(number) + " zxid " + zxid(at) + " code " + std::to_string(code);
  if (code == code::ok) {
    switch (type) {
      case op::create:
      case op::sync: out += " " + std::string(in.text()); break;
      case op::create_2:
      case op::create_container:
        out += " " + std::string(in.text());
        stat(in, out);
        break;
      case op::exists:
      case op::set_data:
      case op::set_acl: stat(in, out); break;
      case op::get_data:
        out += " " + quoted(in.bytes());
        stat(in, out);
        break;
      case op::get_children:
      case op::get_children_2: {
        // The server's order is that of its hash table.
        std::vector<std::string_view> names = in.texts();
        std::sort(names.begin(), names.end());
        for (const std::string_view name : names) out += " " + std::string(name);
        if (type == op::get_children_2) stat(in, out);
        break;
      }
      case op::get_acl:
        for (std::int32_t left = in.int32(); left > 0; --left) {
          out += " " + std::to_string(in.int32());
          out += ":" + std::string(in.text());
          out += ":" + std::string(in.text());
        }
        stat(in, out);
        break;
      case op::multi: steps(in, out); break;
      default: break;
    }
  }
  if (!in.rest().empty()) out += " and " + std::to_string(in.rest().size()) + " bytes";
}

}  // namespace simulation::zookeeper
