package commit

// Ablation switches one rule of the write protocol off. The zero value, the
// only one the product uses, is the whole protocol. The simulator runs each of
// the others and must find a wrong library: that is how we know that each rule
// is needed, and that the simulator would notice its loss.
type Ablation uint8

// The rules that can be switched off.
const (
	WholeProtocol          Ablation = iota
	EntryAfterCommit                // the in-flight entry is written after the compare-and-set
	EntryBeforeRead                 // the entry's base is read before the entry's own attempt re-reads it
	CommitBeforeAck                 // the compare-and-set is sent before the lane write was acknowledged
	NoFence                         // an orphan whose base stands is dropped without a fence
	LaneDroppedNewer                // a lane is deleted with a newer timestamp than the one read
	SettleBeforeEnforce             // positions are settled before the fan-out
	EntryEndsBeforeEnforce          // the entry leaves the list before the fan-out
	OnlyLastPosition                // only the position superseded last is deleted
	NarrowSettlesAll                // a mutation of a few members settles everybody's positions
	MemberDroppedAtOnce             // a removed member's row is not kept as leaving
	LaterLeavingDropped             // a leaving row newer than the snapshot is dropped
	WallClock                       // mts is the wall clock instead of max(now, previous+1)
	TombstoneOldTimestamp           // an entry is deleted at its own timestamp
	PlainShare                      // a share is a plain write, not a compare-and-set
	UnmovedLastVisibility           // at an unmoved position deletes reach only the last visibility
	FormerNameForgotten             // a change of name leaves the rows of the name before
	LeftIsDeleted                   // a change says that an item has left whatever its entries are deleted from
	MissedBeforeFeed                // a follower reads what it has missed before it joins the feed
	RecoveryUntold                  // who finishes the change of another writes no changes of libraries
	ablationCount
)

var ablationNames = [...]string{
	"whole protocol",
	"entry after the CAS",
	"entry before the seq read",
	"CAS sent before the lane write that holds its entry was acknowledged",
	"orphan dropped without the fence",
	"lane deleted with a newer timestamp than the one read",
	"settle before enforce",
	"entry removed before enforce",
	"only the last position deleted",
	"a narrow mutation settles everybody's positions",
	"member row dropped at once on removal",
	"a leaving row of a later page dropped",
	"wall clock instead of max(now, prev+1)",
	"tombstone with the old entry's timestamp",
	"share as a plain write",
	"at an unmoved position deletes only where the last visibility reached, not its widest",
	"the rows of a former name are left in the directory",
	"what an item has left is whatever its entries are deleted from",
	"what was missed is read before the feed is joined",
	"who finishes the change of another writes no changes of libraries",
}

// String is the rule that is off.
func (a Ablation) String() string { return ablationNames[a] }

// Ablations are all rules that can be switched off.
func Ablations() []Ablation {
	all := make([]Ablation, 0, ablationCount-1)
	for a := EntryAfterCommit; a < ablationCount; a++ {
		all = append(all, a)
	}
	return all
}
