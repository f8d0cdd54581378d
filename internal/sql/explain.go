package sql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

type explainOptions struct {
	plan.ExplainOptions
	analyze, timing, summary bool
}

func parseExplain(opts []ast.Option) (o explainOptions, err error) {
	o.Costs, o.timing = true, true
	summary := false
	for _, opt := range opts {
		on := true
		if opt.Value != nil {
			text, err := literalText(opt.Value)
			if err != nil {
				return o, err
			}
			if opt.Name == "format" {
				if !strings.EqualFold(text, "text") {
					return o, pgerr.Unsupported("EXPLAIN (FORMAT %s) is not supported", strings.ToUpper(text)).At(opt.Pos)
				}
				continue
			}
			switch strings.ToLower(text) {
			case "off", "false", "0":
				on = false
			case "on", "true", "1":
			default:
				return o, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", opt.Name).At(opt.Pos)
			}
		}
		switch opt.Name {
		case "analyze":
			o.analyze = on
		case "verbose":
			o.Verbose = on
		case "costs":
			o.Costs = on
		case "timing":
			o.timing = on
		case "summary":
			summary, o.summary = true, on
		case "buffers", "wal", "settings":
			if on {
				return o, pgerr.Unsupported("EXPLAIN option %q is not supported", string(opt.Name)).At(opt.Pos)
			}
		default:
			return o, pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option %q", string(opt.Name)).At(opt.Pos)
		}
	}
	if !summary {
		o.summary = o.analyze
	}
	return o, nil
}

// runExplain sends the plan of a statement, line by line; with ANALYZE it runs
// the statement first and tells how long that took.
func (x *execution) runExplain(ctx context.Context, prep *plan.Prepared, root *plan.Explain) error {
	o, err := parseExplain(root.Stmt.(*ast.Explain).Options)
	if err != nil {
		return err
	}
	var lines []string
	if o.analyze {
		if lines, err = x.explainAnalyze(ctx, prep, root, o); err != nil {
			return err
		}
	} else {
		lines = plan.Format(root.Input, o.ExplainOptions)
	}
	if err := x.endImplicit(ctx); err != nil {
		return err
	}
	if err := x.announce(explainColumns); err != nil {
		return err
	}
	for _, l := range lines {
		x.rows++
		if err := x.res.Row([]types.Datum{types.NewString(l)}); err != nil {
			return err
		}
	}
	return x.res.Complete("EXPLAIN")
}

var explainColumns = []plan.Column{textColumn("QUERY PLAN")}

func (x *execution) explainAnalyze(ctx context.Context, prep *plan.Prepared, root *plan.Explain, o explainOptions) ([]string, error) {
	switch root.Input.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy:
		return nil, pgerr.Unsupported("EXPLAIN ANALYZE of a utility statement is not supported")
	}
	pr, err := exec.CompileNode(root.Input, nil)
	if err != nil {
		return nil, err
	}
	x.s.fillEnv(ctx, &x.env, x.params)
	start := time.Now()
	rows := int64(0)
	affected, err := pr.Run(&x.env, func(b *exec.Batch) error { rows += int64(b.Len()); return nil })
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	top := true
	o.Actual = func(plan.Node) (string, []string) {
		if !top {
			return "", nil
		}
		top = false
		if o.timing {
			return fmt.Sprintf(" (actual time=%.3f rows=%d loops=1)", float64(took.Microseconds())/1000, rows+affected), nil
		}
		return fmt.Sprintf(" (actual rows=%d loops=1)", rows+affected), nil
	}
	lines := plan.Format(root.Input, o.ExplainOptions)
	if o.summary {
		lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", float64(took.Microseconds())/1000))
	}
	return lines, nil
}

// resultColumns are the columns a statement returns, for Describe.
func (s *Session) resultColumns(p *plan.Prepared) []plan.Column {
	switch st := p.Stmt.(type) {
	case *ast.Explain:
		return explainColumns
	case *ast.Show:
		if strings.EqualFold(st.Name, "all") {
			return []plan.Column{textColumn("name"), textColumn("setting"), textColumn("description")}
		}
		return []plan.Column{textColumn(settingName(st.Name))}
	case *ast.Split, *ast.Scatter, *ast.ShowRanges, *ast.ShowZone, *ast.ShowObjects:
		return placementColumns(st)
	case *ast.Execute:
		if t := s.statements[string(st.Name)]; t != nil {
			return t.cols
		}
		return nil
	case *ast.Fetch:
		if c := s.cursors[string(st.Cursor)]; c != nil && !st.Move {
			return c.prepared.cols
		}
		return nil
	}
	return p.Columns
}
