package distsql

import (
	"context"
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/fragment"
)

// TestSlots: when as many fragments run as may, one more waits until one of them ends or nobody waits for it any more.
func TestSlots(t *testing.T) {
	s := NewServer(kv.NewDB(nil, hlc.NewSystem(0), 1), nil, nil)
	for range cap(s.slots) {
		if err := s.enter(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.enter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("one too many: %v", err)
	}
	entered := make(chan error)
	go func() { entered <- s.enter(context.Background()) }()
	<-s.slots
	if err := <-entered; err != nil {
		t.Error(err)
	}
}

// TestUnknownVersion: a request of another version is answered by name.
func TestUnknownVersion(t *testing.T) {
	s := NewServer(kv.NewDB(nil, hlc.NewSystem(0), 1), nil, nil)
	_, err := fragment.DecodeAnswer(s.Serve(context.Background(), []byte{fragment.Version + 1}))
	if v := new(fragment.VersionError); !errors.As(err, &v) {
		t.Errorf("%v", err)
	}
}
