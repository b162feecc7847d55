package note

import "carrel/core/cursor"

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

// Connect returns the PageInfo of a page of nodes, each at its own position, for tests.
func Connect(seals *cursor.Sealer, after string, nodes []string, resume string) cursor.PageInfo {
	l := &list{seals: seals, after: after}
	return connect(l, nodes, func(n string) string { return n }, false, resume).PageInfo
}
