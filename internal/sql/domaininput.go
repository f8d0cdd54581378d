package sql

import (
	"context"

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
