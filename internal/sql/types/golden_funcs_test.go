package types

import "fmt"

// goldenFunc is a function golden files call: as SQL, and as this package does
// it.
type goldenFunc struct {
	sql func(args []string) string
	run func(g *goldenSession, args []string) (Datum, *T, error)
}

func (g *goldenSession) call(name string, args []string) (string, error) {
	f, ok := goldenFuncs[name]
	if !ok {
		return "", fmt.Errorf("no function %s", name)
	}
	d, t, err := f.run(g, args)
	if err != nil {
		return goldenError(err), nil
	}
	if d.IsNull() {
		return "= ", nil
	}
	return goldenValue(FormatDatum(t, d, g.fc)), nil
}

var goldenFuncs = map[string]goldenFunc{}
