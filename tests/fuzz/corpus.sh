#!/bin/sh
# Runs a command on the files of a corpus.
#
# usage: corpus.sh ROOT PATTERN... -- COMMAND...
set -eu
root=$1
shift
files=
while [ "$1" != -- ]; do
    for file in "$root"/$1; do
        [ ! -f "$file" ] || files="$files $file"
    done
    shift
done
shift
[ -n "$files" ] || { echo "no file in the corpus"; exit 1; }
exec "$@" $files
