package writebuffer

// chunkLen is the number of elements of a chunk.
const chunkLen = 1 << 10

// chunked is a list that grows by chunks, so that what it holds is never copied, and never has room for
// many more.
type chunked[T any] struct {
	chunks [][]T // all full but the last
	len    int
}

func (c *chunked[T]) at(i int32) *T { return &c.chunks[uint32(i)/chunkLen][uint32(i)%chunkLen] }

func (c *chunked[T]) append(v T) {
	last := c.len / chunkLen
	if last == len(c.chunks) {
		var chunk []T
		if last > 0 { // a small list grows as it needs
			chunk = make([]T, 0, chunkLen)
		}
		c.chunks = append(c.chunks, chunk)
	}
	c.chunks[last] = append(c.chunks[last], v)
	c.len++
}

// truncate drops the elements from n on, and keeps their memory.
func (c *chunked[T]) truncate(n int) {
	for i := n / chunkLen; i < len(c.chunks); i++ {
		from := max(n-i*chunkLen, 0)
		clear(c.chunks[i][from:])
		c.chunks[i] = c.chunks[i][:from]
	}
	c.len = n
}
