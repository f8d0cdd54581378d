package backfill

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

const (
	// noteEvery is how often a step notes how far it has copied: who goes on with it copies again what came since.
	noteEvery = 15 * time.Second
	// partRows is how many rows are copied before a step looks whether it is to note that; testPartRows that in tests, which
	// note after each part.
	partRows     = 32 << 10
	testPartRows = 512
)

// notes is what a step notes so that another node can go on with it. A nil notes notes nothing.
type notes struct {
	e    *statement.Env
	sink *sink
	// last is what was noted last, or what the step goes on from. It is there once noted is set.
	last  statement.Checkpoint
	noted bool
	at    time.Time // when
	rows  kvpb.Span // the primary index of the table
}

// newNotes returns what notes the progress of a step, nil if nothing does, and the checkpoint that it goes on from, nil if it begins.
func (b *Builder) newNotes() (*notes, *statement.Checkpoint, error) {
	if !b.computedAlike() {
		return nil, nil, nil
	}
	from, mine := b.E.TakeCheckpoint()
	if !mine {
		return nil, nil, nil
	}
	mark, err := b.fingerprint()
	if err != nil {
		return nil, nil, err
	}
	x, err := rowcodec.Compile(b.Spec.Old, b.Spec.Old.Primary())
	if err != nil {
		return nil, nil, err
	}
	n := &notes{e: b.E, sink: b.sink, at: time.Now(), rows: kvpb.Span{Key: x.Prefix(), EndKey: keys.PrefixEnd(x.Prefix())}}
	b.sink.notes = true
	if n.last.Fingerprint = mark; from == nil {
		return n, nil, nil
	}
	if from.Fingerprint != mark {
		return nil, nil, statement.ErrBeginAnew
	}
	n.last, n.noted = *from, true
	return n, from, nil
}

// computedAlike reports whether another node would make the same entries of a row, and would tell those of two rows apart.
func (b *Builder) computedAlike() bool {
	return b.immutable && !b.inPlace && b.ids == nil && keepsKeys(&b.Spec)
}

// keepsKeys reports whether rows keep the columns of their primary keys as they are: no two rows become alike then.
func keepsKeys(s *Spec) bool {
	for _, k := range s.Old.Primary().Columns {
		i, j := s.Old.ColumnByID(k.Column), s.Table.ColumnByID(k.Column)
		if j < 0 || s.Values[k.Column] != nil || !s.Old.Columns[i].Type.Is(s.Table.Columns[j].Type) {
			return false
		}
	}
	return true
}

// immutablePlan reports whether a plan of rows depends on nothing but the rows: neither on settings and the time, nor on
// functions that may be replaced.
func immutablePlan(n plan.Node, derived *plan.Derived) bool {
	ok := true
	see := func(x plan.Expr) {
		ok = ok && planner.Immutable(x)
		plan.WalkExpr(x, func(x plan.Expr) bool {
			switch x := x.(type) {
			case *plan.Call:
				ok = ok && x.Fn.Routine == nil
			case *plan.Subquery:
				ok = false
			}
			return ok
		})
	}
	plan.Walk(n, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) { see(*e) })
		return ok
	})
	if derived == nil {
		return ok
	}
	for _, c := range derived.Columns {
		see(c.Value)
	}
	for _, p := range derived.Predicates {
		see(p.Cond)
	}
	return ok
}

// fingerprint tells what is made of which rows. What changes the table changes it, whatever that is.
func (b *Builder) fingerprint() (string, error) {
	s := &b.Spec
	now := s.Table.Clone()
	now.Indexes, now.Checks, now.ForeignKeys = nil, nil, nil // they have oids, which are new each time
	old, err := catalog.EncodeTable(s.Old)
	if err != nil {
		return "", err
	}
	columns, err := catalog.EncodeTable(now)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %d %s\n%d %s\n", s.Old.ID, s.Old.Version, old, s.Table.ID, columns)
	for _, i := range s.Indexes {
		x := s.Table.Indexes[i]
		x.Oid, x.ConstraintOid = 0, 0
		text, err := json.Marshal(&x)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\n", text)
	}
	for _, c := range s.Table.Columns {
		if x := s.Values[c.ID]; x != nil {
			fmt.Fprintf(h, "%d %q\n", c.ID, ast.Format(x))
		}
	}
	for _, c := range s.Table.Checks {
		if slices.Contains(s.Checks, c.Name) {
			fmt.Fprintf(h, "%q %q\n", c.Name, c.Expr)
		}
	}
	fmt.Fprintf(h, "%v %v", s.NotNull, s.Enforced)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// due reports whether it is time to note how far the step has copied.
func (n *notes) due() bool {
	return n != nil && (n.e.IngestAlways || time.Since(n.at) >= noteEvery)
}

// job returns the job for which is noted, nil if nobody could go on from what is noted.
func (n *notes) job(ctx context.Context) (statement.Job, error) {
	if n.e.Resume.Spoilt() {
		return nil, nil
	}
	j, err := n.e.Job(ctx)
	if err != nil || j == nil || !j.Survives() {
		return nil, err
	}
	return j, nil
}

// note stores how far the step has come.
func (n *notes) note(ctx context.Context, c statement.Checkpoint) error {
	n.at = time.Now()
	j, err := n.job(ctx)
	if err != nil || j == nil {
		return err
	}
	if !n.noted { // later snapshots are protected by the first
		if protected, err := j.Protect(ctx, n.rows, c.At); err != nil || !protected {
			return err
		}
	}
	c.Fingerprint, c.IDs = n.last.Fingerprint, n.e.Resume.IndexIDs()
	for _, s := range n.sink.spans {
		c.Spans = append(c.Spans, s.ID)
	}
	if err := j.Note(ctx, &c); err != nil {
		return err
	}
	n.last, n.noted = c, true
	return nil
}

// moves notes that the step goes on from one snapshot to another. Unless anything was noted before, nobody needs to know: who
// goes on begins anew.
func (n *notes) moves(ctx context.Context, from, to hlc.Timestamp, rows int64) error {
	if n == nil || !n.noted || plant.On(plant.MoveUnnoted) {
		return nil
	}
	return n.note(ctx, statement.Checkpoint{At: from, To: to, Copied: true, Rows: rows})
}

// copyRows makes the entries of all rows of a snapshot, from a key on.
func (o *online) copyRows(ctx context.Context, from []byte) error {
	if o.notes == nil {
		return o.runIn(ctx, o.program, o.at)
	}
	rest := o.notes.rows
	if from != nil {
		rest.Key = from
	}
	for {
		part := &part{Txn: o.at, span: rest, most: partRows}
		if o.E.IngestAlways {
			part.most = testPartRows
		}
		if err := o.runIn(ctx, o.program, part); err != nil || part.end == nil {
			return err
		}
		rest.Key = part.end
		if o.notes.due() {
			if err := o.noteCopied(ctx, rest.Key); err != nil {
				return err
			}
		}
	}
}

// noteCopied notes that the entries of the rows below a key are there.
func (o *online) noteCopied(ctx context.Context, next []byte) error {
	if len(o.Spec.Indexes) > 0 && !o.sink.w.Beside() {
		return nil // the statement's transaction has them
	}
	if j, err := o.notes.job(ctx); err != nil || j == nil {
		return err
	}
	if err := o.sink.w.Flush(); err != nil {
		return o.sink.duplicated(err)
	}
	return o.notes.note(ctx, statement.Checkpoint{At: o.at.ReadTimestamp(), Next: next, Rows: o.rows})
}

// resume goes on where another node has left the step: it copies the rest of the rows, or finishes the move that was under way.
func (o *online) resume(ctx context.Context, from *statement.Checkpoint) error {
	if len(o.Spec.Indexes) > 0 {
		if err := o.sink.resume(ctx, from.Spans); err != nil {
			return err
		}
	}
	o.rows = from.Rows
	if !from.Copied {
		return o.copyRows(ctx, from.Next)
	}
	if from.To.IsEmpty() {
		return nil
	}
	to := SnapshotAt(o.E, from.To)
	o.again = true
	_, err := o.move(ctx, to, func(f func(*kv.Txn) error) error { return o.beside(ctx, f) })
	o.again = false
	o.at.Rollback(ctx)
	o.at = to
	return err
}

// lostPast makes the error of a step that goes on ErrBeginAnew if what it would read is gone.
func lostPast(err error) error {
	var old *kvpb.SnapshotTooOldError
	if errors.As(err, &old) {
		return statement.ErrBeginAnew
	}
	return err
}

// part is a transaction that sees the rows of a table from a key on, up to about a number of them. Whoever reads does so in the
// order of the keys, and asks for no page before the one before is there.
type part struct {
	tableaccess.Txn
	span  kvpb.Span
	most  int // how many rows are asked for
	asked int
	end   []byte // where the part ends, between two rows; nil if nothing lies behind it
}

// pageRows is about what a page has that is not bounded by rows.
const pageRows = 1024

// Scan implements tableaccess.Txn.
func (p *part) Scan(ctx context.Context, start, end []byte, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	return p.ScanSpans(ctx, []kvpb.Span{{Key: start, EndKey: end}}, o, res)
}

// ScanSpans implements tableaccess.Txn.
func (p *part) ScanSpans(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse) error {
	in := p.ask(spans, o)
	if len(in) == 0 {
		res.Reset()
		return nil
	}
	return p.Txn.ScanSpans(ctx, in, o, res)
}

// ReadAhead implements tableaccess.Txn.
func (p *part) ReadAhead(ctx context.Context, spans []kvpb.Span, o kv.ScanOptions, res *kvpb.ScanResponse, then func()) *kv.ReadAhead {
	in := p.ask(spans, o)
	if len(in) == 0 {
		return nil
	}
	return p.Txn.ReadAhead(ctx, in, o, res, then)
}

// ask returns what is to be read of some spans. The part ends behind the row in which they begin, or a few rows later, once
// enough has been asked for.
func (p *part) ask(spans []kvpb.Span, o kv.ScanOptions) []kvpb.Span {
	in := p.clip(spans)
	if len(in) == 0 {
		return nil
	}
	if p.asked += cmp.Or(o.MaxRows, pageRows); p.asked <= p.most || p.end != nil {
		return in
	}
	// The first key is the one behind the last that was read, or one at which a row begins: a byte more or less.
	end := keys.PrefixEnd(bytes.Clone(rowcodec.RowStart(rowcodec.RowStart(in[0].Key))))
	if bytes.Compare(end, p.span.EndKey) < 0 {
		p.end, p.span.EndKey = end, end
	}
	return p.clip(in)
}

func (p *part) clip(spans []kvpb.Span) (in []kvpb.Span) {
	for _, s := range spans {
		if part, ok := s.Clip(p.span.Key, p.span.EndKey); ok {
			in = append(in, part)
		}
	}
	return in
}
