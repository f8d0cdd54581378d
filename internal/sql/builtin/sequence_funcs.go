package builtin

import "github.com/lichendb/lichen/internal/sql/types"

func sequenceFunctions() []*Overload {
	return []*Overload{
		fn("nextval(regclass) int8", func(c *Context, a []types.Datum) (types.Datum, error) {
			s, err := c.session()
			if err != nil {
				return types.Null, err
			}
			return intOf(s.NextVal(uint32(a[0].Int())))
		}).volatile(),
		fn("currval(regclass) int8", func(c *Context, a []types.Datum) (types.Datum, error) {
			s, err := c.session()
			if err != nil {
				return types.Null, err
			}
			return intOf(s.CurrVal(uint32(a[0].Int())))
		}).volatile(),
		fn("lastval() int8", func(c *Context, _ []types.Datum) (types.Datum, error) {
			s, err := c.session()
			if err != nil {
				return types.Null, err
			}
			return intOf(s.LastVal())
		}).volatile(),
		fn("setval(regclass,int8) int8", setVal).volatile(),
		fn("setval(regclass,int8,bool) int8", setVal).volatile(),
		fn("pg_get_serial_sequence(text,text) text", func(c *Context, a []types.Datum) (types.Datum, error) {
			s, err := c.session()
			if err != nil {
				return types.Null, err
			}
			return textOrNull(s.SerialSequence(a[0].Str(), a[1].Str()))
		}).stable(),
	}
}

func setVal(c *Context, a []types.Datum) (types.Datum, error) {
	s, err := c.session()
	if err != nil {
		return types.Null, err
	}
	called := len(a) < 3 || a[2].Bool()
	if err := s.SetVal(uint32(a[0].Int()), a[1].Int(), called); err != nil {
		return types.Null, err
	}
	return a[1], nil
}
