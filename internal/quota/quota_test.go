package quota

import (
	"errors"
	"math/rand"
	"sync"
	"testing"
)

func TestReserveAllOrNothing(t *testing.T) {
	node := NewPool("node", 1000)
	session := node.Child("session", 0)
	statement := session.Child("statement", 600)
	if err := statement.Reserve(500); err != nil {
		t.Fatal(err)
	}
	var ex *ExceededError
	if err := statement.Reserve(200); !errors.As(err, &ex) || ex.Pool != "statement" {
		t.Fatalf("want the statement's limit, got %v", err)
	}
	other := session.Child("other", 0)
	if err := other.Reserve(501); !errors.As(err, &ex) || ex.Pool != "node" || ex.Used != 500 {
		t.Fatalf("want the node's limit, got %v", err)
	}
	if other.Used() != 0 || session.Used() != 500 || node.Used() != 500 {
		t.Fatalf("a failed reservation left traces: %d %d %d", other.Used(), session.Used(), node.Used())
	}
	statement.Release(500)
	if node.Used() != 0 || node.Peak() != 500 {
		t.Fatalf("used %d peak %d", node.Used(), node.Peak())
	}
}

func TestAccountUsesTheLastByte(t *testing.T) {
	p := NewPool("p", chunk+10)
	var a Account
	a.Init(p)
	for i := 0; i < chunk+10; i++ {
		if err := a.Grow(1); err != nil {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	if err := a.Grow(1); err == nil {
		t.Fatal("grew beyond the limit")
	}
	if a.Used() != chunk+10 {
		t.Fatalf("used %d", a.Used())
	}
	a.Close()
	if p.Used() != 0 {
		t.Fatalf("%d bytes leaked", p.Used())
	}
}

func TestAccountsConcurrently(t *testing.T) {
	p := NewPool("p", 64*chunk)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewSource(int64(g)))
			var a Account
			a.Init(p)
			for range 2000 {
				if n := rng.Int63n(chunk); rng.Intn(2) == 0 {
					_ = a.Grow(n)
				} else {
					a.Shrink(min(n, a.Used()))
				}
				if p.Used() > p.Limit()+4*32*chunk { // transient overshoot of failing calls only
					t.Errorf("used %d", p.Used())
				}
			}
			a.Close()
		}()
	}
	wg.Wait()
	if p.Used() != 0 {
		t.Fatalf("%d bytes leaked", p.Used())
	}
}

// TestKeptPart: accounts that hold little find memory while a large one has taken all that it may, and
// large ones share what there is.
func TestKeptPart(t *testing.T) {
	p := NewPool("p", 16<<20)
	var hog Account
	hog.Init(p)
	for hog.Grow(chunk) == nil {
	}
	if kept := p.Limit() - hog.Used(); kept < p.Limit()/keptPart || p.Share() != p.Limit()-p.Limit()/keptPart {
		t.Errorf("%d bytes are kept, a share is %d", kept, p.Share())
	}
	beginners := make([]Account, p.Limit()/keptPart/SmallAccount)
	for i := range beginners {
		a := &beginners[i]
		a.Init(p)
		if err := a.Grow(SmallAccount); err != nil {
			t.Fatalf("account %d: %v", i, err)
		}
		if a.Grow(1) == nil {
			t.Fatalf("account %d holds more", i)
		}
	}
	hog.Shrink(8 << 20)
	if err := beginners[0].Grow(LargeAccount); err != nil {
		t.Fatal(err)
	}
	if share := p.Share(); share != 6<<20 {
		t.Errorf("the share of two is %d", share)
	}
	hog.Close()
	for i := range beginners {
		beginners[i].Close()
	}
	if p.Used() != 0 || p.Share() != 12<<20 {
		t.Errorf("%d bytes are in use, a share is %d", p.Used(), p.Share())
	}
}
