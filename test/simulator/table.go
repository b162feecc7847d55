package simulator

import (
	"context"
	"slices"
)

// The tables of a Store are lists in the order of the keys of their values.

// find returns the index of a key in a table.
func find[T, K any](list []T, key K, compare func(T, K) int) (int, bool) {
	return slices.BinarySearchFunc(list, key, compare)
}

// at returns the value with a key, or the zero value.
func at[T, K any](list []T, key K, compare func(T, K) int) (v T) {
	if i, found := find(list, key, compare); found {
		v = list[i]
	}
	return v
}

// put stores a value with a key, in place of the one that has the key.
func put[T, K any](list []T, key K, compare func(T, K) int, v T) []T {
	i, found := find(list, key, compare)
	if found {
		list[i] = v
		return list
	}
	return slices.Insert(list, i, v)
}

// made returns the value with a key; if there is none, it first adds one.
func made[T, K any](list *[]*T, key K, compare func(*T, K) int, empty func() *T) *T {
	i, found := find(*list, key, compare)
	if !found {
		*list = slices.Insert(*list, i, empty())
	}
	return (*list)[i]
}

// drop removes the value with a key, if there is one.
func drop[T, K any](list []T, key K, compare func(T, K) int) []T {
	if i, found := find(list, key, compare); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// after returns at most limit values whose keys are greater than a key.
func after[T, K any](list []T, key K, compare func(T, K) int, limit int) []T {
	i, found := find(list, key, compare)
	if found {
		i++
	}
	return slices.Clone(list[i:min(len(list), i+max(limit, 0))])
}

// look makes a read and returns what it reads.
func look[T any](ctx context.Context, c *Client, call string, read func() T) (T, error) {
	var got T
	err := c.read(ctx, call, func() { got = read() })
	return got, err
}

// change makes a conditional write and returns what it returns.
func change[T any](ctx context.Context, c *Client, call, partition string, apply func() T) (T, error) {
	var got T
	err := c.write(ctx, call, partition, func() { got = apply() }, nil)
	return got, err
}

// halves makes a write of a list, the second half of which may arrive late or never.
func halves[T any](ctx context.Context, c *Client, call string, list []T, apply func(T)) error {
	mine := slices.Clone(list)
	write := func(part []T) func() {
		return func() {
			for _, v := range part {
				apply(v)
			}
		}
	}
	half := len(mine) / 2
	return c.write(ctx, call, "", write(mine[:half]), write(mine[half:]))
}

// decide applies the effect of a serial read by a process to the conditional writes in progress on a partition.
func (c *Client) decide(partition string) {
	if c.a != nil {
		c.st.decide(partition)
	}
}

// copied returns a pointer to a copy of what p points to.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
