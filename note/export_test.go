package note

// DraftText is draftText for tests.
var DraftText = draftText

// The keys of rows, for tests.
var (
	BranchKey     = branchKey
	LocaleKey     = localeKey
	RevisionKeyOf = revisionKey
)

// Encode returns the value of the row.
func (l LocaleRow) Encode() []byte { return l.encode() }
