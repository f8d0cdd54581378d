"""Times what tools ask of the catalogs, on one server: prints lines NAME, a tab and the
median of several rounds in milliseconds.

    catalog.py HOST PORT USER DATABASE TABLES CLASSPATH
"""
import os
import statistics
import subprocess
import sys
import time

import django
import psycopg
import sqlalchemy
from django.conf import settings

ROUNDS = 5
host, port, user, database, tables, classpath = sys.argv[1:]
os.environ.update(PGHOST=host, PGPORT=port, PGUSER=user, PGDATABASE=database)


def timed(name, call, rounds=ROUNDS):
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1000)
    print(f"{name}\t{statistics.median(took):.3f}", flush=True)


def program(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL)


conn = psycopg.connect(autocommit=True)
query = lambda text: lambda: conn.execute(text).fetchall()
names = "SELECT %s FROM pg_class c WHERE c.relname ~ '^t[0-9]{1,3}$' AND c.relkind = 'r' LIMIT 400"
timed("connect", lambda: psycopg.connect(autocommit=True).close())
timed("obj_description of 400", query(names % "obj_description(c.oid, 'pg_class')"))
timed("regclass of one", query("SELECT 't101'::regclass::oid"))
timed("all columns", query("SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c"
                           " JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = 'r' AND a.attnum > 0"))
timed("information_schema.columns of one", query("SELECT * FROM information_schema.columns WHERE table_name = 't101'"))
timed("all constraints", query("SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"))

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "HOST": host, "PORT": port, "USER": user, "NAME": database}})
django.setup()
from django.db import connection  # noqa: E402  (needs the settings)

with connection.cursor() as cursor:
    look = connection.introspection
    timed("Django get_table_list", lambda: look.get_table_list(cursor))
    timed("Django get_table_description", lambda: look.get_table_description(cursor, "t101"))
    timed("Django get_constraints", lambda: look.get_constraints(cursor, "t101"))
    timed("Django get_sequences", lambda: look.get_sequences(cursor, "t101"))

engine = sqlalchemy.create_engine("postgresql+psycopg://")
few = {f"t{i}" for i in range(300)}
timed("SQLAlchemy reflect of 300",
      lambda: sqlalchemy.MetaData().reflect(engine, only=lambda name, _: name in few), 3)
timed("SQLAlchemy has_table", lambda: sqlalchemy.inspect(engine).has_table("t101"))

timed("psql \\d of one", lambda: program("psql", "-X", "-c", r"\d t101"))
timed("psql \\d", lambda: program("psql", "-X", "-c", r"\d"))
timed("pg_dump -s", lambda: program("pg_dump", "-s"), 1 if int(tables) > 1000 else 3)
subprocess.run(["java", "-cp", classpath, "Metadata", f"jdbc:postgresql://{host}:{port}/{database}?user={user}"], check=True)
