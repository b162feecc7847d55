package pebblestore

import (
	"bytes"
	"encoding/binary"

	"carrel/core/clock"
	"carrel/core/commit"
	"carrel/library"
	"carrel/principal"
)

// Values begin with rowVersion. Numbers are varints; instants, and
// numbers that may be negative, are zigzag varints. A string follows its length; the last string of
// a row may extend to its end instead.

// appendWriters appends the writers of the last states.
func appendWriters(b []byte, ws []commit.Writer) []byte {
	b = binary.AppendUvarint(b, uint64(len(ws)))
	last := int64(0)
	for _, w := range ws {
		b = binary.AppendVarint(b, w.Seq-last)
		b = append(b, w.Entry[:]...)
		last = w.Seq
	}
	return b
}

func (d *decoder) writers() []commit.Writer {
	n := d.Count(writerBytes)
	if n == 0 {
		return nil
	}
	ws := make([]commit.Writer, n)
	last := int64(0)
	for i := range ws {
		last += d.Int()
		ws[i].Seq = last
		copy(ws[i].Entry[:], d.Raw(len(commit.EntryID{})))
	}
	return ws
}

// writerBytes is the minimal size of a writer.
const writerBytes = 1 + len(commit.EntryID{})

// skipWriters skips the writers.
func (d *decoder) skipWriters() {
	for n := d.Count(writerBytes); n > 0; n-- {
		d.Int()
		d.Raw(len(commit.EntryID{}))
	}
}

// appendMember appends a member row of a group.
func appendMember(b []byte, role byte, leaving bool, seq int64) []byte {
	state := byte(0)
	if leaving {
		state = 1
	}
	return binary.AppendUvarint(append(b, rowVersion, role, state), uint64(seq))
}

// appendGroupMember appends a member row of a group.
func appendGroupMember(b []byte, m *principal.GroupMemberRow) []byte {
	return binary.AppendVarint(appendMember(b, byte(m.Role), m.Leaving, m.Seq), int64(m.Since))
}

// decodeGroupMember reads a member row of a group into m.
func decodeGroupMember(value []byte, m *principal.GroupMemberRow) error {
	role, leaving, seq, rest, err := cutMember(value)
	if err != nil {
		return err
	}
	since, n := binary.Varint(rest)
	if n <= 0 || n != len(rest) {
		return errRow
	}
	m.Role, m.Leaving, m.Seq, m.Since = principal.GroupRole(role), leaving, seq, clock.Instant(since)
	return nil
}

// cutMember reads the common beginning of all member rows.
func cutMember(value []byte) (role byte, leaving bool, seq int64, rest []byte, err error) {
	if len(value) < 4 || value[0] != rowVersion || value[2] > 1 {
		return 0, false, 0, nil, errRow
	}
	u, n := binary.Uvarint(value[3:])
	if n <= 0 {
		return 0, false, 0, nil, errRow
	}
	return value[1], value[2] == 1, int64(u), value[3+n:], nil
}

// appendContentMember appends a member row of a content: the fields of a group's member row, and
// those that only contents have.
func appendContentMember(b []byte, m *library.Member) []byte {
	b = appendMember(b, byte(m.Role), m.Leaving, m.Seq)
	return append(binary.AppendVarint(b, int64(m.Since)), byte(m.RemovedFrom))
}

// decodeContentMember reads a member row of a content into m.
func decodeContentMember(value []byte, m *library.Member) error {
	role, leaving, seq, rest, err := cutMember(value)
	if err != nil {
		return err
	}
	since, n := binary.Varint(rest)
	if n <= 0 || n+1 != len(rest) {
		return errRow
	}
	m.Role, m.Leaving, m.Seq = library.ContentRole(role), leaving, seq
	m.Since, m.RemovedFrom = clock.Instant(since), library.Buckets(rest[n])
	return nil
}

// appendRequest appends an answered request.
func appendRequest(b []byte, r *commit.RequestRow) []byte {
	b = append(append(b, rowVersion), r.InputHash[:]...)
	b = binary.AppendVarint(b, int64(r.Until))
	return append(b, r.Answer...)
}

// decodeRequest reads an answered request.
func decodeRequest(key commit.RequestKey, value []byte) (*commit.RequestRow, error) {
	d := decode(value)
	r := &commit.RequestRow{Key: key}
	copy(r.InputHash[:], d.Raw(len(r.InputHash)))
	r.Until = clock.Instant(d.Int())
	if rest := d.Rest(); rest != "" {
		r.Answer = []byte(rest)
	}
	return r, d.end()
}

// appendEntry appends an entry of a library. Its place is in the key. An entry in the order of titles ends with the hash
// of the title.
func appendEntry(b []byte, e *library.Entry) []byte {
	b = binary.AppendVarint(append(b, rowVersion, byte(e.Role)), int64(e.MTS))
	if e.Title != "" {
		b = binary.BigEndian.AppendUint64(b, e.TitleHash)
	}
	return b
}

// decodeEntry reads the value of an entry of a library in an order.
func decodeEntry(value []byte, o library.Order, e *library.Entry) error {
	if len(value) < 3 || value[0] != rowVersion {
		return errRow
	}
	mts, n := binary.Varint(value[2:])
	if n <= 0 {
		return errRow
	}
	e.Role, e.MTS = library.ContentRole(value[1]), clock.Instant(mts)
	rest := value[2+n:]
	if o == library.ByChange {
		if len(rest) != 0 {
			return errRow
		}
		return nil
	}
	if len(rest) != 8 {
		return errRow
	}
	e.TitleHash = binary.BigEndian.Uint64(rest)
	return nil
}

// appendChange appends a change of a library. The key identifies what changed.
func appendChange(b []byte, removedFrom, holds library.Buckets, c library.Cause) []byte {
	return append(append(b, rowVersion, byte(removedFrom), byte(holds), byte(c.Reason)), c.By...)
}

// decodeChange reads a change of a library.
func decodeChange(value []byte) (removedFrom, holds library.Buckets, c library.Cause, err error) {
	if len(value) < 4 || value[0] != rowVersion {
		return 0, 0, library.Cause{}, errRow
	}
	c = library.Cause{Reason: library.ChangeReason(value[3]), By: principal.ID(value[4:])}
	return library.Buckets(value[1]), library.Buckets(value[2]), c, nil
}

// appendMembership appends a row of tableMembership.
func appendMembership(b []byte, role byte, since clock.Instant) []byte {
	return binary.AppendVarint(appendRole(b, role), int64(since))
}

// decodeMembership reads a row of tableMembership.
func decodeMembership(value []byte) (role byte, since clock.Instant, err error) {
	if len(value) < 3 || value[0] != rowVersion {
		return 0, 0, errRow
	}
	s, n := binary.Varint(value[2:])
	if n <= 0 || 2+n != len(value) {
		return 0, 0, errRow
	}
	return value[1], clock.Instant(s), nil
}

// appendRole appends a row that holds only a role: tableShared.
func appendRole(b []byte, role byte) []byte { return append(b, rowVersion, role) }

// decodeRole reads a row that holds only a role.
func decodeRole(value []byte) (byte, error) {
	if len(value) != 2 || value[0] != rowVersion {
		return 0, errRow
	}
	return value[1], nil
}

// appendPrincipal appends the header of a user or a group.
func appendPrincipal(b []byte, h *principal.Header) []byte {
	b = append(b, rowVersion)
	b = binary.AppendUvarint(b, uint64(h.Seq))
	b = append(b, byte(h.State), byte(h.Visibility))
	b = binary.AppendVarint(b, int64(h.MTS))
	b = binary.AppendVarint(b, int64(h.CreatedAt))
	b = binary.AppendVarint(b, int64(h.Managers))
	b = binary.AppendVarint(b, int64(h.Members))
	b = commit.AppendText(b, h.DisplayName)
	b = commit.AppendText(b, h.Email)
	return appendWriters(b, h.Writers)
}

// decodePrincipal reads the header of a user or a group.
func decodePrincipal(id principal.ID, value []byte, h *principal.Header) error {
	d := decode(value)
	d.principal(id, h)
	h.Writers = d.writers()
	return d.end()
}

// decodeShownPrincipal reads the fields of a header that readers need, and only validates the rest.
func decodeShownPrincipal(id principal.ID, value string, h *principal.Header) error {
	d := decode(value)
	d.principal(id, h)
	d.skipWriters()
	return d.end()
}

// decodePrincipalState reads the state in the header of a user or a group.
func decodePrincipalState(value []byte) (commit.State, error) {
	d := decode(value)
	d.Uint()
	state := commit.State(d.Byte())
	if !d.OK() {
		return 0, errRow
	}
	return state, nil
}

// principal reads a header up to its writers.
func (d *decoder) principal(id principal.ID, h *principal.Header) {
	h.ID = id
	h.Seq = int64(d.Uint())
	h.State = commit.State(d.Byte())
	h.Visibility = principal.Visibility(d.Byte())
	h.MTS = clock.Instant(d.Int())
	h.CreatedAt = clock.Instant(d.Int())
	h.Managers = int(d.Int())
	h.Members = int(d.Int())
	h.DisplayName = d.Text()
	h.Email = d.Text()
}

// appendDirectoryRow appends a row of the directory. Its name is in the key.
func appendDirectoryRow(b []byte, visibility principal.Visibility, mts clock.Instant) []byte {
	return binary.AppendVarint(append(b, rowVersion, byte(visibility)), int64(mts))
}

// decodeDirectoryRow reads a row of the directory.
func decodeDirectoryRow(value []byte) (principal.Visibility, clock.Instant, error) {
	d := decode(value)
	visibility := principal.Visibility(d.Byte())
	mts := clock.Instant(d.Int())
	return visibility, mts, d.end()
}

// appendInFlightList appends the in-flight list of a process: its stamp and its block.
func appendInFlightList(b []byte, l *commit.InFlightList) []byte {
	return commit.AppendText(binary.AppendVarint(append(b, rowVersion), l.Stamp), string(l.Block))
}

// decodeInFlightList reads the in-flight list of a process.
func decodeInFlightList(id commit.ListID, value []byte) (commit.InFlightList, error) {
	d := decode(value)
	l := commit.InFlightList{ID: id, Stamp: d.Int(), Block: []byte(d.Text())}
	return l, d.end()
}

// appendDue appends a reminder, which has only its MTS beside its key.
func appendDue(b []byte, mts clock.Instant) []byte {
	return binary.AppendVarint(append(b, rowVersion), int64(mts))
}

// decodeDue reads the MTS of a reminder.
func decodeDue(value []byte) (clock.Instant, error) {
	d := decode(value)
	mts := clock.Instant(d.Int())
	return mts, d.end()
}

// decodeDueRow reads a reminder with its key.
func decodeDueRow(key, value []byte) (commit.Reminder, error) {
	at, row, err := cutInstant(key[1:])
	if err != nil {
		return commit.Reminder{}, err
	}
	mts, err := decodeDue(value)
	return commit.ReminderOf(at, string(row), mts), err
}

// appendCreation appends a recorded creation.
func appendCreation(b []byte, c *commit.Creation) []byte {
	b = append(append(b, rowVersion), c.InputHash[:]...)
	b = binary.AppendVarint(b, int64(c.Until))
	return append(b, c.ID...)
}

// decodeCreation reads a recorded creation.
func decodeCreation(key commit.RequestKey, value []byte) (commit.Creation, error) {
	d := decode(value)
	c := commit.Creation{Key: key}
	copy(c.InputHash[:], d.Raw(len(c.InputHash)))
	c.Until = clock.Instant(d.Int())
	c.ID = d.Rest()
	return c, d.end()
}

// appendBytes appends a row that holds only bytes: a setting, a further row of a content, a long body,
// the note of a copy.
func appendBytes(b, value []byte) []byte { return append(append(b, rowVersion), value...) }

// decodeBytes reads a row that holds only bytes. They are not copied.
func decodeBytes(value []byte) ([]byte, error) {
	if len(value) == 0 || value[0] != rowVersion {
		return nil, errRow
	}
	return value[1:], nil
}

// appendSeqRow appends the row of a lease or a paste, without its key.
func appendSeqRow[ID ~string](b []byte, r commit.Row[ID]) []byte {
	return append(binary.AppendVarint(append(b, rowVersion), r.Seq), r.Data...)
}

// decodeSeqRow reads the row of a lease or a paste.
func decodeSeqRow[ID ~string](id ID, value []byte) (commit.Row[ID], error) {
	if len(value) == 0 || value[0] != rowVersion {
		return commit.Row[ID]{}, errRow
	}
	seq, n := binary.Varint(value[1:])
	if n <= 0 {
		return commit.Row[ID]{}, errRow
	}
	return commit.Row[ID]{ID: id, Seq: seq, Data: bytes.Clone(value[1+n:])}, nil
}

// appendNext appends the next free number of a host.
func appendNext(b []byte, next int64) []byte {
	return binary.AppendVarint(append(b, rowVersion), next)
}

// decodeNext reads the next free number of a host.
func decodeNext(value []byte) (int64, error) {
	d := decode(value)
	next := d.Int()
	return next, d.end()
}
