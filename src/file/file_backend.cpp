// SPDX-License-Identifier: MIT
// Requests in, completions out. There is no server: nearly all is answered on the calling thread.
#include "file/file_backend.hpp"

#include <mortise/file.hpp>

#include "base/farewell.hpp"
#include "base/fork.hpp"
#include "base/url.hpp"
#include "file/file_backend_parts.hpp"
#include "file/file_name.hpp"
#include "file/listing.hpp"
#include "file/lock_file.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

namespace mortise::file {
namespace {

using Kind = Decision::Kind;

// Not a name that file_name() ever yields.
constexpr const char* probe_file = ".probe";

bool can_be_asked(const Acquisition::Request& request) noexcept {
  switch (request.mode) {
    case Mode::exclusive:
    case Mode::shared: return true;
    case Mode::once: return request.memory != nullptr;
    case Mode::permit: return request.permits > 0;
  }
  return false;
}

Failure refuse(const Acquisition::Request& request) {
  if (!can_be_asked(request)) {
    return {Errc::unsupported, "file: this mode is not supported"};
  }
  return refuse_name(request.name);
}

}  // namespace

FileBackend::FileBackend(const Settings& settings)
    : directory_(settings.directory, settings.create),
      sleeping_(WakeWord::can_sleep_on_both() ? settings.sleeping : Sleeping::in_slices),
      generation_(base::fork_generation()),
      floor_(directory_, settings.flush),
      locks_(directory_, settings.flush, settings.most_idle),
      semaphores_(directory_, settings.flush, settings.most_idle / 4, Mode::permit),
      // Few keys are wanted again, and then seldom by whoever has run them.
      keys_(directory_, floor_, settings.most_idle / 2),
      sweep_(directory_, floor_),
      watch_(directory_.path(), [this] { tell_losses(); }) {
  if (const Failure why = directory_.check()) throw Error(why);
}

FileBackend::~FileBackend() { stop(); }

// Before any mutex: in a forked child a thread that does not exist there may hold it.
bool FileBackend::out() const noexcept {
  return generation_ != base::fork_generation() || stopped_.load();
}

StoreDescription FileBackend::describe() const {
  return {.name = "file " + directory_.path(),
          .capabilities = {.leases = Support::no,
                           .fencing = Support::yes,
                           .fair = Support::no,
                           .push_wakeup = Support::yes,
                           .one_wake = sleeping_ == Sleeping::on_both ? Support::yes : Support::no,
                           // The kernel is the only server: no holder outlives it. The numbers are
                           // on the disk.
                           .survives_restart = Support::yes,
                           .survives_failover = Support::no,
                           .shared_mode = Support::yes,
                           .permits = Support::yes}};
}

void FileBackend::start(Host& host) { host_ = &host; }

void FileBackend::stop() noexcept {
  if (generation_ != base::fork_generation() || stopped_.exchange(true)) return;
  if (host_ != nullptr) watch_.stop(*host_);
  for (Entries* const entries : {&locks_, &semaphores_, &keys_}) {
    for (const std::shared_ptr<Entry>& entry : entries->close()) {
      for (const Waiter& waiter : entry->close()) base::farewell(*waiter.operation, closed_words);
    }
  }
}

template <class Work>
void FileBackend::guarded(Acquisition& operation, Work work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    const Acquisition::Request& request = operation.request();
    const std::shared_ptr<Entry> entry = entries_of(request.mode).find(request.name);
    if (entry) entry->undo(operation);
    operation.failed(out_of_memory());
  }
}

void FileBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  if (operation->done()) return;
  if (out()) return operation->failed(closed());
  guarded(*operation, [&] {
    if (Failure why = refuse(operation->request())) return operation->failed(std::move(why));
    Decision decision = try_for(operation);
    // Idle files are only kept for speed.
    if (decision.failure.code == Errc::exhausted &&
        locks_.drop_idle() + semaphores_.drop_idle() + keys_.drop_idle() > 0) {
      decision = try_for(operation);
    }
    tell(*operation, std::move(decision));
  });
  entries_of(operation->request().mode).trim();
}

Decision FileBackend::try_for(const std::shared_ptr<Acquisition>& operation) {
  const Instant counted_from = operation->sent(host_->clock()->now());
  const Acquisition::Request& request = operation->request();
  Entries& entries = entries_of(request.mode);
  for (int passing = 0;;) {
    const std::shared_ptr<Entry> entry = entries.get(request.name);
    if (!entry) return {.kind = Kind::failed, .failure = closed()};
    Decision decision = entry->acquire(operation, counted_from);
    if (decision.kind == Kind::retired) continue;
    if (!decision.passing || request.wait || ++passing > passing_tries) return decision;
    operation->sleep(operation->signal(), passing_pause);
  }
}

void FileBackend::tell(Acquisition& operation, Decision decision) {
  const Acquisition::Request& request = operation.request();
  while (decision.kind == Kind::flushing || decision.kind == Kind::again) {
    if (decision.kind == Kind::flushing) {
      const std::shared_ptr<Entry> entry = entries_of(request.mode).find(request.name);
      decision = entry->settle(request.attempt);
    } else {
      decision = try_for(std::static_pointer_cast<Acquisition>(operation.shared_from_this()));
    }
  }
  // The watch does not tell what happened before it began: that is looked for once.
  if (decision.kind == Kind::granted && watch_.arm(*host_)) tell_losses();
  switch (decision.kind) {
    case Kind::granted:
      operation.granted(decision.grant);
      // Whoever makes a file helps to remove those that are over.
      if (request.mode == Mode::once) sweep_.some();
      return;
    case Kind::failed: return operation.failed(std::move(decision.failure));
    case Kind::recorded: return operation.recorded(std::move(decision.record));
    case Kind::held:
      if (!request.wait) return operation.busy(std::move(decision.holder));
      return operation.queued(std::move(decision.holder));
    case Kind::flushing:
    case Kind::again:
    case Kind::retired:
    case Kind::replaced:
    case Kind::ignored: return;
  }
}

void FileBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  if (operation->done()) return;
  if (out()) return operation->failed(closed());
  const Acquisition::Request& request = operation->request();
  const std::shared_ptr<Entry> entry = entries_of(request.mode).find(request.name);
  // Too late: another thread is about to say that it is granted.
  if (entry && !entry->cancel(*operation)) return;
  entries_of(request.mode).trim();
  operation->busy(operation->holder());
}

void FileBackend::renew(const std::shared_ptr<Renewal>& operation) {
  if (out()) return operation->failed(closed());
  for (Renewal::Item& item : operation->items()) {
    item.counted_from = host_->clock()->now();
    const std::shared_ptr<Entry> entry = entries_of(item.hold.mode).find(item.hold.name);
    const bool stands = entry && entry->owns(item.hold);
    item.answer = stands ? Renewal::Answer::renewed : Renewal::Answer::lost;
    if (stands) item.granted = no_lease;
    item.wanted = stands && item.hold.mode == Mode::shared && entry->wanted();
  }
  operation->answered();
}

void FileBackend::release(const std::shared_ptr<Release>& operation) {
  const std::shared_ptr<Acquisition> successor = operation->successor();
  if (out()) {
    operation->answered(Released::unknown);
  } else if (operation->conclusion()) {
    conclude(*operation);
  } else {
    const HoldId& hold = operation->hold();
    Entries& entries = entries_of(hold.mode);
    const std::shared_ptr<Entry> entry = entries.find(hold.name);
    operation->answered(entry ? entry->release(hold, watch_.armed()) : Released::was_lost);
    entries.trim();
  }
  // Whoever was woken by the release has the first try; where nobody was, this one takes the lock.
  if (successor) acquire(successor);
}

void FileBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  if (out()) return operation->failed(closed());
  answer(*operation, [&] {
    std::optional<Holder> holder;
    Failure why = holder_of(operation->name(), holder);
    if (why) return operation->failed(std::move(why));
    operation->answered(std::move(holder));
  });
}

Failure FileBackend::holder_of(const std::string& name, std::optional<Holder>& holder) {
  // The kernel does not tell a description of its own lock.
  const std::shared_ptr<Entry> entry = locks_.find(name);
  if (entry) holder = entry->own_holder();
  return holder ? Failure() : look_at_holder(directory_, name, Mode::exclusive, holder);
}

// Leaves one file, ".probe", for ever.
Failure FileBackend::probe() const {
  std::shared_ptr<LockFile> file;
  Failure why = directory_.check();
  if (!why) why = LockFile::open_own(directory_, probe_file, file);
  // Another process checks as well if the file is locked, or was replaced just now: locks work.
  bool locked = false;
  return why || !file ? why : file->try_lock(locked);
}

void FileBackend::check(const std::shared_ptr<Check>& operation) {
  if (out()) return operation->failed(closed());
  answer(*operation, [&] {
    Failure why = probe();
    if (why) return operation->failed(std::move(why));
    operation->answered();
  });
}

bool FileBackend::wait(Operation& operation, std::uint32_t seen, std::chrono::nanoseconds at_most) {
  auto* acquisition = dynamic_cast<Acquisition*>(&operation);
  if (acquisition == nullptr || out()) return false;
  std::optional<Nap> nap;
  const Acquisition::Request& request = acquisition->request();
  if (const std::shared_ptr<Entry> entry = entries_of(request.mode).find(request.name)) {
    nap = entry->nap(*acquisition);
  }
  // Completed, or about to be.
  if (!nap) {
    operation.sleep(seen, at_most);
    return true;
  }
  const bool polite = nap->polite_until != Instant{};
  if (polite) {
    const std::chrono::nanoseconds rest = nap->polite_until - BootClock::now();
    at_most = std::min(at_most, std::max(rest, std::chrono::nanoseconds(0)));
  }
  const Woken woken = nap->sleepers->sleep(nap->seen, operation.word(), seen, at_most, sleeping_);
  const bool told = operation.signal() != seen;
  // A wake-up that was taken is used even where the caller has something else to do as well.
  if (woken == Woken::by_release || (!told && (polite || woken != Woken::by_time))) {
    guarded(*acquisition, [&] { retry(*acquisition, *nap, woken); });
  }
  return true;
}

void FileBackend::retry(Acquisition& operation, const Nap& nap, Woken woken) {
  const Acquisition::Request& request = operation.request();
  const std::shared_ptr<Entry> entry = entries_of(request.mode).find(request.name);
  if (woken == Woken::truncated && entry) entry->repair();
  Decision decision;
  if (entry && !out()) decision = entry->retry(operation, operation.sent(host_->clock()->now()));
  // Cancelled meanwhile, or answered by what is remembered of the key: the release that woke us
  // meant somebody who wants the lock.
  if (woken == Woken::by_release && decision.kind != Kind::granted &&
      decision.kind != Kind::flushing && decision.kind != Kind::held) {
    nap.sleepers->wake(1);
  }
  tell(operation, std::move(decision));
}

void FileBackend::tell_losses(const Entries& entries) {
  for (const std::shared_ptr<Entry>& entry : entries.all()) {
    for (const HoldId& lost : entry->notice_losses()) {
      const std::string path = directory_.path_of(file_name(lost.name, lost.mode));
      host_->hold_lost(
          lost,
          {Errc::lost, "file " + path + ": the file was deleted or replaced while it was held"});
    }
  }
}

void FileBackend::tell_losses() noexcept {
  try {
    tell_losses(locks_);
    tell_losses(semaphores_);
    tell_losses(keys_);
  } catch (const std::bad_alloc&) {
    return;  // found at the release
  }
}

Settings Settings::parse(std::string_view url) {
  base::Url parsed(url);
  if (parsed.scheme() != "file") base::refuse_url("URL: the scheme must be file");
  if (!parsed.hosts().empty() || !parsed.user().empty() || parsed.password()) {
    base::refuse_url(
        "URL: file: takes a directory of this machine, not a host; write file:///directory");
  }
  if (parsed.path().empty() || parsed.path().front() != '/') {
    base::refuse_url("URL: file: needs an absolute path; write file:///directory");
  }
  if (Directory::goes_up(parsed.path())) {
    base::refuse_url("URL: file: the path must not contain a '..' component");
  }
  Settings settings;
  settings.directory = parsed.path();
  settings.create = parsed.take_flag("create", false);
  settings.flush = parsed.take_flag("flush", false);
  parsed.refuse_the_rest();
  return settings;
}

std::unique_ptr<Backend> backend(std::string_view url) {
  return std::make_unique<FileBackend>(Settings::parse(url));
}

}  // namespace mortise::file
