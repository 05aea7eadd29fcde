// SPDX-License-Identifier: MIT
// The library's requests as commands that call the scripts. Only this class and the scripts know
// which keys and arguments a script gets.
#pragma once

#include <mortise/listing_operation.hpp>
#include <mortise/operation.hpp>

#include "redis/store/answer.hpp"
#include "redis/store/scripts.hpp"
#include "redis/store/settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::redis {

/// How a request travels.
struct Passage {
  bool listening = false;  ///< Redis may count this client as a subscriber of Redisson's channel
  bool importing = false;  ///< in a cluster: the slot is on its way to the server that is asked
  bool whole = false;      ///< send the script's text: the server does not know it
  bool undoes = false;     ///< no client knows of the run of a key that this gives back
  /// Of a request that takes: the server ignores it after this moment of the server's clock.
  ServerTime deadline{};
};

/// Appends one command each. The strings of the settings must outlive it.
class Requests {
 public:
  explicit Requests(const Settings& settings);

  /// @param listening whether this client listens to Redisson's channel of the name
  void acquire(std::string& out, const Passage& passage, const Acquisition::Request& request,
               bool wait, bool listening = false) const;
  /// Renews the positions of several waiters in their queues.
  void ask(std::string& out, const Passage& passage,
           const std::vector<std::shared_ptr<Acquisition>>& waiters) const;
  /// Of either.
  /// @param grant the number that the attempt got, if it is decided: 0 = it got none
  void cancel(std::string& out, const Passage& passage, const Acquisition::Request& request,
              std::optional<std::uint64_t> grant) const;
  /// Of a key.
  /// @param concluded the number of the conclusion that it was told of while it waited; 0 = none
  void begin(std::string& out, const Passage& passage, const Acquisition::Request& request,
             bool wait, std::uint64_t concluded) const;
  /// Of a key. @param conclusion null = it is given back without one
  void conclude(std::string& out, const Passage& passage, const HoldId& hold,
                const Conclusion* conclusion) const;
  /// Of a key. @param found the answer to the same without it: the record that it forgets, and no
  /// other; null = it only looks
  void recall(std::string& out, const Passage& passage, std::string_view key,
              const Answer* found) const;
  /// @param successor null = none
  void release(std::string& out, const Passage& passage, const HoldId& hold,
               const Acquisition::Request* successor, bool wait) const;
  void renew(std::string& out, const Passage& passage,
             const std::vector<Renewal::Item>& items) const;
  void inspect(std::string& out, const Passage& passage, std::string_view name) const;
  /// Whether a lock could be written: nothing stays of it, and the server may refuse it.
  void check(std::string& out, const Passage& passage) const;
  /// @param cursor where it goes on, as that server said; empty = at the beginning
  void list(std::string& out, const Passage& passage, const Listing& page,
            std::string_view cursor) const;
  /// Names one hold only if that is the one to be ended.
  void queue(std::string& out, const Passage& passage, const QueueLook& look) const;
  void force_release(std::string& out, const Passage& passage, const FoundHold& found) const;

  /// Who has which slot of a cluster.
  static void slots(std::string& out);
  /// Before a call that was redirected for once.
  static void asking(std::string& out);

  static void subscribe(std::string& out, std::string_view channel);
  static void unsubscribe(std::string& out, std::string_view channel);

  /// The same in a cluster of the inbox for a name, which lies in its slot.
  static void subscribe_to(std::string& out, std::string_view inbox, std::string_view name);
  static void unsubscribe_from(std::string& out, std::string_view inbox, std::string_view name);
  /// @return the inbox of a client.
  [[nodiscard]] std::string inbox(const AttemptId& of_client) const;
  /// @return why a name cannot be a lock's here; none = it can.
  [[nodiscard]] Failure check_name(std::string_view name) const;

 private:
  const Settings& settings_;
};

}  // namespace mortise::redis
