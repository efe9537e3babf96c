package main

import (
	"context"
	"sync"
)

// background runs what goes on beside the pipeline. The first failure cancels
// the demo.
type background struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	mu     sync.Mutex
	err    error
}

func newBackground(cancel context.CancelFunc) *background { return &background{cancel: cancel} }

func (b *background) run(f func() error) {
	b.group.Go(func() {
		if err := f(); err != nil {
			b.mu.Lock()
			if b.err == nil {
				b.err = err
			}
			b.mu.Unlock()
			b.cancel()
		}
	})
}

func (b *background) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *background) stop() {
	b.cancel()
	b.group.Wait()
}
