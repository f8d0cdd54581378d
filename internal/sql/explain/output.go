package explain

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Times are what EXPLAIN prints besides the plan; what was not measured is 0.
type Times struct {
	Planning, Execution time.Duration
	// Moved is how many bytes the gateway has sent to other nodes and received from them.
	Moved int64
}

// noPlan is what EXPLAIN sends of utility statements, by format.
var noPlan = map[string]string{
	"text": "Utility statements have no plan structure",
	"json": "[\n  \"Utility Statement\"\n]",
	"yaml": "- \"Utility Statement\"",
	"xml":  "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n  <Utility-Statement />\n</explain>",
}

// Place finds out which nodes would run which parts of a plan, for DISTSQL.
func (o *Options) Place(root plan.Node, env *operator.Env) error {
	places, err := exec.Places(root, env)
	o.tree.Nodes = func(g *plan.Gather) []string { return places[g] }
	o.distributed = len(places) > 0
	return err
}

// distribution says whether other nodes run parts of the plan.
func (o *Options) distribution() string {
	if o.distributed {
		return "full"
	}
	return "local"
}

// Columns returns the column that EXPLAIN has.
func Columns(st *ast.Explain) []plan.Column {
	c := plan.Column{Name: "QUERY PLAN", Type: types.Text}
	if o, err := Parse(st.Options); err == nil && o.format == "json" {
		c.Type = types.JSON
	}
	return []plan.Column{c}
}

// Run runs a plan for ANALYZE, so that Rows reports what each operator did. It returns the number of
// rows that were changed, and how long it took; 0A000 of utility statements but those that have no
// plan, which do not run.
func (o *Options) Run(root plan.Node, env *operator.Env) (changed int64, took time.Duration, err error) {
	switch root.(type) {
	case *plan.DDL:
		return 0, 0, nil
	case *plan.Utility, *plan.Copy:
		return 0, 0, pgerr.Unsupported("EXPLAIN ANALYZE of a utility statement is not supported")
	}
	program, profile, err := exec.CompileProfiled(root, nil, o.timing)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	changed, err = program.Run(env, func(*rowcontainer.Batch) error { return nil })
	o.tree.Actual = profile.Of
	return changed, time.Since(start), err
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// Rows returns the values of the column: one for each line as text, else a single one.
func (o *Options) Rows(root plan.Node, t Times) []types.Datum {
	value := types.NewString
	if o.format == "json" {
		value = types.NewJSON
	}
	var out []types.Datum
	for _, text := range o.print(root, t) {
		out = append(out, value(text))
	}
	return out
}

func (o *Options) print(root plan.Node, t Times) []string {
	if _, ok := root.(*plan.DDL); ok {
		return []string{noPlan[o.format]}
	}
	if o.format == "text" {
		lines := plan.Format(root, o.tree)
		if o.DistSQL {
			lines = append(lines, "Distribution: "+o.distribution())
		}
		if o.DistSQL && o.Analyze {
			lines = append(lines, fmt.Sprintf("Moved between Nodes: %d bytes", t.Moved))
		}
		if o.Summary {
			lines = append(lines, fmt.Sprintf("Planning Time: %.3f ms", milliseconds(t.Planning)))
		}
		if o.Summary && o.Analyze {
			lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", milliseconds(t.Execution)))
		}
		return lines
	}
	plans := []plan.Group{o.group(root, t)}
	switch o.format {
	case "json":
		return []string{plan.FormatJSON(plans)}
	case "yaml":
		return []string{plan.FormatYAML(plans)}
	}
	return []string{plan.FormatXML(plans)}
}

// group is what the structured formats print.
func (o *Options) group(root plan.Node, t Times) plan.Group {
	g := plan.Group{{Name: "Plan", Value: plan.Tree(root, o.tree)}}
	if o.DistSQL {
		g = append(g, plan.Property{Name: "Distribution", Value: o.distribution()})
	}
	if o.DistSQL && o.Analyze {
		g = append(g, plan.Property{Name: "Moved between Nodes", Value: plan.Number(strconv.FormatInt(t.Moved, 10))})
	}
	if o.Summary {
		g = append(g, plan.Property{Name: "Planning Time", Value: plan.Milliseconds(milliseconds(t.Planning))})
	}
	if o.Analyze {
		g = append(g, plan.Property{Name: "Triggers", Value: []plan.Group{}})
	}
	if o.Summary && o.Analyze {
		g = append(g, plan.Property{Name: "Execution Time", Value: plan.Milliseconds(milliseconds(t.Execution))})
	}
	return g
}
