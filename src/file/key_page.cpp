// SPDX-License-Identifier: MIT
// The layout of a key's file. In its first page, behind what a lock's file has, which record the
// disk has, and the two places for records; from the second page on the bytes that were too long
// for them, 64 KiB a place, which take room on the disk only where they are written.
#include "file/key_page.hpp"

#include "file/bytes.hpp"
#include "file/file_name.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace mortise::file {
namespace {

constexpr std::size_t slots_offset = 2560;

static_assert(std::is_trivially_copyable_v<KeySlot> && sizeof(KeySlot) == 512);
static_assert(longest_fingerprint < sizeof KeySlot::text);
// A place begins where a sector does: no write of one tears the other.
static_assert(slots_offset % 512 == 0);
static_assert(name_offset + sizeof(std::uint32_t) + longest_name <= slots_offset);
static_assert(slots_offset + 2 * sizeof(KeySlot) < file_size);
// One word, which is never seen half written.
static_assert(settled_offset % sizeof(std::uint64_t) == 0);

// Sums, and sums of the sums, as Fletcher's: any byte that is another one is seen, and any block
// that lies elsewhere. Eight beside each other, since 64 KiB have to cost less than to read them.
// It need not resist an attacker, who may write into the directory anyhow.
struct Sums {
  std::array<std::uint64_t, 8> words{};
  std::array<std::uint64_t, 8> once{};
  std::array<std::uint64_t, 8> twice{};

  void add() noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) {
      once[i] += words[i];
      twice[i] += once[i];
    }
  }
};

std::uint64_t sum_of(const void* from, std::size_t size) noexcept {
  constexpr std::uint64_t prime = 0x9e3779b97f4a7c15U;
  const auto* bytes = static_cast<const char*>(from);
  Sums sums;
  std::uint64_t out = size;
  for (; size >= sizeof sums.words; bytes += sizeof sums.words, size -= sizeof sums.words) {
    std::memcpy(sums.words.data(), bytes, sizeof sums.words);
    sums.add();
  }
  if (size > 0) {
    sums.words = {};
    std::memcpy(sums.words.data(), bytes, size);
    sums.add();
  }
  for (std::size_t i = 0; i < sums.words.size(); ++i) {
    out = std::rotl((out ^ sums.once[i]) * prime, 31);
    out = std::rotl((out ^ sums.twice[i]) * prime, 31);
  }
  return out;
}

std::uint64_t sum_of(const KeySlot& slot) noexcept {
  constexpr std::size_t covered = offsetof(KeySlot, sequence);
  return sum_of(reinterpret_cast<const char*>(&slot) + covered, sizeof slot - covered);
}

std::uint64_t place_of(std::uint64_t sequence) noexcept { return sequence & 1U; }

off_t bytes_offset(const KeySlot& slot) noexcept {
  return static_cast<off_t>(file_size + place_of(slot.sequence) * longest_outcome);
}

bool valid(const KeySlot& slot, std::uint64_t place) noexcept {
  return slot.sequence > 0 && place_of(slot.sequence) == place && slot.checksum == sum_of(slot) &&
         slot.state <= KeyState::failed && slot.size <= longest_outcome &&
         slot.fingerprint_size <= longest_fingerprint;
}

}  // namespace

void KeySlot::set_fingerprint(std::string_view fingerprint) noexcept {
  fingerprint = fingerprint.substr(0, longest_fingerprint);
  fingerprint_size = static_cast<std::uint8_t>(fingerprint.size());
  fingerprint.copy(text, fingerprint.size());
}

mortise::Record KeySlot::record() const {
  return {.state = state, .run = run, .number = number, .fingerprint = std::string(fingerprint())};
}

int KeyPage::read(int fd) noexcept {
  newest_ = nullptr;
  before_ = nullptr;
  if (const int error = read_all(fd, &page_, sizeof page_, 0)) return error;
  for (std::uint64_t place = 0; place < 2; ++place) {
    const KeySlot& slot = page_.slots[place];
    if (!valid(slot, place)) continue;
    before_ = newest_;
    newest_ = &slot;
  }
  if (before_ != nullptr && before_->sequence > newest_->sequence) std::swap(newest_, before_);
  // Where one was damaged, the other may be of long ago.
  if (before_ != nullptr && before_->sequence + 1 != newest_->sequence) before_ = nullptr;
  return 0;
}

Failure KeyPage::read(const OpenFile& file) {
  if (const int error = read(file.descriptor())) return file.failed(error, "read");
  if (blank() || ours()) return {};
  return file.not_ours("this is not a lock file of this version; use another directory");
}

std::uint64_t KeyPage::next() const noexcept {
  return 1 + std::max(page_.settled, newest_ == nullptr ? 0 : newest_->sequence);
}

int read_bytes(int fd, const KeySlot& slot, std::string& out, bool& whole) {
  if (slot.bytes_inside()) {
    out.assign(slot.text + slot.fingerprint_size, slot.size);
  } else {
    out.resize(slot.size);
    std::size_t got = 0;
    const int error = read_what_is_there(fd, out.data(), out.size(), bytes_offset(slot), got);
    if (error != 0) return error;
    out.resize(got);
  }
  whole = out.size() == slot.size && sum_of(out.data(), out.size()) == slot.bytes_sum;
  return 0;
}

int write_slot(int fd, KeySlot& slot, std::string_view bytes) noexcept {
  slot.size = static_cast<std::uint32_t>(bytes.size());
  slot.bytes_sum = sum_of(bytes.data(), bytes.size());
  char* const rest = slot.text + slot.fingerprint_size;
  std::fill(rest, std::end(slot.text), '\0');
  if (slot.bytes_inside()) {
    bytes.copy(rest, bytes.size());
  } else if (const int error = write_all(fd, bytes.data(), bytes.size(), bytes_offset(slot))) {
    return error;
  }
  slot.checksum = sum_of(slot);
  const std::size_t offset = slots_offset + place_of(slot.sequence) * sizeof slot;
  return write_all(fd, &slot, sizeof slot, static_cast<off_t>(offset));
}

int write_settled(int fd, std::uint64_t sequence) noexcept {
  return write_all(fd, &sequence, sizeof sequence, settled_offset);
}

}  // namespace mortise::file
