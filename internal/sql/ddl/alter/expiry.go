package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/ttl"
)

// withExpiry adds to the commands of ALTER TABLE what its parameters of row-level TTL make of the column that has the time when a row expires.
func withExpiry(ctx context.Context, e *statement.Env, st *ast.AlterTable) (*ast.AlterTable, error) {
	t, index, err := e.RelationToLock(ctx, st.Name)
	if err != nil || t == nil || index || t.Kind != catalog.KindTable {
		return st, nil // who runs the commands says so
	}
	before, expires := ttl.Of(t.Options)
	if expires {
		if err := keepsExpiry(ctx, e, t, &before, st.Cmds); err != nil {
			return nil, err
		}
	}
	options, quiet := t.Options, *e
	quiet.Notice = nil
	for _, c := range st.Cmds {
		switch c.Kind {
		case ast.AlterSetParams:
			options, err = relations.StorageOptions(&quiet, options, c.Params, &relations.TableParameters)
		case ast.AlterResetParams:
			options, err = relations.ResetOptions(options, c.Params)
		}
		if err != nil {
			return st, nil
		}
	}
	after, _ := ttl.Of(options)
	if after.ExpireAfter == before.ExpireAfter {
		return st, nil
	}
	more := *st
	switch {
	case before.ExpireAfter == "":
		if _, taken := t.ColumnByName(ttl.Column); taken {
			return nil, pgerr.New(pgerr.InvalidTableDefinition, "cannot add TTL to table %s with column named %s", t.Name, ttl.Column)
		}
		more.Cmds = slices.Insert(slices.Clone(st.Cmds), 0, &ast.AlterCmd{Kind: ast.AlterAddColumn, Def: relations.ExpiryColumn(after.ExpireAfter)})
	case after.ExpireAfter == "":
		more.Cmds = append(slices.Clip(st.Cmds), &ast.AlterCmd{Kind: ast.AlterDropColumn, Name: ttl.Column})
	default:
		more.Cmds = append(slices.Clip(st.Cmds),
			&ast.AlterCmd{Kind: ast.AlterColumnSetDefault, Name: ttl.Column, X: relations.Expiry(after.ExpireAfter)},
			&ast.AlterCmd{Kind: ast.AlterColumnSetOnUpdate, Name: ttl.Column, X: relations.Expiry(after.ExpireAfter)})
	}
	return &more, nil
}

// ofColumn are the commands that change or drop a column.
var ofColumn = map[ast.AlterKind]string{
	ast.AlterDropColumn: "drop", ast.AlterRenameColumn: "rename", ast.AlterColumnType: "alter type of", ast.AlterColumnSetDefault: "alter default of",
	ast.AlterColumnDropDefault: "alter default of", ast.AlterColumnSetOnUpdate: "alter ON UPDATE of", ast.AlterColumnDropOnUpdate: "alter ON UPDATE of",
	ast.AlterColumnDropNotNull: "drop NOT NULL of", ast.AlterColumnSetVisible: "alter visibility of", ast.AlterColumnSetNotVisible: "alter visibility of",
}

// keepsExpiry refuses commands on the columns by which the rows of a table expire.
func keepsExpiry(ctx context.Context, e *statement.Env, t *catalog.Table, p *ttl.Params, cmds []*ast.AlterCmd) error {
	c := t.Clone()
	named, err := relations.CheckExpiry(ctx, e, c)
	if err != nil {
		return err
	}
	for _, cmd := range cmds {
		verb := ofColumn[cmd.Kind]
		i, ok := t.ColumnByName(cmd.Name)
		switch {
		case verb == "" || !ok:
		case p.ExpireAfter != "" && cmd.Name == ttl.Column:
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot %s column %s while %s is set", verb, ttl.Column, ttl.After).
				WithHint("use [RESET (ttl)] or [SET (%s = ...)] instead", ttl.Expression)
		case !slices.Contains(named, t.Columns[i].ID):
		case cmd.Kind == ast.AlterDropColumn || cmd.Kind == ast.AlterRenameColumn || cmd.Kind == ast.AlterColumnType:
			return pgerr.New(pgerr.DependentObjectsStillExist, "cannot %s column \"%s\" because it is referenced by the TTL expiration expression of table \"%s\"",
				verb, cmd.Name, t.Name).WithHint("Use ALTER TABLE ... RESET (%s) first.", ttl.Expression)
		}
	}
	return nil
}

// checkExpiry makes sure that a table, whose commands are run, has the column that its parameters ask for.
func checkExpiry(ctx context.Context, e *statement.Env, st *ast.AlterTable) error {
	if !slices.ContainsFunc(st.Cmds, func(c *ast.AlterCmd) bool { return c.Kind == ast.AlterSetParams || c.Kind == ast.AlterResetParams }) {
		return nil
	}
	t, index, err := e.Relation(ctx, st.Name)
	if err != nil || t == nil || index || t.Kind != catalog.KindTable {
		return nil
	}
	p, _ := ttl.Of(t.Options)
	if _, has := t.ColumnByName(ttl.Column); p.ExpireAfter != "" && !has {
		return &kvpb.RetryError{Reason: "the table has changed since the statement began"}
	}
	if p.Expression == "" {
		return nil
	}
	c := t.Clone()
	if _, err := relations.CheckExpiry(ctx, e, c); err != nil || slices.Equal(c.Options, t.Options) {
		return err
	}
	return PutRelation(ctx, e, c)
}
