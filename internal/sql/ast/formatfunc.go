package ast

// funcCall prints a call in the grammar it was written in.
func (p *printer) funcCall(x *FuncCall) {
	switch x.Syntax {
	case SyntaxPlain:
		p.plainCall(x)
	case SyntaxExtract:
		p.w("EXTRACT(")
		p.extractField(x.Args[0])
		p.w(" FROM ")
		p.expr(x.Args[1])
		p.w(")")
	case SyntaxOverlay:
		p.words("OVERLAY(", x.Args, " PLACING ", " FROM ", " FOR ")
	case SyntaxPosition:
		p.w("POSITION(")
		p.operand(x.Args[1])
		p.w(" IN ")
		p.operand(x.Args[0])
		p.w(")")
	case SyntaxSubstring:
		p.words("SUBSTRING(", x.Args, " FROM ", " FOR ")
	case SyntaxSubstringSimilar:
		p.words("SUBSTRING(", x.Args, " SIMILAR ", " ESCAPE ")
	case SyntaxTrimBoth, SyntaxTrimLeading, SyntaxTrimTrailing:
		p.w([...]string{"TRIM(BOTH ", "TRIM(LEADING ", "TRIM(TRAILING "}[x.Syntax-SyntaxTrimBoth])
		args := x.Args
		if len(args) == 2 {
			p.expr(args[1])
			p.w(" ")
			args = args[:1]
		}
		p.w("FROM ")
		p.exprs(args)
		p.w(")")
	case SyntaxNormalize:
		p.w("NORMALIZE(")
		p.expr(x.Args[0])
		if len(x.Args) > 1 {
			p.w(", ", normalForm(x.Args[1]))
		}
		p.w(")")
	case SyntaxIsNormalized:
		p.operand(x.Args[0])
		p.w(" IS ")
		if len(x.Args) > 1 {
			p.w(normalForm(x.Args[1]), " ")
		}
		p.w("NORMALIZED")
	case SyntaxCollationFor:
		p.call("COLLATION FOR ", x.Args)
	case SyntaxAtTimeZone:
		p.operand(x.Args[1])
		p.w(" AT TIME ZONE ")
		p.operand(x.Args[0])
	case SyntaxOverlaps:
		p.parenExprs(x.Args[:2])
		p.w(" OVERLAPS ")
		p.parenExprs(x.Args[2:])
	}
}

// normalForm returns the word of a Unicode normal form.
func normalForm(x Expr) string {
	if s, ok := x.(*StrLit); ok {
		return s.Val
	}
	return ""
}

// words prints arguments with a word before each but the first.
func (p *printer) words(open string, args []Expr, seps ...string) {
	p.w(open)
	for i, a := range args {
		if i > 0 {
			p.w(seps[i-1])
		}
		p.operand(a)
	}
	p.w(")")
}

// extractField prints the field of EXTRACT, bare when the grammar allows it.
func (p *printer) extractField(x Expr) {
	s, ok := x.(*StrLit)
	if !ok {
		p.expr(x)
		return
	}
	switch s.Val {
	case "year", "month", "day", "hour", "minute", "second":
		p.w(s.Val)
		return
	}
	if _, keyword := LookupKeyword(s.Val); keyword || needsQuotes(s.Val) {
		p.str(s.Val)
		return
	}
	p.w(s.Val)
}

// plainCall prints name(args) with all the clauses of a call.
func (p *printer) plainCall(x *FuncCall) {
	p.funcName(x.Name)
	p.w("(")
	p.opt(x.Distinct, "DISTINCT ")
	p.opt(x.Star, "*")
	p.list(len(x.Args), func(i int) {
		p.opt(x.Variadic && i == len(x.Args)-1, "VARIADIC ")
		p.expr(x.Args[i])
	})
	if !x.WithinGroup {
		p.orderBy(x.OrderBy)
	}
	p.w(")")
	if x.WithinGroup {
		p.w(" WITHIN GROUP (")
		p.orderItems(x.OrderBy)
		p.w(")")
	}
	if x.Filter != nil {
		p.clause(" FILTER (WHERE ", x.Filter)
		p.w(")")
	}
	if x.Over != nil {
		p.w(" OVER ")
		if x.Over.Name != "" {
			p.ident(x.Over.Name)
			return
		}
		p.windowSpec(x.Over)
	}
}

func (p *printer) funcName(f FuncName) { p.dotted(f.Catalog, f.Schema, f.Name) }

// windowSpec prints a window's definition in parentheses.
func (p *printer) windowSpec(w *WindowSpec) {
	p.w("(")
	sep := ""
	if w.Ref != "" {
		p.ident(w.Ref)
		sep = " "
	}
	if w.PartitionBy != nil {
		p.w(sep, "PARTITION BY ")
		p.exprs(w.PartitionBy)
		sep = " "
	}
	if w.OrderBy != nil {
		p.w(sep)
		p.orderItems(w.OrderBy)
		sep = " "
	}
	if w.Frame != nil {
		p.w(sep)
		p.frame(w.Frame)
	}
	p.w(")")
}

func (p *printer) frame(f *Frame) {
	p.w([...]string{"RANGE ", "ROWS ", "GROUPS "}[f.Unit])
	p.opt(!f.Short, "BETWEEN ")
	p.bound(f.Start)
	if !f.Short {
		p.w(" AND ")
		p.bound(f.End)
	}
	p.w([...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclusion])
}

func (p *printer) bound(b FrameBound) {
	switch b.Kind {
	case UnboundedPreceding:
		p.w("UNBOUNDED PRECEDING")
	case UnboundedFollowing:
		p.w("UNBOUNDED FOLLOWING")
	case CurrentRow:
		p.w("CURRENT ROW")
	case OffsetPreceding:
		p.operand(b.Offset)
		p.w(" PRECEDING")
	case OffsetFollowing:
		p.operand(b.Offset)
		p.w(" FOLLOWING")
	}
}

// systemTypeNames spells the types that have a grammar of their own; those with
// modifiers are printed by systemType.
var systemTypeNames = map[Name]string{
	"int2": "smallint", "int8": "bigint", "float4": "real", "float8": "double precision", "bool": "boolean",
	"numeric": "numeric", "varchar": "character varying", "varbit": "bit varying", "bpchar": "character",
	"bit": "bit", "time": "time", "timetz": "time", "timestamp": "timestamp", "timestamptz": "timestamp",
	"interval": "interval",
}

// typeName prints a type; as the type of a literal, an interval's fields follow
// the literal.
func (p *printer) typeName(t *TypeName, literal bool) {
	p.opt(t.Setof, "SETOF ")
	if !p.systemType(t, literal) {
		p.dotted(t.Names...)
		if t.Typmods != nil {
			p.parenExprs(t.Typmods)
		}
	}
	for _, d := range t.ArrayDims {
		p.w("[")
		if d >= 0 {
			p.int(d)
		}
		p.w("]")
	}
}

// systemType prints a built-in type in its own spelling; false when the tree is
// not one that this spelling gives.
func (p *printer) systemType(t *TypeName, literal bool) bool {
	if len(t.Names) != 2 || t.Names[0] != "pg_catalog" {
		return false
	}
	name := t.Names[1]
	if name == "int4" && t.DefaultInt {
		p.w("integer")
		return true
	}
	sql, ok := systemTypeNames[name]
	if !ok || !plainMods(t, name) {
		return false
	}
	if (name == "bpchar" || name == "bit") && t.Typmods == nil && !literal {
		return false
	}
	p.w(sql)
	if name == "interval" {
		if t.Fields != IntervalAll && !literal {
			p.intervalFields(t)
		} else if t.Typmods != nil && t.Fields == IntervalAll {
			p.parenExprs(t.Typmods)
		}
		return true
	}
	if t.Typmods != nil {
		p.parenExprs(t.Typmods)
	}
	switch name {
	case "timetz", "timestamptz":
		p.w(" with time zone")
	}
	return true
}

// plainMods reports whether the modifiers are ones that the type's own grammar
// can give: none, one integer, or for numeric and bits a list.
func plainMods(t *TypeName, name Name) bool {
	switch name {
	case "numeric", "bit", "varbit":
		return true
	case "int2", "int8", "float4", "float8", "bool":
		return t.Typmods == nil
	}
	if len(t.Typmods) == 0 {
		return true
	}
	n, ok := t.Typmods[0].(*IntLit)
	return ok && len(t.Typmods) == 1 && n.Val >= 0
}

// intervalFields prints the field restriction of an interval.
func (p *printer) intervalFields(t *TypeName) {
	p.w(" ", t.Fields.String())
	if t.Typmods != nil {
		p.parenExprs(t.Typmods)
	}
}
