package exec

import (
	"fmt"
	"strings"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/mutation"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Places returns for each Gather of a plan which nodes would run its parts now, for EXPLAIN (DISTSQL).
func Places(root plan.Node, env *operator.Env) (map[*plan.Gather][]string, error) {
	var run operator.Run
	run.Bind(env.Ctx, env)
	run.BatchRows = rowcontainer.BatchRows
	defer run.Unbind()
	c := newCompiler(&run, nil, mutation.NewStatement(&run, compileAction))
	out := map[*plan.Gather][]string{}
	var failed error
	plan.EveryNode(root, func(n plan.Node) {
		if g, ok := n.(*plan.Gather); ok && failed == nil {
			out[g], failed = places(c, g, env)
		}
	})
	return out, failed
}

// reader is a transaction that says in which snapshot it reads.
type reader interface{ Meta() kvpb.TxnMeta }

func places(c *compiler, g *plan.Gather, env *operator.Env) ([]string, error) {
	txn, ok := env.Txn.(reader)
	if !ok || env.Fragments == nil {
		return nil, nil
	}
	keys, err := scan.NewKeys(c.Compiler, g.Scan())
	if err != nil {
		return nil, err
	}
	spans, err := keys.Eval()
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	meta := txn.Meta()
	parts, err := env.Fragments.Divide(env.Ctx, &meta, spans)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, p := range parts {
		gateway := ""
		if p.Node == env.Fragments.Self() {
			gateway = ", the gateway"
		}
		list = append(list, fmt.Sprintf("%d (spans: %d%s)", p.Node, len(p.Spans), gateway))
	}
	return []string{"Placement: " + strings.Join(list, ", ")}, nil
}
