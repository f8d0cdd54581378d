# Functions that the benchmark scripts share. Sourced, not run.
#
# Servers are started on free ports of the loopback interface, with their data below
# $work, and are stopped by the process ids that were noted when they started.

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
note() { echo "$*" >&2; }

bench_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lichen=${LICHEN:-$bench_dir/../bin/lichen}
pids=()
pg_data=

# common_option ARGUMENT: an option that all scripts have; none of them: an error. Help is
# the comment at the beginning of the script.
common_option() {
  local v=${1#*=}
  case $1 in
    --work=*) work_parent=$v ;;
    --out=*) out=$v ;;
    --keep) keep=1 ;;
    -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    *) die "unknown option $1 (see --help)" ;;
  esac
}

# need PROGRAM PACKAGE: the program, found on the path or among PostgreSQL 15's.
need() {
  command -v "$1" && return
  local p=/usr/lib/postgresql/15/bin/$1
  [ -x "$p" ] && { echo "$p"; return; }
  die "$1 is missing: apt-get install $2"
}

# LICHEN_BENCH_PORTS=FIRST-LAST says which ports may be used.
free_port() {
  local p first=20000 last=32767 # below the ports of outgoing connections
  [ -n "${LICHEN_BENCH_PORTS:-}" ] && first=${LICHEN_BENCH_PORTS%-*} last=${LICHEN_BENCH_PORTS#*-}
  for _ in $(seq 100); do
    p=$((first + (RANDOM * 32768 + RANDOM) % (last - first + 1)))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  die "found no free port"
}

# as_postgres COMMAND…: PostgreSQL refuses to run as root.
as_postgres() {
  if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

# start_postgres [FLAG…]
start_postgres() {
  local initdb pgctl
  initdb=$(need initdb postgresql-15) || exit 1
  pgctl=$(need pg_ctl postgresql-15) || exit 1
  pg_data=$work/postgres/data
  mkdir -p "$work/postgres"
  [ "$(id -u)" = 0 ] && chown postgres "$work/postgres"
  chmod 755 "$work"
  (cd "$work/postgres" && as_postgres "$initdb" -D "$pg_data" -U root -A trust --locale=C.UTF-8 --encoding=UTF8) >"$out/initdb.log" 2>&1 ||
    die "initdb failed: see $out/initdb.log"
  pg_port=$(free_port)
  # The sizes that a machine of a few gigabytes would get; durability as by default.
  (cd "$work/postgres" && as_postgres "$pgctl" -D "$pg_data" -w -l "$work/postgres/log" -o "-p $pg_port -k $work/postgres \
    -c listen_addresses=127.0.0.1 -c max_connections=300 -c shared_buffers=1GB -c max_wal_size=4GB \
    -c fsync=on -c synchronous_commit=on -c full_page_writes=on $*" start) >"$out/pg_ctl.log" 2>&1 ||
    die "PostgreSQL did not start: see $work/postgres/log"
  pids+=("$(head -1 "$pg_data/postmaster.pid")")
  psql -X -q -h 127.0.0.1 -p "$pg_port" -U root -d postgres -c 'CREATE DATABASE defaultdb' || die "cannot create the database"
}

# wait_port PORT PID NAME
wait_port() {
  for _ in $(seq 300); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    kill -0 "$2" 2>/dev/null || die "$3 ended: see $out"
    sleep 0.1
  done
  die "$3 does not listen"
}

start_lichen() {
  lichen_port=$(free_port)
  lichen_http=$(free_port)
  "$lichen" start-single-node --insecure --store="$work/lichen" --listen-addr="127.0.0.1:$lichen_port" \
    --http-addr="127.0.0.1:$lichen_http" >"$out/lichen.log" 2>&1 &
  lichen_pid=$!
  pids+=("$lichen_pid")
  wait_port "$lichen_port" "$lichen_pid" lichen
}

# A cluster of several nodes: addresses and process ids by number, from 1.
node_port=() node_http=() node_pid=()

# plan_nodes N: chooses the addresses of N nodes, so that each can name the first three.
plan_nodes() {
  local i p used=" "
  node_port=() node_http=() node_pid=()
  for i in $(seq $((2 * $1))); do
    while p=$(free_port) && [[ $used == *" $p "* ]]; do :; done
    used+="$p "
    if [ "$i" -le "$1" ]; then node_port[i]=$p; else node_http[i - $1]=$p; fi
  done
}

# start_node N [FLAG…]: {} in a flag stands for N.
start_node() {
  local i=$1 k join=
  shift
  for k in 1 2 3; do [ -n "${node_port[k]:-}" ] && join+=${join:+,}127.0.0.1:${node_port[k]}; done
  "$lichen" start --insecure --store="$work/node$i" --listen-addr="127.0.0.1:${node_port[i]}" \
    --http-addr="127.0.0.1:${node_http[i]}" --join="$join" --cache="${node_cache:-128MiB}" --max-memory=512MiB "${@//\{\}/$i}" >>"$out/node$i.log" 2>&1 &
  node_pid[i]=$!
  pids+=("$!")
  wait_port "${node_port[i]}" "$!" "node $i"
}

# start_cluster N [FLAG…]: nodes 1 to N of those that were planned, founded and serving.
start_cluster() {
  local n=$1 i
  shift
  for i in $(seq "$n"); do start_node "$i" "$@"; done
  "$lichen" init --insecure --host="127.0.0.1:${node_port[1]}" >"$out/init.log" 2>&1 || die "init failed: see $out/init.log"
  for i in $(seq "$n"); do await_sql "$i"; done
}

# start_lichen_nodes N: a node by itself, or a cluster of several; lichen_port is the first one's.
start_lichen_nodes() {
  if [ "$1" = 1 ]; then
    start_lichen
    return
  fi
  plan_nodes "$1"
  start_cluster "$1"
  lichen_port=${node_port[1]}
}

# node_url N
node_url() { echo "postgresql://root@127.0.0.1:${node_port[$1]}/defaultdb?sslmode=disable"; }

# sql N STATEMENT: rows as tab-separated values, without their header.
sql() { timeout 120 "$lichen" sql --url="$(node_url "$1")" --format=tsv -e "$2" | tail -n +2; }

# await_sql N: waits until the node serves clients.
await_sql() {
  for _ in $(seq 600); do
    timeout 10 "$lichen" sql --url="$(node_url "$1")" -e "SELECT 1" >/dev/null 2>&1 && return
    kill -0 "${node_pid[$1]}" 2>/dev/null || die "node $1 ended: see $out/node$1.log"
    sleep 0.1
  done
  die "node $1 does not serve"
}

# report_throughput FILE: of a YCSB report.
report_throughput() { awk -F', ' '/^\[OVERALL\], Throughput/{printf "%.1f", $3}' "$1"; }

# report_p99 FILE…: the highest of all operations, in ms.
report_p99() { awk -F', ' '/99thPercentile/ && !/CLEANUP/ && $3 > m {m = $3} END {printf "%.3f", m/1000}' "$@"; }

# report_failed FILE…: operations that failed.
report_failed() { awk -F', ' '/-FAILED\], Operations/{n += $3} END {print n+0}' "$@"; }

# start_null NAME FLAG…: sets null_port.
start_null() {
  local name=$1
  shift
  null_port=$(free_port)
  "$lichen" debug null-server --listen-addr="127.0.0.1:$null_port" "$@" >"$out/$name.log" 2>&1 &
  pids+=("$!")
  wait_port "$null_port" "$!" "$name"
}

stop_all() {
  local p
  for p in "${pids[@]}"; do kill -INT "$p" 2>/dev/null; done
  for p in "${pids[@]}"; do
    for _ in $(seq 150); do
      kill -0 "$p" 2>/dev/null || break
      sleep 0.1
    done
    kill -0 "$p" 2>/dev/null && { note "process $p does not stop; killing it"; kill -KILL "$p"; }
  done
  [ -n "${keep:-}" ] || rm -rf "$work"
}

# prepare_dirs: $work for data, $out for raw output, which git ignores.
prepare_dirs() {
  [ -x "$lichen" ] || die "$lichen is missing: make build"
  local parent=${work_parent:-${TMPDIR:-/tmp}}
  mkdir -p "$parent" && work=$(mktemp -d "$parent/lichen-bench.XXXXXX") || die "cannot make a directory in $parent"
  out=${out:-$bench_dir/out/$(date +%Y-%m-%d_%H%M%S)}
  mkdir -p "$out"
  trap stop_all EXIT
  trap 'exit 130' INT TERM
}

# keep_summary: prints what it reads and keeps it in bench/results, under the name of $out.
keep_summary() { tee "$bench_dir/results/$(basename "$out").txt"; }

# record TEST SYSTEM ROUND THROUGHPUT P99_MS ERRORS
record() {
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$@" >>"$out/raw.tsv"
  note "$(printf '  %-28s %-10s round %s  %10s/s  p99 %8s ms  errors %s' "$@")"
}

# run_pgbench TEST SYSTEM PORT ROUND ARGUMENT…
run_pgbench() {
  local test=$1 system=$2 port=$3 round=$4 log tps p99 failed
  shift 4
  log=$out/$test.$system.$round
  rm -f "$work"/pgbench_log*
  if ! (cd "$work" && timeout $((seconds * 3 + 60)) pgbench -n -h 127.0.0.1 -p "$port" -U root -T "$seconds" -l \
    --sampling-rate=0.1 --log-prefix="$work/pgbench_log" "$@" defaultdb) >"$log" 2>&1; then
    record "$test" "$system" "$round" failed - "$(grep -m1 -i error "$log" | tr '\t' ' ' | cut -c1-100)"
    return
  fi
  tps=$(awk '/^tps = /{print $3}' "$log")
  failed=$(awk '/^number of failed transactions/{print $5}' "$log")
  p99=$(cat "$work"/pgbench_log* | awk '{print $3}' | sort -n | awk '{a[NR]=$1} END {k = int(NR*0.99+0.999); if (NR) printf "%.3f", a[k]/1000; else print "-"}')
  record "$test" "$system" "$round" "$tps" "$p99" "${failed:-0}"
}

# summarize FILE: medians by test and system; ratios of Lichen to PostgreSQL.
summarize() {
  awk -F'\t' '
    function median(s, n,   v, i, j, t) {
      n = split(s, v, " ")
      for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
      return n == 0 ? "-" : n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
    }
    !($1 in seen) { seen[$1] = 1; order[++n] = $1 }
    $4 == "failed" { failed[$1, $2]++; next }
    { tps[$1, $2] = tps[$1, $2] " " $4; if ($5 != "-") lat[$1, $2] = lat[$1, $2] " " $5; err[$1, $2] += $6 }
    END {
      printf "%-28s %12s %12s %7s %10s %10s %7s %s\n", "test (medians)", "postgres/s", "lichen/s", "ratio", "pg p99 ms", "p99 ms", "ratio", "errors pg/lichen"
      for (i = 1; i <= n; i++) {
        t = order[i]; p = median(tps[t, "postgres"]); l = median(tps[t, "lichen"])
        pl = median(lat[t, "postgres"]); ll = median(lat[t, "lichen"])
        printf "%-28s %12s %12s %7s %10s %10s %7s %d/%d%s\n", t, p == "-" ? p : sprintf("%.0f", p), l == "-" ? l : sprintf("%.0f", l),
          (p == "-" || l == "-" || p == 0) ? "-" : sprintf("%.2f", l / p), pl, ll,
          (pl == "-" || ll == "-" || pl == 0) ? "-" : sprintf("%.2f", ll / pl), err[t, "postgres"], err[t, "lichen"],
          (failed[t, "postgres"] + failed[t, "lichen"]) ? sprintf("  FAILED RUNS: postgres %d, lichen %d", failed[t, "postgres"], failed[t, "lichen"]) : ""
      }
    }' "$1"
}
