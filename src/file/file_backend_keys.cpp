// SPDX-License-Identifier: MIT
// What is asked about keys beside their runs, and what their runs leave.
#include "file/file_backend.hpp"
#include "file/file_backend_parts.hpp"
#include "file/key_look.hpp"

#include <new>
#include <utility>

namespace mortise::file {

void FileBackend::conclude(Release& operation) {
  const HoldId& hold = operation.hold();
  try {
    Failure why;
    const std::shared_ptr<Entry> entry = keys_.get(hold.name);
    const Released released =
        entry ? entry->conclude(hold, *operation.conclusion(), why) : Released::unknown;
    if (why) {
      operation.failed(std::move(why));
    } else {
      operation.answered(released);
    }
  } catch (const std::bad_alloc&) {
    // Nothing is recorded, or what is recorded stands: in either case nobody runs it any more.
    const std::shared_ptr<Entry> entry = keys_.find(hold.name);
    if (entry) static_cast<void>(entry->release(hold, false));
    operation.failed(out_of_memory());
  }
  keys_.trim();
}

void FileBackend::recall(const std::shared_ptr<Recollection>& operation) {
  if (out()) return operation->failed(closed());
  answer(*operation, [&] {
    std::shared_ptr<const mortise::Record> record;
    Failure why = refuse_name(operation->key());
    if (!why && operation->kind() == Recollection::Kind::look) {
      why = look_at_key(directory_, operation->key(), record);
    } else if (!why) {
      Decision decision = forget(*operation);
      why = std::move(decision.failure);
      record = std::move(decision.record);
    }
    if (why) return operation->failed(std::move(why));
    operation->answered(std::move(record));
  });
}

Decision FileBackend::forget(Recollection& operation) {
  for (int passing = 0;;) {
    const std::shared_ptr<Entry> entry = keys_.get(operation.key());
    if (!entry) return {.kind = Decision::Kind::failed, .failure = closed()};
    Decision decision = entry->forget();
    if (decision.kind == Decision::Kind::retired) continue;
    if (!decision.passing || ++passing > passing_tries) {
      keys_.trim();
      sweep_.some();
      return decision;
    }
    operation.sleep(operation.signal(), passing_pause);
  }
}

}  // namespace mortise::file
