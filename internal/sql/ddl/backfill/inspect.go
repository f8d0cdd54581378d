package backfill

import (
	"bytes"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ProblemKind says how an index differs from the rows of its table.
type ProblemKind string

// The differences.
const (
	// MissingEntry: a row has no entry in the index, so that queries that read the index miss it.
	MissingEntry ProblemKind = "missing entry"
	// WrongEntry: the entry of a row holds other values than the row.
	WrongEntry ProblemKind = "wrong entry"
	// DanglingEntry: no row has the entry.
	DanglingEntry ProblemKind = "dangling entry"
)

// Problem is a difference between an index and the rows of its table.
type Problem struct {
	Index *catalog.Index
	Kind  ProblemKind
	Key   string // of the entry, for people
}

const (
	// madeEntries is how many entries of rows are looked up at once: sorted, many of them lie close together.
	madeEntries = 8192
	// inspectPage is how many entries of an index are read at once.
	inspectPage = 1024
)

// Inspect compares indexes of a table, by their positions in Table.Indexes, with its rows, both as the
// statement's transaction sees them, and reports every difference. It writes nothing. It returns how many rows
// the table has.
//
// It makes the entries of all rows, as Build does, and looks each up. If an index holds more entries than were
// found, others belong to no row: a second pass over the index reads the rows of all entries.
func Inspect(ctx context.Context, e *statement.Env, t *catalog.Table, indexes []int, report func(Problem) error) (rows int64, err error) {
	if len(indexes) == 0 {
		return 0, nil
	}
	b, program, err := prepare(ctx, e, Spec{Old: t, Table: t, Indexes: indexes})
	if err != nil {
		return 0, err
	}
	defer b.sink.close()
	defer e.Txn.ReadApart()()
	in := &inspection{Builder: b, ctx: ctx, report: report, found: make([]int64, len(indexes))}
	b.out = in
	if err := b.runIn(ctx, program, e.Txn); err != nil {
		return 0, err
	}
	rows = b.rows
	if err := in.compare(); err != nil {
		return 0, err
	}
	for i := range indexes {
		if err := in.findDangling(program, i); err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// findDangling reports the entries of an index that belong to no row, if there are any.
func (in *inspection) findDangling(program *exec.Program, index int) error {
	n, err := in.stored(index, nil)
	if err != nil || n == in.found[index] {
		return err
	}
	rowKey, err := in.rowKeys(index)
	if err != nil {
		return err
	}
	_, err = in.stored(index, func(page *kvpb.ScanResponse) error {
		made := entrySet{}
		in.out = made
		spans, err := rowsOfPage(page, rowKey)
		if err == nil {
			err = in.runIn(in.ctx, program, &rowsOf{in.E.Txn, spans})
		}
		if err != nil {
			return err
		}
		return in.dangling(index, page, made)
	})
	return err
}

// inspection is an Inspect in progress. It takes the entries of rows.
type inspection struct {
	*Builder
	ctx    context.Context // of the statement
	report func(Problem) error
	made   []madeEntry
	found  []int64 // by index: how many entries of rows the index holds, also with other values
	page   kvpb.ScanResponse
}

// madeEntry is an entry that a row should have.
type madeEntry struct {
	index      int
	key, value []byte
}

func (in *inspection) add(index int, key, value []byte, _ bool) error {
	in.made = append(in.made, madeEntry{index, bytes.Clone(key), bytes.Clone(value)})
	if len(in.made) < madeEntries {
		return nil
	}
	return in.compare()
}

// compare looks up the entries made so far.
func (in *inspection) compare() error {
	slices.SortFunc(in.made, func(a, b madeEntry) int { return bytes.Compare(a.key, b.key) })
	spans := make([]kvpb.Span, len(in.made))
	for i := range in.made {
		spans[i] = kvpb.Span{Key: in.made[i].key, EndKey: keys.Next(in.made[i].key)}
	}
	for rest := in.made; len(rest) > 0; {
		in.page.Reset()
		if err := in.E.Txn.ScanSpans(in.ctx, spans[len(spans)-len(rest):], kv.ScanOptions{}, &in.page); err != nil {
			return err
		}
		n := len(rest)
		if in.page.Resume != nil {
			n, _ = slices.BinarySearchFunc(rest, in.page.Resume, func(e madeEntry, key []byte) int { return bytes.Compare(e.key, key) })
		}
		if err := in.comparePage(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	in.made = in.made[:0]
	return in.ctx.Err()
}

// comparePage compares entries with what the page holds of them.
func (in *inspection) comparePage(made []madeEntry) error {
	at := 0
	for _, e := range made {
		kind := MissingEntry
		if at < in.page.Len() && bytes.Equal(in.page.Key(at), e.key) {
			kind = ""
			if in.found[e.index]++; !bytes.Equal(in.page.Value(at), e.value) {
				kind = WrongEntry
			}
			at++
		}
		if kind == "" {
			continue
		}
		if err := in.report(in.problem(kind, e.index, e.key)); err != nil {
			return err
		}
	}
	return nil
}

// stored reads the entries of an index page by page and returns their number.
func (in *inspection) stored(index int, each func(*kvpb.ScanResponse) error) (n int64, err error) {
	prefix := in.prefixes()[index]
	var page kvpb.ScanResponse
	for start := prefix; start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := in.E.Txn.Scan(in.ctx, start, keys.PrefixEnd(prefix), kv.ScanOptions{MaxRows: inspectPage}, &page); err != nil {
			return n, err
		}
		if n += int64(page.Len()); each == nil {
			continue
		}
		if err := each(&page); err != nil {
			return n, err
		}
	}
	return n, nil
}

// rowKeyOf returns the key of the row to which an entry leads, which is valid until the next call.
type rowKeyOf func(key, value []byte) ([]byte, error)

// rowsOfPage returns the sorted spans of the rows to which the entries of a page lead.
func rowsOfPage(page *kvpb.ScanResponse, rowKey rowKeyOf) ([]kvpb.Span, error) {
	spans := make([]kvpb.Span, 0, page.Len())
	for i := range page.Len() {
		key, err := rowKey(page.Key(i), page.Value(i))
		if err != nil {
			return nil, err
		}
		spans = append(spans, rowSpan(key))
	}
	slices.SortFunc(spans, func(a, b kvpb.Span) int { return bytes.Compare(a.Key, b.Key) })
	return slices.CompactFunc(spans, func(a, b kvpb.Span) bool { return bytes.Equal(a.Key, b.Key) }), nil
}

// rowKeys returns the rowKeyOf of an index.
func (in *inspection) rowKeys(index int) (rowKeyOf, error) {
	primary, err := rowcodec.Compile(in.Table, in.Table.Primary())
	if err != nil {
		return nil, err
	}
	var row []byte
	if i := index - len(in.indexes); i >= 0 {
		return func(key, _ []byte) ([]byte, error) {
			part, err := in.inverted[i].RowPart(key)
			row = append(append(row[:0], primary.Prefix()...), part...)
			return row, err
		}, nil
	}
	ords := make([]int, len(primary.Key))
	for i := range ords {
		ords[i] = primary.Key[i].Ord
	}
	dec, values := in.indexes[index].NewDecoder(ords), make([]types.Datum, len(ords))
	full := make([]types.Datum, len(in.Table.Columns))
	return func(key, value []byte) ([]byte, error) {
		dec.Reset()
		err := dec.Decode(key, value, values)
		if err != nil {
			return nil, err
		}
		for i, ord := range ords {
			full[ord] = values[i]
		}
		row, err = primary.AppendKey(row[:0], full)
		return row, err
	}, nil
}

// dangling reports the entries of a page that are not among those made of their rows.
func (in *inspection) dangling(index int, page *kvpb.ScanResponse, made entrySet) error {
	for i := range page.Len() {
		if _, ok := made[string(page.Key(i))]; ok {
			continue
		}
		if err := in.report(in.problem(DanglingEntry, index, page.Key(i))); err != nil {
			return err
		}
	}
	return nil
}

// problem describes a difference at a key of an index.
func (in *inspection) problem(kind ProblemKind, index int, key []byte) Problem {
	if i := index - len(in.indexes); i >= 0 {
		return Problem{in.inverted[i].Desc, kind, keys.Pretty(key)}
	}
	x := in.indexes[index]
	return Problem{x.Desc, kind, x.PrettyKey(key)}
}
