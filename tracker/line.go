package tracker

// line is a first-in-first-out list that an element can leave from anywhere in
// O(1): a cancelled call unlinks itself, nobody searches for it.
type line[T any] struct {
	head, tail *place[T]
	n          int
}

// place is an element's place in a line; it can be used again after remove.
type place[T any] struct {
	of         T
	prev, next *place[T]
	taken      bool
}

func (l *line[T]) push(e *place[T]) {
	e.prev, e.taken = l.tail, true
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.n++
}

func (l *line[T]) remove(e *place[T]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.taken = nil, nil, false
	l.n--
}
