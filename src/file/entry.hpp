// SPDX-License-Identifier: MIT
// What one client knows of one name, of a lock or a key: the open file, the attempt that owns it,
// the attempts that wait. Decides; completes nothing, so that no caller's code runs under its
// mutex.
#pragma once

#include <mortise/clock.hpp>
#include <mortise/operation.hpp>

#include "file/directory.hpp"
#include "file/key_page.hpp"
#include "file/lock_file.hpp"
#include "file/number_floor.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::file {

/// What a request came to.
struct Decision {
  enum class Kind : std::uint8_t {
    ignored,  ///< nothing to tell: the attempt is not, or no longer, waiting here
    retired,  ///< the entry is out of use: ask a new one
    granted,
    flushing,  ///< granted once `settle()` has made the disk keep it
    held,      ///< by somebody else
    recorded,  ///< what is remembered of the key needs no grant, or allows none
    again,     ///< what was remembered of the key is in order now: ask once more
    failed,
  };
  Kind kind = Kind::ignored;
  Grant grant{};
  std::optional<Holder> holder{};
  Failure failure{};
  std::shared_ptr<const mortise::Record> record{};
  /// Held, but by nobody who runs the key, or not for long: worth another try within a moment.
  bool passing = false;
};

/// What a waiter sleeps on, and from what value.
struct Nap {
  std::shared_ptr<WakeWord> sleepers;  ///< keeps the page mapped while somebody sleeps on it
  std::uint32_t seen = 0;
  /// Until then it leaves the lock to the waiter that our own release woke.
  Instant polite_until{};
};

/// An attempt that waits for the name.
struct Waiter {
  std::shared_ptr<Acquisition> operation;
  Nap nap;
  /// Of a key: the record that stood when it came. Of a reader: `Header::turn` when it had to wait
  /// for a writer that waits.
  std::uint64_t since = has_not_asked;
  static constexpr std::uint64_t has_not_asked = ~std::uint64_t{0};
};

/// What the entries of one kind share.
struct Common {
  const Directory& directory;
  bool flush;  ///< whether the disk has to keep a grant
  Mode mode = Mode::exclusive;
  NumberFloor* floor = nullptr;  ///< of keys
  /// Counts those that are in use.
  std::atomic<std::size_t> in_use{0};
};

/// @thread_safety every member may be called concurrently.
class Entry {
 public:
  /// @param common outlives the entry
  Entry(Common& common, std::string name) : common_(common), name_(std::move(name)) {}

  /// Tries for an attempt, a new one or one that asks again; joins the waiters where it may wait.
  [[nodiscard]] Decision acquire(const std::shared_ptr<Acquisition>& operation,
                                 Instant counted_from);
  /// Tries again for a waiting attempt.
  [[nodiscard]] Decision retry(Acquisition& operation, Instant counted_from);
  /// Second half of a grant that is flushed; blocks as long as the disk does.
  [[nodiscard]] Decision settle(const AttemptId& attempt);
  /// Ends the wait of an attempt. @return false: too late, it owns the name
  [[nodiscard]] bool cancel(const Acquisition& operation);
  /// @return what to sleep on, if the attempt waits here.
  [[nodiscard]] std::optional<Nap> nap(const Acquisition& operation) const;

  /// Frees exactly this hold, or nothing.
  /// @param watched files that are moved away, and directories, are noticed otherwise
  [[nodiscard]] Released release(const HoldId& hold, bool watched);
  /// Of a key: writes the outcome, has the disk keep it, and frees the key, for exactly this hold;
  /// or finds that it has done so before. Blocks as long as the disk does.
  /// @param why of `Released::unknown`: nothing is recorded, or (`in_doubt`) something may be
  [[nodiscard]] Released conclude(const HoldId& hold, const Conclusion& conclusion, Failure& why);
  /// Of a key: has it forgotten. @return `recorded` (as it was found), `held` (with the record),
  /// `retired`, `failed`
  [[nodiscard]] Decision forget();
  /// Frees the name if this attempt owns it, and forgets that it waits.
  void undo(const Acquisition& operation) noexcept;
  [[nodiscard]] bool owns(const HoldId& hold) const;
  /// @return whether somebody waits whom this client's readers keep out.
  [[nodiscard]] bool wanted() const;
  /// @return the holder, where it is an attempt of this client.
  [[nodiscard]] std::optional<Holder> own_holder() const;
  /// Ends holds whose file is not the one of its name any more, and tells which these were.
  [[nodiscard]] std::vector<HoldId> notice_losses();
  /// Gives a truncated file its page back, so that one can sleep on it.
  void repair() const;

  /// Frees everything for ever. @return who waited
  [[nodiscard]] std::vector<Waiter> close() noexcept;
  /// @return whether nobody owned or waited just now.
  [[nodiscard]] bool idle() const noexcept { return !in_use_.load(); }
  /// Takes the entry out of use, if nobody owns, waits or asks; it takes no attempts any more.
  [[nodiscard]] bool retire() noexcept;

 private:
  struct Own {
    AttemptId attempt;
    Grant grant;
    bool settled = false;
    /// Of a key: of the record that it has written last; its own, unless it `mends`.
    std::uint64_t sequence = 0;
    /// Holds the key only until the disk has what a runner wrote that died over it.
    bool mends = false;
    std::uint32_t place = 0;  ///< which permit
    bool read = false;        ///< an owner that has read beside
  };

  /// The mutex, for a change; notes at its end whether the entry is in use.
  class Change;

  [[nodiscard]] std::vector<Waiter>::iterator find(const Acquisition& operation);
  /// @return what that attempt holds; null: nothing.
  [[nodiscard]] const Own* held_by(const AttemptId& attempt) const noexcept;
  [[nodiscard]] Own* held_by(const AttemptId& attempt) noexcept;
  /// Tries for it in its own mode. @param since of the waiter, if it is one
  [[nodiscard]] Decision try_for(const Acquisition& operation, Instant counted_from, Nap& nap,
                                 std::uint64_t& since);
  [[nodiscard]] Decision try_to_take(const Acquisition& operation, Instant counted_from, Nap& nap);
  [[nodiscard]] Decision note_grant(const Acquisition::Request& request, Instant counted_from);
  /// Frees what that attempt holds, in the kernel too, and wakes whoever may have it now.
  void drop(const AttemptId& attempt) noexcept;
  void drop_part(const AttemptId& attempt) noexcept;
  void let_the_woken_go_first(std::uint32_t seen) noexcept;
  [[nodiscard]] bool matches(const HoldId& hold) const noexcept;
  void abandon() noexcept;
  [[nodiscard]] Failure open_file();
  [[nodiscard]] Decision replaced_again() const;
  [[nodiscard]] Decision unseen_path() const;

  // Of readers and permits, in entry_sharing.cpp and entry_permit.cpp.
  class Drawing;
  class Reading;
  [[nodiscard]] Failure open_if_closed(bool& open);
  /// Looks whether the file is still the one of its name. @param again it is not: open it anew
  [[nodiscard]] std::optional<Decision> refuse_replaced(bool& again);
  [[nodiscard]] Decision try_to_share(const Acquisition::Request& request, Instant counted_from,
                                      Nap& nap, std::uint64_t& since);
  [[nodiscard]] Decision share_once(const Acquisition::Request& request, Instant counted_from,
                                    std::uint64_t& since);
  [[nodiscard]] Failure look_before(std::uint64_t& since, bool& refused);
  [[nodiscard]] Failure draw_for_readers(Header& header);
  [[nodiscard]] Decision note_share(const Acquisition::Request& request, Instant counted_from,
                                    Header& header);
  [[nodiscard]] Failure gives_way(const Header& header, std::uint64_t& since, bool& waits);
  [[nodiscard]] Failure writer_waits(const Header& header, bool& waits) const;
  /// Lets others see that somebody waits here.
  void announce(const Acquisition::Request& request) noexcept;
  [[nodiscard]] bool announces() const noexcept;
  void withdraw() noexcept;
  [[nodiscard]] Decision try_for_permit(const Acquisition& operation, Instant counted_from,
                                        Nap& nap);
  [[nodiscard]] Decision permit_once(const Acquisition& operation, Instant counted_from, Nap& nap);
  [[nodiscard]] Failure check_permits(const Acquisition& operation, const Header& header);
  [[nodiscard]] bool has_place(std::uint32_t place) const noexcept;
  [[nodiscard]] Failure take_place(std::uint32_t permits,
                                   std::optional<std::uint32_t>& place) const;

  // Of keys, in entry_key.cpp.
  [[nodiscard]] Decision consult(const Acquisition::Request& request, std::uint64_t since);
  [[nodiscard]] Decision consult_held(const Acquisition::Request& request);
  [[nodiscard]] Decision told(const Acquisition::Request& request, const KeyPage& page,
                              std::uint64_t since, bool held) const;
  [[nodiscard]] Decision told(const KeySlot& slot, bool with_bytes) const;
  [[nodiscard]] Decision begin_run(const Acquisition::Request& request, Instant counted_from);
  [[nodiscard]] Decision mend(const Acquisition::Request& request, const KeySlot& slot,
                              std::string_view bytes);
  [[nodiscard]] Decision write_run(const Acquisition::Request& request, Instant counted_from,
                                   const KeyPage& page, const KeySlot* last);
  [[nodiscard]] Decision mended();
  [[nodiscard]] Failure write_outcome(const Conclusion& conclusion, bool& lost);
  [[nodiscard]] Released find_outcome(const HoldId& hold, KeyState state, Failure& why);
  [[nodiscard]] Decision write_absence();
  [[nodiscard]] Decision write_absence_locked();
  [[nodiscard]] Decision held_record() const;
  [[nodiscard]] Failure read_page(KeyPage& page) const;

  Common& common_;
  const std::string name_;
  mutable std::mutex mutex_;
  std::shared_ptr<LockFile> file_;  // empty: not open, or found to be replaced
  std::optional<Own> owner_;        // implies file_
  std::vector<Own> sharing_;        // readers, or permits; implies file_
  bool announced_ = false;          // others may see that somebody waits here
  Instant asked_at_{};              // when a writer of ours has written that it waits
  bool writer_seen_ = false;        // one waited when that was looked for last
  bool drawing_seen_ = false;       // somebody drew a number for readers then
  std::vector<Waiter> waiters_;
  std::uint32_t polite_seen_ = 0;
  Instant polite_until_{};
  std::uint64_t record_seen_ = 0;  // of a key: the last one that was looked at
  bool closed_ = false;
  bool retired_ = false;
  std::atomic<bool> in_use_{false};  // written under the mutex
};

}  // namespace mortise::file
