# tilescope: `make` or `make help` lists the targets.

GO        ?= go
PYTHON    ?= python3
BIN       := bin/tilescope
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS   := -s -w -X main.version=$(VERSION)
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
WHEELS    := nvidia-cuda-nvrtc-cu12==12.0.140 nvidia-cuda-runtime-cu12==12.0.146 nvidia-cuda-nvcc-cu12==12.0.140
FUZZTIME  ?= 2m

.DEFAULT_GOAL := help
.PHONY: help run build install test test-long test-gpu race faults silence mutants golden ptx toolchain fuzz bench cover lint check crossbuild clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## open the terminal on the embedded kernels (no GPU, no CUDA)
	@./$(BIN)

build: ## build bin/tilescope
	@$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) .

install: ## install tilescope into GOBIN
	$(GO) install -trimpath -ldflags '$(LDFLAGS)' .

test: ## every test that needs no GPU
	$(GO) test ./...

test-long: ## the exhaustive ones too: all 2^32 inputs of each approximation, every fault on ten seeds
	TILESCOPE_LONG=1 $(GO) test -timeout 120m ./...

test-gpu: build ## on a machine with an NVIDIA GPU: launches, faults, recovery, and every kernel against the emulator
	TILESCOPE_GPU=1 TILESCOPE_BIN=$(CURDIR)/$(BIN) $(GO) test -count=1 -v -run GPU ./debugkern/emu ./debugkern/cuda ./debugkern ./debugkern/cli

race: ## the tests under the race detector
	$(GO) test -race ./...

faults: ## every planted fault on seeds 0-9: expected, got
	TILESCOPE_FAULT_SEEDS=1 $(GO) test -count=1 -run TestFaultTable -v ./debugkern/cli

silence: ## every clean variant under every checker, shape and gate on 100 seeds: nothing may be found
	TILESCOPE_SILENCE_SEEDS=100 $(GO) test -count=1 -timeout 60m -run TestSilence -v ./debugkern

mutants: ## every synchronisation of every clean variant changed in turn: what a checker says of it
	TILESCOPE_LONG=1 $(GO) test -count=1 -timeout 60m -run TestMutants -v ./debugkern

golden: ## rewrite the golden screens, pictures and documents
	$(GO) test ./tui -update
	$(GO) test ./debugkern/cli -update

toolchain: ## fetch the pinned NVRTC, headers and ptxas into .toolchain
	@test -e .toolchain/nvidia/cuda_nvrtc || $(PYTHON) -m pip install -q --target .toolchain $(WHEELS)

ptx: toolchain ## rebuild the embedded PTX archive
	$(GO) run ./kernels/internal/ptxgen

fuzz: ## fuzz every parser, the executor, the checkers, and manifests and PTX through run and diagnose, FUZZTIME each
	$(GO) test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime $(FUZZTIME) ./debugkern/ptx
	$(GO) test -run '^$$' -fuzz '^FuzzExec$$' -fuzztime $(FUZZTIME) ./debugkern/emu
	$(GO) test -run '^$$' -fuzz '^FuzzProgram$$' -fuzztime $(FUZZTIME) ./debugkern/emu
	$(GO) test -run '^$$' -fuzz '^FuzzChecked$$' -fuzztime $(FUZZTIME) ./debugkern/check
	$(GO) test -run '^$$' -fuzz '^FuzzDiagnose$$' -fuzztime $(FUZZTIME) ./debugkern/diagnose
	$(GO) test -run '^$$' -fuzz '^FuzzLoad$$' -fuzztime $(FUZZTIME) ./configs
	$(GO) test -run '^$$' -fuzz '^FuzzManifest$$' -fuzztime $(FUZZTIME) ./debugkern/diagnose
	$(GO) test -run '^$$' -fuzz '^FuzzMutants$$' -fuzztime $(FUZZTIME) ./debugkern/diagnose
	$(GO) test -run '^$$' -fuzz '^FuzzNpz$$' -fuzztime $(FUZZTIME) ./debugkern/npy

bench: ## the figures of README and RATIONALE
	$(GO) test -run '^$$' -bench . -benchtime 2s ./debugkern/fp ./debugkern/ptx ./debugkern/emu ./debugkern/check ./debugkern ./tui

cover: ## coverage by package
	$(GO) test -coverprofile=cover.out ./... && $(GO) tool cover -func=cover.out | tail -1

lint: ## vet and staticcheck
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

crossbuild:
	@for p in $(PLATFORMS); do echo "build $$p"; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -o /dev/null ./... || exit 1; done
	@echo "build linux/amd64 nogpu"; CGO_ENABLED=0 $(GO) build -tags nogpu -o /dev/null ./...

check: lint crossbuild toolchain ## format, vet, staticcheck, cross-builds, tidy, PTX archive current; no tests
	@test -z "$$(gofmt -l .)" || { echo "not gofmt'd:"; gofmt -l .; exit 1; }
	$(GO) mod tidy -diff
	$(GO) run ./kernels/internal/ptxgen -check

clean: ## remove what was built
	rm -rf bin cover.out .build
