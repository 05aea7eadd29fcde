// SPDX-License-Identifier: MIT
// What the library asks for.
#include "zookeeper/zookeeper_backend.hpp"

#include "base/farewell.hpp"
#include "base/mutant.hpp"
#include "core/figures.hpp"
#include "zookeeper/lock_path.hpp"

#include <algorithm>
#include <utility>

namespace mortise::zookeeper {
namespace {

using std::chrono::milliseconds;

/// For the servers to confirm that the sessions have ended.
constexpr milliseconds farewell_time{300};
// What a follower has not told yet does not count (life.hpp), and ticks only ever end sessions
// later: this is for the rest.
constexpr int margin_permille = 100;
// A longer queue is not listed each second.
constexpr std::size_t short_queue = 16;

}  // namespace

ZooKeeperBackend::ZooKeeperBackend(Settings settings)
    : settings_(std::move(settings)),
      tls_(settings_.tls ? std::make_unique<remote::Tls>(*settings_.tls, "zookeeper") : nullptr),
      where_("zookeeper " + settings_.text()) {}

ZooKeeperBackend::~ZooKeeperBackend() = default;

Capabilities ZooKeeperBackend::capabilities() const {
  const std::int64_t negotiated = negotiated_ms_.load();
  return {.leases = Support::yes,
          .effective_lease = negotiated != 0 ? milliseconds(negotiated) : settings_.session,
          .fencing = Support::yes,
          .fair = Support::yes,
          .push_wakeup = Support::yes,
          .one_wake = Support::yes,
          .survives_restart = Support::yes,
          // An ensemble does; whether there is more than one server a client cannot tell.
          .survives_failover = settings_.servers.size() > 1 ? Support::yes : Support::unknown,
          .shared_mode = Support::yes,
          .permits = Support::yes,
          .once = Support::yes,
          .safety_margin = {.permille = margin_permille, .least = least_margin},
          .lists = Support::yes,
          .queues = Support::yes,
          .forces = Support::yes};
}

std::string ZooKeeperBackend::describe() const { return where_; }

void ZooKeeperBackend::start(Host& host) {
  host_ = &host;
  clock_ = host.clock();
}

void ZooKeeperBackend::stop() noexcept {
  if (stopped_.exchange(true) || host_ == nullptr) return;
  {
    const std::lock_guard lock(mutex_);  // whoever is about to add one has done so
  }
  // Nobody adds a session any more.
  for (const auto& session : sessions_) host_->detach(*session);
  host_->detach(alarm_);
  std::vector<std::shared_ptr<Operation>> open;
  std::vector<std::unique_ptr<Session>> sessions;
  {
    const std::lock_guard lock(mutex_);
    // Where there is no memory for it, whoever waits sees by itself that the client is closed.
    base::without_memory([&] {
      for (const auto& [attempt, contender] : contenders_) {
        if (contender->operation) open.push_back(contender->operation);
        open.insert(open.end(), contender->releases.begin(), contender->releases.end());
      }
      for (const Call& call : outbox_) open.push_back(call.operation);
      for (const AwaitedRenewal& awaited : renewals_) open.push_back(awaited.operation);
    });
    contenders_.clear();
    outbox_.clear();
    renewals_.clear();
    doubts_.clear();
    for (const auto& session : sessions_) session->end();
    completions_.clear();
    sessions = std::exchange(sessions_, {});
  }
  for (const auto& operation : open) {
    base::farewell(*operation, [this] { return describe(); });
  }
  // Without the mutex: whoever releases a lock at this moment waits for no server.
  const Instant until = BootClock::now() + farewell_time;
  for (const auto& session : sessions) session->farewell(until);
}

ZooKeeperBackend::CompletionScope::CompletionScope(ZooKeeperBackend& backend)
    : backend_(backend), lock_(backend.mutex_) {}

ZooKeeperBackend::CompletionScope::~CompletionScope() {
  Instant due = backend_.next_look_;
  for (const auto& session : backend_.sessions_) {
    // In its own name: who reads replies sees to it, and not who sees to the alarm.
    if (session->publish() && !backend_.stopped_.load()) backend_.host_->changed(*session);
    due = std::min({due, session->next(), backend_.pulse_due(*session)});
  }
  for (const Doubt& doubt : backend_.doubts_) {
    if (doubt.session->up()) due = std::min(due, doubt.again);
  }
  const bool look_again = backend_.alarm_.show(due);
  const std::vector<std::function<void()>> completions = std::exchange(backend_.completions_, {});
  lock_.unlock();
  if (look_again && !backend_.stopped_.load()) backend_.host_->changed(backend_.alarm_);
  for (const auto& completion : completions) completion();
}

void ZooKeeperBackend::Alarm::ready(short /*events*/, Instant now) {
  const CompletionScope scope(backend_);
  if (!backend_.stopped_.load()) backend_.tick(now);
}

bool ZooKeeperBackend::open(const std::shared_ptr<Operation>& operation) {
  if (operation->done()) return false;
  if (stopped_.load()) {
    then([operation, why = Failure(Errc::closed, describe())] { operation->failed(why); });
    return false;
  }
  static_cast<void>(session_for({}));
  return true;
}

Session& ZooKeeperBackend::session_for(const Paths& paths) {
  for (const auto& session : sessions_) {
    if (!session->has_room(paths)) continue;
    session->want(clock_->now());  // where the first call had no memory for it
    return *session;
  }
  Session::Owner& owner = *this;
  sessions_.reserve(sessions_.size() + 1);
  if (sessions_.empty()) host_->attach(alarm_);
  auto made = std::make_unique<Session>(settings_, tls_.get(), clock_, owner);
  host_->attach(*made);
  sessions_.push_back(std::move(made));  // there is room
  Session& session = *sessions_.back();
  session.want(clock_->now());
  return session;
}

ZooKeeperBackend::ContenderPtr ZooKeeperBackend::find(const AttemptId& attempt) const {
  const auto found = contenders_.find(attempt);
  return found == contenders_.end() ? nullptr : found->second;
}

ZooKeeperBackend::ContenderPtr ZooKeeperBackend::hold_of(const HoldId& hold) const {
  ContenderPtr contender = find(hold.attempt);
  if (!contender || !contender->held || contender->name != hold.name ||
      static_cast<std::uint64_t>(contender->number) != hold.number) {
    return nullptr;
  }
  return contender;
}

void ZooKeeperBackend::acquire(const std::shared_ptr<Acquisition>& operation) {
  const CompletionScope scope(*this);
  acquire_in_turn(operation);
}

void ZooKeeperBackend::acquire_in_turn(const std::shared_ptr<Acquisition>& operation) {
  if (!open(operation)) return;
  const Acquisition::Request& request = operation->request();
  const bool once = request.mode == Mode::once && request.memory;
  const bool permit = request.mode == Mode::permit && request.permits > 0;
  if (request.mode != Mode::exclusive && request.mode != Mode::shared && !permit && !once) {
    then([operation, why = Failure(Errc::unsupported, describe() + ": mode")] {
      operation->failed(why);
    });
    return;
  }
  if (const ContenderPtr known = find(request.attempt)) return ask_again(known);
  auto contender = std::make_shared<Contender>();
  contender->attempt = request.attempt;
  contender->name = request.name;
  contender->mode = request.mode;
  contender->beside = request.beside;
  if (once) {
    contender->key = std::make_unique<KeyTurn>();
    contender->key->memory = request.memory;
    contender->key->place = KeyPlace::of(settings_.root, request.name);
    contender->path = contender->key->place.queue;
  } else if (permit) {
    const GatePlace gate = GatePlace::of(settings_.root, request.name);
    contender->permits = request.permits;
    contender->path = gate.leases;
    contender->name_node = gate.name;
  } else {
    contender->path = contender->name_node = lock_path(settings_.root, request.name);
  }
  if (name_to_keep(request.name).empty()) contender->name_node.clear();
  contender->prefix = prefix_of(*contender);
  contender->label = request.label.substr(0, core::longest_label);
  contender->lease = request.lease;
  contender->wait = request.wait;
  contender->operation = operation;
  contender->paths = paths_of(*contender);
  // With the owner's hold its own is to end.
  const ContenderPtr owner = owner_of(*contender);
  contender->session = owner ? owner->session : &session_for(contender->paths);
  contender->session->paths.owned += contender->paths.owned;
  contender->session->paths.watched += contender->paths.watched;
  contenders_.emplace(request.attempt, contender);
  if (contender->session->up()) {
    drive(contender);
  } else {
    contender->session->urge(clock_->now());
    if (contender->session->trouble()) operation->trouble(contender->session->trouble());
  }
}

void ZooKeeperBackend::ask_again(const ContenderPtr& contender) {
  if (contender->leaving || contender->held) return;
  if (!contender->operation && !contender->is_gate) return;
  Session& session = *contender->session;
  if (!session.up()) {
    if (contender->operation && session.trouble()) contender->operation->trouble(session.trouble());
    return;
  }
  if (contender->flight > 0) return;
  if (contender->gate && !contender->gate->held) return ask_again(contender->gate);
  if (!contender->watching) return drive(contender);
  if (base::mutant("zookeeper.waiter_never_looks")) return;
  // The event that tells of the predecessor's end may be lost, others ahead may have gone, and a
  // stranger may have deleted our own node. One request, which is a sign of life, too.
  if (contender->ahead <= short_queue) return look_at_queue(contender, Step::look);
  ask_for_holder(contender);
  if (std::exchange(contender->own_is_next, !contender->own_is_next)) return check_own(contender);
  if (session.exists(contender->predecessor, {.step = Step::recheck, .contender = contender})) {
    ++contender->flight;
  }
}

void ZooKeeperBackend::cancel(const std::shared_ptr<Acquisition>& operation) {
  const CompletionScope scope(*this);
  if (operation->done()) return;
  const ContenderPtr contender = find(operation->request().attempt);
  if (!contender) {
    then([operation] { operation->busy(operation->holder()); });
    return;
  }
  if (contender->held) return;  // its grant is being told
  // In the flight that removes its node.
  if (!contender->leaving) ask_for_holder(contender);
  contender->leaving = true;
  contender->withdrawn = false;
  if (contender->gate) leave_gate(contender->gate);
  if (contender->erased) return;
  const bool forgets = base::mutant("zookeeper.cancel_forgets_flight") && contender->node.empty();
  if (forgets || base::mutant("zookeeper.cancel_leaves_node") ||
      (contender->node.empty() && !contender->unsure && contender->flight == 0)) {
    gone(contender, Released::was_lost);
    return;
  }
  if (!contender->session->up() && contender->session->trouble()) {
    operation->trouble(contender->session->trouble());
  }
  drive(contender);
}

void ZooKeeperBackend::release(const std::shared_ptr<Release>& operation) {
  const CompletionScope scope(*this);
  if (!open(operation)) return;
  if (const FoundHold* const found = operation->found()) {
    return submit({.step = Step::force_remove, .operation = operation, .path = found->mark});
  }
  const std::shared_ptr<Acquisition>& successor = operation->successor();
  ContenderPtr contender = find(operation->hold().attempt);
  const bool again = contender && std::find(contender->releases.begin(), contender->releases.end(),
                                            operation) != contender->releases.end();
  if (!again) contender = hold_of(operation->hold());
  if (!contender && operation->conclusion()) {
    recognise(operation, false);
  } else if (!contender) {
    then([operation] { operation->answered(Released::was_lost); });
  } else {
    set(*contender, &Contender::held, false);
    contender->leaving = true;
    if (contender->key && !again) contender->key->conclusion = operation->conclusion();
    if (!again) contender->releases.push_back(operation);
    if (!contender->session->up() && contender->session->trouble()) {
      operation->trouble(contender->session->trouble());
    }
    drive(contender);
  }
  if (successor && !again) acquire_in_turn(successor);
}

void ZooKeeperBackend::renew(const std::shared_ptr<Renewal>& operation) {
  const CompletionScope scope(*this);
  if (!open(operation)) return;
  std::vector<AwaitedRenewal> parts;
  std::vector<std::size_t> lost;
  std::vector<Renewal::Item>& items = operation->items();
  const Instant now = clock_->now();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const ContenderPtr contender = hold_of(items[i].hold);
    if (!contender) {
      items[i].answer = Renewal::Answer::lost;
      lost.push_back(i);
      continue;
    }
    watch_own(contender);
    const bool looks = contender->mode == Mode::shared && ask_who_waits(contender, now);
    note(parts, *contender, i);
    if (looks && items.size() == 1) parts.front().looks = now;
  }
  await(operation, std::move(parts), std::move(lost));
}

void ZooKeeperBackend::inspect(const std::shared_ptr<Inspection>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) submit(Step::inspect, operation);
}

void ZooKeeperBackend::check(const std::shared_ptr<Check>& operation) {
  const CompletionScope scope(*this);
  if (open(operation)) submit(Step::check, operation);
}

void ZooKeeperBackend::submit(Step step, const std::shared_ptr<Operation>& operation) {
  if (step == Step::check) return submit({.step = step, .operation = operation});
  submit_by_name({.step = step, .operation = operation, .path = queue_path(*operation)});
}

void ZooKeeperBackend::submit(Call call) {
  Session& session = *sessions_.front();
  bool sent = false;
  switch (call.step) {
    case Step::check: sent = send_check(session, call); break;
    case Step::name: sent = session.get_in_sync(compared_node(call), call); break;
    case Step::force_remove: sent = session.remove(call.path, call); break;
    case Step::look_up:
    case Step::recognise: sent = send_look(session, call); break;
    case Step::gather: sent = send_gathering(session, call); break;
    default: sent = session.list_in_sync(call.path, call);
  }
  if (sent) return;
  if (!call.operation->in_trouble()) session.urge(clock_->now());
  if (session.trouble()) call.operation->trouble(session.trouble());
  outbox_.push_back(std::move(call));
}

void ZooKeeperBackend::send_outbox() {
  for (const Call& call : std::exchange(outbox_, {})) {
    // What only we know of any more nobody waits for.
    if (!call.operation->done() && call.operation.use_count() > 1) {
      submit_again(call);
    }
  }
}

// What was read may be old by now.
void ZooKeeperBackend::submit_again(const Call& call) {
  switch (call.step) {
    case Step::inspect_head: return submit(Step::inspect, call.operation);
    case Step::look_up:
    case Step::look_up_queue:
    case Step::look_up_gone: return look_up(std::static_pointer_cast<Recollection>(call.operation));
    default: return submit(call);
  }
}

void ZooKeeperBackend::fail_outbox(const Failure& why, bool final) {
  if (!final) {
    std::erase_if(outbox_, [](const Call& call) { return call.operation.use_count() == 1; });
    for (const Call& call : outbox_) call.operation->trouble(why);
    return;
  }
  for (const Call& call : std::exchange(outbox_, {})) {
    then([operation = call.operation, why] { operation->failed(why); });
  }
}

}  // namespace mortise::zookeeper
