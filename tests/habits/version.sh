#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: one version everywhere. Method: what cannot read include/mortise/version.hpp is compared with it.
set -euo pipefail
export LC_ALL=C
cd "$1"
version=$(sed -n 's/^#define MORTISE_VERSION_[A-Z]* //p' include/mortise/version.hpp | paste -sd .)

bad=0
for file in packaging/vcpkg/ports/mortise/vcpkg.json tool/mortise.1; do
    grep -qE "[ \"]${version//./\\.}\"" "$file" && continue
    echo "$file: its version is not $version"
    bad=1
done
exit "$bad"
