#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: the README's commands work on a machine that has nothing. Method: a bare Debian of this one's
# release, from where this one's apt gets its packages; in it, each command as it is written.
# It needs root, the network, and mmdebstrap. `./dev package` calls it.
# Usage: bare.sh <directory> <step>...
#   root             make the bare root, which the steps below change
#   install          what README.md says under Install, then its first program by each way that it
#                    names, and the tool
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

# The block of README.md behind the line <!-- $1 -->.
block() {
    awk -v mark="<!-- $1 -->" '
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

# The first program of README.md in a folder of its own, and how it comes by Mortise.
shop() { # <folder> <what finds it>
    mkdir -p "$root$1"
    block 'snippet: examples/hello.cpp#hello' >"$root$1/shop.cpp"
    block 'bare: cmake' | awk -v finds="$2" '/^find_package/ { print finds; next } { print }' >"$root$1/CMakeLists.txt"
}

# It by what is installed, and the tool.
use() {
    inside apt-get -q install --no-install-recommends pkg-config
    shop /tmp/shop "$(block 'bare: cmake' | grep '^find_package')"
    inside sh -euxc "cd /tmp/shop
        $(block 'bare: build')
        ./build/shop </dev/null
        $(block 'bare: pkg-config')
        ./shop </dev/null"
    inside sh -euxc '
        mortise run --url "file:///tmp/locks?create=yes" nightly -- echo held
        mortise run --help >/dev/null'
}

# It by Mortise's source, with as little of that as file: needs.
use_source() { # <folder> <what finds it>
    shop "$1" "$2"
    inside sh -euxc "cd $1; ln -sfn /src mortise
        cmake -G Ninja -B build -D CMAKE_UNITY_BUILD=ON -D MORTISE_WITH_REDIS=OFF \
            -D MORTISE_WITH_POSTGRES=OFF -D MORTISE_WITH_ZOOKEEPER=OFF
        cmake --build build
        ./build/shop </dev/null"
}

while [ $# -gt 0 ]; do
    step=$1
    shift
    printf '== bare: %s\n' "$step" >&2
    case $step in
        root) make_root ;;
        packages)
            cp "$1"/*.deb "$root/"
            inside sh -euxc 'apt-get -q install --no-install-recommends /*.deb cmake ninja-build g++'
            inside sh -euxc 'test -f /usr/share/man/man1/mortise.1.gz
                test -f /usr/share/bash-completion/completions/mortise
                test -f /usr/share/zsh/vendor-completions/_mortise
                test -f /usr/share/fish/vendor_completions.d/mortise.fish
                grep -q "Apache Software Foundation" /usr/share/doc/libmortise*/NOTICE
                grep -q "Christopher Clark" /usr/share/doc/libmortise*/copyright'
            use
            inside sh -euxc 'apt-get -q purge --auto-remove mortise libmortise-dev "libmortise*"
                test -z "$(find /usr -name "*mortise*")"'
            shift
            ;;
        install)
            inside sh -euxc "cd /src; $(block 'bare: install')"
            use
            use_source /tmp/by_subdirectory 'add_subdirectory(mortise)'
            use_source /tmp/by_fetch "$(block 'bare: fetch')"
            ;;
        *) echo "unknown step: $step" >&2; exit 2 ;;
    esac
done
