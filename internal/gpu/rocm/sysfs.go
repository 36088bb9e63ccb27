// SPDX-License-Identifier: Apache-2.0

package rocm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"snug/internal/gpu"
)

// Sysfs reads the files of the kernel's amdgpu driver, so it needs no program.
type Sysfs struct {
	Root fs.FS // the file system at /
}

// Name returns the source's name for messages.
func (Sysfs) Name() string { return "/sys/class/drm" }

// Maker returns the manufacturer of the listed GPUs.
func (Sysfs) Maker() gpu.Maker { return gpu.AMD }

const amdVendor = "0x1002"

// Report reads memory from class/drm/card*/device, and everything else from class/kfd.
func (s Sysfs) Report(context.Context) (*gpu.Report, error) {
	r := &gpu.Report{Driver: s.text("sys/module/amdgpu/version")}
	nodes := s.nodes()
	for _, dir := range s.cards() {
		total, err := strconv.ParseUint(s.text(dir+"/mem_info_vram_total"), 10, 62)
		if err != nil {
			continue
		}
		used, _ := strconv.ParseUint(s.text(dir+"/mem_info_vram_used"), 10, 62)
		used = min(used, total)
		d := gpu.Device{
			Maker: gpu.AMD, Index: len(r.Devices), Name: s.product(dir), UUID: uuid("0x" + s.text(dir+"/unique_id")),
			Bus: s.value(dir+"/uevent", "PCI_SLOT_NAME="), Total: total, Used: used, Free: total - used,
		}
		s.complete(&d, nodes, dir)
		r.Devices = append(r.Devices, d)
	}
	if len(r.Devices) == 0 {
		return nil, errors.New("no AMD card with its own memory")
	}
	return r, nil
}

// cards returns the folders of AMD cards that have their own memory, in order.
func (s Sysfs) cards() []string {
	all, _ := fs.Glob(s.Root, "sys/class/drm/card[0-9]*")
	slices.SortFunc(all, func(a, b string) int { return number(a) - number(b) })
	var out []string
	for _, c := range all {
		dir := path.Join(c, "device")
		if strings.Contains(path.Base(c), "-") || s.text(dir+"/vendor") != amdVendor {
			continue // a card's display output, or another manufacturer's card
		}
		if _, err := strconv.ParseUint(s.text(dir+"/mem_info_vram_total"), 10, 62); err == nil {
			out = append(out, dir)
		}
	}
	return out
}

// node is a GPU as the compute driver (KFD) lists it.
type node struct {
	id     string // gpu_id
	render int    // the minor number of its render device
	arch   string
	cus    int
}

func (s Sysfs) nodes() []node {
	dirs, _ := fs.Glob(s.Root, "sys/class/kfd/kfd/topology/nodes/*")
	var out []node
	for _, dir := range dirs {
		n := node{id: s.text(dir + "/gpu_id")}
		if n.id == "" || n.id == "0" {
			continue // a CPU
		}
		file := dir + "/properties"
		n.render, _ = strconv.Atoi(s.value(file, "drm_render_minor "))
		simds, _ := strconv.Atoi(s.value(file, "simd_count "))
		perCU, _ := strconv.Atoi(s.value(file, "simd_per_cu "))
		n.cus = simds / max(perCU, 1)
		version, _ := strconv.Atoi(s.value(file, "gfx_target_version "))
		n.arch = architecture(version)
		out = append(out, n)
	}
	return out
}

// architecture returns gfx90a for 90010: two digits each for major, minor and stepping, the last two in hexadecimal.
func architecture(version int) string {
	if version <= 0 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// complete adds what the compute driver reports about the card, and the processes that use its memory.
func (s Sysfs) complete(d *gpu.Device, nodes []node, dir string) {
	renders, _ := fs.Glob(s.Root, dir+"/drm/renderD*")
	for _, n := range nodes {
		if !slices.ContainsFunc(renders, func(r string) bool { return number(r) == n.render }) {
			continue
		}
		d.Arch, d.SMs = n.arch, n.cus
		files, _ := fs.Glob(s.Root, "sys/class/kfd/kfd/proc/*/vram_"+n.id)
		for _, f := range files {
			used, err := strconv.ParseUint(s.text(f), 10, 62)
			pid := path.Base(path.Dir(f))
			if number, bad := strconv.Atoi(pid); err == nil && bad == nil && used > 0 {
				d.Processes = append(d.Processes, gpu.Process{PID: number, Name: s.text("proc/" + pid + "/comm"), Used: used})
			}
		}
	}
}

// product returns the name of a data-center card, or else the device number.
func (s Sysfs) product(dir string) string {
	if name := s.text(dir + "/product_name"); name != "" {
		return name
	}
	return strings.TrimSpace("AMD GPU " + s.text(dir+"/device"))
}

// text returns a file's content, or "".
func (s Sysfs) text(file string) string {
	data, err := fs.ReadFile(s.Root, file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// value returns the text after a key that begins a line of a file.
func (s Sysfs) value(file, key string) string {
	for line := range strings.Lines(s.text(file)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), key); ok {
			return v
		}
	}
	return ""
}

// number returns the number at the end of a name: card10, renderD128.
func number(name string) int {
	n, _ := strconv.Atoi(name[strings.LastIndexFunc(name, func(r rune) bool { return r < '0' || r > '9' })+1:])
	return n
}
