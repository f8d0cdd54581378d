package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
)

// TestNodeStatusFits: the table of node status fits a terminal of 120 columns; other formats, and
// --all, have every column.
func TestNodeStatusFits(t *testing.T) {
	const terminal = 120
	at := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	var nodes []node.NodeStatus
	for id := kvpb.NodeID(8); id < 12; id++ {
		nodes = append(nodes, node.NodeStatus{
			ID: id, Addr: "192.168.100.100:26257", SQLAddr: "192.168.100.100:26258", Build: "0.2.0-dev-0123456789ab",
			Locality: "region=eu,zone=a", StartedAt: at, UpdatedAt: at, Available: true, Live: true,
			Ranges: 10000, Leaders: 10000, Membership: node.Decommissioning, Stores: []node.StoreStatus{{ID: 100}},
		})
	}
	print := func(format string, wide bool) string {
		var out bytes.Buffer
		if err := printStatus(&streams{out: &out}, format, nodes, 0, wide); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	narrow := print("table", false)
	for line := range strings.Lines(narrow) {
		if len(strings.TrimRight(line, "\n")) > terminal {
			t.Errorf("longer than %d columns: %s", terminal, line)
		}
	}
	if !strings.Contains(narrow, "is_available") || strings.Contains(narrow, "started_at") {
		t.Errorf("the columns of the table: %s", narrow)
	}
	for _, c := range statusColumns {
		for _, format := range formats {
			if !strings.Contains(print(format, true), c.name) {
				t.Errorf("%s is not in the format %s", c.name, format)
			}
		}
	}
}

// TestStoreStatusUnknown: a store that has not reported yet has no capacity, rather than one of 0.
func TestStoreStatusUnknown(t *testing.T) {
	nodes := []node.NodeStatus{{ID: 1, Addr: "n1", Live: true, Stores: []node.StoreStatus{
		{ID: 1, Ranges: 2, Leaders: 1, Capacity: 300, Available: 200, Used: 100}, {ID: 2}, {ID: 3, Stalled: true},
	}}}
	var out bytes.Buffer
	if err := printStores(&streams{out: &out}, "csv", nodes, 0); err != nil {
		t.Fatal(err)
	}
	want := "1,1,n1,true,2,1,300,200,100,ok\n" +
		`2,1,n1,true,0,0,"","","",""` + "\n" + `3,1,n1,true,0,0,"","","",does not answer` + "\n"
	if _, rows, _ := strings.Cut(out.String(), "\n"); rows != want {
		t.Errorf("got\n%swant\n%s", rows, want)
	}
}
