"""The container engine cannot hand GPUs to a container: the NVIDIA container toolkit is not installed for it

## What it finds
A container that was asked for with `--gpus` and that Docker or Podman did not start.

## Why it matters
Nothing in the image is wrong, and none of its programs ran. The message names an empty driver, which is Docker's word
for the toolkit.

## How it is found
By the words of the engine's daemon.

## Remedy
Install nvidia-container-toolkit on the host, register it with the engine by nvidia-ctk, and restart the engine. Docker
from a snap does not see a toolkit that apt or dnf installed.

## Sources
- NVIDIA/nvidia-docker#1352, #1637, #1642; infiniflow/ragflow#9573; OpenBMB/XAgent#273
"""

from sm120kit.diagnosis import LogRemedy, Signature, log_failure

FAILURE = log_failure("container.toolkit-missing")

SIGNATURES = [
    Signature(
        pattern=r"could not select device driver \"(?P<driver>\w*)\" with capabilities: \[\[gpu\]\]",
        rank="cause",
        example='docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        look_alike='docker: Error response from daemon: could not select device driver "" with capabilities: [[net]].',
        source="NVIDIA/nvidia-docker#1352; OpenBMB/XAgent#273",
        message="Docker has no means to hand GPUs to a container: the NVIDIA container toolkit is not installed on the "
        "host, or not registered with Docker",
        remedies=(
            LogRemedy(
                "On the host, from NVIDIA's repository",
                (
                    "apt-get install nvidia-container-toolkit",
                    "nvidia-ctk runtime configure --runtime=docker",
                    "systemctl restart docker",
                ),
            ),
            LogRemedy(
                "If it is installed: see whether Docker is a snap, which does not find it", ("docker info", "snap list")
            ),
        ),
    ),
]
