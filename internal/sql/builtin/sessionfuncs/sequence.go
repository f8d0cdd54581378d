package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

func sequenceFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("nextval(regclass) int8", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := c.NeedSession()
			if err != nil {
				return types.Null, err
			}
			return call.IntOf(s.NextVal(uint32(a[0].Int())))
		}).Volatile(),
		call.Fn("currval(regclass) int8", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := c.NeedSession()
			if err != nil {
				return types.Null, err
			}
			return call.IntOf(s.CurrVal(uint32(a[0].Int())))
		}).Volatile(),
		call.Fn("lastval() int8", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			s, err := c.NeedSession()
			if err != nil {
				return types.Null, err
			}
			return call.IntOf(s.LastVal())
		}).Volatile(),
		call.Fn("setval(regclass,int8) int8", setVal).Volatile(),
		call.Fn("setval(regclass,int8,bool) int8", setVal).Volatile(),
		call.Fn("pg_get_serial_sequence(text,text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := c.NeedSession()
			if err != nil {
				return types.Null, err
			}
			return call.TextOrNull(s.SerialSequence(a[0].Str(), a[1].Str()))
		}).Stable(),
	}
}

func setVal(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, err := c.NeedSession()
	if err != nil {
		return types.Null, err
	}
	called := len(a) < 3 || a[2].Bool()
	if err := s.SetVal(uint32(a[0].Int()), a[1].Int(), called); err != nil {
		return types.Null, err
	}
	return a[1], nil
}
