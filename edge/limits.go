package edge

import (
	"time"

	"carrel/core/cursor"
	"carrel/core/input"
)

// Limits are the limits of the edge, so that no request costs as much as a thousand. If a request
// exceeds one, extensions.code names it.
type Limits struct {
	// BodyBytes limits a request body (PAYLOAD_TOO_LARGE). 1 MiB holds the largest text of the
	// contract, 512 KiB, with every character escaped to two.
	BodyBytes int
	// Values limits the members and items of a request at all depths (BAD_USER_INPUT). The largest
	// call of the contract, 100 representations, has some hundreds.
	Values int
	// QueryChars limits a document (QUERY_TOO_LONG). The longest one that GraphiQL and Relay send,
	// the introspection query, has less than 2,000.
	QueryChars int
	// Tokens limits the tokens of a document (TOKEN_LIMIT), and so the parser's work.
	Tokens int
	// Depth limits an operation, including the leaf (DEPTH_LIMIT). The deepest useful path of the
	// contract has 9: group, members, edges, node, library, edges, node, createdBy, id.
	Depth int
	// IntrospectionDepth is the same for __schema and __type. The introspection query of graphql-js
	// has 15, with types wrapped nine times.
	IntrospectionDepth int
	// Aliases limits the aliases of an operation, with fragments counted each time they are spread
	// (ALIAS_LIMIT). Aliases allow a request to select a costly field many times.
	Aliases int
	// RootFields limits the root fields of a query, and RootMutations those of a mutation
	// (ROOT_FIELD_LIMIT). Mutations run one after the other, so few of them fit into the timeout.
	RootFields, RootMutations int
	// Operations limits the operations of a document (OPERATION_LIMIT).
	Operations int
	// Directives limits the directives of a document (DIRECTIVE_LIMIT).
	Directives int
	// Repetitions limits how often a response key occurs in one selection set (DUPLICATE_LIMIT).
	// Validation compares them pairwise.
	Repetitions int
	// Overlap limits the pairs of fields or of fragments whose selections overlap
	// (DUPLICATE_LIMIT). Each pair takes 0.5 us to 2 us of validation and up to 200 bytes, so no
	// document costs more than a few ms and 1 MB. Thirty fragments that share three fields have
	// 3,200 pairs.
	Overlap int
	// Cost limits the cost of an operation (COST_LIMIT), see cost.go. A page of 100 with three
	// objects per entry costs 400; four nested pages of 20 would cost millions.
	Cost int
	// AnswerBytes limits the data of an answer or event (ANSWER_TOO_LARGE). A page of 100 items
	// with descriptions of 10,000 characters in any language has at most 4 MiB.
	AnswerBytes int
	// AnswerMemory limits the memory of all answers that are being built or sent, in bytes
	// (UNAVAILABLE). The gateway sets it to a quarter of the memory of its process.
	AnswerMemory int
	// BodyMemory limits the memory of all bodies and messages that are being read, and of the
	// variables of operations that run, in bytes (UNAVAILABLE). The gateway sets it to an eighth of
	// the memory of its process: half of what answers have, because most requests are shorter.
	BodyMemory int
	// PageSize limits the entries of a page (BAD_USER_INPUT). It is at most the limit of the
	// Service.
	PageSize int
	// IDs limits the ids or representations of one field (BAD_USER_INPUT). ShareTargets limits the
	// principals that one mutation names (TOO_MANY); the Service enforces it. Neither exceeds the
	// batches of the Service.
	IDs, ShareTargets int
	// Errors limits the errors in one answer.
	Errors int
	// Concurrent limits the operations that run at once (UNAVAILABLE). It equals the journal's
	// limit of undecided changes. As of all memory, an account holds at most a quarter of them.
	Concurrent int
	// Query and Mutation are the timeouts of operations (TIMEOUT). The write protocol itself
	// answers within 15 s.
	Query, Mutation time.Duration
	// CachedDocuments and CachedBytes limit the document cache. An application has tens or hundreds
	// of documents; the bytes are an estimate (document.go).
	CachedDocuments, CachedBytes int

	// PersistedDocuments and PersistedBytes limit the stored texts of documents that clients
	// request by their digest. Most texts are below 1 KB.
	PersistedDocuments, PersistedBytes int

	// ViewerPoints and AddressPoints are what a signed-in viewer, and an address without one, may
	// spend in a minute (RATE_LIMITED). 0 means no limit. A page of 20 edges costs 4 to 9 points, a
	// mutation at least 10.
	ViewerPoints, AddressPoints int

	// Pastes limits how many pastes an address without a signed-in viewer may create in a minute
	// (RATE_LIMITED). It applies even if there are no other rate limits.
	Pastes int

	// ConfirmedKeys limits the keys of one user's leases, confirmed or not (TOO_MANY). Confirmed ones are
	// held for ever, and names that a program takes for good are few. The Service enforces it.
	ConfirmedKeys int

	// Streams limits the event streams and sockets of the process (UNAVAILABLE), some 30 KB each.
	// StreamsPerViewer limits those of one viewer, or of an address without a signed-in one
	// (RATE_LIMITED): twice the subscriptions, so that each may have its own connection while half
	// of the connections are closing. SocketOperations limits the concurrent operations over one
	// socket (OPERATION_LIMIT). Subscriptions limits those of one viewer (RATE_LIMITED).
	Streams, StreamsPerViewer, SocketOperations, Subscriptions int
	// PendingSockets limits the sockets of one address that have sent neither a token nor a
	// connection_init. One more closes the oldest. Clients initialise a socket as soon as it is
	// open, so few are in that state at a time.
	PendingSockets int
	// SocketInit is the timeout for the connection_init of a socket. StreamWrite is the timeout for
	// the client to accept one message. Ping is the interval of keep-alive messages, which detect
	// dead connections and keep proxies from closing idle ones.
	SocketInit, StreamWrite, Ping time.Duration

	// Connections limits the open connections, and the requests over HTTP/2 in addition to them: as
	// many as the streams, and a quarter of that for other requests. The gateway lowers it to what
	// its memory and its file descriptors allow. An address may have a quarter of them, without
	// event streams and sockets; one more closes its oldest.
	Connections int

	// HeaderBytes limits the header of a request. The times are those of the parts of a request:
	// see Server.
	HeaderBytes                         int
	ReadHeader, Read, Write, Idle, Stop time.Duration
}

// DefaultLimits returns the limits in the API's documentation.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes:          1 << 20,
		Values:             10_000,
		QueryChars:         15_000,
		Tokens:             2_000,
		Depth:              12,
		IntrospectionDepth: 16,
		Aliases:            30,
		RootFields:         10,
		RootMutations:      5,
		Operations:         20,
		Directives:         20,
		Repetitions:        1_000,
		Overlap:            5_000,
		Cost:               5_000,
		AnswerBytes:        8 << 20,
		AnswerMemory:       256 << 20,
		BodyMemory:         128 << 20,
		PageSize:           cursor.MaxPageSize,
		IDs:                input.MaxList,
		ShareTargets:       input.MaxList,
		Errors:             10,
		Concurrent:         1_000,
		Query:              10 * time.Second,
		Mutation:           15 * time.Second,
		CachedDocuments:    1_000,
		CachedBytes:        32 << 20,
		PersistedDocuments: 10_000,
		PersistedBytes:     16 << 20,
		ViewerPoints:       30_000,
		AddressPoints:      10_000,
		Pastes:             10,
		ConfirmedKeys:      1_000,
		Streams:            20_000,
		StreamsPerViewer:   100,
		SocketOperations:   20,
		PendingSockets:     20,
		Subscriptions:      50,
		SocketInit:         10 * time.Second,
		StreamWrite:        10 * time.Second,
		Ping:               20 * time.Second,
		Connections:        25_000,
		HeaderBytes:        16 << 10,
		ReadHeader:         5 * time.Second,
		Read:               15 * time.Second,
		Write:              30 * time.Second,
		Idle:               60 * time.Second,
		Stop:               20 * time.Second,
	}
}
