package catalog

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Operator is an operator that a user has made: a routine that calls a function and has a name of symbols. Its parameters are the
// operands: one for a prefix operator.
type Operator struct {
	// Function is what the operator calls; none for one that another has named and nobody has made yet.
	Function AggregateFunction
	// Commutator and Negator are the oids of other operators, 0 for none. They are kept and shown.
	Commutator uint32 `json:",omitempty"`
	Negator    uint32 `json:",omitempty"`
	// Restrict and Join are the oids of functions that estimate how many rows the operator leaves. They are kept and shown.
	Restrict uint32 `json:",omitempty"`
	Join     uint32 `json:",omitempty"`
	Hashes   bool   `json:",omitempty"`
	Merges   bool   `json:",omitempty"`
}

// Shell reports whether the operator is only a name so far.
func (o *Operator) Shell() bool { return o.Function.Oid == 0 }

// OwnOperator reports whether t is an operator.
func (t *Table) OwnOperator() bool { return t.Kind == KindRoutine && t.Routine.Operator != nil }

// operatorPrefix begins the names of operators, which have a name space of their own.
const operatorPrefix = "operator\x00"

// OperatorName is under what name an operator is found in its schema.
func OperatorName(name string, operands []*types.T) string {
	return operatorPrefix + strings.TrimPrefix(RoutineName(name, operands), routinePrefix)
}

// OperatorFinder is a Resolver that knows the operators that users have made.
type OperatorFinder interface {
	// FindOperators is FindRoutines for operators of a name.
	FindOperators(ctx context.Context, schema, name string) ([]*Table, error)
}

// FindOperators implements OperatorFinder.
func (c *Collection) FindOperators(ctx context.Context, schema, name string) ([]*Table, error) {
	return c.findRoutines(ctx, schema, name, true)
}
