package nemesis

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
)

// What the proxy needs of the native protocol, version 4. A frame's header is version,
// flags, stream (2 bytes), opcode and the length of its body (4).
const (
	headerLength = 9
	maxBody      = 256 << 20 // the protocol's own limit

	opError   = 0x00
	opQuery   = 0x07
	opResult  = 0x08
	opPrepare = 0x09
	opExecute = 0x0A
	opBatch   = 0x0D

	resultPrepared = 4
	flagWarnings   = 0x08
)

// frame is one message, in either direction, with its header.
type frame []byte

func readFrame(r io.Reader) (frame, error) {
	f := make(frame, headerLength)
	if _, err := io.ReadFull(r, f); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(f[5:])
	if n > maxBody {
		return nil, errors.New("a frame longer than the protocol allows")
	}
	f = append(f, make([]byte, n)...)
	_, err := io.ReadFull(r, f[headerLength:])
	return f, err
}

func (f frame) op() byte      { return f[4] }
func (f frame) stream() int16 { return int16(binary.BigEndian.Uint16(f[2:])) }
func (f frame) body() unread  { return unread(f[headerLength:]) }

// unread is the rest of a body that was not read yet. Missing bytes read as empty: checking the
// requests of the driver is the node's job, not the proxy's.
type unread []byte

func (c *unread) cut(n int) []byte {
	n = max(0, min(n, len(*c)))
	part := (*c)[:n]
	*c = (*c)[n:]
	return part
}

func (c *unread) short() int {
	if b := c.cut(2); len(b) == 2 {
		return int(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *unread) long() int {
	if b := c.cut(4); len(b) == 4 {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

// statement returns the text of the statement of a request, or of the first one of a
// batch; prepared maps ids of prepared statements to their texts.
func (f frame) statement(prepared func(id string) string) string {
	c := f.body()
	switch f.op() {
	case opQuery, opPrepare:
		return string(c.cut(c.long()))
	case opExecute:
		return prepared(string(c.cut(c.short())))
	case opBatch:
		c.cut(1) // logged or not
		if c.short() == 0 {
			return ""
		}
		if kind := c.cut(1); len(kind) == 1 && kind[0] == 1 {
			return prepared(string(c.cut(c.short())))
		}
		return string(c.cut(c.long()))
	}
	return ""
}

// preparedID returns the id that an answer gives to a prepared statement, or "".
func (f frame) preparedID() string {
	c := f.body()
	if f.op() != opResult {
		return ""
	}
	if f[1]&flagWarnings != 0 {
		for range c.short() {
			c.cut(c.short())
		}
	}
	if c.long() != resultPrepared {
		return ""
	}
	return string(c.cut(c.short()))
}

// Codes of errors that the proxy returns in place of a node.
const (
	codeUnavailable  = 0x1000
	codeWriteTimeout = 0x1100
)

// Consistency levels of a data centre. The level in the error says for what a coordinator
// has too few replicas: for deciding, or for committing the decision.
const (
	levelQuorum = 6
	levelSerial = 9
)

// refusal returns the answer of a coordinator that has too few replicas for a level.
func (f frame) refusal(level uint16) frame {
	b := binary.BigEndian.AppendUint16(errorBody(codeUnavailable), level)
	b = binary.BigEndian.AppendUint32(b, 2)              // wanted
	return f.answer(binary.BigEndian.AppendUint32(b, 1)) // alive
}

// timeout returns the answer of a coordinator whose replicas were too slow for a
// conditional write, which may have happened.
func (f frame) timeout() frame {
	b := binary.BigEndian.AppendUint16(errorBody(codeWriteTimeout), 8) // SERIAL
	b = binary.BigEndian.AppendUint32(b, 1)                            // answered
	b = binary.BigEndian.AppendUint32(b, 2)                            // wanted
	return f.answer(append(binary.BigEndian.AppendUint16(b, 3), "CAS"...))
}

func errorBody(code uint32) []byte {
	const message = "the proxy says so"
	b := binary.BigEndian.AppendUint32(nil, code)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(message))), message...)
}

// answer returns an error frame on the stream of f.
func (f frame) answer(body []byte) frame {
	a := frame{0x84, 0, f[2], f[3], opError}
	return append(binary.BigEndian.AppendUint32(a, uint32(len(body))), body...)
}

// step is a step of the write protocol, as its statements show it.
type step string

// The steps, in the order in which a mutation makes them.
const (
	stepFirstBlock step = "first block" // of numbers for names
	stepNextBlock  step = "next block"
	stepReserve    step = "reserve" // the id of a creation
	stepRead       step = "read"
	stepDue        step = "due"     // the reminder that an item expires
	stepDay        step = "due day" // the reminder that some items expire on a day
	stepList       step = "list"
	stepDecide     step = "decide"
	stepSnapshot   step = "snapshot" // a read after the decision
	stepMark       step = "mark"     // a new library as complete
	stepApply      step = "apply"
	stepFeed       step = "feed" // an entry of the newest pastes or items
	stepCleanUp    step = "clean up"
	stepDrop       step = "drop" // an in-flight list

	// The steps of an operation that takes a unique name (docs/unique-names.md).
	stepFormer   step = "former"    // the claim of the name that is given up is read
	stepClaim    step = "claim"     // the new claim is inserted, or refused
	stepHolder   step = "holder"    // the record that holds the claim is read
	stepFence    step = "fence"     // the record that holds the claim is fenced
	stepTakeOver step = "take over" // the claim is replaced
	stepRelease  step = "release"   // the claim is removed
	stepText     step = "text"      // the body of a revision or of a paste is stored

	stepOther step = ""
)

// stepOf returns the step that a statement belongs to. A read of an item may belong to
// two steps.
func stepOf(table, statement string) step {
	s := strings.Join(strings.Fields(statement), " ")
	begins := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(s, p) {
				return true
			}
		}
		return false
	}
	switch {
	case begins("UPDATE "+table+" SET seq", "INSERT INTO lease ", "INSERT INTO paste "):
		return stepDecide
	case begins("INSERT INTO claim"):
		return stepClaim
	case begins("UPDATE claim"):
		return stepTakeOver
	case begins("DELETE FROM claim"):
		return stepRelease
	case begins("SELECT record") && strings.Contains(s, " FROM claim WHERE"):
		return stepFormer
	case begins("INSERT INTO item_text", "INSERT INTO paste_body"):
		return stepText
	case begins("INSERT INTO id_block"):
		return stepFirstBlock
	case begins("UPDATE id_block"):
		return stepNextBlock
	case begins("INSERT INTO request"):
		return stepReserve
	case begins("INSERT INTO due ("):
		return stepDue
	case begins("INSERT INTO due_hour"):
		return stepDay
	case begins("UPDATE "+table+" SET unsettled", "UPDATE "+table+" SET state", "DELETE FROM "+table+" WHERE",
		"DELETE item_kind", "DELETE FROM paste_body"):
		return stepCleanUp
	case begins("INSERT INTO inflight"):
		return stepList
	case begins("DELETE FROM inflight"):
		return stepDrop
	case begins("INSERT INTO library_by_principal", "DELETE FROM library_by_principal",
		"INSERT INTO content_by_principal", "DELETE FROM content_by_principal",
		"INSERT INTO groups_by_member", "DELETE FROM groups_by_member", "INSERT INTO principal_names", "DELETE FROM principal_names"):
		return stepApply
	case begins("INSERT INTO feed ", "DELETE FROM feed "):
		return stepFeed
	case begins("UPDATE library_by_principal"):
		return stepMark
	case begins("SELECT") && strings.Contains(s, " FROM "+table+" WHERE"):
		return stepRead
	}
	return stepOther
}
