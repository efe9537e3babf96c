package backfill

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Plan is what a backfill set out to do. It is durable before the first row is
// read and outlives every attempt.
type Plan struct {
	// Segments is how many partitions the scan is cut into, each with a
	// checkpoint of its own. 0: none; a crash then scans from the start.
	Segments int `json:"segments"`
	// Anchor is where the stream must start, in the source's own words.
	Anchor string `json:"anchor,omitempty"`
	// StartTime is the source's clock when the anchor was captured: changes
	// from here on are owed by the stream. The retention guard counts from it.
	StartTime time.Time `json:"start_time,omitzero"`
	// Source names what is read, so that another one is noticed.
	Source string `json:"source,omitempty"`
	// Details are the source's own.
	Details map[string]string `json:"details,omitempty"`
	// Restart is the word of Config.Restart that asked for this generation.
	Restart string `json:"restart,omitempty"`
}

// planVersion is raised when an older reader would misread a newer plan.
const planVersion = 1

type planRow struct {
	Version int `json:"version"`
	Plan
}

func (p Plan) encode() (string, error) {
	b, err := json.Marshal(planRow{planVersion, p})
	return string(b), err
}

func decodePlan(s string) (Plan, error) {
	var row planRow
	if err := json.Unmarshal([]byte(s), &row); err != nil {
		return Plan{}, err
	}
	if row.Version != planVersion {
		return Plan{}, fmt.Errorf("it is of version %d, this program knows version %d", row.Version, planVersion)
	}
	if row.Segments < 0 {
		return Plan{}, fmt.Errorf("it has %d segments", row.Segments)
	}
	return row.Plan, nil
}

// tally is what the done row carries beside the marker: it outlives the attempt
// that counted, so that a discard cannot go unnoticed by the hook (B3).
type tally struct {
	Delivered uint64 `json:"delivered"`
	Discarded uint64 `json:"discarded"`
}

func (t tally) encode() string {
	b, _ := json.Marshal(t) // two numbers cannot fail
	return string(b)
}

// Row names. A generation is part of every row's key, and a segment says of how
// many, so that no row can be read as another backfill's (B8).
const rowPrefix = "backfill/"

func generationPrefix(g uint64) string { return rowPrefix + strconv.FormatUint(g, 10) + "/" }
func planName(g uint64) string         { return generationPrefix(g) + "plan" }
func doneName(g uint64) string         { return generationPrefix(g) + "done" }

func segmentName(g uint64, i, n int) string {
	return fmt.Sprintf("%ssegment/%d-of-%d", generationPrefix(g), i, n)
}

// rowKind is what a row under rowPrefix holds.
type rowKind uint8

const (
	planKind rowKind = iota + 1
	doneKind
	segmentKind
)

// parseName takes a row's name apart; i and n are set for segments.
func parseName(name string) (g uint64, kind rowKind, i, n int, err error) {
	bad := fmt.Errorf("%w: row %q is none that this version writes", ErrPlan, name)
	gen, rest, ok := strings.Cut(strings.TrimPrefix(name, rowPrefix), "/")
	if g, err = strconv.ParseUint(gen, 10, 64); err != nil || !ok || g == 0 || !strings.HasPrefix(name, rowPrefix) {
		return 0, 0, 0, 0, bad
	}
	switch {
	case rest == "plan":
		kind = planKind
	case rest == "done":
		kind = doneKind
	default:
		kind = segmentKind
		if _, err := fmt.Sscanf(rest, "segment/%d-of-%d", &i, &n); err != nil || segmentName(g, i, n) != name || i < 0 || i >= n {
			return 0, 0, 0, 0, bad
		}
	}
	return g, kind, i, n, nil
}

func decodeTally(s string) (t tally, err error) {
	if s == "" {
		return t, nil
	}
	if err := json.Unmarshal([]byte(s), &t); err != nil {
		return t, fmt.Errorf("its counts cannot be read: %w", err)
	}
	return t, nil
}
