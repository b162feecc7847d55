package heap

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestMemory_IsTheSmallestLimit(t *testing.T) {
	const none = math.MaxInt64
	for name, c := range map[string]struct {
		files map[string]string
		limit int64
		want  int64
	}{
		"nothing is known":             {nil, none, 0},
		"GOMEMLIMIT alone":             {nil, 5 << 20, 5 << 20},
		"the machine":                  {map[string]string{"proc/meminfo": "MemFree: 1 kB\nMemTotal:  2048 kB\n"}, none, 2 << 20},
		"GOMEMLIMIT below the machine": {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n"}, 1 << 20, 1 << 20},
		"a machine without figures":    {map[string]string{"proc/meminfo": "MemTotal: many\n"}, none, 0},
		"a container":                  {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n", "sys/fs/cgroup/memory.max": "1000000\n"}, none, 1_000_000},
		"a container without a limit":  {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n", "sys/fs/cgroup/memory.max": "max\n"}, none, 2 << 20},
		"a container of version 1":     {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1000001\n"}, none, 1_000_001},
		"a limit above the machine":    {map[string]string{"proc/meminfo": "MemTotal: 2048 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, none, 2 << 20},
		"a group within the machine": {map[string]string{
			"proc/meminfo": "MemTotal: 2048 kB\n", "proc/self/cgroup": "0::/system.slice/carrel.service\n",
			"sys/fs/cgroup/system.slice/carrel.service/memory.max": "1000002\n", "sys/fs/cgroup/system.slice/memory.max": "1500000\n",
		}, none, 1_000_002},
		"the group above it": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/carrel.service\n",
			"sys/fs/cgroup/system.slice/carrel.service/memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "1500000\n",
		}, none, 1_500_000},
		"a group of version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/abc\n", "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1000003\n",
		}, none, 1_000_003},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := memory(root, c.limit); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
	if Memory() <= 0 {
		t.Error("the memory of this machine is not known")
	}
}
