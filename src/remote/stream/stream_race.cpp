// SPDX-License-Identifier: MIT
// Only one descriptor is polled, that of the newest try. Older tries have been silent for a while
// by then, and are looked at in between.
#include "remote/stream/stream_race.hpp"

#include <algorithm>
#include <utility>

namespace mortise::remote {
namespace {

// How late an older try is seen to be connected, at most.
constexpr std::chrono::milliseconds look_at_older{25};

}  // namespace

void StreamRace::start(std::vector<Endpoint> endpoints, std::string host) {
  end();
  endpoints_ = std::move(endpoints);
  host_ = std::move(host);
  failure_ = {Errc::unavailable, "no address to connect to"};
  given_.reset();
  std::stable_partition(endpoints_.begin(), endpoints_.end(),
                        [&](const Endpoint& each) { return each.text() == good_; });
  race_.start(endpoints_.size());
}

void StreamRace::start(std::unique_ptr<Stream> only) {
  start({only->endpoint()}, {});
  given_ = std::move(only);
}

StreamRace::Status StreamRace::advance(Instant now) {
  for (;;) {
    if (const std::optional<Status> end = look_at_each(now)) return *end;
    const AddressRace::Step step = race_.step(now);
    switch (step.act) {
      case AddressRace::Act::open: open(step.address); break;
      case AddressRace::Act::late: give_up(step.address); break;
      case AddressRace::Act::lost: return Status::failed;
      case AddressRace::Act::wait:
        due_ = running_.size() > 1 ? std::min(race_.due(), now + look_at_older) : race_.due();
        return Status::again;
    }
  }
}

void StreamRace::open(std::size_t address) {
  std::unique_ptr<Stream> stream = std::move(given_);
  if (!stream) stream = open_stream(endpoints_[address], tls_, host_);
  running_.push_back({address, std::move(stream)});
}

// @return nothing = none has won, and none has ended the race
std::optional<StreamRace::Status> StreamRace::look_at_each(Instant now) {
  for (std::size_t i = 0; i < running_.size();) {
    Running& each = running_[i];
    const Stream::Status status = each.stream->advance();
    if (status == Stream::Status::again) {
      if (each.stream->take_progress()) race_.came_closer(each.address, now);
      ++i;
      continue;
    }
    if (status == Stream::Status::done) {
      winner_ = std::move(each.stream);
      since_ = race_.connected(each.address);
      running_.clear();
      return Status::connected;
    }
    failure_ = each.stream->failure();
    race_.refused(each.address, now);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    // The same certificate waits at the next address.
    if (failure_.code == Errc::denied) {
      running_.clear();
      return Status::failed;
    }
  }
  return std::nullopt;
}

void StreamRace::give_up(std::size_t address) {
  const auto late = std::find_if(running_.begin(), running_.end(),
                                 [&](const Running& each) { return each.address == address; });
  if (late == running_.end()) return;
  // A server without TLS takes our hello for the beginning of a command, and waits for the rest.
  failure_ = {Errc::unavailable,
              late->stream->shakes_hands()
                  ? no_handshake
                  : "cannot connect to " + endpoints_[address].text() + ": no answer in time"};
  running_.erase(late);
}

int StreamRace::descriptor() const noexcept {
  return running_.empty() ? -1 : running_.back().stream->descriptor();
}

short StreamRace::interest() const noexcept {
  return running_.empty() ? short{0} : running_.back().stream->interest();
}

}  // namespace mortise::remote
