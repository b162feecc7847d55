// Package validation makes the checks of GraphQL documents that the parser's own validation lacks:
// faults within a token, selections that would take too long to compare, and variables that are null
// where no null is taken. It does not know how a document is sent, or how a fault is shown.
package validation
