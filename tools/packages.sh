# Sourced by tools/quickstart and tools/check: installs the Debian packages that are missing.

# need_packages PACKAGE...: silent when all are there.
need_packages() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q ' installed$' || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    echo "Installing Debian packages:$missing"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null || {
            echo "This needs root or sudo. As root: apt-get install$missing" >&2
            exit 1
        }
        as_root=sudo
    fi
    log=$(mktemp)
    if ! { $as_root apt-get -q -o DPkg::Lock::Timeout=300 update &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
            install --no-install-recommends $missing; } > "$log" 2>&1; then
        cat "$log" >&2
        echo "The packages could not be installed (output above)." >&2
        exit 1
    fi
    rm -f "$log"
}

# quietly WHAT COMMAND...: says WHAT, shows the output of the command only when it fails.
quietly() {
    echo "$1"
    shift
    log=$(mktemp)
    if ! "$@" > "$log" 2>&1; then
        cat "$log" >&2
        echo "Failed: $*" >&2
        exit 1
    fi
    rm -f "$log"
}
