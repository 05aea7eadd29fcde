// SPDX-License-Identifier: MIT
// Everything that a user of locks needs; backends and their own headers are apart.
#pragma once

#include <mortise/capabilities.hpp>
#include <mortise/client.hpp>
#include <mortise/clock.hpp>
#include <mortise/error.hpp>
#include <mortise/guard.hpp>
#include <mortise/guards.hpp>
#include <mortise/holder.hpp>
#include <mortise/lock.hpp>
#include <mortise/mode.hpp>
#include <mortise/observer.hpp>
#include <mortise/once.hpp>
#include <mortise/options.hpp>
#include <mortise/outcome.hpp>
#include <mortise/owner.hpp>
#include <mortise/permit.hpp>
#include <mortise/read_write_lock.hpp>
#include <mortise/record.hpp>
#include <mortise/run.hpp>
#include <mortise/semaphore.hpp>
#include <mortise/token.hpp>
#include <mortise/version.hpp>
