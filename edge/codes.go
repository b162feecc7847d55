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

// codeOK is what observers get for an answer without errors.
const codeOK = "OK"

// Profile selects how GraphQL over HTTP maps results to statuses.
type Profile uint8

const (
	// ProfileDefault is what today's clients and the audits of graphql-http expect.
	ProfileDefault Profile = iota
	// ProfileDraft is the specification's draft of September 2026: 422 for a well-formed but
	// invalid request, 294 for data with errors. It applies to application/graphql-response+json
	// only.
	ProfileDraft
)

// Placeholders for statuses that depend on the media type of the answer and on the profile.
const (
	statusInvalid   = 0  // a document or its variables that do not validate
	statusSyntax    = -1 // a document that cannot be parsed
	statusMalformed = -2 // JSON that is not a GraphQL request
	// statusPartial is the status of data with errors.
	statusPartial = 294
)

// defaultMedia returns the media type of answers to clients without a preference.
func (p Profile) defaultMedia() mediaType {
	if p == ProfileDraft {
		return mediaGraphQL
	}
	return mediaJSON
}

// refusal is a request that is not executed: its errors and status.
type refusal struct {
	status int // HTTP status, or one of the placeholders above
	errs   gqlerror.List
	// Header values: allow of Allow, challenge of WWW-Authenticate, retryAfter of Retry-After in
	// seconds. A zero value is not sent.
	allow      string
	challenge  string
	retryAfter int
}

// refuse returns a refusal with one error.
func refuse(status int, code, message string) *refusal {
	return &refusal{status: status, errs: gqlerror.List{coded(code, message)}}
}

// refuseDocument returns a refusal of a document.
func refuseDocument(code, message string) *refusal { return refuse(statusInvalid, code, message) }

// refuseUntil returns a refusal that may be retried after some seconds.
func refuseUntil(status int, code, message string, seconds int) *refusal {
	r := refuse(status, code, message)
	r.retryAfter = seconds
	r.errs[0].Extensions["retryAfter"] = seconds
	return r
}

// coded returns an error with a code.
func coded(code, message string) *gqlerror.Error {
	return &gqlerror.Error{Message: message, Extensions: map[string]any{"code": code}}
}

// ofRequest reports whether the GraphQL request is refused, rather than the HTTP request that
// carries it.
func (r *refusal) ofRequest() bool { return r.status <= 0 }

// statusOf returns the HTTP status of the refusal for a media type.
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
