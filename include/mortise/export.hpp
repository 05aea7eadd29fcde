// SPDX-License-Identifier: MIT
// Marks what a shared libmortise exports; everything else is hidden.
#pragma once

#if defined(MORTISE_STATIC)
#define MORTISE_API
#else
#define MORTISE_API __attribute__((visibility("default")))
#endif
