// Package slurmtest holds tests of sweep --on slurm with a real Slurm on this machine (make test-slurm): a
// controller and three slurmd with ports, folders and a configuration of their own. They need no GPU, and
// leave another Slurm of the machine alone.
package slurmtest
