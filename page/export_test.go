package page

// DraftText is draftText for tests.
var DraftText = draftText

// The keys of rows, for tests.
var (
	BranchKey     = branchKey
	LineKey       = lineKey
	RevisionKeyOf = revisionKey
)

// Encode returns the row of a line.
func (l Line) Encode() []byte { return l.encode() }
