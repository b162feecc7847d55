// Package paste keeps pastes: texts that anyone may store, with an expiry and a secret
// that authorizes changes. docs/pastes.md describes them for users.
//
// A paste is one row, and the row decides: whether it is listed, whether it has expired,
// and what its secret is. The feed of public pastes is derived from the rows.
package paste
