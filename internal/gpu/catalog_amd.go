// SPDX-License-Identifier: Apache-2.0

package gpu

// instinct lists AMD's cards. A card with two dies appears as two GPUs, and each row is one of them. fp32 is the
// vector rate. Four totals were read on real cards. Each is 16 MiB less than the nominal memory, so the other
// totals are computed by that rule.
var instinct = []spec{
	{"MI355X", 288, fromAMD(288), "gfx950", 256, 8000, tera{157.3, 0, 2516.6, 2516.6, 5033.2}, ""},               // MI355X data sheet
	{"MI350X", 288, fromAMD(288), "gfx950", 256, 8000, tera{144.2, 0, 2306.9, 2306.9, 4613.7}, ""},               // MI350X data sheet
	{"MI325X", 256, fromAMD(256), "gfx942", 304, 6000, tera{163.4, 653.7, 1307.4, 1307.4, 2614.9}, ""},           // MI325X data sheet
	{"MI300X", 192, exact(206_141_652_992), "gfx942", 304, 5325, tera{163.4, 653.7, 1307.4, 1307.4, 2614.9}, ""}, // MI300X data sheet; total from sysfs
	{"MI300A", 128, fromAMD(128), "gfx942", 228, 5300, tera{122.6, 490.3, 980.6, 980.6, 1961.2}, ""},             // MI300A data sheet; CPU and GPU share its memory
	{"MI250X", 64, exact(68_702_699_520), "gfx90a", 110, 1638, tera{23.9, 0, 191.5, 191.5, 0}, "mi250x/mi250"},   // MI250X data sheet, one die of two; total from sysfs
	{"MI250", 64, fromAMD(64), "gfx90a", 104, 1638, tera{22.6, 0, 181, 181, 0}, ""},                              // MI250 data sheet, one die of two
	{"MI210", 64, fromAMD(64), "gfx90a", 104, 1638, tera{22.6, 0, 181, 181, 0}, ""},                              // MI210 data sheet
	{"MI100", 32, fromAMD(32), "gfx908", 120, 1229, tera{23.1, 0, 184.6, 92.3, 0}, ""},                           // MI100 data sheet
	{"W7900", 48, fromAMD(48), "gfx1100", 96, 864, tera{61.3, 0, 122.6, 122.6, 0}, "pro-w7900"},                  // Radeon PRO W7900 data sheet
	{"RX-7900-XTX", 24, exact(25_753_026_560), "gfx1100", 96, 960, tera{61.4, 0, 122.8, 122.8, 0}, "7900xtx"},    // product page; total from sysfs
	{"RX-7900-XT", 20, exact(21_458_059_264), "gfx1100", 84, 800, tera{51.6, 0, 103.2, 103.2, 0}, "7900xt"},      // product page; total from rocm-smi
}
