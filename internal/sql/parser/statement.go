package parser

import "github.com/lichendb/lichen/internal/sql/ast"

// statement parses one statement by its first word.
func (p *parser) statement() ast.Statement {
	switch p.tok.kind {
	case kwSelect, kwInsert, kwUpdate, kwDelete, kwWith, kwValues, kwTable, '(', kwMerge:
		return p.preparable()
	case kwBegin, kwStart:
		return p.begin()
	case kwCommit, kwEnd:
		return p.commit()
	case kwRollback, kwAbort:
		return p.rollback()
	case kwSavepoint:
		return p.savepoint()
	case kwRelease:
		return p.release()
	case kwSet:
		return p.set()
	case kwReset:
		return p.reset()
	case kwShow:
		return p.show()
	case kwCreate:
		return p.create()
	case kwAlter:
		return p.alter()
	case kwDrop:
		return p.drop()
	case kwTruncate:
		return p.truncate()
	case kwExplain:
		return p.explain()
	case kwCopy:
		return p.copy()
	case kwPrepare:
		return p.prepare()
	case kwExecute:
		return p.execute()
	case kwDeallocate:
		return p.deallocate()
	}
	return p.otherStatement()
}

// otherStatement parses the statements that are not frequent.
func (p *parser) otherStatement() ast.Statement {
	switch p.tok.kind {
	case kwDeclare:
		return p.declare()
	case kwFetch, kwMove:
		return p.fetch()
	case kwClose:
		return p.closeCursor()
	case kwVacuum:
		return p.vacuum()
	case kwAnalyze, kwAnalyse:
		return p.analyze()
	case kwReindex:
		return p.reindex()
	case kwCluster:
		return p.cluster()
	case kwCheckpoint:
		return p.checkpoint()
	case kwComment:
		return p.comment()
	case kwLock:
		return p.lock()
	case kwDo:
		return p.do()
	case kwCall:
		return p.callStmt()
	case kwDiscard:
		return p.discard()
	case kwListen:
		return p.listen()
	case kwUnlisten:
		return p.unlisten()
	case kwNotify:
		return p.notify()
	case kwGrant, kwRevoke:
		return p.grant()
	case kwRefresh:
		return p.refresh()
	case kwReassign:
		return p.reassignOwned()
	case kwImport:
		return p.refuseVerb("IMPORT")
	case kwLoad:
		return p.refuseVerb("LOAD")
	case kwSecurity:
		return p.refuseVerb("SECURITY")
	case tokIdent:
		return p.dialectStatement()
	}
	p.syntaxError()
	return nil
}

// refuseVerb reads a statement of a verb of which none is supported.
func (p *parser) refuseVerb(verb string) ast.Statement {
	loc := p.loc()
	p.advance()
	return p.refuse(loc, verb)
}

// dialectStatement parses the statements of the dialects that begin with a word
// that is no keyword.
func (p *parser) dialectStatement() ast.Statement {
	switch {
	case p.isWord("upsert") && p.extends(ExtUpsert):
		return p.insert(nil)
	case p.isWord("use") && p.extends(ExtUse):
		return p.use()
	case (p.isWord("cancel") || p.isWord("pause") || p.isWord("resume")) && p.extends(ExtCancel):
		return p.cancel()
	case p.isWord("inspect") && p.extends(ExtInspect):
		return p.inspect()
	case (p.isWord("backup") || p.isWord("restore")) && p.extends(ExtBackup):
		if p.peek() == kwInto || p.peek() == kwFrom || isColLabel(p.peek()) {
			return p.skipStatement(p.loc(), upper(p.tok.str))
		}
	}
	p.syntaxError()
	return nil
}
