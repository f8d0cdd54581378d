package ast

func (p *printer) alterTable(s *AlterTable) {
	p.w("ALTER ", s.Kind.String(), " ")
	p.ifExists(s.IfExists)
	p.opt(s.Only, "ONLY ")
	p.name(s.Name)
	p.w(" ")
	p.list(len(s.Cmds), func(i int) { p.alterCmd(s.Cmds[i]) })
}

// alterCmd prints one command of ALTER TABLE.
func (p *printer) alterCmd(c *AlterCmd) {
	switch c.Kind {
	case AlterAddColumn:
		p.w("ADD COLUMN ")
		p.ifNotExists(c.IfNotExists)
		p.columnDef(c.Def)
	case AlterDropColumn, AlterDropConstraint:
		p.w("DROP ", [...]string{"COLUMN ", "CONSTRAINT "}[btoi(c.Kind == AlterDropConstraint)])
		p.ifExists(c.IfExists)
		p.ident(c.Name)
		p.cascade(c.Cascade)
	case AlterAddConstraint:
		p.w("ADD ")
		p.constraint(c.Constraint)
	case AlterAlterConstraint:
		p.optIdent("ALTER CONSTRAINT ", c.Name)
		p.constraintAttrs(c.Constraint)
	case AlterValidateConstraint:
		p.optIdent("VALIDATE CONSTRAINT ", c.Name)
	case AlterRename:
		p.optIdent("RENAME TO ", c.NewName)
	case AlterRenameColumn, AlterRenameConstraint:
		p.w("RENAME ", [...]string{"COLUMN ", "CONSTRAINT "}[btoi(c.Kind == AlterRenameConstraint)])
		p.ident(c.Name)
		p.optIdent(" TO ", c.NewName)
	case AlterPrimaryKey:
		p.w("ALTER PRIMARY KEY USING COLUMNS ")
		p.indexElems(c.Constraint.Keys)
		p.keyStorage(c.Constraint)
	case AlterOwner:
		p.w("OWNER TO ")
		p.role(c.Role)
	default:
		if c.Kind >= AlterColumnType && c.Kind <= AlterColumnCompression {
			p.alterColumn(c)
			return
		}
		p.alterProperty(c)
	}
}

// alterColumn prints ALTER COLUMN name ...
func (p *printer) alterColumn(c *AlterCmd) {
	p.w("ALTER COLUMN ")
	if c.Name == "" {
		p.int(c.Number)
	} else {
		p.ident(c.Name)
	}
	p.w(" ")
	switch c.Kind {
	case AlterColumnType:
		p.w("TYPE ")
		p.typeName(c.Type, false)
		p.collate(c.Collate)
		p.clause(" USING ", c.X)
	case AlterColumnSetDefault:
		p.clause("SET DEFAULT ", c.X)
	case AlterColumnDropDefault:
		p.w("DROP DEFAULT")
	case AlterColumnSetOnUpdate:
		p.clause("SET ON UPDATE ", c.X)
	case AlterColumnDropOnUpdate:
		p.w("DROP ON UPDATE")
	case AlterColumnSetNotNull:
		p.w("SET NOT NULL")
	case AlterColumnDropNotNull:
		p.w("DROP NOT NULL")
	case AlterColumnSetVisible:
		p.w("SET VISIBLE")
	case AlterColumnSetNotVisible:
		p.w("SET NOT VISIBLE")
	case AlterColumnDropExpr:
		p.w("DROP EXPRESSION")
		p.opt(c.IfExists, " IF EXISTS")
	case AlterColumnAddIdentity:
		p.w("ADD ")
		p.constraint(c.Constraint)
	case AlterColumnSetIdentity:
		p.setIdentity(c)
	case AlterColumnDropIdentity:
		p.w("DROP IDENTITY")
		p.opt(c.IfExists, " IF EXISTS")
	case AlterColumnStatistics:
		p.clause("SET STATISTICS ", c.X)
	case AlterColumnSetParams:
		p.params("SET ", c.Params)
	case AlterColumnResetParams:
		p.params("RESET ", c.Params)
	case AlterColumnStorage:
		p.optIdent("SET STORAGE ", c.NewName)
	case AlterColumnCompression:
		p.optIdent("SET COMPRESSION ", c.NewName)
	}
}

// setIdentity prints the changes to an identity column.
func (p *printer) setIdentity(c *AlterCmd) {
	sep := ""
	if c.AlwaysSet {
		p.w("SET GENERATED ", [...]string{"BY DEFAULT", "ALWAYS"}[btoi(c.Always)])
		sep = " "
	}
	for i, o := range c.SeqOptions {
		p.w(sep)
		p.opt(o.Kind != SeqRestart, "SET ")
		p.sequenceOptions(c.SeqOptions[i : i+1])
		sep = " "
	}
}

// alterProperty prints the commands that change the table as a whole.
func (p *printer) alterProperty(c *AlterCmd) {
	switch c.Kind {
	case AlterSetSchema:
		p.optIdent("SET SCHEMA ", c.NewName)
	case AlterSetParams:
		p.params("SET ", c.Params)
	case AlterResetParams:
		p.params("RESET ", c.Params)
	case AlterClusterOn:
		p.optIdent("CLUSTER ON ", c.Name)
	case AlterSetWithoutCluster:
		p.w("SET WITHOUT CLUSTER")
	case AlterSetWithoutOids:
		p.w("SET WITHOUT OIDS")
	case AlterReplicaIdentity:
		p.w("REPLICA IDENTITY ")
		if c.NewName == "index" {
			p.optIdent("USING INDEX ", c.Name)
			return
		}
		p.w(c.NewName)
	case AlterSetTablespace:
		p.optIdent("SET TABLESPACE ", c.NewName)
	case AlterSetLogged:
		p.w("SET LOGGED")
	case AlterSetUnlogged:
		p.w("SET UNLOGGED")
	case AlterSetAccessMethod:
		p.optIdent("SET ACCESS METHOD ", c.NewName)
	case AlterTrigger:
		p.w(c.NewName, " TRIGGER ")
		if c.No {
			p.w(c.Name)
			return
		}
		p.ident(c.Name)
	case AlterRule:
		p.w(c.NewName)
		p.optIdent(" RULE ", c.Name)
	case AlterRowSecurity:
		p.w(c.NewName, " ROW LEVEL SECURITY")
	default:
		p.alterInheritance(c)
	}
}

// alterInheritance prints the commands about parents, types and partitions.
func (p *printer) alterInheritance(c *AlterCmd) {
	switch c.Kind {
	case AlterInherit:
		p.w("INHERIT ")
		p.name(c.Table)
	case AlterNoInherit:
		p.w("NO INHERIT ")
		p.name(c.Table)
	case AlterOfType:
		p.w("OF ")
		p.dotted(c.Names...)
	case AlterNotOf:
		p.w("NOT OF")
	case AlterAttachPartition:
		p.w("ATTACH PARTITION ")
		p.name(c.Table)
		if c.Bound != nil {
			p.w(" ")
			p.partitionBound(c.Bound)
		}
	case AlterDetachPartition:
		p.w("DETACH PARTITION ")
		p.name(c.Table)
		p.opt(c.NewName != "", " "+c.NewName)
	case AlterDependsOnExtension:
		p.opt(c.No, "NO ")
		p.optIdent("DEPENDS ON EXTENSION ", c.Name)
	}
}
