package commit

// State says what a header stands for.
type State uint8

// The states of a header, of content and of principals alike.
const (
	Absent  State = 0 // there is no header
	Live    State = 1
	Void    State = 2 // a fence on an id that does not exist: counts as absent everywhere
	Deleted State = 3 // final; keeps late writers out
)

// Used reports whether an id in this state is taken for good.
func (s State) Used() bool { return s == Live || s == Deleted }

// Writer tells which in-flight entry made the compare-and-set that led to Seq.
type Writer struct {
	Seq   int64
	Entry EntryID
}

// MaxWriters is how many of the last writers a header keeps. An unknown
// outcome older than that stays unknown.
const MaxWriters = 32

// Verdict is the outcome of a conditional write.
type Verdict struct {
	Applied bool
	// Seq and Writers are the standing ones where it was refused.
	Seq     int64
	Writers []Writer
}

// VerdictOf returns the outcome of a write that was refused by the state seq, whose last
// writers are given, the one of seq last.
func VerdictOf(seq int64, writers []EntryID) Verdict {
	v := Verdict{Seq: seq}
	for i, w := range writers {
		v.Writers = append(v.Writers, Writer{Seq: seq - int64(len(writers)-1-i), Entry: w})
	}
	return v
}
