// SPDX-License-Identifier: MIT
// Names are escaped, so that none leaves its place in the tree.
#include "zookeeper/lock_path.hpp"

#include "base/path_name.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

namespace mortise::zookeeper {
namespace {

// Part of each path that a session owns or watches, whose bytes are limited.
constexpr std::size_t longest_component = 100;

// No escape begins like these.
constexpr std::string_view keys = "/%once";
constexpr std::string_view memories = "/kept";
constexpr std::string_view queues = "/queue";
constexpr std::size_t digits_of_a_shelf = 2;

constexpr std::string_view digest_mark = "%s-";
constexpr std::size_t digits_of_a_mark = 16;

/// @return 64 digits of 0-9 and a-f.
/// @throws std::bad_alloc even if OpenSSL gives no reason
std::string sha256(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr) !=
      1) {
    throw std::bad_alloc();
  }
  std::string text;
  text.reserve(std::size_t{2} * size);
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4U];
    text += digits[digest[i] & 15U];
  }
  return text;
}

/// @return the component of a path that stands for the name.
std::string component_of(std::string_view name) {
  std::string component = base::path_name(name);
  if (component.size() > longest_component) {
    component.assign(digest_mark).append(sha256(name));
  }
  return component;
}

// The beginning of the SHA-256. Keys with one mark would share a queue, and no record. A caller
// cannot choose a key with the mark of another one: that takes 2^64 tries.
std::string mark_of(std::string_view key) { return sha256(key).substr(0, digits_of_a_mark); }

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

std::string path_below(std::string_view parent, std::string_view node) {
  return std::string(parent).append(1, '/').append(node);
}

std::string lock_path(std::string_view root, std::string_view name) {
  std::string path(root);
  path += '/';
  path += component_of(name);
  return path;
}

bool is_digest(std::string_view node) { return node.starts_with(digest_mark); }

std::optional<std::string> name_by(std::string_view node) {
  if (is_digest(node)) return std::string();
  std::optional<std::string> name = base::name_in_path(node);
  return name && !name->empty() ? name : std::nullopt;
}

std::string_view name_to_keep(std::string_view name) {
  return base::path_name(name).size() > longest_component ? name : std::string_view();
}

std::string keys_path(std::string_view root) { return std::string(root).append(keys); }

std::string queues_path(std::string_view root) { return keys_path(root).append(queues); }

std::string shelf_beside(std::string_view root, std::string_view digits) {
  return keys_path(root).append(memories).append(1, '/').append(digits);
}

std::string shelf_path(std::string_view root, std::size_t which) {
  const std::string digits = hexadecimal(which % shelves);
  return shelf_beside(root, std::string_view(digits).substr(digits.size() - digits_of_a_shelf));
}

// The mark of a long key is a part of the digest that its node is called by.
std::optional<std::string> mark_by(std::string_view kept) {
  if (is_digest(kept)) return std::string(kept.substr(digest_mark.size(), digits_of_a_mark));
  const std::optional<std::string> name = name_by(kept);
  return name ? std::optional(mark_of(*name)) : std::nullopt;
}

std::string queue_beside(std::string_view root, std::string_view shelf) {
  return queues_path(root).append(shelf.substr(shelf.rfind('/')));
}

KeyPlace KeyPlace::of(std::string_view root, std::string_view key) {
  KeyPlace place{.mark = mark_of(key)};
  place.shelf = shelf_beside(root, std::string_view(place.mark).substr(0, digits_of_a_shelf));
  place.queue = queue_beside(root, place.shelf);
  place.kept = lock_path(place.shelf, key);
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
