#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the first line of a commit is at most 72 characters, so that `git log --oneline` can be read.
# Method: look at what is not on `main` yet; on `main` itself at what was not pushed yet, or, where
# nothing is known of that, at the last commit. Merges have subjects of git's own.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$1"
most=72

known() { git rev-parse -q --verify "$1^{commit}" >/dev/null; }

bases=(main origin/main)
if [ "$(git symbolic-ref -q --short HEAD || true)" = main ]; then bases=("@{upstream}" origin/main); fi
base=
for each in "${bases[@]}" HEAD~1; do
    if known "$each"; then
        base=$each
        break
    fi
done

bad=0
while read -r commit subject; do
    [ "${#subject}" -gt "$most" ] || continue
    echo "$commit: ${#subject} characters, at most $most: $subject"
    bad=1
done < <(git log --no-merges --format='%h %s' ${base:+"$base..HEAD"})
exit "$bad"
