package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/collation"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// collationParams are the attributes of CREATE COLLATION as written, nil where they are not
// given.
type collationParams map[string]*ast.Option

func readCollationParams(st *ast.CreateCollation) (collationParams, error) {
	p := collationParams{
		"from": nil, "locale": nil, "lc_collate": nil, "lc_ctype": nil, "provider": nil, "deterministic": nil, "version": nil,
	}
	for i := range st.Params {
		o := &st.Params[i]
		switch old, ok := p[o.Name]; {
		case !ok:
			return nil, pgerr.New(pgerr.SyntaxError, "collation attribute \"%s\" not recognized", o.Name).At(o.Pos)
		case old != nil:
			return nil, pgerr.New(pgerr.SyntaxError, "conflicting or redundant options").At(o.Pos)
		case o.Value == nil && o.Name != "deterministic":
			return nil, pgerr.New(pgerr.SyntaxError, "%s requires a parameter", o.Name)
		}
		p[o.Name] = o
	}
	conflict := pgerr.New(pgerr.SyntaxError, "conflicting or redundant options")
	switch {
	case p["locale"] != nil && (p["lc_collate"] != nil || p["lc_ctype"] != nil):
		return nil, conflict.WithDetail("LOCALE cannot be specified together with LC_COLLATE or LC_CTYPE.")
	case p["from"] != nil && len(st.Params) > 1:
		return nil, conflict.WithDetail("FROM cannot be specified together with any other options.")
	}
	return p, nil
}

// text returns the value of an attribute, "" if it is not given.
func (p collationParams) text(name string) string {
	if p[name] == nil {
		return ""
	}
	return relations.ParamText(p[name])
}

// createCollation is CREATE COLLATION.
func createCollation(ctx context.Context, e *statement.Env, st *ast.CreateCollation) error {
	p, err := readCollationParams(st)
	if err != nil {
		return err
	}
	schema, err := e.TargetSchema(ctx, st.Name)
	if err != nil {
		e := *pgerr.From(err)
		e.Position = 0
		return &e
	}
	from := st.From
	if o := p["from"]; o != nil {
		from = strings.Split(relations.ParamText(o), ".")
	}
	var def *catalog.CollationDef
	if from != nil {
		def, err = copiedCollation(ctx, e, from)
	} else {
		def, err = collationDef(e, st, p)
	}
	if err != nil {
		return err
	}
	old, err := e.Coll.FindCollation(ctx, schema.Name, st.Name.Table)
	if err != nil {
		return err
	}
	if old != nil {
		exists := "collation \"" + st.Name.Table + "\""
		if def.Encoding() >= 0 {
			exists += " for encoding \"UTF8\""
		}
		if st.IfNotExists {
			e.Skip(pgerr.DuplicateObject, "%s already exists, skipping", exists)
			return nil
		}
		return pgerr.New(pgerr.DuplicateObject, "%s already exists", exists)
	}
	t := &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Owner: e.User, Kind: catalog.KindCollation, Name: st.Name.Table,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1, Collation: def,
	}
	if t.ID, err = e.Coll.NewID(ctx); err != nil {
		return err
	}
	if t.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	if err := e.AddRelation(ctx, t, t.StoredName(), false); err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

// copiedCollation is CREATE COLLATION ... FROM.
func copiedCollation(ctx context.Context, e *statement.Env, from []ast.Name) (*catalog.CollationDef, error) {
	c, d, err := planner.FindCollation(ctx, from, e.Coll)
	switch {
	case err != nil:
		return nil, err
	case c.Oid == types.DefaultCollation.Oid:
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "collation \"default\" cannot be copied")
	case d != nil:
		def := *d.Collation
		return &def, nil
	case c.Bytewise():
		locale := c.Name
		if locale == "ucs_basic" {
			locale = "C"
		}
		return &catalog.CollationDef{Provider: catalog.ProviderLibc, Collate: locale, Ctype: locale, AnyEncoding: c.Name == "C" || c.Name == "POSIX"}, nil
	}
	return &catalog.CollationDef{Provider: catalog.ProviderICU, Locale: c.Locale, Rules: c.Locale, Version: collation.Version}, nil
}

// collationDef makes a definition of attributes.
func collationDef(e *statement.Env, st *ast.CreateCollation, p collationParams) (*catalog.CollationDef, error) {
	def := &catalog.CollationDef{Provider: catalog.ProviderLibc}
	deterministic, err := boolParam(p["deterministic"], "deterministic", true)
	if err != nil {
		return nil, err
	}
	def.Nondeterministic = !deterministic
	switch provider := strings.ToLower(p.text("provider")); provider {
	case "", "libc":
	case "icu":
		def.Provider = catalog.ProviderICU
	default:
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "unrecognized collation provider: %s", p.text("provider"))
	}
	if def.Provider == catalog.ProviderLibc {
		return def, libcCollation(e, def, p)
	}
	if p["locale"] == nil {
		return nil, pgerr.New(pgerr.InvalidObjectDefinition, "parameter \"locale\" must be specified")
	}
	def.Locale, def.Version = p.text("locale"), collation.Version
	// ICU takes en_US and @-keywords too; what reads as a tag is one.
	def.Rules = strings.ReplaceAll(def.Locale, "_", "-")
	if def.Rules == "" || def.Rules == "root" {
		def.Rules = "und"
	}
	if _, err := collation.Of(def.Rules); err != nil {
		return nil, err
	}
	if v := p.text("version"); v != "" && v != def.Version {
		e.Notify("WARNING", pgerr.New(pgerr.Warning, "collation \"%s\" has version mismatch", st.Name.Table).
			WithDetail("The collation in the database was created using version %s, but the operating system provides version %s.", v, def.Version))
	}
	return def, nil
}

// libcCollation completes a collation of libc. Locales of languages are those of ICU.
func libcCollation(e *statement.Env, def *catalog.CollationDef, p collationParams) error {
	def.Collate, def.Ctype = p.text("lc_collate"), p.text("lc_ctype")
	if p["locale"] != nil {
		def.Collate, def.Ctype = p.text("locale"), p.text("locale")
	}
	for _, v := range [...]struct{ name, value string }{{"lc_collate", def.Collate}, {"lc_ctype", def.Ctype}} {
		if v.value == "" {
			return pgerr.New(pgerr.InvalidObjectDefinition, "parameter \"%s\" must be specified", v.name)
		}
	}
	if def.Nondeterministic {
		return pgerr.Unsupported("nondeterministic collations not supported with this provider")
	}
	if def.Collate == "C" || def.Collate == "POSIX" {
		return nil
	}
	c := types.CollationByLocale(def.Collate)
	if c == nil {
		return pgerr.New(pgerr.UndefinedObject, "could not create locale \"%s\": No such file or directory", def.Collate).
			WithDetail("The operating system could not find any locale data for the locale name \"%s\".", def.Collate)
	}
	def.Rules = c.Locale
	return nil
}

// boolParam reads an attribute that is a Boolean; without a value it is true.
func boolParam(o *ast.Option, name string, missing bool) (bool, error) {
	if o == nil {
		return missing, nil
	}
	if o.Value == nil {
		return true, nil
	}
	switch strings.ToLower(relations.ParamText(o)) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", name)
}

// lockCollation finds a user-defined collation and locks it; nil if there is none.
func lockCollation(ctx context.Context, e *statement.Env, n ast.TableName) (*catalog.Table, error) {
	for {
		t, err := e.Coll.FindCollation(ctx, n.Schema, n.Table)
		if err != nil || t == nil {
			return nil, err
		}
		if err := e.Drops(ctx)(t); err != nil {
			return nil, err
		}
		if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
			return nil, err
		}
		again, err := e.Coll.FindCollation(ctx, n.Schema, n.Table)
		if err != nil {
			return nil, err
		}
		if again != nil && again.ID == t.ID {
			return again, nil
		}
	}
}

// existingCollation is lockCollation for one that must exist and may be changed.
func existingCollation(ctx context.Context, e *statement.Env, name []ast.Name, at ast.Loc) (*catalog.Table, error) {
	t, err := lockCollation(ctx, e, qualified(name, at))
	if err != nil || t != nil {
		return t, err
	}
	if c, _, err := planner.FindCollation(ctx, name, e.Coll); err == nil && c.BuiltIn() {
		return nil, pgerr.New(pgerr.InsufficientPrivilege, "must be owner of collation %s", c.Name)
	}
	return nil, types.UndefinedCollation(strings.Join(name, "."))
}

func commentCollation(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	t, err := existingCollation(ctx, e, st.Name, st.Loc)
	if err != nil {
		return err
	}
	t = t.Clone()
	t.Comment = st.Text
	return e.Coll.Put(ctx, t)
}

// alterCollation is ALTER COLLATION.
func alterCollation(ctx context.Context, e *statement.Env, st *ast.AlterObject) error {
	t, err := existingCollation(ctx, e, st.Name, st.Loc)
	if err != nil {
		return err
	}
	from, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return err
	}
	to, c := from, t.Clone()
	switch {
	case st.Refresh:
		e.Notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "version has not changed"))
		return nil
	case st.Owner != nil:
		if c.Owner, err = e.Role(st.Owner); err != nil {
			return err
		}
		if err := e.NewOwner(ctx, c.Owner, c.Schema); err != nil {
			return err
		}
		return e.Coll.Put(ctx, c)
	case st.NewSchema != "":
		if to, err = e.SchemaNamed(ctx, st.NewSchema, 0); err != nil {
			return err
		}
		if err := statement.NotBuiltIn(to, t.Name); err != nil || to.ID == from.ID {
			return err
		}
		c.Schema = to.ID
	default:
		c.Name = st.NewName
	}
	key := func(t *catalog.Table) catalog.NameKey {
		return catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
	}
	if err := e.MoveName(ctx, key(t), key(c), catalog.NameEntry{ID: t.ID},
		pgerr.New(pgerr.DuplicateObject, "collation \"%s\" already exists in schema \"%s\"", c.Name, to.Name)); err != nil {
		return err
	}
	if err := e.Coll.Put(ctx, c); err != nil {
		return err
	}
	return alter.RenameInTexts(ctx, e, t.Database, t.Name, storedtext.Renamed{Collations: func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		return to.Name, c.Name, s == from.Name && n == t.Name
	}})
}

// dropCollations is DROP COLLATION.
func dropCollations(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	for _, n := range st.Names {
		t, err := lockCollation(ctx, e, n)
		switch {
		case st.IfExists && pgerr.CodeOf(err) == pgerr.InvalidSchemaName:
			e.Skip(pgerr.SuccessfulCompletion, "schema \"%s\" does not exist, skipping", n.Schema)
			continue
		case err != nil:
			return err
		case t != nil:
			if err := dropCollation(ctx, e, t, st.Cascade); err != nil {
				return err
			}
			continue
		}
		c, _, err := planner.FindCollation(ctx, []ast.Name{n.Table}, e.Coll)
		switch {
		case err == nil && c.Name == n.Table && (n.Schema == "" || n.Schema == "pg_catalog"):
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop collation %s because it is required by the database system", ast.QuoteIdent(c.Name))
		case st.IfExists:
			e.Skip(pgerr.SuccessfulCompletion, "collation \"%s\" does not exist, skipping", n.Table)
		default:
			return types.UndefinedCollation(n.String())
		}
	}
	return nil
}

// collationUser is what depends on a collation: a column, an index, a view or a type.
type collationUser struct {
	text string // what it is
	drop func(ctx context.Context) error
}

func dropCollation(ctx context.Context, e *statement.Env, t *catalog.Table, cascade bool) error {
	users, err := collationUsers(ctx, e, t)
	if err != nil {
		return err
	}
	self := e.Describe(ctx, t)
	if len(users) > 0 && !cascade {
		var details []string
		for _, u := range users {
			details = append(details, u.text+" depends on "+self)
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", self).
			WithDetail("%s", strings.Join(details, "\n")).
			WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	if len(users) > 0 {
		var names []string
		for _, u := range users {
			names = append(names, u.text)
		}
		e.CascadeNotice(names)
	}
	for _, u := range users {
		if err := u.drop(ctx); err != nil {
			return err
		}
	}
	if err := e.RemoveRelationName(ctx, t, t.StoredName()); err != nil {
		return err
	}
	return e.Coll.Remove(ctx, t.ID)
}

// collationUsers lists what depends on a collation.
func collationUsers(ctx context.Context, e *statement.Env, t *catalog.Table) ([]collationUser, error) {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	schema, err := e.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return nil, err
	}
	var out []collationUser
	for _, o := range all {
		switch o.Kind {
		case catalog.KindView:
			if mentions(e, o, schema.Name, t.Name) || slices.ContainsFunc(o.Columns, func(c catalog.Column) bool { return catalog.UsesCollation(c.Type, t.Oid) }) {
				out = append(out, relationUser(ctx, e, o, ast.ObjView))
			}
		case catalog.KindType:
			if catalog.UsesCollation(o.UserType, t.Oid) || mentions(e, o, schema.Name, t.Name) {
				out = append(out, typeUser(ctx, e, o, t.Oid)...)
			}
		case catalog.KindTable:
			out = append(out, columnUsers(ctx, e, o, t.Oid)...)
			if mentions(e, o, schema.Name, t.Name) {
				out = append(out, collationUser{text: "an expression of " + e.Describe(ctx, o), drop: func(context.Context) error {
					return pgerr.Unsupported("dropping a collation with the defaults, constraints and expressions that use it is not supported").
						WithDetail("An expression of %s uses it.", e.Describe(ctx, o))
				}})
			}
		}
	}
	return out, nil
}

// mentions reports whether a stored text of o names a collation.
func mentions(e *statement.Env, o *catalog.Table, schema, name string) bool {
	found := false
	seen := func(s, n ast.Name) (ast.Name, ast.Name, bool) {
		found = found || s == schema && n == name
		return "", "", false
	}
	_ = storedtext.EachText(o.Clone(), func(text string) (string, error) {
		if strings.Contains(text, name) {
			_, _ = storedtext.RenameIn(text, storedtext.Renamed{Collations: seen})
		}
		return text, nil
	})
	return found
}

// relationUser is a relation that goes as a whole.
func relationUser(ctx context.Context, e *statement.Env, o *catalog.Table, kind ast.ObjectKind) collationUser {
	if o.Materialized() {
		kind = ast.ObjMaterializedView
	}
	return collationUser{text: e.Describe(ctx, o), drop: func(ctx context.Context) error {
		cur, err := e.LockByID(ctx, o.ID)
		if err != nil {
			return nil // dropped with another one
		}
		return alter.DropRelations(ctx, e, &ast.Drop{Kind: kind, Names: []ast.TableName{e.NameOf(ctx, cur)}, Cascade: true})
	}}
}

// typeUser is a type that is made with a collation: a domain goes as a whole, of a composite
// type the fields.
func typeUser(ctx context.Context, e *statement.Env, o *catalog.Table, oid uint32) []collationUser {
	if o.UserType.Def.Kind != types.DefComposite {
		return []collationUser{{text: "type " + o.UserType.SQLName, drop: func(ctx context.Context) error {
			cur, err := e.LockByID(ctx, o.ID)
			if err != nil {
				return nil
			}
			return alter.DropType(ctx, e, cur, true)
		}}}
	}
	var out []collationUser
	for _, f := range o.UserType.Def.Fields {
		if catalog.UsesCollation(f.Type, oid) {
			out = append(out, collationUser{text: "column " + f.Name + " of composite type " + o.UserType.SQLName, drop: func(ctx context.Context) error {
				return alter.AlterComposite(ctx, e, &ast.AlterComposite{Name: e.NameOf(ctx, o), Cmds: []ast.AttributeCmd{{Kind: ast.AttributeDrop, Name: f.Name, Cascade: true}}})
			}})
		}
	}
	return out
}

// columnUsers are the columns and indexes of a table that have a collation.
func columnUsers(ctx context.Context, e *statement.Env, o *catalog.Table, oid uint32) []collationUser {
	var out []collationUser
	what := e.Describe(ctx, o)
	for i := range o.Columns {
		c := &o.Columns[i]
		if c.Virtual || !catalog.UsesCollation(c.Type, oid) || catalog.UsesCollation(c.Domain, oid) {
			continue // of a domain: it goes with that
		}
		out = append(out, collationUser{text: "column " + c.Name + " of " + what, drop: func(ctx context.Context) error {
			return alter.AlterTable(ctx, e, &ast.AlterTable{Kind: ast.ObjTable, Name: e.NameOf(ctx, o),
				Cmds: []*ast.AlterCmd{{Kind: ast.AlterDropColumn, Name: c.Name, Cascade: true}}})
		}})
	}
	for i := range o.Indexes {
		ix := &o.Indexes[i]
		if slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Collate != nil && k.Collate.Oid == oid }) {
			n := e.NameOf(ctx, o)
			n.Table = ix.Name
			out = append(out, collationUser{text: "index " + ast.QuoteIdent(ix.Name), drop: func(ctx context.Context) error {
				return alter.DropIndexes(ctx, e, &ast.Drop{Kind: ast.ObjIndex, Names: []ast.TableName{n}, IfExists: true, Cascade: true})
			}})
		}
	}
	return out
}
