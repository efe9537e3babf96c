package streamtest

import (
	"container/heap"
	"fmt"
	"slices"
	"time"
)

// Shard is what the test may know of a shard and a reader may not.
type Shard struct {
	ID, Parent string
	Opened     time.Time
	Closed     time.Time // zero while open
	Records    int       // retained
	First      string    // sequence number of the oldest retained record, "" if none
	Last       string    // of the newest one
}

// StreamARN returns the ARN of the table's latest stream, "" if it never had
// one. It panics if there is no such table.
func (s *Service) StreamARN(table string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowLocked()
	if st := s.mustTableLocked(table).stream; st != nil {
		return st.arn
	}
	return ""
}

// Shards returns the retained shards of the table's latest stream, oldest
// first, free of any inconsistency. It panics if there is no such table.
func (s *Service) Shards(table string) []Shard {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	st := s.mustTableLocked(table).stream
	if st == nil {
		return nil
	}
	out := make([]Shard, 0, len(st.shards)-st.dropped)
	for _, sh := range st.shards {
		if sh.gone {
			continue
		}
		sh.trimTo(now.Add(-st.retain))
		v := Shard{ID: sh.id, Parent: sh.parent, Opened: sh.opened, Closed: sh.closed, Records: len(sh.records)}
		if v.Records > 0 {
			v.First, v.Last = sh.records[0].seq.String(), sh.records[v.Records-1].seq.String()
		}
		out = append(out, v)
	}
	return out
}

// Rotate closes every open shard and opens a child for each.
func (s *Service) Rotate(table string) error {
	return s.reshape(table, func(st *stream, now time.Time) error {
		for i := range st.parts {
			s.rotateLocked(st, i, now)
		}
		return nil
	})
}

// RotateShard closes one open shard and returns the id of its child.
func (s *Service) RotateShard(table, shardID string) (child string, err error) {
	err = s.reshape(table, func(st *stream, now time.Time) error {
		i, err := st.partByID(shardID)
		if err == nil {
			child = s.rotateLocked(st, i, now).id
		}
		return err
	})
	return child, err
}

// Split closes an open shard and opens two children, one for each half of its keys.
func (s *Service) Split(table, shardID string) (children [2]string, err error) {
	err = s.reshape(table, func(st *stream, now time.Time) error {
		i, err := st.partByID(shardID)
		if err != nil {
			return err
		}
		parent := st.parts[i].shard
		halves, err := st.split(i, now)
		if err != nil {
			return err
		}
		s.scheduleEnd(st, parent)
		for n, sh := range halves {
			children[n] = sh.id
			s.scheduleRotation(st, sh)
		}
		return nil
	})
	return children, err
}

// Merge closes two open shards of neighbouring keys and opens one child for
// both. The API has room for one parent, the one with the lower keys: what the
// other held is not ordered against the child by anything a reader can see.
func (s *Service) Merge(table, shardA, shardB string) (child string, err error) {
	err = s.reshape(table, func(st *stream, now time.Time) error {
		a, err := st.partByID(shardA)
		if err != nil {
			return err
		}
		b, err := st.partByID(shardB)
		if err != nil {
			return err
		}
		if a > b {
			a, b = b, a
		}
		if b != a+1 {
			return fmt.Errorf("streamtest: shards %s and %s are not neighbours", shardA, shardB)
		}
		left, right := st.parts[a].shard, st.parts[b].shard
		merged := st.merge(a, now)
		child = merged.id
		s.scheduleEnd(st, left)
		s.scheduleEnd(st, right)
		s.scheduleRotation(st, merged)
		return nil
	})
	return child, err
}

// reshape runs do on the enabled stream of a table.
func (s *Service) reshape(table string, do func(st *stream, now time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.tableLocked(table)
	if err != nil {
		return err
	}
	if t.stream == nil || !t.stream.ended.IsZero() {
		return fmt.Errorf("streamtest: table %q has no enabled stream", table)
	}
	return do(t.stream, now)
}

func (s *Service) rotateLocked(st *stream, i int, now time.Time) *shard {
	parent := st.parts[i].shard
	child := st.rotate(i, now)
	s.scheduleEnd(st, parent)
	s.scheduleRotation(st, child)
	return child
}

// Trim removes at once the records older than age, and the shards closed
// longer ago, of the table's latest stream: retention ahead of its time.
func (s *Service) Trim(table string, age time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.tableLocked(table)
	if err != nil {
		return err
	}
	if t.stream == nil {
		return fmt.Errorf("streamtest: table %q has no stream", table)
	}
	horizon := now.Add(-age)
	for _, sh := range slices.Clone(t.stream.shards) {
		sh.trimTo(horizon)
		if !sh.isOpen() && !sh.closed.After(horizon) {
			t.stream.drop(sh)
		}
	}
	return nil
}

// ExpireIterators makes every iterator handed out so far expire now.
func (s *Service) ExpireIterators() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
}

// DisableStream ends the table's stream: its shards close, and for the time of
// retention it can still be read.
func (s *Service) DisableStream(table string) error {
	return s.reshape(table, func(st *stream, now time.Time) error {
		for _, p := range st.parts {
			p.shard.close(now)
			s.scheduleEnd(st, p.shard)
		}
		st.parts = nil
		st.ended = now
		heap.Push(&s.timeline, event{kind: streamEnds, at: now.Add(s.cfg.Retention), stream: st})
		return nil
	})
}

// EnableStream gives the table a new stream, with a new ARN, after
// DisableStream ended the last one; the view stays.
func (s *Service) EnableStream(table string) (arn string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.tableLocked(table)
	if err != nil {
		return "", err
	}
	if t.stream == nil || t.stream.ended.IsZero() {
		return "", fmt.Errorf("streamtest: table %q has no stream that ended: DisableStream comes first", table)
	}
	return s.enableLocked(t, t.stream.view, now).arn, nil
}

// Advance moves the service's clock forward. Under testing/synctest sleeping
// does the same, and moves the reader's clock too.
func (s *Service) Advance(d time.Duration) {
	if d < 0 {
		panic("streamtest: Advance by a negative duration")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
	s.nowLocked()
}

// Time returns the service's time, by which it stamps records and answers.
func (s *Service) Time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nowLocked()
}
