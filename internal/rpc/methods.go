package rpc

import "fmt"

// The methods of all packages are in one table, so that every number is unique. They are part of
// the protocol between nodes: a retired number is not reused. The package that handles a method
// documents it.
const (
	// This package.
	methodTraced Method = 1

	// Package dist.
	MethodKV    Method = 16
	MethodWaits Method = 17
	MethodClock Method = 18

	// Package store.
	MethodRaft      Method = 32
	MethodGone      Method = 33
	MethodSnapshot  Method = 34
	MethodClosed    Method = 35
	MethodAskClosed Method = 36

	// Packages node and kvnode.
	MethodInit       Method = 48
	MethodJoin       Method = 49
	MethodPeers      Method = 50
	MethodFirstRange Method = 51
	MethodLiveness   Method = 52
	MethodServing    Method = 53
	MethodAwaited    Method = 54

	// Package sqlnode.
	MethodCatalog  Method = 56
	MethodSQL      Method = 120
	MethodFragment Method = 121

	// Package rangeops.
	MethodRangeOp    Method = 64
	MethodRangeInfos Method = 65
	MethodRangeSize  Method = 66

	// Package consistency.
	MethodChecksum    Method = 72
	MethodCheckRanges Method = 112
	MethodRangeIDs    Method = 113

	// Package node, for operators.
	MethodNodes      Method = 96
	MethodDrain      Method = 97
	MethodMembership Method = 98
	MethodRemaining  Method = 99
	MethodOwn        Method = 100
	MethodDebug      Method = 101
	MethodBlocked    Method = 102

	// Package console.
	MethodConsole Method = 104
)

// methodNames has the names for errors. A duplicate number does not compile.
var methodNames = map[Method]string{
	methodTraced: "Traced",
	MethodKV:     "KV", MethodWaits: "Waits", MethodClock: "Clock",
	MethodRaft: "Raft", MethodGone: "Gone", MethodSnapshot: "Snapshot", MethodClosed: "Closed", MethodAskClosed: "AskClosed",
	MethodInit: "Init", MethodJoin: "Join", MethodPeers: "Peers", MethodFirstRange: "FirstRange", MethodLiveness: "Liveness",
	MethodServing: "Serving", MethodAwaited: "Awaited",
	MethodCatalog: "Catalog", MethodSQL: "SQL", MethodFragment: "Fragment",
	MethodRangeOp: "RangeOp", MethodRangeInfos: "RangeInfos", MethodRangeSize: "RangeSize",
	MethodChecksum: "Checksum", MethodCheckRanges: "CheckRanges", MethodRangeIDs: "RangeIDs",
	MethodNodes: "Nodes", MethodDrain: "Drain", MethodMembership: "Membership", MethodRemaining: "Remaining", MethodOwn: "Own",
	MethodDebug: "Debug", MethodBlocked: "Blocked", MethodConsole: "Console",
}

// String returns the method's name and number.
func (m Method) String() string {
	if name, ok := methodNames[m]; ok {
		return fmt.Sprintf("%s (%d)", name, uint16(m))
	}
	return fmt.Sprintf("%d", uint16(m))
}
