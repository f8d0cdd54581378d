package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// createEnum is CREATE TYPE ... AS ENUM.
func createEnum(ctx context.Context, e *statement.Env, st *ast.CreateEnum) error {
	t, err := alter.NewType(ctx, e, st.Name, st.IfNotExists)
	if err != nil || t == nil {
		return err
	}
	if len(st.Labels) > types.MaxEnumLabels {
		return pgerr.New(pgerr.ProgramLimitExceeded, "an enum has %d labels at most", types.MaxEnumLabels)
	}
	def := &types.Def{Kind: types.DefEnum}
	for i, rank := range types.FirstRanks(len(st.Labels)) {
		label := st.Labels[i]
		if err := alter.CheckLabel(label); err != nil {
			return err
		}
		if slices.Contains(st.Labels[:i], label) {
			return pgerr.New(pgerr.UniqueViolation, "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"").
				WithDetail("Key (enumtypid, enumlabel)=(%d, %s) already exists.", t.Oid, label)
		}
		oid, err := e.Coll.NewOid(ctx)
		if err != nil {
			return err
		}
		def.Labels = append(def.Labels, types.EnumLabel{Oid: oid, Name: label, Rank: rank})
	}
	types.NumberLabels(def.Labels)
	return alter.AddType(ctx, e, t, def)
}

// createComposite is CREATE TYPE ... AS (fields).
func createComposite(ctx context.Context, e *statement.Env, st *ast.CreateComposite) error {
	t, err := alter.NewType(ctx, e, st.Name, false)
	if err != nil || t == nil {
		return err
	}
	def := &types.Def{Kind: types.DefComposite}
	for i := range st.Fields {
		f := &st.Fields[i]
		for _, o := range def.Fields {
			if o.Name == f.Name {
				return pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", f.Name)
			}
		}
		ft, domain, err := relations.ColumnType(ctx, e, f.Name, f.Type)
		if err != nil {
			return err
		}
		if relations.Levels(ft) >= relations.MaxTypeLevels {
			return relations.ErrTypeTooDeep()
		}
		if ft, err = storedtext.Collated(ctx, e, f.Collate, ft, f.Pos); err != nil {
			return err
		}
		def.Fields = append(def.Fields, types.FieldDef{Name: f.Name, Type: ft.WithDomain(domain)})
	}
	return alter.AddType(ctx, e, t, def)
}

// createDomain is CREATE DOMAIN.
func createDomain(ctx context.Context, e *statement.Env, st *ast.CreateDomain) error {
	t, err := alter.NewType(ctx, e, st.Name, false)
	if err != nil || t == nil {
		return err
	}
	base, below, err := relations.ColumnType(ctx, e, st.Name.Table, st.Type)
	if pgerr.CodeOf(err) == pgerr.InvalidTableDefinition { // a pseudo-type
		return pgerr.New(pgerr.DatatypeMismatch, "\"%s\" is not a valid base type for a domain", strings.Join(st.Type.Names, "."))
	}
	if err != nil {
		return err
	}
	def := &types.Def{Kind: types.DefDomain, Base: base}
	if below != nil {
		def.Base = below
	}
	if below != nil && below.IsDomain() {
		def.Default = below.Def.Default
	}
	if def.Base, err = storedtext.Collated(ctx, e, st.Collate, def.Base, st.Pos); err != nil {
		return err
	}
	null, hasDefault := false, false
	for _, c := range st.Constraints {
		switch c.Kind {
		case ast.ConstrNull:
			null = true
		case ast.ConstrNotNull:
			def.NotNull = true
		case ast.ConstrDefault:
			if hasDefault {
				return pgerr.New(pgerr.SyntaxError, "multiple default expressions")
			}
			hasDefault = true
			if def.Default, err = storedtext.DefaultText(ctx, e, c.X, def.Base); err != nil {
				return err
			}
		case ast.ConstrCheck:
			if c.NoInherit {
				return pgerr.New(pgerr.InvalidObjectDefinition, "check constraints for domains cannot be marked NO INHERIT")
			}
			if err := alter.DomainCheck(ctx, e, t.Name, def, c); err != nil {
				return err
			}
		case ast.ConstrUnique, ast.ConstrPrimaryKey, ast.ConstrForeignKey:
			return alter.NotForDomains(c)
		default:
			return pgerr.Unsupported("this constraint is not supported for domains").At(c.Pos)
		}
	}
	if null && def.NotNull {
		return pgerr.New(pgerr.SyntaxError, "conflicting NULL/NOT NULL constraints")
	}
	if err := alter.CheckDomain(ctx, e, t, def); err != nil {
		return err
	}
	return alter.AddType(ctx, e, t, def)
}

// alterEnum is ALTER TYPE ... ADD VALUE and RENAME VALUE.
func alterEnum(ctx context.Context, e *statement.Env, st *ast.AlterEnum) error {
	t, err := alter.LockExisting(ctx, e, st.Name, "an enum")
	if err != nil {
		return err
	}
	if !t.UserType.IsEnum() {
		return pgerr.New(pgerr.WrongObjectType, "%s is not an enum", t.UserType.SQLName)
	}
	def := *t.UserType.Def
	def.Labels = slices.Clone(def.Labels)
	if st.Rename {
		return alter.RenameLabel(ctx, e, t, &def, st)
	}
	return alter.AddLabel(ctx, e, t, &def, st)
}
