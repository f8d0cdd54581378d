#!/usr/bin/env bash
# Measures how long reads and writes of a table wait while it is changed, on three nodes of this machine, and keeps
# the table in bench/results.
#
#   bench/stalls.sh [--rows=150000,1000000] [--clients=1] [--only=TEXT] [--work=DIR] [--out=DIR] [--keep]
#
# test/stalls says what is run. --clients readers and as many writers of each gateway rest 4 ms between statements. The
# first line is of a while without a change: what the machine, which all nodes and clients share, does by itself.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rows=150000,1000000 clients=1 only=
for a in "$@"; do
  v=${a#*=}
  case $a in
    --rows=*) rows=$v ;;
    --clients=*) clients=$v ;;
    --only=*) only=$v ;;
    *) common_option "$a" ;;
  esac
done
prepare_dirs
(cd "$bench_dir/.." && go build -o "$work/stalls" ./test/stalls) || die "test/stalls does not build"
plan_nodes 3
node_cache=256MiB start_cluster 3
urls="$(node_url 1),$(node_url 2),$(node_url 3)"
https="127.0.0.1:${node_http[1]},127.0.0.1:${node_http[2]},127.0.0.1:${node_http[3]}"
for n in ${rows//,/ }; do
  echo "$n rows"
  "$work/stalls" --urls="$urls" --http="$https" --rows="$n" --clients="$clients" --only="$only"
done 2>&1 | keep_summary
