package catalog

import "github.com/lichendb/lichen/internal/sql/types"

// Aggregate is what an aggregate that a user has made computes with: a state, which the transition function makes of the last state
// and the arguments of a row, and the final function the result of.
type Aggregate struct {
	Transition AggregateFunction
	Final      AggregateFunction
	Combine    AggregateFunction
	State      *types.T
	Initial    *string `json:",omitempty"` // as text; nil for NULL
	Space      int32   `json:",omitempty"`
	// FinalExtra passes the final function NULLs in the places of the arguments. FinalModify says what it does with the state: 'r' nothing,
	// 's' so that it can be called once more, 'w' so that nothing can be done with it.
	FinalExtra  bool `json:",omitempty"`
	FinalModify byte
	// Moving is the other way of computing where rows leave a window: it is kept and shown, windows are computed anew.
	Moving *MovingAggregate `json:",omitempty"`
	// SortOperator is the operator by which min or max can be found in an index, 0 for none. It is kept and shown.
	SortOperator uint32 `json:",omitempty"`
}

// MovingAggregate is how an aggregate computes where rows leave a window.
type MovingAggregate struct {
	Transition, Inverse, Final AggregateFunction
	State                      *types.T
	Initial                    *string `json:",omitempty"`
	Space                      int32   `json:",omitempty"`
	FinalExtra                 bool    `json:",omitempty"`
	FinalModify                byte
}

// AggregateFunction is a function that an aggregate computes with; the zero value is none.
type AggregateFunction struct {
	Oid  uint32 `json:",omitempty"`
	Name string `json:",omitempty"` // of a function that is built in or an extension's
	ID   ID     `json:",omitempty"` // of a user's
}

// Functions returns the functions that there are.
func (a *Aggregate) Functions() []AggregateFunction {
	list := []AggregateFunction{a.Transition, a.Final, a.Combine}
	if m := a.Moving; m != nil {
		list = append(list, m.Transition, m.Inverse, m.Final)
	}
	var out []AggregateFunction
	for _, f := range list {
		if f.Oid != 0 {
			out = append(out, f)
		}
	}
	return out
}

// aggregateRecord is a stored Aggregate, whose types are written by oid.
type aggregateRecord struct {
	Aggregate
	State  typeRecord
	Moving *movingRecord `json:",omitempty"`
}

type movingRecord struct {
	MovingAggregate
	State typeRecord
}

func encodeAggregate(a *Aggregate) *aggregateRecord {
	if a == nil {
		return nil
	}
	rec := &aggregateRecord{Aggregate: *a, State: encodeType(a.State)}
	if a.Moving != nil {
		rec.Moving = &movingRecord{*a.Moving, encodeType(a.Moving.State)}
	}
	rec.Aggregate.Moving = nil
	return rec
}

func decodeAggregate(id ID, rec *aggregateRecord) (*Aggregate, error) {
	if rec == nil {
		return nil, nil
	}
	a := rec.Aggregate
	var err error
	if a.State, err = decodeType(id, rec.State, 0); err != nil {
		return nil, err
	}
	if rec.Moving != nil {
		m := rec.Moving.MovingAggregate
		if m.State, err = decodeType(id, rec.Moving.State, 0); err != nil {
			return nil, err
		}
		a.Moving = &m
	}
	return &a, nil
}
