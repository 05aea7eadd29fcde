// SPDX-License-Identifier: MIT
// Names are escaped, so that none leaves its place in the tree.
#include "zookeeper/lock_path.hpp"

#include "base/path_name.hpp"
#include "base/random_id.hpp"

namespace mortise::zookeeper {
namespace {

// Part of each path that a session owns or watches, whose bytes are limited.
constexpr std::size_t longest_component = 100;

// No escape begins like this.
constexpr std::string_view keys = "/%once";
constexpr std::string_view kept = "/kept";
constexpr std::string_view queues = "/queue";
constexpr std::size_t digits_of_parent = 2;

// FNV-1a, whose last digits are mixed. Keys that share it share a queue, and no more.
std::string mark_of(std::string_view key) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char byte : key) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x00000100000001b3U;
  }
  return hexadecimal(base::SplitMix(hash).next());
}

}  // namespace

std::string hexadecimal(std::uint64_t bits) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (char& digit : text) {
    digit = digits[bits >> 60U];
    bits <<= 4U;
  }
  return text;
}

std::string lock_path(std::string_view root, std::string_view name) {
  std::string path(root);
  path += '/';
  path += base::path_name(name, longest_component);
  return path;
}

std::string keys_path(std::string_view root) { return std::string(root).append(keys); }

std::string kept_path(std::string_view root) { return keys_path(root).append(kept); }

std::string queue_beside(std::string_view root, std::string_view parent) {
  return keys_path(root).append(queues).append(parent.substr(parent.rfind('/')));
}

KeyPlace KeyPlace::of(std::string_view root, std::string_view key) {
  KeyPlace place{.mark = mark_of(key)};
  const std::string parent = '/' + place.mark.substr(0, digits_of_parent);
  place.queue = keys_path(root).append(queues).append(parent);
  place.kept = lock_path(kept_path(root).append(parent), key);
  return place;
}

std::vector<std::string> levels_of(std::string_view path) {
  std::vector<std::string> levels;
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    levels.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return levels;
  }
}

}  // namespace mortise::zookeeper
