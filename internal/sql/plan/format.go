package plan

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// formatter prints expressions in PostgreSQL's deparsed style.
type formatter struct {
	// names maps columns to what they are called or computed from.
	names map[ColID]string
	// subplans lists the subqueries seen since the last flush, to be printed
	// below their operator.
	subplans []*Subquery
	nextPlan int
	operand  []string // the operands of the enclosing Cases
	noConsts bool     // constants are not shown
}

// FormatExpr prints e with columns called by their ColRef names.
func FormatExpr(e Expr) string {
	f := &formatter{}
	return f.expr(e)
}

func (f *formatter) list(es []Expr) string {
	out := make([]string, len(es))
	for i := range es {
		out[i] = f.expr(es[i])
	}
	return strings.Join(out, ", ")
}

func (f *formatter) expr(e Expr) string {
	switch e := e.(type) {
	case *Const:
		if f.noConsts && !e.D.IsNull() {
			return "_"
		}
		return formatConst(e)
	case *ColRef:
		if s, ok := f.names[e.Col]; ok {
			return s
		}
		if e.Name != "" {
			return e.Name
		}
		return "@" + strconv.Itoa(int(e.Col))
	case *Param:
		return "$" + strconv.Itoa(e.Index+1)
	case *Call:
		return f.call(e)
	case *Cast:
		return "(" + f.expr(e.Arg) + ")::" + types.FormatType(e.T)
	case *And:
		return f.joined(e.Args, " AND ")
	case *Or:
		return f.joined(e.Args, " OR ")
	case *Not:
		return "(NOT " + f.expr(e.Arg) + ")"
	case *Is:
		return "(" + f.expr(e.Arg) + " " + isNames[e.Kind] + ")"
	case *IsDistinct:
		not := ""
		if e.Not {
			not = "NOT "
		}
		return "(" + f.expr(e.Left) + " IS " + not + "DISTINCT FROM " + f.expr(e.Right) + ")"
	case *Case:
		return f.caseExpr(e)
	case *AllElements:
		return f.allElements(e)
	case *CaseOperand:
		if n := len(f.operand); n > 0 {
			return f.operand[n-1]
		}
		return "CASE_TEST_EXPR"
	case *Subquery:
		return f.subquery(e)
	}
	return f.other(e)
}

var isNames = [...]string{
	IsNull: "IS NULL", IsNotNull: "IS NOT NULL", IsTrue: "IS TRUE", IsNotTrue: "IS NOT TRUE",
	IsFalse: "IS FALSE", IsNotFalse: "IS NOT FALSE", IsUnknown: "IS UNKNOWN", IsNotUnknown: "IS NOT UNKNOWN",
}

// other prints the rarer kinds of expressions.
func (f *formatter) other(e Expr) string {
	switch e := e.(type) {
	case *Coalesce:
		return "COALESCE(" + f.list(e.Args) + ")"
	case *NullIf:
		return "NULLIF(" + f.expr(e.Left) + ", " + f.expr(e.RightCmp) + ")"
	case *MinMax:
		if e.Least {
			return "LEAST(" + f.list(e.Args) + ")"
		}
		return "GREATEST(" + f.list(e.Args) + ")"
	case *InList:
		op := " = ANY "
		if e.Not {
			op = " <> ALL "
		}
		return "(" + f.expr(e.Left) + op + "(" + f.arrayOf(e.List) + "))"
	case *AnyAll:
		q := " ANY "
		if e.All {
			q = " ALL "
		}
		return "(" + f.expr(e.Left) + " " + e.Op.Name + q + "(" + f.expr(e.Array) + "))"
	case *ArrayCtor:
		return "ARRAY[" + f.list(e.Elems) + "]"
	case *RowCtor:
		return "ROW(" + f.list(e.Fields) + ")"
	case *RowCompare:
		return "(ROW(" + f.list(e.Left) + ") " + e.Op + " ROW(" + f.list(e.Right) + "))"
	case *Subscript:
		return f.subscript(e)
	case *FieldSelect:
		return "(" + f.expr(e.Arg) + ")." + e.Name
	case *SessionValue:
		return sessionNames[e.Kind]
	}
	return "?"
}

var sessionNames = [...]string{
	CurrentUser: "CURRENT_USER", SessionUser: "SESSION_USER", CurrentRole: "CURRENT_ROLE",
	CurrentCatalog: "CURRENT_CATALOG", CurrentSchema: "CURRENT_SCHEMA", CurrentDate: "CURRENT_DATE",
	CurrentTime: "CURRENT_TIME", CurrentTimestamp: "CURRENT_TIMESTAMP", LocalTime: "LOCALTIME",
	LocalTimestamp: "LOCALTIMESTAMP",
}

func (f *formatter) joined(es []Expr, sep string) string {
	out := make([]string, len(es))
	for i := range es {
		out[i] = f.expr(es[i])
	}
	return "(" + strings.Join(out, sep) + ")"
}

func (f *formatter) call(e *Call) string {
	if e.Fn.Operator {
		switch len(e.Args) {
		case 1:
			return "(" + e.Fn.Name + " " + f.expr(e.Args[0]) + ")"
		case 2:
			return "(" + f.expr(e.Args[0]) + " " + e.Fn.Name + " " + f.expr(e.Args[1]) + ")"
		}
	}
	return e.Fn.Name + "(" + f.list(e.Args) + ")"
}

func (f *formatter) caseExpr(e *Case) string {
	var b strings.Builder
	b.WriteString("CASE")
	if e.Operand != nil {
		f.operand = append(f.operand, f.expr(e.Operand))
		defer func() { f.operand = f.operand[:len(f.operand)-1] }()
	}
	for _, w := range e.Whens {
		b.WriteString(" WHEN " + f.expr(w.Cond) + " THEN " + f.expr(w.Result))
	}
	if e.Else != nil {
		b.WriteString(" ELSE " + f.expr(e.Else))
	}
	return b.String() + " END"
}

func (f *formatter) allElements(e *AllElements) string {
	array := f.expr(e.Array)
	f.operand = append(f.operand, "element")
	defer func() { f.operand = f.operand[:len(f.operand)-1] }()
	return "(" + f.expr(e.Cond) + " FOR ALL ELEMENTS OF " + array + ")"
}

func (f *formatter) subscript(e *Subscript) string {
	var b strings.Builder
	b.WriteString("(" + f.expr(e.Arg) + ")")
	for i := range e.Upper {
		b.WriteByte('[')
		if e.Slice {
			if e.Lower[i] != nil {
				b.WriteString(f.expr(e.Lower[i]))
			}
			b.WriteByte(':')
		}
		if e.Upper[i] != nil {
			b.WriteString(f.expr(e.Upper[i]))
		}
		b.WriteByte(']')
	}
	return b.String()
}

// arrayOf prints an IN list as the array that PostgreSQL makes of it.
func (f *formatter) arrayOf(es []Expr) string {
	var parts []string
	for _, e := range es {
		if f.noConsts {
			return "ARRAY[...]"
		}
		c, ok := e.(*Const)
		if !ok || c.D.IsNull() {
			return "ARRAY[" + f.list(es) + "]"
		}
		s := string(typeio.AppendText(nil, c.T, c.D, nil))
		if s == "" || strings.ContainsAny(s, `{}," \`) {
			s = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
		}
		parts = append(parts, s)
	}
	if len(es) == 0 {
		return "'{}'"
	}
	return quote("{"+strings.Join(parts, ",")+"}") + "::" + es[0].Type().SQLName + "[]"
}

func (f *formatter) subquery(e *Subquery) string {
	id := 0
	for i, s := range f.subplans {
		if s == e {
			id = f.nextPlan - len(f.subplans) + i + 1
		}
	}
	if id == 0 {
		f.subplans = append(f.subplans, e)
		f.nextPlan++
		id = f.nextPlan
	}
	ref := "SubPlan " + strconv.Itoa(id)
	if len(e.Outer) == 0 {
		ref = "InitPlan " + strconv.Itoa(id)
	}
	not := ""
	if e.Not {
		not = "NOT "
	}
	switch e.Kind {
	case ExistsSubquery:
		return not + "EXISTS(" + ref + ")"
	case AnySubquery:
		return "(" + not + f.leftRow(e) + " " + e.OpName + " ANY (" + ref + "))"
	case AllSubquery:
		return "(" + not + f.leftRow(e) + " " + e.OpName + " ALL (" + ref + "))"
	case CompareSubquery:
		return "(" + f.leftRow(e) + " " + e.OpName + " (" + ref + "))"
	case ArraySubquery:
		return "ARRAY(" + ref + ")"
	}
	return "(" + ref + ")"
}

func (f *formatter) leftRow(e *Subquery) string {
	if len(e.Left) == 1 {
		return f.expr(e.Left[0])
	}
	return "ROW(" + f.list(e.Left) + ")"
}

func formatConst(c *Const) string {
	if c.D.IsNull() {
		return "NULL::" + types.FormatType(c.T)
	}
	s := string(typeio.AppendText(nil, c.T, c.D, nil))
	switch c.T.Oid {
	case types.Int4.Oid, types.Numeric.Oid:
		if !strings.HasPrefix(s, "-") {
			return s
		}
	case types.Bool.Oid:
		if c.D.Bool() {
			return "true"
		}
		return "false"
	}
	return quote(s) + "::" + types.FormatType(c.T)
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// agg prints an aggregate call.
func (f *formatter) agg(a *Agg) string {
	var b strings.Builder
	b.WriteString(a.Fn.Name + "(")
	switch {
	case len(a.Args) == 0:
		b.WriteByte('*')
	case a.Distinct:
		b.WriteString("DISTINCT " + f.list(a.Args))
	default:
		b.WriteString(f.list(a.Args))
	}
	if len(a.OrderBy) > 0 {
		b.WriteString(" ORDER BY " + f.sortKeys(a.OrderBy))
	}
	b.WriteByte(')')
	if a.Filter != nil {
		b.WriteString(" FILTER (WHERE " + f.expr(a.Filter) + ")")
	}
	return b.String()
}

func (f *formatter) col(id ColID) string { return f.expr(&ColRef{Col: id}) }

func (f *formatter) cols(ids []ColID) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = f.col(id)
	}
	return strings.Join(out, ", ")
}

func (f *formatter) sortKeys(keys []SortKey) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = f.col(k.Col)
		if k.Desc {
			out[i] += " DESC"
		}
		if !k.DefaultNulls() {
			if k.NullsFirst {
				out[i] += " NULLS FIRST"
			} else {
				out[i] += " NULLS LAST"
			}
		}
	}
	return strings.Join(out, ", ")
}
