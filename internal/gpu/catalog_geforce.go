// SPDX-License-Identifier: Apache-2.0

package gpu

// geforce lists NVIDIA's desktop cards. Laptop cards share names with them, but differ in memory and speed, and are
// not listed.
var geforce = []spec{
	// Blackwell: RTX Blackwell white paper and product pages
	{"RTX-5090", 32, seen(31.34), "sm_120", 170, 1792, adaGeForce(104.8), ""},         // white paper GB202; PyTorch
	{"RTX-5080", 16, fromSMI(16303), "sm_120", 84, 960, adaGeForce(56.3), ""},         // white paper GB203; smi
	{"RTX-5070-Ti", 16, fromSMI(16303), "sm_120", 70, 896, adaGeForce(43.9), ""},      // white paper GB203; smi
	{"RTX-5070", 12, fromSMI(12227), "sm_120", 48, 672, adaGeForce(30.9), ""},         // white paper GB205; smi
	{"RTX-5060-Ti-16GB", 16, fromSMI(16311), "sm_120", 36, 448, adaGeForce(23.7), ""}, // product page; smi
	// Ada: AD102 white paper and product pages
	{"RTX-4090", 24, seen(23.51), "sm_89", 128, 1008, adaGeForce(82.6), ""},           // white paper AD102; PyTorch
	{"RTX-4090-D", 24, fromSMI(24564), "sm_89", 114, 1008, adaGeForce(73.5), ""},      // product page; smi
	{"RTX-4080-Super", 16, fromSMI(16376), "sm_89", 80, 736, adaGeForce(52.2), ""},    // product page; smi
	{"RTX-4080", 16, seen(15.58), "sm_89", 76, 717, adaGeForce(48.7), ""},             // white paper AD103; PyTorch
	{"RTX-4070-Ti-Super", 16, fromSMI(16376), "sm_89", 66, 672, adaGeForce(44.1), ""}, // product page; smi
	{"RTX-4070-Ti", 12, fromSMI(12282), "sm_89", 60, 504, adaGeForce(40.1), ""},       // white paper AD104; smi
	{"RTX-4070-Super", 12, fromSMI(12282), "sm_89", 56, 504, adaGeForce(35.5), ""},    // product page; smi
	{"RTX-4070", 12, fromSMI(12282), "sm_89", 46, 504, adaGeForce(29.1), ""},          // product page; smi
	{"RTX-4060-Ti-16GB", 16, fromSMI(16380), "sm_89", 34, 288, adaGeForce(22.1), ""},  // product page; smi
	{"RTX-4060-Ti-8GB", 8, fromSMI(8188), "sm_89", 34, 288, adaGeForce(22.1), ""},     // product page; smi
	{"RTX-4060", 8, fromSMI(8188), "sm_89", 24, 272, adaGeForce(15.1), ""},            // product page; smi
	// Ampere: GA102 white paper and product pages
	{"RTX-3090-Ti", 24, fromSMI(24564), "sm_86", 84, 1008, ampereGeForce(40), ""},         // product page; smi
	{"RTX-3090", 24, seen(23.56), "sm_86", 82, 936, ampereGeForce(35.6), ""},              // white paper GA102; PyTorch
	{"RTX-3080-Ti", 12, fromSMI(12288), "sm_86", 80, 912, ampereGeForce(34.1), ""},        // product page; smi
	{"RTX-3080-12GB", 12, fromSMI(12288), "sm_86", 70, 912, ampereGeForce(30.6), ""},      // product page; smi
	{"RTX-3080", 10, seen(9.64), "sm_86", 68, 760, ampereGeForce(29.8), "rtx-3080-10gb"},  // white paper GA102; PyTorch
	{"RTX-3070-Ti", 8, fromSMI(8192), "sm_86", 48, 608, ampereGeForce(21.7), ""},          // product page; smi
	{"RTX-3070", 8, fromSMI(8192), "sm_86", 46, 448, ampereGeForce(20.3), ""},             // white paper GA104; smi
	{"RTX-3060-Ti", 8, fromSMI(8192), "sm_86", 38, 448, ampereGeForce(16.2), ""},          // product page; smi
	{"RTX-3060", 12, seen(11.63), "sm_86", 28, 360, ampereGeForce(12.7), "rtx-3060-12gb"}, // product page; PyTorch
	// Turing
	{"RTX-2080-Ti", 11, seen(10.57), "sm_75", 68, 616, turingGeForce(13.4), ""}, // Turing white paper; PyTorch
	{"RTX-2080", 8, fromSMI(8192), "sm_75", 46, 448, turingGeForce(10.1), ""},   // Turing white paper; smi
	{"RTX-2070", 8, fromSMI(8192), "sm_75", 36, 448, turingGeForce(7.5), ""},    // Turing white paper; smi
}
