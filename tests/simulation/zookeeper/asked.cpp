// SPDX-License-Identifier: MIT
#include "simulation/zookeeper/asked.hpp"

#include "simulation/zookeeper/numbers.hpp"
#include "simulation/zookeeper/rights.hpp"

#include <utility>

namespace simulation::zookeeper {

Asked Asked::read(std::int32_t type, In& in) {
  Asked out{.type = type, .path = std::string(in.text())};
  switch (type) {
    case op::create:
    case op::create_2:
    case op::create_container:
    case op::create_ttl:
      out.data = in.bytes();
      out.acl = read_acl(in);
      out.flags = in.int32();
      if (type == op::create_ttl) in.int64();
      return out;
    case op::set_data: out.data = in.bytes(); break;
    case op::set_acl: out.acl = read_acl(in); break;
    case op::remove:
    case op::check: break;
    default: throw Malformed();
  }
  out.version = in.int32();
  return out;
}

std::vector<Asked> Asked::read_multi(In& in) {
  std::vector<Asked> out;
  while (true) {
    const std::int32_t type = in.int32();
    const bool done = in.flag();
    in.int32();
    if (done) return out;
    if (type == op::set_acl) throw Malformed();
    Asked asked = read(type, in);
    // The server of our version makes its steps of what is asked for, not of how.
    if (type == op::create || type == op::create_2 || type == op::create_container) {
      asked.unfit = asked.flags > flag::container && asked.flags <= flag::last;
      asked.type = asked.flags == flag::container ? op::create_container : op::create;
    }
    out.push_back(std::move(asked));
  }
}

}  // namespace simulation::zookeeper
