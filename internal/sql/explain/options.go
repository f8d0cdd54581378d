package explain

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Options are what an EXPLAIN statement asks for.
type Options struct {
	// Analyze runs the statement, Summary prints its times.
	Analyze, Summary bool
	// DistSQL shows which nodes run which parts, and with ANALYZE what was moved between nodes.
	DistSQL bool
	// Debug keeps a bundle about the statement.
	Debug bool
	// Silent says that an option is on that prints nothing here.
	Silent bool

	tree        plan.ExplainOptions
	distributed bool // some of the plan: see Place
	timing      bool
	format      string // text, json, yaml or xml
}

// flags are the options that are on or off; those with false print nothing here, which a
// notice says.
var flags = map[string]bool{
	"analyze": true, "verbose": true, "costs": true, "timing": true, "summary": true, "distsql": true, "debug": true,
	"buffers": false, "wal": false, "settings": false,
}

// Parse reads the options of EXPLAIN; 42601 or 22023 if they are not as they must be.
func Parse(opts []ast.Option) (o Options, err error) {
	given := map[string]bool{"costs": true}
	o.format = "text"
	for _, opt := range opts {
		name := string(opt.Name)
		if name == "format" {
			if o.format, err = formatNamed(opt); err != nil {
				return o, err
			}
			continue
		}
		can, known := flags[name]
		if !known {
			return o, pgerr.New(pgerr.SyntaxError, "unrecognized EXPLAIN option \"%s\"", name).At(opt.Pos)
		}
		on, err := flag(opt)
		if err != nil {
			return o, err
		}
		given[name] = on
		if on && !can {
			if name == "wal" && !hasOption(opts, "analyze") {
				return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option WAL requires ANALYZE")
			}
			o.Silent = true
		}
	}
	or := func(name string, otherwise bool) bool {
		if v, ok := given[name]; ok {
			return v
		}
		return otherwise
	}
	o.Analyze, o.tree.Verbose, o.tree.Costs = given["analyze"], given["verbose"], given["costs"]
	o.DistSQL, o.Debug = given["distsql"], given["debug"]
	o.timing, o.Summary = or("timing", o.Analyze), or("summary", o.Analyze)
	if o.timing && !o.Analyze {
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	if o.Debug && (!o.Analyze || o.format != "text") {
		return o, pgerr.New(pgerr.InvalidParameterValue, "EXPLAIN option DEBUG requires ANALYZE and the text format")
	}
	return o, nil
}

func hasOption(opts []ast.Option, name ast.Name) bool {
	return slices.ContainsFunc(opts, func(o ast.Option) bool { return o.Name == name })
}

// flag reads the value of an option that is on or off.
func flag(opt ast.Option) (bool, error) {
	if opt.Value == nil {
		return true, nil
	}
	text, err := ast.LiteralText(opt.Value)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(text) {
	case "on", "true", "1":
		return true, nil
	case "off", "false", "0":
		return false, nil
	}
	return false, pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", opt.Name).At(opt.Pos)
}

// formatNamed reads the value of FORMAT.
func formatNamed(opt ast.Option) (string, error) {
	if opt.Value == nil {
		return "", pgerr.New(pgerr.SyntaxError, "format requires a parameter").At(opt.Pos)
	}
	text, err := ast.LiteralText(opt.Value)
	if err != nil {
		return "", err
	}
	switch f := strings.ToLower(text); f {
	case "text", "json", "yaml", "xml":
		return f, nil
	}
	return "", pgerr.New(pgerr.InvalidParameterValue, "unrecognized value for EXPLAIN option \"format\": \"%s\"", text).At(opt.Pos)
}
