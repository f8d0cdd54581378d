package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// overSpec parses what follows OVER: a name or a definition.
func (p *parser) overSpec() *ast.WindowSpec {
	if p.tok.kind == '(' {
		return p.windowSpec(p.loc())
	}
	w := &ast.WindowSpec{Loc: p.loc()}
	w.Name = p.colID()
	return w
}

// windowSpec parses ([name] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) windowSpec(loc ast.Loc) *ast.WindowSpec {
	w := &ast.WindowSpec{Loc: loc}
	p.expect('(')
	switch p.tok.kind {
	case kwPartition, kwRange, kwRows, kwGroups:
	default:
		if isColID(p.tok.kind) {
			w.Ref = p.colID()
		}
	}
	if p.accept(kwPartition) {
		p.expect(kwBy)
		w.PartitionBy = p.exprList()
	}
	if p.tok.kind == kwOrder {
		w.OrderBy = p.orderBy()
	}
	switch p.tok.kind {
	case kwRange, kwRows, kwGroups:
		w.Frame = p.frame()
	}
	p.expect(')')
	return w
}

// frame parses a window's frame clause.
func (p *parser) frame() *ast.Frame {
	f := &ast.Frame{Loc: p.loc()}
	switch p.tok.kind {
	case kwRows:
		f.Unit = ast.FrameRows
	case kwGroups:
		f.Unit = ast.FrameGroups
	}
	p.advance()
	startPos := p.pos()
	if p.tok.kind == kwBetween && p.peek() != kwAnd { // with AND it is a column
		p.advance()
		startPos = p.pos()
		f.Start = p.frameBound()
		p.expect(kwAnd)
		endPos := p.pos()
		f.End = p.frameBound()
		p.checkFrame(f, startPos, endPos)
	} else {
		f.Short, f.Start = true, p.frameBound()
		f.End = ast.FrameBound{Kind: ast.CurrentRow}
		switch f.Start.Kind {
		case ast.UnboundedFollowing:
			p.failf(pgerr.WindowingError, startPos, "frame start cannot be UNBOUNDED FOLLOWING")
		case ast.OffsetFollowing:
			p.failf(pgerr.WindowingError, startPos, "frame starting from following row cannot end with current row")
		}
	}
	if p.accept(kwExclude) {
		f.Exclusion = p.frameExclusion()
	}
	return f
}

// checkFrame refuses frames whose ends are in the wrong order.
func (p *parser) checkFrame(f *ast.Frame, startPos, pos int) {
	s, e := f.Start.Kind, f.End.Kind
	var msg string
	switch {
	case s == ast.UnboundedFollowing:
		msg, pos = "frame start cannot be UNBOUNDED FOLLOWING", startPos
	case e == ast.UnboundedPreceding:
		msg = "frame end cannot be UNBOUNDED PRECEDING"
	case s == ast.CurrentRow && e == ast.OffsetPreceding:
		msg = "frame starting from current row cannot have preceding rows"
	case s == ast.OffsetFollowing && (e == ast.OffsetPreceding || e == ast.CurrentRow):
		msg = "frame starting from following row cannot have preceding rows"
	default:
		return
	}
	p.failf(pgerr.WindowingError, pos, "%s", msg)
}

// frameBound parses one end of a frame.
func (p *parser) frameBound() ast.FrameBound {
	var b ast.FrameBound
	switch {
	case p.tok.kind == kwUnbounded && (p.peek() == kwPreceding || p.peek() == kwFollowing):
		p.advance()
		if p.tok.kind == kwFollowing {
			b.Kind = ast.UnboundedFollowing
		}
		p.advance()
		return b
	case p.accept2(kwCurrent, kwRow):
		b.Kind = ast.CurrentRow
		return b
	}
	b.Offset = p.expr()
	switch p.tok.kind {
	case kwPreceding:
		b.Kind = ast.OffsetPreceding
	case kwFollowing:
		b.Kind = ast.OffsetFollowing
	default:
		p.syntaxError()
		return b
	}
	p.advance()
	return b
}

// frameExclusion parses what follows EXCLUDE.
func (p *parser) frameExclusion() ast.FrameExclusion {
	switch {
	case p.accept2(kwCurrent, kwRow):
		return ast.ExcludeCurrentRow
	case p.accept(kwGroup):
		return ast.ExcludeGroup
	case p.accept(kwTies):
		return ast.ExcludeTies
	case p.accept2(kwNo, kwOthers):
		return ast.ExcludeNoOthers
	}
	p.syntaxError()
	return 0
}
