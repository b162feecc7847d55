// Package scenario contains only tests. They build the binary, run it as an operator
// would, and send it requests over HTTP as a client would.
package scenario
