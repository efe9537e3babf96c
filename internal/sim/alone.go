package sim

import (
	"runtime"
	"runtime/debug"
)

// mostGarbage is what worlds leave before it is collected.
const mostGarbage = 256 << 20

// Alone makes the process one in which worlds repeat: one goroutine runs at a
// time, and the garbage collector, which would interrupt it anywhere, only between
// two worlds. More worlds at a time need more processes.
func Alone() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
}

// collect is called between two worlds.
func collect() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapAlloc > mostGarbage {
		runtime.GC()
	}
}
