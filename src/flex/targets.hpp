/// Which instruction sets the vectorised loops are compiled for; include before Highway's headers. On x86:
/// the baseline, AVX2 and AVX-512, which is where the speed differs; each more costs compile time.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
