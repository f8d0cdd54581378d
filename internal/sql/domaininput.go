package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxDomainInputs bounds the programs that domainInputs keeps.
const maxDomainInputs = 64

// domainInputs checks values of domains that do not come from an expression: fields of records
// that are read from text, from JSON or from the wire.
type domainInputs struct {
	ex *executor
	// programs are compiled once for a version of a domain.
	programs map[*types.T]*exec.Program
}

// check returns an error if d breaks a constraint of t, a domain or an array of one.
func (in *domainInputs) check(t *types.T, d types.Datum) error {
	if in.ex.eval.functions == nil {
		in.ex.eval.start(context.Background())
	}
	bctx := *in.ex.eval.functions
	bctx.Start(context.WithoutCancel(bctx.Ctx)) // which may be that of the statement before
	program, err := in.take(bctx.Ctx, t)
	if err != nil {
		return err
	}
	_, err = program.Rows(&operator.Env{Ctx: bctx.Ctx, Builtin: &bctx, Params: []types.Datum{d}})
	if err == nil && len(in.programs) < maxDomainInputs {
		in.programs[t] = program
	}
	return err
}

// take returns a program that nobody else runs meanwhile: a constraint may read records itself.
func (in *domainInputs) take(ctx context.Context, t *types.T) (*exec.Program, error) {
	if program := in.programs[t]; program != nil {
		delete(in.programs, t)
		return program, nil
	}
	if in.programs == nil || len(in.programs) == maxDomainInputs {
		in.programs = map[*types.T]*exec.Program{}
	}
	prep, err := planner.DomainInput(ctx, in.ex.planner.Env(nil), t)
	if err != nil {
		return nil, err
	}
	return exec.Compile(prep)
}

// castInputs converts values by casts with functions where no expression does so: what a body in PL/pgSQL assigns, and what a body in
// SQL returns.
type castInputs struct {
	ex       *executor
	programs map[castInput]*castProgram
}

// castInput is between which types a program converts.
type castInput struct{ from, to *types.T }

// castProgram is a program and what it was planned with: the function may have been replaced since.
type castProgram struct {
	program *exec.Program
	uses    []*access.Use
}

// cast converts a value as an assignment does.
func (in *castInputs) cast(from, to *types.T, d types.Datum) (types.Datum, error) {
	if in.ex.eval.functions == nil {
		in.ex.eval.start(context.Background())
	}
	bctx := *in.ex.eval.functions
	bctx.Start(context.WithoutCancel(bctx.Ctx))
	k := castInput{from, to}
	p, err := in.take(bctx.Ctx, k)
	if err == nil {
		err = access.Check(in.ex.coll, p.uses)
	}
	if err != nil {
		return types.Null, err
	}
	rows, err := p.program.Rows(&operator.Env{Ctx: bctx.Ctx, Builtin: &bctx, Params: []types.Datum{d}})
	if err != nil {
		return types.Null, err
	}
	if len(in.programs) < maxDomainInputs {
		in.programs[k] = p
	}
	return rows[0][0].Clone(), nil
}

// take returns a program that nobody else runs meanwhile, and whose functions are those of now.
func (in *castInputs) take(ctx context.Context, k castInput) (*castProgram, error) {
	if p := in.programs[k]; p != nil {
		delete(in.programs, k)
		if in.current(ctx, p) {
			return p, nil
		}
	}
	if in.programs == nil || len(in.programs) == maxDomainInputs {
		in.programs = map[castInput]*castProgram{}
	}
	prep, err := planner.CastInput(ctx, in.ex.planner.Env(nil), k.from, k.to)
	if err != nil {
		return nil, err
	}
	program, err := exec.Compile(prep)
	return &castProgram{program, prep.Uses}, err
}

// current reports whether the functions that a program calls are still the same.
func (in *castInputs) current(ctx context.Context, p *castProgram) bool {
	for _, u := range p.uses {
		if u.Table == nil {
			continue
		}
		if t, err := in.ex.coll.TableByID(ctx, u.Table.ID); err != nil || t != u.Table {
			return false
		}
	}
	return true
}
