package checkpoint

import "container/heap"

// queue orders the lanes that wait for their save by when it is due.
type queue []*lane

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *queue) Push(x any) {
	l := x.(*lane)
	l.index = len(*q)
	*q = append(*q, l)
}

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	l := old[len(old)-1]
	old[len(old)-1] = nil // do not keep a finished lane alive
	l.index = -1
	*q = old[:len(old)-1]
	return l
}

// put adds the lane, or moves it to where its due time belongs.
func (q *queue) put(l *lane) {
	if l.index >= 0 {
		heap.Fix(q, l.index)
		return
	}
	heap.Push(q, l)
}

func (q *queue) remove(l *lane) {
	if l.index >= 0 {
		heap.Remove(q, l.index)
	}
}

// first is the lane that is due next, or nil.
func (q queue) first() *lane {
	if len(q) == 0 {
		return nil
	}
	return q[0]
}
