// Package raftgroup decides how one raft group runs.
package raftgroup
