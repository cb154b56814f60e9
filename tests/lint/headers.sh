#!/bin/bash
# Each header compiles alone, so that include order never matters.
#
# usage: headers.sh ROOT COMPILER...
set -u
cd "$1" || exit 2
shift
faults=0
for header in $(git ls-files -co --exclude-standard '*.h' 2> /dev/null || find . -name '*.h' -printf '%P\n'); do
    [ -e "$header" ] || continue
    printf '#include "%s"\nextern int nothing;\n' "$header" |
        "$@" -std=c11 -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -I. -fsyntax-only -x c - || {
            echo "$header: does not compile alone"; faults=1; }
done
exit $faults
