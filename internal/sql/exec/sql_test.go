package exec

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/types"
)

func standardWorld(t testing.TB) *world {
	w := newWorld(t)
	w.table("t", "a int4; b int4; c text; primary (a); unique (b); index (c desc); check (b <> 13)")
	w.table("u", "x int4; y text default 'dflt'; z numeric not null; primary (x)")
	return w
}

func TestSkeleton(t *testing.T) {
	bothWays(t, standardWorld, func(w *world) {
		w.check(
			"insert into t values (1, 10, 'one'), (2, 20, 'two'), (3, null, null)", "#3",
			"select * from t", "1|10|one 2|20|two 3|NULL|NULL",
			"select a + 1, c from t where b > 10", "3|two",
			"update t set b = b + 1 where a = 1", "#1",
			"select b from t where a = 1", "11",
			"update t set a = 9 where a = 2", "#1",
			"select a, b from t order by a desc", "9|20 3|NULL 1|11",
			"delete from t where c is null", "#1",
			"select count(*) from t", "2",
			"insert into t values (1, 99, 'x')", `!23505 duplicate key value violates unique constraint "t_pkey" DETAIL Key (a)=(1) already exists.`,
			"insert into t values (5, 11, 'x')", `!23505 duplicate key value violates unique constraint "t_b_idx" DETAIL Key (b)=(11) already exists.`,
			"insert into t values (6, 60, 'a'), (6, 61, 'b')", `!23505 duplicate key`,
			"insert into t values (7, 13, 'x')", `!23514 new row for relation "t" violates check constraint "t_check" DETAIL Failing row contains (7, 13, x).`,
			"insert into t values (null, 1, 'x')", `!23502 null value in column "a" of relation "t" violates not-null constraint DETAIL Failing row contains (null, 1, x).`,
			"update t set b = 13 where a = 1", `!23514`,
			"update t set b = 20 where a = 1", `!23505`,
			"insert into u (x, z) values (1, 2.50) returning *, z * 2 as d", "1|dflt|2.50|5.00",
			"insert into u (x) values (2)", `!23502 null value in column "z" of relation "u" violates not-null constraint DETAIL Failing row contains (2, dflt, null).`,
			"delete from t returning a", "1 9",
			"select * from t", "",
		)
	})
}

func TestParams(t *testing.T) {
	bothWays(t, standardWorld, func(w *world) {
		w.must("insert into t values ($1, $2, $3)", types.NewInt(1), types.NewInt(2), types.NewString("x"))
		if got := w.must("select c from t where a = $1", types.NewInt(1)); got != "x" {
			w.t.Fatal(got)
		}
	})
}

func TestOnConflict(t *testing.T) {
	bothWays(t, standardWorld, func(w *world) {
		w.check(
			"insert into t values (1, 10, 'one'), (2, 20, 'two')", "#2",
			"insert into t values (1, 11, 'x') on conflict do nothing", "",
			"insert into t values (3, 10, 'x'), (4, 40, 'y') on conflict do nothing returning a", "4",
			"insert into t values (1, 99, 'new') on conflict (a) do update set c = excluded.c, b = t.b + 1 returning *", "1|11|new",
			"insert into t values (8, 20, 'via b') on conflict (b) do update set c = excluded.c || '!'", "#1",
			"select * from t order by a", "1|11|new 2|20|via b! 4|40|y",
			"insert into t values (1, 1, 'a') on conflict (a) do update set c = 'z' where t.b > 100", "",
			"insert into t values (50, 1, 'a'), (50, 2, 'b') on conflict (a) do update set c = 'z'", "!21000 ON CONFLICT DO UPDATE command cannot affect row a second time",
			"insert into t values (1, 20, 'a') on conflict (a) do update set b = excluded.b", "!23505",
			"insert into u values (1, 'a', 1)", "#1",
			"upsert into u values (1, 'b', 2), (2, 'c', 3)", "#2",
			"select * from u order by x", "1|b|2 2|c|3",
			"upsert into t values (1, 77, 'up')", "#1",
			"select * from t where a = 1", "1|77|up",
		)
	})
}
