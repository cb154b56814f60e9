#!/bin/bash
# Rules that the text of the sources shows: members unnamed in machinery, third parties behind one
# file each, file names unique, functions and files short, no unfinished marks.
#
# usage: sources.sh ROOT
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 2
shopt -s nullglob
faults=0
fault() { echo "$*"; faults=1; }

folders=(base models topologies plan prices costmodel sim planner exports imports tools tests)
mapfile -t sources < <(find "${folders[@]}" -name '*.[ch]' 2> /dev/null | sort)
[ "${#sources[@]}" -gt 0 ] || fault "no source found"

# The names of all members: lists of the open sets, and the data files. Policies are called by plain
# words that other things are called by, too (keep, sync).
members() {
    sed -nE "s/^ *'([^']+)',?.*/\1/p" plan/{dims,collectives,schedules}/meson.build
    sed -n '/^members/,/^\]/s/^ *'\''\([^'\'']*\)'\'',.*/\1/p' exports/meson.build
    for file in topologies/{accelerators,zoo}/*.json models/zoo/*.json prices/runtimes/*.json; do
        basename "$file" .json
    done
    printf '%s\n' ring tree 1f1b gpipe interleaved tp dp pp h100 a100 megatron
}
# "any" is no runtime but the union of all.
names=$(members | grep -vx any | sort -u | sed 's/.*/"&"/')
machinery=(planner/*.[ch] sim/*.[ch] costmodel/*.[ch] plan/*.[ch] prices/*.[ch])
for file in "${machinery[@]}"; do
    # Comments may give examples.
    hits=$(sed -E 's,/\*.*,,; s,^ *\*.*,,; s,^#[ ]*include.*,,' "$file" | grep -niFf <(echo "$names")) &&
        fault "a member is named in machinery: $file:$hits"
done

# A header of a third party appears in one .c file only; tests may use one as an oracle.
for party in cjson/ libxml/ glpk.h mpi.h yaml.h zlib.h; do
    users=$(grep -lE "#[ \t]*include[ \t]*<$party" "${sources[@]}" /dev/null | grep -v '^tests/')
    case $(wc -w <<< "$users") in
        0) ;;
        1) case $users in *.c) ;; *) fault "$users: includes <$party> in a header" ;; esac ;;
        *) fault "<$party> is included in several files:" $users ;;
    esac
done

doubled=$(printf '%s\n' "${sources[@]##*/}" | sort | uniq -d)
for name in $doubled; do
    fault "two files have one name:" $(printf '%s\n' "${sources[@]}" | grep -E "(^|/)$name\$")
done

marks=$(grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "${sources[@]}" /dev/null) && fault "unfinished:
$marks"

awk -f "$here/sizes.awk" "${sources[@]}" || faults=1
exit $faults
