// SPDX-License-Identifier: Apache-2.0

package gpu

// datacenter lists NVIDIA's cards for servers. Rates, bandwidth and multiprocessors are from the data sheet or white
// paper named at the end of each row, without sparsity; "PyTorch" means that PyTorch printed the usable total, "smi"
// that it is estimated from nvidia-smi's.
var datacenter = []spec{
	// Blackwell
	{"B300", 288, fromSMI(275040), "sm_103", 148, 8000, tera{75, 1125, 2250, 2250, 4500}, ""},        // HGX B300 data sheet by 8; smi
	{"GB200", 186, fromSMI(189471), "sm_100", 148, 8000, tera{80, 1250, 2500, 2500, 5000}, ""},       // GB200 NVL72 data sheet by 72; smi
	{"B200", 180, seen(178.35), "sm_100", 148, 7672, tera{75, 1125, 2250, 2250, 4500}, "b200-180gb"}, // HGX B200 data sheet by 8; bandwidth from bus and clock as CUDA reports them; PyTorch
	{"B100", 180, fromSMI(183359), "sm_100", 148, 7672, tera{60, 875, 1750, 1750, 3500}, ""},         // HGX B100 data sheet by 8; memory and bus like the B200; smi
	// Hopper
	{"GH200-144GB", 144, fromSMI(146831), "sm_90", 132, 4900, tera{66.9, 494.7, 989.4, 989.4, 1978.9}, "gh200-144g"},  // GH200 data sheet; smi
	{"GH200", 96, seen(94.50), "sm_90", 132, 4000, tera{66.9, 494.7, 989.4, 989.4, 1978.9}, "gh200-96gb|gh200-480gb"}, // GH200 data sheet; 480GB in the driver's name is the processor's memory; PyTorch
	{"H200", 141, exact(150_110_011_392), "sm_90", 132, 4814, tera{66.9, 494.7, 989.4, 989.4, 1978.9}, "h200-141gb"},  // H200 data sheet; total and context measured
	{"H200-NVL", 141, fromSMI(143771), "sm_90", 132, 4814, tera{60, 417.5, 835.5, 835.5, 1670.5}, ""},                 // H200 NVL data sheet; smi
	{"H100-80GB", 80, seen(79.10), "sm_90", 132, 3352, tera{66.9, 494.7, 989.4, 989.4, 1978.9}, "h100"},               // H100 white paper, SXM5; PyTorch
	{"H100-PCIe", 80, seen(79.10), "sm_90", 114, 2039, tera{51.2, 378, 756, 756, 1513}, "h100-pcie-80gb"},             // H100 white paper; PyTorch
	{"H100-NVL", 94, fromSMI(95830), "sm_90", 132, 3938, tera{60, 417.5, 835.5, 835.5, 1670.5}, "h100-nvl-94gb"},      // H100 NVL data sheet; smi
	{"H800", 80, fromSMI(81559), "sm_90", 132, 3352, tera{66.9, 494.7, 989.4, 989.4, 1978.9}, "h800-80gb"},            // the H100 with slower links and little fp64; smi
	{"H20", 96, fromSMI(97871), "sm_90", 78, 4000, tera{44, 74, 148, 148, 296}, "h20-96gb"},                           // H20 data sheet; smi
	// Ada
	{"L40S", 48, seen(44.39), "sm_89", 142, 864, tera{91.6, 183, 362, 362, 733}, "l40s-48gb"},      // L40S data sheet; PyTorch, ECC on
	{"L40", 48, seen(44.39), "sm_89", 142, 864, tera{90.5, 90.5, 181, 181, 362}, "l40-48gb"},       // L40 data sheet; PyTorch, ECC on
	{"L20", 48, fromSMI(46068), "sm_89", 92, 864, tera{59.8, 59.8, 119.5, 119.5, 239}, "l20-48gb"}, // L20 data sheet; smi, ECC on
	{"L4", 24, seen(21.95), "sm_89", 58, 300, tera{30.3, 60, 121, 121, 242.5}, "l4-24gb"},          // L4 data sheet; PyTorch, ECC on
	// Ampere
	{"A100-80GB", 80, seen(79.14), "sm_80", 108, 2039, tera{19.5, 156, 312, 312, 0}, ""},      // A100 data sheet, SXM4; PyTorch
	{"A100-80GB-PCIe", 80, seen(79.14), "sm_80", 108, 1935, tera{19.5, 156, 312, 312, 0}, ""}, // A100 data sheet; PyTorch
	{"A100-40GB", 40, seen(39.38), "sm_80", 108, 1555, tera{19.5, 156, 312, 312, 0}, ""},      // A100 data sheet, SXM4; PyTorch
	{"A100-40GB-PCIe", 40, seen(39.38), "sm_80", 108, 1555, tera{19.5, 156, 312, 312, 0}, ""}, // A100 data sheet; PyTorch
	{"A800-80GB", 80, fromSMI(81920), "sm_80", 108, 2039, tera{19.5, 156, 312, 312, 0}, ""},   // the A100 with slower links; smi
	{"A40", 48, seen(44.34), "sm_86", 84, 696, tera{37.4, 74.8, 149.7, 149.7, 0}, "a40-48gb"}, // A40 data sheet; PyTorch, ECC on
	{"A30", 24, seen(23.50), "sm_80", 56, 933, tera{10.3, 82, 165, 165, 0}, "a30-24gb"},       // A30 data sheet; PyTorch
	{"A16", 16, fromSMI(15356), "sm_86", 10, 200, tera{4.5, 9, 17.9, 17.9, 0}, "a16-16gb"},    // A16 data sheet, one of the board's four; smi, ECC on
	{"A10", 24, seen(21.98), "sm_86", 72, 600, tera{31.2, 62.5, 125, 125, 0}, "a10-24gb"},     // A10 data sheet; PyTorch, ECC on
	{"A10G", 24, seen(21.98), "sm_86", 80, 600, tera{35, 35, 70, 70, 0}, "a10g-24gb"},         // A10G data sheet (AWS G5); PyTorch, ECC on
	{"A2", 16, fromSMI(15356), "sm_86", 10, 200, tera{4.5, 9, 18, 18, 0}, "a2-16gb"},          // A2 data sheet; smi, ECC on
	// Turing, Volta, Pascal
	{"T4", 16, seen(14.56), "sm_75", 40, 320, tera{8.1, 0, 65, 0, 0}, "t4-16gb"},                          // T4 data sheet; PyTorch, ECC on
	{"V100-32GB", 32, seen(31.73), "sm_70", 80, 900, tera{15.7, 0, 125, 0, 0}, ""},                        // V100 data sheet, SXM2; PyTorch
	{"V100-32GB-PCIe", 32, seen(31.73), "sm_70", 80, 900, tera{14, 0, 112, 0, 0}, ""},                     // V100 data sheet; PyTorch
	{"V100S-32GB", 32, seen(31.73), "sm_70", 80, 1134, tera{16.4, 0, 130, 0, 0}, "v100s|v100s-pcie-32gb"}, // V100S data sheet; memory like the V100; PyTorch
	{"V100-16GB", 16, seen(15.77), "sm_70", 80, 900, tera{15.7, 0, 125, 0, 0}, ""},                        // V100 data sheet, SXM2; PyTorch
	{"V100-16GB-PCIe", 16, seen(15.77), "sm_70", 80, 900, tera{14, 0, 112, 0, 0}, ""},                     // V100 data sheet; PyTorch
	{"P100", 16, seen(15.89), "sm_60", 56, 732, tera{9.3, 0, 18.7, 0, 0}, "p100-pcie-16gb|p100-16gb"},     // P100 data sheet, PCIe, no tensor cores; PyTorch
}
