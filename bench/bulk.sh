#!/usr/bin/env bash
# Measures statements that load, copy and change many rows beside PostgreSQL 15, in turns: medians of
# the time and of the server's processor time. Prints a table for each number of rows and keeps it in
# bench/results; raw output goes to bench/out, which git ignores.
#
#   bench/bulk.sh [--rows=300000,3000000] [--rounds=3] [--tests=REGEXP] [--lowest] [--pause=SECONDS]
#                 [--work=DIR] [--out=DIR] [--keep]
#
# The rows are (id int primary key, k int, name text, amount numeric(10,2)); one client, one node. Each
# measured statement runs in a session of its own, --pause seconds (1) after the statements that prepare it,
# so that what a server still does for these is mostly over. Processor time is that of all of the server
# during the statement, background work included. --lowest compares the lowest values of the rounds in place of
# the medians, for machines that do other work. Both servers sync commits to the same file system.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rows=300000,3000000 rounds=3 tests=. choose=median pause=1
for a in "$@"; do
  case $a in
    --rows=*) rows=${a#*=} ;;
    --rounds=*) rounds=${a#*=} ;;
    --tests=*) tests=${a#*=} ;;
    --pause=*) pause=${a#*=} ;;
    --lowest) choose=lowest ;;
    *) common_option "$a" ;;
  esac
done
need psql postgresql-client-15 >/dev/null || exit 1
prepare_dirs

# cases ROWS FILE: lines of name, preparation and measured statement, separated by tabs. Where there is no
# preparation, the statement finds what the one before it has left.
cases() {
  local make="DROP TABLE IF EXISTS t; CREATE TABLE t (id int PRIMARY KEY, k int, name text, amount numeric(10,2))"
  local row="g, g % 1000, 'name of row ' || g, g / 100.0" n=$1 copy="COPY t FROM STDIN"
  local next="SELECT ${row//g/(g)} FROM generate_series($((n + 1)), $((2 * n))) g"
  local filled="$make; INSERT INTO t SELECT $row FROM generate_series(1, $n) g"
  next="SELECT $row FROM generate_series($((n + 1)), $((2 * n))) g"
  cat <<SQL
COPY into a new table	$make	\\copy t FROM '$2'
COPY in its table's transaction	DROP TABLE IF EXISTS t	BEGIN; ${make#*; }; \\copy t FROM '$2'; COMMIT
COPY after TRUNCATE, the same	$filled	BEGIN; TRUNCATE t; \\copy t FROM '$2'; COMMIT
COPY into a filled table	$filled	\\copy t FROM '$2.next'
INSERT … SELECT, empty table	$make	INSERT INTO t SELECT $row FROM generate_series(1, $n) g
INSERT … SELECT, filled table	$filled	INSERT INTO t $next
UPDATE of all rows	$filled	UPDATE t SET k = k + 1
DELETE of a third	$filled	DELETE FROM t WHERE id % 3 = 0
DELETE of a third after UPDATE	$filled; UPDATE t SET k = k + 1	DELETE FROM t WHERE id % 3 = 0
CREATE INDEX	$filled	CREATE INDEX ON t (k)
CREATE TABLE AS	DROP TABLE IF EXISTS c; $filled	CREATE TABLE c AS SELECT * FROM t
SQL
}

# processor_ms PID: of the process and its children, living and dead.
processor_ms() {
  local p files=("/proc/$1/stat")
  for p in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do files+=("/proc/$p/stat"); done
  # Of the first process the time of children that have ended counts as well.
  cat "${files[@]}" 2>/dev/null | awk -v hz="$(getconf CLK_TCK)" '
    { sub(/^.*\) /, ""); s += $12 + $13; if (NR == 1) s += $14 + $15 } END { printf "%d\n", s * 1000 / hz }'
}

# statements PORT TEXT: runs them in one session; prints the sum of their times in milliseconds.
statements() {
  printf '\\timing on\n%s\n' "$2" | sed 's/; */;\n/g; s/\(\\copy [^;]*\);/\1/' |
    psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U root defaultdb 2>>"$out/errors.log" |
    awk '/^Time:/ { sum += $2; n++ } END { if (n) printf "%.1f\n", sum; else print "failed" }'
}

# measure ROWS SYSTEM PORT PID ROUND NAME PREPARATION STATEMENT
measure() {
  local before ms cpu
  [ -n "$7" ] && [ "$(statements "$3" "$7;")" = failed ] && die "$2 cannot prepare '$6': see $out/errors.log"
  sleep "$pause"
  before=$(processor_ms "$4")
  ms=$(statements "$3" "$8;")
  cpu=$(($(processor_ms "$4") - before))
  [ "$ms" = failed ] && note "$2: '$6' failed: see $out/errors.log"
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$6" "$2" "$5" "$ms" "$cpu" >>"$out/raw.tsv"
  note "$(printf '  %-8s %-32s %-9s round %s %10s ms  cpu %6s ms' "$1" "$6" "$2" "$5" "$ms" "$cpu")"
}

# table ROWS: of what was measured with that many.
table() {
  awk -F'\t' -v rows="$1" -v choose="$choose" '
    function pick(s,   v, n, i, j, t) {
      n = split(s, v, " ")
      for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
      return n == 0 ? "-" : choose == "lowest" ? v[1] : n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
    }
    $1 != rows { next }
    !($2 in seen) { seen[$2] = 1; order[++n] = $2 }
    $5 == "failed" { next }
    { ms[$2, $3] = ms[$2, $3] " " $5; cpu[$2, $3] = cpu[$2, $3] " " $6 }
    END {
      printf "%-32s %9s %7s   %9s %7s   %s\n", rows " rows, " choose "s", "postgres", "cpu", "lichen", "cpu", "ratio of speeds"
      sub(/lowests/, "lowest")
      for (i = 1; i <= n; i++) {
        t = order[i]; p = pick(ms[t, "postgres"]); l = pick(ms[t, "lichen"])
        printf "%-32s %6s ms %7s   %6s ms %7s   %s\n", t, p == "-" ? p : sprintf("%.0f", p), pick(cpu[t, "postgres"]),
          l == "-" ? l : sprintf("%.0f", l), pick(cpu[t, "lichen"]), (p == "-" || l == "-") ? "-" : sprintf("%.2f", p / l)
      }
    }' "$out/raw.tsv"
}

# run ROWS: all cases, the systems in turns.
run() {
  local n=$1 data=$work/rows.$1 round system order name prepare statement
  awk -v n="$n" -v next_file="$data.next" -v first="$data" 'BEGIN {
    for (i = 1; i <= 2 * n; i++) printf "%d\t%d\tname of row %d\t%.2f\n", i, i % 1000, i, i / 100 > (i > n ? next_file : first) }'
  for round in $(seq "$rounds"); do
    order="postgres lichen"
    [ $((round % 2)) = 0 ] && order="lichen postgres"
    while IFS=$'\t' read -r name prepare statement; do
      [[ $name =~ $tests ]] || continue
      for system in $order; do
        if [ "$system" = postgres ]; then
          measure "$n" postgres "$pg_port" "$pg_pid" "$round" "$name" "$prepare" "$statement" </dev/null
        else
          measure "$n" lichen "$lichen_port" "$lichen_pid" "$round" "$name" "$prepare" "$statement" </dev/null
        fi
      done
    done < <(cases "$n" "$data")
  done
  rm -f "$data" "$data.next"
}

start_postgres
pg_pid=$(head -1 "$pg_data/postmaster.pid")
start_lichen
for n in ${rows//,/ }; do run "$n"; done
{
  echo "Rows in bulk beside PostgreSQL 15 in turns, $rounds rounds. $(date +%Y-%m-%d), $("$lichen" version 2>/dev/null | head -1)"
  for n in ${rows//,/ }; do echo; table "$n"; done
} | keep_summary
