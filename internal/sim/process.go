package sim

import (
	"context"
	"errors"
	"sync"
	"time"
)

// process is what a worker lives in. Everything that leaves it passes the gate:
// frozen it waits, as in a long pause of the machine, and dead it is lost.
type process struct {
	mu     sync.Mutex
	frozen chan struct{} // closed by thaw; nil: running
	dead   chan struct{}
}

var errDead = errors.New("sim: the process is dead")

func newProcess() *process { return &process{dead: make(chan struct{})} }

func (p *process) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

func (p *process) thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.dead:
	default:
		close(p.dead)
	}
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

// pass is the gate. Who waited at it goes on a little later than the others, as
// its dice have it: at one instant the scheduler would choose who is first.
func (p *process) pass(ctx context.Context, d dice) error {
	for {
		p.mu.Lock()
		frozen := p.frozen
		p.mu.Unlock()
		if p.isDead() {
			return errDead
		}
		if frozen == nil {
			return ctx.Err()
		}
		select {
		case <-frozen:
			time.Sleep(d.between(0, time.Millisecond))
		case <-p.dead:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
