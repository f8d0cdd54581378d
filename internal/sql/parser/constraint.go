package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// columnConstraints parses the constraints, collation and family of a column.
func (p *parser) columnConstraints(d *ast.ColumnDef) {
	for p.err == nil {
		switch {
		case p.tok.kind == kwCollate:
			if d.Collate != nil {
				p.failf(pgerr.SyntaxError, p.pos(), "multiple COLLATE clauses not allowed")
				return
			}
			d.CollateAt = p.loc()
			p.advance()
			d.Collate = p.anyName()
		case p.isNotVisible() && d.Name != "" && p.extends(ExtNotVisible): // a domain has no name
			p.advance()
			p.advance()
			d.NotVisible = true
		case (p.tok.kind == kwFamily || p.is2(kwCreate, kwFamily) || p.is2(kwCreate, kwIf)) && p.extends(ExtFamily):
			p.columnFamily(d)
		case p.constraintAttr(d):
		default:
			c := p.columnConstraint()
			if c == nil {
				return
			}
			d.Constraints = append(d.Constraints, c)
		}
	}
}

// isNotVisible reports whether NOT VISIBLE comes next.
func (p *parser) isNotVisible() bool {
	return p.tok.kind == kwNot && p.tokenIsWord(p.peekToken(), "visible")
}

// columnFamily parses the dialect's [CREATE [IF NOT EXISTS]] FAMILY name; after CREATE FAMILY
// there need not be a name.
func (p *parser) columnFamily(d *ast.ColumnDef) {
	f := &ast.ColumnFamily{Loc: p.loc()}
	if f.Create = p.accept(kwCreate); f.Create {
		f.IfNotExists = p.ifNotExists()
	}
	p.expect(kwFamily)
	if !f.Create || f.IfNotExists || isColID(p.tok.kind) {
		f.Name = p.colID()
	}
	if d.Family != nil {
		p.failf(pgerr.SyntaxError, f.Pos, "multiple FAMILY clauses not allowed")
	}
	d.Family = f
}

// constraintAttr parses DEFERRABLE and INITIALLY ... after a column constraint,
// which they belong to.
func (p *parser) constraintAttr(d *ast.ColumnDef) bool {
	word := ""
	switch {
	case p.tok.kind == kwDeferrable:
		word = "DEFERRABLE"
	case p.is2(kwNot, kwDeferrable):
		word = "NOT DEFERRABLE"
	case p.tok.kind == kwInitially:
		word = "INITIALLY DEFERRED"
		if p.peek() == kwImmediate {
			word = "INITIALLY IMMEDIATE"
		}
	default:
		return false
	}
	loc := p.loc()
	var c *ast.Constraint
	if n := len(d.Constraints); n > 0 {
		switch d.Constraints[n-1].Kind {
		case ast.ConstrPrimaryKey, ast.ConstrUnique, ast.ConstrForeignKey, ast.ConstrExclude:
			c = d.Constraints[n-1]
		}
	}
	if c == nil && d.Name == "" { // of a domain
		p.failLate(pgerr.New(pgerr.FeatureNotSupported, "specifying constraint deferrability not supported for domains"), 0)
		c = &ast.Constraint{}
	}
	if c == nil {
		p.failLate(pgerr.New(pgerr.SyntaxError, "misplaced %s clause", word), loc.Pos)
		c = &ast.Constraint{}
	}
	p.deferOnce(c, loc.Pos)
	return true
}

// deferOnce parses one clause of deferral for the constraint of a column, where none of a kind
// comes twice.
func (p *parser) deferOnce(c *ast.Constraint, pos int) {
	saw := ""
	switch initially := p.tok.kind == kwInitially; {
	case initially && (c.InitiallyDeferred || c.InitiallyImmediate):
		saw = "INITIALLY IMMEDIATE/DEFERRED"
	case !initially && (c.Deferrable || c.NotDeferrable):
		saw = "DEFERRABLE/NOT DEFERRABLE"
	}
	if saw != "" {
		p.failf(pgerr.SyntaxError, pos, "multiple %s clauses not allowed", saw)
	}
	p.deferral(c)
}

// deferral parses one of [NOT] DEFERRABLE and INITIALLY DEFERRED|IMMEDIATE into
// c; false when none comes next.
func (p *parser) deferral(c *ast.Constraint) bool {
	pos := p.pos()
	switch {
	case p.accept(kwDeferrable):
		c.Deferrable = true
	case p.accept2(kwNot, kwDeferrable):
		c.NotDeferrable = true
	case p.accept(kwInitially):
		if p.accept(kwImmediate) {
			c.InitiallyImmediate = true
		} else {
			p.expect(kwDeferred)
			c.InitiallyDeferred = true
		}
	default:
		return false
	}
	switch {
	case c.Deferrable && c.NotDeferrable, c.InitiallyDeferred && c.InitiallyImmediate:
		p.failf(pgerr.SyntaxError, pos, "conflicting constraint properties")
	case c.InitiallyDeferred && c.NotDeferrable:
		p.failf(pgerr.SyntaxError, pos, "constraint declared INITIALLY DEFERRED must be DEFERRABLE")
	}
	return true
}

// columnConstraint parses one constraint of a column; nil when none comes next.
func (p *parser) columnConstraint() *ast.Constraint {
	c := &ast.Constraint{Loc: p.loc()}
	if p.accept(kwConstraint) {
		c.Name = p.colID()
	}
	switch p.tok.kind {
	case kwNot:
		p.advance()
		p.expect(kwNull)
		c.Kind = ast.ConstrNotNull
	case kwNull:
		p.advance()
		c.Kind = ast.ConstrNull
	case kwUnique:
		p.advance()
		c.Kind = ast.ConstrUnique
		p.withoutIndex()
		c.NullsNotDistinct = p.nullsNotDistinct()
		p.keyStorage(c)
	case kwPrimary:
		p.advance()
		p.expect(kwKey)
		c.Kind = ast.ConstrPrimaryKey
		p.keyStorage(c)
	case kwCheck:
		p.checkConstraint(c)
		c.NoInherit = p.accept2(kwNo, kwInherit)
	case kwDefault:
		p.advance()
		c.Kind, c.X = ast.ConstrDefault, p.bExpr()
	case kwGenerated:
		p.generated(c)
	case kwOn:
		if p.peek() == kwUpdate && p.extends(ExtOnUpdate) {
			p.advance()
			p.advance()
			c.Kind, c.X = ast.ConstrOnUpdate, p.bExpr()
			break
		}
		return p.noConstraint(c)
	case kwAs:
		if !p.extends(ExtComputed) {
			return p.noConstraint(c)
		}
		p.advance()
		c.Always = true
		p.generatedExpr(c)
	case kwReferences:
		c.Kind = ast.ConstrForeignKey
		p.references(c)
	default:
		return p.noConstraint(c)
	}
	return c
}

// noConstraint ends columnConstraint where none comes next, which is an error
// after its name.
func (p *parser) noConstraint(c *ast.Constraint) *ast.Constraint {
	if c.Name != "" {
		p.syntaxError()
	}
	return nil
}

// keyStorage parses the sharding, WITH and tablespace of a key constraint.
func (p *parser) keyStorage(c *ast.Constraint) {
	if p.tok.kind == kwUsing && p.peek() != kwIndex && p.extends(ExtHashSharded) {
		p.advance()
		p.hashSharding(&c.Sharded, &c.Buckets)
	}
	if p.accept(kwWith) {
		c.With = p.storageParams()
		p.takeBuckets(&c.With, c.Sharded, &c.Buckets)
	}
	if p.is2(kwUsing, kwIndex) {
		p.advance()
		p.advance()
		p.expect(kwTablespace)
		c.Tablespace = p.colID()
	}
	var at [][]ast.Expr
	p.splits(&c.SplitInto, &at)
	if at != nil {
		p.unsupported(p.pos(), "SPLIT AT in a constraint")
	}
}

// withoutIndex refuses the dialect's UNIQUE WITHOUT INDEX.
func (p *parser) withoutIndex() {
	if p.is2(kwWithout, kwIndex) && p.extends(ExtUniqueWithoutIndex) {
		p.unsupported(p.pos(), "UNIQUE WITHOUT INDEX")
	}
}

// checkConstraint parses CHECK (x).
func (p *parser) checkConstraint(c *ast.Constraint) {
	p.advance()
	c.Kind = ast.ConstrCheck
	p.expect('(')
	c.X = p.expr()
	p.expect(')')
}

// generated parses GENERATED ALWAYS|BY DEFAULT AS IDENTITY|(x) STORED.
func (p *parser) generated(c *ast.Constraint) {
	p.expect(kwGenerated)
	pos := p.pos()
	if p.accept(kwAlways) {
		c.Always = true
	} else {
		p.expect(kwBy)
		p.expect(kwDefault)
	}
	p.expect(kwAs)
	if p.accept(kwIdentity) {
		c.Kind = ast.ConstrIdentity
		if p.accept('(') {
			c.Options = p.sequenceOptions()
			p.expect(')')
		}
		return
	}
	p.generatedExpr(c)
	if p.err == nil && !c.Always {
		p.failf(pgerr.SyntaxError, pos, "for a generated column, GENERATED ALWAYS must be specified")
	}
}

// generatedExpr parses (x) STORED, or the dialect's VIRTUAL.
func (p *parser) generatedExpr(c *ast.Constraint) {
	c.Kind = ast.ConstrGenerated
	p.expect('(')
	c.X = p.expr()
	p.expect(')')
	if c.Virtual = p.isWord("virtual") && p.extends(ExtVirtual); c.Virtual {
		p.advance()
	} else {
		p.expect(kwStored)
	}
}

// references parses REFERENCES table [(cols)] [MATCH ...] [ON ...].
func (p *parser) references(c *ast.Constraint) {
	p.expect(kwReferences)
	c.RefTable = p.tableName()
	c.RefCols = p.optParenNames()
	if pos := p.pos(); p.accept(kwMatch) {
		switch {
		case p.accept(kwFull):
			c.Match = ast.MatchFull
		case p.accept(kwPartial):
			p.failf(pgerr.FeatureNotSupported, pos, "MATCH PARTIAL not yet implemented")
		default:
			p.expect(kwSimple)
		}
	}
	for p.accept(kwOn) {
		if p.tok.kind != kwDelete && p.tok.kind != kwUpdate {
			p.syntaxError()
			return
		}
		onDelete := p.tok.kind == kwDelete
		p.advance()
		a, cols := p.refAction()
		if onDelete {
			c.OnDelete, c.DeleteCols = a, cols
		} else {
			if cols != nil {
				p.unsupported(p.pos(), "a column list with SET NULL and SET DEFAULT for ON UPDATE actions")
			}
			c.OnUpdate = a
		}
	}
}

// refAction parses a referential action.
func (p *parser) refAction() (ast.RefAction, []ast.Name) {
	switch {
	case p.accept2(kwNo, kwAction):
		return ast.RefNoAction, nil
	case p.accept(kwRestrict):
		return ast.RefRestrict, nil
	case p.accept(kwCascade):
		return ast.RefCascade, nil
	case p.accept2(kwSet, kwNull):
		return ast.RefSetNull, p.optParenNames()
	case p.accept2(kwSet, kwDefault):
		return ast.RefSetDefault, p.optParenNames()
	}
	p.syntaxError()
	return 0, nil
}

// tableConstraint parses a constraint of a table.
func (p *parser) tableConstraint() *ast.Constraint {
	c := &ast.Constraint{Loc: p.loc()}
	if p.accept(kwConstraint) {
		c.Name = p.colID()
	}
	switch p.tok.kind {
	case kwCheck:
		p.checkConstraint(c)
	case kwUnique, kwPrimary:
		c.Kind = ast.ConstrUnique
		if p.tok.kind == kwPrimary {
			c.Kind = ast.ConstrPrimaryKey
			p.advance()
			p.expect(kwKey)
		} else {
			p.advance()
			p.withoutIndex()
			c.NullsNotDistinct = p.nullsNotDistinct()
		}
		if p.accept2(kwUsing, kwIndex) {
			c.UsingIndex = p.colID()
			break
		}
		c.Keys = p.keyElems()
		c.Include = p.includeCols()
		p.keyStorage(c)
	case kwForeign:
		p.advance()
		p.expect(kwKey)
		c.Kind = ast.ConstrForeignKey
		c.Cols = p.parenNames()
		p.references(c)
	case kwExclude:
		p.exclude(c)
	default:
		p.syntaxError()
		return c
	}
	p.constraintSpec(c)
	p.checkSpec(c)
	return c
}

// checkSpec refuses attributes that the kind of a table's constraint can't have,
// at no position, as PostgreSQL does.
func (p *parser) checkSpec(c *ast.Constraint) {
	kind := map[ast.ConstraintKind]string{
		ast.ConstrCheck: "CHECK", ast.ConstrUnique: "UNIQUE", ast.ConstrPrimaryKey: "PRIMARY KEY",
		ast.ConstrForeignKey: "FOREIGN KEY", ast.ConstrExclude: "EXCLUDE",
	}[c.Kind]
	check := c.Kind == ast.ConstrCheck
	switch {
	case check && (c.Deferrable || c.InitiallyDeferred):
		p.failf(pgerr.FeatureNotSupported, 0, "%s constraints cannot be marked DEFERRABLE", kind)
	case c.NotValid && !check && c.Kind != ast.ConstrForeignKey:
		p.failf(pgerr.FeatureNotSupported, 0, "%s constraints cannot be marked NOT VALID", kind)
	case c.NoInherit && !check:
		p.failf(pgerr.FeatureNotSupported, 0, "%s constraints cannot be marked NO INHERIT", kind)
	}
}

// constraintSpec parses ConstraintAttributeSpec.
func (p *parser) constraintSpec(c *ast.Constraint) {
	for p.err == nil {
		switch {
		case p.deferral(c):
		case p.accept2(kwNot, kwValid):
			c.NotValid = true
		case p.accept2(kwNo, kwInherit):
			c.NoInherit = true
		default:
			return
		}
	}
}

// exclude parses EXCLUDE [USING m] (elem WITH op, ...) ...
func (p *parser) exclude(c *ast.Constraint) {
	p.advance()
	c.Kind = ast.ConstrExclude
	if p.accept(kwUsing) {
		c.Method = p.colID()
	}
	p.expect('(')
	for {
		c.Keys = p.indexElem(c.Keys, true)
		p.expect(kwWith)
		c.ExcludeOps = append(c.ExcludeOps, p.operator())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	c.Include = p.includeCols()
	p.keyStorage(c)
	if p.accept(kwWhere) {
		p.expect('(')
		c.Where = p.expr()
		p.expect(')')
	}
}
