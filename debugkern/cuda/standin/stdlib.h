// malloc and free are NVRTC's own.
#pragma once
#include <stddef.h>
