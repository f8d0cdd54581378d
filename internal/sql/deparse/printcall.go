package deparse

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
)

// callExpr prints a call of a function, an aggregate or a window function.
func (d *deparser) callExpr(n *node) {
	if n.kind == grammar {
		d.grammarCall(n)
		return
	}
	d.w(n.text, "(")
	x := n.syntax
	if x == nil {
		d.exprs(n.args)
		d.w(")")
		return
	}
	if x.Distinct {
		d.w("DISTINCT ")
	}
	if x.Star {
		d.w("*")
	}
	for i, a := range n.args {
		if i > 0 {
			d.w(", ")
		}
		if n.variadic && i == len(n.args)-1 {
			d.w("VARIADIC ")
		}
		d.expr(a, true)
	}
	if len(x.OrderBy) > 0 {
		var params []*types.T
		if x.WithinGroup {
			d.w(") WITHIN GROUP (ORDER BY ")
			params = d.notes.Params[x][len(n.args):]
		} else {
			d.w(" ORDER BY ")
		}
		d.orderItems(x.OrderBy, nil, false, params...)
	}
	if n.els != nil {
		d.w(") FILTER (WHERE ")
		d.expr(n.els, false)
	}
	d.w(")")
	d.over(x.Over)
}

// over prints the window of a call.
func (d *deparser) over(w *ast.WindowSpec) {
	switch {
	case w == nil:
	case w.Name != "":
		d.w(" OVER ", ast.QuoteIdent(w.Name))
	default:
		if i := slices.IndexFunc(d.windows, func(o *ast.WindowSpec) bool { return sameWindow(w, o) }); i >= 0 {
			d.w(" OVER ", ast.QuoteIdent(d.windows[i].Name))
			return
		}
		d.w(" OVER ")
		d.windowSpec(w)
	}
}

// sameWindow reports whether a call's own window is one that the query defines: a view shows
// its name, as in PostgreSQL.
func sameWindow(w, defined *ast.WindowSpec) bool { return ast.Format(w) == ast.Format(defined) }

// windowSpec prints the definition of a window.
func (d *deparser) windowSpec(w *ast.WindowSpec) {
	d.w("(")
	sep := ""
	if w.Ref != "" {
		d.w(ast.QuoteIdent(w.Ref))
		sep = " "
	}
	if len(w.PartitionBy) > 0 {
		d.w(sep, "PARTITION BY ")
		list := &entries{d: d}
		for _, e := range w.PartitionBy {
			list.add(d.entry(e, nil, false))
		}
		sep = " "
	}
	if len(w.OrderBy) > 0 {
		d.w(sep, "ORDER BY ")
		d.orderItems(w.OrderBy, nil, false)
		sep = " "
	}
	if w.Frame != nil {
		d.w(sep)
		d.frame(w)
	}
	d.w(")")
}

func (d *deparser) frame(w *ast.WindowSpec) {
	f, offset := w.Frame, types.Int8
	if f.Unit == ast.FrameRange && len(w.OrderBy) > 0 {
		offset = d.typeOf(w.OrderBy[0].X).BaseType()
		switch offset.Family {
		case types.DateFamily, types.TimeFamily, types.TimeTZFamily, types.TimestampFamily, types.TimestampTZFamily:
			offset = types.Interval
		}
	}
	d.w([...]string{ast.FrameRange: "RANGE ", ast.FrameRows: "ROWS ", ast.FrameGroups: "GROUPS "}[f.Unit])
	if f.Short {
		d.bound(f.Start, offset)
	} else {
		d.w("BETWEEN ")
		d.bound(f.Start, offset)
		d.w(" AND ")
		d.bound(f.End, offset)
	}
	d.w([...]string{"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"}[f.Exclusion])
}

// bound prints an end of a frame; literals are of type t.
func (d *deparser) bound(b ast.FrameBound, t *types.T) {
	if b.Offset != nil {
		n := d.resolve(b.Offset)
		if n.unknown() {
			n = d.coerce(n, t.WithTypmod(-1))
		}
		d.expr(n, false)
	}
	d.w([...]string{
		ast.UnboundedPreceding: "UNBOUNDED PRECEDING", ast.OffsetPreceding: " PRECEDING", ast.CurrentRow: "CURRENT ROW",
		ast.OffsetFollowing: " FOLLOWING", ast.UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// grammarCall prints a call that has a grammar of its own.
func (d *deparser) grammarCall(n *node) {
	a := n.args
	arg := func(i int) func() { return func() { d.expr(a[i], false) } }
	operand := func(i int) func() { return func() { d.operand(a[i], false, n) } }
	switch n.syntax.Syntax {
	case ast.SyntaxExtract:
		d.phrase("EXTRACT(", a[0].datum.Str(), " FROM ", arg(1), ")")
	case ast.SyntaxOverlay:
		d.phrase("OVERLAY(", arg(0), " PLACING ", arg(1), " FROM ", arg(2))
		if len(a) > 3 {
			d.phrase(" FOR ", arg(3))
		}
		d.w(")")
	case ast.SyntaxPosition:
		d.phrase("POSITION((", arg(1), ") IN (", arg(0), "))")
	case ast.SyntaxSubstring:
		d.phrase("SUBSTRING(", arg(0), " FROM ", arg(1))
		if len(a) > 2 {
			d.phrase(" FOR ", arg(2))
		}
		d.w(")")
	case ast.SyntaxSubstringSimilar:
		d.phrase("SUBSTRING(", arg(0), " SIMILAR ", arg(1), " ESCAPE ", arg(2), ")")
	case ast.SyntaxTrimBoth, ast.SyntaxTrimLeading, ast.SyntaxTrimTrailing:
		d.w([...]string{"TRIM(BOTH ", "TRIM(LEADING ", "TRIM(TRAILING "}[n.syntax.Syntax-ast.SyntaxTrimBoth])
		if len(a) > 1 {
			d.phrase(arg(1), " ")
		}
		d.phrase("FROM ", arg(0), ")")
	case ast.SyntaxNormalize:
		d.phrase("NORMALIZE(", arg(0))
		if len(a) > 1 {
			d.phrase(", ", a[1].datum.Str())
		}
		d.w(")")
	case ast.SyntaxIsNormalized:
		d.phrase("(", operand(0), " IS")
		if len(a) > 1 {
			d.phrase(" ", a[1].datum.Str())
		}
		d.w(" NORMALIZED)")
	case ast.SyntaxCollationFor:
		d.phrase("COLLATION FOR (", arg(0), ")")
	case ast.SyntaxAtTimeZone:
		d.phrase("(", operand(1), " AT TIME ZONE ", operand(0), ")")
	case ast.SyntaxOverlaps:
		d.phrase("((", arg(0), ", ", arg(1), ") OVERLAPS (", arg(2), ", ", arg(3), "))")
	}
}

// phrase prints words and operands in turn.
func (d *deparser) phrase(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			d.w(p)
		case func():
			p()
		}
	}
}

// rowType is the type of a whole row.
func (d *deparser) rowType(n *node) string {
	if n.table != nil {
		return d.env.RelationName(n.table)
	}
	return types.Record.SQLName
}
