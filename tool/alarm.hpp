// SPDX-License-Identifier: MIT
// A moment of the boot-time clock as a descriptor for poll(). A lease runs while the machine is
// suspended, and the timeout of poll() does not.
#pragma once

#include <mortise/clock.hpp>

#include "descriptor.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace mortise::tool {

class Alarm {
 public:
  Alarm() : fd_(must(::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")) {}
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// The descriptor becomes readable at that moment. `never` switches the alarm off.
  void set(Instant moment) const {
    itimerspec spec{};
    if (moment != never) {
      const auto at = std::max<std::int64_t>(moment.time_since_epoch().count(), 1);
      spec.it_value = {static_cast<time_t>(at / 1'000'000'000),
                       static_cast<long>(at % 1'000'000'000)};
    }
    must(::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr), "timerfd_settime");
  }

 private:
  Descriptor fd_;
};

}  // namespace mortise::tool
