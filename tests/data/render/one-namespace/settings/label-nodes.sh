#!/bin/sh
# Labels by which servers find their pool, and NVIDIA's operator the cut of each node.
# A node whose cut changes must be empty: drain its pool first, gpu-commons device drain.
set -eu
kubectl label --overwrite node gpu-1 gpu-commons.dev/pool=slices nvidia.com/mig.config=gc-slices-e62943cf nvidia.com/device-plugin.config=gc-plain
kubectl label --overwrite node gpu-2 gpu-commons.dev/pool=slices nvidia.com/mig.config=gc-slices-6796431e nvidia.com/device-plugin.config=gc-plain
kubectl label --overwrite node gpu-3 gpu-commons.dev/pool=cards nvidia.com/device-plugin.config=gc-plain
kubectl label --overwrite node gpu-4 gpu-commons.dev/pool=cards nvidia.com/device-plugin.config=gc-plain
kubectl label --overwrite node gpu-5 gpu-commons.dev/pool=turns nvidia.com/device-plugin.config=gc-share-4
