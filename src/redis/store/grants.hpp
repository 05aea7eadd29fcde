// SPDX-License-Identifier: MIT
// What a server grants to an attempt, by a reply or by a push, and how its caller gets to know.
#pragma once

#include "redis/store/answer.hpp"
#include "redis/store/parts.hpp"

#include <cstdint>
#include <memory>

namespace mortise::redis {

/// @thread_safety every member may be called concurrently
class Grants {
 public:
  /// @param parts outlive it
  explicit Grants(Parts& parts) : parts_(parts) {}

  /// Under the mutex of the attempts: records what a reply grants.
  /// @return the number of the attempt's hold, as it is recorded now; 0 = it has none
  [[nodiscard]] std::uint64_t note(const Acquisition::Request& request, Instant asked,
                                   const Answer& answer);
  /// The same without the mutex, of the reply to the first request for the attempt. No message can
  /// have been quicker. @return false: nothing was recorded
  [[nodiscard]] bool note_first(Server& server, const Acquisition::Request& request, Instant asked,
                                const Answer& answer);
  /// A reply is about an attempt.
  void answered(Server& server, const std::shared_ptr<Acquisition>& operation, Instant asked,
                const Answer& answer);
  /// The same of a grant that is the last word, as nearly always; it needs no reference of its own.
  /// @param noted by `note()`
  void granted(Acquisition& operation, Instant asked, const Answer& answer, std::uint64_t noted);
  /// By a reply, the server has nothing of the attempt, and will not grant it.
  void ended(Acquisition& operation, const Answer& answer);
  /// Its caller may believe a push, by that reading of the server's clock.
  void believe(const std::shared_ptr<Acquisition>& operation, const Push& push,
               const Reading& reading);
  /// An attempt waits, and will get to know by the inbox: that has to show that it lives.
  void probe_inbox(Server& server);

 private:
  void tell_granted(Acquisition& operation, const Grant& grant, std::uint64_t noted);
  void tell_believed(const std::shared_ptr<Acquisition>& operation, const Grant& grant);
  void recorded(const std::shared_ptr<Acquisition>& operation, const Answer& answer);
  void waits(Server& server, const std::shared_ptr<Acquisition>& operation, Instant asked,
             const Answer& answer);
  [[nodiscard]] bool is_decided_elsewhere(const Acquisition::Request& request,
                                          const Acquisition& operation, const Answer& answer);
  void ask_at(const std::shared_ptr<Acquisition>& operation, Instant when);
  void begins_to_hold(const Acquisition::Request& request, std::uint64_t number);
  void end_what_it_held(const Acquisition::Request& request, std::uint64_t last);

  Parts& parts_;
};

}  // namespace mortise::redis
