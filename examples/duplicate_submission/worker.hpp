// SPDX-License-Identifier: MIT
// One of several web workers that take payments.
#pragma once

#include <string>

namespace shop {

/// The header of a request with a key. The sender chooses the key, and uses it again for a retry.
inline constexpr const char* key_header = "Idempotency-Key";
/// The header of an answer that was given before.
inline constexpr const char* replayed_header = "Idempotent-Replayed";

/// Takes payments with `POST /payments` on a free port of 127.0.0.1. Writes the port to standard
/// output, and runs until a signal ends it. Each payment is charged once, even if it is sent
/// several times and to several workers:
///
/// | answer | when                                                                          |
/// |--------|-------------------------------------------------------------------------------|
/// | 200    | the payment is charged, now or before: the receipt, the same bytes each time  |
/// | 400    | the request has no key                                                        |
/// | 409    | another worker still works on it after ten seconds: send it again             |
/// | 422    | the key belongs to a payment with another body                                |
/// | 503    | the store cannot be reached, so the result is not known: send it again        |
/// @param url of the store that the workers share
/// @param ledger a file with one line per charge
int serve(const std::string& url, const std::string& ledger);

}  // namespace shop
