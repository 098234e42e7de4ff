#pragma once
// printf is NVRTC's own; there are no files on a device.
