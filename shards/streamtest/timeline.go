package streamtest

import (
	"container/heap"
	"slices"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
)

// event is something that happens by itself: a shard's rotation or its end of
// retention (stream and shard set), a stream's end (stream set), or an item's
// expiry (table and key set).
type event struct {
	at     time.Time
	kind   eventKind
	stream *stream
	shard  *shard
	table  *table
	key    value.Encoded
}

type eventKind int

const (
	itemExpires eventKind = iota
	shardRotates
	shardEnds
	streamEnds
)

// timeline orders events by time. Nothing runs in the background: every call
// first lets happen what is due, in order and at its own time, so that nobody
// can tell the difference.
type timeline []event

func (t timeline) Len() int           { return len(t) }
func (t timeline) Less(i, j int) bool { return t[i].at.Before(t[j].at) }
func (t timeline) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *timeline) Push(x any)        { *t = append(*t, x.(event)) }
func (t *timeline) Pop() any {
	old := *t
	e := old[len(old)-1]
	old[len(old)-1] = event{}
	*t = old[:len(old)-1]
	return e
}

// nowLocked returns the time after letting happen what is due.
func (s *Service) nowLocked() time.Time {
	now := s.cfg.Now().Add(s.offset)
	for len(s.timeline) > 0 && !s.timeline[0].at.After(now) {
		e := heap.Pop(&s.timeline).(event)
		switch e.kind {
		case itemExpires:
			s.expireItem(e)
		case shardRotates:
			if e.shard.isOpen() {
				s.rotateLocked(e.stream, e.stream.partOf(e.shard.from), e.at)
			}
		case shardEnds:
			e.stream.drop(e.shard)
		case streamEnds:
			delete(s.streams, e.stream.arn)
		}
	}
	return now
}

// expireItem deletes an item whose time has come, unless it was given more.
func (s *Service) expireItem(e event) {
	if s.tables[e.table.name] != e.table {
		return
	}
	at, ok := e.table.get(e.key)
	if !ok {
		return
	}
	if due, ok := e.table.expiry(at.item); ok && !due.Add(s.cfg.TTLDelay).After(e.at) {
		s.write(e.table, e.key, nil, e.at, true)
	}
}

// scheduleRotation sets the hour of an open shard, if shards rotate by themselves.
func (s *Service) scheduleRotation(st *stream, sh *shard) {
	if s.cfg.RotateEvery == 0 {
		return
	}
	age := s.cfg.RotateEvery
	if s.cfg.RotateSpread > 0 {
		age -= time.Duration(mix(st.seed+uint64(sh.ordinal)*31) % uint64(s.cfg.RotateSpread))
	}
	heap.Push(&s.timeline, event{kind: shardRotates, at: sh.opened.Add(age), stream: st, shard: sh})
}

// scheduleEnd sets the hour at which a closed shard leaves its stream.
func (s *Service) scheduleEnd(st *stream, sh *shard) {
	heap.Push(&s.timeline, event{kind: shardEnds, at: sh.closed.Add(s.cfg.Retention), stream: st, shard: sh})
}

// drop forgets a shard that aged out. Its place in the list is cleared when
// half the list has aged out: taking out one of tens of thousands at a time
// would cost more than everything else.
func (st *stream) drop(sh *shard) {
	if sh.gone {
		return
	}
	sh.gone = true
	sh.records = nil
	if st.dropped++; st.dropped*2 > len(st.shards) {
		st.shards = slices.DeleteFunc(st.shards, func(sh *shard) bool { return sh.gone })
		st.dropped = 0
	}
}
