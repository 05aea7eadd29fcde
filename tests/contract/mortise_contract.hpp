// SPDX-License-Identifier: MIT
// The contract suite for a backend of one's own: `find_package(mortise COMPONENTS contract)`, and
// link `mortise::contract`, which brings the tests and main(). A backend is put to it by one line,
//
//   MORTISE_CONTRACT(Mine, my_backend());
//
// where `my_backend()` returns a `mortise::contract::BackendUnderTest`: how a fresh store is
// opened, what a test may do to it (`Hook`), and what the backend promises (`Quality`). Of what it
// does not promise there is no test. examples/own_backend is one, whole.
#pragma once

#include "support/contract_suites.hpp"
