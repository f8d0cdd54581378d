package kvnode

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/liveness"
)

// TestNewLives: a gateway that no heartbeat has told of gets as long as any other, and no longer.
func TestNewLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l newLives
		g := gatewayLife{node: 2, start: 5}
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
		l.known(gatewayLife{node: 2, start: 6})
		if len(l.seen) != 0 {
			t.Errorf("%d lives are kept that are over", len(l.seen))
		}
	})
}

// TestNewLivesAreBounded: lives above the limit are not served; a known one makes room.
func TestNewLivesAreBounded(t *testing.T) {
	var l newLives
	for i := range maxNewLives {
		if !l.alive(gatewayLife{node: kvpb.NodeID(i + 1), start: 1}) {
			t.Fatalf("life %d of %d is refused", i+1, maxNewLives)
		}
	}
	next := gatewayLife{node: maxNewLives + 1, start: 1}
	if l.alive(next) {
		t.Error("a life above the limit is served")
	}
	l.known(gatewayLife{node: 1, start: 1})
	if !l.alive(next) {
		t.Error("there is room, and a life is refused")
	}
}
