#!/usr/bin/env bash
# Measures what security costs: pgbench's select-only with TLS and without, and YCSB A with
# encryption at rest and without. Two nodes run side by side, one of which is under load at
# a time, in turns. On one machine the client's share of TLS takes processor time from the server:
# so it tells PostgreSQL's figures, with the same certificate and client, and the server's
# processor time for each statement too.
#
#   bench/secure.sh [--seconds=15] [--rounds=3] [--clients=8] [--records=50000] [--scale=5]
#                   [--only=tls|rest] [--work=DIR] [--out=DIR] [--keep]
#
# Takes about 6 × rounds × seconds and a minute. Nothing takes longer than five minutes.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seconds=15 rounds=3 clients=8 records=50000 scale=5 only=
for a in "$@"; do
  case $a in
    --seconds=*) seconds=${a#*=} ;;
    --rounds=*) rounds=${a#*=} ;;
    --clients=*) clients=${a#*=} ;;
    --records=*) records=${a#*=} ;;
    --scale=*) scale=${a#*=} ;;
    --only=tls | --only=rest) only=${a#*=} ;;
    *) common_option "$a" ;;
  esac
done
pgbench=$(need pgbench postgresql-15) || exit 1
[ -x "$lichen" ] || die "$lichen is missing: make build"
prepare_dirs
limit=300

# one_node NAME FLAG…: starts a node that is a cluster by itself; its port is in $lichen_port.
one_node() {
  local name=$1
  shift
  lichen_port=$(free_port)
  "$lichen" start-single-node --store="$work/$name" --listen-addr="127.0.0.1:$lichen_port" \
    --http-addr="127.0.0.1:$(free_port)" "$@" >"$out/$name.log" 2>&1 &
  pids+=("$!")
  wait_port "$lichen_port" "$!" "$name"
}

# stop_last: stops the node that was started last.
stop_last() {
  kill "${pids[-1]}" 2>/dev/null
  wait "${pids[-1]}" 2>/dev/null
  unset 'pids[-1]'
}

# bench_url URL ARGUMENT…: pgbench, bounded in time.
bench_url() {
  local url=$1
  shift
  timeout "$limit" "$pgbench" "$@" "$url"
}

tls() {
  local certs=$work/certs url_plain url_tls i name url pid ssl before plain_pid tls_pid
  "$lichen" cert create-ca --certs-dir="$certs" --ca-key="$work/ca.key" >"$out/cert.log" 2>&1 &&
    "$lichen" cert create-node 127.0.0.1 localhost --certs-dir="$certs" --ca-key="$work/ca.key" >>"$out/cert.log" 2>&1 &&
    "$lichen" cert create-client root --certs-dir="$certs" --ca-key="$work/ca.key" >>"$out/cert.log" 2>&1 ||
    die "cannot make certificates: see $out/cert.log"
  one_node without-tls --insecure
  url_plain="postgresql://root@127.0.0.1:$lichen_port/defaultdb?sslmode=disable"
  one_node with-tls --certs-dir="$certs"
  url_tls="postgresql://root@127.0.0.1:$lichen_port/defaultdb?sslmode=verify-full&sslrootcert=$certs/ca.crt&sslcert=$certs/client.root.crt&sslkey=$certs/client.root.key"
  for url in "$url_plain" "$url_tls"; do
    bench_url "$url" -i -q -s "$scale" >>"$out/pgbench-init.log" 2>&1 || die "pgbench -i failed: see $out/pgbench-init.log"
  done
  plain_pid=${pids[-2]} tls_pid=${pids[-1]}
  start_postgres_tls "$certs"
  for i in $(seq "$rounds"); do
    for name in without with; do
      url=$url_plain pid=$plain_pid ssl=disable
      [ $name = with ] && url=$url_tls pid=$tls_pid ssl=require
      before=$(processor_ms "$pid")
      select_only "$name-$i" "$url"
      result "pgbench select-only, TLS" $name "$tps"
      result "  us of the server's processor" $name "$(awk "BEGIN {print ($(processor_ms "$pid") - $before) * 1000 / $transactions}")"
      select_only "postgres-$name-$i" "postgresql://root@127.0.0.1:$pg_port/defaultdb?sslmode=$ssl"
      result "  PostgreSQL" $name "$tps"
    done
  done
  stop_last
  stop_last
  stop_last
}

# start_postgres_tls CERTS: PostgreSQL, which takes connections with and without TLS, with a node's certificate.
start_postgres_tls() {
  install -m 755 -d "$work/pg-tls"
  cp "$1/node.crt" "$1/node.key" "$work/pg-tls"
  chmod 600 "$work/pg-tls/node.key"
  [ "$(id -u)" = 0 ] && chown -R postgres "$work/pg-tls"
  start_postgres -c ssl=on -c ssl_cert_file="$work/pg-tls/node.crt" -c ssl_key_file="$work/pg-tls/node.key"
  bench_url "postgresql://root@127.0.0.1:$pg_port/defaultdb" -i -q -s "$scale" >>"$out/pgbench-init.log" 2>&1 || die "pgbench -i failed: see $out/pgbench-init.log"
}

# processor_ms PID: the processor time of a process so far.
processor_ms() { awk -v hz="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print ($12 + $13) * 1000 / hz}' "/proc/$1/stat"; }

# select_only NAME URL: runs pgbench; $tps and $transactions are what it came to.
select_only() {
  local file=$out/tls-$1.txt
  bench_url "$2" -n -S -M prepared -c "$clients" -j 2 -T "$seconds" >"$file" 2>&1 || die "pgbench failed: see $file"
  tps=$(awk '/^tps/{print $3}' "$file")
  transactions=$(awk '/transactions actually/{sub(/\/.*/, "", $6); print $6}' "$file")
}

rest() {
  local port_without port_with i name port url
  "$lichen" gen encryption-key "$work/store.key" >"$out/key.log" 2>&1 || die "cannot make a key: see $out/key.log"
  one_node without-encryption --insecure
  port_without=$lichen_port
  one_node with-encryption --insecure --encryption="path=$work/with-encryption,key=$work/store.key"
  port_with=$lichen_port
  for port in $port_without $port_with; do
    url="postgresql://root@127.0.0.1:$port/defaultdb?sslmode=disable"
    timeout "$limit" "$lichen" workload init ycsb "$url" --recordcount="$records" --threadcount="$clients" >>"$out/ycsb-init.log" 2>&1 ||
      die "workload init failed: see $out/ycsb-init.log"
  done
  for i in $(seq "$rounds"); do
    for name in without with; do
      port=port_$name
      url="postgresql://root@127.0.0.1:${!port}/defaultdb?sslmode=disable"
      timeout "$limit" "$lichen" workload run ycsb "$url" --workload=A --recordcount="$records" --operationcount=0 --threadcount="$clients" \
        --maxexecutiontime="$seconds" --display-every=0 --exportfile="$out/rest-$name-$i.txt" >"$out/rest-$name-$i.log" 2>&1 ||
        die "workload run failed: see $out/rest-$name-$i.log"
      result "YCSB A, encryption at rest" $name "$(report_throughput "$out/rest-$name-$i.txt")"
    done
  done
  "$lichen" debug encryption-status "$work/with-encryption" >"$out/encryption-status.txt" 2>&1
  stop_last
  stop_last
}

# result WHAT with|without VALUE
result() {
  [ -n "$3" ] || die "$1, $2: no figure: see $out"
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$out/raw.tsv" >&2
}

# The medians of the rounds, and their ratio.
summary() {
  sort -t$'\t' -k1,1 -k2,2 -k3,3g "$out/raw.tsv" | awk -F'\t' '
    {key = $1 FS $2; n[key]++; v[key, n[key]] = $3; if (!($1 in what)) {what[$1] = 1; order[++count] = $1}}
    function median(k) {return n[k] % 2 ? v[k, (n[k] + 1) / 2] : (v[k, n[k] / 2] + v[k, n[k] / 2 + 1]) / 2}
    END {
      printf "%-32s %12s %12s %7s\n", "operations per second", "without", "with", "ratio"
      for (j = 1; j <= count; j++) {
        w = order[j]
        a = median(w FS "without"); b = median(w FS "with")
        printf "%-32s %12.0f %12.0f %7.3f\n", w, a, b, a ? b / a : 0
      }
    }' | tee "$out/summary.txt"
}

[ "$only" = rest ] || tls
[ "$only" = tls ] || rest
summary
