// SPDX-License-Identifier: MIT
// One of several web workers that take payments.
#pragma once

#include <string>

namespace shop {

/// What a payment is sent with, so that it can be sent again: a key of the sender's choice.
inline constexpr const char* key_header = "Idempotency-Key";
/// What an answer bears that was given before.
inline constexpr const char* replayed_header = "Idempotent-Replayed";

/// Takes payments by `POST /payments` on a free port of 127.0.0.1, whose number it writes to its
/// standard output, until it is ended by a signal. Each payment is charged once, however often, and
/// to however many workers, it is sent:
///
/// | answer | when                                                                         |
/// |--------|------------------------------------------------------------------------------|
/// | 200    | it is charged, now or before: the receipt, the same bytes each time          |
/// | 400    | no key                                                                       |
/// | 409    | another worker is still at it after ten seconds: to be sent again            |
/// | 422    | the key belongs to a payment of another body                                 |
/// | 503    | the store cannot be reached: nothing is known, to be sent again              |
/// @param url of the store that the workers share
/// @param ledger a file; each charge is a line of it
int serve(const std::string& url, const std::string& ledger);

}  // namespace shop
