"""Flavors to test with."""

import dataclasses

from warre_blazar.domain.flavors.flavor import Flavor, Shape

SHAPE = Shape(
    vcpu=4,
    memory_mb=8192,
    disk_gb=30,
    ephemeral_gb=0,
    extra_specs={},
    properties=None,
    availability_zone=None,
)

FLAVOR = Flavor(
    id="f1",
    name="gpu.a100",
    shape=SHAPE,
    slots=3,
    max_length_hours=24,
    start=None,
    end=None,
    is_public=True,
    active=True,
    texts={},
)


def shape(**values):
    return dataclasses.replace(SHAPE, **values)


def flavor(**values):
    return dataclasses.replace(FLAVOR, **values)
