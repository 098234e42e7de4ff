package main

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// oldestGlibc is the oldest minor version of glibc 2 that a wheel's name can ask for with every installer.
const oldestGlibc = 17

// tag is the platform in a wheel's name: the oldest system that a program runs on, read from it.
func tag(p platform, content []byte) (string, error) {
	arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.arch]
	switch {
	case arch == "":
		return "", fmt.Errorf("no wheel is known for %s", p.arch)
	case p.os == "linux":
		minor, err := glibc(content)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("manylinux_2_%d_%s", minor, arch), nil
	case p.os == "darwin":
		major, minor, err := macOS(content)
		if err != nil {
			return "", err
		}
		if p.arch == "arm64" {
			arch = "arm64"
		}
		return fmt.Sprintf("macosx_%d_%d_%s", major, minor, arch), nil
	case p.os == "windows":
		return "win_" + p.arch, nil
	}
	return "", fmt.Errorf("no wheel is known for %s", p.os)
}

// glibc is the newest minor version of glibc 2 whose symbols an ELF file imports.
func glibc(content []byte) (int, error) {
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	newest := oldestGlibc
	if f.SectionByType(elf.SHT_GNU_VERNEED) == nil {
		return newest, nil // any version will do
	}
	needs, err := f.DynamicVersionNeeds()
	if err != nil {
		return 0, err
	}
	for _, library := range needs {
		for _, need := range library.Needs {
			version, ok := strings.CutPrefix(need.Dep, "GLIBC_2.")
			if !ok {
				continue
			}
			minor, _, _ := strings.Cut(version, ".")
			n, err := strconv.Atoi(minor)
			if err != nil {
				return 0, fmt.Errorf("version %s of %s: %w", need.Dep, library.Name, err)
			}
			newest = max(newest, n)
		}
	}
	return newest, nil
}

// macOS is the oldest version of macOS that a Mach-O file asks for (LC_BUILD_VERSION).
func macOS(content []byte) (major, minor int, err error) {
	f, err := macho.NewFile(bytes.NewReader(content))
	if err != nil {
		return 0, 0, err
	}
	const buildVersion, size = 0x32, 16 // command, size, platform, oldest version
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) < size || f.ByteOrder.Uint32(raw) != buildVersion {
			continue
		}
		v := f.ByteOrder.Uint32(raw[12:])
		return int(v >> 16), int(v >> 8 & 0xff), nil
	}
	return 0, 0, errors.New("it does not say which macOS it needs")
}
