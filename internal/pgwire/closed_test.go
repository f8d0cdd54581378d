package pgwire

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
)

// TestCancelAtClosed: a request to cancel that reaches a server which serves nobody, as that of a
// node whose clock is off, changes nothing.
func TestCancelAtClosed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := New(Options{Closed: context.Canceled})
	_ = s.Shutdown(ctx) // it has no connections
	client, server := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.ServeConn(context.Background(), server, nil)
	}()
	request := binary.BigEndian.AppendUint32(nil, 16)
	request = binary.BigEndian.AppendUint32(request, codeCancel)
	request = append(request, 0, 0, 0, 1, 0, 0, 0, 2)
	if _, err := client.Write(request); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
