// SPDX-License-Identifier: MIT
// Goal: the file backend keeps its promises while its processes are killed and stopped. Method: the
// suite of histories, on a directory of its own a run. What was acknowledged can be forgotten there
// only by deleting a lock's file.
#include "model/file_store.hpp"
#include "model/history_suite.hpp"

namespace mortise::model {

MORTISE_HISTORIES(File, HistoryBackend{.under_test = contract::file_directory()});

}  // namespace mortise::model
