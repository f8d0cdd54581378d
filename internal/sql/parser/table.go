package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// createTable parses CREATE TABLE after the word TABLE, and CREATE TABLE AS.
func (p *parser) createTable(loc ast.Loc, persistence ast.Persistence) ast.Statement {
	s := &ast.CreateTable{Loc: loc, Persistence: persistence}
	s.IfNotExists = p.ifNotExists()
	s.Name = p.tableName()
	switch {
	case p.accept(kwOf):
		s.OfType = p.anyName()
		s.Defs = p.optTypedDefs()
	case p.accept2(kwPartition, kwOf):
		parent := p.tableName()
		s.PartitionOf = &parent
		s.Defs = p.optTypedDefs()
		s.Bound = p.partitionBound()
	case p.tok.kind != '(' || p.listOfNames():
		return p.createTableAs(s)
	default:
		p.tableDefs(s)
	}
	if p.tok.kind == kwInherits {
		p.advance()
		p.expect('(')
		s.Inherits = p.tableNames()
		p.expect(')')
	}
	if p.tok.kind == kwPartition {
		s.PartitionBy = p.partitions()
	}
	if p.accept(kwUsing) {
		s.Using = p.colID()
	}
	s.With = p.tableWith()
	s.OnCommit = p.onCommit()
	if p.accept(kwTablespace) {
		s.Tablespace = p.colID()
	}
	p.splits(&s.SplitInto, &s.SplitAt)
	p.refusePlacement()
	return s
}

// listOfNames tells the column names of CREATE TABLE t (a, b) AS from column
// definitions.
func (p *parser) listOfNames() bool {
	l := p.scan()
	if !isColID(l.next().kind) {
		return false
	}
	k := l.next().kind
	return k == ',' || k == ')'
}

// createTableAs parses the rest of CREATE TABLE AS, after the name.
func (p *parser) createTableAs(t *ast.CreateTable) ast.Statement {
	s := &ast.CreateTableAs{Loc: t.Loc, Persistence: t.Persistence, IfNotExists: t.IfNotExists, Name: t.Name}
	s.Cols = p.optParenNames()
	if p.accept(kwUsing) {
		s.Using = p.colID()
	}
	s.With = p.tableWith()
	s.OnCommit = p.onCommit()
	if p.accept(kwTablespace) {
		s.Tablespace = p.colID()
	}
	p.expect(kwAs)
	if p.tok.kind == kwExecute {
		s.Query = p.execute()
	} else {
		s.Query = p.query()
	}
	s.WithData = p.withData()
	return s
}

// withData parses WITH [NO] DATA; the default is WITH DATA.
func (p *parser) withData() bool {
	if !p.accept(kwWith) {
		return true
	}
	no := p.accept(kwNo)
	p.expect(kwData)
	return !no
}

// tableWith parses WITH (params) or WITHOUT OIDS.
func (p *parser) tableWith() []ast.StorageParam {
	switch {
	case p.accept(kwWith):
		return p.storageParams()
	case p.accept2(kwWithout, kwOids):
	}
	return nil
}

// onCommit parses ON COMMIT DROP|DELETE ROWS|PRESERVE ROWS.
func (p *parser) onCommit() ast.OnCommit {
	if !p.accept2(kwOn, kwCommit) {
		return ast.OnCommitDefault
	}
	switch {
	case p.accept(kwDrop):
		return ast.OnCommitDrop
	case p.accept2(kwDelete, kwRows):
		return ast.OnCommitDelete
	}
	p.expect(kwPreserve)
	p.expect(kwRows)
	return ast.OnCommitPreserve
}

// tableDefs parses the ( elements ) of CREATE TABLE.
func (p *parser) tableDefs(s *ast.CreateTable) {
	p.expect('(')
	if p.accept(')') {
		return
	}
	for {
		s.Defs = append(s.Defs, p.tableDef())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
}

// tableDef parses a column, a constraint, LIKE, or an element of the dialects.
func (p *parser) tableDef() ast.TableDef {
	switch p.tok.kind {
	case kwLike:
		return p.likeClause()
	case kwUnique:
		if p.peek() == kwIndex && p.extends(ExtInlineIndex) {
			return p.inlineIndex()
		}
		return p.tableConstraint()
	case kwConstraint, kwCheck, kwPrimary, kwForeign, kwExclude:
		if p.tok.kind != kwExclude || p.peek() == kwUsing || p.peek() == '(' {
			return p.tableConstraint()
		}
	case kwIndex:
		if p.namesInlineDef(p.scan()) && p.extends(ExtInlineIndex) {
			return p.inlineIndex()
		}
	case tokIdent, kwFamily:
		if d := p.dialectDef(); d != nil {
			return d
		}
	}
	return p.columnDef()
}

// dialectDef parses INVERTED INDEX and FAMILY elements; nil when the next token
// is an ordinary column.
func (p *parser) dialectDef() ast.TableDef {
	switch {
	case p.isWord("inverted") && p.peek() == kwIndex:
		l := p.scan()
		l.next()
		if p.namesInlineDef(l) && p.extends(ExtInlineIndex) {
			return p.inlineIndex()
		}
	case p.isWord("vector") && p.peek() == kwIndex:
		l := p.scan()
		l.next()
		if p.namesInlineDef(l) && p.extends(ExtInlineIndex) {
			p.unsupported(p.pos(), "VECTOR INDEX")
		}
	case p.tok.kind == kwFamily && p.namesInlineDef(p.scan()) && p.extends(ExtFamily):
		f := &ast.FamilyDef{Loc: p.loc()}
		p.advance()
		if p.tok.kind != '(' {
			f.Name = p.colID()
		}
		f.Cols = p.parenNames()
		return f
	}
	return nil
}

// namesInlineDef reports whether [name] ( or [name] USING follows, where name is no type: that
// makes INDEX and FAMILY more than a column's name.
func (p *parser) namesInlineDef(l lexer) bool {
	t := l.next()
	if t.kind == '(' || t.kind == kwUsing {
		return true
	}
	if !isColID(t.kind) || isKeyword(t.kind) && class(t.kind) == ast.ColName {
		return false
	}
	next := l.next().kind
	if next == kwUsing {
		return true
	}
	return next == '(' && (p.lex.sql[t.start] == '"' || !modifiableType(t.str))
}

// modifiableType reports whether a word that is no keyword names a type that
// takes modifiers in parentheses.
func modifiableType(w string) bool {
	switch w {
	case "bpchar", "varbit", "timestamptz", "timetz", "string", "bytes", "geometry", "geography", "vector":
		return true
	}
	return false
}

// inlineIndex parses [UNIQUE] [INVERTED] INDEX [name] (cols) of the dialect.
func (p *parser) inlineIndex() ast.TableDef {
	d := &ast.InlineIndex{Loc: p.loc()}
	d.Unique = p.accept(kwUnique)
	d.Inverted = p.acceptWord("inverted")
	p.expect(kwIndex)
	if p.tok.kind != '(' && p.tok.kind != kwUsing {
		d.Name = p.colID()
	}
	if p.accept(kwUsing) {
		d.Method = p.colID()
	}
	d.Keys = p.indexElems()
	if p.accept(kwUsing) {
		p.hashSharding(&d.Sharded, &d.Buckets)
	}
	d.Storing = p.includeCols()
	d.NullsNotDistinct = p.nullsNotDistinct()
	if p.is2(kwWith, '(') {
		p.advance()
		d.With = p.storageParams()
		p.takeBuckets(&d.With, d.Sharded, &d.Buckets)
	}
	p.refusePlacement()
	p.indexPartitions()
	if p.accept(kwWhere) {
		d.Where = p.expr()
	}
	p.indexVisibility()
	return d
}

// likeClause parses LIKE table [INCLUDING|EXCLUDING ...].
func (p *parser) likeClause() ast.TableDef {
	c := &ast.LikeClause{Loc: p.loc()}
	p.advance()
	c.Table = p.tableName()
	for p.tok.kind == kwIncluding || p.tok.kind == kwExcluding {
		including := p.tok.kind == kwIncluding
		p.advance()
		var o ast.LikeOption
		switch p.tok.kind {
		case kwComments:
			o = ast.LikeComments
		case kwCompression:
			o = ast.LikeCompression
		case kwConstraints:
			o = ast.LikeConstraints
		case kwDefaults:
			o = ast.LikeDefaults
		case kwGenerated:
			o = ast.LikeGenerated
		case kwIdentity:
			o = ast.LikeIdentity
		case kwIndexes:
			o = ast.LikeIndexes
		case kwStatistics:
			o = ast.LikeStatistics
		case kwStorage:
			o = ast.LikeStorage
		case kwAll:
			o = ast.LikeAll
		default:
			p.syntaxError()
			return c
		}
		p.advance()
		if including {
			c.Options |= o
		} else {
			c.Options &^= o
		}
	}
	return c
}

// columnDef parses a column with its type and constraints.
func (p *parser) columnDef() *ast.ColumnDef {
	d := &ast.ColumnDef{Loc: p.loc()}
	d.Name = p.colID()
	d.Type = p.typeName()
	if p.accept(kwCompression) {
		if p.tok.kind == kwDefault {
			d.Compression = p.colLabel()
		} else {
			d.Compression = p.colID()
		}
	}
	if p.tok.kind == kwOptions {
		p.advance()
		d.Options = p.genericOptions()
	}
	p.columnConstraints(d)
	return d
}

// genericOptions parses ( name 'value', ... ).
func (p *parser) genericOptions() []ast.Option {
	p.expect('(')
	var list []ast.Option
	for {
		o := ast.Option{Loc: p.loc()}
		o.Name = p.colLabel()
		o.Value = p.strLit()
		list = append(list, o)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// optTypedDefs parses the elements of a typed table or partition, where columns
// have no type.
func (p *parser) optTypedDefs() []ast.TableDef {
	if p.tok.kind != '(' {
		return nil
	}
	p.advance()
	var list []ast.TableDef
	for {
		switch p.tok.kind {
		case kwConstraint, kwCheck, kwPrimary, kwForeign, kwUnique, kwExclude:
			list = append(list, p.tableConstraint())
		default:
			d := &ast.ColumnDef{Loc: p.loc()}
			d.Name = p.colID()
			if p.accept(kwWith) {
				p.expect(kwOptions)
			}
			p.columnConstraints(d)
			list = append(list, d)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// partitions parses PARTITION BY of a table. The dialect has the partitions there too,
// and says PARTITION ALL BY and PARTITION BY NOTHING.
func (p *parser) partitions() *ast.PartitionBy {
	loc := p.pos()
	p.advance()
	if p.tok.kind == kwAll && p.extends(ExtPartitions) {
		p.unsupported(loc, "PARTITION ALL BY")
	}
	p.expect(kwBy)
	if p.tok.kind == kwNothing && p.peek() != '(' && p.extends(ExtPartitions) {
		p.unsupported(loc, "PARTITION BY NOTHING")
	}
	b := p.partitionBy()
	if p.is2('(', kwPartition) && p.extends(ExtPartitions) {
		p.unsupported(loc, "PARTITION BY with partitions")
	}
	return b
}

// partitionBy parses strategy (keys).
func (p *parser) partitionBy() *ast.PartitionBy {
	b := &ast.PartitionBy{Loc: p.loc()}
	b.Strategy = p.colID()
	b.Keys = p.elems(false)
	return b
}

// hashBound parses MODULUS n or REMAINDER n.
func (p *parser) hashBound(b *ast.PartitionBound) {
	pos := p.pos()
	word := p.nonReserved()
	n := p.smallInt()
	switch word {
	case "modulus":
		b.Modulus = n
	case "remainder":
		b.Remainder = n
	default:
		p.failf(pgerr.SyntaxError, pos, `unrecognized hash partition bound specification "%s"`, word)
	}
}

// partitionBound parses FOR VALUES ... or DEFAULT.
func (p *parser) partitionBound() *ast.PartitionBound {
	b := &ast.PartitionBound{Loc: p.loc()}
	if p.accept(kwDefault) {
		b.Default = true
		return b
	}
	p.expect(kwFor)
	p.expect(kwValues)
	switch {
	case p.accept(kwIn):
		b.In = p.parenExprList()
	case p.accept(kwFrom):
		b.From = p.parenExprList()
		p.expect(kwTo)
		b.To = p.parenExprList()
	default:
		p.expect(kwWith)
		p.expect('(')
		b.Hash = true
		for {
			p.hashBound(b)
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	return b
}
