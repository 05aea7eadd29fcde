#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the README's commands work on a machine that has nothing. Method: a bare Debian of this one's
# release, from where this one's apt gets its packages; in it, each command as it is written.
# It needs root, the network, and mmdebstrap. `./dev package` calls it.
# Usage: bare.sh <directory> <step>...
#   root             make the bare root, which the steps below change
#   install          what README.md says under Install, and then a user's program and the tool
#   packages <dir>   the same with the .deb packages that lie in <dir>, which then go without a trace
# shellcheck disable=SC2016 # what stands in single quotes is another shell's
set -euo pipefail
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
root=$1/root
shift

# inside <command>...: in the root, with mounts that end with the command.
inside() {
    unshare --mount --fork -- bash -euc '
        mount -t proc proc "$1/proc"
        mount --rbind /dev "$1/dev"
        if [ -n "${CCACHE_DIR:-}" ]; then
            mkdir -p "$1$CCACHE_DIR"
            mount --bind "$CCACHE_DIR" "$1$CCACHE_DIR"
        fi
        exec chroot "$@"' bash "$root" env HOME=/root CCACHE_BASEDIR=/src DEBIAN_FRONTEND=noninteractive "$@"
}

# The block of README.md behind the line <!-- bare: $1 -->.
block() {
    awk -v mark="<!-- bare: $1 -->" '
        $0 == mark { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' "$source_dir/README.md"
}

make_root() {
    local release sources
    release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    sources=$(apt-get indextargets --format 'deb $(SITE) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' 'Origin: Debian' | sort -u)
    rm -rf "$root"
    mkdir -p "$(dirname "$root")"
    mmdebstrap --quiet --mode=root --variant=minbase "$release" "$root" - <<<"$sources"
    # The machine's ways to the network, and yes to every question.
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    if [ -f /etc/apt/apt.conf ]; then cp /etc/apt/apt.conf "$root/etc/apt/"; fi
    cp -n /etc/apt/apt.conf.d/*prox* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/99yes"
    inside apt-get -q update
    if [ -n "${CCACHE_DIR:-}" ]; then inside apt-get -q install --no-install-recommends ccache; fi
    # A clean clone of what is committed.
    git clone --quiet --no-hardlinks "$source_dir" "$root/src"
}

# A user's program of ten lines, by both ways, and the tool.
use() {
    inside apt-get -q install --no-install-recommends pkg-config
    inside sh -euxc '
        cd /src/tests/package/consumer
        c++ -std=c++20 main.cpp -o /tmp/by_pkg_config $(pkg-config --cflags --libs mortise)
        /tmp/by_pkg_config
        cmake -S . -B /tmp/by_find_package -D USE=find_package
        cmake --build /tmp/by_find_package
        /tmp/by_find_package/consumer
        mortise run "file:///tmp/locks?create=yes" nightly -- echo held
        mortise run --help >/dev/null'
}

while [ $# -gt 0 ]; do
    step=$1
    shift
    printf '== bare: %s\n' "$step" >&2
    case $step in
        root) make_root ;;
        packages)
            cp "$1"/*.deb "$root/"
            inside sh -euxc 'apt-get -q install --no-install-recommends /*.deb cmake make g++'
            inside sh -euxc 'test -f /usr/share/man/man1/mortise.1.gz
                grep -q "Apache Software Foundation" /usr/share/doc/libmortise*/NOTICE
                grep -q "Christopher Clark" /usr/share/doc/libmortise*/copyright'
            use
            inside sh -euxc 'apt-get -q purge --auto-remove mortise libmortise-dev "libmortise*"
                test -z "$(find /usr -name "*mortise*")"'
            shift
            ;;
        install)
            inside sh -euxc "cd /src; $(block install)"
            use
            ;;
        *) echo "unknown step: $step" >&2; exit 2 ;;
    esac
done
