package principal

import "carrel/core/clock"

// Since returns since when the principal of a closure is in a group.
func (c *Closure) Since(group ID) clock.Instant { return c.groups[group].since }
