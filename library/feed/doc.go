// Package feed tells those who follow a library in this process what happens in it. It
// passes on what this process writes, announces that to other processes, and reads what
// they have written. It does not know how an event is sent.
package feed
