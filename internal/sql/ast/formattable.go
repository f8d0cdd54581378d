package ast

func (p *printer) createTable(s *CreateTable) {
	p.w("CREATE ", persistenceWords[s.Persistence], "TABLE ")
	p.ifNotExists(s.IfNotExists)
	p.name(s.Name)
	switch {
	case s.OfType != nil:
		p.w(" OF ")
		p.dotted(s.OfType...)
	case s.PartitionOf != nil:
		p.w(" PARTITION OF ")
		p.name(*s.PartitionOf)
	}
	if s.Defs != nil || s.OfType == nil && s.PartitionOf == nil {
		p.w(" (")
		p.list(len(s.Defs), func(i int) { p.tableDef(s.Defs[i]) })
		p.w(")")
	}
	if s.Bound != nil {
		p.w(" ")
		p.partitionBound(s.Bound)
	}
	if s.Inherits != nil {
		p.w(" INHERITS (")
		p.names(s.Inherits)
		p.w(")")
	}
	if b := s.PartitionBy; b != nil {
		p.w(" PARTITION BY ", QuoteIdent(b.Strategy), " ")
		p.indexElems(b.Keys)
	}
	p.optIdent(" USING ", s.Using)
	p.params(" WITH ", s.With)
	p.w(onCommitWords[s.OnCommit])
	p.optIdent(" TABLESPACE ", s.Tablespace)
	p.split(s.SplitInto, s.SplitAt)
}

// onCommitWords is indexed by OnCommit.
var onCommitWords = [...]string{"", " ON COMMIT PRESERVE ROWS", " ON COMMIT DELETE ROWS", " ON COMMIT DROP"}

// split prints the dialect's SPLIT clauses.
func (p *printer) split(into Expr, at [][]Expr) {
	if into != nil {
		p.clause(" SPLIT INTO ", into)
		p.w(" TABLETS")
	}
	if at != nil {
		p.w(" SPLIT AT VALUES (")
		p.list(len(at), func(i int) { p.parenExprs(at[i]) })
		p.w(")")
	}
}

// params prints (name = value, ...) with the word before it, if there are any.
func (p *printer) params(word string, list []StorageParam) {
	if list == nil {
		return
	}
	p.w(word, "(")
	p.list(len(list), func(i int) {
		s := list[i]
		p.dotted(s.Namespace, s.Name)
		p.clause(" = ", s.Value)
	})
	p.w(")")
}

func (p *printer) tableDef(d TableDef) {
	switch d := d.(type) {
	case *ColumnDef:
		p.columnDef(d)
	case *Constraint:
		p.constraint(d)
	case *LikeClause:
		p.w("LIKE ")
		p.name(d.Table)
		for i, w := range likeOptionWords {
			p.opt(d.Options&(1<<i) != 0, " INCLUDING "+w)
		}
	case *InlineIndex:
		p.inlineIndex(d)
	case *FamilyDef:
		p.w("FAMILY ")
		p.alwaysQuoted(d.Name)
		p.parenIdents("", d.Cols)
	}
}

// likeOptionWords is indexed by the bit of LikeOption.
var likeOptionWords = [...]string{
	"COMMENTS", "COMPRESSION", "CONSTRAINTS", "DEFAULTS", "GENERATED", "IDENTITY", "INDEXES", "STATISTICS", "STORAGE",
}

func (p *printer) inlineIndex(d *InlineIndex) {
	p.opt(d.Unique, "UNIQUE ")
	p.opt(d.Inverted, "INVERTED ")
	p.w("INDEX ")
	p.alwaysQuoted(d.Name)
	if d.Method != "" {
		p.optIdent("USING ", d.Method)
		p.w(" ")
	}
	p.indexElems(d.Keys)
	p.opt(d.Sharded, " USING HASH")
	p.parenIdents(" STORING ", d.Storing)
	p.opt(d.NullsNotDistinct, " NULLS NOT DISTINCT")
	p.indexParams(d.Buckets, d.With)
	p.clause(" WHERE ", d.Where)
}

// indexParams prints the storage parameters of an index. The bucket count of the dialect's
// USING HASH is among them: as what it is given as may be wrong, WITH bucket_count = may not
// do, which takes nothing but a number.
func (p *printer) indexParams(buckets Expr, with []StorageParam) {
	if buckets != nil {
		with = append([]StorageParam{{Name: "bucket_count", Value: buckets}}, with...)
	}
	p.params(" WITH ", with)
}

// alwaysQuoted writes a name in quotes and a space, or nothing for no name: so
// that the name of an inline definition is not taken for a type.
func (p *printer) alwaysQuoted(n Name) {
	if n != "" {
		p.w(Quoted(n), " ")
	}
}

func (p *printer) columnDef(d *ColumnDef) {
	p.ident(d.Name)
	if d.Type != nil {
		p.w(" ")
		p.typeName(d.Type, false)
	}
	p.optIdent(" COMPRESSION ", d.Compression)
	if d.Options != nil {
		p.w(" OPTIONS (")
		p.list(len(d.Options), func(i int) {
			p.ident(d.Options[i].Name)
			p.clause(" ", d.Options[i].Value)
		})
		p.w(")")
	}
	p.collate(d.Collate)
	p.opt(d.NotVisible, " NOT VISIBLE")
	for _, c := range d.Constraints {
		p.w(" ")
		p.constraint(c)
	}
	if f := d.Family; f != nil {
		p.opt(f.Create, " CREATE")
		p.opt(f.IfNotExists, " IF NOT EXISTS")
		p.w(" FAMILY")
		p.optIdent(" ", f.Name)
	}
}

// constraint prints a column or table constraint.
func (p *printer) constraint(c *Constraint) {
	if c.Name != "" {
		p.optIdent("CONSTRAINT ", c.Name)
		p.w(" ")
	}
	switch c.Kind {
	case ConstrNull:
		p.w("NULL")
	case ConstrNotNull:
		p.w("NOT NULL")
	case ConstrDefault:
		p.w("DEFAULT ")
		p.operand(c.X)
	case ConstrOnUpdate:
		p.w("ON UPDATE ")
		p.operand(c.X)
	case ConstrIdentity:
		p.generated(c)
		p.w(" AS IDENTITY")
		if c.Options != nil {
			p.w(" (")
			p.sequenceOptions(c.Options)
			p.w(")")
		}
	case ConstrGenerated:
		p.generated(c)
		p.clause(" AS (", c.X)
		p.w([...]string{") STORED", ") VIRTUAL"}[btoi(c.Virtual)])
	case ConstrCheck:
		p.clause("CHECK (", c.X)
		p.w(")")
	case ConstrPrimaryKey, ConstrUnique:
		p.w([...]string{"UNIQUE", "PRIMARY KEY"}[btoi(c.Kind == ConstrPrimaryKey)])
		p.keyConstraint(c)
	case ConstrForeignKey:
		p.foreignKey(c)
	case ConstrExclude:
		p.exclude(c)
	}
	p.constraintAttrs(c)
}

func (p *printer) generated(c *Constraint) {
	p.w("GENERATED ", [...]string{"BY DEFAULT", "ALWAYS"}[btoi(c.Always)])
}

func (p *printer) keyConstraint(c *Constraint) {
	p.opt(c.NullsNotDistinct, " NULLS NOT DISTINCT")
	if c.UsingIndex != "" {
		p.optIdent(" USING INDEX ", c.UsingIndex)
		return
	}
	if c.Keys != nil {
		p.w(" ")
		p.indexElems(c.Keys)
	}
	p.parenIdents(" INCLUDE ", c.Include)
	p.keyStorage(c)
}

func (p *printer) keyStorage(c *Constraint) {
	p.opt(c.Sharded, " USING HASH")
	p.indexParams(c.Buckets, c.With)
	p.optIdent(" USING INDEX TABLESPACE ", c.Tablespace)
	p.split(c.SplitInto, nil)
}

func (p *printer) foreignKey(c *Constraint) {
	if c.Cols != nil {
		p.parenIdents("FOREIGN KEY ", c.Cols)
		p.w(" ")
	}
	p.w("REFERENCES ")
	p.name(c.RefTable)
	p.parenIdents(" ", c.RefCols)
	p.w([...]string{"", " MATCH FULL"}[c.Match])
	if c.OnDelete != RefNoAction {
		p.w(" ON DELETE ", refActionWords[c.OnDelete])
		p.parenIdents(" ", c.DeleteCols)
	}
	if c.OnUpdate != RefNoAction {
		p.w(" ON UPDATE ", refActionWords[c.OnUpdate])
	}
}

// refActionWords is indexed by RefAction.
var refActionWords = [...]string{"NO ACTION", "RESTRICT", "CASCADE", "SET NULL", "SET DEFAULT"}

func (p *printer) exclude(c *Constraint) {
	p.w("EXCLUDE ")
	if c.Method != "" {
		p.optIdent("USING ", c.Method)
		p.w(" ")
	}
	p.w("(")
	p.list(len(c.Keys), func(i int) {
		p.indexElem(c.Keys[i])
		p.w(" WITH ")
		p.operator(c.ExcludeOps[i])
	})
	p.w(")")
	p.parenIdents(" INCLUDE ", c.Include)
	p.keyStorage(c)
	if c.Where != nil {
		p.clause(" WHERE (", c.Where)
		p.w(")")
	}
}

func (p *printer) constraintAttrs(c *Constraint) {
	p.opt(c.Deferrable, " DEFERRABLE")
	p.opt(c.NotDeferrable, " NOT DEFERRABLE")
	p.opt(c.InitiallyDeferred, " INITIALLY DEFERRED")
	p.opt(c.InitiallyImmediate, " INITIALLY IMMEDIATE")
	p.opt(c.NotValid, " NOT VALID")
	p.opt(c.NoInherit, " NO INHERIT")
}

// indexElems prints ( keys ), with the dialect's hash groups put together.
func (p *printer) indexElems(list []IndexElem) {
	p.w("(")
	for i := 0; i < len(list); i++ {
		if i > 0 {
			p.w(", ")
		}
		if list[i].Group == 0 {
			p.indexElem(list[i])
			continue
		}
		p.w("(")
		for j := i; i < len(list) && list[i].Group == list[j].Group; i++ {
			p.opt(i > j, ", ")
			p.ident(list[i].Column)
		}
		i--
		p.w(") HASH")
	}
	p.w(")")
}

func (p *printer) indexElem(e IndexElem) {
	if f, ok := e.X.(*FuncCall); ok && f.Syntax == SyntaxPlain && f.Over == nil && f.Filter == nil && !f.WithinGroup {
		p.expr(e.X)
	} else if e.X != nil {
		p.w("(")
		p.expr(e.X)
		p.w(")")
	} else {
		p.ident(e.Column)
	}
	p.collate(e.Collate)
	if e.OpClass != nil {
		p.w(" ")
		p.dotted(e.OpClass...)
		p.params(" ", e.OpArgs)
	}
	p.opt(e.Hash && e.Group == 0, " HASH")
	p.direction(e.Dir, e.Nulls)
}

func (p *printer) partitionBound(b *PartitionBound) {
	switch {
	case b.Default:
		p.w("DEFAULT")
	case b.In != nil:
		p.call("FOR VALUES IN ", b.In)
	case b.From != nil:
		p.call("FOR VALUES FROM ", b.From)
		p.call(" TO ", b.To)
	default:
		p.w("FOR VALUES WITH (MODULUS ")
		p.int(b.Modulus)
		p.w(", REMAINDER ")
		p.int(b.Remainder)
		p.w(")")
	}
}

func (p *printer) createTableAs(s *CreateTableAs) {
	p.w("CREATE ", persistenceWords[s.Persistence], [...]string{"TABLE ", "MATERIALIZED VIEW "}[btoi(s.Materialized)])
	p.ifNotExists(s.IfNotExists)
	p.name(s.Name)
	p.parenIdents(" ", s.Cols)
	p.optIdent(" USING ", s.Using)
	p.params(" WITH ", s.With)
	p.w(onCommitWords[s.OnCommit])
	p.optIdent(" TABLESPACE ", s.Tablespace)
	p.w(" AS ")
	p.stmt(s.Query)
	p.opt(!s.WithData, " WITH NO DATA")
}

func (p *printer) createIndex(s *CreateIndex) {
	p.w("CREATE ")
	p.opt(s.Unique, "UNIQUE ")
	p.opt(s.Inverted, "INVERTED ")
	p.w("INDEX ")
	p.opt(s.Concurrently, "CONCURRENTLY ")
	p.ifNotExists(s.IfNotExists)
	if s.Name != "" {
		p.ident(s.Name)
		p.w(" ")
	}
	p.w("ON ")
	p.tableRef(&s.Table)
	p.optIdent(" USING ", s.Method)
	p.w(" ")
	p.indexElems(s.Keys)
	p.opt(s.Sharded, " USING HASH")
	if len(s.Include) > 0 {
		p.w(" INCLUDE ")
		p.indexElems(s.Include)
	}
	p.opt(s.NullsNotDistinct, " NULLS NOT DISTINCT")
	p.indexParams(s.Buckets, s.With)
	p.optIdent(" TABLESPACE ", s.Tablespace)
	p.split(s.SplitInto, s.SplitAt)
	p.clause(" WHERE ", s.Where)
}
