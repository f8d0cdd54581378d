package rpc

import "math"

const (
	// batchSize bounds the bytes of large payloads in one write.
	batchSize = 128 << 10
	// keepBuffer is the largest buffer that an idle connection keeps.
	keepBuffer = 16 << 10
	// maxOverflow bounds the small frames that are queued beyond MaxQueueBytes: pongs and refusals,
	// after a large answer.
	maxOverflow = 2 * MaxPayload
	// bufferSize is the initial size of a buffer.
	bufferSize = 4 << 10
)

// transfer is a large payload that is not completely in a batch yet.
type transfer struct {
	typ     frameType
	code    uint16
	id      uint64
	payload []byte
	off     int
	call    *pendingCall // of a request
}

// beginLocked reserves room for the clock frame in front of a new batch.
func (c *conn) beginLocked() {
	if len(c.mu.out) > 0 {
		return
	}
	if c.mu.out == nil {
		c.mu.out, c.mu.spare = c.mu.spare, nil
	}
	if c.mu.out == nil {
		c.mu.out = c.n.getBuffer()
	}
	c.mu.out = appendFrame(c.mu.out, frameClock, 0, 0, nil)
}

// waitingLocked is the number of queued bytes.
func (c *conn) waitingLocked() int { return len(c.mu.out) + c.mu.largeLen }

// acquireLocked makes the caller the writer unless there is one. If it returns true, the caller
// must run write after unlocking; Close waits for that.
func (c *conn) acquireLocked() bool {
	if c.mu.writing || c.mu.err != nil {
		return false
	}
	c.mu.writing = true
	c.n.wg.Add(1) // not the first: the reader is running as long as err is nil
	return true
}

// kickLocked makes sure that queued bytes are written.
func (c *conn) kickLocked() {
	if c.acquireLocked() {
		c.n.workers.Go(c.write)
	}
}

// sendControl queues a small frame that concerns the connection.
func (c *conn) sendControl(typ frameType, id uint64, payload []byte) {
	c.mu.Lock()
	if c.mu.err != nil || c.waitingLocked() > MaxQueueBytes+maxOverflow {
		c.mu.Unlock() // a peer pings and never reads
		return
	}
	c.beginLocked()
	c.mu.out = appendFrame(c.mu.out, typ, 0, id, payload)
	c.kickLocked()
	c.mu.Unlock()
}

// sendMessage queues a message. It returns false if the message was dropped.
func (c *conn) sendMessage(m Method, msg []byte) bool {
	c.mu.Lock()
	if c.mu.err != nil || c.mu.messages >= c.n.limits.queueMessages ||
		c.mu.messages > 0 && len(c.mu.out)+len(msg) > c.n.limits.queueBytes {
		c.mu.Unlock()
		return false
	}
	c.beginLocked()
	c.mu.out = appendMessage(c.mu.out, m, msg)
	c.mu.messages++
	c.kickLocked()
	c.mu.Unlock()
	return true
}

// takeLocked makes the next batch: all small frames, and pieces of the large payloads in turn, up
// to batchSize.
func (c *conn) takeLocked() (buf []byte, messages int) {
	c.beginLocked()
	buf, messages = c.mu.out, c.mu.messages
	c.mu.out, c.mu.messages = nil, 0
	c.mu.batch++
	for first := true; len(c.mu.large) > 0 && (first || len(buf) < batchSize); first = false {
		t := c.mu.large[0]
		c.mu.large = append(c.mu.large[:0], c.mu.large[1:]...)
		before := t.off
		buf, t.off = appendPiece(buf, t.typ, t.code, t.id, t.payload, t.off)
		c.mu.largeLen -= t.off - before
		if t.off < len(t.payload) {
			c.mu.large = append(c.mu.large, t)
		} else if t.call != nil {
			t.call.batch = c.mu.batch
		}
	}
	if c.mu.waiting > 0 {
		c.mu.room.Broadcast()
	}
	return buf, messages
}

// dropLargeLocked removes a payload that the peer no longer wants from the queue.
func (c *conn) dropLargeLocked(typ frameType, id uint64) {
	for i, t := range c.mu.large {
		if t.typ == typ && t.id == id {
			c.mu.largeLen -= len(t.payload) - t.off
			c.mu.large = append(c.mu.large[:i], c.mu.large[i+1:]...)
			return
		}
	}
}

// seal writes the time in front of a complete batch. No timestamp that this node's clock has
// returned lies above it. seal does not wait for the clock while a disk stalls it: that is when the
// other nodes need this node's messages most.
func (c *conn) seal(buf []byte) {
	setFrame(buf, 0, frameClock, uint64(c.n.o.Clock.Reading().WallTime))
}

// write writes until the queue is empty. The caller is the writer (acquireLocked).
func (c *conn) write() {
	defer c.n.wg.Done()
	for {
		c.mu.Lock()
		if c.mu.err != nil || c.waitingLocked() == 0 {
			c.mu.writing = false
			c.mu.Unlock()
			return
		}
		buf, messages := c.takeLocked()
		c.mu.Unlock()
		c.seal(buf)
		written, err := c.nc.Write(buf)
		c.wrote.Store(int64(c.age()))
		c.n.stats.bytesSent.Add(uint64(written))
		if err != nil {
			c.n.stats.messagesDropped.Add(uint64(messages))
			c.fail(err)
		} else {
			c.n.stats.messagesSent.Add(uint64(messages))
		}
		c.reuse(buf)
	}
}

// reuse keeps a buffer for the next batch.
func (c *conn) reuse(buf []byte) {
	if cap(buf) > keepBuffer {
		c.n.putBuffer(buf)
		return
	}
	c.mu.Lock()
	if c.mu.err == nil {
		c.mu.spare = buf[:0]
	}
	c.mu.Unlock()
}

// getBuffer returns an empty buffer.
func (n *Node) getBuffer() []byte {
	if b, ok := n.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, bufferSize)
}

// putBuffer returns a large buffer to the pool unless it is too large to keep.
func (n *Node) putBuffer(b []byte) {
	if cap(b) <= 4*batchSize {
		n.buffers.Put(&b)
	}
}

// notInBatch marks a request whose end is not in a batch yet.
const notInBatch = math.MaxUint64
