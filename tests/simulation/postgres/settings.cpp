// SPDX-License-Identifier: MIT
#include "simulation/postgres/settings.hpp"

#include <charconv>

namespace simulation::postgres {

Setting Settings::named(std::string_view name) {
  if (name == "lock_timeout") return Setting::lock_timeout;
  if (name == "synchronous_commit") return Setting::synchronous_commit;
  if (name == "default_transaction_isolation") return Setting::default_isolation;
  if (name == "transaction_isolation") return Setting::isolation;
  return Setting::other;
}

std::optional<Nanos> Settings::lock_timeout() const {
  const std::string& value = of(Setting::lock_timeout);
  std::int64_t count = 0;
  const char* const end = value.data() + value.size();
  const char* const unit = std::from_chars(value.data(), end, count).ptr;
  if (count == 0) return std::nullopt;
  const std::string_view name(unit, static_cast<std::size_t>(end - unit));
  return name == "s" ? Nanos(std::chrono::seconds(count)) : Nanos(std::chrono::milliseconds(count));
}

}  // namespace simulation::postgres
