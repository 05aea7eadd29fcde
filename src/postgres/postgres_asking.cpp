// SPDX-License-Identifier: MIT
// Which statement says what is asked for, and what it says.
#include "base/mutant.hpp"
#include "postgres/postgres_backend.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mortise::postgres {

namespace {

// Of a reader, and of a permit: see PostgresBackend::text_of().
Call::Text shared_text_of(const Acquisition& wanted, bool apart) {
  if (wanted.request().mode == Mode::permit) return Call::Text::ask_permit;
  const bool first = !apart && wanted.progress() == Acquisition::Progress::unsent;
  return first && wanted.request().wait ? Call::Text::share : Call::Text::ask_share;
}

}  // namespace

/// @param apart the plain ways will not do
Call::Text PostgresBackend::text_of(const Acquisition& wanted, bool apart) const {
  if (apart || wanted.progress() != Acquisition::Progress::unsent) return Call::Text::ask;
  // If the first of one that waits fails, something has to be written anyway.
  if (wanted.request().wait) return Call::Text::take;
  return known_.has(wanted.request().name) ? Call::Text::peek : Call::Text::look;
}

/// Chooses the statement of what is counted. @return its arguments
Arguments PostgresBackend::prepare(Call& call, bool pooled) {
  switch (call.kind) {
    case Call::Kind::acquire: {
      const Acquisition::Request& request = call.acquisition().request();
      if (request.mode == Mode::once) {
        call.text = Call::Text::ask_key;
        return statements_.ask_key(request, told(call.acquisition()), call.copies);
      }
      // It was executed, and its sender may still stand between sending it and saying so.
      const bool apart = pooled || call.copies.older || call.executed;
      if (request.mode == Mode::shared || request.mode == Mode::permit) {
        call.text = shared_text_of(call.acquisition(), apart);
        return statements_.share(request, told(call.acquisition()), call.copies, pooled);
      }
      call.text = text_of(call.acquisition(), apart);
      return statements_.acquire(request, told(call.acquisition()), call.copies, pooled);
    }
    case Call::Kind::cancel: {
      const Acquisition::Request& request = call.acquisition().request();
      call.text = request.mode == Mode::once     ? Call::Text::cancel_key
                  : request.mode == Mode::permit ? Call::Text::cancel_permit
                                                 : Call::Text::cancel;
      call.copies = attempts_.copies(request.attempt);
      return Statements::cancel(request, call.copies);
    }
    case Call::Kind::release:
    case Call::Kind::conclude: return prepare_release(call, pooled);
    case Call::Kind::renew: {
      const std::vector<Renewal::Item>& items = call.renewal().items();
      const bool plain = Statements::only_owners(items);
      call.text = plain ? Call::Text::renew : Call::Text::renew_all;
      return plain ? Statements::renew(items) : Statements::renew_all(items);
    }
    case Call::Kind::recall: {
      const std::string& key = call.recollection().key();
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
      const bool plain = keys.empty() && semaphores.empty();
      call.text = plain ? Call::Text::wake : Call::Text::wake_all;
      return plain ? Statements::wake(names) : Statements::wake_all(names, keys, semaphores);
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
  call.copies = attempts_.copies(hold.attempt);
  if (call.kind == Call::Kind::conclude) {
    call.text = Call::Text::conclude_key;
    return Statements::conclude(hold, *call.release().conclusion(), call.copies);
  }
  const bool apart = pooled || call.copies.older;
  call.text = hold.mode == Mode::once ? Call::Text::release_key
              : hold.mode == Mode::permit
                  ? apart ? Call::Text::release_permit_apart : Call::Text::release_permit
              : apart ? Call::Text::release_apart
                      : Call::Text::release;
  return Statements::release(hold, call.copies, call.grant_only);
}

// Whether a release is to tell this attempt, and readers are to let it in.
bool PostgresBackend::told(const Acquisition& wanted) const {
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
