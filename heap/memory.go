package heap

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// Memory returns how many bytes the process may use: the least of GOMEMLIMIT, the limit of its
// control group and the memory of the machine, or 0 if none of them is known.
func Memory() int64 { return memory(os.DirFS("/"), debug.SetMemoryLimit(-1)) }

func memory(root fs.FS, limit int64) int64 {
	least := min(limit, machine(root), group(root))
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// machine returns the memory of the machine, or MaxInt64 if it is not known.
func machine(root fs.FS) int64 {
	f, err := root.Open("proc/meminfo")
	if err != nil {
		return math.MaxInt64
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kilobytes int64
		if _, err := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kilobytes); err == nil && kilobytes > 0 {
			return kilobytes << 10
		}
	}
	return math.MaxInt64
}

// group returns the least limit of the process's control groups, of version 2 or 1, or MaxInt64 if
// there is none. Inside a container, the container's own group is the root.
func group(root fs.FS) int64 {
	least := min(number(root, "sys/fs/cgroup/memory.max"), number(root, "sys/fs/cgroup/memory/memory.limit_in_bytes"))
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		// Each line is hierarchy:controllers:path; version 2 has no controllers.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || parts[1] != "" && parts[1] != "memory" {
			continue
		}
		file, top := "memory.max", "sys/fs/cgroup"
		if parts[1] == "memory" {
			file, top = "memory.limit_in_bytes", "sys/fs/cgroup/memory"
		}
		for dir := path.Join(top, parts[2]); dir != top && strings.HasPrefix(dir, top); dir = path.Dir(dir) {
			least = min(least, number(root, path.Join(dir, file)))
		}
	}
	return least
}

// number reads a file that contains one number. It returns MaxInt64 if there is none.
func number(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
