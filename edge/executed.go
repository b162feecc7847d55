package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"carrel/answer"
	"carrel/graph"
)

// fieldBytes is the memory of a field that generated code resolves, until its value is written: 100
// to 150 bytes (measured).
const fieldBytes = 128

// executed is the result of an operation, or one event of a subscription. Its data is valid until
// the operation is released.
type executed struct {
	errors gqlerror.List
	data   [][]byte // empty: null
	size   int      // of the data, in bytes
}

// readBytes is the memory that is reserved for a unit of an operation's cost before anything is read:
// for a small object. What long texts take in addition is reserved when they have been read, before the
// answer has more than 8 MiB, because an account may not have more memory than for one answer.
const readBytes = 8 << 10

// begin gives the operation a new Body, replacing that of the previous event. stop is called if the
// answer cannot be sent, to end the work for it.
func (h *Handler) begin(op *operation, stop func()) {
	op.release()
	op.Body = answer.New(h.limits.AnswerBytes, h.memory, op.account.holder(), stop)
}

// reserve reserves the memory for what the operation, or its event, reads at most. It returns the error
// of the answer if it is not free.
func (h *Handler) reserve(op *operation) error {
	op.Body.Reserve(min(times(readBytes, max(1, op.cost)), h.limits.AnswerBytes))
	return op.Body.Err()
}

// release frees the memory of the answer. It may be called several times.
func (op *operation) release() { op.Body.Release() }

// ended reports whether an operation has run out of time, or its client has left, so that no more
// fields are to be resolved. What a mutation has changed is answered nevertheless.
func (op *operation) ended() bool {
	return op.Operation.Operation != ast.Mutation && op.ctx.Err() != nil
}

// resolve resolves a field. After the answer has failed, it skips the remaining fields, which
// become null. The answer fails if a field begins after the end of the operation: then no work that
// does not observe its context goes on for more than the fields that have begun.
func (op *operation) resolve(ctx context.Context, next graphql.Resolver) (any, error) {
	if op.Body == nil { // a subscription starts
		return op.takeTurn(ctx, next)
	}
	if op.ended() {
		op.Body.End()
	}
	if op.Body.Err() != nil {
		return graphql.Null, nil
	}
	field := graphql.GetFieldContext(ctx)
	switch field.Object {
	case "Mutation": // mutations are resolved one after the other
		op.started = append(op.started, field.Field.Alias)
	case "__Type":
		if graph.NullByKind(field) {
			return nil, nil
		}
	}
	res, err := op.takeTurn(ctx, next)
	op.Body.Hold(fieldBytes)
	if op.Body.Err() != nil && err == nil {
		return graphql.Null, nil
	}
	return res, err
}

// takeTurn resolves a field. One with long texts in its arguments takes turns with other work of its account.
func (op *operation) takeTurn(ctx context.Context, next graphql.Resolver) (res any, err error) {
	texts := 0
	for _, arg := range graphql.GetFieldContext(ctx).Args {
		texts += argumentBytes(arg)
	}
	op.texts.Add(int64(texts))
	if texts <= laneBytes {
		return next(ctx)
	}
	if ended := op.lanes.Run(ctx, op.account.holder(), func() { res, err = next(ctx) }); ended != nil {
		err = ended
	}
	return res, err
}

// argumentBytes returns the length of an argument that is a text. The texts in the inputs of mutations
// are charged before.
func argumentBytes(arg any) int {
	switch arg := arg.(type) {
	case string:
		return len(arg)
	case *string:
		if arg != nil {
			return len(*arg)
		}
	}
	return 0
}

// outcome returns the result of an operation, or the reason why its answer cannot be sent.
func (h *Handler) outcome(op *operation, errs gqlerror.List) (*executed, error) {
	done := &executed{errors: h.firstErrors(errs)}
	if err := op.Body.Err(); err != nil {
		return done, err
	}
	done.data = op.Body.Chunks()
	for _, chunk := range done.data {
		done.size += len(chunk)
	}
	return done, nil
}

// isNull reports whether there is no data.
func (e *executed) isNull() bool {
	return e.size == 0 || e.size == len("null") && string(e.data[0]) == "null"
}

// head appends the part of the answer before the data, and tail the part after it.
func (e *executed) head(out []byte) []byte {
	out = append(out, '{')
	if len(e.errors) > 0 {
		out = append(appendErrors(out, e.errors), ',')
	}
	out = append(out, `"data":`...)
	if e.size == 0 {
		out = append(out, "null"...)
	}
	return out
}

func (e *executed) tail(out []byte, reported *costReported) []byte {
	if reported != nil {
		if b, err := json.Marshal(reported); err == nil { // it contains only numbers
			out = append(out, `,"extensions":{"cost":`...)
			out = append(append(out, b...), '}')
		}
	}
	return append(out, '}')
}

// pieces returns the whole answer. A short answer is one piece.
func (e *executed) pieces(reported *costReported) [][]byte {
	pieces := append([][]byte{e.head(nil)}, e.data...)
	return joined(append(pieces, e.tail(nil, reported)))
}

// joined copies short pieces into one, so that they are sent at once.
func joined(pieces [][]byte) [][]byte {
	size := length(pieces)
	if len(pieces) < 2 || size > pooledBytes {
		return pieces
	}
	whole := make([]byte, 0, size)
	for _, piece := range pieces {
		whole = append(whole, piece...)
	}
	return [][]byte{whole}
}

func length(pieces [][]byte) (n int) {
	for _, piece := range pieces {
		n += len(piece)
	}
	return n
}

// unsent returns the refusal of a query whose answer cannot be sent.
func (h *Handler) unsent(err error) *refusal {
	if errors.Is(err, answer.ErrEnded) {
		return timedOut()
	}
	if errors.Is(err, answer.ErrNoMemory) {
		return tooBusy("Other answers in progress, yours or those of all, use all memory for answers; try again.")
	}
	return refuseDocument(codeAnswerTooLarge, fmt.Sprintf("The answer has more than %d bytes: ask for smaller pages or fewer fields.",
		h.limits.AnswerBytes))
}

// timedOut refuses an operation that has ended before its answer was complete.
func timedOut() *refusal {
	return refuse(http.StatusGatewayTimeout, codeTimeout, "The operation timed out.")
}

// unsentMutation returns the result of a mutation whose answer cannot be sent. It is not a refusal:
// the changes were made, and a client that retries after an error would make them twice. Other
// errors follow it.
func (h *Handler) unsentMutation(op *operation, done *executed, err error) *executed {
	why := fmt.Sprintf("The answer has more than %d bytes", h.limits.AnswerBytes)
	if errors.Is(err, answer.ErrNoMemory) {
		why = "No memory is free for the answer"
	}
	shown := coded(codeAnswerTooLarge, why+
		", and is not sent. The mutations in extensions.executed were executed: read what they changed, or repeat them "+
		"with the same idempotency keys and fewer fields.")
	shown.Extensions["executed"] = op.started
	op.release()
	return &executed{errors: h.firstErrors(append(gqlerror.List{shown}, done.errors...))}
}

// unsentEvent returns the result for an event that cannot be sent.
func (h *Handler) unsentEvent(op *operation, err error) *executed {
	op.release()
	return &executed{errors: h.unsent(err).errs}
}
