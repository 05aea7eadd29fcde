// SPDX-License-Identifier: MIT
// Goal: the memory backend keeps its promises whatever its server and the way to it do. Method: the
// suite of histories; its client processes are parts of this one.
#include "model/history_suite.hpp"
#include "model/memory_store.hpp"

namespace mortise::model {

MORTISE_HISTORIES(Memory, HistoryBackend{.under_test = contract::memory_server()});

}  // namespace mortise::model
