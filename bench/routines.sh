#!/usr/bin/env bash
# Measures functions in PL/pgSQL and triggers beside PostgreSQL 15, in turns: the median time of
# several runs of each.
#
#   bench/routines.sh [--runs=3] [--work=DIR] [--out=DIR] [--keep]
set -u -o pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

runs=3
for a in "$@"; do
  case $a in
    --runs=*) runs=${a#*=} ;;
    *) common_option "$a" ;;
  esac
done
prepare_dirs

cases=$work/routines.tsv
cat >"$cases" <<'SQL'
1,000,000 additions in a loop	DO $$ DECLARE s bigint := 0; BEGIN FOR i IN 1..1000000 LOOP s := s + i; END LOOP; END $$
5,000 calls with ten point queries each	SELECT sum(ten(g)) FROM generate_series(1, 5000) g
loop over 100,000 rows	DO $$ DECLARE n bigint := 0; r record; BEGIN FOR r IN SELECT * FROM wide LOOP n := n + r.v; END LOOP; END $$
fib(22), 57,313 calls	SELECT fib(22)
20,000 exceptions handled	DO $$ DECLARE n int := 0; BEGIN FOR i IN 1..20000 LOOP BEGIN n := 1 / (i % 1); EXCEPTION WHEN division_by_zero THEN n := 0; END; END LOOP; END $$
20,000 rows inserted one by one	BEGIN; DO $$ BEGIN FOR i IN 1..20000 LOOP INSERT INTO sink VALUES (i, i); END LOOP; END $$; ROLLBACK
100,000 rows through a row trigger	BEGIN; INSERT INTO watched SELECT g, g FROM generate_series(1, 100000) g; ROLLBACK
100,000 rows without a trigger	BEGIN; INSERT INTO sink SELECT g, g FROM generate_series(1, 100000) g; ROLLBACK
SQL

setup() {
  psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U root defaultdb <<'SQL' || die "cannot create the tables"
CREATE TABLE points (id int PRIMARY KEY, v int);
INSERT INTO points SELECT g, g FROM generate_series(1, 10000) g;
CREATE TABLE wide (id int PRIMARY KEY, v int, t text);
INSERT INTO wide SELECT g, g, 'row ' || g FROM generate_series(1, 100000) g;
CREATE TABLE sink (id int PRIMARY KEY, v int);
CREATE TABLE watched (id int PRIMARY KEY, v int, changed timestamptz);
CREATE FUNCTION ten(k int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE s bigint := 0; x int;
BEGIN
  FOR i IN 1..10 LOOP SELECT v INTO x FROM points WHERE id = (k * 7 + i * 997) % 10000 + 1; s := s + x; END LOOP;
  RETURN s;
END $$;
CREATE FUNCTION fib(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n < 2 THEN RETURN n; END IF; RETURN fib(n - 1) + fib(n - 2); END $$;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.v := NEW.v + 1; NEW.changed := now(); RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON watched FOR EACH ROW EXECUTE FUNCTION stamp();
ANALYZE;
SQL
}

# milliseconds PORT STATEMENTS: how long they take within one session.
milliseconds() {
  printf '\\timing on\n%s;\n' "$2" | psql -X -q -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U root defaultdb |
    awk '/^Time:/ {sum += $2} END {printf "%.2f\n", sum}'
}

start_postgres
start_lichen
setup "$pg_port"
setup "$lichen_port"
while IFS=$'\t' read -r name statement; do
  for _ in $(seq "$runs"); do
    printf '%s\tpostgres\t%s\n' "$name" "$(milliseconds "$pg_port" "$statement")"
    printf '%s\tlichen\t%s\n' "$name" "$(milliseconds "$lichen_port" "$statement")"
  done
done <"$cases" | tee "$out/raw.tsv" >&2
sort -t$'\t' -k1,2 -k3n "$out/raw.tsv" | awk -F'\t' -v runs="$runs" '
  {n[$1, $2]++; if (n[$1, $2] == int((runs + 1) / 2)) median[$1, $2] = $3; seen[$1] = 1}
  END {
    printf "%-40s %12s %12s %7s\n", "median", "postgres ms", "lichen ms", "speed"
    for (k in seen) printf "%-40s %12.2f %12.2f %7.2f\n", k, median[k, "postgres"], median[k, "lichen"], median[k, "postgres"] / median[k, "lichen"]
  }' | { read -r head; echo "$head"; sort; } | keep_summary
