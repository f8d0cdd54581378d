#!/usr/bin/env bash
# Adds two nodes to a cluster of three under load and takes one away again, and says
# whether ranges and leaders even out by themselves and whether clients notice.
#
#   bench/many-nodes.sh [--ranges=120] [--records=50000] [--threads=4] [--workload=A]
#                       [--base=30] [--timeout=300] [--target=OPS] [--work=DIR] [--out=DIR] [--keep]
#
# Three nodes hold --ranges ranges of YCSB's table, three replicas each. Each of them
# serves a YCSB client with --threads connections for the whole time, as fast as it can or
# at --target operations per second each. After --base seconds
# nodes 4 and 5 start; when the counts of replicas and leaders lie within 10 % of their
# means on all nodes, node 4 is decommissioned. Each wait ends after --timeout seconds.
# All nodes and clients share this machine, so that two more nodes cost the others time
# even when nothing moves: a further run of --base seconds on five nodes shows that.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ranges=120 records=50000 threads=4 workload=A base=30 timeout=300 target=0
for a in "$@"; do
  v=${a#*=}
  case $a in
    --ranges=*) ranges=$v ;;
    --records=*) records=$v ;;
    --threads=*) threads=$v ;;
    --workload=*) workload=$v ;;
    --base=*) base=$v ;;
    --timeout=*) timeout=$v ;;
    --target=*) target=$v ;;
    *) common_option "$a" ;;
  esac
done
prepare_dirs
verdicts=$out/verdicts.txt
: >"$verdicts"

# verdict NAME CONDITION TEXT: the condition is an awk expression.
verdict() {
  local v=FAIL
  awk "BEGIN { exit !($2) }" && v=pass
  printf '%-4s  %-28s %s\n' "$v" "$1" "$3" | tee -a "$verdicts" >&2
}

clients=()

# start_load PHASE SECONDS: a client for each of the first three nodes.
start_load() {
  local phase=$1 i
  clients=()
  for i in 1 2 3; do
    timeout -s KILL $(($2 + 60)) "$lichen" workload run ycsb --workload="$workload" --recordcount="$records" --threads="$threads" \
      --target="$target" --operationcount=0 --maxexecutiontime="$2" --display-every=1s "$(node_url "$i")" \
      >"$out/$phase.$i" 2>"$out/$phase.$i.status" &
    clients+=("$!")
  done
}

end_load() {
  local p
  for p in "${clients[@]}"; do kill -TERM "$p" 2>/dev/null; done # timeout passes it on
  wait "${clients[@]}" 2>/dev/null
  clients=()
}

# by_second PHASE: "second operations/s", of all clients; the first and last second are
# not whole.
by_second() {
  cat "$out/$1".*.status | sed -n 's/.* \([0-9]*\) sec: .*; \([0-9.]*\) current ops\/sec;.*/\1 \2/p' |
    awk '{n[$1]++; t[$1] += $2} END {for (s in t) if (n[s] == 3) print s, t[s]}' | sort -n | sed '1d;$d' >"$out/$1.seconds"
  cat "$out/$1.seconds"
}

# Of the operations per second: median, lowest, average of three seconds that is lowest.
median() { by_second "$1" | awk '{print $2}' | sort -n | awk '{a[NR] = $1} END {printf "%.0f", a[int((NR + 1) / 2)]}'; }
lowest() { by_second "$1" | awk 'NR == 1 || $2 < m {m = $2} END {printf "%.0f", m}'; }

# counts: "node ranges leaders" of the nodes that count.
counts() {
  "$lichen" node status --insecure --host="127.0.0.1:${node_port[1]}" --format=tsv 2>/dev/null |
    awk -F'\t' 'NR > 1 && $9 == "true" && $12 == "active" {print $1, $10, $11}'
}

# spread COLUMN: the largest distance from the mean, in percent of it.
spread() {
  counts | awk -v c="$1" '{v[NR] = $c; s += $c} END {m = s / NR; for (i = 1; i <= NR; i++) {d = v[i] > m ? v[i] - m : m - v[i]; if (d > w) w = d}
    printf "%.1f", m ? 100 * w / m : 100}'
}

# await_even NODES: waits until both counts lie within 10 % on so many nodes, twice in a row.
await_even() {
  local begin=$SECONDS good=0
  while [ $((SECONDS - begin)) -lt "$timeout" ]; do
    if [ "$(counts | wc -l)" = "$1" ] && awk "BEGIN {exit !($(spread 2) <= 10 && $(spread 3) <= 10)}"; then
      good=$((good + 1))
      [ "$good" -ge 2 ] && return
    else
      good=0
    fi
    sleep 2
  done
  return 1
}

under_replicated() {
  sql 1 "SELECT count(*) FROM [SHOW CLUSTER RANGES] WHERE array_length(voting_replicas, 1) < 3"
}

plan_nodes 5
start_cluster 3
note "loading $records records into $ranges ranges"
"$lichen" workload init ycsb --drop --data-loader=copy --recordcount="$records" --threads=3 --display-every=0 "$(node_url 1)" >"$out/load" 2>&1 ||
  die "loading failed: see $out/load"
sql 1 "ALTER TABLE usertable SPLIT AT SELECT 'user' || lpad((i * 90000 / $ranges + 10000)::text, 5, '0') FROM generate_series(1, $ranges - 1) i" >"$out/split" ||
  die "splitting failed"
sql 1 "ALTER TABLE usertable SCATTER" >"$out/scatter" || die "scattering failed"
await_even 3 || note "three nodes are not even: $(counts | tr '\n' ';')"
note "ranges and leaders by node: $(counts | tr '\n' ';')"

note "load on three nodes, $base s"
start_load base "$base"
wait "${clients[@]}"

note "starting nodes 4 and 5 under load"
start_load add $((timeout + 60))
sleep 5
added=$SECONDS
start_node 4
start_node 5
await_even 5
even=$?
took=$((SECONDS - added))
end_load
verdict "ranges even" "$(spread 2) <= 10 && $even == 0" "within $(spread 2) % of the mean after $took s: $(counts | tr '\n' ';')"
verdict "leaders even" "$(spread 3) <= 10 && $even == 0" "within $(spread 3) % of the mean"

note "load on five nodes, $base s"
before=$(counts)
start_load five "$base"
wait "${clients[@]}"
sql 1 "SELECT range_id, replicas FROM [SHOW CLUSTER RANGES] ORDER BY 1" >"$out/quiet1"
sleep 10
sql 1 "SELECT range_id, replicas FROM [SHOW CLUSTER RANGES] ORDER BY 1" >"$out/quiet2"
verdict "no thrashing" "$(diff "$out/quiet1" "$out/quiet2" | grep -c '^>') == 0" "replicas that moved in 10 s when even: $(diff "$out/quiet1" "$out/quiet2" | grep -c '^>')"

note "decommissioning node 4 under load"
start_load leave $((timeout + 60))
sleep 5
began=$SECONDS
timeout "$timeout" "$lichen" node decommission 4 --insecure --host="127.0.0.1:${node_port[1]}" >"$out/decommission" 2>&1
ended=$?
took=$((SECONDS - began))
sleep 2
end_load
under=$(under_replicated)
verdict "decommission ends" "$ended == 0" "exit code $ended after $took s"
verdict "no under-replicated range" "\"$under\" == \"0\"" "$under ranges have fewer than three voters"
await_even 4
verdict "even after decommission" "$(spread 2) <= 10 && $(spread 3) <= 10" "ranges within $(spread 2) %, leaders within $(spread 3) %"

printf '%-28s %12s %12s %10s %8s\n' phase "median ops/s" "lowest ops/s" "p99 ms" errors >"$out/phases.txt"
for p in base add five leave; do
  printf '%-28s %12s %12s %10s %8s\n' "$p" "$(median $p)" "$(lowest $p)" "$(report_p99 "$out/$p".[123])" "$(report_failed "$out/$p".[123])" >>"$out/phases.txt"
done
for p in add leave; do
  verdict "throughput ($p)" "$(lowest $p) >= $(median $p) / 2" "lowest second $(lowest $p), median $(median $p)"
  # What the further nodes cost on a shared machine is in the figures of five.
  verdict "p99 ($p)" "$(report_p99 "$out/$p".[123]) <= 2 * $(report_p99 "$out/five".[123])" \
    "$(report_p99 "$out/$p".[123]) ms; $(report_p99 "$out/five".[123]) ms on five nodes at rest, $(report_p99 "$out/base".[123]) ms on three"
  verdict "no errors ($p)" "$(report_failed "$out/$p".[123]) == 0" "$(report_failed "$out/$p".[123]) operations failed"
done
{
  echo "Five nodes: $ranges ranges, YCSB $workload, 3 x $threads connections, $records records, $(nproc) processors, $(date -u +%Y-%m-%dT%H:%MZ)"
  "$lichen" version
  cat "$out/phases.txt" "$verdicts"
} | keep_summary
note "raw output: $out"
! grep -q ^FAIL "$verdicts"
