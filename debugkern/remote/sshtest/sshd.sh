#!/bin/sh
# Sees that there is an sshd: make test-ssh calls it. Elsewhere than on Debian and its descendants, install one by hand.
set -e
PATH=$PATH:/usr/sbin:/sbin
command -v sshd >/dev/null && exit 0
command -v apt-get >/dev/null || { echo "make test-ssh needs an OpenSSH server: sshd was not found" >&2; exit 1; }
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
# The package would start its server: this one is for tests alone.
printf '#!/bin/sh\nexit 101\n' >.policy-rc.d
[ -e /usr/sbin/policy-rc.d ] || { $sudo install -m 755 .policy-rc.d /usr/sbin/policy-rc.d; added=1; }
rm -f .policy-rc.d
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q openssh-server
[ -z "$added" ] || $sudo rm -f /usr/sbin/policy-rc.d
