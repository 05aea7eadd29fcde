// SPDX-License-Identifier: MIT
// Goal: a lock's name, a label and the other options of a user are either within their limits or
// refused with words that name the limit; two names are never one key, node or file. Method: the
// checks of the core, and the texts that backends make of names, read back.
#include "base/address.hpp"
#include "base/path_name.hpp"
#include "base/printable.hpp"
#include "core/terms.hpp"
#include "fuzz/fuzz.hpp"
#ifdef MORTISE_WITH_REDIS
#include "redis/store/lock_key.hpp"
#endif

#include <chrono>
#include <string>

namespace {

using namespace mortise;
using fuzz::expect;

void check(const Failure& failure, bool fine) {
  expect(!failure == fine, "refused where it is beyond a limit", failure.text);
  if (fine) return;
  expect(failure.code == make_error_code(Errc::misconfigured), "typed", failure.text);
  expect(!failure.text.empty() && failure.text.size() < 256, "short words", failure.text);
}

int digit_of(char c) { return c <= '9' ? c - '0' : c - 'A' + 10; }

/// What path_name() made its text of.
std::string unescaped(std::string_view text) {
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
    } else {
      name += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    }
  }
  return name;
}

void check_path(std::string_view name) {
  const std::string text = base::path_name(name);
  expect(text.find('/') == std::string::npos, "a component", text);
  expect(fuzz::is_one_line(text) && (text.empty() || text.front() != '.'), "visible", text);
  expect(unescaped(text) == name, "one text a name", text);
  expect(base::name_in_path(text) == name, "and the way back", text);
  // A stranger's node, perhaps.
  if (const auto found = base::name_in_path(name)) {
    expect(base::path_name(*found) == name, "no other text of it", name);
  }
}

void check_address(std::string_view text) {
  try {
    const base::Address address = base::Address::parse(text, "redis", 1);
    expect(!address.host.empty() && address.port != 0, "a host and a port", text);
    const base::Address again = base::Address::parse(address.text(), "redis", 2);
    expect(again.host == address.host && again.port == address.port, "the same again", text);
  } catch (const Error& error) {
    expect(error.errc() == Errc::misconfigured, "typed", error.what());
    expect(fuzz::is_one_line(error.what()), "one line", error.what());
  }
}

void check_options(fuzz::Input& input, std::string_view label) {
  LockOptions options;
  options.label = label;
  check(core::check(options), label.size() <= core::longest_label && base::is_printable(label));
  const auto number = [&] { return static_cast<std::int64_t>(input.number()); };
  options.lease = std::chrono::milliseconds(number());
  options.max_hold = std::chrono::milliseconds(number());
  if (!core::check(options)) {
    expect(options.lease >= core::shortest_lease && options.lease <= core::longest_lease, "lease");
    expect(options.max_hold.count() > 0, "a hold has some time");
  }
  ClientOptions client;
  client.give_up = std::chrono::milliseconds(number());
  client.turn = std::chrono::milliseconds(number());
  expect(!core::check(client) == (client.give_up.count() >= 0 && client.turn.count() >= 0), "time");
}

}  // namespace

// Two lines, a name and a label; then numbers.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string_view name = input.line();
  check(core::check_name(name), !name.empty() && name.size() <= core::longest_name);
  check_path(name);
  check_address(name);
#ifdef MORTISE_WITH_REDIS
  expect(redis::lock_name("p:", redis::lock_key("p:", name)).value_or("") == name, "one key");
  if (const auto found = redis::lock_name("p:", name)) {
    expect(redis::lock_key("p:", *found) == name, "one name a key", name);
  }
#endif
  check_options(input, input.line());
  return 0;
}
