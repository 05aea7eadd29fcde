// SPDX-License-Identifier: MIT
#include "simulation/redis/hash_value.hpp"

namespace simulation::redis {
namespace {

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

}  // namespace

std::size_t HashValue::position(std::string_view field) const {
  if (!index_.empty()) {
    const auto found = index_.find(field);
    return found == index_.end() ? nowhere : found->second;
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (fields_[i].first == field) return i;
  }
  return nowhere;
}

std::string* HashValue::find(std::string_view field) {
  const std::size_t at = position(field);
  return at == nowhere ? nullptr : &fields_[at].second;
}

bool HashValue::set(std::string_view field, std::string_view value) {
  const std::size_t at = position(field);
  if (at != nowhere) {
    fields_[at].second.assign(value);
    return false;
  }
  fields_.emplace_back(field, value);
  if (!index_.empty()) {
    index_.emplace(field, fields_.size() - 1);
  } else if (fields_.size() > most_in_order) {
    make_index();
  }
  return true;
}

bool HashValue::erase(std::string_view field) {
  const std::size_t at = position(field);
  if (at == nowhere) return false;
  if (index_.empty()) {
    fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(at));
    return true;
  }
  index_.erase(index_.find(field));
  if (at + 1 != fields_.size()) {
    fields_[at] = std::move(fields_.back());
    index_.find(fields_[at].first)->second = at;
  }
  fields_.pop_back();
  return true;
}

void HashValue::make_index() {
  for (std::size_t i = 0; i < fields_.size(); ++i) index_.emplace(fields_[i].first, i);
}

std::size_t HashValue::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Field& field : fields_) sum += field.first.size() + field.second.size();
  return sum;
}

}  // namespace simulation::redis
