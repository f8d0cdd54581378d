package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// fail copies a prepared error, for callers set positions and causes on it.
func fail(e *pgerr.Error) *pgerr.Error {
	c := *e
	return &c
}

// identity returns its argument: unary plus, casts without effect.
func identity(_ *Context, args []types.Datum) (types.Datum, error) { return args[0], nil }

func textArray(list []string) types.Datum {
	elems := make([]types.Datum, len(list))
	for i, s := range list {
		elems[i] = types.NewString(s)
	}
	return types.NewArray(elems)
}

func intArg(a []types.Datum, i int, otherwise int64) int64 {
	if i < len(a) {
		return a[i].Int()
	}
	return otherwise
}

func intOf(n int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

func textOrNull(s string, ok bool, err error) (types.Datum, error) {
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewString(s), nil
}

// nullFunc makes a function about something that does not exist here.
func nullFunc(*Context, []types.Datum) (types.Datum, error) { return types.Null, nil }

func falseFunc(*Context, []types.Datum) (types.Datum, error) { return types.False, nil }

func boolOf(b bool, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(b), nil
}

// MaxStringLen bounds what functions like repeat and lpad may build, in bytes.
const MaxStringLen = 256 << 20

var errTooLong = pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")

func text(s string) (types.Datum, error) { return types.NewString(s), nil }

var errDivisionByZero = pgerr.New(pgerr.DivisionByZero, "division by zero")
