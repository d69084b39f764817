// Bytes of a core's L1 data cache and L2 cache. build.py names those of the machine; see caches.py.
#pragma once

#if !defined(L1D_BYTES) || !defined(L2_BYTES)
#error "compile with -DL1D_BYTES=... -DL2_BYTES=..."
#endif
