#pragma once
// size_t and ptrdiff_t are NVRTC's own.
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __INTADDR__(&(((type*)0)->member))
#endif
