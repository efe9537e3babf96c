// Package report runs the benchmarks of one program side by side and prints
// them the same way everywhere:
//
//	NAME ns/op B/op allocs/op
//	value NAME value unit
//	ratio NAME value
//
// Peers are measured in turn, round after round, never one after another to the
// end: a machine that slows down for a second then slows down all of them. A
// line shows the median of the rounds; a ratio is the median of the ratios of
// the rounds, both sides of which were measured within moments.
package report
