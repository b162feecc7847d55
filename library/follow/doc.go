// Package follow delivers the changes of libraries to their followers in this process. It passes
// on the changes of this process, announces them to other processes, and reads what those have
// changed. It does not know how an event is sent.
package follow
