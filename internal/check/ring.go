package check

import (
	"fmt"
	"slices"
	"strings"
)

// Kinds of operations of the ring.
const (
	RingSplice   = "ring-splice"   // Op.Reads are three links that follow one another
	RingSnapshot = "ring-snapshot" // Op.Reads holds every link
)

// minRing is the shortest ring whose splices can be checked: the four keys of
// a splice are distinct.
const minRing = 4

// Ring checks links: each key holds the name of the next, so that all form one
// cycle, and a splice takes the key after the next out and puts it in a place
// later: a→b→c→d becomes a→c→b→d. Isolation that leaks breaks the cycle: a lost
// update or torn snapshot makes it short or two.
//
// It does not notice a splice that is lost, repeated or seen early as a whole, nor
// a snapshot that is whole but too old: they leave one cycle. [Timestamps] does.
type Ring struct{ Keys []string }

// NewRing returns a ring of n keys that begin with prefix; n is at least 4.
func NewRing(prefix string, n int) Ring {
	var r Ring
	for i := range max(n, minRing) {
		r.Keys = append(r.Keys, fmt.Sprintf("%s%03d", prefix, i))
	}
	return r
}

// Initial returns the links to begin with.
func (r Ring) Initial() []Access {
	var links []Access
	for i, k := range r.Keys {
		links = append(links, Access{Key: k, Value: r.Keys[(i+1)%len(r.Keys)]})
	}
	return links
}

// Splice reads the links that a splice at start needs and returns them with the
// writes that it then makes.
func (r Ring) Splice(start string, read func(key string) (string, error)) (reads, writes []Access, err error) {
	key := start
	for range 3 {
		next, err := read(key)
		if err != nil {
			return reads, nil, err
		}
		reads = append(reads, Access{Key: key, Value: next})
		key = next
	}
	a, b, c, d := reads[0].Key, reads[1].Key, reads[2].Key, key
	return reads, []Access{{Key: a, Value: c}, {Key: c, Value: b}, {Key: b, Value: d}}, nil
}

// Check returns nil or a [Violation].
func (r Ring) Check(ops []Op) error {
	for _, op := range ops {
		problem := ""
		switch {
		case op.Outcome != OK:
		case op.Kind == RingSnapshot:
			problem = r.snapshot(op.Reads)
		case op.Kind == RingSplice:
			problem = r.splice(op.Reads)
		}
		if problem != "" {
			return &Violation{"ring", problem, []Op{op}}
		}
	}
	return nil
}

func (r Ring) snapshot(links []Access) string {
	next := map[string]string{}
	for _, l := range links {
		if l.Absent {
			return fmt.Sprintf("key %s is missing", l.Key)
		}
		if _, twice := next[l.Key]; twice {
			return fmt.Sprintf("a snapshot shows key %s twice", l.Key)
		}
		next[l.Key] = l.Value
	}
	for _, k := range r.Keys {
		if _, ok := next[k]; !ok {
			return fmt.Sprintf("a snapshot lacks key %s", k)
		}
	}
	if len(next) != len(r.Keys) {
		return fmt.Sprintf("a snapshot shows %d keys, the ring has %d", len(next), len(r.Keys))
	}
	seen := map[string]bool{}
	var path []string
	for k := r.Keys[0]; ; k = next[k] {
		if _, ok := next[k]; !ok {
			return fmt.Sprintf("key %s points to %q, which is no key", path[len(path)-1], k)
		}
		path = append(path, k)
		if seen[k] {
			break
		}
		seen[k] = true
	}
	switch back := slices.Index(path, path[len(path)-1]); {
	case back > 0:
		return fmt.Sprintf("a snapshot is no ring, it runs into itself: %s", strings.Join(path, "→"))
	case len(seen) != len(r.Keys):
		return fmt.Sprintf("a snapshot has a ring of %d keys, not of all %d: %s", len(seen), len(r.Keys), strings.Join(path, "→"))
	}
	return ""
}

func (r Ring) splice(reads []Access) string {
	if len(reads) != 3 {
		return fmt.Sprintf("a splice read %d links, not 3", len(reads))
	}
	seen := map[string]bool{}
	key := reads[0].Key
	for _, l := range reads {
		if l.Key != key || l.Absent {
			return fmt.Sprintf("a splice found no link at %s", key)
		}
		seen[key] = true
		key = l.Value
	}
	seen[key] = true
	if len(seen) != 4 {
		return "a splice read links that were never together: four keys in a row are distinct"
	}
	return ""
}
