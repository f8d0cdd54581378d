package copyio

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/copyfmt"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Options reads the options of COPY and checks that they fit together. Text is in the encoding of
// the client unless an option says otherwise.
func Options(st *ast.Copy, root *plan.Copy, client *charset.Encoding) (*copyfmt.Options, error) {
	o := &copyfmt.Options{Encoding: client}
	var encoding *charset.Encoding
	for i, opt := range st.Options {
		name := string(opt.Name)
		if slices.ContainsFunc(st.Options[:i], func(other ast.Option) bool { return other.Name == opt.Name }) {
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(opt.Pos)
		}
		switch name {
		case "force_quote", "force_not_null", "force_null":
			set, err := columns(opt, root)
			if err != nil {
				return nil, err
			}
			o.SetColumns(name, set)
			continue
		}
		text := "true"
		if opt.Value != nil {
			var err error
			if text, err = ast.LiteralText(opt.Value); err != nil {
				return nil, err
			}
		}
		if name == "encoding" {
			if encoding = charset.Find(text); encoding == nil {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "argument to option \"encoding\" must be a valid encoding name").At(opt.Pos)
			}
			continue
		}
		if err := o.Set(name, text); err != nil {
			return nil, pgerr.From(err).At(opt.Pos)
		}
	}
	if err := o.Validate(root.From); err != nil || encoding == nil || o.Binary() { // text in the binary format is the client's
		return o, err
	}
	if !encoding.Supported() {
		return nil, encoding.Unsupported()
	}
	if o.Encoding = encoding; encoding.Plain() {
		o.Encoding = nil
	}
	return o, nil
}

// columns resolves the columns of FORCE_QUOTE and the like.
func columns(opt ast.Option, root *plan.Copy) ([]bool, error) {
	cols := root.Columns
	set := make([]bool, len(cols))
	switch v := opt.Value.(type) {
	case *ast.ColumnRef:
		for i := range set {
			set[i] = true
		}
	case *ast.Row:
		for _, e := range v.Elems {
			name, err := ast.LiteralText(e)
			if err != nil {
				return nil, err
			}
			i := slices.IndexFunc(cols, func(c plan.Column) bool { return c.Name == name })
			if i < 0 {
				return nil, notCopied(opt, root.Table, name)
			}
			set[i] = true
		}
	}
	return set, nil
}

// notCopied is the error for a column that an option names and COPY does not: of a query if t is nil.
func notCopied(opt ast.Option, t *catalog.Table, name ast.Name) error {
	if t == nil {
		return pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name)
	}
	if _, ok := t.ColumnByName(name); !ok {
		return t.UndefinedColumn(name)
	}
	return pgerr.New(pgerr.InvalidColumnReference, "%s column \"%s\" not referenced by COPY", strings.ToUpper(opt.Name), name)
}
