package parser

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
)

// alterRanges parses what the dialects have ALTER TABLE and ALTER INDEX do to
// ranges; nil if it is none of that.
func (p *parser) alterRanges(loc ast.Loc, src ast.RangeSource, ifExists bool) ast.Statement {
	switch {
	case p.isConfigureZone():
		return p.configureZone(loc, ast.ZoneTarget{Source: src}, ifExists)
	case p.isExperimental() && p.extends(ExtAlterDialect):
		return p.skipStatement(loc, upper(p.tok.str))
	case ifExists:
	case (p.isWord("split") && (p.peek() == kwAt || p.peek() == kwInto) || p.isWord("unsplit")) && p.extends(ExtSplit):
		return p.split(loc, src)
	case p.isWord("scatter") && p.extends(ExtScatter):
		return p.scatter(loc, src)
	}
	return nil
}

// refusePlacement refuses what the dialects say behind a table or an index about where its rows
// lie.
func (p *parser) refusePlacement() {
	feature := ""
	switch {
	case p.isWord("locality"):
		feature = "LOCALITY"
	case p.isWord("interleave") && p.peek() == kwIn:
		feature = "INTERLEAVE IN PARENT"
	case p.isWord("tablegroup"):
		feature = "TABLEGROUP"
	case p.tok.kind == kwNo && p.tokenIsWord(p.peekToken(), "colocation"):
		feature = "NO COLOCATION"
	}
	if feature != "" && p.extends(ExtLocality) {
		p.unsupported(p.pos(), feature)
	}
}

// isExperimental reports whether one of the dialect's words that begin with EXPERIMENTAL_
// comes next.
func (p *parser) isExperimental() bool {
	return p.isWord(p.tok.str) && strings.HasPrefix(p.tok.str, "experimental_")
}

// split parses SPLIT AT query [WITH EXPIRATION x], SPLIT INTO n TABLETS and UNSPLIT AT
// query|ALL.
func (p *parser) split(loc ast.Loc, src ast.RangeSource) ast.Statement {
	s := &ast.Split{Loc: loc, Source: src, Unsplit: p.isWord("unsplit")}
	p.advance()
	if s.Unsplit && p.accept(kwAll) {
		s.All = true
		return s
	}
	if !s.Unsplit && p.accept(kwInto) {
		s.Into = p.expr()
		if !p.acceptWord("tablets") {
			p.syntaxError()
		}
		return s
	}
	p.expect(kwAt)
	s.Rows = p.query()
	if !s.Unsplit && p.tok.kind == kwWith && p.tokenIsWord(p.peekToken(), "expiration") {
		p.advance()
		p.advance()
		s.Expires = p.expr()
	}
	return s
}

// scatter parses SCATTER [FROM (values) TO (values)].
func (p *parser) scatter(loc ast.Loc, src ast.RangeSource) ast.Statement {
	s := &ast.Scatter{Loc: loc, Source: src}
	p.advance()
	if p.accept(kwFrom) {
		s.From = p.parenExprList()
		p.expect(kwTo)
		s.To = p.parenExprList()
	}
	return s
}

// alterRange parses ALTER RANGE name CONFIGURE ZONE from RANGE on.
func (p *parser) alterRange(loc ast.Loc) ast.Statement {
	p.advance()
	t := ast.ZoneTarget{Range: p.zoneRange()}
	if !p.isConfigureZone() {
		p.syntaxError()
		return nil
	}
	return p.configureZone(loc, t, false)
}

// zoneRange parses the name of a part of the key space.
func (p *parser) zoneRange() ast.Name {
	if p.accept(kwDefault) {
		return "default"
	}
	return p.colID()
}

// isConfigureZone reports whether CONFIGURE ZONE comes next.
func (p *parser) isConfigureZone() bool {
	return p.isWord("configure") && p.peek() == kwZone && p.extends(ExtConfigureZone)
}

// configureZone parses CONFIGURE ZONE USING settings, or DISCARD. USING DEFAULT
// is another way to say DISCARD: everything is inherited again.
func (p *parser) configureZone(loc ast.Loc, t ast.ZoneTarget, ifExists bool) ast.Statement {
	s := &ast.ConfigureZone{Loc: loc, Target: t, IfExists: ifExists}
	p.advance()
	p.advance()
	if p.accept(kwDiscard) {
		s.Discard = true
		return s
	}
	p.expect(kwUsing)
	if p.accept(kwDefault) {
		s.Discard = true
		return s
	}
	for {
		x := ast.ZoneSetting{Loc: p.loc()}
		x.Name = p.zoneVariable()
		p.expect('=')
		if p.tok.kind == kwCopy && p.peek() == kwFrom {
			p.advance()
			p.advance()
			if !p.acceptWord("parent") {
				p.syntaxError()
			}
			x.Copy = true
		} else {
			x.Value = p.expr()
		}
		s.Settings = append(s.Settings, x)
		if !p.accept(',') {
			return s
		}
	}
}

// zoneVariable parses a name with dots.
func (p *parser) zoneVariable() string {
	parts := []string{p.colLabel()}
	for p.accept('.') {
		parts = append(parts, p.colLabel())
	}
	return strings.Join(parts, ".")
}

// showZone parses SHOW ZONE CONFIGURATION FROM|FOR target, from CONFIGURATION on.
func (p *parser) showZone(loc ast.Loc) ast.Statement {
	s := &ast.ShowZone{Loc: loc}
	p.advance()
	if !p.accept(kwFor) {
		p.expect(kwFrom)
	}
	if p.tok.kind == kwRange && (isColID(p.peek()) || p.peek() == kwDefault) {
		p.advance()
		s.Target.Range = p.zoneRange()
		return s
	}
	s.Target.Source = p.rangeSource()
	return s
}

// rangeSource parses [TABLE|INDEX|DATABASE] name[@index].
func (p *parser) rangeSource() ast.RangeSource {
	var src ast.RangeSource
	switch next := p.peek(); {
	case p.tok.kind == kwTable:
		p.advance()
	case p.tok.kind == kwDatabase && isColID(next):
		p.advance()
		src.Kind = ast.ObjDatabase
		src.Name.Loc = p.loc()
		src.Name.Table = p.colID()
		return src
	case p.tok.kind == kwIndex && isColID(next):
		p.advance()
		src.Kind = ast.ObjIndex
	}
	src.Name = p.tableName()
	if p.isIndexName() {
		p.advance()
		src.Kind, src.Index = ast.ObjIndex, p.colLabel()
	}
	return src
}

// showRanges parses SHOW [CLUSTER] RANGES|SURVIVAL [FROM source] [WITH options] from
// RANGES on.
func (p *parser) showRanges(loc ast.Loc, cluster bool) ast.Statement {
	s := &ast.ShowRanges{Loc: loc, Cluster: cluster, Survival: p.isWord("survival")}
	p.advance()
	if !cluster && p.accept(kwFrom) {
		src := p.rangeSource()
		s.Source = &src
	}
	var o ast.ShowObjects
	p.showOptions(&o)
	s.Details = o.WithDetails
	if o.WithComment {
		p.unsupported(loc.Pos, "SHOW RANGES ... WITH COMMENT")
	}
	return s
}

// showRange parses SHOW RANGE FROM source FOR ROW (values) from RANGE on.
func (p *parser) showRange(loc ast.Loc) ast.Statement {
	s := &ast.ShowRanges{Loc: loc}
	p.advance()
	p.expect(kwFrom)
	src := p.rangeSource()
	s.Source = &src
	p.expect(kwFor)
	p.expect(kwRow)
	s.Row = p.parenExprList()
	return s
}

// inspect parses INSPECT TABLE|INDEX|DATABASE name.
func (p *parser) inspect() ast.Statement {
	s := &ast.Inspect{Loc: p.loc()}
	p.advance()
	if p.tok.kind != kwTable && p.tok.kind != kwIndex && p.tok.kind != kwDatabase {
		p.syntaxError()
	}
	s.Source = p.rangeSource()
	return s
}
