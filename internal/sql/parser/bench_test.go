package parser

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, q := range []struct{ name, sql string }{
		{"point_select", "SELECT abalance FROM pgbench_accounts WHERE aid = 1"},
		{"update", "UPDATE pgbench_accounts SET abalance = abalance + -4711 WHERE aid = 12345"},
		{"insert", "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 2, 3, 4, CURRENT_TIMESTAMP)"},
		{"commit", "COMMIT"},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := Parse(q.sql); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
