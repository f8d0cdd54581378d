package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lichendb/lichen/internal/kvpb"
)

// stepSender is a range that notes what it was asked to do of a commit.
type stepSender struct {
	kvpb.Sender
	name string
	log  *stepLog
}

type stepLog struct {
	mu  sync.Mutex
	did map[string]bool
}

func (s *stepSender) note(what string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.did[what+s.name] = true
}

func (s *stepSender) Stage(context.Context, *kvpb.StageRequest, *kvpb.StageResponse) error {
	s.note("stage ")
	return nil
}

func (s *stepSender) EndTxn(_ context.Context, req *kvpb.EndTxnRequest, _ *kvpb.EndTxnResponse) error {
	s.note([]string{"end ", "abort ", "forget "}[req.Action])
	return nil
}

func (s *stepSender) Resolve(context.Context, *kvpb.ResolveRequest) error {
	s.note("resolve ")
	return nil
}

// commitOf commits a transaction in the ranges a, p and x as a gateway does.
func commitOf(c *commitFault, id uint64, log *stepLog) (answered, over chan struct{}) {
	ctx, txn := context.Background(), &kvpb.TxnMeta{ID: kvpb.TxnID{Lo: id}}
	answered, over = make(chan struct{}), make(chan struct{})
	each := func(do func(s kvpb.Sender, name string)) {
		var wg sync.WaitGroup
		for _, name := range []string{"a", "p", "x"} {
			wg.Go(func() { do(c.intercept(&stepSender{name: name, log: log}), name) })
		}
		wg.Wait()
	}
	end := func(a kvpb.EndAction) {
		_ = c.intercept(&stepSender{name: "a", log: log}).EndTxn(ctx, &kvpb.EndTxnRequest{Txn: txn, Action: a}, &kvpb.EndTxnResponse{})
	}
	go func() {
		defer close(over)
		each(func(s kvpb.Sender, name string) {
			w := []kvpb.Write{{Key: []byte(fmt.Sprintf("%s-%d-", name, id))}}
			_ = s.Stage(ctx, &kvpb.StageRequest{Txn: txn, Writes: w, Record: name == "a"}, &kvpb.StageResponse{})
		})
		close(answered)
		end(kvpb.EndCommit)
		each(func(s kvpb.Sender, _ string) { _ = s.Resolve(ctx, &kvpb.ResolveRequest{Txn: txn.ID}) })
		end(kvpb.EndForget)
	}()
	return answered, over
}

// Each step holds the commit that it names where it says, and no other; then it goes on.
func TestCommitFaultHook(t *testing.T) {
	ended := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for i, want := range []struct {
		state    string
		did      int // requests that had their effect
		answered bool
	}{
		{`{"held":3,"passed":0}`, 0, false},
		{`{"held":2,"passed":1}`, 1, false},
		{`{"held":1,"passed":2}`, 2, false},
		{`{"held":3,"passed":0}`, 3, false},
		{`{"held":1,"passed":0}`, 3, true},
		{`{"held":1,"passed":0}`, 4, true},
		{`{"held":2,"passed":1}`, 5, true},
		{`{"held":1,"passed":0}`, 7, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var c commitFault
			step := commitSteps[i].name
			ask := func(method, query string) (int, string) {
				rec := httptest.NewRecorder()
				c.ServeHTTP(rec, httptest.NewRequest(method, "/_debug/fault/commit?"+query, nil))
				return rec.Code, strings.TrimSpace(rec.Body.String())
			}
			if code, body := ask(http.MethodPost, "key=-2-&hold="+step); code != http.StatusOK {
				t.Fatalf("%s: %d %s", step, code, body)
			}
			log := &stepLog{did: map[string]bool{}}
			_, other := commitOf(&c, 1, &stepLog{did: map[string]bool{}})
			answered, over := commitOf(&c, 2, log)
			synctest.Wait()
			_, state := ask(http.MethodGet, "")
			if !ended(other) || ended(over) || ended(answered) != want.answered || len(log.did) != want.did || state != want.state {
				t.Errorf("%s: %s after %v, answered %t; another over %t", step, state, log.did, ended(answered), ended(other))
			}
			if code, _ := ask(http.MethodPost, "off=1"); code != http.StatusOK {
				t.Errorf("%s: off: %d", step, code)
			}
			<-over
			if len(log.did) != 8 {
				t.Errorf("%s: in the end %v", step, log.did)
			}
		})
	}
}

func TestCommitFaultRefuses(t *testing.T) {
	var c commitFault
	for _, x := range []struct {
		method, query string
		code          int
	}{
		{http.MethodPost, "", http.StatusBadRequest},
		{http.MethodPost, "hold=before-end", http.StatusBadRequest},
		{http.MethodPost, "hold=never&key=a", http.StatusBadRequest},
		{http.MethodDelete, "off=1", http.StatusMethodNotAllowed},
	} {
		rec := httptest.NewRecorder()
		c.ServeHTTP(rec, httptest.NewRequest(x.method, "/_debug/fault/commit?"+x.query, nil))
		if rec.Code != x.code {
			t.Errorf("%s %q: status %d, want %d", x.method, x.query, rec.Code, x.code)
		}
	}
}
