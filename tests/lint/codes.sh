#!/bin/bash
# Every diagnostic code is used by some source and has a case in tests/bad; nothing else is used.
#
# usage: codes.sh ROOT
set -u
cd "$1" || exit 2
faults=0
codes=$(sed -nE 's/^DIAG_CODE\(([A-Z][0-9]{3}),.*/\1/p' base/codes.def)
[ -n "$codes" ] || { echo "base/codes.def: no code found"; exit 1; }
doubled=$(sort <<< "$codes" | uniq -d)
[ -z "$doubled" ] || { echo "base/codes.def: given twice:" $doubled; faults=1; }
used=$(grep -rhoE 'DIAG_[A-Z][0-9]{3}\b' --include='*.[ch]' \
    base models topologies plan prices costmodel sim planner exports imports tools 2> /dev/null | sort -u)
for code in $codes; do
    grep -qx "DIAG_$code" <<< "$used" || { echo "base/codes.def: $code is reported nowhere"; faults=1; }
    ls tests/bad/"$code"-*.cmd > /dev/null 2>&1 || { echo "$code: no case in tests/bad"; faults=1; }
done
for cmd in tests/bad/*.cmd; do
    code=$(basename "$cmd"); code=${code%%-*}
    grep -qx "$code" <<< "$codes" || { echo "$cmd: base/codes.def has no $code"; faults=1; }
done
exit $faults
