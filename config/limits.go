package config

import (
	"time"

	"carrel/core/cursor"
	"carrel/graph"
)

// PublishedLimits returns the limits as clients read them from the API.
func (e *EdgeConfig) PublishedLimits() graph.Limits {
	l := e.Limits
	return graph.Limits{
		DefaultPageSize: cursor.DefaultPageSize, MaxPageSize: l.PageSize, MaxDepth: l.Depth, MaxCost: l.Cost,
		MaxShareTargets: l.ShareTargets, MaxBodyBytes: l.BodyBytes, MaxAnswerBytes: l.AnswerBytes, MaxValues: l.Values,
		MaxHeaderBytes:   l.HeaderBytes,
		MaxHeaderSeconds: seconds(l.ReadHeader), MaxReadSeconds: seconds(l.Read), MaxWriteSeconds: seconds(l.AnswerTime()),
		MaxIdleSeconds: seconds(l.Idle),
		MaxOverlap:     l.Overlap, MaxQueryCharacters: l.QueryChars, MaxTokens: l.Tokens,
		MaxAliases: l.Aliases, MaxDirectives: l.Directives, MaxOperations: l.Operations, MaxRootFields: l.RootFields,
		MaxRootMutations: l.RootMutations, MaxRepetitions: l.Repetitions, MaxIntrospectionDepth: l.IntrospectionDepth,
		MaxIds: l.IDs, MaxErrors: l.Errors, MaxQuerySeconds: seconds(l.Query), MaxMutationSeconds: seconds(l.Mutation),
		MaxSubscriptions: l.Subscriptions, MaxSocketOperations: l.SocketOperations, MaxStreams: l.StreamsPerViewer,
		MaxStreamWriteSeconds: seconds(l.StreamWrite), MaxPendingSockets: l.PendingSockets, MaxSocketInitSeconds: seconds(l.SocketInit),
		PingSeconds:           seconds(l.Ping),
		DocumentCacheBytes:    l.CachedBytes,
		ViewerPointsPerMinute: unlessZero(l.ViewerPoints), AddressPointsPerMinute: unlessZero(l.AddressPoints),
		PastesPerMinute: l.Pastes, MaxConfirmedKeys: l.ConfirmedKeys,
	}
}

// seconds rounds up, so that a limit below a second is not published as zero.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

func unlessZero(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
