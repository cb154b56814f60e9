#!/bin/bash
# The arrows go one way: no file includes a header of a layer that it may not see.
#
# usage: layers.sh ROOT
set -u
cd "$1" || exit 2

may_see() { # the folders whose headers a file of folder $1 may include
    case $1 in
        base) echo base ;;
        models|topologies) echo "$1 base" ;;
        plan) echo "plan models topologies base" ;;
        prices) echo "prices plan models topologies base" ;;
        costmodel|sim) echo "$1 prices plan models topologies base" ;;
        planner|exports|imports) echo "$1 plan models topologies base" ;;
    esac
}

faults=0
while IFS=: read -r file line text; do
    from=${file%%/*}
    to=$(sed -E 's/.*"([^"\/]*)(\/.*)?".*/\1/' <<< "$text")
    case $text in
        *'"'*/*'"'*) ;;
        *) echo "$file:$line: include from the root: \"$from/...\""; faults=1; continue ;;
    esac
    case " $(may_see "$from") " in
        *" $to "*) ;;
        *) echo "$file:$line: forbidden edge $from -> $to"; faults=1 ;;
    esac
done < <(grep -rnE '^[ \t]*#[ \t]*include[ \t]*"' --include='*.[ch]' \
    base models topologies plan prices costmodel sim planner exports imports 2> /dev/null)
exit $faults
