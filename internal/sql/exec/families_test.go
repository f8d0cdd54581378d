package exec

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// pairTxn reads sorted pairs in pages of any size, which end anywhere between two pairs.
type pairTxn struct {
	tableaccess.Txn
	rng   *rand.Rand
	pairs [][2][]byte
}

// page returns the pairs to read of n, and whether there are more.
func (p *pairTxn) page(n int, o kv.ScanOptions) (int, bool) {
	most := 1 + p.rng.IntN(5)
	if o.MaxRows > 0 {
		most = min(most, o.MaxRows)
	}
	if p.rng.IntN(20) == 0 {
		most = 0
	}
	return min(n, most), n > most
}

// boundary returns a key behind the last one read and not behind the next.
func (p *pairTxn) boundary(last, next []byte) []byte {
	if last != nil && p.rng.IntN(2) == 0 {
		return append(bytes.Clone(last), 0)
	}
	if row := rowcodec.RowStart(next); p.rng.IntN(2) == 0 && bytes.Compare(row, last) > 0 {
		return bytes.Clone(row)
	}
	return bytes.Clone(next)
}

func (p *pairTxn) Scan(ctx context.Context, start, end []byte, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	if !o.Reverse {
		return p.ScanSpans(ctx, []kvpb.Span{{Key: start, EndKey: end}}, o, res)
	}
	res.Reset()
	in := p.in([]kvpb.Span{{Key: start, EndKey: end}})
	slices.Reverse(in)
	n, more := p.page(len(in), o)
	for _, kv := range in[:n] {
		res.Append(kv[0], kv[1])
	}
	if more {
		if res.Resume = append(bytes.Clone(in[n][0]), 0); n > 0 && p.rng.IntN(2) == 0 {
			res.Resume = bytes.Clone(in[n-1][0])
		}
	}
	return nil
}

func (p *pairTxn) in(spans []kvpb.Span) (out [][2][]byte) {
	for _, kv := range p.pairs {
		if slices.ContainsFunc(spans, func(s kvpb.Span) bool { return s.Contains(kv[0]) }) {
			out = append(out, kv)
		}
	}
	return out
}

func (p *pairTxn) ScanSpans(_ context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	res.Reset()
	in := p.in(spans)
	n, more := p.page(len(in), o)
	var last []byte
	for _, kv := range in[:n] {
		res.Append(kv[0], kv[1])
		last = kv[0]
	}
	if more {
		res.Resume = p.boundary(last, in[n][0])
	}
	return nil
}

func (p *pairTxn) Get(_ context.Context, key []byte) ([]byte, bool, error) {
	for _, kv := range p.pairs {
		if bytes.Equal(kv[0], key) {
			return kv[1], true, nil
		}
	}
	return nil, false, nil
}

// rowPages is a table of five families with some rows.
type rowPages struct {
	t     *testing.T
	x     *rowcodec.Index
	txn   *pairTxn
	rows  map[string]types.Row // by key
	keys  [][]byte             // of rows, and of some that there are not
	ords  []int
	whole *tableaccess.RowTxn
}

func newRowPages(t *testing.T, rng *rand.Rand) *rowPages {
	tab := &catalog.Table{ID: 5, Database: 1, Name: "t", Kind: catalog.KindTable,
		Indexes: []catalog.Index{{ID: 1, Unique: true, Primary: true, Columns: []catalog.IndexColumn{{Column: 1}}}}}
	for i := range 5 {
		tab.Columns = append(tab.Columns, catalog.Column{ID: catalog.ColumnID(i + 1), Name: fmt.Sprint("c", i), Type: types.Int4, NotNull: i == 0 || i == 3})
		tab.Families = append(tab.Families, catalog.Family{ID: catalog.FamilyID(2 * i), Columns: []catalog.ColumnID{catalog.ColumnID(i + 1)}})
	}
	x, err := rowcodec.Compile(tab, tab.Primary())
	if err != nil {
		t.Fatal(err)
	}
	p := &rowPages{t: t, x: x, txn: &pairTxn{rng: rng}, rows: map[string]types.Row{}}
	for i := range 12 {
		row := types.Row{types.NewInt(int64(i)), types.NewInt(1), types.NewInt(2), types.NewInt(3), types.NewInt(4)}
		for _, c := range []int{1, 2, 4} {
			if rng.IntN(3) > 0 {
				row[c] = types.Null
			}
		}
		key, err := x.AppendKey(nil, row)
		if err != nil {
			t.Fatal(err)
		}
		if p.keys = append(p.keys, key); rng.IntN(4) == 0 {
			continue
		}
		p.rows[string(key)] = row
		for f := range x.Families() {
			if value, there, err := x.AppendPair(nil, f, row); err != nil {
				t.Fatal(err)
			} else if there {
				k := bytes.Clone(key)
				x.SetFamily(k, f)
				p.txn.pairs = append(p.txn.pairs, [2][]byte{k, value})
			}
		}
	}
	for ord := range 5 {
		if rng.IntN(2) == 0 {
			p.ords = append(p.ords, ord)
		}
	}
	p.whole = tableaccess.NewRowTxn(x, p.ords)
	p.whole.Txn = p.txn
	return p
}

// Check compares what was read with the rows of the keys, in order.
func (p *rowPages) check(what string, got []string, want [][]byte) {
	p.t.Helper()
	var texts []string
	for _, k := range want {
		if row, ok := p.rows[string(k)]; ok {
			texts = append(texts, p.text(k, row))
		}
	}
	if !slices.Equal(got, texts) {
		p.t.Fatalf("%s of columns %v:\n%q\n%q", what, p.ords, got, texts)
	}
}

func (p *rowPages) text(key []byte, row types.Row) string {
	s := fmt.Sprintf("%x", key)
	for _, ord := range p.ords {
		s += " " + typeio.FormatDatum(types.Int4, row[ord], nil)
		if row[ord].IsNull() {
			s += "NULL"
		}
	}
	return s
}

func (p *rowPages) read(key, value []byte) string {
	row, some := make(types.Row, 5), make(types.Row, len(p.ords))
	if err := p.x.NewDecoder(p.ords).Decode(key, value, some); err != nil {
		p.t.Fatal(err)
	}
	for i, ord := range p.ords {
		row[ord] = some[i]
	}
	return p.text(key, row)
}

func (p *rowPages) scan(reverse bool, rows int) (got []string) {
	start, end := p.x.Prefix(), keys.PrefixEnd(p.x.Prefix())
	var page kvpb.ScanResponse
	for more := true; more; more = page.Resume != nil {
		if err := p.whole.Scan(context.Background(), start, end, kv.ScanOptions{MaxRows: rows, Reverse: reverse}, &page); err != nil {
			p.t.Fatal(err)
		}
		for i := range page.Len() {
			got = append(got, p.read(page.Key(i), page.Value(i)))
		}
		if reverse {
			end = bytes.Clone(page.Resume)
		} else {
			start = bytes.Clone(page.Resume)
		}
	}
	return got
}

// spans reads some rows by their keys, and all between two.
func (p *rowPages) spans(rows int) (got []string, want [][]byte) {
	rng := p.txn.rng
	var spans []kvpb.Span
	from := rng.IntN(len(p.keys))
	to := min(from+rng.IntN(4), len(p.keys)-1)
	for i, k := range p.keys {
		switch {
		case i == from && to > from:
			spans = append(spans, kvpb.Span{Key: rowcodec.RowStart(k), EndKey: rowcodec.RowStart(p.keys[to])})
			want = append(want, p.keys[from:to]...)
		case (i < from || i >= to) && rng.IntN(2) == 0:
			spans, want = append(spans, kvpb.Span{Key: k}), append(want, k)
		}
	}
	var page kvpb.ScanResponse
	for len(spans) > 0 {
		if err := p.whole.ScanSpans(context.Background(), spans, kv.ScanOptions{MaxRows: rows}, &page); err != nil {
			p.t.Fatal(err)
		}
		for i := range page.Len() {
			got = append(got, p.read(page.Key(i), page.Value(i)))
		}
		if page.Resume == nil {
			return got, want
		}
		n := 0
		for n < len(spans) && spans[n].Before(page.Resume) {
			n++
		}
		spans = spans[n:]
		if len(spans) > 0 && bytes.Compare(spans[0].Key, page.Resume) < 0 {
			spans[0].Key = bytes.Clone(page.Resume)
		}
	}
	return got, want
}

// TestRowPages covers invariant 9: wherever the pages of pairs end, each row comes once and
// whole.
func TestRowPages(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newRowPages(t, rng)
		rows := rng.IntN(4)
		p.check("scan", p.scan(false, rows), p.keys)
		backwards := slices.Clone(p.keys)
		slices.Reverse(backwards)
		p.check("reverse scan", p.scan(true, rows), backwards)
		got, want := p.spans(rows)
		p.check("spans", got, want)
		for _, k := range p.keys {
			value, found, err := p.whole.Get(context.Background(), k)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if found {
				got = append(got, p.read(k, value))
			}
			p.check("get", got, [][]byte{k})
		}
	}
}
