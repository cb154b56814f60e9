#!/bin/bash
# Stored answers: a command still prints what it printed when somebody last looked.
#
# usage: run.sh SHARDPLAN FOLDER [--update] [CASE...]
#
# FOLDER/CASE/ holds cmd (a shell line that calls `shardplan`; it runs in a copy of CASE, so inputs
# have plain names), expect (in words: what is right about the numbers, and why they may change),
# stdout, and where they are not empty or 0: stderr, exit. Prints TAP; --update rewrites the answers.
set -u
shardplan=$1
folder=$(cd "$2" && pwd)
shift 2
update=no
[ "${1-}" != --update ] || { update=yes; shift; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin"
ln -s "$(realpath "$shardplan")" "$scratch/bin/shardplan"

answer() { # runs case $1: leaves stdout, stderr and exit in $scratch
    rm -rf "$scratch/case"
    cp -R "$folder/$1" "$scratch/case"
    (cd "$scratch/case" && PATH=$scratch/bin:$PATH sh ./cmd) \
        > "$scratch/stdout" 2> "$scratch/stderr" < /dev/null
    echo $? > "$scratch/exit"
}

stored() { # the stored file $2 of case $1, or what its absence means
    if [ -e "$folder/$1/$2" ]; then cat "$folder/$1/$2"; elif [ "$2" = exit ]; then echo 0; fi
}

store() {
    local name
    for name in stdout stderr exit; do
        cp "$scratch/$name" "$folder/$1/$name"
    done
    [ -s "$folder/$1/stderr" ] || rm "$folder/$1/stderr"
    [ "$(cat "$folder/$1/exit")" != 0 ] || rm "$folder/$1/exit"
}

compare() { # prints the differences of case $1
    local name
    [ -s "$folder/$1/expect" ] || echo "no file 'expect': say in words what is right"
    for name in exit stdout stderr; do
        stored "$1" $name | diff -u --label "stored $name" --label "now $name" - "$scratch/$name"
    done
}

shopt -s nullglob
if [ $# -gt 0 ]; then cases=("$@"); else cases=("$folder"/*/cmd); fi
echo "1..${#cases[@]}"
number=0
for name in "${cases[@]}"; do
    name=${name%/cmd}; name=${name##*/}
    number=$((number + 1))
    answer "$name"
    [ $update = no ] || store "$name"
    fault=$(compare "$name")
    if [ -z "$fault" ]; then
        echo "ok $number - $name"
    else
        echo "not ok $number - $name"
        echo "$fault" | sed 's/^/# /'
    fi
done
