#!/bin/sh
# The sources are as `tools/format` leaves them.
#
# usage: format.sh ROOT
cd "$1" || exit 2
command -v clang-format > /dev/null || { echo "no clang-format: skipped"; exit 77; }
exec tools/format --check
