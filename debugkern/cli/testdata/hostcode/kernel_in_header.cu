// The kernel and its launch are in a header of the user.
// tilescope: --grid 1 --block 8 --arg t=randn:f32[8,4] --arg out=zeros:f32[8]
#include "kern.cuh"
int main() { return lib::run(8).size(); }
