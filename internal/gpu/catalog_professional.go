// SPDX-License-Identifier: Apache-2.0

package gpu

// professional lists NVIDIA's workstation cards. ECC is off by default; it would take a sixteenth of the memory.
var professional = []spec{
	// Blackwell
	{"RTX-PRO-6000", 96, seen(94.97), "sm_120", 188, 1792, tera{125, 251.9, 503.8, 503.8, 1007.6}, ""},         // RTX Blackwell PRO white paper, Workstation Edition; PyTorch
	{"RTX-PRO-6000-Server", 96, fromSMI(97887), "sm_120", 188, 1597, tera{120, 240, 480, 480, 960}, ""},        // RTX PRO 6000 Server Edition data sheet; smi
	{"RTX-PRO-6000-Max-Q", 96, fromSMI(97887), "sm_120", 188, 1792, tera{110, 219.5, 438.9, 438.9, 877.9}, ""}, // RTX Blackwell PRO white paper; smi
	// Ada
	{"RTX-6000-Ada", 48, seen(47.37), "sm_89", 142, 960, adaPro(91.1), "6000ada"},                   // RTX 6000 Ada data sheet; PyTorch
	{"RTX-5000-Ada", 32, fromSMI(32760), "sm_89", 100, 576, adaPro(65.3), ""},                       // RTX 5000 Ada data sheet; smi
	{"RTX-4500-Ada", 24, fromSMI(24570), "sm_89", 60, 432, adaPro(39.6), ""},                        // RTX 4500 Ada data sheet; smi
	{"RTX-4000-Ada", 20, fromSMI(20475), "sm_89", 48, 360, tera{26.7, 40.9, 81.9, 81.9, 163.8}, ""}, // RTX 4000 Ada data sheet, with a lower tensor rate than the other Ada cards; smi
	{"RTX-4000-SFF-Ada", 20, fromSMI(20475), "sm_89", 48, 280, adaPro(19.2), ""},                    // RTX 4000 SFF Ada data sheet; smi
	// Ampere
	{"RTX-A6000", 48, seen(47.40), "sm_86", 84, 768, amperePro(38.7), ""},    // RTX A6000 data sheet; PyTorch
	{"RTX-A5500", 24, fromSMI(24564), "sm_86", 80, 768, amperePro(34.1), ""}, // RTX A5500 data sheet; smi
	{"RTX-A5000", 24, fromSMI(24564), "sm_86", 64, 768, amperePro(27.8), ""}, // RTX A5000 data sheet; smi
	{"RTX-A4500", 20, fromSMI(20470), "sm_86", 56, 640, amperePro(23.7), ""}, // RTX A4500 data sheet; smi
	{"RTX-A4000", 16, fromSMI(16376), "sm_86", 48, 448, amperePro(19.2), ""}, // RTX A4000 data sheet; smi
	// Turing
	{"Quadro-RTX-8000", 48, fromSMI(49152), "sm_75", 72, 672, turingPro(16.3), "rtx8000"}, // Turing white paper; smi
	{"Quadro-RTX-6000", 24, fromSMI(24576), "sm_75", 72, 672, turingPro(16.3), ""},        // Turing white paper; smi
	{"Quadro-RTX-5000", 16, fromSMI(16384), "sm_75", 48, 448, turingPro(11.2), ""},        // Turing white paper; smi
	{"Quadro-RTX-4000", 8, fromSMI(8192), "sm_75", 36, 416, turingPro(7.1), ""},           // Turing white paper; smi
	{"TITAN-RTX", 24, fromSMI(24576), "sm_75", 72, 672, turingPro(16.3), ""},              // Turing white paper; smi
}
