package ddl

import (
	"context"
	"math"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// columnDef is a column as CREATE TABLE or ADD COLUMN defines it.
type columnDef struct {
	col catalog.Column // without its ids
	// sequence is what a serial or identity column owns, without its name.
	sequence *catalog.Table
	seqName  *ast.TableName // as given by SEQUENCE NAME
	// constraints are those that concern the table: keys and checks.
	constraints []*ast.Constraint
	generated   ast.Expr // of GENERATED ALWAYS AS (...)
	family      *ast.ColumnFamily
}

// serialType returns the integer type behind the pseudo-types that also make a
// sequence, nil for all other types.
func serialType(tn *ast.TypeName) *types.T {
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

// defineColumn checks a column definition of table t.
func (e *Env) defineColumn(ctx context.Context, t *catalog.Table, d *ast.ColumnDef) (*columnDef, error) {
	def := &columnDef{col: catalog.Column{Name: d.Name, NotVisible: d.NotVisible}}
	if d.Type == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "column \"%s\" needs a type", d.Name).At(d.Pos)
	}
	var err error
	serial := serialType(d.Type)
	if def.col.Type = serial; serial == nil {
		if def.col.Type, def.col.Domain, err = e.columnType(ctx, d.Name, d.Type); err != nil {
			return nil, err
		}
	} else if len(d.Type.ArrayDims) > 0 {
		return nil, pgerr.Unsupported("array of serial is not implemented").At(d.Type.Pos)
	}
	if def.col.Type, err = e.collated(ctx, d.Collate, def.col.Type, d.CollateAt.Pos); err != nil {
		return nil, err
	}
	if d.Compression != "" {
		e.ignore(noColumnStorage)
	}
	def.family = d.Family
	if serial != nil {
		if def.sequence, err = e.columnSequence(ctx, t, &def.col, nil); err != nil {
			return nil, err
		}
		def.col.NotNull = true
	}
	return def, e.columnConstraints(ctx, t, def, d)
}

// columnType resolves the type of a column.
func (e *Env) columnType(ctx context.Context, column string, tn *ast.TypeName) (t, domain *types.T, err error) {
	if t, err = planner.FindType(ctx, tn, e.DefaultIntSize, e.Coll); err != nil {
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
	if levels(t) > maxTypeLevels {
		return errTypeTooDeep()
	}
	return nil
}

// columnConstraints applies the constraints written with a column.
func (e *Env) columnConstraints(ctx context.Context, t *catalog.Table, def *columnDef, d *ast.ColumnDef) error {
	null, hasDefault := false, def.sequence != nil
	c := &def.col
	conflict := func(pos int) error {
		return pgerr.New(pgerr.SyntaxError, "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c.Name, t.Name).At(pos)
	}
	for _, k := range d.Constraints {
		switch k.Kind {
		case ast.ConstrNull:
			if null = true; c.NotNull && def.sequence == nil || c.Identity != 0 {
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
			if err := e.setOnUpdate(ctx, c, k.X); err != nil {
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
			if err := e.columnValue(ctx, t, def, k); err != nil {
				return err
			}
		case ast.ConstrGenerated:
			if hasDefault {
				return pgerr.New(pgerr.SyntaxError, "both default and generation expression specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			if def.generated != nil {
				return pgerr.New(pgerr.SyntaxError, "multiple generation clauses specified for column \"%s\" of table \"%s\"", c.Name, t.Name).At(k.Pos)
			}
			def.generated = k.X
			if c.Virtual = k.Virtual; k.Virtual && def.family != nil {
				return virtualInFamily(c.Name, def.family.Pos)
			}
		default:
			def.constraints = append(def.constraints, k)
		}
	}
	if def.generated != nil && hasDefault {
		kind := "default"
		if c.Identity != 0 {
			kind = "identity"
		}
		return pgerr.New(pgerr.SyntaxError, "both %s and generation expression specified for column \"%s\" of table \"%s\"", kind, c.Name, t.Name).At(d.Pos)
	}
	if (def.generated != nil || c.Identity != 0) && c.OnUpdate != "" {
		return generatedOnUpdate(c, t)
	}
	if null && c.NotNull { // which the type serial says
		return conflict(0)
	}
	return nil
}

// identityType refuses types that an identity column cannot have.
func identityType(c *catalog.Column) error {
	switch declaredType(c).Oid {
	case types.Int2.Oid, types.Int4.Oid, types.Int8.Oid:
		return nil
	}
	return pgerr.New(pgerr.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
}

// columnValue applies DEFAULT and GENERATED AS IDENTITY.
func (e *Env) columnValue(ctx context.Context, t *catalog.Table, def *columnDef, k *ast.Constraint) error {
	var err error
	if k.Kind == ast.ConstrDefault {
		return e.setDefault(ctx, &def.col, k.X)
	}
	if err := identityType(&def.col); err != nil {
		return err
	}
	def.col.NotNull = true
	def.col.Identity = 'd'
	if k.Always {
		def.col.Identity = 'a'
	}
	for i := range k.Options {
		if o := &k.Options[i]; o.Kind == ast.SeqName {
			def.seqName = &ast.TableName{Table: o.Owner[len(o.Owner)-1]}
		}
	}
	def.sequence, err = e.columnSequence(ctx, t, &def.col, k.Options)
	return err
}

// columnSequence makes the sequence that a column of t owns, and its default.
func (e *Env) columnSequence(ctx context.Context, t *catalog.Table, c *catalog.Column, opts []ast.SequenceOption) (*catalog.Table, error) {
	s, err := e.newSequence(ctx, t.Database, t.Schema)
	if err != nil {
		return nil, err
	}
	s.Sequence.Type = c.Type
	if err := e.applySequenceOptions(ctx, s.Sequence, opts, true); err != nil {
		return nil, err
	}
	c.OwnsSequence = s.ID
	c.Default = nextvalOf(s.Oid)
	return s, nil
}

// ownedSequence makes the sequence of a column of t, which may be about to be
// added. Columns after it may use the sequence.
func (e *Env) ownedSequence(ctx context.Context, t *catalog.Table, schema string, def *columnDef, id catalog.ColumnID) error {
	s := def.sequence
	if def.seqName != nil {
		s.Name = def.seqName.Table
	} else {
		var err error
		if s.Name, err = e.chooseName(ctx, schema, t.Name, def.col.Name, "seq", nil); err != nil {
			return err
		}
	}
	s.Sequence.OwnerTable, s.Sequence.OwnerColumn = t.ID, id
	if err := e.addRelation(ctx, s, s.Name, false); err != nil {
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
