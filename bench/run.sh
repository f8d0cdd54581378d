#!/usr/bin/env bash
# Compares Lichen with PostgreSQL 15 in one run on one machine: the same clients
# against both, alternating, medians of several rounds. Prints a table and
# keeps it in bench/results; raw output goes to bench/out, which git ignores.
#
#   bench/run.sh [--quick] [--only=pgbench,sysbench,ycsb,rw] [--tests=REGEXP] [--rounds=3]
#                [--seconds=10] [--isolation="read committed"] [--scale=10] [--tables=4]
#                [--table-size=100000] [--records=100000] [--nodes=1] [--rand-type=special]
#                [--work=DIR] [--out=DIR] [--keep]
#
# --quick is one round of 3 seconds with less data. Both servers sync every commit to
# the same file system; PostgreSQL has the locale C.UTF-8 and a shared_buffers of 1 GB.
# --isolation is the default level of transactions on both sides. With --nodes=N Lichen is a
# cluster of N nodes on this machine, and sysbench's threads go through all of them.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=3 seconds=10 isolation="read committed" only=pgbench,sysbench,ycsb,rw tests=.
scale=10 tables=4 table_size=100000 records=100000 nodes=1 rand_type=special
for a in "$@"; do
  v=${a#*=}
  case $a in
    --quick) rounds=1 seconds=3 scale=2 table_size=10000 records=10000 ;;
    --only=*) only=$v ;;
    --tests=*) tests=$v ;;
    --rounds=*) rounds=$v ;;
    --seconds=*) seconds=$v ;;
    --isolation=*) isolation=$v ;;
    --scale=*) scale=$v ;;
    --tables=*) tables=$v ;;
    --table-size=*) table_size=$v ;;
    --records=*) records=$v ;;
    --nodes=*) nodes=$v ;;
    --rand-type=*) rand_type=$v ;;
    *) common_option "$a" ;;
  esac
done
wants() { [[ ",$only," == *",$1,"* ]]; }
selected() { [[ $1 =~ $tests ]]; }

need psql postgresql-client-15 >/dev/null || exit 1
wants pgbench || wants rw && { need pgbench postgresql-contrib >/dev/null || exit 1; }
wants sysbench && { need sysbench sysbench >/dev/null || exit 1; }
PATH=$PATH:/usr/lib/postgresql/15/bin
prepare_dirs
export PGOPTIONS="-c default_transaction_isolation=${isolation// /\\ }"

port_of() { if [ "$1" = postgres ]; then echo "$pg_port"; else echo "$lichen_port"; fi; }

# each_round COMMAND TEST ARGUMENT…: runs the command against both servers,
# alternating which comes first.
each_round() {
  local cmd=$1 test=$2 round system order
  shift 2
  selected "$test" || return
  for round in $(seq "$rounds"); do
    order="postgres lichen"
    [ $((round % 2)) = 0 ] && order="lichen postgres"
    for system in $order; do
      "$cmd" "$test" "$system" "$(port_of "$system")" "$round" "$@"
    done
  done
}

pgbench_tests() {
  local s
  for s in postgres lichen; do
    note "pgbench: loading $s at scale $scale"
    pgbench -i -q -s "$scale" -h 127.0.0.1 -p "$(port_of $s)" -U root defaultdb >"$out/pgbench-init.$s" 2>&1 ||
      note "pgbench -i FAILED on $s: $(grep -m1 -i error "$out/pgbench-init.$s")"
  done
  each_round run_pgbench pgbench-select-prepared-8 -S -M prepared -c 8 -j 1
  each_round run_pgbench pgbench-select-prepared-32 -S -M prepared -c 32 -j 1
  each_round run_pgbench pgbench-select-simple-8 -S -M simple -c 8 -j 1
  each_round run_pgbench pgbench-select-extended-8 -S -M extended -c 8 -j 1
  each_round run_pgbench pgbench-tpcb-prepared-8 -M prepared -c 8 -j 1
  each_round run_pgbench pgbench-tpcb-simple-8 -M simple -c 8 -j 1
  each_round run_pgbench pgbench-update-prepared-8 -b simple-update -M prepared -c 8 -j 1
  hot_row_test
}

# hot_row_test: 64 clients add one to the same row; at the end nothing may be missing.
hot_row_test() {
  local s
  selected pgbench-hot-row-64 || return
  echo "UPDATE hot_row SET n = n + 1 WHERE id = 1;" >"$work/hot-row.sql"
  for s in postgres lichen; do
    psql -X -q -h 127.0.0.1 -p "$(port_of $s)" -U root -c "CREATE TABLE hot_row (id INT PRIMARY KEY, n INT)" \
      -c "INSERT INTO hot_row VALUES (1, 0)" defaultdb || die "cannot create hot_row on $s"
  done
  each_round run_pgbench pgbench-hot-row-64 -M prepared -c 64 -j 2 -f "$work/hot-row.sql"
  for s in postgres lichen; do
    [ "$(psql -X -At -h 127.0.0.1 -p "$(port_of $s)" -U root -c "SELECT n FROM hot_row" defaultdb)" = \
      "$(awk '/^number of transactions actually processed/{n += $6} END {print n+0}' "$out"/pgbench-hot-row-64."$s".*)" ] ||
      note "pgbench-hot-row-64: the count on $s is not that of the transactions"
  done
}

sysbench_at() { # PORT SCRIPT ARGUMENT…
  local port=$1 script=$2
  shift 2
  timeout $((seconds * 3 + 300)) sysbench "$script" --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port="$port" --pgsql-user=root \
    --pgsql-db=defaultdb --tables="$tables" --table-size="$table_size" --threads=16 --percentile=99 --rand-type="$rand_type" "$@"
}

# sysbench_through LOG SCRIPT PORT…: 16 threads through all ports, each with a log of its own.
sysbench_through() {
  local log=$1 script=$2 i=0 p failed=0 running=()
  shift 2
  for p in "$@"; do
    sysbench_at "$p" "$script" --time="$seconds" --threads=$(((16 - i + $# - 1) / $#)) run >"$log.$i" 2>&1 &
    running+=("$!")
    i=$((i + 1))
  done
  for p in "${running[@]}"; do wait "$p" || failed=1; done
  cat "$log".? >"$log"
  return $failed
}

run_sysbench() { # TEST SYSTEM PORT ROUND SCRIPT
  local test=$1 system=$2 port=$3 round=$4 script=$5 log=$out/$1.$2.$4
  local ports=("$port")
  [ "$system" = lichen ] && [ "$nodes" -gt 1 ] && [ "$script" != bulk_insert ] && ports=("${node_port[@]}")
  if ! sysbench_through "$log" "$script" "${ports[@]}"; then
    record "$test" "$system" "$round" failed - "$(grep -m1 -iE 'FATAL|error' "$log" | tr '\t' ' ' | cut -c1-100)"
    return
  fi
  record "$test" "$system" "$round" \
    "$(sed -n 's/.*transactions: .*(\([0-9.]*\) per sec.*/\1/p' "$log" | awk '{n += $1} END {print n}')" \
    "$(awk '/99th percentile:/{if ($3 > n) n = $3} END {print n}' "$log")" \
    "$(awk '/ignored errors:/{n += $3} END {print n+0}' "$log")"
}

sysbench_tests() {
  local s t
  for s in postgres lichen; do
    note "sysbench: loading $s, $tables tables of $table_size rows"
    sysbench_at "$(port_of $s)" oltp_read_write prepare >"$out/sysbench-prepare.$s" 2>&1 ||
      note "sysbench prepare FAILED on $s: $(grep -m1 -iE 'FATAL|error' "$out/sysbench-prepare.$s")"
  done
  for t in oltp_point_select oltp_read_only oltp_read_write oltp_write_only oltp_update_index oltp_update_non_index \
    oltp_insert oltp_delete select_random_points select_random_ranges; do
    each_round run_sysbench "sysbench-${t#oltp_}" "$t"
  done
  selected sysbench-bulk_insert || return
  for s in postgres lichen; do
    sysbench_at "$(port_of $s)" oltp_read_write cleanup >"$out/sysbench-cleanup.$s" 2>&1 || note "sysbench cleanup FAILED on $s"
  done
  each_round run_bulk sysbench-bulk_insert
}

# run_bulk: bulk_insert fills tables of its own, one per thread, whose names are those
# of the other scripts' tables; so it comes last.
run_bulk() { # TEST SYSTEM PORT ROUND
  sysbench_at "$3" bulk_insert cleanup >/dev/null 2>&1
  if ! sysbench_at "$3" bulk_insert prepare >"$out/$1-prepare.$2.$4" 2>&1; then
    record "$1" "$2" "$4" failed - "$(grep -m1 -iE 'FATAL|error' "$out/$1-prepare.$2.$4" | tr '\t' ' ' | cut -c1-100)"
    return
  fi
  run_sysbench "$1" "$2" "$3" "$4" bulk_insert
}

# run_ycsb TEST SYSTEM PORT ROUND WORKLOAD: D and E insert, so they get a new table.
run_ycsb() {
  local test=$1 system=$2 port=$3 round=$4 w=$5 log=$out/$1.$2.$4
  local url="postgresql://root@127.0.0.1:$port/defaultdb?sslmode=disable"
  local common=(--recordcount="$records" --threads=32 --display-every=0)
  local run=(workload run ycsb --workload="$w" --operationcount=0 --maxexecutiontime="$seconds")
  case $w in
    load) run=(workload init ycsb --drop) ;;
    D | E) "$lichen" workload init ycsb --drop --data-loader=copy "${common[@]}" "$url" >"$log.load" 2>&1 ;;
  esac
  if ! timeout $((seconds * 3 + 300)) "$lichen" "${run[@]}" "${common[@]}" "$url" >"$log" 2>"$log.err"; then
    record "$test" "$system" "$round" failed - "$(tail -1 "$log.err" | tr '\t' ' ' | cut -c1-100)"
    return
  fi
  record "$test" "$system" "$round" \
    "$(report_throughput "$log")" "$(report_p99 "$log")" "$(report_failed "$log")"
}

ycsb_tests() {
  local w
  each_round run_ycsb ycsb-load load
  # Without the measured load the table has to come from somewhere.
  selected ycsb-load || for s in postgres lichen; do
    "$lichen" workload init ycsb --drop --data-loader=copy --recordcount="$records" --threads=4 --display-every=0 \
      "postgresql://root@127.0.0.1:$(port_of $s)/defaultdb?sslmode=disable" >"$out/ycsb-load.$s" 2>&1
  done
  for w in A B C F D E; do each_round run_ycsb "ycsb-$w" "$w"; done
}

start_postgres
start_lichen_nodes "$nodes"
wants pgbench && pgbench_tests
wants sysbench && sysbench_tests
wants ycsb && ycsb_tests
{
  echo "Lichen against PostgreSQL 15: $rounds rounds of $seconds s, isolation $isolation, $(nproc) processors, $(date -u +%Y-%m-%dT%H:%MZ)"
  "$lichen" version
  [ -f "$out/raw.tsv" ] && summarize "$out/raw.tsv"
} | keep_summary
if wants rw; then
  stop_all
  pids=()
  "$bench_dir/rw.sh" --rounds="$rounds" --seconds="$seconds" --scale="$scale" --out="${out}_rw" ${work_parent:+--work="$work_parent"}
fi
note "raw output: $out"
