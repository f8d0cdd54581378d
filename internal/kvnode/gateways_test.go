package kvnode

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// TestNewGateways: a gateway that no heartbeat has told of gets as long as any other, and no longer.
func TestNewGateways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l newGateways
		g := incarnation{node: 2, start: 5}
		if !l.alive(g) {
			t.Error("a gateway that has just started is taken for dead")
		}
		time.Sleep(liveness.DeadGatewayAfter - 1)
		if !l.alive(g) {
			t.Error("a gateway is taken for dead too early")
		}
		time.Sleep(time.Nanosecond)
		if l.alive(g) {
			t.Error("a gateway that was never heard of is taken for alive")
		}
		l.known(incarnation{node: 2, start: 6})
		if len(l.seen) != 0 {
			t.Errorf("%d incarnations are kept that have ended", len(l.seen))
		}
	})
}

// TestNewGatewaysAreBounded: gateways above the limit are not served; a known one makes room.
func TestNewGatewaysAreBounded(t *testing.T) {
	var l newGateways
	for i := range maxNewGateways {
		if !l.alive(incarnation{node: kvpb.NodeID(i + 1), start: 1}) {
			t.Fatalf("gateway %d of %d is refused", i+1, maxNewGateways)
		}
	}
	next := incarnation{node: maxNewGateways + 1, start: 1}
	if l.alive(next) {
		t.Error("a gateway above the limit is served")
	}
	l.known(incarnation{node: 1, start: 1})
	if !l.alive(next) {
		t.Error("there is room, and a gateway is refused")
	}
}
