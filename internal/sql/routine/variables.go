package routine

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

// variable is a variable of a body, or a parameter. Its value lies in a slot of the frame.
type variable struct {
	name     string
	slot     int
	typ      *types.T // nil for RECORD
	constant bool
	notNull  bool
	plain    bool // values of its type are assigned as they are
	def      *query
	cursor   *plpgsql.Decl // that it is bound to
	args     []*variable   // of the cursor
	block    *blockNames
}

// blockNames are the names that a block declares.
type blockNames struct {
	outer *blockNames
	label string
	loop  bool // it is a loop
	names map[string]*variable
}

func (b *blockNames) declare(v *variable) { b.names[v.name], v.block = v, b }

// lookup finds a variable by its name, and perhaps the label of its block before it; rest is what follows.
func (b *blockNames) lookup(parts []string) (v *variable, rest []string) {
	for n := b; n != nil; n = n.outer {
		if v := n.names[parts[0]]; v != nil {
			return v, parts[1:]
		}
		if len(parts) > 1 && n.label == parts[0] {
			if v := n.names[parts[1]]; v != nil {
				return v, parts[2:]
			}
		}
	}
	return nil, nil
}

// find is what a name in an expression stands for, where records have the types that they have in a frame.
func (p *program) find(names *blockNames, parts []ast.Name) (plan.Expr, error) {
	v, rest := names.lookup(parts)
	if v == nil || len(rest) > 1 {
		return nil, nil
	}
	t := p.typeOf(v)
	if t == nil {
		if len(rest) == 0 {
			return &plan.Param{Index: v.slot, T: types.Record}, nil
		}
		return nil, unassigned(v)
	}
	x := &plan.Param{Index: v.slot, T: valueType(t)}
	if len(rest) == 0 {
		return x, nil
	}
	if t.Family != types.RecordFamily {
		return nil, nil
	}
	k := t.FieldByName(rest[0])
	if k < 0 {
		return nil, pgerr.New(pgerr.UndefinedColumn, "record \"%s\" has no field \"%s\"", v.name, rest[0])
	}
	return &plan.FieldSelect{Arg: x, Field: k, Name: rest[0], T: t.Fields()[k].Type}, nil
}

// unassigned is 55000 for a RECORD that has no structure yet.
func unassigned(v *variable) *pgerr.Error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "record \"%s\" is not assigned yet", v.name).
		WithDetail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

// typeOf is the type of a variable now: that of a record is the one of its value.
func (p *program) typeOf(v *variable) *types.T {
	if v.typ != nil {
		return v.typ
	}
	return p.cur.records[v.slot]
}

// sameRow reports whether two row types have the same fields.
func sameRow(a, b *types.T) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Oid != b.Oid {
		return false
	}
	return sameFields(a.Fields(), b.Fields())
}

// sameFields reports whether fields have the same names and types.
func sameFields(a, b []types.FieldDef) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i, f := range a {
		if g := b[i]; f.Name != g.Name || f.Type.Oid != g.Type.Oid || f.Type.Typmod != g.Type.Typmod {
			return false
		}
	}
	return true
}

// rowValues takes a row apart; of NULL all fields are.
func (f *frame) rowValues(d types.Datum, t *types.T) ([]types.Datum, []*types.T) {
	if d.IsNull() {
		ts := typesOf(t.Fields())
		return make([]types.Datum, len(ts)), ts
	}
	var vals []types.Datum
	var ts []*types.T
	for _, v := range types.RecordFields(t, d, f.c.Format) {
		vals, ts = append(vals, v.Datum), append(ts, v.Type)
	}
	return vals, ts
}

// set gives a variable a value of a type.
func (p *program) set(f *frame, v *variable, d types.Datum, from *types.T) error {
	if v.plain && from.Oid == v.typ.Oid {
		f.params[v.slot] = d
		return nil
	}
	if v.typ == nil {
		return p.setRecord(f, v, d, from)
	}
	to := valueType(v.typ)
	if from.Oid != to.Oid || to.Typmod >= 0 || to.Domain() != nil {
		var err error
		if d, err = p.assignable(f, v, d, from); err != nil {
			return err
		}
	}
	if v.notNull && d.IsNull() {
		return pgerr.New(pgerr.NullValueNotAllowed, "null value cannot be assigned to variable \"%s\" declared NOT NULL", v.name)
	}
	f.put(v, d)
	return nil
}

// assignable converts a value for a variable.
func (p *program) assignable(f *frame, v *variable, d types.Datum, from *types.T) (types.Datum, error) {
	if v.typ.Family == types.RecordFamily && !d.IsNull() && from.Family != types.RecordFamily {
		return types.Null, pgerr.New(pgerr.DatatypeMismatch, "cannot assign non-composite value to a record variable")
	}
	return convert(f.c.Format, d, from, v.typ)
}

// setRecord gives a RECORD a row, whose structure it takes.
func (p *program) setRecord(f *frame, v *variable, d types.Datum, from *types.T) error {
	if from.Family != types.RecordFamily && !d.IsNull() {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot assign non-composite value to a record variable")
	}
	if from.Family == types.RecordFamily {
		if from.Fields() == nil && !d.IsNull() {
			from = anonymousRow(from, d, f.c.Format)
		}
		if from.Fields() != nil && !sameRow(f.records[v.slot], from) {
			f.records[v.slot] = from
		}
	}
	f.put(v, d)
	return nil
}

// anonymousRow is the type of a row that does not say what it consists of.
func anonymousRow(t *types.T, d types.Datum, fc *types.FormatContext) *types.T {
	var fields []types.FieldDef
	for i, v := range types.RecordFields(t, d, fc) {
		fields = append(fields, types.FieldDef{Name: "f" + itoa(i+1), Type: v.Type})
	}
	return types.NewRowType(fields)
}

// setRow gives a row of a query to a variable that is a row, or the first column to another.
func (p *program) setRow(f *frame, v *variable, vals []types.Datum, cols []types.FieldDef) error {
	if v.typ != nil && v.typ.Family != types.RecordFamily {
		if len(vals) == 0 {
			return p.set(f, v, types.Null, valueType(v.typ))
		}
		return p.set(f, v, vals[0].Clone(), cols[0].Type)
	}
	if len(vals) == 1 && cols[0].Type.Family == types.RecordFamily && (v.typ == nil || len(v.typ.Fields()) != 1) {
		return p.set(f, v, vals[0].Clone(), cols[0].Type)
	}
	if v.typ != nil {
		row, err := rowOf(f.c.Format, vals, cols, v.typ.Fields())
		if err == nil {
			f.putRow(v, row)
		}
		return err
	}
	if t := f.records[v.slot]; t == nil || t.Oid != types.Record.Oid || !sameFields(t.Fields(), cols) {
		f.records[v.slot] = types.NewRowType(cols)
	}
	f.putRow(v, vals)
	return nil
}

// rowOf makes the values of a row with the fields to of those of a query, whose columns may be fewer or more.
func rowOf(fc *types.FormatContext, vals []types.Datum, cols, to []types.FieldDef) (types.Row, error) {
	row := make(types.Row, len(to))
	for i := range to {
		d, from := types.Null, types.Unknown
		if i < len(vals) {
			d, from = vals[i], cols[i].Type
		}
		var err error
		if row[i], err = convert(fc, d, from, to[i].Type); err != nil {
			return nil, err
		}
	}
	return row, nil
}

func joined(parts []string) string { return strings.Join(parts, ".") }
