package sql

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/kverror"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/prepared"
)

// parse parses what a client sent. What the tree of a long text, and the plans that are made
// of it, take counts against the node's memory until nothing refers to the text any more.
func (ex *executor) parse(text string) (stmts []parser.Statement, warnings []*pgerr.Error, err error) {
	o := ex.stringOptions()
	if len(text) < prepared.LongText {
		return parser.ParseStrings(text, o)
	}
	ctx := ex.begin(text)
	defer ex.end()
	mem, held := quota.NewValues(ex.srv.cfg.Mem), int64(0)
	o.Step = func(bytes int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := mem.Reserve(int64(bytes)); err != nil {
			return kverror.Translate(ctx, err)
		}
		held += int64(bytes)
		return nil
	}
	if stmts, warnings, err = parser.ParseStrings(text, o); err != nil {
		mem.Release(held)
		return nil, warnings, err
	}
	mem.Bind(text, held)
	return stmts, warnings, nil
}
