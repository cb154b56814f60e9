#!/bin/bash
# What the compiled library code defines and calls: exported names start with their file's noun; no
# mutable globals, no malloc outside the arena, no printing, no clock, no libm but sqrt.
#
# usage: objects.sh ARCHIVE...
set -u
here=$(cd "$(dirname "$0")" && pwd)
libm=$(cc -print-file-name=libm.so.6)
{
    nm -D --defined-only "$libm" | awk '{ sub(/@.*/, "", $NF); print "libm", $NF }'
    objdump -t "$@"
} | awk -f "$here/objects.awk"
