// SPDX-License-Identifier: MIT
// Watches every grant of a run, knows what all owners believe at each moment, and says which
// promise was broken.
#pragma once

#include <mortise/lock.hpp>

#include "simulation/world/room.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

/// A promise that was not kept: "S1", and how.
struct Verdict {
  std::string promise;
  std::string words;
};

class Judge {
 public:
  Judge(Room& room, bool exclusion, Nanos lease)
      : room_(room), exclusion_(exclusion), lease_(lease) {}

  using HoldNumber = std::uint64_t;

  /// One owner's hold, from the return of the call that took it.
  struct Hold {
    const Process* process = nullptr;
    /// For how long the owner still believes in it, by its own clock; asked from outside of
    /// threads.
    std::function<Nanos()> left;
    mortise::Token token{};    ///< none: a stranger's
    bool unseen = false;       ///< by strangers, who may hold as well
    bool shared = false;       ///< a reader's: others may read as well
    HoldNumber beside = 0;     ///< its own owner's hold, which it does not exclude; 0: none
    std::uint32_t others = 0;  ///< a permit's: so many others may be held
    Nanos asked_at{};          ///< since when the owner has waited for it
    Nanos sent_at{};           ///< a stranger's: when the request left that took it
    Nanos granted_at{};
    bool ended = false;  // it was seen to be no longer valid
    Nanos ended_at{};
    bool taken = false;     // by force: its owner is to learn it, and is not blamed before
    Nanos stands_until{0};  // that its owner was told so far, in the world's time
  };
  HoldNumber granted(std::size_t name, Hold hold);
  /// The owner looks at its own hold. @return whether it believes that it holds
  bool still_holds(std::size_t name, HoldNumber number);
  /// The owner is about to send its release.
  void releasing(std::size_t name, HoldNumber number);

  /// A process has heard that what it was granted up to this number is over, and has had the time
  /// to read it: what it is told of such a grant from now on it must not believe (S8).
  void hears(std::size_t name, const Process& who, std::uint64_t number);
  /// Nothing but time ends a hold: neither the store by itself, nor an administrator.
  void expect_no_early_end() noexcept { ends_by_time_ = true; }
  /// That process closes its client, and gives up what it holds.
  void leaves(const Process& process) { leavers_.insert(&process); }

  /// The store has refused what came with the release of a hold, and with it the release: the hold
  /// stands there until then at the latest, and of its end nobody is told.
  void stands_on(std::size_t name, Nanos free_by) { ends_by_itself(name, free_by); }
  /// What has kept a name beyond the hold is over, and nobody is told of it.
  void kept_no_longer(std::size_t name) { is_free(names_[name], false); }

  /// Somebody whom no lock binds has taken a name away from its holder.
  /// @param grant the number of the grant, which the tokens of the hold begin with
  /// @param shared whether it is a reader's
  /// @param bound in which time the owner, if nothing stops it, no longer believes; never: it is
  /// under way, and may come to nothing
  void taken(std::size_t name, std::uint64_t grant, bool shared, Nanos bound);
  /// @return whether the hold was taken by force.
  [[nodiscard]] bool was_taken(std::size_t name, HoldNumber number);
  /// @return whether the hold with this token was, or may be at any time, although it is released.
  [[nodiscard]] bool was_taken(std::size_t name, mortise::Token token) const;

  /// Somebody waits for a name from now on, or no longer.
  /// @param ever without a time limit: it does not leave its place
  void waits(std::size_t name, const Process& who, bool begins, bool ever);
  /// A process asks for a name, waits for it, or has it, as long as this lives.
  class Interest {
   public:
    Interest(Judge& judge, std::size_t name, const Process& process)
        : judge_(judge), name_(name), process_(process) {
      Standing& mine = judge_.names_[name_].standings[&process_];
      if (mine.interested++ == 0) mine.since = judge_.room_.world.now();
    }
    ~Interest() { --judge_.names_[name_].standings[&process_].interested; }
    Interest(const Interest&) = delete;
    Interest& operator=(const Interest&) = delete;

   private:
    Judge& judge_;
    const std::size_t name_;
    const Process& process_;
  };
  /// Not every client of the run gets its turns in the order of arrival.
  void expect_no_order() noexcept { ordered_ = false; }
  /// Some holds are shared: readers of one client join each other, and have one token.
  /// @param by_one_token whoever goes on as a reader has the token of its own hold
  void expect_readers(bool by_one_token) noexcept {
    readers_ = true;
    reads_on_by_one_token_ = by_one_token;
  }
  /// A call that has waited since then comes back with nothing: at its time limit (L2).
  void gave_up(std::size_t name, const Process& who, Nanos asked_at);
  /// @return whether that process believes in a hold.
  [[nodiscard]] bool believes(const Process& process);
  /// Whatever that process holds ends at the store by then, whoever may know of it (L1).
  void died(const Process& process, Nanos free_by);
  /// Words of a process that is dead are heard only now: it may be granted a name that is free, and
  /// keep it until then, unless somebody else is.
  void hears_the_dead(std::size_t name, Nanos free_by) { ends_by_itself(name, free_by); }
  /// From this moment on a name that is free and wanted must be granted within the bound.
  /// @param hand_over after a release; asked when it counts, since it may have become longer
  /// @param fallback after the end of a lease, of which nobody is told
  void expect_service(Nanos from, std::function<Nanos()> hand_over, Nanos fallback) {
    serve_from_ = from;
    hand_over_ = std::move(hand_over);
    fallback_ = fallback;
  }

  /// @return whether somebody was told of the store's grant with this number, or was passed it, and
  /// has not released it.
  [[nodiscard]] bool knows(std::size_t name, std::uint64_t number) const;

  /// An administrator has ended that hold: its owner may believe in it until then.
  void forced(std::size_t name, std::uint64_t number, Nanos until);
  /// A server has granted that whose word is lost, or will be: whoever comes after it never learns
  /// it, but what it answers about earlier holds of the name is said behind that grant.
  void granted_in_vain(std::size_t name, std::uint64_t number);
  /// @return whether such a grant came behind the hold with this token.
  [[nodiscard]] bool was_given_on_in_vain(std::size_t name, mortise::Token token) const;
  /// The store's clock went forward: holds with smaller numbers have ended there too early, and
  /// those of strangers, which have none, if they were there before.
  void excuse_below(std::uint64_t number) {
    excused_below_ = std::max(excused_below_, number);
    excused_before_ = room_.world.now();
  }
  /// @return whether something has ended the hold with this token that no owner can know of at
  /// once.
  [[nodiscard]] bool excused(std::size_t name, mortise::Token token) const;
  /// @return the numbers of the store's grants in which owners believe now.
  [[nodiscard]] std::vector<std::uint64_t> believed(std::size_t name);

  void blame(std::string promise, std::string words);
  [[nodiscard]] const std::optional<Verdict>& verdict() const noexcept { return verdict_; }
  [[nodiscard]] std::uint64_t grants() const noexcept { return grants_; }
  /// A call of a trial's that is judged by nothing, but asks the store as others do.
  void called_beside() noexcept { ++beside_; }
  [[nodiscard]] std::uint64_t calls_beside() const noexcept { return beside_; }

 private:
  struct Standing {
    std::size_t interested = 0;  ///< of its calls
    Nanos since{0};              ///< one or more of them, without a break
    std::size_t waiting = 0;
    Nanos in_line_since{0};  ///< not later than this it has had its place
  };
  struct Name {
    std::map<HoldNumber, Hold> holds;
    mortise::Token largest{};
    mortise::Token largest_written{};  ///< of those that nobody shares
    const Process* writer = nullptr;   ///< whose that is
    Nanos free_since{0};
    Nanos wanted_since{0};
    bool released = false;  ///< by its owner in time; otherwise nobody is told that it is free
    Nanos lapsed{std::chrono::hours(-24)};  ///< when one that others stood beside ended by time
    Nanos later{0};  ///< by which the server may count a lease that ended from later on
    std::vector<const Process*> waiters;
    std::map<const Process*, Standing> standings;
    Nanos armed = never;  ///< when the judge looks at the holds next
    /// Grants, whether a reader's, and until when they may be believed.
    std::map<std::pair<std::uint64_t, bool>, Nanos> taken;
    std::map<std::uint64_t, Nanos> forced{};          ///< by number: until when it is believed in
    std::uint64_t in_vain = 0;                        ///< the last grant of a server that was lost
    std::map<const Process*, std::uint64_t> heard{};  ///< up to which number grants are over
  };
  /// @return the number that the store gave to a grant.
  [[nodiscard]] static std::uint64_t grant_of(const Hold& hold);
  [[nodiscard]] Nanos left_of(const Hold& hold);
  [[nodiscard]] bool believes(const Hold& hold) { return left_of(hold) > Nanos(0); }
  void arm(std::size_t name, Nanos when);
  void look(std::size_t name);
  [[nodiscard]] Nanos idle(const Name& all, Nanos wanted) const;
  void expect_the_end(std::size_t name, HoldNumber number, Nanos by);
  [[nodiscard]] bool outlives_its_end(std::size_t name, const Hold& hold);
  [[nodiscard]] bool stands_behind_its_own(const Name& all, const Process& process);
  void look_for_order(std::size_t name, const Hold& hold);
  void look_at_end(Hold& hold, bool valid);
  void is_free(Name& all, bool released);
  void ends_by_itself(std::size_t name, Nanos free_by);
  [[nodiscard]] bool has_grown(const Name& all, const Hold& hold) const;
  void look_for_rivals(std::size_t name, HoldNumber number);
  [[nodiscard]] bool excused(std::size_t name, const Hold& hold) const;
  [[nodiscard]] std::string words(const Hold& hold) const;

  Room& room_;
  const bool exclusion_;
  const Nanos lease_;
  std::uint64_t excused_below_ = 0;
  Nanos excused_before_{0};
  std::map<std::size_t, Name> names_;
  std::uint64_t grants_ = 0;
  std::uint64_t beside_ = 0;
  std::optional<Verdict> verdict_;
  Nanos serve_from_ = never;
  bool ordered_ = true;
  bool readers_ = false;
  bool reads_on_by_one_token_ = false;
  bool ends_by_time_ = false;
  std::set<const Process*> leavers_;
  std::function<Nanos()> hand_over_{};
  Nanos fallback_{};
};

}  // namespace simulation
