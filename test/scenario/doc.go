// Package scenario holds no code of the product: its tests build the binary,
// run it as an operator would, and speak to it over HTTP as a client would.
package scenario
