package copyio

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/copyfmt"
	"github.com/lichendb/lichen/internal/sql/ddl"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Options reads the options of COPY and checks that they fit together. Text is in the encoding of
// the client unless an option says otherwise.
func Options(
	st *ast.Copy, cols []plan.Column, from bool, client *charset.Encoding, notice func(severity string, e *pgerr.Error),
) (*copyfmt.Options, error) {
	o := &copyfmt.Options{Encoding: client}
	var encoding *charset.Encoding
	for _, opt := range st.Options {
		name := string(opt.Name)
		switch name {
		case "force_quote", "force_not_null", "force_null":
			set, err := columns(opt, cols)
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
		switch {
		case name == "freeze":
			notice("NOTICE", ddl.CopyFreeze())
		case name == "encoding":
			if encoding = charset.Find(text); encoding == nil {
				return nil, pgerr.New(pgerr.InvalidParameterValue, "argument to option \"encoding\" must be a valid encoding name").At(opt.Pos)
			}
		default:
			if err := o.Set(name, text); err != nil {
				return nil, pgerr.From(err).At(opt.Pos)
			}
		}
	}
	if err := o.Validate(from); err != nil || encoding == nil || o.Binary() { // text in the binary format is the client's
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
func columns(opt ast.Option, cols []plan.Column) ([]bool, error) {
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
			i := 0
			for i < len(cols) && cols[i].Name != name {
				i++
			}
			if i == len(cols) {
				return nil, pgerr.New(pgerr.UndefinedColumn, "column %q does not exist", name).At(e.Position())
			}
			set[i] = true
		}
	}
	return set, nil
}
