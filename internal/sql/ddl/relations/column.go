package relations

import (
	"context"
	"math"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// MaxTypeLevels bounds how deep composite types nest: each level may double the quotes in
// the text of a value, and what is stored nests no deeper than types.T.Fits allows.
const MaxTypeLevels = 16

// Levels returns how many composite types stand within each other in t.
func Levels(t *types.T) int {
	n := 0
	switch {
	case t == nil:
	case t.Elem != nil:
		n = Levels(t.Elem)
	case t.IsDomain():
		n = Levels(t.Def.Base)
	case t.Family == types.RecordFamily:
		for _, f := range t.Fields() {
			n = max(n, Levels(f.Type))
		}
		n++
	}
	return n
}

// ErrTypeTooDeep says that composite types stand too deep within each other.
func ErrTypeTooDeep() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "composite types nest deeper than %d levels", MaxTypeLevels)
}

// ColumnDef is a column as CREATE TABLE or ADD COLUMN defines it.
type ColumnDef struct {
	Col catalog.Column // without its ids
	// sequence is what a serial or identity column owns, without its name.
	Sequence *catalog.Table
	seqName  *ast.TableName // as given by SEQUENCE NAME
	// constraints are those that concern the table: keys and checks.
	Constraints []*ast.Constraint
	Generated   ast.Expr // of GENERATED ALWAYS AS (...)
	Family      *ast.ColumnFamily
}

// SerialType returns the integer type behind the pseudo-types that also make a
// sequence, nil for all other types.
func SerialType(tn *ast.TypeName) *types.T {
	if len(tn.Names) != 1 || len(tn.Typmods) > 0 {
		return nil
	}
	switch tn.Names[0] {
	case "serial", "serial4":
		return types.Int4
	case "bigserial", "serial8":
		return types.Int8
	case "smallserial", "serial2":
		return types.Int2
	}
	return nil
}

// DefineColumn checks a column definition of table t.
func DefineColumn(ctx context.Context, e *statement.Env, t *catalog.Table, d *ast.ColumnDef) (*ColumnDef, error) {
	def := &ColumnDef{Col: catalog.Column{Name: d.Name, NotVisible: d.NotVisible}}
	if d.Type == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "column \"%s\" needs a type", d.Name).At(d.Pos)
	}
	var err error
	serial := SerialType(d.Type)
	if def.Col.Type = serial; serial == nil {
		if def.Col.Type, def.Col.Domain, err = ColumnType(ctx, e, d.Name, d.Type); err != nil {
			return nil, err
		}
	} else if len(d.Type.ArrayDims) > 0 {
		return nil, pgerr.Unsupported("array of serial is not implemented").At(d.Type.Pos)
	}
	if def.Col.Type, err = storedtext.Collated(ctx, e, d.Collate, def.Col.Type, d.CollateAt.Pos); err != nil {
		return nil, err
	}
	if d.Compression != "" {
		e.Ignore(noeffect.ColumnStorage)
	}
	def.Family = d.Family
	if serial != nil {
		if def.Sequence, err = columnSequence(ctx, e, t, &def.Col, nil); err != nil {
			return nil, err
		}
		def.Col.NotNull = true
	}
	return def, columnConstraints(ctx, e, t, def, d)
}

// ColumnType resolves the type of a column.
func ColumnType(ctx context.Context, e *statement.Env, column string, tn *ast.TypeName) (t, domain *types.T, err error) {
	if t, err = planner.FindType(ctx, tn, e.DefaultIntSize, e.Coll); err != nil {
		return nil, nil, err
	}
	if err := e.MayUseType(t); err != nil {
		return nil, nil, err
	}
	if t.OfDomain() {
		return t.BaseType(), t, nil
	}
	return t, nil, checkColumnType(column, t)
}

// checkColumnType returns an error if there are no columns of a type.
func checkColumnType(column string, t *types.T) error {
	if p := t.Pseudo(); p != nil {
		return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" has pseudo-type %s", column, p.SQLName)
	}
	if Levels(t) > MaxTypeLevels {
		return ErrTypeTooDeep()
	}
	return nil
}

// columnConstraints applies the constraints written with a column.
func columnConstraints(ctx context.Context, e *statement.Env, t *catalog.Table, def *ColumnDef, d *ast.ColumnDef) error {
	null, hasDefault := false, def.Sequence != nil
	c := &def.Col
	conflict := func(pos int) error {
		return pgerr.New(pgerr.SyntaxError, "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c.Name, t.Name).At(pos)
	}
	for _, k := range d.Constraints {
		switch k.Kind {
		case ast.ConstrNull:
			if null = true; c.NotNull && def.Sequence == nil || c.Identity != 0 {
				return conflict(k.Pos)
			}
		case ast.ConstrNotNull:
			if c.NotNull = true; null {
				return conflict(k.Pos)
			}
		case ast.ConstrOnUpdate:
			if c.OnUpdate != "" {
				return pgerr.New(pgerr.SyntaxError, "multiple ON UPDATE values specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			if err := SetOnUpdate(ctx, e, c, k.X); err != nil {
				return err
			}
		case ast.ConstrDefault, ast.ConstrIdentity:
			if hasDefault {
				switch {
				case c.Identity != 0 && k.Kind == ast.ConstrIdentity:
					return pgerr.New(pgerr.SyntaxError, "multiple identity specifications for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
				case k.Kind == ast.ConstrIdentity:
					return pgerr.New(pgerr.SyntaxError, "both default and identity specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
				}
				return pgerr.New(pgerr.SyntaxError, "multiple default values specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			if hasDefault = true; null && k.Kind == ast.ConstrIdentity {
				return conflict(k.Pos)
			}
			if err := ColumnValue(ctx, e, t, def, k); err != nil {
				return err
			}
		case ast.ConstrGenerated:
			if hasDefault {
				return pgerr.New(pgerr.SyntaxError, "both default and generation expression specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			if def.Generated != nil {
				return pgerr.New(pgerr.SyntaxError, "multiple generation clauses specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			def.Generated = k.X
			if c.Virtual = k.Virtual; k.Virtual && def.Family != nil {
				return virtualInFamily(c.Name, def.Family.Pos)
			}
		default:
			def.Constraints = append(def.Constraints, k)
		}
	}
	if def.Generated != nil && hasDefault {
		kind := "default"
		if c.Identity != 0 {
			kind = "identity"
		}
		return pgerr.New(pgerr.SyntaxError, "both %s and generation expression specified for column \"%s\" of table \"%s\"", kind, c.Name, t.Name).At(d.Pos)
	}
	if (def.Generated != nil || c.Identity != 0) && c.OnUpdate != "" {
		return GeneratedOnUpdate(c, t)
	}
	if null && c.NotNull { // which the type serial says
		return conflict(0)
	}
	return nil
}

// IdentityType refuses types that an identity column cannot have.
func IdentityType(c *catalog.Column) error {
	switch DeclaredType(c).Oid {
	case types.Int2.Oid, types.Int4.Oid, types.Int8.Oid:
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
}

// ColumnValue applies DEFAULT and GENERATED AS IDENTITY.
func ColumnValue(ctx context.Context, e *statement.Env, t *catalog.Table, def *ColumnDef, k *ast.Constraint) error {
	var err error
	if k.Kind == ast.ConstrDefault {
		return storedtext.SetDefault(ctx, e, &def.Col, k.X)
	}
	if err := IdentityType(&def.Col); err != nil {
		return err
	}
	def.Col.NotNull = true
	def.Col.Identity = 'd'
	if k.Always {
		def.Col.Identity = 'a'
	}
	for i := range k.Options {
		if o := &k.Options[i]; o.Kind == ast.SeqName {
			def.seqName = &ast.TableName{Table: o.Owner[len(o.Owner)-1]}
		}
	}
	def.Sequence, err = columnSequence(ctx, e, t, &def.Col, k.Options)
	return err
}

// columnSequence makes the sequence that a column of t owns, and its default.
func columnSequence(ctx context.Context, e *statement.Env, t *catalog.Table, c *catalog.Column, opts []ast.SequenceOption) (*catalog.Table, error) {
	s, err := newSequence(ctx, e, t.Database, t.Schema)
	if err != nil {
		return nil, err
	}
	s.Sequence.Type = c.Type
	if err := applySequenceOptions(ctx, e, s.Sequence, opts, true); err != nil {
		return nil, err
	}
	c.OwnsSequence = s.ID
	c.Default = storedtext.NextvalOf(s.Oid)
	return s, nil
}

// OwnedSequence makes the sequence of a column of t, which may be about to be
// added. Columns after it may use the sequence.
func OwnedSequence(ctx context.Context, e *statement.Env, t *catalog.Table, schema string, def *ColumnDef, id catalog.ColumnID) error {
	s := def.Sequence
	if def.seqName != nil {
		s.Name = def.seqName.Table
	} else {
		var err error
		if s.Name, err = e.ChooseName(ctx, schema, t.Name, def.Col.Name, "seq", nil); err != nil {
			return err
		}
	}
	s.Sequence.OwnerTable, s.Sequence.OwnerColumn = t.ID, id
	if err := e.AddRelation(ctx, s, s.Name, false); err != nil {
		return err
	}
	return e.Coll.Put(ctx, s)
}

// boundsOf returns the bounds of an integer type.
func boundsOf(t *types.T) (lo, hi int64) {
	switch t.Oid {
	case types.Int2.Oid:
		return math.MinInt16, math.MaxInt16
	case types.Int4.Oid:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// SetOnUpdate is ON UPDATE of a column: the form of the expression is that of a default.
func SetOnUpdate(ctx context.Context, e *statement.Env, c *catalog.Column, x ast.Expr) (err error) {
	if _, null := x.(*ast.NullLit); null {
		c.OnUpdate = "NULL"
		return nil
	}
	if c.OnUpdate, err = storedtext.DefaultText(ctx, e, x, c.Type); err != nil {
		return err
	}
	if strings.Contains(c.OnUpdate, "::regclass") { // nothing would keep the sequence
		return pgerr.Unsupported("sequences in ON UPDATE are not supported").At(x.Position())
	}
	return planner.CheckDefault(ctx, storedtext.PlannerEnv(e, e.Coll), &catalog.Column{Name: c.Name, Type: c.Type, Default: c.OnUpdate})
}

// GeneratedOnUpdate says that a generated column cannot have ON UPDATE.
func GeneratedOnUpdate(c *catalog.Column, t *catalog.Table) error {
	return pgerr.New(pgerr.InvalidTableDefinition, "column \"%s\" of relation \"%s\" is generated and cannot have ON UPDATE", c.Name, t.Name)
}

// DeclaredType is the type that a column was declared with.
func DeclaredType(c *catalog.Column) *types.T {
	if c.Domain != nil {
		return c.Domain
	}
	return c.Type
}
