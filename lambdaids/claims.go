package lambdaids

import (
	"context"
	"strconv"
	"sync"
	"time"
)

// Claims remembers which records were applied, so that one that is delivered
// again is not applied again. dynamoclaims implements it on a DynamoDB table.
//
// A key is free, claimed (somebody is applying it, until the lease ends), or
// applied (until an implementation's time to live ends: the guarantee reaches no
// further). All methods are atomic and safe for concurrent use. One whose answer
// was lost may be repeated.
type Claims interface {
	// Claim takes a free key, or one whose lease ended. The state is Claimed if it
	// did, else it says why not; the Claim is valid only if it did.
	Claim(ctx context.Context, key string, lease time.Duration) (Claim, ClaimState, error)
	// Confirm makes the key applied. Confirming again changes nothing and succeeds.
	// ErrClaimLost: somebody else has claimed it since.
	Confirm(ctx context.Context, c Claim) error
	// Release makes the key free again. An applied key stays applied: this and a
	// claim that somebody else took give ErrClaimLost. A free one succeeds.
	Release(ctx context.Context, c Claim) error
}

// Claim is one taken claim.
type Claim struct {
	Key   string
	Token string // tells this claim from any other of the same key
}

// ClaimState is the outcome of a Claim.
type ClaimState uint8

// What a Claim finds.
const (
	Claimed  ClaimState = iota + 1 // it is ours now
	InFlight                       // somebody holds it
	Applied                        // it was confirmed
)

func (s ClaimState) String() string {
	return [...]string{"unknown", "claimed", "in flight", "applied"}[s]
}

// MemoryClaims are Claims of this process alone, for tests: another instance of
// the function does not see them, and a crash forgets them. Applied keys stay for
// good.
type MemoryClaims struct {
	now func() time.Time

	mu   sync.Mutex
	keys map[string]memoryClaim
	last uint64 // token
}

type memoryClaim struct {
	token   string
	until   time.Time // end of the lease
	applied bool
}

// NewMemoryClaims makes Claims that take the time from now (nil: time.Now).
func NewMemoryClaims(now func() time.Time) *MemoryClaims {
	if now == nil {
		now = time.Now
	}
	return &MemoryClaims{now: now, keys: make(map[string]memoryClaim)}
}

// Claim implements Claims.
func (m *MemoryClaims) Claim(ctx context.Context, key string, lease time.Duration) (Claim, ClaimState, error) {
	if err := ctx.Err(); err != nil {
		return Claim{}, 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if have, ok := m.keys[key]; ok {
		if have.applied {
			return Claim{}, Applied, nil
		}
		if now.Before(have.until) {
			return Claim{}, InFlight, nil
		}
	}
	m.last++
	c := Claim{Key: key, Token: strconv.FormatUint(m.last, 10)}
	m.keys[key] = memoryClaim{token: c.Token, until: now.Add(lease)}
	return c, Claimed, nil
}

// Confirm implements Claims.
func (m *MemoryClaims) Confirm(ctx context.Context, c Claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	have := m.keys[c.Key]
	if have.token != c.Token {
		return ErrClaimLost
	}
	have.applied = true
	m.keys[c.Key] = have
	return nil
}

// Release implements Claims.
func (m *MemoryClaims) Release(ctx context.Context, c Claim) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	have, ok := m.keys[c.Key]
	switch {
	case !ok:
		return nil
	case have.applied || have.token != c.Token:
		return ErrClaimLost
	}
	delete(m.keys, c.Key)
	return nil
}
