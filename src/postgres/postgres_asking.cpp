// SPDX-License-Identifier: MIT
// Which statement says what is asked for, and what it says.
#include "base/mutant.hpp"
#include "postgres/postgres_backend.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mortise::postgres {

/// Chooses the statement of what is counted. @return its arguments
Arguments PostgresBackend::prepare(Call& call, bool pooled) {
  call.space = Mode::exclusive;
  call.left = {};
  switch (call.kind) {
    case Call::Kind::acquire: {
      const Acquisition::Request& request = call.acquisition().request();
      const bool waits = told(call.acquisition());
      call.space = space_of(request.mode);
      call.text = call.space == Mode::exclusive && !waits ? Call::Text::look : Call::Text::take;
      return request.mode == Mode::once ? statements_.take_key(request, waits)
                                        : statements_.take(request, waits, pooled);
    }
    case Call::Kind::cancel: {
      const Acquisition& operation = call.acquisition();
      const Acquisition::Request& request = operation.request();
      call.space = space_of(request.mode);
      call.text = Call::Text::cancel;
      // A cancel of a decided attempt is in doubt, even if the client has forgotten the loss.
      const bool is_decided = operation.done();
      const bool in_doubt = is_decided || attempts_.is_in_doubt(request.attempt);
      if (request.mode != Mode::once) return Statements::cancel(request, in_doubt);
      // The answer to another request may still bring an undecided attempt its run.
      const std::int64_t known =
          is_decided ? static_cast<std::int64_t>(operation.grant().number) : -1;
      return Statements::cancel_key(request, in_doubt, known);
    }
    case Call::Kind::release:
    case Call::Kind::conclude: return prepare_release(call, pooled);
    case Call::Kind::renew:
      call.text = Call::Text::renew;
      return Statements::renew(call.renewal().items());
    case Call::Kind::recall: {
      const std::string& key = call.recollection().key();
      call.space = Mode::once;
      const bool forgets = call.forgets != 0;
      call.text = forgets ? Call::Text::forget_key : Call::Text::look_key;
      if (forgets) ++call.forgotten;
      return forgets ? Statements::forget(key, call.forgets) : Statements::inspect(key);
    }
    case Call::Kind::inspect: break;
    case Call::Kind::force:
      call.text = Call::Text::force_release;
      return Statements::force_release(call.release().hold());
    case Call::Kind::wake: {
      std::vector<std::string> names;
      std::vector<std::string> keys;
      std::vector<std::string> semaphores;
      for (const Freed& each : static_cast<const Wake&>(*call.operation).names) {
        (each.mode == Mode::once     ? keys
         : each.mode == Mode::permit ? semaphores
                                     : names)
            .push_back(each.name);
      }
      call.text = Call::Text::wake;
      return Statements::wake(names, keys, semaphores);
    }
    case Call::Kind::census:
      call.text = Call::Text::census;
      return Statements::census(static_cast<const Census&>(*call.operation).processes);
    case Call::Kind::list:
    case Call::Kind::queue: return prepare_listing(call);
    case Call::Kind::check:
      if (call.text == Call::Text::write) return Statements::write();
      if (call.text == Call::Text::written) return Statements::inspect({});
      call.text = Call::Text::check;
      return {};
  }
  call.text = Call::Text::inspect;
  return Statements::inspect(call.inspection().name());
}

Arguments PostgresBackend::prepare_release(Call& call, bool pooled) {
  const HoldId& hold = call.release().hold();
  call.space = space_of(hold.mode);
  call.text = call.kind == Call::Kind::conclude ? Call::Text::conclude : Call::Text::release;
  if (call.kind == Call::Kind::conclude) {
    return Statements::conclude(hold, *call.release().conclusion());
  }
  return hold.mode == Mode::once ? Statements::release_key(hold, call.release().undoes())
                                 : Statements::release(hold, pooled);
}

// Whether a release is to tell this attempt, and readers are to let it in.
bool PostgresBackend::told(const Acquisition& wanted) {
  const Acquisition::Request& request = wanted.request();
  if (!request.wait || attempts_.asks_last(request.attempt)) return false;
  const bool may_hear = hearing_.load() == Hearing::possible && !deaf();
  // A waiter in a queue must hear when its turn comes; where no waiter can, all look by time.
  if (settings_.fair) return listening_.load() || !may_hear;
  // Of who looks by time readers know nothing, unless it says so; one joins the other for ever.
  const std::optional<Holder> holder = may_hear ? std::nullopt : wanted.holder();
  return may_hear || (request.mode == Mode::exclusive && holder && holder->mode == Mode::shared &&
                      !base::mutant("postgres.readers_overtake_who_looks_by_time"));
}

}  // namespace mortise::postgres
