package sql_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// BenchmarkJoin joins 100,000 rows with 100,000 by hash, by rows and over columns.
func BenchmarkJoin(b *testing.B) {
	for _, vectorize := range []string{"off", "on"} {
		b.Run("vectorize="+vectorize, func(b *testing.B) {
			n := openNode(b, fs.NewMem(), nodeOptions{vectorize: vectorize})
			defer func() { _ = n.close() }()
			s := n.session(b)
			defer s.Close()
			if err := s.Query(context.Background(), "SET vectorize = '"+vectorize+"'", &discard{}); err != nil {
				b.Fatal(err)
			}
			benchPrepared(b, s, "SELECT count(*), sum(l) FROM generate_series(1, 100000) l JOIN generate_series(1, 100000) r ON l = r", func(int) []types.Datum { return nil })
		})
	}
}
