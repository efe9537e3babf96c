package streamtest

import (
	"fmt"
	"sync"
	"time"

	"github.com/ackgate/ackgate/shards/streamtest/internal/value"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Service is an in-process DynamoDB of one account and region: tables, their
// streams, and the test's hands on both. All methods are safe for concurrent
// use. Table names of the driving methods must exist: they fail otherwise, or
// panic where they return no error.
type Service struct {
	cfg     Config
	hook    hooks
	answers answers

	mu       sync.Mutex
	offset   time.Duration // by Advance
	tables   map[string]*table
	streams  map[string]*stream // by ARN, ended ones too until they age out
	timeline timeline
	made     int    // tables and streams made so far: salts their seeds
	epoch    uint64 // raised by ExpireIterators
	draws    uint64 // chances taken, each its own
	lastMS   int64  // of the newest stream label
}

// New returns a Service without tables. It starts nothing and needs no Close.
// It panics on a Config that cannot work.
func New(cfg Config) *Service {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		panic(err)
	}
	s := &Service{cfg: cfg, tables: map[string]*table{}, streams: map[string]*stream{}}
	s.hook.init(cfg)
	return s
}

// Change tells where a write landed in the stream. It is the zero Change when
// the table has no stream or the write changed nothing.
type Change struct {
	ShardID        string
	SequenceNumber string
	// Created is the exact time. The record itself carries it cut to the second.
	Created time.Time
}

// CreateTable makes a table, with a stream if the table says so.
func (s *Service) CreateTable(spec Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.Name == "" || spec.Hash == "" {
		return fmt.Errorf("streamtest: table %q needs a name and a hash attribute", spec.Name)
	}
	if spec.Shards < 0 || spec.Hash == spec.Range {
		return fmt.Errorf("streamtest: table %q: negative shards or one attribute for both keys", spec.Name)
	}
	if s.tables[spec.Name] != nil {
		return fmt.Errorf("streamtest: table %q exists already", spec.Name)
	}
	s.createLocked(spec, s.nowLocked())
	return nil
}

func (s *Service) createLocked(spec Table, now time.Time) *table {
	t := newTable(spec, now)
	s.made++
	h := mix(s.cfg.Seed + uint64(s.made))
	t.id = fmt.Sprintf("%08x-%04x-4%03x-9%03x-%012x", uint32(h), uint16(h>>32), h>>48&0xfff, h>>36&0xfff, mix(h)>>16)
	s.tables[t.name] = t
	if spec.View != "" {
		s.enableLocked(t, spec.View, now)
	}
	return t
}

func (s *Service) tableARN(name string) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", s.cfg.Region, s.cfg.Account, name)
}

func (s *Service) enableLocked(t *table, view types.StreamViewType, now time.Time) *stream {
	s.made++
	s.lastMS = max(s.lastMS+1, now.UnixMilli())
	label := time.UnixMilli(s.lastMS).UTC().Format("2006-01-02T15:04:05.000")
	st := &stream{
		table: t, view: view, created: now, label: label,
		arn:    s.tableARN(t.name) + "/stream/" + label,
		seed:   mix(s.cfg.Seed ^ uint64(s.made)<<32),
		retain: s.cfg.Retention,
		lastID: now.UnixMilli() - 1,
	}
	t.stream = st
	s.streams[st.arn] = st
	for i := range t.shards {
		from, _ := segment(int32(i), int32(t.shards))
		sh := st.open(now, from, "", newSequencer(mix(st.seed+uint64(i)), i))
		st.parts = append(st.parts, part{from, sh})
		s.scheduleRotation(st, sh)
	}
	return st
}

func (s *Service) tableLocked(name string) (*table, error) {
	t := s.tables[name]
	if t == nil {
		return nil, fmt.Errorf("streamtest: no table %q: CreateTable makes it", name)
	}
	return t, nil
}

func (s *Service) mustTableLocked(name string) *table {
	t, err := s.tableLocked(name)
	if err != nil {
		panic(err)
	}
	return t
}

// Put writes an item without conditions, as PutItem does but past faults,
// counters and throttling.
func (s *Service) Put(table string, item Item) (Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.tableLocked(table)
	if err != nil {
		return Change{}, err
	}
	key, err := t.schema.Encode(item)
	if err == nil {
		err = value.CheckItem(item)
	}
	if err != nil {
		return Change{}, fmt.Errorf("streamtest: put into %s: %w", table, err)
	}
	own := value.CopyItem(item)
	value.Canonical(own)
	return s.write(t, key, own, now, false), nil
}

// Delete deletes the item of a key, or of any item with that key.
func (s *Service) Delete(table string, key Item) (Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.nowLocked()
	t, err := s.tableLocked(table)
	if err != nil {
		return Change{}, err
	}
	k, err := t.schema.Encode(key)
	if err != nil {
		return Change{}, fmt.Errorf("streamtest: delete from %s: %w", table, err)
	}
	return s.write(t, k, nil, now, false), nil
}

// Get returns the item of a key as it is now. It panics if there is no such table.
func (s *Service) Get(table string, key Item) (Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nowLocked()
	t := s.mustTableLocked(table)
	k, err := t.schema.Encode(key)
	if err != nil {
		return nil, false
	}
	e, ok := t.get(k)
	return value.CopyItem(e.item), ok
}

// Items returns all items as they are now, in the order of Scan. It panics if
// there is no such table.
func (s *Service) Items(table string) []Item {
	s.mu.Lock()
	s.nowLocked()
	t := s.mustTableLocked(table)
	out := make([]Item, 0, t.items.Len())
	t.items.Ascend(func(e entry) bool {
		out = append(out, e.item)
		return true
	})
	s.mu.Unlock()
	for i := range out {
		out[i] = value.CopyItem(out[i])
	}
	return out
}
