package jobs

import (
	"encoding/binary"
	"encoding/json"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The states of jobs.
const (
	Running   = "running"
	Paused    = "paused"
	Succeeded = "succeeded"
	Failed    = "failed"
	Canceled  = "canceled"
)

// Limits of records.
const (
	// maxKept is how many jobs that have ended are kept, maxText how long the shown text of a statement or an error may be.
	maxKept = 1000
	maxText = 4096
	// MaxAgain is how long the text and the settings of a statement may be that another node can run again.
	MaxAgain = 64 << 10
)

// Keys of records and of claims begin so; JSON follows the first byte of a value, which is the format.
const (
	prefix      = "sql/job/"
	claimPrefix = "sql/jobclaim/"
	format      = 2
	// oldFormat had no claims: its jobs end with their node.
	oldFormat = 1
)

// Record is what is known of a job.
type Record struct {
	ID int64
	// Kind is what SHOW JOBS calls it, "" for a change of the schema.
	Kind                        string `json:",omitempty"`
	Statement                   string
	User, Database              string
	Node                        kvpb.NodeID
	State                       string
	Rows                        int64  // read so far, those that changed meanwhile included
	Error                       string `json:",omitempty"`
	Created, Finished, Modified int64  // wall times in nanoseconds; Finished is 0 before the end
	// Wish is the state that somebody wants the job to be in, "" if nobody does.
	Wish string `json:",omitempty"`
	// Again is what another node needs to go on with the job; nil: none can.
	Again *Again `json:",omitempty"`
	// Claims says that the job has a claim until its change is made or it ends, whether or not another node can go on with it.
	Claims bool `json:",omitempty"`
	// Epoch counts the claims of the job, Runs its runners without those that were stopped in order.
	Epoch uint64 `json:",omitempty"`
	Runs  int    `json:",omitempty"`
	// Until is the wall time up to which the runner may write for the job.
	Until int64 `json:",omitempty"`
	// Progress is what the statement has noted for who goes on with it.
	Progress json.RawMessage `json:",omitempty"`

	old bool // it has oldFormat
}

// Again is what a statement is run again with.
type Again struct {
	Text     string
	Expired  *Expired          `json:",omitempty"` // what is done in place of a statement
	Role     string            `json:",omitempty"` // of SET ROLE, "" for the user
	Settings map[string]string `json:",omitempty"`
}

// Expired are the rows of a table that had expired at a time, a wall time in nanoseconds, and are deleted.
type Expired struct {
	Table uint64
	At    int64
}

// Size is what MaxAgain bounds.
func (a *Again) Size() int {
	n := len(a.Text) + len(a.Role)
	for k, v := range a.Settings {
		n += len(k) + len(v)
	}
	return n
}

// hasClaim reports whether the job has a claim until it ends. Those of earlier versions with which no other node goes on have none.
func (r *Record) hasClaim() bool { return r.Claims || r.Again != nil }

// Ended reports whether the job has ended.
func (r *Record) Ended() bool { return r.State != Running && r.State != Paused }

func key(id int64) []byte { return binary.BigEndian.AppendUint64(keys.SystemKey(prefix), uint64(id)) }

func claimKey(id int64) []byte {
	return binary.BigEndian.AppendUint64(keys.SystemKey(claimPrefix), uint64(id))
}

// idOf returns the id in a key.
func idOf(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[len(key)-8:])) }

func encode(r *Record) ([]byte, error) {
	b, err := json.Marshal(r)
	return append([]byte{format}, b...), err
}

func decode(b []byte) (r Record, err error) {
	if len(b) == 0 || b[0] != format && b[0] != oldFormat {
		return r, pgerr.New(pgerr.DataCorrupted, "the record of a job has an unknown format")
	}
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return r, pgerr.New(pgerr.DataCorrupted, "damaged record of a job: %v", err)
	}
	r.old = b[0] == oldFormat
	return r, nil
}

// claim says how often a job was claimed.
type claim struct{ Epoch uint64 }

func encodeClaim(c claim) ([]byte, error) {
	b, err := json.Marshal(c)
	return append([]byte{format}, b...), err
}

func decodeClaim(b []byte) (c claim, err error) {
	if len(b) == 0 || b[0] != format {
		return c, pgerr.New(pgerr.DataCorrupted, "the claim of a job has an unknown format")
	}
	if err := json.Unmarshal(b[1:], &c); err != nil {
		return c, pgerr.New(pgerr.DataCorrupted, "damaged claim of a job: %v", err)
	}
	return c, nil
}
