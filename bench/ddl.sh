#!/usr/bin/env bash
# Measures statements that change the schema, and chains of migrations, beside PostgreSQL 15 in turns. Prints medians
# and keeps them in bench/results; raw output goes to bench/out, which git ignores.
#
#   bench/ddl.sh [--rounds=3] [--statements=100] [--steps=300] [--nodes=1] [--work=DIR] [--out=DIR] [--keep]
#
# Statements: --statements tables are made, changed and dropped by one client, each statement a transaction; the tables
# are empty. Chains: --steps transactions as the tools make them, which change some tables and note the step in a table
# of their own. The bounds are those of the schema changes issue: p50 at most 10 ms on one node (50 ms on three), and
# within twice PostgreSQL's; chains within twice PostgreSQL's time. --nodes=3 measures a cluster of this machine.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

rounds=3 statements=100 steps=300 nodes=1
for a in "$@"; do
  v=${a#*=}
  case $a in
    --rounds=*) rounds=$v ;;
    --statements=*) statements=$v ;;
    --steps=*) steps=$v ;;
    --nodes=*) nodes=$v ;;
    *) common_option "$a" ;;
  esac
done
need psql postgresql-client-15 >/dev/null || exit 1
prepare_dirs

# single N: the statements, each after a line with its name.
single() {
  awk -v n="$1" 'BEGIN {
    for (i = 0; i < n; i++) {
      print "\\echo CREATE TABLE\nCREATE TABLE d" i " (id bigint PRIMARY KEY, name varchar(40) NOT NULL, n numeric(10,2), created timestamptz DEFAULT now());"
      print "\\echo ADD COLUMN\nALTER TABLE d" i " ADD COLUMN a int;"
      print "\\echo ADD COLUMN, default\nALTER TABLE d" i " ADD COLUMN b int NOT NULL DEFAULT 7;"
      print "\\echo CREATE INDEX\nCREATE INDEX ON d" i " (name);"
      print "\\echo ADD CHECK\nALTER TABLE d" i " ADD CHECK (n >= 0);"
      print "\\echo ALTER TYPE, wider\nALTER TABLE d" i " ALTER a TYPE bigint;"
      print "\\echo RENAME COLUMN\nALTER TABLE d" i " RENAME COLUMN a TO z;"
      print "\\echo DROP COLUMN\nALTER TABLE d" i " DROP COLUMN z;"
      print "\\echo TRUNCATE\nTRUNCATE d" i ";"
      print "\\echo DROP TABLE\nDROP TABLE d" i ";"
    }
  }'
}

# chain TOOL N: the transactions of N migrations as a tool makes them; what they make is dropped in the end.
chain() {
  awk -v tool="$1" -v n="$2" '
    function step(i,   t) {
      t = tool "_t" int(i / 6)
      if (i % 6 == 0) return "CREATE TABLE " t " (id serial PRIMARY KEY, name varchar(100) NOT NULL, created timestamptz NOT NULL DEFAULT now());"
      if (i % 6 == 1) return "ALTER TABLE " t " ADD COLUMN email varchar(254) NOT NULL DEFAULT '\'''\''; ALTER TABLE " t " ALTER COLUMN email DROP DEFAULT;"
      if (i % 6 == 2) return "CREATE INDEX " t "_name ON " t " (name);"
      if (i % 6 == 3) return "ALTER TABLE " t " ADD COLUMN parent int; ALTER TABLE " t " ADD CONSTRAINT " t "_fk FOREIGN KEY (parent) REFERENCES " t " (id) DEFERRABLE INITIALLY DEFERRED; CREATE INDEX " t "_parent ON " t " (parent);"
      if (i % 6 == 4) return "INSERT INTO " t " (name, email) SELECT '\''n'\'' || g, '\''e'\'' || g FROM generate_series(1, 20) g; UPDATE " t " SET parent = 1 WHERE id > 10;"
      return "ALTER TABLE " t " ADD CONSTRAINT " t "_email UNIQUE (email); ALTER TABLE " t " ALTER COLUMN name TYPE text;"
    }
    function note(i) {
      if (tool == "alembic") return "UPDATE alembic_version SET version_num = '\''v" i "'\'' WHERE version_num = '\''v" (i - 1) "'\'';"
      if (tool == "django") return "INSERT INTO django_migrations (app, name, applied) VALUES ('\''app'\'', '\''m" i "'\'', now());"
      return "INSERT INTO flyway_history (rank, version, script, installed_on, success) VALUES (" i ", '\''" i "'\'', '\''V" i ".sql'\'', now(), true);"
    }
    BEGIN {
      if (tool == "alembic") print "CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY); INSERT INTO alembic_version VALUES ('\''v-1'\'');"
      if (tool == "django") print "CREATE TABLE django_migrations (id serial PRIMARY KEY, app varchar(255), name varchar(255), applied timestamptz);"
      if (tool == "flyway") print "CREATE TABLE flyway_history (rank int PRIMARY KEY, version text, script text, installed_on timestamptz, success bool); CREATE INDEX ON flyway_history (success);"
      for (i = 0; i < n; i++) {
        if (tool == "flyway") print "SELECT version FROM flyway_history ORDER BY rank DESC LIMIT 1;"
        print "BEGIN; " (tool == "flyway" ? "LOCK TABLE flyway_history IN SHARE UPDATE EXCLUSIVE MODE; " : "") step(i) " " note(i) " COMMIT;"
      }
    }' | sed 's/; /;\n/g'
}

# undo TOOL N: drops what a chain has made.
undo() {
  local i
  for i in $(seq 0 $((($2 + 5) / 6 - 1))); do echo "DROP TABLE IF EXISTS $1_t$i;"; done
  echo "DROP TABLE IF EXISTS alembic_version, django_migrations, flyway_history;"
}

# run_psql PORT NAME: runs what it reads; statements stop at the first error.
run_psql() {
  psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U root defaultdb 2>>"$out/$2.errors" || die "$2 failed: see $out/$2.errors"
}

# measure SYSTEM PORT ROUND: lines of system, what, milliseconds.
measure() {
  local tool start
  { echo '\timing on'; single "$statements"; } | run_psql "$2" "$1.single" |
    awk -v s="$1" '/^Time:/ { print s "\t" name "\t" $2; next } { name = $0 }' >>"$out/raw.tsv"
  for tool in alembic django flyway; do
    start=$(date +%s%N)
    chain "$tool" "$steps" | run_psql "$2" "$1.$tool" >/dev/null
    awk -v s="$1" -v t="$tool" -v ns=$(($(date +%s%N) - start)) -v n="$steps" 'BEGIN { printf "%s\t%s, per step\t%.3f\n", s, t, ns / n / 1e6 }' >>"$out/raw.tsv"
    undo "$tool" "$steps" | run_psql "$2" "$1.undo" >/dev/null
  done
  note "round $3: $1 done"
}

start_postgres
start_lichen_nodes "$nodes"
for round in $(seq "$rounds"); do
  if [ $((round % 2)) = 1 ]; then
    measure postgres "$pg_port" "$round"; measure lichen "$lichen_port" "$round"
  else
    measure lichen "$lichen_port" "$round"; measure postgres "$pg_port" "$round"
  fi
done
bound=10
[ "$nodes" = 1 ] || bound=50
awk -F'\t' -v bound="$bound" -v nodes="$nodes" '
  function quantile(s, q,   v, n, i, j, t) {
    n = split(s, v, " ")
    for (i = 2; i <= n; i++) { t = v[i]; for (j = i - 1; j > 0 && v[j] + 0 > t + 0; j--) v[j + 1] = v[j]; v[j + 1] = t }
    i = int(n * q + 0.999); return n ? v[i < 1 ? 1 : i] + 0 : 0
  }
  !($2 in seen) { seen[$2] = 1; order[++m] = $2 }
  { ms[$1, $2] = ms[$1, $2] " " $3 }
  END {
    printf "%-26s %12s %12s %7s %12s %12s   %s\n", "on " nodes " node(s)", "postgres p50", "lichen p50", "ratio", "postgres p99", "lichen p99", "bound"
    for (i = 1; i <= m; i++) {
      k = order[i]; p = quantile(ms["postgres", k], 0.5); l = quantile(ms["lichen", k], 0.5)
      good = (p > 0 && l <= 2 * p || nodes > 1) && (k ~ /per step/ || l <= bound)
      printf "%-26s %9.2f ms %9.2f ms %7.2f %9.2f ms %9.2f ms   %s\n", k, p, l, (p > 0 ? l / p : 0), quantile(ms["postgres", k], 0.99), quantile(ms["lichen", k], 0.99), good ? "ok" : "MISSED"
    }
  }' "$out/raw.tsv" | keep_summary
