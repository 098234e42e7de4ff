# tilescope: `make` or `make help` lists the targets.

GO        ?= go
PYTHON    ?= python3
BIN       := bin/tilescope
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -s -w -X main.version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Of each kind of system one: what make check type-checks. make crossbuild does all.
CHECKED   := darwin/arm64 windows/arm64
BUILT     := windows/arm64
WHEELS    := docs/toolchain.txt
# With telemetry by NVML, which needs cgo: of this machine's own platform.
NVML      := $(shell test "$$($(GO) env GOOS CGO_ENABLED | tr '\n' ' ')" = "linux 1 " && echo linux/$$($(GO) env GOARCH)+nvml)
DIST      := $(GO) run ./debugkern/cli/internal/dist -version $(VERSION)
FUZZTIME  ?= 2m
FUZZ      := $(GO) test -run '^$$' -fuzzminimizetime 10x -fuzztime $(FUZZTIME)
KILLS     ?= 300
SAMPLE    ?= 32
# What make toolchain fetched, for the tests that compile.
WITH_NVRTC = $(if $(wildcard .toolchain/nvidia/cuda_nvrtc),TILESCOPE_TOOLCHAIN=$(CURDIR)/.toolchain)

.DEFAULT_GOAL := help
.PHONY: help run build install test test-long test-gpu test-ssh test-slurm test-python race attack kill faults bugs stories pages silence sweep mutants dist wheel test-dist test-ci docs golden asm ptx archive toolchain fuzz bench cover lint vulncheck sbom check typecheck crossbuild clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## open the terminal on the embedded kernels (no GPU, no CUDA)
	@./$(BIN)

build: ## build bin/tilescope
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) .

install: ## install tilescope into GOBIN
	$(GO) install -trimpath -ldflags '$(LDFLAGS)' .

test: ## the tests that need no GPU, of long lists of cases a fixed sample; those that compile are skipped without an NVRTC (make toolchain)
	$(WITH_NVRTC) $(GO) test -vet=off -timeout 30m ./...

test-long: ## the exhaustive ones too: every case of each list, all 2^32 inputs of each approximation, every fault on ten seeds
	$(WITH_NVRTC) TILESCOPE_LONG=1 $(GO) test -timeout 120m ./...

test-gpu: build ## on a machine with an NVIDIA GPU: launches, faults, recovery, and every kernel against the emulator
	TILESCOPE_GPU=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -v -run GPU ./debugkern/emu ./debugkern/cuda ./debugkern ./debugkern/cli

test-ssh: build ## --host over a real sshd with drops, delays, hanging lines and limited rates: latency and bytes; installs openssh-server if missing
	@sh debugkern/remote/sshtest/sshd.sh
	TILESCOPE_SSH=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 30m -v ./debugkern/remote/sshtest

test-slurm: build ## sweep --on slurm with a real Slurm, three nodes on this machine, one killed twice: same bytes, speed-up; installs slurmctld, slurmd, munge if missing; root
	@sh debugkern/sweep/slurmtest/slurm.sh
	TILESCOPE_SLURM=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 30m -v ./debugkern/sweep/slurmtest

test-python: build ## launches of real Triton and CuTe DSL kernels, no GPU; PYTHON has the packages
	cd python && TILESCOPE_BIN=$(CURDIR)/$(BIN) $(if $(findstring /,$(PYTHON)),$(abspath $(PYTHON)),$(PYTHON)) -B -m unittest -v tests.clients

race: ## the tests under the race detector
	$(GO) test -race -timeout 60m ./...

attack: build toolchain ## every hostile input, environment and signal against the built program: exit codes, messages, time, memory
	cd debugkern/cli/attack && TILESCOPE_ATTACK=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 30m -run '^TestAttack$$'

kill: build ## end the built program with SIGKILL at KILLS random moments: nothing torn, nothing left
	cd debugkern/cli/attack && TILESCOPE_KILLS=$(KILLS) TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 30m -v -run '^TestKill$$'

faults: ## every planted fault on seeds 0-9: expected, got
	TILESCOPE_FAULT_SEEDS=1 $(GO) test -count=1 -timeout 60m -run TestFaultTable -v ./debugkern/cli

bugs: ## every planted bug, of all sets, and every harmless edit: what diagnose says, and how much of it was expected
	TILESCOPE_BUGS=all $(GO) test -count=1 -timeout 60m -v -run 'TestBugs|TestHarmless' ./debugkern/diagnose/bugs

stories: ## what diagnose says of each planted bug for which a test has a sentence (make test: of a sixteenth), and each edit of a source
	$(WITH_NVRTC) TILESCOPE_LONG=1 $(GO) test -count=1 -timeout 30m -run 'TestReasons|TestFindings|TestOneEdit|TestEditOfTheSource' ./debugkern/diagnose/bugs

pages: toolchain ## every command of README and docs: what it prints is what the page says (make test: a fourth)
	$(WITH_NVRTC) TILESCOPE_LONG=1 $(GO) test -count=1 -timeout 30m -run '^Test(Experiments|Readme|\w+Page)$$' ./debugkern/cli

silence: ## every clean variant under every checker, shape and gate on 100 seeds: nothing may be found
	TILESCOPE_SILENCE_SEEDS=100 $(GO) test -count=1 -timeout 60m -run TestSilence -v ./debugkern/sweep

sweep: toolchain ## check on kernels of every kind: clean and right as they stand, and one planted defect in each found
	TILESCOPE_CORPUS=1 $(GO) test -count=1 -timeout 30m -run TestSweep -v ./debugkern/cli/corpus

mutants: ## every synchronisation of every clean variant (or of TARGETS, manifests) changed in turn: what a checker says of it
	TILESCOPE_LONG=1 TILESCOPE_TARGETS="$(abspath $(TARGETS))" $(GO) test -count=1 -timeout 60m -run TestMutants -v ./debugkern/trial

dist: ## reproducible archives and Python wheels of every platform, with bills of materials and SHA256SUMS, in dist/ (docs/install.md)
	$(DIST) $(PLATFORMS) $(NVML)

wheel: ## the Python wheels of this machine's platform, in dist/
	$(DIST) -wheels $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH) $(NVML)

test-dist: ## wheels installed into a fresh environment, and this platform built twice, in two places: the same bytes
	TILESCOPE_DIST=1 $(GO) test -count=1 -timeout 30m -v ./debugkern/cli/internal/dist

test-ci: build toolchain ## action and hooks on the examples of docs/ci, in less than a minute each; Triton and pre-commit are on PATH
	$(WITH_NVRTC) TILESCOPE_CI=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -timeout 30m -v -run 'OnExamples' ./debugkern/cli

docs: ## write the reference of manifests and their JSON Schema, and that of the terminal's keys, from their tables
	$(GO) test -count=1 -run TestDocumentsAreCurrent ./configs/schema ./tui -update

golden: ## rewrite the golden screens, pictures and documents
	$(GO) test $$(grep -rlE --include='*_test.go' 'exp/golden|viewtest' tui | xargs -n1 dirname | sort -u | sed 's|^|./|') -update
	$(GO) test -run 'TestExperiments|Page$$' ./debugkern/cli -update

toolchain: ## fetch the pinned NVRTC, headers and ptxas into .toolchain, and record that they may be used
	@test -e .toolchain/nvidia/cuda_nvrtc || $(PYTHON) -m pip install -q --require-hashes --no-deps --only-binary :all: --target .toolchain -r $(WHEELS)
	@$(GO) run . trust .toolchain > /dev/null

asm: ## write the assembly of the tensor core and of the emulator's loops anew
	$(GO) generate -run internal/asm ./debugkern/fp ./debugkern/emu

ptx: toolchain ## bring the embedded PTX archive up to date
	$(GO) run ./kernels/internal/ptxgen

archive: toolchain ## build the whole PTX archive anew and compare (make check: one build in SAMPLE, and each kernel under each gate)
	$(GO) run ./kernels/internal/ptxgen -check

fuzz: ## fuzz every parser, the worker protocol, the executor, the checkers, and manifests and PTX through run and diagnose, FUZZTIME each
	$(FUZZ) -fuzz '^FuzzParse$$' ./debugkern/ptx
	$(FUZZ) -fuzz '^FuzzExec$$' ./debugkern/emu
	$(FUZZ) -fuzz '^FuzzProgram$$' ./debugkern/emu
	$(FUZZ) -fuzz '^FuzzChecked$$' ./debugkern/check
	$(FUZZ) -fuzz '^FuzzTokens$$' ./debugkern/check
	$(FUZZ) -fuzz '^FuzzDiagnose$$' ./debugkern/diagnose
	$(FUZZ) -fuzz '^FuzzLoad$$' ./configs
	$(FUZZ) -fuzz '^FuzzConfig$$' ./configs
	$(FUZZ) -fuzz '^FuzzExpression$$' ./configs
	$(FUZZ) -fuzz '^FuzzLut$$' ./debugkern/fragment
	$(FUZZ) -fuzz '^FuzzManifest$$' ./debugkern/diagnose
	$(FUZZ) -fuzz '^FuzzMutants$$' ./debugkern/diagnose
	$(FUZZ) -fuzz '^FuzzNpz$$' ./debugkern/npy
	$(FUZZ) -fuzz '^FuzzBundle$$' ./debugkern/bundle
	$(FUZZ) -fuzz '^FuzzEntry$$' ./debugkern/cache
	$(FUZZ) -fuzz '^FuzzFrame$$' ./debugkern/cuda
	$(FUZZ) -fuzz '^FuzzParse$$' ./debugkern/patch
	$(FUZZ) -fuzz '^FuzzMultiplyWarp$$' ./debugkern/fp
	$(FUZZ) -fuzz '^FuzzExtract$$' ./debugkern/hostcode
	$(FUZZ) -fuzz '^FuzzParse$$' ./debugkern/walk/expr
	$(FUZZ) -fuzz '^FuzzParse$$' ./debugkern/rewrite

bench: ## the figures of README and RATIONALE
	$(GO) test -run '^$$' -bench . -benchtime 2s ./debugkern/fp ./debugkern/ptx ./debugkern/emu ./debugkern/check ./debugkern ./tui

cover: ## coverage by package
	$(GO) test -coverprofile=cover.out ./... && $(GO) tool cover -func=cover.out | tail -1

lint: ## vet and staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# The tool fails with 3 where it finds something, and with 1 where it cannot look: then nothing is known, and that is printed.
vulncheck: ## known vulnerabilities of the modules, where their database can be reached
	@out="$$($(GO) tool govulncheck ./... 2>&1)" && rc=0 || rc=$$?; \
	case "$$rc: $$out" in \
	1:*"fetching vulnerabilities"*) echo "vulncheck: skipped, the database cannot be reached: $${out##*: }";; \
	0:*) echo "vulncheck: no known vulnerability is called";; \
	*) echo "$$out"; exit 1;; \
	esac

sbom: build ## the bill of materials of bin/tilescope, CycloneDX in bin/sbom.json
	@$(GO) run ./debugkern/cli/internal/sbom $(BIN) $(WHEELS) >bin/sbom.json && echo bin/sbom.json

# Tools and tests are type-checked too.
typecheck: ## type-checks of the systems that are not this one, and without a GPU
	@$(GO) run ./debugkern/cli/internal/typecheck $(CHECKED)
	@$(GO) run ./debugkern/cli/internal/typecheck -tags nogpu linux/amd64

# The program is built for another system and processor, not optimised: the rest is the compiler's part and takes minutes (make dist
# builds every platform as it is given to others).
crossbuild: ## type-checks of every platform, and a build for another system and processor
	@$(GO) run ./debugkern/cli/internal/typecheck $(PLATFORMS)
	@$(GO) run ./debugkern/cli/internal/typecheck -tags nogpu linux/amd64
	@for p in $(BUILT); do echo "build $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -gcflags='-N -l' -ldflags='-s -w' -o /dev/null . || exit 1; done

check: lint typecheck toolchain vulncheck ## format, vet, staticcheck, type-checks of other systems, vulnerabilities, tidy, a sample of the PTX archive and the assembly current; no tests
	@test -z "$$(gofmt -l .)" || { echo "not gofmt'd:"; gofmt -l .; exit 1; }
	$(GO) mod tidy -diff
	$(GO) run ./kernels/internal/ptxgen -check -sample $(SAMPLE)
	$(GO) test -count=1 -run TestDocumentsAreCurrent ./configs/schema
	@mkdir -p .build; for g in mma:fp/mma rows:emu/hot; do \
		file=debugkern/$${g#*:}_amd64.s; $(GO) -C debugkern/internal/asm run ./$${g%:*} -out $(CURDIR)/.build/asm.s || exit 1; \
		tail -n +2 .build/asm.s >.build/asm.fresh; \
		tail -n +2 $$file | cmp -s - .build/asm.fresh || { echo "$$file is not what its generator writes: make asm"; exit 1; }; \
	done

clean: ## remove what was built
	rm -rf bin dist cover.out .build
