package main

import (
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// verdict is the outcome of Lichen's parser, with what explains a difference.
type verdict struct {
	outcome
	extensions parser.Extensions
	// unread says a statement has no syntax tree, or was refused by an error
	// 0A000: what comes behind was not read.
	unread bool
}

// askLichen parses a text with Lichen's parser.
func askLichen(sql string, strict bool) verdict {
	_, notes, err := parser.ParseNoting(sql, strict)
	v := verdict{extensions: notes.Extensions, unread: notes.Unread}
	if err != nil {
		e := pgerr.From(err)
		v.outcome = outcome{code: string(e.Code), message: e.Message, position: e.Position}
		v.unread = v.unread || e.Code == pgerr.FeatureNotSupported
	}
	return v
}
