// SPDX-License-Identifier: MIT
#include "model/stage.hpp"

namespace mortise::model {

namespace {

// The processes of a run cannot record more than this in a second: holds take their time.

std::vector<std::string> numbered(std::uint32_t count) {
  std::vector<std::string> names;
  for (std::uint32_t number = 0; number < count; ++number) {
    names.push_back("order/" + std::to_string(number));
  }
  return names;
}

std::unique_ptr<Backend> wrapped(const Workload& workload, std::unique_ptr<Backend> backend) {
  return workload.wrap ? workload.wrap(std::move(backend)) : std::move(backend);
}

}  // namespace

Stage::Stage(const contract::BackendUnderTest& under_test, const Workload& what, StoryTime& when,
             std::uint64_t with_seed, std::chrono::milliseconds length)
    : workload(what),
      time(when),
      seed(with_seed),
      short_lease(under_test.short_lease),
      hooks(under_test.hooks),
      names(numbered(what.names)),
      store(under_test.open(when.clock())),
      capabilities(store->backend()->describe().capabilities),
      history(HistoryFile::create(
          directory.file("history"),
          events_a_second * (static_cast<std::uint64_t>(length.count()) / 1000 + 3))),
      resource(MORTISE_BIN_DIR, directory.path(), {.fenced = what.fenced, .log_limit = 8'000'000}) {
}

std::unique_ptr<Backend> Stage::backend() const { return wrapped(workload, store->backend()); }

}  // namespace mortise::model
