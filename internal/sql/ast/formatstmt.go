package ast

// stmt prints a statement.
func (p *printer) stmt(s Statement) {
	switch s := s.(type) {
	case *Select:
		p.query(s)
	case *Insert:
		p.insert(s)
	case *Update:
		p.update(s)
	case *Delete:
		p.delete(s)
	case *Merge:
		p.merge(s)
	case *Truncate:
		p.truncate(s)
	case *CreateTable:
		p.createTable(s)
	case *CreateTableAs:
		p.createTableAs(s)
	case *CreateIndex:
		p.createIndex(s)
	case *AlterTable:
		p.alterTable(s)
	case *Explain:
		p.w("EXPLAIN ")
		if s.Options != nil {
			p.options(s.Options)
			p.w(" ")
		}
		p.stmt(s.Stmt)
	case *Prepare:
		p.optIdent("PREPARE ", s.Name)
		if s.Types != nil {
			p.w(" ")
			p.types(s.Types)
		}
		p.w(" AS ")
		p.stmt(s.Stmt)
	case *Execute:
		p.optIdent("EXECUTE ", s.Name)
		if s.Args != nil {
			p.parenExprs(s.Args)
		}
	case *Deallocate:
		p.allOr("DEALLOCATE ", s.All, "ALL", s.Name)
	case *DeclareCursor:
		p.declare(s)
	case *Fetch:
		p.fetch(s)
	case *CloseCursor:
		p.allOr("CLOSE ", s.All, "ALL", s.Name)
	case *Copy:
		p.copy(s)
	case *Unsupported:
		p.w(s.Feature)
		if s.IfExists != "" {
			p.w(" IF EXISTS ")
			p.w(s.IfExists)
		}
	default:
		p.ddl(s)
	}
}

// allOr prints a word and a name, or what stands for all.
func (p *printer) allOr(word string, all bool, allWord string, n Name) {
	p.w(word)
	if all {
		p.w(allWord)
		return
	}
	p.ident(n)
}

// types prints ( types ).
func (p *printer) types(list []*TypeName) {
	p.w("(")
	p.list(len(list), func(i int) { p.typeName(list[i], false) })
	p.w(")")
}

// options prints ( name value, ... ).
func (p *printer) options(list []Option) {
	p.w("(")
	p.list(len(list), func(i int) {
		o := list[i]
		if o.Name == "analyze" {
			p.w(o.Name)
		} else {
			p.ident(o.Name)
		}
		p.clause(" ", o.Value)
	})
	p.w(")")
}

func (p *printer) declare(s *DeclareCursor) {
	p.optIdent("DECLARE ", s.Name)
	p.opt(s.Binary, " BINARY")
	p.w([...]string{"", " INSENSITIVE", " ASENSITIVE"}[s.Insensitive])
	p.w([...]string{"", " SCROLL", " NO SCROLL"}[s.Scroll], " CURSOR")
	p.opt(s.Hold, " WITH HOLD")
	p.opt(s.WithoutHold, " WITHOUT HOLD")
	p.w(" FOR ")
	p.query(s.Query)
}

func (p *printer) fetch(s *Fetch) {
	p.w([...]string{"FETCH ", "MOVE "}[btoi(s.Move)])
	p.w([...]string{"FORWARD ", "BACKWARD ", "ABSOLUTE ", "RELATIVE ", "FORWARD ALL", "BACKWARD ALL"}[s.Direction])
	if s.Direction < FetchAll {
		p.int(int(s.Count))
	}
	p.w(" FROM ")
	p.ident(s.Cursor)
}

func (p *printer) copy(s *Copy) {
	p.w("COPY ")
	if s.Query != nil {
		p.w("(")
		p.stmt(s.Query)
		p.w(")")
	} else {
		p.tableRef(s.Table)
		p.parenIdents(" ", s.Cols)
	}
	p.w([...]string{" TO ", " FROM "}[btoi(s.From)])
	p.opt(s.Program, "PROGRAM ")
	if s.Filename != "" {
		p.str(s.Filename)
	} else {
		p.w([...]string{"STDOUT", "STDIN"}[btoi(s.From)])
	}
	if s.Options != nil {
		p.w(" WITH ")
		p.options(s.Options)
	}
	p.clause(" WHERE ", s.Where)
}

// ddl prints the statements that define objects.
func (p *printer) ddl(s Statement) {
	switch s := s.(type) {
	case *CreateDatabase:
		p.w("CREATE DATABASE ")
		p.ifNotExists(s.IfNotExists)
		p.ident(s.Name)
		p.databaseOptions(s.Options)
	case *DropDatabase:
		p.w("DROP DATABASE ")
		p.ifExists(s.IfExists)
		p.ident(s.Name)
		p.opt(s.Force, " WITH (FORCE)")
		p.cascade(s.Cascade)
		p.opt(s.Restrict, " RESTRICT")
	case *AlterDatabase:
		p.alterDatabase(s)
	case *CreateTablespace:
		p.createTablespace(s)
	case *DropTablespace:
		p.w("DROP TABLESPACE ")
		p.ifExists(s.IfExists)
		p.ident(s.Name)
	case *CreateSchema:
		p.createSchema(s)
	case *AlterObject:
		p.w("ALTER ", s.Kind.String(), " ")
		p.dotted(s.Name...)
		p.optIdent(" RENAME TO ", s.NewName)
		p.optIdent(" SET SCHEMA ", s.NewSchema)
		p.opt(s.Refresh, " REFRESH VERSION")
		if s.Owner != nil {
			p.w(" OWNER TO ")
			p.role(*s.Owner)
		}
	case *Drop:
		p.drop(s)
	case *CreateSequence:
		p.w("CREATE ", persistenceWords[s.Persistence], "SEQUENCE ")
		p.ifNotExists(s.IfNotExists)
		p.name(s.Name)
		p.spacedOptions(s.Options)
	case *AlterSequence:
		p.w("ALTER SEQUENCE ")
		p.ifExists(s.IfExists)
		p.name(s.Name)
		p.spacedOptions(s.Options)
	case *CreateView:
		p.createView(s)
	case *RefreshView:
		p.w("REFRESH MATERIALIZED VIEW ")
		p.opt(s.Concurrently, "CONCURRENTLY ")
		p.name(s.Name)
		p.opt(!s.WithData, " WITH NO DATA")
	case *CreateEnum:
		p.w("CREATE TYPE ")
		p.ifNotExists(s.IfNotExists)
		p.name(s.Name)
		p.w(" AS ENUM (")
		p.list(len(s.Labels), func(i int) { p.str(s.Labels[i]) })
		p.w(")")
	case *CreateComposite, *CreateRange, *CreateCast, *DropCast, *CreateCollation, *CreateDomain, *AlterDomain, *AlterEnum, *AlterComposite:
		p.typeStmt(s)
	case *UpdateExtension:
		p.w("ALTER EXTENSION ")
		p.ident(s.Name)
		p.w(" UPDATE")
		if s.Version != "" {
			p.w(" TO ")
			p.str(s.Version)
		}
	case *CreateExtension:
		p.w("CREATE EXTENSION ")
		p.ifNotExists(s.IfNotExists)
		p.ident(s.Name)
		p.optIdent(" SCHEMA ", s.Schema)
		if s.Version != "" {
			p.w(" VERSION ")
			p.str(s.Version)
		}
		p.cascade(s.Cascade)
	case *Comment:
		p.comment(s)
	case *CreateStatistics:
		p.createStatistics(s)
	case *AlterStatistics:
		p.alterStatistics(s)
	default:
		p.roleStmt(s)
	}
}

// databaseOptions prints the options of CREATE and ALTER DATABASE.
func (p *printer) databaseOptions(list []Option) {
	for _, o := range list {
		p.w(" ")
		switch o.Name {
		case "connection_limit":
			p.w("CONNECTION LIMIT")
		case "encoding", "location", "owner", "tablespace", "template":
			p.w(o.Name)
		default:
			p.quoted(o.Name)
		}
		p.clause(" = ", o.Value)
	}
}

func (p *printer) alterDatabase(s *AlterDatabase) {
	p.optIdent("ALTER DATABASE ", s.Name)
	switch s.Kind {
	case AlterDatabaseOptions:
		p.databaseOptions(s.Options)
	case AlterDatabaseRename:
		p.optIdent(" RENAME TO ", s.NewName)
	case AlterDatabaseOwner:
		p.w(" OWNER TO ")
		p.role(s.Owner)
	case AlterDatabaseSet:
		p.w(" ")
		p.setVar(s.Set)
	case AlterDatabaseSpace:
		p.optIdent(" SET TABLESPACE ", s.NewName)
	case AlterDatabaseRefresh:
		p.w(" REFRESH COLLATION VERSION")
	}
}

func (p *printer) createTablespace(s *CreateTablespace) {
	p.w("CREATE TABLESPACE ")
	p.ident(s.Name)
	if s.Owner != nil {
		p.w(" OWNER ")
		p.role(*s.Owner)
	}
	if s.HasLocation {
		p.w(" LOCATION ")
		p.str(s.Location)
	}
	p.params(" WITH ", s.With)
}

func (p *printer) createSchema(s *CreateSchema) {
	p.w("CREATE SCHEMA ")
	p.ifNotExists(s.IfNotExists)
	if s.Name != "" {
		p.ident(s.Name)
	}
	if s.Owner != nil {
		p.opt(s.Name != "", " ")
		p.w("AUTHORIZATION ")
		p.role(*s.Owner)
	}
	for _, e := range s.Elements {
		p.w(" ")
		p.stmt(e)
	}
}

func (p *printer) drop(s *Drop) {
	p.w("DROP ", s.Kind.String(), " ")
	p.opt(s.Concurrently, "CONCURRENTLY ")
	p.ifExists(s.IfExists)
	p.list(len(s.Names), func(i int) {
		if s.Tables != nil && s.Tables[i].Table != "" {
			p.name(s.Tables[i])
			p.w("@")
			p.ident(s.Names[i].Table)
			return
		}
		p.name(s.Names[i])
	})
	p.cascade(s.Cascade)
	p.opt(s.Restrict, " RESTRICT")
}

// spacedOptions prints sequence options with a space before them.
func (p *printer) spacedOptions(list []SequenceOption) {
	if list != nil {
		p.w(" ")
		p.sequenceOptions(list)
	}
}

// sequenceOptionWords is indexed by SequenceOptionKind.
var sequenceOptionWords = [...]string{
	"AS ", "INCREMENT BY ", "MINVALUE ", "NO MINVALUE", "MAXVALUE ", "NO MAXVALUE", "START WITH ", "RESTART",
	"CACHE ", "CYCLE", "NO CYCLE", "OWNED BY ", "SEQUENCE NAME ",
}

func (p *printer) sequenceOptions(list []SequenceOption) {
	for i, o := range list {
		p.opt(i > 0, " ")
		p.w(sequenceOptionWords[o.Kind])
		switch {
		case o.Kind == SeqOwnedBy && o.Owner == nil:
			p.w("NONE")
		case o.Owner != nil:
			p.dotted(o.Owner...)
		case o.Type != nil:
			p.typeName(o.Type, false)
		case o.Kind == SeqRestart:
			p.clause(" WITH ", o.Value)
		case o.Value != nil:
			p.expr(o.Value)
		}
	}
}

func (p *printer) createView(s *CreateView) {
	p.w("CREATE ")
	p.opt(s.OrReplace, "OR REPLACE ")
	p.w(persistenceWords[s.Persistence])
	p.w("VIEW ")
	p.ifNotExists(s.IfNotExists)
	p.name(s.Name)
	p.parenIdents(" ", s.Cols)
	p.params(" WITH ", s.With)
	p.w(" AS ")
	p.query(s.Query)
	p.w([...]string{"", " WITH LOCAL CHECK OPTION", " WITH CASCADED CHECK OPTION"}[s.Check])
}

func (p *printer) comment(s *Comment) {
	p.w("COMMENT ON ", s.Kind.String(), " ")
	if s.Kind != ObjOperator && s.Kind != ObjCast {
		p.dotted(s.Name...)
	}
	switch {
	case s.Kind == ObjCast:
		p.castTypes(s.Args[0], s.Args[1])
	case s.Kind == ObjOperator:
		n := TableName{Table: s.Name[len(s.Name)-1]}
		if len(s.Name) > 1 {
			n.Schema = s.Name[len(s.Name)-2]
		}
		p.operatorRef(n, s.Prefix, s.Args)
	case s.Kind == ObjAggregate && len(s.Args) == 0:
		p.w("(*)")
	case s.Args != nil:
		p.types(s.Args)
	}
	if s.On != nil {
		p.w(" ON ")
		p.opt(s.Kind == ObjDomainConstraint, "DOMAIN ")
		p.dotted(s.On...)
	}
	p.w(" IS ")
	if s.Null {
		p.w("NULL")
		return
	}
	p.str(s.Text)
}
