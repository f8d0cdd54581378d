package pgcatalog

import (
	_ "embed" // for standard.txt
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// standardText says what of the SQL standard there is: "feature id name|supported|comment", parts
// alike, "info id name|number|text|comment", "size id name|number|comment". Of the features it lists
// those of Core and the larger others, without their parts.
//
//go:embed standard.txt
var standardText string

// eachStandard calls f for the lines of a kind, with the id and at least n fields.
func eachStandard(kind string, n int, f func(id string, fields []string)) {
	for line := range strings.Lines(standardText) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), kind+" ")
		if !ok {
			continue
		}
		id, text, ok := strings.Cut(rest, " ")
		must.True(ok, "standard.txt: line %q", line)
		fields := strings.Split(text, "|")
		for len(fields) < n {
			fields = append(fields, "")
		}
		f(id, fields)
	}
}

// isFeatures is information_schema.sql_features, isParts sql_parts.
func isFeatures(_ *snapshot, w *writer) error {
	eachStandard("feature", 3, func(id string, f []string) {
		w.str("feature_id", id)
		w.str("feature_name", f[0])
		w.str("sub_feature_id", "")
		w.str("sub_feature_name", "")
		w.str("is_supported", f[1])
		w.str("comments", f[2])
		w.done()
	})
	return nil
}

func isParts(_ *snapshot, w *writer) error {
	eachStandard("part", 3, func(id string, f []string) {
		w.str("feature_id", id)
		w.str("feature_name", f[0])
		w.str("is_supported", f[1])
		w.str("comments", f[2])
		w.done()
	})
	return nil
}

// isImplementation is information_schema.sql_implementation_info.
func isImplementation(s *snapshot, w *writer) error {
	eachStandard("info", 4, func(id string, f []string) {
		w.str("implementation_info_id", id)
		w.str("implementation_info_name", f[0])
		w.standardNumber("integer_value", f[1])
		switch {
		case f[2] == "version" && s.c.h.Setting != nil:
			f[2], _ = s.c.h.Setting("server_version")
			w.str("character_value", f[2])
		case f[1] == "":
			w.str("character_value", f[2])
		}
		w.text("comments", f[3])
		w.done()
	})
	return nil
}

// isSizing is information_schema.sql_sizing.
func isSizing(_ *snapshot, w *writer) error {
	eachStandard("size", 3, func(id string, f []string) {
		w.standardNumber("sizing_id", id)
		w.str("sizing_name", f[0])
		w.standardNumber("supported_value", f[1])
		w.text("comments", f[2])
		w.done()
	})
	return nil
}

// standardNumber sets a column to a number of standard.txt, NULL if it is empty.
func (w *writer) standardNumber(column, text string) {
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(text, 10, 32)
	must.NoError(err, "standard.txt: number %q", text)
	w.num(column, n)
}

// isDataTypePrivileges is information_schema.data_type_privileges: what has types.
func isDataTypePrivileges(s *snapshot, w *writer) error {
	row := func(t *catalog.Table, kind string, id int) {
		s.place(w, "object", t)
		w.str("object_type", kind)
		w.str("dtd_identifier", strconv.Itoa(id))
		w.done()
	}
	for _, d := range s.types() {
		switch def := d.UserType.Def; def.Kind {
		case types.DefComposite:
			for i := range def.Fields {
				row(d, "USER-DEFINED TYPE", i+1)
			}
		case types.DefDomain:
			row(d, "DOMAIN", 1)
		}
	}
	return s.eachColumn(func(t *catalog.Table, c *catalog.Column) { row(t, "TABLE", int(c.Attnum)) })
}

// isColumnColumnUsage is information_schema.column_column_usage: columns that generated ones
// are computed from.
func isColumnColumnUsage(s *snapshot, w *writer) error {
	return s.eachColumn(func(t *catalog.Table, c *catalog.Column) {
		if c.Generated == "" {
			return
		}
		for _, name := range columnsIn(c.Generated) {
			s.place(w, "table", t)
			w.str("column_name", name)
			w.str("dependent_column", c.Name)
			w.done()
		}
	})
}

// columnsIn returns the names of the columns that an expression mentions, each once.
func columnsIn(expr string) []string {
	x, err := parser.ParseExpr(expr)
	if err != nil {
		return nil
	}
	var names []string
	ast.Walk(x, func(n ast.Node) bool {
		if ref, ok := n.(*ast.ColumnRef); ok && !ref.Star && !slices.Contains(names, ref.Column) {
			names = append(names, ref.Column)
		}
		return true
	})
	return names
}
