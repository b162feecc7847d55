package scenario

import (
	"flag"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// onCassandra has the tests that run on Cassandra too, because what they test depends on the store.
// The others, such as those with hostile requests and kill -9, do not.
var onCassandra = []func(*testing.T){
	TestVisibility_ViewersSeeWhatTheRulesAllow,
	TestSearch_EachConditionSelectsItems,
	TestSearch_PageOfALongLibraryEndsEarly,
	TestBulk_EachItemHasAResult,
	TestTotalCount_CountsWhatTheViewerMaySee,
	TestDeleteUser_IsShownNowhere,
	TestPaging_BothDirectionsReadEachEntryOnce,
	TestCursors_AreValidOnlyInTheirLibrary,
	TestPaging_WalkToNewerEntriesShowsNothingTwice,
	TestTitles_RenameShowsInEveryMembersLibrary,
	TestIdempotencyKeys_RepetitionIsAppliedOnce,
	TestVisibility_WithdrawalIsImmediate,
	TestFind_OnlyViewersOfTheTenantFindPrincipals,
	TestFind_OrderAndCursorsSurviveARestart,
	TestFollow_ReceivesChangesAfterTheCursor,
	TestFollow_CrashLosesNoChange,
	TestLeases_SurviveACrash,
	TestPastes_SecretIsReturnedOnlyOnce,
	TestPastes_ExpireExactly,
	TestLatestPastes_CursorsAreValidInEveryProcess,
	TestPastes_FollowersReceiveNewAndMissedPastes,
	TestLatestContent_ListsPublicItemsByCreation,
	TestNotes_OnlyPublicationsMoveTheItem,
	TestNotes_DraftsSurviveACrashAndReportConflicts,
	TestNotes_EditorsDecideSuggestions,
	TestNotes_KeysOfHiddenTextsFindNothing,
	TestNotes_ParallelSavesThroughTwoGateways,
}

// runOnly restricts the run to tests, unless the flag -run selects others.
func runOnly(tests []func(*testing.T)) {
	run := flag.Lookup("test.run").Value
	if run.String() != "" {
		return
	}
	names := make([]string, 0, len(tests))
	for _, test := range tests {
		full := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
		names = append(names, full[strings.LastIndex(full, ".")+1:])
	}
	if err := run.Set("^(" + strings.Join(names, "|") + ")$"); err != nil {
		panic(err)
	}
}
