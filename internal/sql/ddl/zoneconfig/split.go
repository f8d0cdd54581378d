package zoneconfig

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxSplits bounds the splits that one statement asks for.
const MaxSplits = 100_000

// PendingSplit is the SPLIT clause of a constraint in CREATE TABLE.
type PendingSplit struct {
	Index catalog.IndexID
	Into  ast.Expr
}

// CopySplits asks for the range boundaries of an index in the one that replaces it.
func CopySplits(e *statement.Env, t *catalog.Table, from, to catalog.IndexID) {
	if e.Presplit != nil {
		e.Presplit(statement.Presplit{Table: t.ID, CopyFrom: IndexSpan(t, from), Scatter: IndexSpan(t, to)})
	}
}

// Presplit asks for the ranges of SPLIT INTO n TABLETS and SPLIT AT VALUES.
func Presplit(ctx context.Context, e *statement.Env, t *catalog.Table, ix *catalog.Index, into ast.Expr, at [][]ast.Expr) error {
	if into == nil && len(at) == 0 {
		return nil
	}
	if !ix.EntriesByRow() {
		return pgerr.Unsupported("SPLIT of inverted indexes is not supported")
	}
	if e.Presplit == nil {
		return pgerr.Unsupported("SPLIT is not supported: this server has no access to its ranges")
	}
	x, err := rowcodec.Compile(t, ix)
	if err != nil {
		return err
	}
	p := statement.Presplit{Table: t.ID, Scatter: IndexSpan(t, ix.ID)}
	if into != nil {
		if p.Keys, err = Tablets(e, x, into); err != nil {
			return err
		}
	}
	if len(at) > 0 {
		more, err := SplitKeys(ctx, e, x, &ast.Select{Values: at})
		if err != nil {
			return err
		}
		p.Keys = append(p.Keys, more...)
	}
	if len(p.Keys) > 0 {
		e.Presplit(p)
	}
	return nil
}

// Tablets returns the boundaries of n ranges of their own for an index, as SPLIT INTO n
// TABLETS asks for.
func Tablets(e *statement.Env, x *rowcodec.Index, into ast.Expr) ([][]byte, error) {
	lit, ok := into.(*ast.IntLit)
	if !ok || lit.Val < 1 || lit.Val > MaxSplits {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "the number of tablets must be between 1 and %d", MaxSplits).At(into.Position())
	}
	n := int(lit.Val)
	if n == 1 {
		return nil, nil
	}
	// No neighbour shares the first and last tablet.
	span := IndexSpan(x.Table, x.Desc.ID)
	if table := keys.TableSpan(uint64(x.Table.Database), uint64(x.Table.ID)); len(x.Table.Indexes) == 1 {
		span = table
	} else if x.Primary() {
		span.Start = table.Start
	}
	out := [][]byte{span.Start, span.End}
	if x.HashColumns() > 0 {
		for i := 1; i < n && i < x.Buckets(); i++ {
			out = append(out, x.AppendBucket(nil, i*x.Buckets()/n))
		}
		return out, nil
	}
	first := x.Key[0]
	name := x.Table.Columns[first.Ord].Name
	var last []byte
	for i := 1; i < n; i++ {
		d, ok := evenValue(first.Type, i, n)
		if !ok {
			return nil, pgerr.Unsupported("SPLIT INTO TABLETS is not supported for a key that begins with type %s", types.FormatType(first.Type)).
				WithHint("Say where to split, with SPLIT AT VALUES (...).").At(into.Position())
		}
		key := x.AppendKeyDatum(slices.Clone(x.Prefix()), 0, d)
		if bytes.Equal(key, last) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "type %s has too few values for %d tablets", types.FormatType(first.Type), n).At(into.Position())
		}
		out = append(out, key)
		last = key
	}
	if first.Type.Family == types.IntFamily {
		e.Notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion,
			"tablets divide the values of \"%s\" from 0 to %d evenly; use SPLIT AT VALUES if they lie otherwise", name, maxInt(first.Type)))
	}
	return out, nil
}

func maxInt(t *types.T) uint64 {
	switch t.Oid {
	case types.Int2.Oid:
		return 1<<15 - 1
	case types.Int8.Oid:
		return 1<<63 - 1
	}
	return 1<<31 - 1
}

// evenValue returns the i-th of the n-1 values that divide a type evenly: integers
// that are not negative, uuids, bytes, and text made of digits and letters. ok is
// false for types of which nobody can tell where their values lie.
func evenValue(t *types.T, i, n int) (d types.Datum, ok bool) {
	share := func(of uint64) uint64 {
		x := new(big.Int).SetUint64(of)
		return x.Mul(x, big.NewInt(int64(i))).Div(x, big.NewInt(int64(n))).Uint64()
	}
	switch {
	case t.Oid == types.Int2.Oid || t.Oid == types.Int4.Oid || t.Oid == types.Int8.Oid:
		return types.NewInt(int64(share(maxInt(t) + 1))), true
	case t.Family == types.UUIDFamily:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], share(1<<63)<<1)
		return types.NewUUID(string(b[:])), true
	case t.Family == types.BytesFamily:
		b := binary.BigEndian.AppendUint32(nil, uint32(share(1<<32)))
		return types.NewBytes(string(bytes.TrimRight(b, "\x00"))), true
	case t.Oid == types.Text.Oid || t.Oid == types.Varchar.Oid || t.Oid == types.Bpchar.Oid:
		const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		const base = uint64(len(letters))
		v := share(base * base * base)
		s := string([]byte{letters[v/base/base], letters[v/base%base], letters[v%base]})
		return types.NewString(s), true
	}
	return types.Null, false
}

// SplitKeys evaluates the rows of SPLIT AT and returns the key of the index that
// each begins. A row gives values for the first columns of the key, or for all.
func SplitKeys(ctx context.Context, e *statement.Env, x *rowcodec.Index, rows *ast.Select) ([][]byte, error) {
	var out [][]byte
	// Other than elsewhere, the rows of VALUES may have different lengths.
	for len(rows.Values) > 0 {
		n := slices.IndexFunc(rows.Values, func(r []ast.Expr) bool { return len(r) != len(rows.Values[0]) })
		if n < 0 {
			break
		}
		some, err := splitKeys(ctx, e, x, &ast.Select{Loc: rows.Loc, Values: rows.Values[:n]})
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		rest := *rows
		rest.Values = rows.Values[n:]
		rows = &rest
	}
	some, err := splitKeys(ctx, e, x, rows)
	return append(out, some...), err
}

func splitKeys(ctx context.Context, e *statement.Env, x *rowcodec.Index, rows *ast.Select) ([][]byte, error) {
	query, err := castRows(ctx, e, x, rows)
	if err != nil {
		return nil, err
	}
	prep, err := storedtext.PlanQuery(ctx, e, query)
	if err != nil {
		return nil, err
	}
	if err := e.OptimizePlan(ctx, prep); err != nil {
		return nil, err
	}
	program, err := exec.Compile(prep)
	if err != nil {
		return nil, err
	}
	var out [][]byte
	_, err = program.Run(e.Exec, func(b *rowcontainer.Batch) error {
		for i := range b.Len() {
			if len(out) == MaxSplits {
				return pgerr.New(pgerr.ProgramLimitExceeded, "more than %d rows to split at", MaxSplits)
			}
			key := slices.Clone(x.Prefix())
			for j, d := range b.Row(i) {
				if key = x.AppendKeyDatum(key, j, d); j == x.HashColumns()-1 {
					key = x.InsertBucket(key)
				}
			}
			if len(b.Row(i)) < x.HashColumns() {
				return pgerr.New(pgerr.InvalidParameterValue, "a hash-partitioned key is split at values of all its hash columns")
			}
			if len(key) > rowcodec.MaxKeySize {
				return pgerr.New(pgerr.ProgramLimitExceeded, "a key to split at is longer than %d bytes", rowcodec.MaxKeySize)
			}
			out = append(out, key)
		}
		return nil
	})
	return out, err
}

// castRows has the columns of a query converted to those of the key. The values of
// VALUES are converted one by one, so that their literals take the right type.
func castRows(ctx context.Context, e *statement.Env, x *rowcodec.Index, rows *ast.Select) (*ast.Select, error) {
	var ts []*ast.TypeName
	for _, k := range x.Key[:x.Declared] {
		t, err := parser.ParseTypeName(types.FormatType(k.Type))
		if err != nil {
			return nil, err
		}
		ts = append(ts, t)
	}
	cast := func(v ast.Expr, i int) ast.Expr {
		return &ast.Cast{Loc: ast.Loc{Pos: v.Position()}, Style: ast.CastColons, X: v, Type: ts[i]}
	}
	tooMany := func(n int) error {
		return pgerr.New(pgerr.SyntaxError, "a row has %d values, but the key of index \"%s\" has %d columns", n, x.Desc.Name, x.Declared).At(rows.Pos)
	}
	if rows.Values == nil {
		q, err := storedtext.PlanQuery(ctx, e, rows)
		if err != nil {
			return nil, err
		}
		n := len(q.Columns)
		if n > len(ts) {
			return nil, tooMany(n)
		}
		out := &ast.Select{}
		from := &ast.SubqueryRef{Query: rows, Alias: ast.Alias{Name: "split"}}
		for i := range n {
			name := statement.ObjectName("c", "", string(rune('a'+i%26))+string(rune('a'+i/26)))
			from.Alias.Cols = append(from.Alias.Cols, name)
			out.Items = append(out.Items, ast.SelectItem{X: cast(&ast.ColumnRef{Column: name}, i)})
		}
		out.From = []ast.TableExpr{from}
		return out, nil
	}
	out := *rows
	out.Values = make([][]ast.Expr, len(rows.Values))
	for r, row := range rows.Values {
		if len(row) > len(ts) {
			return nil, tooMany(len(row))
		}
		for i, v := range row {
			if _, ok := v.(*ast.DefaultExpr); ok {
				return nil, pgerr.New(pgerr.SyntaxError, "DEFAULT is not allowed in this context").At(v.Position())
			}
			out.Values[r] = append(out.Values[r], cast(v, i))
		}
	}
	return &out, nil
}
