package tracker

// Ticket is the receipt for one tracked item: a small value, free to copy.
type Ticket[P any] struct{ f *Frontier[P] }

// Ack settles the item as delivered. False: stale, nothing changed (T3).
func (t Ticket[P]) Ack() bool { panic("not yet") }

// Discard settles the item as deliberately dropped. False: stale (T3).
func (t Ticket[P]) Discard() bool { panic("not yet") }

// Nack reports a failed delivery; the ticket stays outstanding (T4).
func (t Ticket[P]) Nack(err error) bool { panic("not yet") }
