package edge

import (
	"net/http"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// The codes in extensions.code are the contract with clients.
const (
	codeParseFailed         = "GRAPHQL_PARSE_FAILED"
	codeValidationFailed    = "GRAPHQL_VALIDATION_FAILED"
	codeOperationResolution = "OPERATION_RESOLUTION_FAILURE"
	codeBadRequest          = "BAD_REQUEST"
	codeBadUserInput        = "BAD_USER_INPUT"
	codeBadCursor           = "BAD_CURSOR"
	codeUnauthenticated     = "UNAUTHENTICATED"
	codeForbidden           = "FORBIDDEN"
	codeNotFound            = "NOT_FOUND"
	codeConflict            = "CONFLICT"
	codeContention          = "CONTENTION"
	codeOutcomeUnknown      = "OUTCOME_UNKNOWN"
	codeIdempotencyMismatch = "IDEMPOTENCY_MISMATCH"
	codeTimeout             = "TIMEOUT"
	codeUnavailable         = "UNAVAILABLE"
	codeAnswerTooLarge      = "ANSWER_TOO_LARGE"
	codePayloadTooLarge     = "PAYLOAD_TOO_LARGE"
	codeMethodNotAllowed    = "METHOD_NOT_ALLOWED"
	codeNotAcceptable       = "NOT_ACCEPTABLE"
	codeUnsupportedMedia    = "UNSUPPORTED_MEDIA_TYPE"
	codeQueryTooLong        = "QUERY_TOO_LONG"
	codeOperationLimit      = "OPERATION_LIMIT"
	codeDuplicateLimit      = "DUPLICATE_LIMIT"
	codeTokenLimit          = "TOKEN_LIMIT"
	codeDepthLimit          = "DEPTH_LIMIT"
	codeAliasLimit          = "ALIAS_LIMIT"
	codeDirectiveLimit      = "DIRECTIVE_LIMIT"
	codeRootFieldLimit      = "ROOT_FIELD_LIMIT"
	codeCostLimit           = "COST_LIMIT"
	codeBatchNotSupported   = "BATCH_NOT_SUPPORTED"
	codeCSRFBlocked         = "CSRF_BLOCKED"
	codeIntrospection       = "INTROSPECTION_DISABLED"
	codePersistedNotFound   = "PERSISTED_QUERY_NOT_FOUND"
	codeRateLimited         = "RATE_LIMITED"
	codeResync              = "RESYNC"
	codeSlowConsumer        = "SLOW_CONSUMER"
	codeInternal            = "INTERNAL_SERVER_ERROR"
)

// codeOK is what observers are told of an answer without errors.
const codeOK = "OK"

// Profile is which of two readings of GraphQL over HTTP decides on statuses.
type Profile uint8

const (
	// ProfileDefault is what clients of today and the audits of graphql-http expect.
	ProfileDefault Profile = iota
	// ProfileDraft is the specification's draft of September 2026: 422 for what
	// is understood and not valid, 294 for data with errors; it speaks of
	// application/graphql-response+json alone.
	ProfileDraft
)

// Statuses that depend on the media type of the answer and on the profile.
const (
	statusInvalid   = 0  // a document or its variables that do not validate
	statusSyntax    = -1 // a document that cannot be parsed
	statusMalformed = -2 // JSON that is no GraphQL request
	// statusPartial is of data with errors.
	statusPartial = 294
)

// unsaid is the media type for clients that state no preference.
func (p Profile) unsaid() mediaType {
	if p == ProfileDraft {
		return mediaGraphQL
	}
	return mediaJSON
}

// refusal is a request that is not executed: the errors to show and the status.
type refusal struct {
	status int // of HTTP, or one of those above
	errs   gqlerror.List
	// allow is the value of Allow, challenge that of WWW-Authenticate,
	// retryAfter that of Retry-After in seconds; none is sent when it is zero.
	allow      string
	challenge  string
	retryAfter int
}

// refuse makes a refusal with one error.
func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, errs: gqlerror.List{coded(code, message)}}
}

// refuseDocument makes a refusal of a document.
func refuseDocument(code, message string) *refusal { return refuse(statusInvalid, code, message) }

// refuseUntil makes a refusal that may be tried again after some seconds.
func refuseUntil(status int, code, message string, seconds int) *refusal {
	r := refuse(status, code, message)
	r.retryAfter = seconds
	r.errs[0].Extensions["retryAfter"] = seconds
	return r
}

// coded is an error with a code.
func coded(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Message: message, Extensions: map[string]any{"code": code}}
}

// ofRequest tells whether it is the GraphQL request that is refused, rather
// than the HTTP request that brought it.
func (r *refusal) ofRequest() bool { return r.status <= 0 }

// statusOf is the HTTP status of the refusal in an answer of media.
func (r *refusal) statusOf(media mediaType, profile Profile) int {
	typed := media == mediaGraphQL
	switch {
	case !r.ofRequest():
		return r.status
	case typed && profile == ProfileDraft && r.status != statusSyntax:
		return http.StatusUnprocessableEntity
	case typed, r.status == statusMalformed:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
