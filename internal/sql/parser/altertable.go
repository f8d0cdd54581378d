package parser

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// alterTable parses ALTER TABLE after the word TABLE.
func (p *parser) alterTable(loc ast.Loc, k ast.ObjectKind) ast.Statement {
	s := &ast.AlterTable{Loc: loc, Kind: k}
	s.IfExists = p.ifExists()
	if k == ast.ObjTable || k == ast.ObjForeignTable {
		var rel ast.TableRef
		p.relationName(&rel)
		s.Only, s.Name = rel.Only, rel.Name
	} else {
		s.Name = p.tableName()
	}
	src := ast.RangeSource{Kind: k, Name: s.Name}
	if k == ast.ObjIndex && p.isIndexName() {
		p.advance()
		src.Index = p.colLabel()
		s.Name.Table = src.Index // what else ALTER INDEX does to it
	}
	if k == ast.ObjTable || k == ast.ObjIndex {
		if x := p.alterRanges(loc, src, s.IfExists); x != nil {
			return x
		}
	}
	return p.alterCmds(s)
}

// alterCmds parses the commands of an ALTER TABLE.
func (p *parser) alterCmds(s *ast.AlterTable) ast.Statement {
	p.altering = s.Kind
	for {
		c := &ast.AlterCmd{Loc: p.loc()}
		p.alterCmd(c)
		s.Cmds = append(s.Cmds, c)
		if standsAlone(c.Kind) && (len(s.Cmds) > 1 || p.tok.kind == ',') && !p.extends(ExtAlterList) {
			p.syntaxError()
		}
		if !p.accept(',') {
			return s
		}
	}
}

// standsAlone reports whether PostgreSQL has a command as a statement of its own
// only, not in a list.
func standsAlone(k ast.AlterKind) bool {
	switch k {
	case ast.AlterRename, ast.AlterRenameColumn, ast.AlterRenameConstraint, ast.AlterSetSchema,
		ast.AlterAttachPartition, ast.AlterDetachPartition, ast.AlterDependsOnExtension:
		return true
	}
	return false
}

// alterCmd parses one command.
func (p *parser) alterCmd(c *ast.AlterCmd) {
	k := p.tok.kind
	switch k {
	case kwAdd:
		p.advance()
		p.alterAdd(c)
	case kwDrop:
		p.advance()
		p.alterDrop(c)
	case kwAlter:
		p.advance()
		p.alterAlter(c)
	case kwRename:
		p.advance()
		p.alterRename(c)
	case kwSet:
		p.advance()
		p.alterSet(c)
	case kwReset:
		p.advance()
		c.Kind, c.Params = ast.AlterResetParams, p.storageParams()
	case kwValidate:
		p.advance()
		p.expect(kwConstraint)
		c.Kind, c.Name = ast.AlterValidateConstraint, p.colID()
	case kwOwner:
		p.advance()
		p.expect(kwTo)
		c.Kind, c.Role = ast.AlterOwner, p.roleSpec()
	default:
		p.alterRest(c)
	}
}

// alterAdd parses what follows ADD.
func (p *parser) alterAdd(c *ast.AlterCmd) {
	switch p.tok.kind {
	case kwConstraint, kwCheck, kwPrimary, kwForeign, kwUnique, kwExclude:
		c.Kind, c.Constraint = ast.AlterAddConstraint, p.tableConstraint()
		return
	}
	p.accept(kwColumn)
	c.IfNotExists = p.ifNotExists()
	c.Kind, c.Def = ast.AlterAddColumn, p.columnDef()
}

// alterDrop parses what follows DROP.
func (p *parser) alterDrop(c *ast.AlterCmd) {
	c.Kind = ast.AlterDropColumn
	if p.accept(kwConstraint) {
		c.Kind = ast.AlterDropConstraint
	} else {
		p.accept(kwColumn)
	}
	c.IfExists = p.ifExists()
	c.Name = p.colID()
	c.Cascade, _ = p.dropBehavior()
}

// alterAlter parses what follows ALTER: a column, a constraint, or the
// dialect's PRIMARY KEY.
func (p *parser) alterAlter(c *ast.AlterCmd) {
	if p.accept(kwConstraint) {
		c.Kind, c.Name = ast.AlterAlterConstraint, p.colID()
		c.Constraint = &ast.Constraint{Loc: p.loc(), Kind: ast.ConstrForeignKey}
		p.constraintSpec(c.Constraint)
		if c.Constraint.NotValid {
			p.failf(pgerr.FeatureNotSupported, 0, "FOREIGN KEY constraints cannot be marked NOT VALID")
		}
		p.checkSpec(c.Constraint)
		return
	}
	if p.tok.kind == kwPrimary && p.extends(ExtAlterPrimaryKey) {
		k := &ast.Constraint{Loc: p.loc(), Kind: ast.ConstrPrimaryKey}
		p.advance()
		p.expect(kwKey)
		p.expect(kwUsing)
		p.expect(kwColumns)
		k.Keys = p.keyElems()
		p.keyStorage(k)
		c.Kind, c.Constraint = ast.AlterPrimaryKey, k
		return
	}
	p.accept(kwColumn)
	if p.tok.kind == tokInt {
		c.Number = p.smallInt()
		p.expect(kwSet)
		p.expect(kwStatistics)
		c.Kind, c.X = ast.AlterColumnStatistics, p.statistics()
		return
	}
	c.Name = p.colID()
	switch {
	case p.accept(kwSet):
		p.alterColumnSet(c)
	case p.accept(kwDrop):
		p.alterColumnDrop(c)
	case p.accept(kwAdd):
		c.Kind = ast.AlterColumnAddIdentity
		c.Constraint = &ast.Constraint{Loc: p.loc()}
		p.generated(c.Constraint)
		if p.err == nil && c.Constraint.Kind != ast.ConstrIdentity {
			p.syntaxError()
		}
	case p.is2(kwReset, '('):
		p.advance()
		c.Kind, c.Params = ast.AlterColumnResetParams, p.storageParams()
	case p.tok.kind == kwRestart:
		p.alterIdentity(c)
	case p.tok.kind == kwOptions:
		p.foreignOptions()
	default:
		p.alterColumnType(c)
	}
}

// statistics parses a statistics target.
func (p *parser) statistics() ast.Expr {
	loc := p.loc()
	return &ast.IntLit{Loc: loc, Val: p.signedInt()}
}

// alterColumnType parses TYPE t [COLLATE c] [USING x].
func (p *parser) alterColumnType(c *ast.AlterCmd) {
	p.expect(kwType)
	c.Kind, c.Type = ast.AlterColumnType, p.typeName()
	if p.accept(kwCollate) {
		c.Collate = p.anyName()
	}
	if p.accept(kwUsing) {
		c.X = p.expr()
	}
}

// alterColumnSet parses what follows ALTER column SET.
func (p *parser) alterColumnSet(c *ast.AlterCmd) {
	switch p.tok.kind {
	case kwDefault:
		p.advance()
		c.Kind, c.X = ast.AlterColumnSetDefault, p.expr()
	case kwOn:
		if p.onUpdate() {
			c.Kind, c.X = ast.AlterColumnSetOnUpdate, p.expr()
		}
	case kwNot:
		if p.isNotVisible() && p.extends(ExtNotVisible) {
			p.advance()
			p.advance()
			c.Kind = ast.AlterColumnSetNotVisible
			return
		}
		p.advance()
		p.expect(kwNull)
		c.Kind = ast.AlterColumnSetNotNull
	case kwData:
		p.advance()
		p.alterColumnType(c)
	case kwStatistics:
		p.advance()
		c.Kind, c.X = ast.AlterColumnStatistics, p.statistics()
	case '(':
		c.Kind, c.Params = ast.AlterColumnSetParams, p.storageParams()
	case kwStorage:
		p.advance()
		c.Kind, c.NewName = ast.AlterColumnStorage, p.colID()
	case kwCompression:
		p.advance()
		c.Kind = ast.AlterColumnCompression
		if p.tok.kind == kwDefault {
			c.NewName = p.colLabel()
		} else {
			c.NewName = p.colID()
		}
	default:
		if p.isWord("visible") && p.extends(ExtNotVisible) {
			p.advance()
			c.Kind = ast.AlterColumnSetVisible
			return
		}
		p.identityOption(c)
		p.alterIdentity(c)
	}
}

// alterIdentity parses the options of an identity column, each after SET, and
// RESTART.
func (p *parser) alterIdentity(c *ast.AlterCmd) {
	c.Kind = ast.AlterColumnSetIdentity
	for p.err == nil {
		switch p.tok.kind {
		case kwSet:
			p.advance()
			p.identityOption(c)
		case kwRestart:
			var o ast.SequenceOption
			o.Loc = p.loc()
			p.sequenceOption(&o)
			c.SeqOptions = append(c.SeqOptions, o)
		default:
			return
		}
	}
}

// identityOption parses GENERATED ALWAYS|BY DEFAULT or a sequence option, after
// SET.
func (p *parser) identityOption(c *ast.AlterCmd) {
	if p.accept(kwGenerated) {
		c.AlwaysSet = true
		c.Always = p.accept(kwAlways)
		if !c.Always {
			p.expect(kwBy)
			p.expect(kwDefault)
		}
		return
	}
	o := ast.SequenceOption{Loc: p.loc()}
	if !p.sequenceOption(&o) {
		p.syntaxError()
	}
	c.SeqOptions = append(c.SeqOptions, o)
}

// onUpdate parses the dialect's ON UPDATE of a column; false after a syntax error.
func (p *parser) onUpdate() bool {
	if p.peek() != kwUpdate || !p.extends(ExtOnUpdate) {
		p.syntaxError()
		return false
	}
	p.advance()
	p.advance()
	return true
}

// alterColumnDrop parses what follows ALTER column DROP.
func (p *parser) alterColumnDrop(c *ast.AlterCmd) {
	switch p.tok.kind {
	case kwDefault:
		p.advance()
		c.Kind = ast.AlterColumnDropDefault
	case kwOn:
		if p.onUpdate() {
			c.Kind = ast.AlterColumnDropOnUpdate
		}
	case kwNot:
		p.advance()
		p.expect(kwNull)
		c.Kind = ast.AlterColumnDropNotNull
	case kwExpression:
		p.advance()
		c.Kind = ast.AlterColumnDropExpr
		c.IfExists = p.ifExists()
	case kwIdentity:
		p.advance()
		c.Kind = ast.AlterColumnDropIdentity
		c.IfExists = p.ifExists()
	default:
		p.syntaxError()
	}
}

// alterRename parses what follows RENAME.
func (p *parser) alterRename(c *ast.AlterCmd) {
	switch {
	case p.accept(kwTo):
		c.Kind, c.NewName = ast.AlterRename, p.colID()
		return
	case p.altering == ast.ObjIndex || p.altering == ast.ObjSequence:
		p.syntaxError()
		return
	case p.accept(kwConstraint):
		c.Kind = ast.AlterRenameConstraint
	default:
		p.accept(kwColumn)
		c.Kind = ast.AlterRenameColumn
	}
	c.Name = p.colID()
	p.expect(kwTo)
	c.NewName = p.colID()
}

// alterSet parses what follows SET.
func (p *parser) alterSet(c *ast.AlterCmd) {
	switch {
	case p.tok.kind == '(':
		c.Kind, c.Params = ast.AlterSetParams, p.storageParams()
	case p.accept(kwSchema):
		c.Kind, c.NewName = ast.AlterSetSchema, p.colID()
	case p.accept(kwTablespace):
		c.Kind, c.NewName = ast.AlterSetTablespace, p.colID()
	case p.accept(kwLogged):
		c.Kind = ast.AlterSetLogged
	case p.accept(kwUnlogged):
		c.Kind = ast.AlterSetUnlogged
	case p.accept2(kwWithout, kwCluster):
		c.Kind = ast.AlterSetWithoutCluster
	case p.accept2(kwWithout, kwOids):
		c.Kind = ast.AlterSetWithoutOids
	case p.accept2(kwAccess, kwMethod):
		c.Kind, c.NewName = ast.AlterSetAccessMethod, p.colID()
	case p.isWord("locality") && p.extends(ExtLocality):
		p.unsupported(p.pos(), "SET LOCALITY")
	default:
		p.syntaxError()
	}
}

// alterRest parses the less common commands.
func (p *parser) alterRest(c *ast.AlterCmd) {
	switch {
	case p.accept2(kwCluster, kwOn):
		c.Kind, c.Name = ast.AlterClusterOn, p.colID()
	case p.accept2(kwReplica, kwIdentity):
		p.replicaIdentity(c)
	case p.tok.kind == kwEnable, p.tok.kind == kwDisable:
		p.alterEnable(c)
	case p.tok.kind == kwForce, p.is2(kwNo, kwForce):
		c.Kind, c.NewName = ast.AlterRowSecurity, "force"
		if p.accept(kwNo) {
			c.NewName = "no force"
		}
		p.advance()
		p.expect(kwRow)
		p.expect(kwLevel)
		p.expect(kwSecurity)
	case p.accept(kwInherit):
		c.Kind, c.Table = ast.AlterInherit, p.tableName()
	case p.accept2(kwNo, kwInherit):
		c.Kind, c.Table = ast.AlterNoInherit, p.tableName()
	case p.accept2(kwNot, kwOf):
		c.Kind = ast.AlterNotOf
	case p.accept(kwOf):
		c.Kind, c.Names = ast.AlterOfType, p.anyName()
	case p.accept2(kwAttach, kwPartition):
		c.Kind, c.Table = ast.AlterAttachPartition, p.tableName()
		if p.altering != ast.ObjIndex {
			c.Bound = p.partitionBound()
		}
	case p.accept2(kwDetach, kwPartition):
		c.Kind, c.Table = ast.AlterDetachPartition, p.tableName()
		if p.tok.kind == kwConcurrently || p.tok.kind == kwFinalize {
			c.NewName = p.colLabel()
		}
	case (p.altering == ast.ObjMaterializedView || p.altering == ast.ObjIndex) && (p.tok.kind == kwDepends || p.is2(kwNo, kwDepends)):
		c.No = p.accept(kwNo)
		p.advance()
		p.expect(kwOn)
		p.expect(kwExtension)
		c.Kind, c.Name = ast.AlterDependsOnExtension, p.colID()
	case p.isWord("configure") && p.extends(ExtConfigureZone):
		p.unsupported(p.pos(), "CONFIGURE ZONE")
	case p.tok.kind == kwOptions:
		p.foreignOptions()
	default:
		p.syntaxError()
	}
}

// replicaIdentity parses what follows REPLICA IDENTITY.
func (p *parser) replicaIdentity(c *ast.AlterCmd) {
	c.Kind = ast.AlterReplicaIdentity
	switch p.tok.kind {
	case kwNothing, kwFull, kwDefault:
		c.NewName = p.colLabel()
	default:
		p.expect(kwUsing)
		p.expect(kwIndex)
		c.NewName, c.Name = "index", p.colID()
	}
}

// alterEnable parses ENABLE|DISABLE [REPLICA|ALWAYS] TRIGGER|RULE|ROW LEVEL
// SECURITY.
func (p *parser) alterEnable(c *ast.AlterCmd) {
	c.NewName = p.colLabel()
	plain := true
	if c.NewName == "enable" && (p.tok.kind == kwReplica || p.tok.kind == kwAlways) {
		c.NewName += " " + p.colLabel()
		plain = false
	}
	switch {
	case p.accept(kwTrigger):
		c.Kind = ast.AlterTrigger
		if plain && (p.tok.kind == kwAll || p.tok.kind == kwUser) {
			c.Name = p.colLabel()
			c.No = true
			return
		}
		c.Name = p.colID()
	case p.accept(kwRule):
		c.Kind, c.Name = ast.AlterRule, p.colID()
	default:
		c.Kind = ast.AlterRowSecurity
		p.expect(kwRow)
		p.expect(kwLevel)
		p.expect(kwSecurity)
	}
}

// foreignOptions parses the changes of options that foreign tables have.
func (p *parser) foreignOptions() {
	p.unsupportedLate(p.pos(), "ALTER TABLE ... OPTIONS")
	p.rule("alter_options")
}
