package cassandra

import (
	"context"

	"carrel/cassandra/session"
	"carrel/library"
)

// ApplyIndexBatch implements library.ContentStore. A mutation writes the rows of one principal; the
// caller decides how many mutations are in flight.
func (s contents) ApplyIndexBatch() int { return 1 }

// Every derived row carries the mts of its state as its timestamp. So an older state never undoes
// what a newer one wrote, even if it is written late.
const (
	putEntry = `INSERT INTO library_by_principal (principal_id, bucket, position, content_id, mts, role)
 VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropEntry = `DELETE FROM library_by_principal USING TIMESTAMP ?
 WHERE principal_id = ? AND bucket = ? AND position = ? AND content_id = ?`
	putTitle = `INSERT INTO library_by_title (principal_id, bucket, title, content_id, mts, role, title_hash)
 VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?`
	dropTitle = `DELETE FROM library_by_title USING TIMESTAMP ?
 WHERE principal_id = ? AND bucket = ? AND title = ? AND content_id = ?`
	putShared  = `INSERT INTO content_by_principal (principal_id, content_id, role) VALUES (?, ?, ?) USING TIMESTAMP ?`
	dropShared = `DELETE FROM content_by_principal USING TIMESTAMP ? WHERE principal_id = ? AND content_id = ?`
)

// ApplyIndex implements library.ContentStore. It writes one mutation per principal without reading.
// All four tables have the principal as their partition key, so their rows can be in one mutation.
func (s contents) ApplyIndex(ctx context.Context, e *library.IndexUpdate) error {
	var d library.Derived
	h := e.Header
	mts, id := int64(h.MTS), string(h.ID)
	for _, m := range e.Rows {
		e.Derive(h, m, &d)
		p := string(m.Principal)
		var ch session.Batch
		for _, k := range d.Delete {
			appendDrop(&ch, mts, p, k)
		}
		for _, k := range d.Put {
			if k.Title == "" {
				ch.Append(putEntry, p, int8(k.Bucket), int64(k.Position), id, mts, int8(m.Role), mts)
				continue
			}
			ch.Append(putTitle, p, int8(k.Bucket), []byte(k.Title), id, mts, int8(m.Role), int64(d.Entry(h, m, k).TitleHash), mts)
		}
		switch {
		case !e.All:
		case d.Role == library.NoRole:
			ch.Append(dropShared, mts, p, id)
		default:
			ch.Append(putShared, p, id, int8(d.Role), mts)
		}
		if d.WritesChange {
			ch.Append(putChange, p, int64(e.At), id, mts, int8(d.RemovedFrom), int8(d.Holds), int8(d.Cause.Reason),
				string(d.Cause.By), mts, changeTTL)
		}
		if err := s.session.WriteBatch(ctx, "update index", &ch); err != nil {
			return err
		}
	}
	return nil
}

// appendDrop adds the deletion of the entry at a key of p's library.
func appendDrop(ch *session.Batch, mts int64, p string, k library.LibraryKey) {
	if k.Title == "" {
		ch.Append(dropEntry, mts, p, int8(k.Bucket), int64(k.Position), string(k.Content))
		return
	}
	ch.Append(dropTitle, mts, p, int8(k.Bucket), []byte(k.Title), string(k.Content))
}
