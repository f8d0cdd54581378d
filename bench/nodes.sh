#!/usr/bin/env bash
# One table of what replication and further nodes cost, all of it on this machine: YCSB A
# and B over 1 to 7 nodes and 1, 3 and 5 replicas, a commit at one client beside the time
# of a sync, a transaction across two ranges beside one within a range, and how long 13
# nodes take to form.
#
#   bench/nodes.sh [--quick] [--nodes=1,3,5,7] [--factors=1,3,5] [--workloads=A,B] [--seconds=5]
#                  [--records=50000] [--threads=32] [--large=13] [--rounds=7] [--only=curves,commit,large]
#                  [--work=DIR] [--out=DIR] [--keep]
#
# The clients go through all nodes, --threads connections in all. Every node syncs its log
# to the same disk, and all of them share this machine's processors: the curves say what
# replication costs, not what further machines bring.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

nodes=1,2,3,4,5,6,7 factors=1,3,5 workloads=A,B seconds=5 records=50000 threads=32 large=13 rounds=7 only=curves,commit,large
for a in "$@"; do
  v=${a#*=}
  case $a in
    --quick) nodes=1,3 factors=1,3 workloads=A seconds=2 records=2000 threads=8 large=5 rounds=2 ;;
    --nodes=*) nodes=$v ;;
    --factors=*) factors=$v ;;
    --workloads=*) workloads=$v ;;
    --seconds=*) seconds=$v ;;
    --records=*) records=$v ;;
    --threads=*) threads=$v ;;
    --large=*) large=$v ;;
    --rounds=*) rounds=$v ;;
    --only=*) only=$v ;;
    *) common_option "$a" ;;
  esac
done
wants() { [[ ",$only," == *",$1,"* ]]; }
PATH=$PATH:/usr/lib/postgresql/15/bin
wants commit && { need pgbench postgresql-contrib >/dev/null || exit 1; }
prepare_dirs
table=$out/table.txt
: >"$table"

# row TEXT…: of the table.
row() { printf '%-8s %-8s %-34s %14s %12s %10s\n' "$@" | tee -a "$table" >&2; }

# fresh N FACTOR: a cluster of N nodes, after the last one has gone.
fresh() {
  stop_nodes
  plan_nodes "$1"
  start_cluster "$1" --locality=place=p{}
  [ "$2" = 3 ] || sql 1 "ALTER RANGE default CONFIGURE ZONE USING num_replicas = $2" >/dev/null || die "cannot set num_replicas"
}

# stop_nodes: all at once and without draining, since the data goes too.
stop_nodes() {
  local p
  for p in "${node_pid[@]}"; do kill -KILL "$p" 2>/dev/null; done
  for p in "${node_pid[@]}"; do wait "$p" 2>/dev/null; done
  pids=() node_pid=()
  rm -rf "$work"/node*
}

# await_replicas N: until every range has so many voters and nothing moves.
await_replicas() {
  local left
  for _ in $(seq 120); do
    left=$(sql 1 "SELECT count(*) FROM [SHOW CLUSTER RANGES] WHERE array_length(voting_replicas, 1) <> $1 OR lease_holder IS NULL")
    [ "$left" = 0 ] && return
    sleep 0.5
  done
  note "ranges without $1 replicas: $left"
}

# load N: YCSB's table in as many ranges as nodes, or a few more, spread.
load() {
  "$lichen" workload init ycsb --drop --data-loader=copy --recordcount="$records" --threads=2 --display-every=0 "$(node_url 1)" \
    >"$out/load" 2>&1 || die "loading failed: see $out/load"
  [ "$1" = 1 ] && return
  sql 1 "ALTER TABLE usertable SPLIT AT VALUES ('user2'), ('user3'), ('user4'), ('user5'), ('user6'), ('user7'), ('user8'), ('user9')" >/dev/null
  sql 1 "ALTER TABLE usertable SCATTER" >/dev/null
}

# ycsb NAME WORKLOAD NODES SECONDS: through all nodes at once; sets throughput, p99, failed.
ycsb() {
  local i running=() files=() each=$((threads / $3))
  [ "$each" -gt 0 ] || each=1
  for i in $(seq "$3"); do
    files+=("$out/$1.$i")
    timeout -s KILL $(($4 * 3 + 60)) "$lichen" workload run ycsb --workload="$2" --recordcount="$records" --threads="$each" \
      --operationcount=0 --maxexecutiontime="$4" --display-every=0 "$(node_url "$i")" >"$out/$1.$i" 2>"$out/$1.$i.err" &
    running+=("$!")
  done
  wait "${running[@]}"
  throughput=$(for i in "${files[@]}"; do report_throughput "$i"; echo; done | awk '{s += $1} END {printf "%.0f", s}')
  p99=$(report_p99 "${files[@]}")
  failed=$(report_failed "${files[@]}")
}

curves() {
  local n f w
  for f in ${factors//,/ }; do
    for n in ${nodes//,/ }; do
      [ "$n" -ge "$f" ] || continue
      fresh "$n" "$f"
      load "$n"
      await_replicas "$f"
      for w in ${workloads//,/ }; do
        ycsb warm "$w" "$n" 1
        ycsb "rf$f-n$n-$w" "$w" "$n" "$seconds"
        row "$n" "$f" "YCSB $w" "$throughput" "$p99" "$failed"
      done
    done
  done
}

# latency NAME PORT FILE: average of one client in ms, into $average.
latency() {
  average=-
  if (cd "$work" && timeout $((seconds * 2 + 60)) pgbench -n -h 127.0.0.1 -p "$2" -U root -T "$seconds" -c 1 -M prepared \
    -f "$3" defaultdb) >"$out/$1" 2>&1; then
    average=$(awk '/^latency average/{print $4}' "$out/$1")
  fi
}

# commits N FACTOR: latencies of one client at the node that leads the ranges.
commits() {
  local at=1 one left
  fresh "$1" "$2"
  sql 1 "CREATE TABLE k (id INT8 PRIMARY KEY, v INT8); INSERT INTO k SELECT i, 0 FROM generate_series(0, 1999) i" >/dev/null || die "cannot make the table"
  sql 1 "ALTER TABLE k CONFIGURE ZONE USING lease_preferences = '[[+place=p1]]'" >/dev/null || die "cannot place the table"
  sql 1 "ALTER TABLE k SPLIT AT VALUES (1000)" >/dev/null || die "cannot split the table"
  await_replicas "$2"
  for _ in $(seq 60); do
    left=$(sql 1 "SELECT count(*) FROM [SHOW RANGES FROM TABLE k] WHERE lease_holder_locality <> 'place=p1'")
    [ "$left" = 0 ] && break
    sleep 0.5
  done
  cat >"$work/one.sql" <<SQL
\set a random(0, 499)
\set b random(500, 999)
UPDATE k SET v = v + 1 WHERE id = :a
SQL
  cat >"$work/pair.sql" <<SQL
\set a random(0, 499)
\set b random(500, 999)
BEGIN;
UPDATE k SET v = v + 1 WHERE id = :a;
UPDATE k SET v = v - 1 WHERE id = :b;
COMMIT;
SQL
  sed 's/random(500, 999)/random(1500, 1999)/' "$work/pair.sql" >"$work/across.sql"
  chmod 644 "$work"/*.sql
  latency "commit-n$1" "${node_port[$at]}" "$work/one.sql"
  row "$1" "$2" "commit of one row, ms" - "$average" -
  # In turns, since the speed of a shared machine changes while this runs; the medians count.
  : >"$work/latencies"
  for _ in $(seq "$rounds"); do
    latency "pair-n$1" "${node_port[$at]}" "$work/pair.sql"
    one=$average
    latency "across-n$1" "${node_port[$at]}" "$work/across.sql"
    echo "$one $average" >>"$work/latencies"
  done
  cp "$work/latencies" "$out/pair-across-n$1"
  row "$1" "$2" "two rows of one range, ms" - "$(median '$1')" -
  row "$1" "$2" "two rows of two ranges, ms" "$(median '$2 / $1') x" "$(median '$2')" -
}

# median EXPRESSION: over the rounds of pairs of latencies.
median() { awk "{printf \"%.3f\\n\", $1}" "$work/latencies" | sort -n | awk '{v[NR] = $1} END {printf "%.3f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

# sync_time: of an append of 8 KiB and a sync, in ms.
sync_time() {
  timeout 60 pg_test_fsync -s 1 -f "$work/fsync" 2>/dev/null | awk '/fdatasync/ && /usecs\/op/ {printf "%.3f", $(NF - 1) / 1000; exit}'
  rm -f "$work/fsync"
}

# form N: a cluster of N nodes, made as people make them.
form() {
  local began took served url
  began=$(date +%s%N)
  "$lichen" cluster create bench --base-dir="$work/clusters" --nodes="$1" --cache=32MiB --max-memory=64MiB >"$out/form" 2>&1 ||
    { row "$1" 3 "forms" failed - -; cat "$out/form" >&2; return; }
  took=$(awk "BEGIN {printf \"%.1f s\", ($(date +%s%N) - $began) / 1e9}")
  row "$1" 3 "forms" "$took" - -
  served=0
  for url in $(grep -o '"SQL": "[^"]*"' "$work/clusters/bench/cluster.json" | cut -d'"' -f4); do
    timeout 20 "$lichen" sql --url="postgresql://root@$url/defaultdb?sslmode=disable" -e "CREATE TABLE IF NOT EXISTS f (a INT PRIMARY KEY); UPSERT INTO f VALUES (1); SELECT * FROM f" >>"$out/form" 2>&1 &&
      served=$((served + 1))
  done
  row "$1" 3 "serve a write and a read" "$served of $1" - -
  timeout 120 "$lichen" cluster destroy bench --base-dir="$work/clusters" >>"$out/form" 2>&1
}

row nodes replicas what "operations/s" "p99 or avg" errors
wants curves && curves
if wants commit; then
  row - - "append and sync, ms" - "$(sync_time)" -
  for n in 1 3; do commits "$n" "$n"; done
fi
stop_nodes
wants large && form "$large"
{
  echo "Nodes on one machine, $(nproc) processors shared by all nodes and clients, $seconds s each, $(date -u +%Y-%m-%dT%H:%MZ)"
  "$lichen" version
  cat "$table"
} | keep_summary
note "raw output: $out"
