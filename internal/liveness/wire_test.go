package liveness

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"pgregory.net/rapid"
)

func drawVersion(t *rapid.T) version {
	return version{rapid.Bool().Draw(t, "removed"), rapid.Int64().Draw(t, "incarnation"), rapid.Uint64().Draw(t, "seq")}
}

func drawInfo(t *rapid.T) NodeInfo {
	str := rapid.StringN(0, 20, maxString)
	n := NodeInfo{
		ID: kvpb.NodeID(rapid.Uint64Min(1).Draw(t, "id")), Incarnation: rapid.Int64().Draw(t, "incarnation"),
		Addr: str.Draw(t, "addr"), SQLAddr: str.Draw(t, "sql"), HTTPAddr: str.Draw(t, "http"),
		Locality: str.Draw(t, "locality"), Version: str.Draw(t, "version"),
		Draining: rapid.Bool().Draw(t, "draining"), Decommissioning: rapid.Bool().Draw(t, "decommissioning"),
		Removed: rapid.Bool().Draw(t, "removed"), Seq: rapid.Uint64().Draw(t, "seq"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "stores") {
		n.Stores = append(n.Stores, StoreInfo{
			ID: kvpb.StoreID(rapid.Uint64().Draw(t, "store")), CapacityBytes: rapid.Int64().Draw(t, "cap"),
			UsedBytes: rapid.Int64().Draw(t, "used"), OwnBytes: rapid.Int64().Draw(t, "own"), Ranges: rapid.Int().Draw(t, "ranges"), Leaders: rapid.Int().Draw(t, "leaders"),
			QPS: rapid.Float64().Draw(t, "qps"), WriteBytesPerSec: rapid.Float64().Draw(t, "write"),
			Stalled: rapid.Bool().Draw(t, "stalled"), Full: rapid.Bool().Draw(t, "full"), Slow: rapid.Bool().Draw(t, "slow"),
			Late: rapid.Bool().Draw(t, "late"),
		})
	}
	return n
}

func encode(m *message) []byte {
	e := newMessage(m.incarnation, m.sent, m.echo, m.to, m.has)
	if m.requestUntil != 0 {
		e.requestUntil(m.requestUntil)
	}
	if m.grant != (grantMsg{}) {
		e.grant(m.grant)
	}
	for i := range m.infos {
		e.info(&m.infos[i])
	}
	if m.beat {
		e.digest(m.digest)
	}
	if m.listed {
		e.versions(m.versions, m.answer)
	}
	return e.b
}

func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64()
		m := &message{
			incarnation: rapid.Int64Min(1).Draw(t, "incarnation"), sent: n.Draw(t, "sent"), echo: n.Draw(t, "echo"), to: n.Draw(t, "to"),
			has: drawVersion(t), requestUntil: n.Draw(t, "ask"),
			grant: grantMsg{n.Draw(t, "grantee"), n.Draw(t, "epoch"), n.Draw(t, "until")},
			beat:  rapid.Bool().Draw(t, "beat"), listed: rapid.Bool().Draw(t, "listed"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "infos") {
			m.infos = append(m.infos, drawInfo(t))
		}
		if m.beat {
			m.digest = rapid.Uint64().Draw(t, "digest")
		}
		if m.listed {
			m.answer = rapid.Bool().Draw(t, "answer")
			for range rapid.IntRange(0, 3).Draw(t, "versions") {
				m.versions = append(m.versions, nodeVersion{kvpb.NodeID(rapid.Uint64().Draw(t, "id")), drawVersion(t)})
			}
		}
		b := encode(m)
		got, err := decode(b)
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Fatalf("%+v came back as %+v, %v", m, got, err)
		}
		if cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut"); cut > 0 {
			if got, err := decode(b[:cut]); err == nil && reflect.DeepEqual(got, m) {
				t.Fatalf("the first %d of %d bytes are the same message", cut, len(b))
			}
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	head := newMessage(5, 1, 0, 0, version{})
	long := newMessage(5, 1, 0, 0, version{})
	long.info(&NodeInfo{ID: 1, Addr: strings.Repeat("a", maxString+1)})
	stores := newMessage(5, 1, 0, 0, version{})
	stores.info(&NodeInfo{ID: 1, Stores: make([]StoreInfo, maxStores+1)})
	anonymous := newMessage(5, 1, 0, 0, version{})
	anonymous.info(&NodeInfo{})
	headless := &encoder{b: []byte{wireVersion}}
	headless.requestUntil(5)
	for name, b := range map[string][]byte{
		"nothing": nil, "version": {9, 0}, "only a version": {wireVersion}, "two heads": append(head.b, head.b[1:]...),
		"string": long.b, "stores": stores.b, "no id": anonymous.b, "no head": headless.b,
		"no incarnation": newMessage(0, 1, 0, 0, version{}).b, "size": make([]byte, maxMessage+1),
	} {
		if m, err := decode(b); err == nil {
			t.Errorf("%s: taken as %+v", name, m)
		}
	}
	// What a later version adds is skipped.
	head.section(99, []byte("later"))
	head.section(tagRequest, append(appendFixed(nil, 7), 1, 2, 3))
	if m, err := decode(head.b); err != nil || m.requestUntil != 7 {
		t.Fatalf("unknown parts: %+v, %v", m, err)
	}
}

func FuzzDecode(f *testing.F) {
	e := newMessage(5, 1, 2, 3, version{incarnation: 1, seq: 2})
	e.requestUntil(9)
	e.grant(grantMsg{1, 2, 3})
	e.info(&NodeInfo{ID: 3, Incarnation: 4, Addr: "host:1", Stores: []StoreInfo{{ID: 1, QPS: 3}}, Seq: 300})
	e.digest(77)
	e.versions([]nodeVersion{{1, version{incarnation: 1, seq: 2}}}, true)
	f.Add(e.b)
	f.Add([]byte{wireVersion, tagHead, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		c := encode(m)
		again, err := decode(c)
		if err != nil {
			t.Fatalf("%+v can't be read back: %v", m, err)
		}
		if d := encode(again); string(d) != string(c) {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}
