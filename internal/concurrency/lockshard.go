package concurrency

import "bytes"

// shard returns the shard of a key's hash: by its high bits, as the low ones
// choose the bucket.
func (t *LockTable) shard(hash uint64) *lockShard {
	list := t.shards.Load()
	if list == nil {
		t.shards.CompareAndSwap(nil, new(lockShardList))
		list = t.shards.Load()
	}
	p := &list[(hash>>32)%lockShards]
	if sh := p.Load(); sh != nil {
		return sh
	}
	p.CompareAndSwap(nil, &lockShard{buckets: make([]*keyLock, minBuckets)})
	return p.Load()
}

// find returns the lock of key, or nil.
func (sh *lockShard) find(hash uint64, key []byte) *keyLock {
	for l := sh.buckets[hash&uint64(len(sh.buckets)-1)]; l != nil; l = l.next {
		if l.hash == hash && bytes.Equal(l.key, key) {
			return l
		}
	}
	return nil
}

// add puts a lock without holders for key, which has none, into the table.
func (sh *lockShard) add(hash uint64, key []byte) *keyLock {
	if sh.n >= len(sh.buckets) {
		sh.grow()
	}
	l := sh.free
	if l == nil {
		l = newKeyLock()
	} else {
		sh.free = l.next
		sh.nfree--
	}
	l.hash = hash
	l.key = append(l.key[:0], key...)
	b := &sh.buckets[hash&uint64(len(sh.buckets)-1)]
	l.next, *b = *b, l
	sh.n++
	return l
}

// remove takes l, which has neither holders nor waiters, out of the table and
// keeps the struct for reuse.
func (sh *lockShard) remove(l *keyLock) {
	p := &sh.buckets[l.hash&uint64(len(sh.buckets)-1)]
	for *p != l {
		p = &(*p).next
	}
	*p = l.next
	l.next = nil
	sh.n--
	if sh.nfree < maxFreeLocks && cap(l.key) <= maxFreeKeyBytes && cap(l.holders) <= maxFreeHolderCap {
		l.next, sh.free = sh.free, l
		sh.nfree++
	}
}

// grow doubles the number of buckets.
func (sh *lockShard) grow() {
	old := sh.buckets
	sh.buckets = make([]*keyLock, 2*len(old))
	for _, l := range old {
		for l != nil {
			next := l.next
			b := &sh.buckets[l.hash&uint64(len(sh.buckets)-1)]
			l.next, *b = *b, l
			l = next
		}
	}
}

// inSpan returns the locks with keys in [start, end), a nil end being unbounded.
func (sh *lockShard) inSpan(start, end []byte) []*keyLock {
	var in []*keyLock
	for _, l := range sh.buckets {
		for ; l != nil; l = l.next {
			if spanContains(start, end, l.key) {
				in = append(in, l)
			}
		}
	}
	return in
}

// snapshot appends a copy of the shard's locks to dst.
func (sh *lockShard) snapshot(dst []Lock) []Lock {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, l := range sh.buckets {
		for ; l != nil; l = l.next {
			key := bytes.Clone(l.key)
			for _, h := range l.holders {
				dst = append(dst, Lock{Key: key, Txn: h.id, Strength: h.s})
			}
			for w := l.head; w != nil; w = w.next {
				dst = append(dst, Lock{Key: key, Txn: w.holder.ID, Strength: w.strength, Waiting: true})
			}
		}
	}
	return dst
}

// spanContains reports whether key is in [start, end), a nil end being unbounded.
func spanContains(start, end, key []byte) bool {
	return bytes.Compare(start, key) <= 0 && (end == nil || bytes.Compare(key, end) < 0)
}
