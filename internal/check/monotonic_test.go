package check

import "testing"

// during puts an operation of a client between two places of the order.
func during(from, to int64, client int, op Op) Op {
	op.Invoke, op.Return, op.Client = from, to, client
	return op
}

func TestMonotonicReads(t *testing.T) {
	mine := MonotonicReads{}.Check
	all := MonotonicReads{Everybody: true}.Check
	back := []Op{
		during(1, 2, 1, listOp(OK, "x=1,2")),
		during(3, 4, 1, listOp(OK, "x=1")),
	}
	planted{"back in time", back, "of which [1 2] was seen before"}.test(t, mine)
	planted{"back in time, for all", back, "of which [1 2] was seen before"}.test(t, all)
	across := []Op{
		during(1, 2, 1, listOp(OK, "x=1,2")),
		during(3, 4, 2, listOp(OK, "x=1")),
	}
	planted{"two clients", across, ""}.test(t, mine)
	planted{"two clients, for all", across, "of which [1 2] was seen before"}.test(t, all)
	unseen := []Op{
		during(1, 2, 1, listOp(OK, "x+1")),
		during(3, 4, 1, listOp(OK, "y= x=")),
	}
	planted{"own append not found", unseen, "lacks 1, acknowledged before it began"}.test(t, mine)
	planted{"no harm done", []Op{
		during(1, 5, 1, listOp(OK, "x+1")),
		during(2, 4, 2, listOp(OK, "x=1")),     // before it was acknowledged
		during(3, 7, 3, listOp(OK, "x=")),      // began before anybody had seen it
		during(6, 8, 2, listOp(OK, "x=1")),     //
		during(9, 12, 3, listOp(Failed, "x=")), // nobody got that
		during(10, 11, 3, listOp(OK, "x=1 x+2 x=1,2")),
	}, ""}.test(t, all)
}
