// SPDX-License-Identifier: MIT
// What administrators ask of a directory: parts of FileBackend. Nobody but the kernel can end the
// hold of another process, and who sleeps on a file it tells nobody.
#include "core/figures.hpp"
#include "file/file_backend.hpp"
#include "file/file_backend_parts.hpp"
#include "file/listing.hpp"
#include "file/lock_file.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace mortise::file {
namespace {

constexpr std::size_t longest_cursor = 255;

/// How long ago by the wall clock a grant was, whose number is the moment of it unless the clock
/// was set back; but readers have the number of others.
std::optional<std::chrono::milliseconds> age_of(const Holder& holder) {
  if (holder.mode == Mode::shared) return std::nullopt;
  const auto number = static_cast<std::int64_t>(holder.token.value() / core::tokens_in_a_grant);
  const auto age = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch()) -
                   std::chrono::microseconds(number);
  if (number == 0 || age.count() < 0) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(age);
}

}  // namespace

void FileBackend::list(const std::shared_ptr<Listing>& operation) {
  if (out()) return operation->failed(closed());
  answer(*operation, [&] {
    if (operation->cursor().size() > longest_cursor) {
      return operation->failed(
          {Errc::misconfigured,
           "file: the cursor is invalid; pass the cursor of the previous page"});
    }
    NamePage page;
    Failure why = list_held(directory_, *operation, page);
    if (why) return operation->failed(std::move(why));
    operation->answered(std::move(page));
  });
}

void FileBackend::queue(const std::shared_ptr<QueueLook>& operation) {
  if (out()) return operation->failed(closed());
  answer(*operation, [&] {
    const std::string& name = operation->name();
    std::optional<Holder> holder;
    NameQueue queue;
    Failure why;
    switch (operation->mode()) {
      case Mode::permit:
        why = list_permits(directory_, name, operation->limit(), queue.holders);
        break;
      case Mode::once: why = look_at_runner(directory_, name, holder); break;
      case Mode::exclusive:
      case Mode::shared: why = holder_of(name, holder); break;
    }
    if (why) return operation->failed(std::move(why));
    if (holder) {
      queue.holders.push_back({.label = holder->label,
                               .mode = holder->mode,
                               .token = holder->token,
                               .age = age_of(*holder)});
    }
    operation->answered(std::move(queue));
  });
}

}  // namespace mortise::file
