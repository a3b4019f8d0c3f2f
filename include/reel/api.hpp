// REEL_API, in front of the name of a namespace: what the shared library exports of it. A DLL exports what the linker
// is told instead.
#pragma once

#if defined(_WIN32)
#define REEL_API
#else
#define REEL_API [[gnu::visibility("default")]]
#endif
