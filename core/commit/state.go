package commit

// State is the state of the item or principal of a header.
type State uint8

// The states of a header, of content and of principals alike.
const (
	Absent  State = 0 // there is no header
	Live    State = 1
	Void    State = 2 // a fence on an id that does not exist; every reader treats it as absent
	Deleted State = 3 // final: no late write can replace it
)

// Used reports whether an id in this state is permanently in use.
func (s State) Used() bool { return s == Live || s == Deleted }

// Writer identifies the entry whose compare-and-set led to Seq.
type Writer struct {
	Seq   int64
	Entry EntryID
}

// MaxWriters is how many of its last writers a header keeps. An unknown outcome that
// is older than that stays unknown.
const MaxWriters = 32

// Verdict is the outcome of a conditional write.
type Verdict struct {
	Applied bool
	// Seq and Writers are those of the current state if the write was refused.
	Seq     int64
	Writers []Writer
}

// VerdictOf returns the outcome of a write that was refused because the state is seq. writers
// are its last writers, the writer of seq last.
func VerdictOf(seq int64, writers []EntryID) Verdict {
	v := Verdict{Seq: seq}
	for i, w := range writers {
		v.Writers = append(v.Writers, Writer{Seq: seq - int64(len(writers)-1-i), Entry: w})
	}
	return v
}
