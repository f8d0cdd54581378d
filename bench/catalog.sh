#!/usr/bin/env bash
# Measures what tools ask of the system catalogs beside PostgreSQL 15: pgjdbc's
# DatabaseMetaData, Django's introspection, SQLAlchemy's reflection, psql's \d, pg_dump -s,
# and how long it takes to create tables, with some tables and with many.
#
#   bench/catalog.sh [--tables=400,10000] [--work=DIR] [--out=DIR] [--keep]
#
# Needs java, and python3 with psycopg, django and sqlalchemy ($PYTHON names another one).
# $PGJDBC is pgjdbc's jar; without it, Maven fetches it.
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

tables=400,10000 python=${PYTHON:-python3}
for a in "$@"; do
  case $a in
    --tables=*) tables=${a#*=} ;;
    *) common_option "$a" ;;
  esac
done
for p in java javac psql pg_dump "$python"; do command -v "$p" >/dev/null || die "$p is missing"; done
"$python" -c 'import psycopg, django, sqlalchemy' || die "$python lacks psycopg, django or sqlalchemy"
prepare_dirs
if [ -z "${PGJDBC:-}" ]; then
  mvn -q dependency:copy -Dartifact=org.postgresql:postgresql:42.7.4 -DoutputDirectory="$work" >"$out/mvn.log" 2>&1 ||
    die "cannot fetch pgjdbc: see $out/mvn.log"
  PGJDBC=$work/postgresql-42.7.4.jar
fi
javac -d "$work" "$bench_dir/catalog/Metadata.java" || die "javac failed"

# create_tables FROM TO: statements that make the tables t$FROM to t$TO, without t$TO, and once
# line_item, whose name is a pattern to drivers.
create_tables() {
  awk -v from="$1" -v to="$2" 'BEGIN {
    if (from == 0) print "CREATE TABLE line_item (id serial PRIMARY KEY, name varchar(40));"
    for (i = from; i < to; i++) {
      ref = i % 4 == 1 ? sprintf(", parent int REFERENCES t%d (id)", i - 1) : ""
      printf "CREATE TABLE t%d (id serial PRIMARY KEY, name varchar(40) NOT NULL DEFAULT '\''x'\'', n numeric(10,2), created timestamptz DEFAULT now()%s);\n", i, ref
      printf "CREATE INDEX t%d_name ON t%d (name);\n", i, i
      if (i % 5 == 0) printf "COMMENT ON TABLE t%d IS '\''table %d'\'';\n", i, i
    }
  }'
}

# measure SYSTEM PORT FROM TO
measure() {
  local start took
  start=$(date +%s%N)
  create_tables "$3" "$4" | psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$2" -U root defaultdb || die "cannot create the tables"
  took=$(($(date +%s%N) - start))
  psql -X -q -h 127.0.0.1 -p "$2" -U root defaultdb -c 'ANALYZE' >/dev/null 2>&1
  {
    awk -v ns="$took" -v n="$(($4 - $3))" 'BEGIN {printf "CREATE TABLE and INDEX\t%.3f\n", ns / n / 1e6}'
    "$python" "$bench_dir/catalog/catalog.py" 127.0.0.1 "$2" root defaultdb "$4" "$work:$PGJDBC" || die "$1: failed"
  } | awk -v s="$1" -v n="$4" '{print s "\t" n "\t" $0}' | tee -a "$out/raw.tsv" >&2
}

start_postgres
start_lichen
before=0
for n in ${tables//,/ }; do
  measure postgres "$pg_port" "$before" "$n"
  measure lichen "$lichen_port" "$before" "$n"
  before=$n
done
awk -F'\t' '
  {ms[$1, $2, $3] = $4; key = $2 "\t" $3; if (!(key in seen)) {seen[key] = 1; order[++m] = key}}
  END {
    printf "%7s  %-36s %14s %12s %7s\n", "tables", "median", "postgres ms", "lichen ms", "ratio"
    for (i = 1; i <= m; i++) {
      split(order[i], k, "\t")
      p = ms["postgres", k[1], k[2]]; l = ms["lichen", k[1], k[2]]
      printf "%7s  %-36s %14.2f %12.2f %7.2f\n", k[1], k[2], p, l, (p > 0 ? l / p : 0)
    }
  }' "$out/raw.tsv" | keep_summary
