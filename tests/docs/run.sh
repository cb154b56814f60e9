#!/bin/bash
# The examples in the documentation are true: each is run, its output compared.
#
# usage: run.sh SHARDPLAN ROOT         (README.md and docs/*.md under ROOT)
#
# In a ```console block, a line `$ shardplan ...` is run (in one scratch folder per file), and the
# lines up to the next `$` or the end of the block are its output; a line `...` stands for any
# lines, `...` within a line for any text. Other commands are not run, and their output is not
# compared. A block ```json NAME is a file of that name for the examples of its page. Prints TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
shardplan=$(realpath "$1")
root=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$shardplan" "$scratch/bin/shardplan"

number=0
run_example() { # $1: file:line, $2: folder that holds `command` and `expected`
    local fault
    number=$((number + 1))
    (cd "$scratch/work" && PATH=$scratch/bin:$PATH sh "$2/command") > "$2/actual" 2>&1 < /dev/null
    fault=$(awk -f "$here/match.awk" "$2/expected" "$2/actual")
    if [ -z "$fault" ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        { cat "$2/command"; echo "$fault"; echo "--- it printed:"; head -n 60 "$2/actual"; } | sed 's/^/# /'
    fi
}

for file in "$root"/README.md "$root"/docs/*.md; do
    [ -e "$file" ] || continue
    rm -rf "$scratch/work" "$scratch/examples"
    mkdir "$scratch/work" "$scratch/examples"
    awk -v folder="$scratch/examples" -v work="$scratch/work" -f "$here/extract.awk" "$file"
    for example in $(ls "$scratch/examples" | sort -n); do
        run_example "$(basename "$file"):$example" "$scratch/examples/$example"
    done
done
echo "1..$number"
