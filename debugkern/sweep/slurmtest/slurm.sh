#!/bin/sh
# Installs Slurm and munge where they are missing: make test-slurm calls it. Elsewhere than on Debian and its descendants, install them by hand.
set -e
PATH=$PATH:/usr/sbin:/sbin
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null && command -v munged >/dev/null && exit 0
command -v apt-get >/dev/null || { echo "make test-slurm needs slurmctld, slurmd, sbatch and munged" >&2; exit 1; }
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
# The packages would start their servers: these are for tests alone.
printf '#!/bin/sh\nexit 101\n' >.policy-rc.d
[ -e /usr/sbin/policy-rc.d ] || { $sudo install -m 755 .policy-rc.d /usr/sbin/policy-rc.d; added=1; }
rm -f .policy-rc.d
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends slurmctld slurmd slurm-client munge
[ -z "$added" ] || $sudo rm -f /usr/sbin/policy-rc.d
