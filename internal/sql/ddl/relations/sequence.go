package relations

import (
	"context"
	"strconv"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newSequence makes a sequence with the default definition and no name.
func newSequence(ctx context.Context, e *statement.Env, db, schema catalog.ID) (*catalog.Table, error) {
	s := &catalog.Table{
		Database: db, Schema: schema, Owner: e.User, Kind: catalog.KindSequence,
		NextColumnID: 1, NextIndexID: 2, NextAttnum: 1, ACL: e.DefaultACL(db, schema, privilege.Sequence),
		Sequence: &catalog.Sequence{Type: types.Int8, Increment: 1, Cache: 1, Storage: 1},
	}
	for _, c := range []catalog.Column{
		{Name: "last_value", Type: types.Int8, NotNull: true},
		{Name: "log_cnt", Type: types.Int8, NotNull: true},
		{Name: "is_called", Type: types.Bool, NotNull: true},
	} {
		if err := AppendColumn(s, &c); err != nil {
			return nil, err
		}
	}
	var err error
	if s.ID, err = e.Coll.NewID(ctx); err != nil {
		return nil, err
	}
	s.Oid, err = e.Coll.NewOid(ctx)
	return s, err
}

// sequenceOptions are the options that were written.
type sequenceOptions struct {
	min, max, start, increment, cache, restart *int64
	noMin, noMax, bareRestart                  bool
	typeMin, typeMax                           bool // the bounds become those of the type
	cycle                                      *bool
	typ                                        *ast.TypeName // AS
}

func readSequenceOptions(opts []ast.SequenceOption) (*sequenceOptions, error) {
	o := &sequenceOptions{}
	seen := map[ast.SequenceOptionKind]bool{}
	for i := range opts {
		k := opts[i].Kind
		group := map[ast.SequenceOptionKind]ast.SequenceOptionKind{
			ast.SeqNoMinValue: ast.SeqMinValue, ast.SeqNoMaxValue: ast.SeqMaxValue, ast.SeqNoCycle: ast.SeqCycle,
		}
		g, ok := group[k]
		if !ok {
			g = k
		}
		if seen[g] {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(opts[i].Pos)
		}
		seen[g] = true
		if err := o.read(&opts[i]); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *sequenceOptions) read(opt *ast.SequenceOption) error {
	yes, no := true, false
	var target **int64
	switch opt.Kind {
	case ast.SeqAs:
		o.typ = opt.Type
		return nil
	case ast.SeqIncrement:
		target = &o.increment
	case ast.SeqMinValue:
		target = &o.min
	case ast.SeqMaxValue:
		target = &o.max
	case ast.SeqStart:
		target = &o.start
	case ast.SeqCache:
		target = &o.cache
	case ast.SeqRestart:
		if opt.Value == nil {
			o.bareRestart = true
			return nil
		}
		target = &o.restart
	case ast.SeqNoMinValue:
		o.noMin = true
		return nil
	case ast.SeqNoMaxValue:
		o.noMax = true
		return nil
	case ast.SeqCycle:
		o.cycle = &yes
		return nil
	case ast.SeqNoCycle:
		o.cycle = &no
		return nil
	default:
		return nil // OWNED BY and SEQUENCE NAME are the caller's
	}
	n, err := sequenceNumber(opt.Value)
	*target = &n
	return err
}

// sequenceType finds the type of a sequence's values.
func sequenceType(ctx context.Context, e *statement.Env, name *ast.TypeName) (*types.T, error) {
	t, err := planner.FindType(ctx, name, e.DefaultIntSize, e.Coll)
	if err != nil {
		return nil, err
	}
	if !t.IsInteger() {
		return nil, pgerr.New(pgerr.InvalidParameterValue, "sequence type must be smallint, integer, or bigint")
	}
	return t, nil
}

func sequenceNumber(x ast.Expr) (int64, error) {
	switch v := x.(type) {
	case *ast.IntLit:
		return v.Val, nil
	case *ast.NumLit:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n, nil
		}
		return 0, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type bigint: \"%s\"", v.Text).At(v.Pos)
	}
	return 0, pgerr.New(pgerr.SyntaxError, "a sequence option must be an integer").At(x.Position())
}

// applySequenceOptions changes q as the options say and checks the result. For
// a new sequence what is not given takes its default.
func applySequenceOptions(ctx context.Context, e *statement.Env, q *catalog.Sequence, opts []ast.SequenceOption, fresh bool) error {
	o, err := readSequenceOptions(opts)
	if err != nil {
		return err
	}
	if o.typ != nil {
		oldLo, oldHi := boundsOf(q.Type)
		if q.Type, err = sequenceType(ctx, e, o.typ); err != nil {
			return err
		}
		// A bound that was the old type's becomes the new type's.
		o.typeMin, o.typeMax = !fresh && q.Min == oldLo, !fresh && q.Max == oldHi
	}
	if o.increment != nil {
		if *o.increment == 0 {
			return seqError("INCREMENT must not be zero")
		}
		q.Increment = *o.increment
	}
	if o.cycle != nil {
		q.Cycle = *o.cycle
	}
	if o.cache != nil {
		if *o.cache <= 0 {
			return seqError("CACHE (%d) must be greater than zero", *o.cache)
		}
		q.Cache = *o.cache
	}
	if err := setSequenceBounds(q, o, fresh); err != nil {
		return err
	}
	return setSequenceStart(q, o, fresh)
}

func seqError(format string, args ...any) error {
	return pgerr.New(pgerr.InvalidParameterValue, format, args...)
}

func setSequenceBounds(q *catalog.Sequence, o *sequenceOptions, fresh bool) error {
	lo, hi := boundsOf(q.Type)
	switch {
	case o.max != nil:
		q.Max = *o.max
	case o.typeMax:
		q.Max = hi
	case (fresh || o.noMax) && q.Increment > 0:
		q.Max = hi
	case fresh || o.noMax:
		q.Max = -1
	}
	switch {
	case o.min != nil:
		q.Min = *o.min
	case o.typeMin:
		q.Min = lo
	case (fresh || o.noMin) && q.Increment > 0:
		q.Min = 1
	case fresh || o.noMin:
		q.Min = lo
	}
	if q.Max > hi || q.Max < lo {
		return seqError("MAXVALUE (%d) is out of range for sequence data type %s", q.Max, q.Type.SQLName)
	}
	if q.Min > hi || q.Min < lo {
		return seqError("MINVALUE (%d) is out of range for sequence data type %s", q.Min, q.Type.SQLName)
	}
	if q.Min >= q.Max {
		return seqError("MINVALUE (%d) must be less than MAXVALUE (%d)", q.Min, q.Max)
	}
	return nil
}

func setSequenceStart(q *catalog.Sequence, o *sequenceOptions, fresh bool) error {
	switch {
	case o.start != nil:
		q.Start = *o.start
	case fresh && q.Increment > 0:
		q.Start = q.Min
	case fresh:
		q.Start = q.Max
	}
	if q.Start < q.Min {
		return seqError("START value (%d) cannot be less than MINVALUE (%d)", q.Start, q.Min)
	}
	if q.Start > q.Max {
		return seqError("START value (%d) cannot be greater than MAXVALUE (%d)", q.Start, q.Max)
	}
	if fresh {
		q.First = q.Start
	}
	if o.bareRestart {
		q.First = q.Start
	}
	if o.restart != nil {
		q.First = *o.restart
		if q.First < q.Min {
			return seqError("RESTART value (%d) cannot be less than MINVALUE (%d)", q.First, q.Min)
		}
		if q.First > q.Max {
			return seqError("RESTART value (%d) cannot be greater than MAXVALUE (%d)", q.First, q.Max)
		}
	}
	return nil
}

// CreateSequence is CREATE SEQUENCE.
func CreateSequence(ctx context.Context, e *statement.Env, st *ast.CreateSequence) error {
	schema, err := e.TargetFor(ctx, st.Name, st.Persistence)
	if err != nil {
		return err
	}
	exists, err := e.NameExists(ctx, schema.Name, st.Name.Table)
	if err != nil {
		return err
	}
	if exists && st.IfNotExists {
		e.Skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", st.Name.Table)
		return nil
	}
	s, err := newSequence(ctx, e, schema.Database, schema.ID)
	if err != nil {
		return err
	}
	s.Name = st.Name.Table
	if err := applySequenceOptions(ctx, e, s.Sequence, st.Options, true); err != nil {
		return err
	}
	if err := e.AddRelation(ctx, s, s.Name, false); err != nil {
		return err
	}
	if err := setSequenceOwner(ctx, e, s, st.Options); err != nil {
		return err
	}
	return e.Coll.Put(ctx, s)
}

// AlterSequence is ALTER SEQUENCE with options.
func AlterSequence(ctx context.Context, e *statement.Env, st *ast.AlterSequence) error {
	old, _, err := e.LockRelation(ctx, st.Name)
	if err != nil {
		return err
	}
	if old == nil {
		if st.IfExists {
			e.Skip(pgerr.SuccessfulCompletion, "relation \"%s\" does not exist, skipping", st.Name.Table)
			return nil
		}
		return e.UndefinedRelation(ctx, st.Name)
	}
	if old.Kind != catalog.KindSequence {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", st.Name.Table).At(st.Name.Pos)
	}
	s := old.Clone()
	if err := RedefineSequence(ctx, e, s, st.Options); err != nil {
		return err
	}
	if err := setSequenceOwner(ctx, e, s, st.Options); err != nil {
		return err
	}
	return e.Coll.Put(ctx, s)
}

// RedefineSequence applies options to the locked sequence s. Its value moves to
// a fresh storage, so that the change is undone with the transaction.
func RedefineSequence(ctx context.Context, e *statement.Env, s *catalog.Table, opts []ast.SequenceOption) error {
	last, called, err := e.Coll.Store().SequenceValue(ctx, s)
	if err != nil {
		return err
	}
	q := s.Sequence
	const unset = -1 << 63
	q.First = unset
	if err := applySequenceOptions(ctx, e, q, opts, false); err != nil {
		return err
	}
	if q.First == unset {
		if q.First = last; called {
			q.First = last + q.Increment
		}
	}
	return MoveSequence(ctx, e, s)
}

// MoveSequence gives a sequence a fresh storage, which begins with First.
func MoveSequence(ctx context.Context, e *statement.Env, s *catalog.Table) error {
	if err := e.Coll.ClearOnCommit(ctx, keys.IndexSpan(uint64(s.Database), uint64(s.ID), uint64(s.Sequence.Storage))); err != nil {
		return err
	}
	var err error
	s.Sequence.Storage, err = TakeIndexID(ctx, e, s)
	return err
}

// setSequenceOwner applies OWNED BY.
func setSequenceOwner(ctx context.Context, e *statement.Env, s *catalog.Table, opts []ast.SequenceOption) error {
	for i := range opts {
		o := &opts[i]
		if o.Kind != ast.SeqOwnedBy {
			continue
		}
		if err := notOfIdentity(ctx, e, s); err != nil {
			return err
		}
		if err := DisownSequence(ctx, e, s); err != nil {
			return err
		}
		if len(o.Owner) == 0 || len(o.Owner) == 1 && o.Owner[0] == "none" {
			return nil
		}
		if len(o.Owner) < 2 {
			return pgerr.New(pgerr.SyntaxError, "invalid OWNED BY option").
				WithHint("Specify OWNED BY table.column or OWNED BY NONE.")
		}
		n := len(o.Owner)
		name := ast.TableName{Loc: o.Loc, Table: o.Owner[n-2]}
		if n > 2 {
			name.Schema = o.Owner[n-3]
		}
		t, err := e.LockTable(ctx, name)
		if err != nil {
			return err
		}
		if t.Schema != s.Schema {
			return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "sequence must be in same schema as table it is linked to")
		}
		t = t.Clone()
		ord, ok := VisibleColumn(t, o.Owner[n-1])
		if !ok {
			return t.UndefinedColumn(o.Owner[n-1])
		}
		s.Sequence.OwnerTable, s.Sequence.OwnerColumn = t.ID, t.Columns[ord].ID
		if t.Columns[ord].OwnsSequence == 0 {
			t.Columns[ord].OwnsSequence = s.ID
		}
		return e.Coll.Put(ctx, t)
	}
	return nil
}

// notOfIdentity returns an error if a sequence makes the values of an identity column.
func notOfIdentity(ctx context.Context, e *statement.Env, s *catalog.Table) error {
	if s.Sequence.OwnerTable == 0 {
		return nil
	}
	t, err := e.Coll.TableByID(ctx, s.Sequence.OwnerTable)
	if err != nil {
		return err
	}
	i := t.ColumnByID(s.Sequence.OwnerColumn)
	if i < 0 || t.Columns[i].Identity == 0 || t.Columns[i].OwnsSequence != s.ID {
		return nil
	}
	return pgerr.Unsupported("cannot change ownership of identity sequence").
		WithDetail("Sequence \"%s\" is linked to table \"%s\".", s.Name, t.Name)
}

// DisownSequence cuts the tie between a sequence and its column.
func DisownSequence(ctx context.Context, e *statement.Env, s *catalog.Table) error {
	if s.Sequence.OwnerTable == 0 {
		return nil
	}
	if err := e.Lock(ctx, s.Sequence.OwnerTable); err != nil {
		return err
	}
	t, err := e.Coll.TableByID(ctx, s.Sequence.OwnerTable)
	if err != nil {
		return err
	}
	t = t.Clone()
	for i := range t.Columns {
		if t.Columns[i].OwnsSequence == s.ID {
			t.Columns[i].OwnsSequence = 0
		}
	}
	s.Sequence.OwnerTable, s.Sequence.OwnerColumn = 0, 0
	return e.Coll.Put(ctx, t)
}
