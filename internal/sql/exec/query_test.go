package exec

import "testing"

func queryWorld(t testing.TB) *world {
	w := standardWorld(t)
	w.must("insert into t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'x'), (4, null, null)")
	w.must("insert into u values (1, 'p', 1.5), (3, 'q', 2.50), (5, 'r', 7)")
	return w
}

func TestExpressions(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"select 1 + 2 * 3, 7 / 2, -7 % 3, 1.10 + 2", "7|3|-1|3.10",
			"select 2147483647 + 1", "!22003 integer out of range",
			"select 9223372036854775807 + 1", "!22003 bigint out of range",
			"select 9223372036854775807 * 2", "!22003 bigint out of range",
			"select (-9223372036854775807 - 1) * -1", "!22003 bigint out of range",
			"select 1 / 0", "!22012 division by zero",
			"select null and false, null and true, null or true, null or false, not null::bool", "f|NULL|t|NULL|NULL",
			"select null = null, null is null, 1 is distinct from null, null is not distinct from null", "NULL|t|t|t",
			"select 1 in (1, 2), 3 in (1, 2), 3 in (1, null), 3 not in (1, null), 3 not in (1, 2)", "t|f|NULL|NULL|t",
			"select a from t where a in (1,2,3,4,5,6,7,8,9,10) and b in (10,20,30,40,50,60,70,80,90)", "1 2 3",
			"select case when a > 2 then 'big' else 'small' end from t", "small small big big",
			"select case c when 'x' then case a when 1 then 'x1' else 'x?' end end from t order by a", "x1 NULL x? NULL",
			"select coalesce(null, b, 5), nullif(a, 1), greatest(a, b, null), least(a, b) from t", "10|NULL|10|1 20|2|20|2 30|3|30|3 5|4|4|4",
			"select 'abc ' = 'abc', 'abc '::char(5) = 'abc'::char(3)", "f|t",
			"select 'NaN'::float8 = 'NaN'::float8, 'NaN'::float8 > 1e300", "t|t",
			"select (1, 2) < (1, 3), (1, null) = (1, 2), (1, null) = (2, 2), (1, null) < (2, 0)", "t|NULL|f|t",
			"select 2 = any (array[1,2]), 2 = all (array[2,2]), 3 = any (array[1,null]), 3 <> all (array[]::int[])", "t|t|NULL|t",
			"select array[1,2,3], (array[1,2,3])[2], (array[1,2,3])[5], (array[1,2,3])[2:3], array[[1,2],[3,4]]", "{1,2,3}|2|NULL|{2,3}|{{1,2},{3,4}}",
			"select array[array[1], array[2,3]]", "!2202E",
			"select '12'::int + 1, 3.7::int, 'hello'::varchar(2), 1::bool", "13|4|he|t",
			"select 'x'::int", "!22P02",
			"select concat(variadic array['a', null, 'b']), format('%s-%s', variadic array['x', 'y'])", "ab|x-y",
			"select current_timestamp = now(), current_date = now()::date, localtimestamp is null, current_timestamp(0) <= now()", "t|t|f|t",
			"select '{\"a\": [1, 2]}'::jsonb = '{\"a\":[1,2]}', interval '1 day' = interval '24 hours'", "t|t",
			"select b is true from (select b > 10 as b from t) s", "f t t f",
		)
	})
}

func TestJoins(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"select t.a, u.y from t join u on t.a = u.x order by 1", "1|p 3|q",
			"select t.a, u.y from t left join u on t.a = u.x order by 1", "1|p 2|NULL 3|q 4|NULL",
			"select t.a, u.y from t right join u on t.a = u.x order by 2", "1|p 3|q NULL|r",
			"select t.a, u.x from t full join u on t.a = u.x order by 1, 2", "1|1 2|NULL 3|3 4|NULL NULL|5",
			"select count(*) from t, u", "12",
			"select t.a, v.y from t, lateral (select y from u where u.x = t.a) v order by 1", "1|p 3|q",
			"select t.a, v.y from t left join lateral (select y from u where u.x > t.a order by x limit 1) v on true order by 1", "1|q 2|q 3|r 4|r",
			"select a from t where exists (select 1 from u where u.x = t.a)", "1 3",
			"select a from t where not exists (select 1 from u where u.x = t.a)", "2 4",
			"select a from t where a in (select x from u)", "1 3",
			"select a from t where a not in (select x from u)", "2 4",
			"select a from t where b not in (select x from u)", "1 2 3",
			"select a from t where a not in (select null::int from u)", "",
			"select a from t where a > all (select x from u where x < 4)", "4",
			"select a, (select y from u where x = a) from t", "1|p 2|NULL 3|q 4|NULL",
			"select (select a from t)", "!21000 more than one row returned by a subquery used as an expression",
			"select array(select a from t where b is not null order by a desc)", "{3,2,1}",
			"select a from t where (a, c) = (select 1, 'x')", "1",
			"select a from t where (a, c) in (select x, 'x' from u)", "1 3",
		)
	})
}

func TestGrouping(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"select c, count(*), sum(b), avg(b), min(a), max(c) from t group by c order by c", "x|2|40|20.0000000000000000|1|x y|1|20|20.0000000000000000|2|y NULL|1|NULL|NULL|4|NULL",
			"select count(*), count(b), sum(b) from t where a > 100", "0|0|NULL",
			"select c from t where a > 100 group by c", "",
			"select count(distinct c), sum(a) filter (where b > 10) from t", "2|5",
			"select string_agg(c, ',' order by a desc), array_agg(a order by b desc nulls last) from t", "x,y,x|{3,2,1,4}",
			"select c, count(*) from t group by c having count(*) > 1", "x|2",
			"select distinct c from t order by c", "x y NULL",
			"select distinct on (c) c, a from t order by c, a desc", "x|3 y|2 NULL|4",
			"select a % 2, sum(b) from t group by 1 order by 1", "0|20 1|40",
			"select max(c || 'long enough to be copied elsewhere' || a) from t", "ylong enough to be copied elsewhere2",
		)
	})
}

func TestOrderingAndLimits(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"select b from t order by b", "10 20 30 NULL",
			"select b from t order by b desc", "NULL 30 20 10",
			"select b from t order by b nulls first", "NULL 10 20 30",
			"select a from t order by c, a desc limit 2", "3 1",
			"select a from t order by a limit 2 offset 1", "2 3",
			"select a from t order by a offset 3", "4",
			"select a from t order by a limit 0", "",
			"select a from t limit -1", "!2201W LIMIT must not be negative",
			"select c from t order by c fetch first 1 row with ties", "x x",
		)
	})
}

func TestSetOperations(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"select a from t union select x from u order by 1", "1 2 3 4 5",
			"select a from t union all select x from u order by 1", "1 1 2 3 3 4 5",
			"select a from t intersect select x from u order by 1", "1 3",
			"select a from t except select x from u order by 1", "2 4",
			"select c from t except select 'y' order by 1", "x NULL",
			"select c from t except all select 'x' order by 1", "x y NULL",
			"select c from t intersect all select c from t where a <> 1 order by 1", "x y NULL",
			"values (1, 'a'), (2, 'b')", "1|a 2|b",
			"select generate_series(1, 3)", "1 2 3",
			"select g, a from generate_series(1, 2) g, t where a < 3 order by 1, 2", "1|1 1|2 2|1 2|2",
			"select generate_series(1, 2), generate_series(5, 7)", "1|5 2|6 NULL|7",
			"select * from generate_series(5, 6) with ordinality", "5|1 6|2",
			"select a, generate_series(1, a) from t where a < 3", "1|1 2|1 2|2",
			"select unnest(array['p', 'q'])", "p q",
		)
	})
}

func TestCTEs(t *testing.T) {
	bothWays(t, queryWorld, func(w *world) {
		w.check(
			"with q as (select a from t where a < 3) select x.a, y.a from q x, q y order by 1, 2", "1|1 1|2 2|1 2|2",
			"with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select sum(n) from r", "15",
			"with recursive r(n) as (select 1 union all select n + 1 from r) select n from r limit 4", "1 2 3 4",
			"with recursive r(n) as (select 1 union select (n + 1) % 3 from r) select n from r", "1 2 0",
			"with d as (delete from t where a = 4 returning a) select * from d", "4",
			"select count(*) from t", "3",
			"with i as (insert into u values (9, 'n', 0)) select 1", "1",
			"select y from u where x = 9", "n",
			"with d as (delete from u where x > 4 returning x) insert into t select x, x * 100, 'moved' from d", "#2",
			"select a, b, c from t where c = 'moved'", "5|500|moved 9|900|moved",
		)
	})
}

func TestWindows(t *testing.T) {
	bothWays(t, newWorld, func(w *world) {
		w.table("p", "id int4; g text; v int4; primary (id)")
		w.must("insert into p values (1,'a',10),(2,'a',20),(3,'a',20),(4,'b',5),(5,'b',null)")
		w.check(
			"select id, row_number() over (partition by g order by v, id), rank() over (partition by g order by v), dense_rank() over (partition by g order by v) from p order by id",
			"1|1|1|1 2|2|2|2 3|3|2|2 4|1|1|1 5|2|2|2",
			"select id, sum(v) over (partition by g), sum(v) over (order by id), count(*) over (partition by g order by v) from p order by id",
			"1|50|10|1 2|50|30|3 3|50|50|3 4|5|55|1 5|5|55|2",
			"select id, lag(v) over (order by id), lead(v, 2, -1) over (order by id) from p order by id",
			"1|NULL|20 2|10|5 3|20|NULL 4|20|-1 5|5|-1",
			"select id, first_value(id) over w, last_value(id) over w, nth_value(id, 2) over w from p window w as (partition by g order by id) order by id",
			"1|1|1|NULL 2|1|2|2 3|1|3|2 4|4|4|NULL 5|4|5|5",
			"select id, sum(id) over (order by id rows between 1 preceding and 1 following), sum(id) over (order by id rows between 2 following and 3 following) from p order by id",
			"1|3|7 2|6|9 3|9|5 4|12|NULL 5|9|NULL",
			"select id, count(*) over (order by g groups between current row and 1 following) from p order by id", "1|5 2|5 3|5 4|2 5|2",
			"select id, ntile(2) over (order by id), percent_rank() over (order by g), cume_dist() over (order by g) from p order by id",
			"1|1|0|0.6 2|1|0|0.6 3|1|0|0.6 4|2|0.75|1 5|2|0.75|1",
			"select g, string_agg(id::text, ',') over (partition by g order by id desc) from p order by id", "a|3,2,1 a|3,2 a|3 b|5,4 b|5",
			"select sum(v) over (order by id rows between -1 preceding and current row) from p", "!22013 frame starting offset must not be negative",
		)
	})
}
