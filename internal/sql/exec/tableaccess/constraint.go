package tableaccess

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/builtin/catalogfuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// maxDetailField is how many bytes of a value PostgreSQL shows of a failing row.
const maxDetailField = 64

// ExclusionViolation is 23P01.
const ExclusionViolation pgerr.Code = "23P01"

// Check is a compiled CHECK constraint.
type Check struct {
	name   string
	domain catalogfuncs.DomainName // whose constraint it is, unnamed for one of the table
	view   string                  // whose WITH CHECK OPTION it is
	policy *plan.PolicyRule        // of row-level security
	cond   expr.Func
}

// CompileChecks compiles CHECK constraints and check options over the columns of s.
func CompileChecks(c *expr.Compiler, list []plan.CheckExpr, s expr.Scope) ([]Check, error) {
	out := make([]Check, len(list))
	for i, k := range list {
		cond, err := c.Expr(k.Cond, s)
		if err != nil {
			return nil, err
		}
		out[i] = Check{k.Name, k.Domain, k.View, k.Policy, cond}
	}
	return out, nil
}

// CheckRow evaluates constraints over input, for the row to store: those of domains first, as values
// have them, then policies, NOT NULL and CHECK. The errors are 23514, 42501 and 23502.
func (w *Writer) CheckRow(list []Check, input, row types.Row) error {
	if err := w.runChecks(list, true, input, row); err != nil {
		return err
	}
	if err := RunPolicies(list, input); err != nil {
		return err
	}
	if err := w.CheckNotNull(row); err != nil {
		return err
	}
	return w.runChecks(list, false, input, row)
}

// runChecks evaluates the constraints of domains, or those of the table.
func (w *Writer) runChecks(list []Check, ofDomains bool, input, row types.Row) error {
	for i := range list {
		if list[i].view != "" || list[i].policy != nil || (list[i].domain.Name != "") != ofDomains {
			continue
		}
		d, err := list[i].cond(input)
		if err != nil {
			return err
		}
		if !d.IsNull() && !d.Bool() {
			if ofDomains {
				return catalogfuncs.DomainError(list[i].domain, list[i].name)
			}
			e := pgerr.New(pgerr.CheckViolation, "new row for relation \"%s\" violates check constraint \"%s\"", w.table.Name, list[i].name)
			e.Detail = w.failingRow(row)
			e.Schema, e.Table, e.Constraint = w.Schema, w.table.Name, list[i].name
			return e
		}
	}
	return nil
}

// RunPolicies evaluates what policies demand of a row, over input.
func RunPolicies(list []Check, input types.Row) error {
	for i := range list {
		if list[i].policy == nil {
			continue
		}
		d, err := list[i].cond(input)
		if err != nil {
			return err
		}
		if d.IsNull() || !d.Bool() {
			return policyError(list[i].policy, list[i].name)
		}
	}
	return nil
}

// policyError is 42501 for a row that a policy, or all of them if there is no name, forbids.
func policyError(p *plan.PolicyRule, name string) error {
	row, named, using := "new row", "", ""
	if p.OfTarget {
		row = "target row"
	}
	if name != "" {
		named = " \"" + name + "\""
	}
	if p.OfUsing {
		using = " (USING expression)"
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "%s violates row-level security policy%s%s for table \"%s\"", row, named, using, p.Table)
}

// RunCheckOptions evaluates WITH CHECK OPTION of views over input, for the row that was
// stored: other constraints come first.
func (w *Writer) RunCheckOptions(list []Check, input, row types.Row) error {
	for i := range list {
		if list[i].view == "" {
			continue
		}
		d, err := list[i].cond(input)
		if err != nil {
			return err
		}
		if d.IsNull() || !d.Bool() {
			e := pgerr.New(pgerr.WithCheckOptionViolation, "new row violates check option for view \"%s\"", list[i].view)
			e.Detail = w.failingRow(row)
			return e
		}
	}
	return nil
}

func (w *Writer) notNullError(ord int, row types.Row) error {
	col := w.table.Columns[ord].Name
	e := pgerr.New(pgerr.NotNullViolation, "null value in column \"%s\" of relation \"%s\" violates not-null constraint", col, w.table.Name)
	e.Detail = w.failingRow(row)
	e.Schema, e.Table, e.Column = w.Schema, w.table.Name, col
	return e
}

// failingRow describes a row as PostgreSQL does, long values cut: all of its columns, or with their names those that the user may
// see or has given values; "" if policies may hide rows.
func (w *Writer) failingRow(row types.Row) string {
	shown := w.shownOf()
	if shown.None() {
		return ""
	}
	var names, values []string
	for i := range w.table.Columns {
		if w.table.Columns[i].Hidden || !shown.Column(i) && (w.given == nil || !w.given(i)) {
			continue
		}
		names, values = append(names, w.table.Columns[i].Name), append(values, w.detailValue(i, row))
	}
	switch list := strings.Join(values, ", "); {
	case shown.All():
		return "Failing row contains (" + list + ")."
	case names == nil:
		return ""
	default:
		return "Failing row contains (" + strings.Join(names, ", ") + ") = (" + list + ")."
	}
}

// detailValue is a value of a row in a detail.
func (w *Writer) detailValue(i int, row types.Row) string {
	if w.table.Columns[i].Computed() {
		return "virtual" // not everywhere it is computed
	}
	s := w.text(w.table.Columns[i].Type, row[i])
	if len(s) <= maxDetailField {
		return s
	}
	cut := maxDetailField
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

func (w *Writer) shownOf() access.Shown {
	if w.shown == nil {
		return access.Shown{}
	}
	return w.shown(w.table)
}

func (w *Writer) text(t *types.T, d types.Datum) string {
	if d.IsNull() {
		return "null"
	}
	return string(typeio.AppendText(nil, t, d, w.fc))
}

// constraintName is the name in messages about a unique index.
func constraintName(ix *catalog.Index) string {
	if ix.Constraint && ix.ConstraintName != "" {
		return ix.ConstraintName
	}
	return ix.Name
}

// keyDetail describes the key of a row: "Key (a, b)=(1, x)". It is "" if the user may not see it.
func (w *Writer) keyDetail(x *rowcodec.Index, row types.Row) string {
	shown := w.shownOf()
	var names, values []string
	for i := range x.Declared {
		ord := w.table.DeclaredOrd(x.Desc, i)
		if !shown.Column(ord) {
			return ""
		}
		c := &w.table.Columns[ord]
		names = append(names, c.Name)
		values = append(values, w.text(c.Type, row[ord]))
	}
	return "Key (" + strings.Join(names, ", ") + ")=(" + strings.Join(values, ", ") + ")"
}

// DeferrableArbiterError refuses ON CONFLICT with a constraint that is checked too late.
func (w *Writer) DeferrableArbiterError(ix *catalog.Index) error {
	e := pgerr.New(pgerr.ObjectNotInPrerequisiteState,
		"ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters")
	e.Schema, e.Table, e.Constraint = w.Schema, w.table.Name, constraintName(ix)
	return e
}

// DuplicateError says that there is a row with the key of row in x already.
func (w *Writer) DuplicateError(x *rowcodec.Index, row types.Row) error {
	name := constraintName(x.Desc)
	if x.Desc.Exclusion {
		e := pgerr.New(ExclusionViolation, "conflicting key value violates exclusion constraint \"%s\"", name)
		if key := w.keyDetail(x, row); key != "" {
			e.Detail = key + " conflicts with existing k" + key[1:] + "."
		}
		e.Schema, e.Table, e.Constraint = w.Schema, w.table.Name, name
		return e
	}
	e := pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"%s\"", name)
	if key := w.keyDetail(x, row); key != "" {
		e.Detail = key + " already exists."
	}
	e.Schema, e.Table, e.Constraint = w.Schema, w.table.Name, name
	return e
}
