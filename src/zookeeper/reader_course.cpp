// SPDX-License-Identifier: MIT
// An attempt of a reader. It may have been the owner just now, and continue without a gap. And the
// client has to learn that another client waits for the end of its hold, because readers keep
// joining it.
#include "base/mutant.hpp"
#include "zookeeper/attempts.hpp"
#include "zookeeper/pulse.hpp"
#include "zookeeper/queue_course.hpp"

#include <optional>

namespace mortise::zookeeper {
namespace {

class ReaderCourse final : public QueueCourse {
 public:
  using QueueCourse::QueueCourse;

  // With each renewal, because nothing else reports it: a waiter asks its predecessor for nothing.
  bool ask_who_waits(Instant now) override {
    if (base::mutant("zookeeper.nobody_wants_what_is_read")) return false;
    const auto told = [this, now](const Reply& reply) { told_who_waits(now, reply); };
    return ask({Ask::list, claim().queue}, told, true);
  }

 protected:
  void take() override {
    Course* const owner = beside_ ? parts().attempts->owner(*beside_, claim().queue) : nullptr;
    owner != nullptr ? continue_from(*owner) : QueueCourse::take();
  }

 private:
  // It makes a node with the number of the owner's node, so that it stands before all waiters;
  // Curator's locks do the same. A waiter that waits for the owner's end alone would have the lock
  // with that. So it is notified first: the same transaction writes the owner's data. It fails if
  // the owner's node has gone.
  //
  // Each waiter has the number of its node, which is its token, before this node is made. So the
  // reader's number is the owner's. The name of the node has that number for other clients.
  void continue_from(Course& owner) {
    const OwnNode& its = owner.node();
    const std::int64_t number = its.number();
    std::string path = node().prefix() + its.path().substr(its.prefix().size());
    path.insert(claim().queue.size() + 1 + guid_size,
                '-' + hexadecimal(static_cast<std::uint64_t>(number)));
    operation()->sent(parts().now());
    Request notice{Ask::set, its.path(), owner.claim().label};
    if (base::mutant("zookeeper.owner_reads_on_untold")) notice.kind = Ask::check;
    std::vector<Request> writes{std::move(notice), {Ask::create_own, path, claim().label}};
    const auto done = [this](const Reply& reply) { continued(reply); };
    if (!ask(Request::all(std::move(writes)), done)) return;
    node().asked(std::move(path), number);
  }
  void continued(const Reply& reply) {
    switch (reply.code) {
      case Code::unknown:
      case Code::ended: return drive();  // settles it
      case Code::ok: node().made(std::string(node().prefix()), 0); break;
      case Code::no_node:
        // The owner's node has gone: it queues as any other reader.
        beside_.reset();
        forget_node();
        break;
      case Code::not_done:
        // Nothing was made. When it asks again the owner may have gone, and it queues as any other
        // reader: by a name to which the server adds a number, not by one with the owner's.
        report(reply);
        if (base::mutant("zookeeper.refused_reader_keeps_its_name")) return node().not_made();
        forget_node();
        if (is_leaving()) drive();  // it asks for nothing any more
        return;
      default: node().not_made(); return fail(parts().failure_of(reply, claim().queue));
    }
    if (!node().is_there() || is_leaving()) return drive();
    const bool is_wrong = base::mutant("zookeeper.reader_has_a_number_of_its_own");
    hold().prove(node().number() + (is_wrong ? 1 : 0));
  }
  void told_who_waits(Instant asked, const Reply& reply) {
    if (is_held() && reply.code == Code::ok) {
      const Place place = Place::of(*reply.children, node().name(), claim().naming);
      const bool is_news = place.wanted && !hold().news.is_wanted;
      hold().news = {.is_wanted = place.wanted, .as_of = asked};
      // First: the renewal that has asked may wait for a pulse, which answers others as well.
      if (is_news) {
        parts().then([host = parts().host, hold = hold().id()] { host->hold_wanted(hold); });
      }
    }
    parts().renewals->settle_news(*this, asked);
    if (!is_held()) drive();
  }

  std::optional<AttemptId> beside_ = operation()->request().beside;  // its owner's hold
};

}  // namespace

std::shared_ptr<Course> reader_course(NewAttempt its) {
  return std::make_shared<ReaderCourse>(std::move(its));
}

}  // namespace mortise::zookeeper
