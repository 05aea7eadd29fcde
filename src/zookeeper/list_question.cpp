// SPDX-License-Identifier: MIT
// "Which names are held?", one page: a list of the nodes in sync with the leader, then a look at
// each of them.
//
// There is no list of the keys that are run: a client that runs or wants a key stands in the queue
// of its shelf, and only the records have the keys' names. There are 256 shelves at most. So a page
// of keys belongs to one shelf.
#include "core/first_names.hpp"
#include "zookeeper/lease_place.hpp"
#include "zookeeper/lock_path.hpp"
#include "zookeeper/questions.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace mortise::zookeeper {
namespace {

// A server has so many requests of all its clients under way at most (globalOutstandingLimit,
// 1,000); holds are renewed in the meantime.
constexpr std::size_t looks_of_a_page = 200;

class ListQuestion final : public Question {
 public:
  ListQuestion(Parts& parts, const std::shared_ptr<Listing>& operation)
      : Question(parts, operation), listing_(*operation), path_(path_of(parts, *operation)) {}

 protected:
  [[nodiscard]] bool begin() override {
    names_.clear();
    runs_.clear();
    cursor_.clear();
    awaited_ = 0;
    return ask_in_sync({Ask::list, path_}, [this](const Reply& reply) {
      if (is_found(reply, path_)) listed(children_of(reply));
    });
  }

 private:
  struct Name {
    std::string node{};  // its name
    std::string path{};  // where it is looked at
    std::string name{};  // empty = the path is too short for it
    bool is_held = false;
  };

  static std::string path_of(const Parts& parts, const Listing& listing) {
    const std::string& root = parts.settings.root;
    if (listing.mode() == Mode::once) return queues_path(root);
    return listing.mode() == Mode::permit ? semaphores_path(root) : root;
  }
  void listed(const Children& children) {
    if (listing_.mode() == Mode::once) return choose_shelf(children);
    add_names(path_, children, listing_.cursor());
    look_at_each();
  }
  /// The next names in the order of their nodes; the cursor, if there are more.
  void add_names(const std::string& where, const Children& nodes, const std::string& behind) {
    core::FirstNames first(behind, std::min(listing_.limit(), looks_of_a_page));
    for (const std::string_view node : nodes) {
      const std::optional<std::string> name = name_by(node);
      if (name && (name->empty() || name->starts_with(listing_.prefix()))) first.see(node);
    }
    for (const std::string& node : first.take()) {
      names_.push_back({.node = node, .path = path_below(where, node), .name = *name_by(node)});
    }
    cursor_ = first.all() ? "" : names_.back().node;
  }
  // The first shelf with a queue, from where the page begins.
  void choose_shelf(const Children& shelves) {
    const std::string& cursor = listing_.cursor();
    const std::string from = cursor.substr(0, cursor.find('/'));
    Children in_use = shelves;
    std::erase_if(in_use, [&](std::string_view shelf) { return shelf < from; });
    std::sort(in_use.begin(), in_use.end());
    if (in_use.empty()) return answer_page();
    const std::string shelf(in_use.front());
    const std::string next(in_use.size() > 1 ? in_use[1] : "");
    const std::string queue = path_below(path_, shelf);
    const auto stood = [this, queue](const Reply& reply) {
      if (!is_found(reply, queue)) return;
      const Children runs = children_of(reply);
      runs_.assign(runs.begin(), runs.end());
    };
    const auto read = [this, shelf, next](const Reply& reply) {
      if (is_found(reply, shelf)) add_keys(shelf, next, children_of(reply));
    };
    require(ask({Ask::list, queue}, stood) &&
            ask({Ask::list, shelf_beside(parts_.settings.root, shelf)}, read));
  }
  void add_keys(const std::string& shelf, const std::string& next, Children records) {
    std::erase_if(records, [&](std::string_view node) {
      const std::optional<std::string> mark = mark_by(node);
      return !mark || std::none_of(runs_.begin(), runs_.end(),
                                   [&](const std::string& run) { return mark_in(run) == *mark; });
    });
    const std::string before = shelf + '/';
    const std::string& cursor = listing_.cursor();
    add_names(shelf_beside(parts_.settings.root, shelf), records,
              cursor.starts_with(before) ? cursor.substr(before.size()) : "");
    cursor_ = cursor_.empty() ? next : before + cursor_;
    look_at_each();
  }

  void look_at_each() {
    if (names_.empty()) return answer_page();
    bool is_sent = true;
    for (Name& name : names_) is_sent = is_sent && look_at(name);
    require(is_sent);
  }
  bool look_at(Name& name) {
    const auto look = counted(name, [this, &name](const Reply& reply) { looked(name, reply); });
    if (listing_.mode() == Mode::once) return ask({Ask::get, name.path}, look);
    const bool permits = listing_.mode() == Mode::permit;
    if (!ask({Ask::list, permits ? leases_below(name.path) : name.path}, look)) return false;
    if (!name.name.empty()) return true;
    // The node is called by a digest: it keeps the name.
    return ask({Ask::get, name.path},
               counted(name, [&name](const Reply& reply) { set_name(name, reply.text); }));
  }
  Calls::Answer counted(const Name& name, Calls::Answer heed) {
    ++awaited_;
    return [this, &name, heed = std::move(heed)](const Reply& reply) {
      if (!is_found(reply, name.node)) return;
      if (reply.code == Code::ok) heed(reply);
      if (--awaited_ == 0) answer_page();
    };
  }
  /// A stored name counts if the node is called by its digest.
  static void set_name(Name& name, std::string_view stored) {
    if (lock_path({}, stored).substr(1) == name.node) name.name = stored;
  }
  void looked(Name& name, const Reply& reply) const {
    if (listing_.mode() == Mode::permit) {
      name.is_held = !permits_held(*reply.children).empty();
    } else if (listing_.mode() != Mode::once) {
      name.is_held = Place::of(*reply.children, {}).count > 0;
    } else if (const std::optional<Memo> memo = Memo::read(reply)) {
      name.is_held = std::any_of(runs_.begin(), runs_.end(),
                                 [&](const std::string& node) { return memo->is_run_by(node); });
      if (name.name.empty()) set_name(name, memo->kept.name);
    }
  }

  void answer_page() {
    NamePage page;
    for (Name& each : names_) {
      // The prefix of a name that is not in its path is known only now.
      if (!each.is_held || !each.name.starts_with(each.name.empty() ? "" : listing_.prefix())) {
        continue;
      }
      each.name.empty() ? void(++page.too_long) : page.names.push_back(std::move(each.name));
    }
    page.cursor = std::move(cursor_);
    complete(
        [listing = operation_as<Listing>(), page = std::move(page)] { listing->answered(page); });
  }

  const Listing& listing_;
  const std::string path_;
  std::vector<Name> names_;
  std::vector<std::string> runs_;  // nodes in the queue of the shelf
  std::string cursor_{};
  std::size_t awaited_ = 0;  // replies
};

}  // namespace

QuestionPtr question(Parts& parts, const std::shared_ptr<Listing>& operation) {
  return std::make_shared<ListQuestion>(parts, operation);
}

}  // namespace mortise::zookeeper
