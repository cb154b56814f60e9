#!/bin/bash
# Every bad input gets its diagnostic: the right code, soon, with the look and exit status promised.
#
# usage: run.sh SHARDPLAN FOLDER
#
# FOLDER/CODE-name.cmd holds one line of arguments, where a word `@` is the input FOLDER/CODE-name.*;
# a second line `exit N` says another exit status than 2. Prints TAP.
set -u
shardplan=$(realpath "$1")
folder=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
limit_s=${BAD_SECONDS:-2}

input_of() { # the one file beside NAME.cmd with the same stem
    local file
    for file in "$1".*; do
        case $file in *.cmd) ;; *) printf '%s' "$file"; return ;; esac
    done
}

fault_of() { # prints what is wrong with the answer to case $1, nothing if all is well
    local stem=$1 code want kind input words status codes
    code=$(basename "$stem"); code=${code%%-*}
    want=$(sed -n '2s/^exit //p' "$stem.cmd"); want=${want:-2}
    kind=error; [ "$want" -ne 0 ] || kind=warning # what stops no answer
    input=$(input_of "$stem")
    read -ra words < "$stem.cmd"
    (cd "$folder" && timeout "$limit_s" "$shardplan" "${words[@]/#@/${input##*/}}") \
        > "$scratch/out" 2> "$scratch/err" < /dev/null
    status=$?
    [ $status -ne 124 ] || { echo "no answer within $limit_s s"; return; }
    [ $status -eq "$want" ] || echo "exit status $status, not $want"
    codes=$(grep -E "(^|: )$kind: " "$scratch/err" | grep -oE '\[[A-Z][0-9]{3}\]$' | sort -u | tr -d '\n')
    [ "$codes" = "[$code]" ] || echo "${kind}s say '$codes', not '[$code]'"
    [ "$want" -ne 2 ] || [ ! -s "$scratch/out" ] || echo "something on standard output"
}

shopt -s nullglob
cases=("$folder"/*.cmd)
echo "1..${#cases[@]}"
number=0
for cmd in "${cases[@]}"; do
    stem=${cmd%.cmd}
    number=$((number + 1))
    fault=$(fault_of "$stem")
    if [ -z "$fault" ]; then
        echo "ok $number - $(basename "$stem")"
    else
        echo "not ok $number - $(basename "$stem")"
        echo "$fault" | sed 's/^/# /'
        head -n 12 "$scratch/err" | sed 's/^/#   /'
    fi
done
[ "$number" -gt 0 ] || echo "# no case in $folder"
