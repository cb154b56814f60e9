#!/bin/bash
# Prices of kernels and messages against published micro-measurements outside the tree, and that the check
# bites: prices of devices that are all a third slower must fail it.
#
# usage: run.sh SHARDPLAN ROOT       (SHARDPLAN_SHARED: folder with measured/*.csv; absent: skipped)
set -u
shardplan=$1 root=$2
measured=${SHARDPLAN_SHARED:-}/measured
count=0 failed=0
report() { # STATUS NAME
    count=$((count + 1))
    [ "$1" = 0 ] && echo "ok $count - $2" || { echo "not ok $count - $2"; failed=$((failed + 1)); }
}
if [ ! -r "$measured/gemm.csv" ]; then
    echo "1..0 # SKIP SHARDPLAN_SHARED names no folder with measured/gemm.csv"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
holds() { # NAME FILE MEDIAN P90 [FLAG...]
    local name=$1 file=$measured/$2 median=$3 p90=$4
    shift 4
    "$shardplan" calibrate "$file" --max-median-error "$median" --max-p90-error "$p90" "$@" \
        > "$scratch/out" 2>&1
    local status=$?
    [ $status = 0 ] || grep -E 'FAILED|error' "$scratch/out" | sed 's/^/# /'
    report $status "$name"
}
holds 'matrix multiplies' gemm.csv 0.11 0.31
holds 'attention' attention_kernels.csv 0.12 0.25
holds 'collectives' net_collectives.csv 0.10 0.41
cp -r "$root/models" "$root/topologies" "$root/prices" "$root/plan" "$scratch"
sed -i -E 's/"efficiency": \{"bf16": 0\.[0-9]+/"efficiency": {"bf16": 0.55/' \
    "$scratch"/topologies/accelerators/*.json
SHARDPLAN_DATA=$scratch "$shardplan" calibrate "$measured/gemm.csv" --max-median-error 0.11 \
    > "$scratch/out" 2>&1
[ $? = 1 ] && grep -q 'FAILED gemm bf16, H100' "$scratch/out"
report $? 'slower devices fail the check by name'
echo "1..$count"
exit $((failed > 0))
