package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// seesExtension reports whether a name with a schema, or one of the search path if that is empty, leads to the objects of an
// extension.
func (b *builder) seesExtension(schema, extension string) bool {
	f, ok := b.env.Catalog.(catalog.ExtensionFinder)
	return ok && f.SeesExtension(b.ctx, schema, extension)
}

// hasExtension reports whether the database has an extension. Its operators are found whatever search_path says, so that
// stored expressions, which have operators without a schema, mean the same in every session.
func (b *builder) hasExtension(extension string) bool {
	f, ok := b.env.Catalog.(catalog.ExtensionFinder)
	return ok && f.HasExtension(b.ctx, extension)
}

// extensionFunctions returns the functions of extensions that a name leads to.
func (b *builder) extensionFunctions(schema, name string) []*call.Overload {
	var list []*call.Overload
	for _, o := range builtin.ExtensionFunctions(name) {
		if b.seesExtension(schema, o.Extension) {
			list = append(list, o)
		}
	}
	return list
}

// extensionOperators returns the operators of the extensions in a schema that have a name.
func (b *builder) extensionOperators(schema, name string, unary bool) []*call.Overload {
	var list []*call.Overload
	for _, o := range builtin.ExtensionOperators(name, unary) {
		if b.seesExtension(schema, o.Extension) {
			list = append(list, o)
		}
	}
	return list
}

// ownCall plans a call of a function that belongs to an extension here and that queries can't name.
func (b *builder) ownCall(name string, args []plan.Expr, at int) (plan.Expr, error) {
	fn, err := builtin.Resolve(builtin.ExtensionFunctions(name), argTypes(args))
	if err != nil {
		return nil, pgerr.From(err).At(at)
	}
	return b.finishCall(fn, args, argTypes(args), make([]int, len(args)), at)
}

// hintExtension adds to the error for a type that there is not which extension brings it.
func hintExtension(err error, name string) error {
	t := types.ExtensionTypeNamed(name)
	if t == nil {
		return err
	}
	return pgerr.From(err).WithHint("CREATE EXTENSION %s brings a type of that name.", ast.QuoteIdent(t.Extension()))
}

// extensionType returns the type of an extension that a name means, nil if it means none.
func extensionType(ctx context.Context, tn *ast.TypeName, schema, name string, r catalog.Resolver) *types.T {
	t := types.ExtensionTypeNamed(name)
	if t == nil {
		return nil
	}
	if f, ok := r.(catalog.ExtensionFinder); !ok || !f.SeesExtension(ctx, schema, t.Extension()) {
		return nil
	}
	if len(tn.ArrayDims) > 0 {
		t, _ = types.ArrayOf(t)
	}
	return t
}
