# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The layers of src/README.md, for the checks that read includes and symbols: folder=floor. A folder of
# src/ that is not named here is a backend.
export house_floors='base=1 core=2 runtime=3 remote=3.5 redlock=5'
export backend_floor=4
export umbrella_floor=6 # src/client_url.cpp
