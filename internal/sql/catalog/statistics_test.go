package catalog

import (
	"context"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/types"
)

// TestStatisticsFormat: what is stored reads back, in the form that is documented.
func TestStatisticsFormat(t *testing.T) {
	in := &Statistics{Index: 3, Rows: 1e6, At: 7, Analyzed: 7, AnalyzeCount: 2, Columns: map[ColumnID]*ColumnStatistics{
		1: {Distinct: 1e6, Width: 4, Bounds: []types.Datum{types.NewInt(-5), types.NewInt(1 << 40)}},
		4: {Distinct: 2, Nulls: 0.25, Width: 3.5, Common: []CommonValue{{types.NewString("a\x00\xff"), 0.5}, {types.NewFloat(0.1), 0.25}}},
	}}
	b, err := encodeStatistics(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = "\x01" + `{"Index":3,"Rows":1000000,"At":7,"Analyzed":7,"AnalyzeCount":2,"Columns":{` +
		`"1":{"Distinct":1000000,"Nulls":0,"Width":4,"Bounds":["Agk=","AoCAgICAQA=="]},` +
		`"4":{"Distinct":2,"Nulls":0.25,"Width":3.5,"Common":["BQNhAP8=","Az+5mZmZmZma"],"Shares":[0.5,0.25]}}}`
	if string(b) != want {
		t.Errorf("stored as\n%s\nwant\n%s", b, want)
	}
	out, err := decodeStatistics(b)
	if err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("read %+v, %v", out, err)
	}
	for _, bad := range []string{"", "\x02{}", "\x01{", "\x01" + `{"Columns":{"1":{"Bounds":["AQ=="]}}}`} {
		if _, err := decodeStatistics([]byte(bad)); err == nil {
			t.Errorf("%s was read", hex.EncodeToString([]byte(bad)))
		}
	}
	if _, _, err := DecodeStatistics(descriptorKey(1)[:5], b); err == nil {
		t.Error("a damaged key was read")
	}
}

// putStatistics stores statistics and returns what is stored then.
func putStatistics(t *testing.T, n *node, id ID, s *Statistics) *Statistics {
	t.Helper()
	err := n.db.Run(context.Background(), func(ctx context.Context, txn *kv.Txn) (err error) {
		s, err = PutStatistics(ctx, txn, id, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPutStatistics: later statistics replace earlier ones, column by column, never the
// other way round; those of another primary index replace everything.
func TestPutStatistics(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	col := func(d float64) *ColumnStatistics { return &ColumnStatistics{Distinct: d} }
	putStatistics(t, n, 9, &Statistics{Index: 1, At: 10, Rows: 5, AutoAnalyzed: 10, AutoAnalyzeCount: 1, Columns: map[ColumnID]*ColumnStatistics{1: col(1), 2: col(2)}})
	got := putStatistics(t, n, 9, &Statistics{Index: 1, At: 20, Rows: 6, Analyzed: 20, AnalyzeCount: 1, Columns: map[ColumnID]*ColumnStatistics{2: col(3)}})
	if got.Rows != 6 || got.Columns[1].Distinct != 1 || got.Columns[2].Distinct != 3 || got.AutoAnalyzed != 10 || got.AnalyzeCount != 1 || got.AutoAnalyzeCount != 1 {
		t.Errorf("one column: %+v", got)
	}
	if got = putStatistics(t, n, 9, &Statistics{Index: 1, At: 15, Rows: 7}); got.Rows != 6 {
		t.Errorf("earlier statistics replaced later ones: %+v", got)
	}
	if got = putStatistics(t, n, 9, &Statistics{Index: 2, At: 12, Rows: 1}); got.Rows != 1 || len(got.Columns) != 0 || got.Analyzed != 20 {
		t.Errorf("of another index: %+v", got)
	}
}

// TestSweepStatistics: those of tables that are gone are deleted with the tables' data.
func TestSweepStatistics(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	there, err := n.cat.DatabaseByName(ctx, "defaultdb")
	if err != nil {
		t.Fatal(err)
	}
	putStatistics(t, n, there.ID, &Statistics{Rows: 1})
	putStatistics(t, n, 4711, &Statistics{Rows: 2})
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	if err := s.ClearOnCommit(ctx, keys.IndexSpan(1, 4711, 1)); err != nil {
		t.Fatal(err)
	}
	s.commit()
	cl := Cleaner{
		Store: n.cat, Delay: func() time.Duration { return 0 },
		ClearSpan: func(context.Context, []byte, []byte) error { return nil },
	}
	if _, err := cl.Pass(ctx); err != nil {
		t.Fatal(err)
	}
	var left []ID
	err = n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		return EachStatistics(ctx, t, func(id ID, _ *Statistics) { left = append(left, id) })
	})
	if err != nil || len(left) != 1 || left[0] != there.ID {
		t.Errorf("statistics of %v are left, %v", left, err)
	}
}
