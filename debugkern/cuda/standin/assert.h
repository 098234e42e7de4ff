// assert is NVRTC's own.
#pragma once
