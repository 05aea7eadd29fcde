// SPDX-License-Identifier: MIT
// Empty: precompiled.hpp is compiled for the program that this belongs to, and used by all tests.
#include "precompiled.hpp"
