// SPDX-License-Identifier: MIT
// A list of nodes that belong to owners, in order of arrival: the waiters of a name, and the
// readers that share a hold. To add, remove or find a node takes the same time for any number of
// them.
#pragma once

#include <mortise/owner.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::core {

/// The links of one node of an `OwnerList`.
template <class Node>
struct OwnerPlace {
  Node* before = nullptr;
  Node* after = nullptr;
  // In the chain of the nodes whose owners have the same hash, in order of arrival.
  Node* before_in_chain = nullptr;
  Node* after_in_chain = nullptr;
  bool listed = false;
};

/// An intrusive list. An owner can have several nodes, so an intrusive hash table finds the nodes
/// of an owner; a short list has none.
/// @tparam Node has an `owner`, which stays the same, and a `place`.
template <class Node>
class OwnerList {
 public:
  class Iterator {
   public:
    explicit Iterator(Node* at) noexcept : at_(at) {}
    [[nodiscard]] Node* operator*() const noexcept { return at_; }
    Iterator& operator++() noexcept {
      at_ = at_->place.after;
      return *this;
    }
    friend bool operator==(Iterator, Iterator) noexcept = default;

   private:
    Node* at_;
  };

  OwnerList() = default;
  OwnerList(OwnerList&& other) noexcept { *this = std::move(other); }
  OwnerList& operator=(OwnerList&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    std::swap(chains_, other.chains_);
    return *this;
  }

  [[nodiscard]] Iterator begin() const noexcept { return Iterator(first_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(nullptr); }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// @return the node that came first; null if the list is empty.
  [[nodiscard]] Node* front() const noexcept { return first_; }
  /// @return the node that came last; null if the list is empty.
  [[nodiscard]] Node* back() const noexcept { return last_; }

  /// Adds a node that is in no list.
  /// @throws std::bad_alloc; the list is then unchanged
  void push_back(Node& node) {
    const std::size_t room = chains_ ? chains_->size() : longest_scan;
    if (size_ >= room) grow();
    node.place = {.before = last_, .listed = true};
    (last_ != nullptr ? last_->place.after : first_) = &node;
    last_ = &node;
    ++size_;
    if (chains_) add_to((*chains_)[chain_of(node.owner)], node);
  }

  /// Removes the node, if it is in the list.
  void remove(Node& node) noexcept {
    OwnerPlace<Node>& place = node.place;
    if (!place.listed) return;
    (place.before != nullptr ? place.before->place.after : first_) = place.after;
    (place.after != nullptr ? place.after->place.before : last_) = place.before;
    if (chains_) {
      Chain& chain = (*chains_)[chain_of(node.owner)];
      (place.before_in_chain != nullptr ? place.before_in_chain->place.after_in_chain
                                        : chain.first) = place.after_in_chain;
      (place.after_in_chain != nullptr ? place.after_in_chain->place.before_in_chain : chain.last) =
          place.before_in_chain;
    }
    place = {};
    // A table that has grown takes as much memory as its nodes did.
    if (--size_ == 0) chains_.reset();
  }

  /// @return the first node of that owner for which `matches` returns true; null if there is none.
  template <class Matches>
  [[nodiscard]] Node* find(Owner owner, Matches matches) const noexcept {
    const bool has_chains = chains_ != nullptr;
    Node* at = has_chains ? (*chains_)[chain_of(owner)].first : first_;
    while (at != nullptr && !(at->owner == owner && matches(*at))) {
      at = has_chains ? at->place.after_in_chain : at->place.after;
    }
    return at;
  }

  /// Removes the nodes for which `matches` returns true.
  template <class Matches>
  void remove_if(Matches matches) {
    for (Node* at = first_; at != nullptr;) {
      Node* const next = at->place.after;
      if (matches(*at)) remove(*at);
      at = next;
    }
  }

 private:
  // A scan of this many nodes costs no more than the table.
  static constexpr std::size_t longest_scan = 8;

  /// The nodes whose owners have the same hash.
  struct Chain {
    Node* first = nullptr;
    Node* last = nullptr;
  };

  /// @return the index of the chain that has the nodes of that owner. Owners are numbered in order,
  /// threads and tasks apart, so a multiplication spreads them (Knuth, The Art of Computer
  /// Programming, volume 3, section 6.4).
  [[nodiscard]] std::size_t chain_of(Owner owner) const noexcept {
    constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;
    return ((owner.id() * golden) >> 32U) & (chains_->size() - 1);
  }

  void grow() {
    chains_ =
        std::make_unique<std::vector<Chain>>(chains_ ? 2 * chains_->size() : 4 * longest_scan);
    for (Node* const each : *this) add_to((*chains_)[chain_of(each->owner)], *each);
  }

  static void add_to(Chain& chain, Node& node) noexcept {
    node.place.before_in_chain = chain.last;
    node.place.after_in_chain = nullptr;
    (chain.last != nullptr ? chain.last->place.after_in_chain : chain.first) = &node;
    chain.last = &node;
  }

  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t size_ = 0;
  // Null in a short list; their number is a power of two. A held lock pays for one pointer.
  std::unique_ptr<std::vector<Chain>> chains_;
};

}  // namespace mortise::core
