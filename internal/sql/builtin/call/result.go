package call

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Fail copies a prepared error, for callers set positions and causes on it.
func Fail(e *pgerr.Error) *pgerr.Error {
	c := *e
	return &c
}

// Identity returns its argument: unary plus, casts without effect.
func Identity(_ *Context, args []types.Datum) (types.Datum, error) { return args[0], nil }

// TextArray returns an array of texts.
func TextArray(list []string) types.Datum {
	elems := make([]types.Datum, len(list))
	for i, s := range list {
		elems[i] = types.NewString(s)
	}
	return types.NewArray(elems)
}

// IntArg returns argument i, or otherwise if the call has fewer.
func IntArg(a []types.Datum, i int, otherwise int64) int64 {
	if i < len(a) {
		return a[i].Int()
	}
	return otherwise
}

// IntOf returns an integer, unless there is an error.
func IntOf(n int64, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewInt(n), nil
}

// TextOrNull returns a text, NULL unless ok.
func TextOrNull(s string, ok bool, err error) (types.Datum, error) {
	if err != nil || !ok {
		return types.Null, err
	}
	return types.NewString(s), nil
}

// NullFunc makes a function about something that does not exist here.
func NullFunc(*Context, []types.Datum) (types.Datum, error) { return types.Null, nil }

// FalseFunc answers false, whatever it is asked.
func FalseFunc(*Context, []types.Datum) (types.Datum, error) { return types.False, nil }

// BoolOf returns a boolean, unless there is an error.
func BoolOf(b bool, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewBool(b), nil
}

// MaxStringLen bounds what functions like repeat and lpad may build, in bytes.
const MaxStringLen = 256 << 20

// ErrTooLong is 54000 for a result longer than MaxStringLen.
var ErrTooLong = pgerr.New(pgerr.ProgramLimitExceeded, "requested length too large")

// Text returns a text as the result of a call.
func Text(s string) (types.Datum, error) { return types.NewString(s), nil }

// ErrDivisionByZero is 22012; Fail copies it.
var ErrDivisionByZero = pgerr.New(pgerr.DivisionByZero, "division by zero")
