package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
)

// indexElems parses ( index_params ).
func (p *parser) indexElems() []ast.IndexElem { return p.elems(true) }

// elems parses the keys of an index or, without orders, of a partitioning.
func (p *parser) elems(ordered bool) []ast.IndexElem {
	p.expect('(')
	var list []ast.IndexElem
	for {
		list = p.indexElem(list, ordered)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// indexElem parses an index key and appends it; a hash group of the dialect,
// ((a, b) HASH), appends several.
func (p *parser) indexElem(list []ast.IndexElem, ordered bool) []ast.IndexElem {
	e := ast.IndexElem{Loc: p.loc()}
	if p.startsHashGroup() && p.extends(ExtHashKey) {
		return p.hashGroup(list)
	}
	p.keyExpr(&e)
	p.indexElemOptions(&e, ordered)
	return append(list, e)
}

// keyExpr parses a column, a function's call or an expression in parentheses.
func (p *parser) keyExpr(e *ast.IndexElem) {
	switch {
	case p.tok.kind == '(':
		p.advance()
		if p.startsQuery() { // a query needs parentheses of its own
			p.syntaxError()
			return
		}
		e.X = p.expr()
		p.expect(')')
	case p.startsFuncTable():
		e.X = p.tableFunc()
	default:
		e.Column = p.colID()
		if p.tok.kind == '.' || p.tok.kind == '[' { // of a function's name, without parentheses
			p.notAName()
		}
	}
}

// startsHashGroup reports whether (names) HASH comes next.
func (p *parser) startsHashGroup() bool {
	if p.tok.kind != '(' {
		return false
	}
	l := p.scan()
	for isColID(l.next().kind) {
		switch l.next().kind {
		case ',':
		case ')':
			return p.tokenIsWord(l.next(), "hash")
		default:
			return false
		}
	}
	return false
}

// hashGroup parses (names) HASH.
func (p *parser) hashGroup(list []ast.IndexElem) []ast.IndexElem {
	n := 1
	if len(list) > 0 {
		n += list[len(list)-1].Group
	}
	p.advance()
	for {
		e := ast.IndexElem{Loc: p.loc(), Hash: true, Group: n}
		e.Column = p.colID()
		list = append(list, e)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	p.advance() // hash
	return list
}

// indexElemOptions parses collation, operator class and order of a key.
func (p *parser) indexElemOptions(e *ast.IndexElem, ordered bool) {
	if p.accept(kwCollate) {
		e.Collate = p.anyName()
	}
	nulls := p.tok.kind == kwNulls && (p.peek() == kwFirst || p.peek() == kwLast)
	switch {
	case p.isWord("hash") && p.peek() != '.' && p.extends(ExtHashKey):
		p.advance()
		e.Hash = true
	case isColID(p.tok.kind) && !nulls:
		e.OpClass = p.anyName()
		if p.tok.kind == '(' && ordered {
			e.OpArgs = p.storageParams()
		}
	}
	if ordered {
		e.Dir = p.direction()
		e.Nulls = p.nullsOrder()
	}
}

// keyElems parses the ( columns ) of a key constraint, with the orders and hash
// marks of the dialects.
func (p *parser) keyElems() []ast.IndexElem {
	p.expect('(')
	var list []ast.IndexElem
	for {
		if p.startsHashGroup() && p.extends(ExtHashKey) {
			list = p.hashGroup(list)
		} else {
			e := ast.IndexElem{Loc: p.loc()}
			e.Column = p.colID()
			p.keyOrder(&e)
			list = append(list, e)
		}
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// keyOrder parses the hash mark and the order of a column of a key constraint.
func (p *parser) keyOrder(e *ast.IndexElem) {
	if p.isWord("hash") && p.extends(ExtHashKey) {
		p.advance()
		e.Hash = true
	}
	switch p.tok.kind {
	case kwAsc, kwDesc, kwNulls:
		if p.extends(ExtKeyOrder) {
			e.Dir = p.direction()
			e.Nulls = p.nullsOrder()
		}
	}
}

// storageParams parses reloptions: ( name [= value], ... ).
func (p *parser) storageParams() []ast.StorageParam {
	p.expect('(')
	var list []ast.StorageParam
	for {
		s := ast.StorageParam{Loc: p.loc()}
		s.Name = p.colLabel()
		if p.accept('.') {
			s.Namespace, s.Name = s.Name, p.colLabel()
		}
		if p.accept('=') {
			s.Value = p.defArg()
		}
		if s.Value != nil && p.tok.kind == tokCast && p.extends(ExtAnnotation) {
			s.Value = p.cast(s.Value)
		}
		list = append(list, s)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

// defArg parses the value of a storage parameter: a number, a string, or a word,
// a type or an operator as a string.
func (p *parser) defArg() ast.Expr {
	switch p.tok.kind {
	case '+', '-':
		if k := p.peek(); k != tokInt && k != tokNum {
			break
		}
		return p.numericOnly()
	case tokInt, tokNum:
		return p.numericOnly()
	case tokString:
		return p.strLit()
	}
	loc, start := p.loc(), p.tok.start
	switch next := p.peek(); {
	case p.tok.kind == kwOperator && next == '(', !isColLabel(p.tok.kind):
		p.operator()
	case (next == ',' || next == ')') && isFuncName(p.tok.kind), p.tok.kind == kwNone, isReserved(p.tok.kind):
		return &ast.StrLit{Loc: loc, Val: p.colLabel()}
	default:
		p.typeName()
	}
	if p.err != nil {
		return nil
	}
	return &ast.StrLit{Loc: loc, Val: p.lex.sql[start:p.prevEnd]}
}

// strLit parses a string constant as a literal.
func (p *parser) strLit() ast.Expr {
	loc := p.loc()
	return &ast.StrLit{Loc: loc, Val: p.str()}
}

// numericOnly parses a number with an optional sign.
func (p *parser) numericOnly() ast.Expr {
	loc := p.loc()
	neg := p.tok.kind == '-'
	if neg || p.tok.kind == '+' {
		p.advance()
	}
	if p.tok.kind != tokInt && p.tok.kind != tokNum {
		p.syntaxError()
		return nil
	}
	x := p.primary()
	if neg {
		return negate(loc, x)
	}
	return x
}

// createIndex parses CREATE INDEX from UNIQUE, INVERTED or INDEX on.
func (p *parser) createIndex(loc ast.Loc) ast.Statement {
	s := &ast.CreateIndex{Loc: loc}
	s.Unique = p.accept(kwUnique)
	s.Inverted = p.acceptWord("inverted")
	p.expect(kwIndex)
	s.Concurrently = p.accept(kwConcurrently)
	if !s.Concurrently && p.isWord("nonconcurrently") && p.peek() != kwOn && p.extends(ExtNonconcurrently) {
		p.advance()
	}
	if p.ifNotExists() {
		s.IfNotExists = true
		s.Name = p.colID()
	} else if p.tok.kind != kwOn {
		s.Name = p.colID()
	}
	p.expect(kwOn)
	s.Table.Loc = p.loc()
	p.relationName(&s.Table)
	if p.accept(kwUsing) {
		s.Method = p.colID()
	}
	s.Keys = p.indexElems()
	if p.tok.kind == kwUsing && p.extends(ExtHashSharded) {
		p.advance()
		p.hashSharding(&s.Sharded, &s.Buckets)
	}
	s.Include = p.includeElems()
	s.NullsNotDistinct = p.nullsNotDistinct()
	if p.accept(kwWith) {
		s.With = p.storageParams()
		p.takeBuckets(&s.With, s.Sharded, &s.Buckets)
	}
	if p.accept(kwTablespace) {
		s.Tablespace = p.colID()
	}
	p.refusePlacement()
	p.indexPartitions()
	p.splits(&s.SplitInto, &s.SplitAt)
	if p.accept(kwWhere) {
		s.Where = p.expr()
	}
	p.splits(&s.SplitInto, &s.SplitAt)
	p.indexVisibility()
	return s
}

// indexPartitions refuses the dialect's PARTITION BY of an index.
func (p *parser) indexPartitions() {
	if p.tok.kind == kwPartition && p.extends(ExtPartitions) {
		p.unsupported(p.pos(), "PARTITION BY of an index")
	}
}

// indexVisibility refuses the dialect's NOT VISIBLE of an index.
func (p *parser) indexVisibility() {
	if p.isNotVisible() && p.extends(ExtNotVisible) {
		p.unsupported(p.pos(), "NOT VISIBLE of an index")
	}
}

// includeCols parses INCLUDE, or the dialect's STORING and COVERING.
func (p *parser) includeCols() []ast.Name {
	if p.tok.kind == kwInclude ||
		(p.isWord("storing") || p.isWord("covering")) && p.peek() == '(' && p.extends(ExtStoring) {
		p.advance()
		return p.parenNames()
	}
	return nil
}

// includeElems is includeCols of CREATE INDEX, where the grammar has index keys.
func (p *parser) includeElems() []ast.IndexElem {
	if p.tok.kind == kwInclude {
		p.advance()
		return p.indexElems()
	}
	var cols []ast.IndexElem
	for _, name := range p.includeCols() {
		cols = append(cols, ast.IndexElem{Column: name})
	}
	return cols
}

// nullsNotDistinct parses NULLS [NOT] DISTINCT.
func (p *parser) nullsNotDistinct() bool {
	if p.tok.kind != kwNulls {
		return false
	}
	p.advance()
	not := p.accept(kwNot)
	p.expect(kwDistinct)
	return not
}

// hashSharding parses the dialect's HASH [WITH BUCKET_COUNT = n] after USING.
func (p *parser) hashSharding(sharded *bool, buckets *ast.Expr) {
	if !p.acceptWord("hash") {
		p.syntaxError()
		return
	}
	*sharded = true
	if p.tok.kind == kwWith && p.tokenIsWord(p.peekToken(), "bucket_count") {
		p.advance()
		p.bucketCount(buckets)
	}
}

// bucketCount parses BUCKET_COUNT = n.
func (p *parser) bucketCount(buckets *ast.Expr) {
	if !p.acceptWord("bucket_count") {
		p.syntaxError()
		return
	}
	p.expect('=')
	*buckets = p.numericOnly()
}

// takeBuckets moves the bucket count of a sharded index out of its storage
// parameters, so that both spellings give one tree.
func (p *parser) takeBuckets(with *[]ast.StorageParam, sharded bool, buckets *ast.Expr) {
	if !sharded {
		return
	}
	for i, s := range *with {
		if s.Name == "bucket_count" && s.Namespace == "" && s.Value != nil {
			*buckets = s.Value
			*with = append((*with)[:i:i], (*with)[i+1:]...)
			if len(*with) == 0 {
				*with = nil
			}
			return
		}
	}
}

// splits parses the dialect's SPLIT INTO n TABLETS and SPLIT AT VALUES (...).
func (p *parser) splits(into *ast.Expr, at *[][]ast.Expr) {
	if !p.isWord("split") || !p.extends(ExtSplit) {
		return
	}
	switch next := p.peekToken(); {
	case next.kind == kwInto:
		p.advance()
		p.advance()
		*into = p.numericOnly()
		if !p.acceptWord("tablets") {
			p.syntaxError()
		}
	case next.kind == kwAt:
		p.advance()
		p.advance()
		p.expect(kwValues)
		p.expect('(')
		for {
			*at = append(*at, p.parenExprList())
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
}
