#!/usr/bin/env bash
# Measures R and W: how much of what a server could serve at most is left by ours.
#
#   R = prepared point selects / those of a server with canned replies
#   W = prepared point updates / those of a server with canned replies that first
#       waits for a group-committed append of as many bytes to a log
#
# with pgbench, 8 and 32 clients, one thread. Rounds alternate; medians.
#
#   bench/rw.sh [--rounds=3] [--seconds=10] [--scale=10] [--log-bytes=N] [--work=DIR] [--out=DIR] [--keep]
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=3 seconds=10 scale=10 log_bytes=
for a in "$@"; do
  v=${a#*=}
  case $a in
    --rounds=*) rounds=$v ;;
    --seconds=*) seconds=$v ;;
    --scale=*) scale=$v ;;
    --log-bytes=*) log_bytes=$v ;;
    *) common_option "$a" ;;
  esac
done
need pgbench postgresql-contrib >/dev/null || exit 1
PATH=$PATH:/usr/lib/postgresql/15/bin
prepare_dirs
cat >"$work/update.sql" <<SQL
\set aid random(1, 100000 * $scale)
\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SQL
chmod 644 "$work/update.sql"

start_lichen
pgbench -i -q -s "$scale" -h 127.0.0.1 -p "$lichen_port" -U root defaultdb >"$out/pgbench-init" 2>&1 ||
  die "pgbench -i failed: $(grep -m1 -i error "$out/pgbench-init")"

# log_written: bytes that the node has written to its log, from its metrics.
log_written() {
  exec 3<>"/dev/tcp/127.0.0.1/$lichen_http" || return
  printf 'GET /_status/vars HTTP/1.0\r\n\r\n' >&3
  awk '/^lichen_raftlog_written_bytes_total /{printf "%d\n", $2; exit}' <&3
  exec 3>&-
}
if [ -z "$log_bytes" ]; then
  before=$(log_written)
  run_pgbench calibrate lichen "$lichen_port" 0 -f "$work/update.sql" -M prepared -c 8 -j 1
  after=$(log_written)
  n=$(awk '/^number of transactions actually processed/{print $6 + 0}' "$out/calibrate.lichen.0")
  if [ -n "$before" ] && [ -n "$after" ] && [ "${n:-0}" -gt 0 ]; then
    log_bytes=$(((after - before) / n))
    note "an update appends $log_bytes bytes to the log"
  else
    log_bytes=256
    note "the node does not tell how much it logs; assuming $log_bytes bytes an update"
  fi
fi
start_null null
null=$null_port
start_null null-log --log-dir="$work/null-log" --log-bytes="$log_bytes"
null_log=$null_port

for clients in 8 32; do
  for round in $(seq "$rounds"); do
    run_pgbench "R-$clients" null "$null" "$round" -S -M prepared -c "$clients" -j 1
    run_pgbench "R-$clients" lichen "$lichen_port" "$round" -S -M prepared -c "$clients" -j 1
    run_pgbench "W-$clients" null "$null_log" "$round" -f "$work/update.sql" -M prepared -c "$clients" -j 1
    run_pgbench "W-$clients" lichen "$lichen_port" "$round" -f "$work/update.sql" -M prepared -c "$clients" -j 1
  done
done
awk -F'\t' '
  function median(s, n,   v, i, j, t) {
    n = split(s, v, " ")
    for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
    return n == 0 ? 0 : n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
  }
  $1 != "calibrate" && $4 != "failed" { tps[$1, $2] = tps[$1, $2] " " $4; seen[$1] = 1 }
  END {
    printf "%-8s %12s %12s %7s\n", "measure", "null/s", "lichen/s", "ratio"
    m = split("R-8 R-32 W-8 W-32", t, " ")
    for (i = 1; i <= m; i++) {
      a = median(tps[t[i], "null"]); b = median(tps[t[i], "lichen"])
      printf "%-8s %12.0f %12.0f %7s\n", t[i], a, b, (a > 0 && b > 0) ? sprintf("%.2f", b / a) : "-"
    }
  }' "$out/raw.tsv" | keep_summary
