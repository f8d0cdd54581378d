package pgcatalog

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// address identifies an object, or a column of a relation, as pg_depend does.
type address struct {
	class, oid uint32
	sub        int64
}

func (a address) compare(b address) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.oid, b.oid), cmp.Compare(a.sub, b.sub))
}

// references collects what a stored text refers to: columns, relations, types, collations
// and schemas that users make. Those of the system, which nobody drops, are left out.
type references struct {
	s     *snapshot
	notes *planner.Notes
	list  []address
}

// exprReferences are the references of an expression; the arguments are those of
// planner.Annotate. One that is not understood any more has none.
func (s *snapshot) exprReferences(text string, t *catalog.Table, value, want *types.T) []address {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return nil
	}
	notes, _, err := planner.Annotate(s.ctx, s.deparser().Planner, x, t, value, want)
	if err != nil {
		return nil
	}
	return s.referencesOf(x, notes)
}

// viewReferences are the references of a view's query.
func (s *snapshot) viewReferences(v *catalog.View) []address {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil
	}
	env := *s.deparser().Planner
	env.Notes, env.View = planner.NewNotes(), v
	if _, err := planner.Plan(s.ctx, st.AST, &env); err != nil {
		return nil
	}
	return s.referencesOf(st.AST, env.Notes)
}

// referencesOf lists what a planned text refers to, each object once, and a relation not as
// a whole if there are columns of it.
func (s *snapshot) referencesOf(root ast.Node, notes *planner.Notes) []address {
	r := &references{s: s, notes: notes}
	ast.Walk(root, r.node)
	for c := range notes.Reads {
		r.column(c.Table, int64(c.Attnum))
	}
	for t := range notes.Keys {
		if ix := t.PrimaryKey(); ix != nil {
			r.add(address{oidPgConstraint, ix.ConstraintOid, 0})
		}
	}
	for _, c := range notes.Literals {
		if c != nil {
			r.typ(c.T)
			if !c.D.IsNull() {
				r.named(c.T, c.D)
			}
		}
	}
	for _, c := range notes.DeclaredCasts {
		if c.Function != nil && c.Function.ID != 0 {
			r.add(address{oidPgProc, c.Function.Oid, 0})
		}
	}
	for _, o := range notes.Operators {
		r.add(address{oidPgOperator, o.Oid, 0})
	}
	slices.SortFunc(r.list, address.compare)
	r.list = slices.Compact(r.list)
	out := r.list[:0]
	for i, a := range r.list {
		if a.sub == 0 && i+1 < len(r.list) && r.list[i+1].class == a.class && r.list[i+1].oid == a.oid {
			continue
		}
		out = append(out, a)
	}
	return out
}

func (r *references) add(a address) { r.list = append(r.list, a) }

// column adds a column of a relation, or with 0 the relation.
func (r *references) column(oid uint32, num int64) {
	if oid >= firstUnpinnedOid {
		r.add(address{oidPgClass, oid, num})
	}
}

// typ adds a type.
func (r *references) typ(t *types.T) {
	if t = t.Shown(); isUserType(t) {
		r.add(address{oidPgType, t.Oid, 0})
	}
}

// isUserType reports whether users make the type, or the type of its elements.
func isUserType(t *types.T) bool {
	return t.Def != nil && t.Oid >= firstUnpinnedOid || t.Def == nil && t.Elem != nil && isUserType(t.Elem)
}

// named adds what a constant is the name of.
func (r *references) named(t *types.T, d types.Datum) {
	classes := map[uint32]uint32{
		types.Regclass.Oid: oidPgClass, types.Regtype.Oid: oidPgType,
		types.Regnamespace.Oid: oidPgNamespace, types.Regcollation.Oid: oidPgCollation,
	}
	class, ok := classes[t.Oid]
	if oid := uint32(d.Int()); ok && oid >= firstUserOid && r.s.exists(class, oid) {
		r.add(address{class, oid, 0})
	}
}

// exists reports whether there is an object: constants may name one that is gone.
func (s *snapshot) exists(class, oid uint32) bool {
	_, ok, err := s.c.DescribeObject(class, oid, 0)
	return ok && err == nil
}

// node adds what a node of the syntax tree names.
func (r *references) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.TableRef:
		if rel := r.notes.Relations[n]; rel != nil && rel.View != nil {
			r.column(rel.View.Oid, 0)
		}
	case *ast.TypeName:
		if t, err := planner.FindType(r.s.ctx, n, storedIntSize, stillCatalog{r.s}); err == nil {
			r.typ(t)
		}
	case *ast.FuncCall: // it may make values of a range type
		if d := r.s.typeNamed(n.Name.Schema, n.Name.Name); n.Name.Schema != "" && d != nil {
			r.typ(catalog.TypeOf(d))
		}
	case *ast.Collate:
		if schema, name, ok := twoParts(n.Name); ok {
			if t := r.s.find(schema, catalog.CollationName(name)); t != nil {
				r.add(address{oidPgCollation, t.Oid, 0})
			}
		}
	case *ast.Cast:
		r.rowLiterals(n)
	case *ast.FieldSelect:
		r.fields(n)
	}
	return true
}

// rowLiterals adds the types that the quoted constants of ROW(...)::t are read as.
func (r *references) rowLiterals(n *ast.Cast) {
	row, ok := n.X.(*ast.Row)
	t := r.notes.Casts[n]
	if !ok || t == nil {
		return
	}
	for i, f := range t.BaseType().Fields() {
		if i < len(row.Elems) {
			if _, quoted := row.Elems[i].(*ast.StrLit); quoted {
				r.typ(f.Type)
			}
		}
	}
}

// storedIntSize is how many bytes an INT has in stored texts.
const storedIntSize = 4

func twoParts(names []ast.Name) (schema, name ast.Name, ok bool) {
	if len(names) != 2 {
		return "", "", false
	}
	return names[0], names[1], true
}

// fields adds the fields that (x).a or (x).* reads, columns of the relation or composite type
// that x is of. Those of a row of FROM are among Notes.Reads.
func (r *references) fields(n *ast.FieldSelect) {
	t := r.notes.Types[n.X]
	ref, _ := n.X.(*ast.ColumnRef)
	if row, ok := r.notes.Columns[ref]; ok && row.Name == "" || t == nil {
		return
	}
	names := r.notes.Fields[n]
	if !n.Star {
		names = []ast.Name{n.Field}
	}
	rel := r.s.rowRelation(t.BaseType())
	if rel == nil {
		if of := r.notes.Types[n]; of != nil {
			r.typ(of)
		}
		return
	}
	for i := range rel.Columns {
		if c := &rel.Columns[i]; slices.Contains(names, c.Name) {
			r.column(rel.Oid, int64(c.Attnum))
		}
	}
}

// rowRelation is the relation, or the composite type as one, that values of a type are rows
// of; nil for other types.
func (s *snapshot) rowRelation(t *types.T) *catalog.Table {
	if t.Def == nil || t.Def.Kind != types.DefComposite {
		return nil
	}
	d := s.ownerOf(t.Oid)
	if d != nil && d.Kind == catalog.KindType {
		return compositeRelation(d)
	}
	return d
}
