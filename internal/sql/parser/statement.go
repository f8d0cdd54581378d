package parser

import "github.com/lichendb/lichen/internal/sql/ast"

func (p *parser) statement() ast.Statement {
	return p.preparable()
}
