package types

// CastContext says where a cast may be applied.
type CastContext byte

// The contexts, as in pg_cast.castcontext: everywhere, when storing into a
// column, only when written.
const (
	CastImplicit   CastContext = 'i'
	CastAssignment CastContext = 'a'
	CastExplicit   CastContext = 'e'
)

// Allows reports whether a cast of context c may be applied in context in.
func (c CastContext) Allows(in CastContext) bool {
	switch c {
	case CastImplicit:
		return true
	case CastAssignment:
		return in != CastImplicit
	}
	return in == CastExplicit
}

// CastFunc converts a datum that is not NULL; the result may be NULL.
type CastFunc func(fc *FormatContext, d Datum, to *T) (Datum, error)
